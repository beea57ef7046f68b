"""Orbax against the fact table, with a zstd decompressor and without, and the rules that it does not cover."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ckptdeck.core.probes import zstd_content
from ckptdeck.core.states import Structure
from tests.core.probes.fact_table import cells
from tests.core.probes.looking import FIXTURES, CountingFileSystem
from tests.core.probes.ocdbt_made import DATA, STAGE, made_values, ocdbt_step, step_metadata, zarr_step
from tests.core.probes.trees import (
    PROVEN,
    copied,
    damaged_copy,
    expectations,
    made,
    members_of,
    probe_directory,
    spoil,
)

OCDBT, ZARR = "orbax_ocdbt/100", "orbax_zarr/100"
BAD = PROVEN | {Structure.INCOMPLETE}
ROOT_FILE = next(name for name in members_of(OCDBT) if name.startswith("default/d/"))
COLUMNS = (
    (OCDBT, "default/manifest.ocdbt"),
    (OCDBT, ROOT_FILE),
    (OCDBT, "default/_METADATA"),
    (OCDBT, "_CHECKPOINT_METADATA"),
    (OCDBT, "commit_success.txt"),
    (ZARR, "params.dense.kernel/.zarray"),
)
TABLE_1G = """
trunc_0         C C C C . C
trunc_1B        C C C C . C
trunc_10        C C C C . C
trunc_50        C C C C . C
trunc_73        C C C C . C
trunc_90        C C C C . C
trunc_99        C C C C . C
trunc_m1        C C C C . C
zero_tail       C C C C . C
zero_tail_4k    C C C C . C
hole_tail       C C C C . C
zero_gap        C C C C . C
hole_gap        C C C C . C
zero_page_mid   C C C C . C
zero_page_head  C C C C . C
bitflip_mid     C C C . . C
all_zero        C C C C . C
all_hole        C C C C . C
extra_16        C S C C . C
extra_4k_zero   C S C C . C
missing         I . I S S I
"""
DATA_FILE, CHUNK = "data file", "chunk"
TABLE_1G_OF_VALUES = """
trunc_0         C C
trunc_1B        C C
trunc_10        C C
trunc_50        C C
trunc_73        C C
trunc_90        C C
trunc_99        C C
trunc_m1        C C
trunc_m4096     C C
zero_tail       C C
zero_tail_4k    C .
hole_tail       C C
zero_gap        C C
hole_gap        C C
zero_page_mid   . .
zero_page_head  C C
bitflip_mid     . .
all_zero        C C
all_hole        C C
extra_16        S S
extra_4k_zero   S S
missing         . I
"""


@pytest.fixture(params=["with zstd", "without"])
def zstd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether something can decompress."""
    if request.param == "without":
        monkeypatch.setattr(zstd_content, "_module", lambda name: None)
    return bool(request.param != "without")


@pytest.fixture
def without_zstd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd_content, "_module", lambda name: None)


@pytest.mark.parametrize(("layout", "member", "kind", "enough"), cells(TABLE_1G, COLUMNS))
def test_every_damage_is_told(
    tmp_path: Path, zstd: bool, layout: str, member: str, kind: str, enough: frozenset[Structure]
) -> None:
    finding = probe_directory(damaged_copy(layout, tmp_path, member, kind))
    assert finding.structure in enough, finding


@pytest.mark.parametrize(
    ("layout", "member", "kind", "enough"), cells(TABLE_1G_OF_VALUES, (("ocdbt", DATA), ("zarr", "a/0")))
)
def test_every_damage_of_values_is_told(
    tmp_path: Path, zstd: bool, layout: str, member: str, kind: str, enough: frozenset[Structure]
) -> None:
    step = ocdbt_step if layout == "ocdbt" else zarr_step
    root = made(step(made_values(1)), tmp_path / "100")
    if kind == "missing":
        (root / member).unlink()
    else:
        spoil(root / member, kind)
    finding = probe_directory(root)
    assert finding.structure in enough, finding


@pytest.mark.parametrize(("key", "enough"), expectations(OCDBT).items())
def test_what_is_expected_of_real_ones(tmp_path: Path, key: tuple[str, str], enough: frozenset[Structure]) -> None:
    finding = probe_directory(damaged_copy(OCDBT, tmp_path, *key))
    assert finding.structure in enough, finding


@pytest.mark.parametrize("member", [name for name in members_of(OCDBT) if "/d/" in name])
def test_every_missing_data_file_is_missed(tmp_path: Path, member: str) -> None:
    finding = probe_directory(damaged_copy(OCDBT, tmp_path, member, "missing"))
    assert finding.structure is Structure.INCOMPLETE
    assert member in finding.text


def test_without_a_decompressor_nothing_is_claimed_of_missing_data_files(tmp_path: Path, without_zstd: None) -> None:
    data = next(name for name in members_of(OCDBT) if "/ocdbt.process_0/d/" in name)
    finding = probe_directory(damaged_copy(OCDBT, tmp_path, data, "missing"))
    assert finding.structure is Structure.OK
    assert "cannot be told whether all are there" in finding.text


def test_a_store_without_any_data_file_is_told_without_a_decompressor(tmp_path: Path, without_zstd: None) -> None:
    finding = probe_directory(damaged_copy(OCDBT, tmp_path, ROOT_FILE, "missing"))
    assert finding.structure is Structure.INCOMPLETE
    assert "default/d/ is not there" in finding.text


@pytest.mark.parametrize("which", ["one_save", "another_save"])
@pytest.mark.parametrize("layout", [OCDBT, ZARR])
def test_whole_ones_raise_no_alarm(zstd: bool, layout: str, which: str) -> None:
    fs = CountingFileSystem()
    finding = probe_directory(FIXTURES / which / layout, fs)
    assert finding.structure is Structure.OK, finding
    assert finding.format == "orbax"
    assert fs.bytes_read < 60_000


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("versions", [True, False])
def test_made_ones_raise_no_alarm(tmp_path: Path, zstd: bool, packed: bool, versions: bool) -> None:
    root = made(ocdbt_step(made_values(1), packed=packed, versions=versions), tmp_path / "100")
    finding = probe_directory(root)
    assert finding.structure is Structure.OK, finding
    assert ("cannot be told" in finding.text) is (packed and not zstd)


def test_nodes_that_are_not_packed_need_no_decompressor(tmp_path: Path, without_zstd: None) -> None:
    root = made(ocdbt_step(made_values(1), packed=False, versions=True), tmp_path / "100")
    (root / DATA).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert DATA in finding.text


def test_of_a_stage_that_was_merged_it_is_said_that_nothing_needs_it(tmp_path: Path) -> None:
    root = made(ocdbt_step(made_values(1)), tmp_path / "100")
    (root / STAGE).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "the merged manifest does without it" in finding.text
    root = made(ocdbt_step(made_values(1)), tmp_path / "101")
    spoil(root / STAGE, "trunc_73")
    finding = probe_directory(root)
    assert finding.structure in PROVEN
    assert "the merged manifest does without it" in finding.text


def test_the_end_of_every_value_is_known_by_its_place(tmp_path: Path) -> None:
    """A cut at the end of a frame looks whole from the start of the file."""
    files = ocdbt_step(made_values(1))
    first = len(files[DATA]) - len(files[DATA].split(b"\x28\xb5\x2f\xfd\xa0", 3)[3]) - 5
    files[DATA] = files[DATA][:first]
    finding = probe_directory(made(files, tmp_path / "100"))
    assert finding.structure is Structure.CUT
    assert "reach into" in finding.text


def test_a_step_that_was_not_committed_is_incomplete(tmp_path: Path) -> None:
    root = copied(OCDBT, tmp_path)
    (root / "_CHECKPOINT_METADATA").write_bytes(step_metadata({"default": "handler"}, committed=False))
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "did not finish" in finding.text


@pytest.mark.parametrize("name", ["params.orbax-checkpoint-tmp", "default.orbax-checkpoint-tmp-1796005344"])
def test_temporary_names_are_incomplete(tmp_path: Path, name: str) -> None:
    root = copied(ZARR, tmp_path)
    (root / name).mkdir()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert name in finding.text
    bare = tmp_path / "bare"
    (bare / name).mkdir(parents=True)
    (bare / name / "0.0").write_bytes(b"1")
    assert probe_directory(bare).structure is Structure.INCOMPLETE


def test_an_item_that_is_not_there_is_missed(tmp_path: Path) -> None:
    root = copied(OCDBT, tmp_path)
    document = json.loads((root / "_CHECKPOINT_METADATA").read_bytes())
    document["item_handlers"]["rng"] = "handler"
    (root / "_CHECKPOINT_METADATA").write_text(json.dumps(document))
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "rng/" in finding.text


def test_marks_of_success_are_asked_for_only_where_others_are(tmp_path: Path) -> None:
    root = copied(OCDBT, tmp_path)
    (root / "commit_success.txt").unlink()
    assert probe_directory(root).structure is Structure.SUSPECT
    (root / "default/commit_success.txt").unlink()
    assert probe_directory(root).structure is Structure.OK


def test_a_store_that_was_not_merged_is_incomplete(tmp_path: Path) -> None:
    root = copied(OCDBT, tmp_path)
    (root / "default/manifest.ocdbt").unlink()
    shutil.rmtree(root / "default/d")
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "not merged" in finding.text


def test_an_array_that_the_store_lacks_is_missed(tmp_path: Path) -> None:
    values = made_values(1)
    files = ocdbt_step({name: values[name] for name in "ab"})
    files["default/_METADATA"] = ocdbt_step(values)["default/_METADATA"]
    finding = probe_directory(made(files, tmp_path / "100"))
    assert finding.structure is Structure.INCOMPLETE
    assert "c: no such array" in finding.text


def test_an_array_of_zarr_that_is_gone_is_missed(tmp_path: Path) -> None:
    root = copied(ZARR, tmp_path)
    shutil.rmtree(root / "params.head.bias")
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "params.head.bias" in finding.text


def test_old_versions_leave_chunks_of_the_fill_value_away(tmp_path: Path) -> None:
    files = zarr_step(made_values(1))
    document = json.loads(files["_METADATA"])
    del document["store_array_data_equal_to_fill_value"], document["custom_metadata"], files["a/0"]
    files["_METADATA"] = json.dumps(document).encode()
    finding = probe_directory(made(files, tmp_path / "100"))
    assert finding.structure is Structure.OK
    assert "1 chunk not stored" in finding.text
    del files["_CHECKPOINT_METADATA"]
    assert probe_directory(made(files, tmp_path / "old")).structure is Structure.OK


def test_the_metadata_must_agree_with_itself(tmp_path: Path) -> None:
    root = copied(OCDBT, tmp_path)
    path = root / "default/_METADATA"
    path.write_bytes(path.read_bytes().replace(b'"key": "bias"', b'"key": "bibs"', 1))
    finding = probe_directory(root)
    assert finding.structure is Structure.BROKEN
    assert "does not agree" in finding.text


def test_the_worst_is_said_and_the_others_are_counted(tmp_path: Path) -> None:
    root = copied(OCDBT, tmp_path)
    (root / "commit_success.txt").unlink()
    spoil(root / "default/_METADATA", "trunc_50")
    finding = probe_directory(root)
    assert finding.structure in PROVEN
    assert "default/_METADATA" in finding.text
    assert "and 1 more" in finding.text


def test_items_that_are_documents_are_read(tmp_path: Path) -> None:
    files = {
        "_CHECKPOINT_METADATA": step_metadata({"state": "handler", "meta": "handler"}),
        "state/_METADATA": b'{"tree_metadata": {}}',
        "meta/metadata": b'{"epoch": 3}',
    }
    root = made(files, tmp_path / "100")
    assert probe_directory(root).structure is Structure.OK
    (root / "meta/metadata").write_bytes(b'{"epo')
    finding = probe_directory(root)
    assert finding.structure is Structure.CUT
    assert "meta/metadata" in finding.text
    (root / "meta/metadata").unlink()
    (root / "meta/commit_success.txt").write_bytes(b"")
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "meta/ is not there, or empty" in finding.text


def test_texts_that_are_gone_are_missed(tmp_path: Path) -> None:
    files = zarr_step(made_values(1))
    document = json.loads(files["_METADATA"])
    document["tree_metadata"]["('name',)"] = {
        "key_metadata": [{"key": "name", "key_type": 2}],
        "value_metadata": {"value_type": "string", "skip_deserialize": False},
    }
    files |= {"_METADATA": json.dumps(document).encode(), "_strings.json": b'{"name": "a run"}'}
    root = made(files, tmp_path / "100")
    assert probe_directory(root).structure is Structure.OK
    (root / "_strings.json").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "_strings.json" in finding.text
