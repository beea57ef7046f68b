"""TensorFlow's checkpoints and SavedModels against the fact table, and the rules that it does not cover."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

import pytest

from ckptdeck.core.probes.crc32c import crc32c, masked
from ckptdeck.core.probes.tensor_bundle import tensor_checksums
from ckptdeck.core.states import Structure
from tests.core.probes.fact_table import cells
from tests.core.probes.looking import FIXTURES, CountingFileSystem
from tests.core.probes.tables_of_keys import bundle_index
from tests.core.probes.trees import copied, damaged_copy, made, probe_directory, spoil, tree_of

CHECKPOINT, MODEL = "tf_checkpoint", "tf_savedmodel"
DATA = "variables/variables.data-00000-of-00001"
COLUMNS = (
    (CHECKPOINT, "ckpt-1.index"),
    (CHECKPOINT, "ckpt-1.data-00000-of-00001"),
    (CHECKPOINT, "checkpoint"),
    (MODEL, "saved_model.pb"),
    (MODEL, DATA),
)
TABLE_1F = """
trunc_0         C C C C C
trunc_1B        C C C C C
trunc_10        C C C C C
trunc_50        C C . C C
trunc_73        C C . C C
trunc_90        C C . C C
trunc_99        C C . C C
trunc_m1        C C . C C
trunc_m4096     - C - C -
zero_tail       C S C S S
zero_tail_4k    C . C . .
hole_tail       C S C S S
zero_gap        C . C . .
hole_gap        C S C . S
zero_page_mid   C . C . .
zero_page_head  C . C C .
bitflip_mid     C . . . .
all_zero        C S C C S
all_hole        C S C C S
torn_mix        - . - . .
extra_16        C S C C S
extra_4k_zero   C S C C S
stale           . . . . .
missing         I I I I I
"""


@pytest.mark.parametrize(("layout", "member", "kind", "enough"), cells(TABLE_1F, COLUMNS))
def test_every_damage_is_told(
    tmp_path: Path, layout: str, member: str, kind: str, enough: frozenset[Structure]
) -> None:
    finding = probe_directory(damaged_copy(layout, tmp_path, member, kind))
    assert finding.structure in enough, finding
    assert finding.text


@pytest.mark.parametrize("which", ["one_save", "another_save"])
@pytest.mark.parametrize("layout", [CHECKPOINT, MODEL])
def test_whole_ones_raise_no_alarm(layout: str, which: str) -> None:
    fs = CountingFileSystem()
    finding = probe_directory(FIXTURES / which / layout, fs)
    assert finding.structure is Structure.OK, finding
    assert "values not checked" in finding.text
    assert fs.bytes_read < 60_000


@pytest.mark.parametrize("layout", [CHECKPOINT, MODEL])
def test_the_checksums_of_tensors_are_those_of_their_bytes(layout: str) -> None:
    tree = tree_of(FIXTURES / "one_save" / layout)
    found = tensor_checksums(tree)
    assert len(found) == {CHECKPOINT: 5, MODEL: 2}[layout]
    for path, offset, size, stored in found:
        data = (FIXTURES / "one_save" / layout / path).read_bytes()[offset : offset + size]
        assert masked(crc32c(data)) == stored


@pytest.mark.parametrize("kind", ["zero_gap", "zero_page_mid", "bitflip_mid", "torn_mix"])
@pytest.mark.parametrize(("layout", "member"), [(CHECKPOINT, "ckpt-1.data-00000-of-00001"), (MODEL, DATA)])
def test_the_values_of_small_tensors_are_proven(tmp_path: Path, layout: str, member: str, kind: str) -> None:
    finding = probe_directory(damaged_copy(layout, tmp_path, member, kind))
    assert finding.structure is Structure.BROKEN
    assert "checksum" in finding.text


def test_of_strings_the_checksum_is_over_lengths_too(tmp_path: Path) -> None:
    root = copied(CHECKPOINT, tmp_path)
    path = root / "ckpt-1.data-00000-of-00001"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    finding = probe_directory(root)
    assert finding.structure is Structure.BROKEN
    assert "_CHECKPOINTABLE_OBJECT_GRAPH" in finding.text


@pytest.mark.parametrize(
    ("kind", "structure"),
    [
        ("hole_tail", Structure.SUSPECT),
        ("hole_gap", Structure.SUSPECT),
        ("zero_tail", Structure.SUSPECT),
        ("zero_page_mid", Structure.OK),
        ("extra_16", Structure.SUSPECT),
        ("trunc_m1", Structure.CUT),
    ],
)
def test_large_tensors_are_suspect_where_pages_look_lost(tmp_path: Path, kind: str, structure: Structure) -> None:
    tensors = {"a": b"1234", "large": random.Random(1).randbytes(1_000_001)}
    root = made(bundle("model", tensors), tmp_path / "large")
    spoil(root / "model.data-00000-of-00001", kind)
    finding = probe_directory(root)
    assert finding.structure is structure, finding


def test_tensors_of_zeros_raise_no_alarm(tmp_path: Path) -> None:
    tensors = {"a": b"\x01" * 3000, "b": bytes(9000)}
    root = made(bundle("model", tensors), tmp_path / "zeros")
    assert probe_directory(root).structure is Structure.OK
    root = made(bundle("model", {"a": bytes(5000), "b": bytes(9000)}), tmp_path / "all_zeros")
    assert probe_directory(root).structure is Structure.OK


def test_the_files_of_one_checkpoint_need_no_state_file(tmp_path: Path) -> None:
    group = copied(CHECKPOINT, tmp_path, name="ckpt-1")
    (group / "checkpoint").unlink()
    assert probe_directory(group).structure is Structure.OK
    directory = copied(CHECKPOINT, tmp_path, name="run")
    (directory / "checkpoint").unlink()
    assert probe_directory(directory).structure is Structure.INCOMPLETE


def test_what_write_makes_needs_no_state_file_either(tmp_path: Path) -> None:
    assert probe_directory(made(bundle("model", {"w": b"\x01" * 40}), tmp_path / "written")).structure is Structure.OK


def test_a_missing_data_file_of_several_is_named(tmp_path: Path) -> None:
    files = bundle("model", {"a": b"1" * 10, "b": b"2" * 20}, shards=2)
    del files["model.data-00001-of-00002"]
    finding = probe_directory(made(files, tmp_path / "shards"))
    assert finding.structure is Structure.INCOMPLETE
    assert "model.data-00001-of-00002" in finding.text


def test_a_data_file_without_tensors_may_be_missing_or_empty(tmp_path: Path) -> None:
    files = bundle("model", {"a": b"1" * 10}, shards=2)
    assert probe_directory(made(files, tmp_path / "missing")).structure is Structure.OK
    files["model.data-00001-of-00002"] = b""
    assert probe_directory(made(files, tmp_path / "empty")).structure is Structure.OK


def test_the_worst_is_said_and_the_others_are_counted(tmp_path: Path) -> None:
    files = bundle("model", {"a": b"1" * 10, "b": b"2" * 20}, shards=2)
    del files["model.data-00001-of-00002"]
    files["model.data-00000-of-00002"] = b"1" * 9
    finding = probe_directory(made(files, tmp_path / "two"))
    assert finding.structure is Structure.CUT
    assert "9 of 10 bytes" in finding.text
    assert "1 more" in finding.text


def test_a_latest_checkpoint_that_is_gone_is_missed(tmp_path: Path) -> None:
    root = copied(CHECKPOINT, tmp_path)
    (root / "checkpoint").write_text('model_checkpoint_path: "/elsewhere/run/ckpt-7"\n')
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "ckpt-7" in finding.text


def test_an_absolute_path_of_an_older_place_raises_no_alarm(tmp_path: Path) -> None:
    root = copied(CHECKPOINT, tmp_path)
    (root / "checkpoint").write_text('model_checkpoint_path: "/elsewhere/run/ckpt-1"\n')
    assert probe_directory(root).structure is Structure.OK


def test_a_model_without_its_variables_is_missed(tmp_path: Path) -> None:
    root = copied(MODEL, tmp_path)
    shutil.rmtree(root / "variables")
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "variables/variables.index" in finding.text


def test_zeros_inside_the_graph_of_a_model_are_proven(tmp_path: Path) -> None:
    finding = probe_directory(damaged_copy(MODEL, tmp_path, "saved_model.pb", "zero_gap"))
    assert finding.structure is Structure.BROKEN
    assert "found zeros" in finding.text


def test_a_table_packed_by_another_writer_is_left_alone(tmp_path: Path) -> None:
    files = bundle("model", {"a": b"1" * 10}, kind_of_blocks=1)
    finding = probe_directory(made(files, tmp_path / "packed"))
    assert finding.structure is Structure.OK
    assert "unknown" in finding.text


def bundle(prefix: str, tensors: dict[str, bytes], *, shards: int = 1, kind_of_blocks: int = 0) -> dict[str, bytes]:
    """Float tensors, laid in turn into the data files."""
    data = [b""] * shards
    places = {}
    for number, (name, content) in enumerate(sorted(tensors.items())):
        shard = number % shards
        places[name] = (shard, len(data[shard]), content)
        data[shard] += content
    files = {f"{prefix}.data-{shard:05d}-of-{shards:05d}": content for shard, content in enumerate(data) if content}
    return files | {f"{prefix}.index": bundle_index(places, shards, kind_of_blocks)}


def test_checksums_of_a_made_table_agree() -> None:
    index = bundle_index({"a": (0, 0, b"1234")}, 1, 0)
    assert struct.pack("<L", masked(crc32c(b"1234"))) in index
