"""torch DCP against the fact table, and the rules that it does not cover."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from ckptdeck.core.probes import dcp
from ckptdeck.core.probes import dcp_metadata as metadata_walk
from ckptdeck.core.states import Structure
from tests.core.probes.dcp_pickles import dcp_metadata
from tests.core.probes.fact_table import cells
from tests.core.probes.looking import FIXTURES, CountingFileSystem
from tests.core.probes.trees import copied, damaged_copy, expectations, made, probe_directory, spoil

DCP = "dcp"
FIRST, SECOND, METADATA = "__0_0.distcp", "__0_1.distcp", ".metadata"
TABLE_1F = """
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
zero_tail_4k    C C
hole_tail       C C
zero_gap        C C
hole_gap        C C
zero_page_mid   . C
zero_page_head  C C
bitflip_mid     . C
all_zero        C C
all_hole        C C
torn_mix        . -
extra_16        S S
extra_4k_zero   S S
stale           . .
missing         I I
"""


@pytest.mark.parametrize(("layout", "member", "kind", "enough"), cells(TABLE_1F, ((DCP, FIRST), (DCP, METADATA))))
def test_every_damage_is_told(
    tmp_path: Path, layout: str, member: str, kind: str, enough: frozenset[Structure]
) -> None:
    finding = probe_directory(damaged_copy(layout, tmp_path, member, kind))
    assert finding.structure in enough, finding


@pytest.mark.parametrize(("key", "enough"), expectations(DCP).items())
def test_what_is_expected_of_real_ones(tmp_path: Path, key: tuple[str, str], enough: frozenset[Structure]) -> None:
    finding = probe_directory(damaged_copy(DCP, tmp_path, *key))
    assert finding.structure in enough, finding


@pytest.mark.parametrize("which", ["one_save", "another_save"])
def test_whole_ones_raise_no_alarm(which: str) -> None:
    fs = CountingFileSystem()
    finding = probe_directory(FIXTURES / which / DCP, fs)
    assert finding.structure is Structure.OK, finding
    assert finding.text.startswith("2 parts of the size that .metadata gives")
    assert fs.bytes_read < 150_000


def test_a_save_that_did_not_finish_is_told_by_the_missing_metadata(tmp_path: Path) -> None:
    root = copied(DCP, tmp_path)
    (root / METADATA).rename(root / ".metadata.tmp")
    (root / SECOND).rename(root / "__3_0.distcp")
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "did not finish" in finding.text
    assert "2 parts of 2 ranks, the highest 3, some without any, and .metadata.tmp" in finding.text


def test_every_directory_is_judged(tmp_path: Path) -> None:
    copied(DCP, tmp_path / "step", name="model")
    optimizer = copied(DCP, tmp_path / "step", name="optimizer_0")
    root = tmp_path / "step"
    assert probe_directory(root).structure is Structure.OK
    (optimizer / SECOND).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "optimizer_0/__0_1.distcp" in finding.text
    (optimizer / METADATA).unlink()
    assert "optimizer_0/.metadata is not there" in probe_directory(root).text


def test_metadata_of_each_rank_count_together(tmp_path: Path) -> None:
    root = made(
        {
            "__0.metadata": dcp_metadata({"a": ("__0_0.distcp", 0, 5)}),
            "__1.metadata": dcp_metadata({"a": ("__1_0.distcp", 0, 4)}),
            "__0_0.distcp": b"first",
            "__1_0.distcp": b"next",
        },
        tmp_path / "ranks",
    )
    assert probe_directory(root).structure is Structure.OK
    (root / "__1_0.distcp").unlink()
    assert probe_directory(root).structure is Structure.INCOMPLETE


def test_a_part_that_is_not_named_is_suspect(tmp_path: Path) -> None:
    root = copied(DCP, tmp_path)
    (root / "__1_0.distcp").write_bytes((root / FIRST).read_bytes())
    finding = probe_directory(root)
    assert finding.structure is Structure.SUSPECT
    assert "__1_0.distcp" in finding.text


def test_the_worst_is_said_and_the_others_are_counted(tmp_path: Path) -> None:
    root = copied(DCP, tmp_path)
    (root / FIRST).unlink()
    spoil(root / SECOND, "trunc_73")
    finding = probe_directory(root)
    assert finding.structure is Structure.CUT
    assert SECOND in finding.text
    assert "and 1 more" in finding.text


@pytest.mark.parametrize("kind", ["trunc_73", "trunc_m1", "zero_tail"])
def test_without_sizes_the_ends_of_parts_still_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(metadata_walk, "_LARGEST", 1000)
    root = copied(DCP, tmp_path)
    finding = probe_directory(root)
    assert finding.structure is Structure.OK
    assert "sizes are unknown" in finding.text
    spoil(root / FIRST, kind)
    assert probe_directory(root).structure is Structure.CUT


def test_metadata_of_an_unknown_form_leaves_sizes_unknown(tmp_path: Path) -> None:
    root = copied(DCP, tmp_path)
    (root / METADATA).write_bytes(pickle.dumps({"another": "form"}))
    assert "sizes are unknown" in probe_directory(root).text


def test_what_went_through_a_transformation_is_not_taken_for_an_archive(tmp_path: Path) -> None:
    root = made(
        {METADATA: dcp_metadata({"a": (FIRST, 0, 6000)}, packed=True), FIRST: bytes(5000) + b"1" * 1000},
        tmp_path / "packed",
    )
    assert probe_directory(root).structure is Structure.OK
    made({METADATA: dcp_metadata({"a": (FIRST, 0, 6000)})}, root)
    finding = probe_directory(root)
    assert finding.structure is Structure.BROKEN
    assert "begins with zeros" in finding.text


def test_pieces_behind_one_offset_have_no_end_that_is_known(tmp_path: Path) -> None:
    pieces = {"a": (FIRST, 10, 100), "b": (FIRST, 10, 50)}
    root = made({METADATA: dcp_metadata(pieces), FIRST: b"1" * 500}, tmp_path / "lumped")
    assert probe_directory(root).structure is Structure.OK
    (root / FIRST).write_bytes(b"1" * 90)
    assert probe_directory(root).structure is Structure.CUT


def test_a_piece_that_lies_nowhere_is_suspect(tmp_path: Path) -> None:
    root = made({METADATA: dcp_metadata({"a": (FIRST, 0, 3)}, listed=("b",)), FIRST: b"abc"}, tmp_path / "nowhere")
    finding = probe_directory(root)
    assert finding.structure is Structure.SUSPECT
    assert "'b' has a piece that lies in no part" in finding.text


@pytest.mark.parametrize("place", [("../outside", 0, 1), ("/etc/passwd", 0, 1), ("a\0b", 0, 1), (FIRST, -5, 3)])
def test_hostile_places_are_findings(tmp_path: Path, place: tuple[str, int, int]) -> None:
    root = made({METADATA: dcp_metadata({"a": place}), FIRST: b"abc"}, tmp_path / "hostile")
    assert probe_directory(root).structure in (Structure.INCOMPLETE, Structure.BROKEN)


def test_a_tower_of_tuples_is_not_gone_into(tmp_path: Path) -> None:
    tower = b"\x80\x04" + b"c" + b"torch\nSize\n" + b")" + b"\x85" * 200_000 + b"R."
    root = made({METADATA: tower, FIRST: b"abc"}, tmp_path / "tower")
    assert probe_directory(root).structure in Structure


def test_many_pieces_are_looked_at_here_and_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcp, "_MOST_PIECES_LOOKED_AT", 10)
    finding = probe_directory(FIXTURES / "one_save" / DCP)
    assert finding.structure is Structure.OK
    assert "of 37 pieces" in finding.text
    assert "37 of 37" not in finding.text
