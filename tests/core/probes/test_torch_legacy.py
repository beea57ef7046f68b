from __future__ import annotations

import io
import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass

import pytest

from ckptdeck.core.probes.torch_legacy import MAGIC
from ckptdeck.core.states import Structure
from tests.core.probes.looking import PAGE, probe_bytes


class FloatStorage:
    """Stands for torch's class of this name."""


class UnheardStorage:
    """A type of storage that nobody knows the size of."""


@dataclass(frozen=True)
class Stored:
    """A storage of so many values, as a tensor refers to it."""

    key: str
    count: int
    kind: type = FloatStorage
    rest: tuple[object, ...] = (None,)


class Pickler(pickle.Pickler):
    def persistent_id(self, item: object) -> object:
        return ("storage", item.kind, item.key, "cpu", item.count, *item.rest) if isinstance(item, Stored) else None


def saved(*storages: Stored, keys: list[object] | None = None, data: bytes = b"") -> bytes:
    file = io.BytesIO()
    file.write(MAGIC)
    pickle.dump(1001, file, 2)
    pickle.dump({"little_endian": True}, file, 2)
    Pickler(file, 2).dump(OrderedDict((f"layer.{item.key}", item) for item in storages))
    pickle.dump([item.key for item in storages] if keys is None else keys, file, 2)
    for item in storages:
        content = data or bytes(range(1, 251)) * (4 * item.count // 250 + 1)
        file.write(struct.pack("<q", item.count) + content[: 4 * item.count])
    return file.getvalue()


def test_storages_in_any_number_are_whole() -> None:
    for count in (0, 1, 30):
        content = saved(*(Stored(str(index), index) for index in range(count)))
        finding = probe_bytes(content, "model.pth")
        assert (finding.structure, finding.expected_size) == (Structure.OK, len(content)), finding
        assert f"{count} storages" in finding.text


def test_storages_as_old_versions_name_them_are_whole() -> None:
    content = saved(Stored("a", 5, rest=()), Stored("b", 7, rest=(("view", 0, 3),)))
    assert probe_bytes(content, "model.pth").structure is Structure.OK


def test_a_storage_of_a_type_nobody_knows_is_no_finding() -> None:
    assert probe_bytes(saved(Stored("a", 5, UnheardStorage)), "model.pth").structure is Structure.UNKNOWN


@pytest.mark.parametrize(("keys", "says"), [(["a"], "used, but not listed"), (["a", "b", "c"], "listed, but not used")])
def test_a_list_that_is_not_of_the_storages_is_broken(keys: list[object], says: str) -> None:
    finding = probe_bytes(saved(Stored("a", 5), Stored("b", 7), keys=keys), "model.pth")
    assert finding.structure is Structure.BROKEN
    assert says in finding.text


def test_a_length_that_is_not_the_pickles_is_named_with_both() -> None:
    content = saved(Stored("a", 5), Stored("b", 70))
    place = len(content) - 288
    finding = probe_bytes(content[:place] + struct.pack("<q", 71) + content[place + 8 :], "model.pth")
    assert finding.structure is Structure.BROKEN
    assert "'b' of 70 values" in finding.text
    assert "found 71" in finding.text
    assert "storage has wrong byte size" in finding.loader_says


def test_what_is_missing_is_counted() -> None:
    content = saved(Stored("a", 5), Stored("b", 7000))
    finding = probe_bytes(content[:-1000], "model.pth")
    assert (finding.structure, finding.expected_size) == (Structure.CUT, len(content))
    assert "1,000 missing" in finding.text
    assert "unexpected EOF" in finding.loader_says


def test_pages_lost_in_the_only_storage_are_suspect() -> None:
    content = saved(Stored("a", 50_000))
    tail = len(content) // PAGE * PAGE
    assert probe_bytes(content[:tail] + bytes(len(content) - tail), "model.pth").structure is Structure.SUSPECT
    hole = ((20 * PAGE, 30 * PAGE),)
    lost = content[: 20 * PAGE] + bytes(10 * PAGE) + content[30 * PAGE :]
    finding = probe_bytes(lost, "model.pth", holes=hole)
    assert finding.structure is Structure.SUSPECT
    assert "storage a" in finding.text


def test_storages_of_real_zeros_are_no_loss() -> None:
    content = saved(Stored("a", 5000), Stored("b", 20_000), data=bytes(80_000))
    assert probe_bytes(content, "model.pth").structure is Structure.OK


def test_an_impossible_count_sizes_no_buffer() -> None:
    assert probe_bytes(saved(Stored("a", 5)).replace(b"K\x05", b"K\xff"), "model.pth").structure in (
        Structure.BROKEN,
        Structure.CUT,
    )


@pytest.mark.parametrize("name", ["model.pth", "model.pt"])
def test_a_lost_first_page_is_told_by_the_name(name: str) -> None:
    content = saved(Stored("a", 5000))
    finding = probe_bytes(bytes(PAGE) + content[PAGE:], name)
    assert (finding.structure, finding.format) == (Structure.BROKEN, "torch-legacy")
    assert "tar" in finding.loader_says
    assert probe_bytes(bytes(PAGE) + content[PAGE:], "weights.bin").structure is Structure.UNKNOWN
