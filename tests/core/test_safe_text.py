"""Hostile names: shown harmlessly, pasted exactly, carried by JSON without loss."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptdeck.core.safe_text import json_name, name_from_json, shell_word, visible

NAMES = st.binary(min_size=1, max_size=255).map(os.fsdecode).filter(lambda name: "\0" not in name)


@given(NAMES)
def test_what_is_shown_moves_no_cursor_and_hides_nothing(name: str) -> None:
    assert visible(name).isprintable()
    assert visible(name).encode("utf-8")


@given(st.lists(NAMES, min_size=2, max_size=5, unique=True))
def test_two_names_are_never_shown_alike(names: list[str]) -> None:
    assert len({visible(name) for name in names}) == len(names)


@given(NAMES, st.integers(1, 40))
def test_a_limit_is_kept(name: str, limit: int) -> None:
    assert len(visible(name, limit)) <= limit


@given(NAMES)
def test_json_carries_the_exact_name(name: str) -> None:
    assert name_from_json(json.loads(json.dumps(json_name(name)))) == name


@settings(max_examples=60, deadline=None)
@given(NAMES)
def test_a_pasted_word_is_the_exact_name(name: str) -> None:
    word = shell_word(name)
    assert word.isprintable()
    echoed = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert echoed == os.fsencode(name)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("step_0810.pt", "step_0810.pt"),
        ("a\nb", r"a\nb"),
        ("\x1b[2J", r"\e[2J"),
        ("a\\b", r"a\\b"),
        (os.fsdecode(b"\xff"), r"\xff"),
        ("a\u202eb", r"a\u202eb"),
        ("模型.pt", "模型.pt"),
    ],
)
def test_escapes_are_the_ones_people_know(name: str, shown: str) -> None:
    assert visible(name) == shown
