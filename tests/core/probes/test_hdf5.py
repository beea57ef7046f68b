"""HDF5 files as h5py writes them in every way that leaves holes, zeros or bytes of other kinds in healthy files."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from ckptdeck.core.probes import probe_file
from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, PAGE, CountingFileSystem, memory_file, probe_bytes

VERSIONS = {"earliest": 0, "v108": 2, "latest": 3}


def values(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).standard_normal(count).astype("f4")


def written(path: Path, fill: Callable[[Any], object], **options: object) -> bytes:
    with h5py.File(path, "w", **options) as file:
        fill(file)
    return path.read_bytes()


def plain(file: Any) -> None:
    file["weights"] = values(9_001)
    file["group/bias"] = values(77)


def partly(file: Any) -> None:
    file.create_dataset("table", (100_000,), "f4")[:3_000] = values(3_000)


def untouched(file: Any) -> None:
    file["first"] = values(50)
    file.create_dataset("never written", (100_000,), "f4")


def early(file: Any) -> None:
    file["first"] = values(50)
    space = h5py.h5s.create_simple((50_000,))
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    h5py.h5d.create(file.id, b"allocated", h5py.h5t.NATIVE_FLOAT, space, creation)


def chunked(file: Any) -> None:
    file.create_dataset("chunks", (4_096, 16), "f4", chunks=(64, 16))[:64] = values(1_024).reshape(64, 16)


def packed(file: Any) -> None:
    for index in range(30):
        file.create_dataset(f"layer{index}", data=values(3_000), chunks=True, compression="gzip")


def deep(file: Any) -> None:
    for index in range(400):
        file[f"model/layer_{index}/vars/{index % 3}"] = values(20)
    file["linked"] = h5py.SoftLink("/model/layer_1")
    file["again"] = file["model/layer_2"]


def zeros_at_the_end(file: Any) -> None:
    file["weights"] = values(1_024 * 40)
    file["moments"] = np.zeros(1_024 * 40, "f4")


HEALTHY = (plain, partly, untouched, early, chunked, packed, deep, zeros_at_the_end)


@pytest.mark.parametrize("fill", HEALTHY)
@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_every_version_are_whole(tmp_path: Path, version: str, fill: Callable[[Any], object]) -> None:
    content = written(tmp_path / "weights.h5", fill, libver=version)
    finding = probe_bytes(content, "weights.h5")
    assert (finding.structure, finding.proof) == (Structure.OK, "exact-size"), finding.text
    assert f"version {VERSIONS[version]}" in finding.text


@pytest.mark.parametrize("fill", HEALTHY)
@pytest.mark.parametrize(
    "options",
    [
        {"fs_strategy": "page", "fs_page_size": PAGE, "libver": "latest"},
        {"fs_strategy": "page", "fs_page_size": 64 * 1024},
        {"fs_strategy": "fsm", "fs_persist": True},
        {"alignment_threshold": 1, "alignment_interval": PAGE},
        {"alignment_threshold": 1, "alignment_interval": PAGE, "libver": "latest"},
        {"track_order": True},
    ],
    ids=lambda options: "-".join(str(value) for value in options.values()),
)
def test_paged_and_aligned_files_are_whole(
    tmp_path: Path, options: dict[str, object], fill: Callable[[Any], object]
) -> None:
    if fill is partly and "alignment_interval" in options:
        fill = untouched  # values up to a page boundary inside a dataset are what a lost tail looks like
    content = written(tmp_path / "weights.h5", fill, **options)
    assert probe_bytes(content, "weights.h5").structure is Structure.OK


@pytest.mark.parametrize("fill", HEALTHY)
def test_a_sparse_copy_is_whole_and_its_holes_are_told(tmp_path: Path, fill: Callable[[Any], object]) -> None:
    content = written(tmp_path / "weights.h5", fill)
    pages = range(0, len(content) - PAGE + 1, PAGE)
    holes = tuple((page, page + PAGE) for page in pages if not content[page : page + PAGE].strip(b"\0"))
    finding = probe_bytes(content, "weights.h5", holes=holes)
    assert finding.structure is Structure.OK
    assert ("never stored" in finding.text) == bool(holes)


@pytest.mark.parametrize("block", [512, 2048, 8192])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_user_block_comes_before_the_superblock(tmp_path: Path, version: str, block: int) -> None:
    content = written(tmp_path / "weights.h5", plain, userblock_size=block, libver=version)
    own = b"notes of the run" + content[16:]
    for whole in (content, own, content[block:], bytes(1024) + content[block:]):
        finding = probe_bytes(whole, "weights.h5")
        assert (finding.structure, finding.expected_size) == (Structure.OK, len(whole)), finding.text
    cut = probe_bytes(own[:-1], "weights.h5")
    assert (cut.structure, cut.expected_size) == (Structure.CUT, len(content))


def test_a_file_without_any_superblock_is_broken_only_when_named_so() -> None:
    content = bytes(2 * PAGE) + random.Random(3).randbytes(200_000)
    assert probe_bytes(content, "weights.h5").structure is Structure.BROKEN
    assert probe_bytes(content, "weights.bin").structure is Structure.UNKNOWN
    assert probe_bytes(b"this was never HDF5 " * 900, "weights.h5").structure is Structure.UNKNOWN


@pytest.mark.parametrize("size", [2, 7, 9, 20, 47])
def test_a_file_cut_within_its_superblock_is_cut(tmp_path: Path, size: int) -> None:
    content = written(tmp_path / "weights.h5", plain, libver="latest")
    finding = probe_bytes(content[:size], "weights.h5")
    assert (finding.structure, finding.format) == (Structure.CUT, "hdf5")


def test_a_writer_that_never_closed_the_file_shows(tmp_path: Path) -> None:
    path = tmp_path / "weights.h5"
    with h5py.File(path, "w", libver="latest") as file:
        plain(file)
        file.flush()
        finding = probe_bytes(path.read_bytes(), "weights.h5")
    assert finding.structure is Structure.INCOMPLETE
    assert "already open for write" in finding.loader_says


@pytest.mark.parametrize("place", [10, 20, 36])
def test_the_checksum_of_a_superblock_is_compared(tmp_path: Path, place: int) -> None:
    content = bytearray(written(tmp_path / "weights.h5", plain, libver="latest"))
    content[place] ^= 1
    finding = probe_bytes(bytes(content), "weights.h5")
    assert finding.structure is Structure.BROKEN
    assert "checksum" in finding.text


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_a_part_of_a_file_in_several_is_not_called_cut(tmp_path: Path, version: str) -> None:
    with h5py.File(tmp_path / "part%d.h5", "w", driver="family", memb_size=8192, libver=version) as file:
        plain(file)
    finding = probe_bytes((tmp_path / "part0.h5").read_bytes(), "part0.h5")
    assert finding.structure is Structure.UNKNOWN
    assert "one of several files" in finding.text


@pytest.mark.parametrize("version", VERSIONS)
def test_zeros_from_a_page_of_values_on_are_suspect(tmp_path: Path, version: str) -> None:
    content = written(
        tmp_path / "weights.h5", lambda file: file.create_dataset("w", data=values(50_000)), libver=version
    )
    start = 30 * PAGE
    finding = probe_bytes(content[:start] + bytes(len(content) - start), "weights.h5")
    assert finding.structure is Structure.SUSPECT
    assert f"{start:,}" in finding.text


def test_every_group_is_looked_at_in_a_few_kilobytes_each(tmp_path: Path) -> None:
    content = written(tmp_path / "weights.h5", deep)
    fs = CountingFileSystem()
    with memory_file(content) as fd:
        assert probe_file(fs, fd, len(content), "weights.h5").structure is Structure.OK
    assert fs.bytes_read < 1_000_000
    with h5py.File(tmp_path / "weights.h5") as file:
        place = h5py.h5o.get_info(file["model/layer_399"].id).addr
    lost = content[:place] + bytes(8) + content[place + 8 :]
    assert f"{place:,}" in probe_bytes(lost, "weights.h5").text


def test_groups_that_go_in_circles_come_to_an_end() -> None:
    content = bytearray((FIXTURES / "one_save" / "hdf5_v0" / "weights.h5").read_bytes())
    node = content.index(b"SNOD")
    tree = content.index(b"TREE")
    content[node + 8 + 32 : node + 8 + 40] = tree.to_bytes(8, "little")
    assert probe_bytes(bytes(content), "weights.h5").text


# --- the same inside a zip


def keras_members() -> dict[str, bytes]:
    with zipfile.ZipFile(FIXTURES / "one_save" / "keras" / "model.keras") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def keras_file(path: Path, members: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path.read_bytes()


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_keras_file_of_another_zip_writer_is_whole(tmp_path: Path, kind: int) -> None:
    content = keras_file(tmp_path / "model.keras", keras_members() | {"assets/words.txt": b"a b c"}, kind)
    assert probe_bytes(content, "model.keras").structure is Structure.OK


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("config.json", lambda data: data[:-1]),
        ("metadata.json", lambda data: b"[]"),
        ("model.weights.h5", lambda data: data[:-1]),
        ("model.weights.h5", lambda data: b"\0" + data[1:]),
    ],
)
def test_a_keras_file_closed_over_a_damaged_member_is_broken(
    tmp_path: Path, name: str, spoil: Callable[[bytes], bytes]
) -> None:
    members = keras_members()
    members[name] = spoil(members[name])
    finding = probe_bytes(keras_file(tmp_path / "model.keras", members), "model.keras")
    assert finding.structure in (Structure.BROKEN, Structure.CUT)
    assert repr(name) in finding.text
    assert finding.format == "keras"
