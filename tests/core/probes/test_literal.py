"""The reader of numpy's headers against Python's own, and against what must never be evaluated."""

from __future__ import annotations

import ast

import pytest

from ckptdeck.core.probes.literal import NotALiteral, read_literal


def as_tuples(value: object) -> object:
    """Lists as tuples, as the reader gives them."""
    if isinstance(value, dict):
        return {key: as_tuples(item) for key, item in value.items()}
    return tuple(as_tuples(item) for item in value) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (150, 10), }        \n",
        "{'descr': [('a', '<f4'), ('b', '>i2', (2, 3)), ('c', [('d', '<U3')])], 'shape': ()}",
        "{'descr': [(('Title', 'n'), '<f4')], 'shape': (3,)}",
        "{'descr': [(\"it's\", '<f4'), ('a\"b\\\\', '<f4')]}",
        "('a')",
        "('a',)",
        "[]",
        "{}",
        "-17",
        "None",
    ],
)
def test_it_reads_what_python_reads(text: str) -> None:
    assert read_literal(text) == as_tuples(ast.literal_eval(text.strip()))


def test_long_numbers_of_python_2_are_numbers() -> None:
    assert read_literal("{'shape': (10L, 3L)}") == {"shape": (10, 3)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a'}",
        "{'a': }",
        "{1: 2}",
        "(1 2)(",
        "'no end",
        "open('x')",
        "__import__('os')",
        "1 + 1",
        "1.5",
        "[" * 100_000,
        "(" * 33 + "1" + ")" * 33,
        "9" * 20,
        "{} {}",
    ],
)
def test_anything_else_is_no_literal(text: str) -> None:
    with pytest.raises(NotALiteral):
        read_literal(text)
