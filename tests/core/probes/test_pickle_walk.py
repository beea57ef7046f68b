"""The walker against the pickles of the standard library, and against what must never happen."""

from __future__ import annotations

import collections
import datetime
import decimal
import io
import pickle
import random
from fractions import Fraction

import pytest

from ckptdeck.core.probes.pickle_bytes import PickleDamage
from ckptdeck.core.probes.pickle_walk import GlobalName, walk_pickle

RECURSIVE: list[object] = []
RECURSIVE.append(RECURSIVE)

VALUES: dict[str, object] = {
    "plain": [None, True, False, 0, 255, 65535, -1, 2**31, 2**70, 2**3000, 1.5, "ä", "x" * 300, b"", b"y" * 300],
    "long": ["z" * 70_000, b"z" * 70_000, bytearray(b"z" * 70_000)],
    "nested": {"a": [{"b": (1, (2, (3, (4,))))}], "c": {1, 2}, "d": frozenset({3})},
    "classes": [collections.OrderedDict(a=1), datetime.date(2026, 1, 1), decimal.Decimal("1.5"), Fraction(1, 3)],
    "recursive": RECURSIVE,
    "shared": [["x"]] * 400,
    "many": list(range(3000)),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", VALUES)
def test_every_pickle_is_walked_to_its_end(name: str, protocol: int) -> None:
    data = pickle.dumps(VALUES[name], protocol)
    assert walk_pickle(data + b"trailing") == ([], len(data))


class Stored:
    """Stands for a storage: pickled by its persistent id."""


class WithPersistentIds(pickle.Pickler):
    def persistent_id(self, item: object) -> object:
        return ("storage", collections.OrderedDict, "0", "cpu", 400) if isinstance(item, Stored) else None


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_persistent_ids_keep_text_numbers_and_the_names_of_classes(protocol: int) -> None:
    file = io.BytesIO()
    WithPersistentIds(file, protocol).dump({"weight": Stored()})
    ids, _ = walk_pickle(file.getvalue())
    assert ids == [("storage", GlobalName("collections", "OrderedDict"), "0", "cpu", 400)]


def test_nothing_is_called_or_imported() -> None:
    data = b"\x80\x02cno_such_module_at_all\nexplode\n(X\x01\0\0\0atR."
    assert walk_pickle(data) == ([], len(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x02",
        b"\x80\x02}",
        b".",
        b"t.",
        b"0.",
        b"N(N\x86.",
        b"h\x05.",
        b"gx\n.",
        b"X\xff\xff\xff\xffabc.",
        b"\x8d" + b"\xff" * 8 + b"abc.",
        b"\x8b\xff\xff\xff\x7f.",
        b"cno_end",
        b"\xff.",
    ],
)
def test_what_cannot_be_walked_is_damage(data: bytes) -> None:
    with pytest.raises(PickleDamage):
        walk_pickle(data)


def test_tuples_of_tuples_cost_no_more_than_their_opcodes() -> None:
    data = b"\x80\x02N" + b"2\x86" * 50_000 + b"Q."
    assert walk_pickle(data)[1] == len(data)


def test_mutants_of_a_pickle_are_walked_or_damaged() -> None:
    values = random.Random(11)
    data = pickle.dumps(list(VALUES.values()), 2)[:6000]
    for _ in range(300):
        mutant = bytearray(data)
        for _ in range(values.randrange(1, 4)):
            mutant[values.randrange(len(mutant))] = values.randrange(256)
        try:
            _, end = walk_pickle(bytes(mutant))
        except PickleDamage:
            continue
        assert end <= len(mutant)
