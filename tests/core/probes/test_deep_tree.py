"""Checkpoints of several files, every file read: what checksums inside prove, and what they find."""

from __future__ import annotations

import json
import random
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import deep_listed
from ckptdeck.core.probes.deep_tree import deep_tree
from ckptdeck.core.probes.tree import LostInTree, Tree
from ckptdeck.core.progress import Effort, Progress
from ckptdeck.core.states import Structure
from tests.core.probes.deep_looking import deep_directory
from tests.core.probes.looking import FIXTURES, save
from tests.core.probes.test_deep_zips import LARGE, torch_file
from tests.core.probes.test_mutants import mutate
from tests.core.probes.trees import (
    PROVEN,
    copied,
    damaged_copy,
    expectations,
    made,
    members_of,
    probe_directory,
    tree_of,
)
from tests.crash.sandbox import machine

LAYOUTS = (
    "hf_trainer",
    "hf_sharded",
    "accelerate",
    "dcp",
    "tf_checkpoint",
    "tf_savedmodel",
    "orbax_ocdbt/100",
    "orbax_zarr/100",
)
TRAINER_NAME = "checkpoint-2"
DATA = "ckpt-1.data-00000-of-00001"
BY_CHECKSUMS = (
    ("hf_trainer", "optimizer.pt"),
    ("accelerate", "optimizer.bin"),
    ("accelerate", "random_states_0.pkl"),
    ("dcp", "__0_0.distcp"),
    ("tf_checkpoint", DATA),
    ("tf_savedmodel", "variables/variables.data-00000-of-00001"),
)
INSIDE = ("zero_gap", "zero_page_mid", "bitflip_mid", "hole_gap")


@pytest.mark.parametrize("which", ["one_save", "another_save"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_whole_trees_raise_no_alarm(layout: str, which: str) -> None:
    finding = deep_directory(FIXTURES / which / layout)
    assert finding.structure is Structure.OK, finding
    assert "not checked" not in finding.text
    assert "checksum" in finding.text


@pytest.mark.parametrize("layout", ["dcp", "tf_checkpoint"])
def test_trees_of_values_with_checksums_are_proven(layout: str) -> None:
    finding = deep_directory(FIXTURES / "one_save" / layout)
    assert finding.proof == "checksums"
    assert "checksums inside agree for" in finding.text


def test_what_nothing_inside_proves_is_named() -> None:
    finding = deep_directory(FIXTURES / "one_save" / "hf_trainer")
    assert finding.proof != "checksums"
    assert "checksums inside agree for 4 of 8 files" in finding.text
    assert "nothing inside proves model.safetensors" in finding.text


@pytest.mark.parametrize("kind", INSIDE)
@pytest.mark.parametrize(("layout", "member"), BY_CHECKSUMS)
def test_what_only_checksums_can_find_is_found(tmp_path: Path, layout: str, member: str, kind: str) -> None:
    root = damaged_copy(layout, tmp_path, member, kind, name=TRAINER_NAME)
    if (root / member).read_bytes() == save(f"{layout}/{member}"):
        assert deep_directory(root).structure is Structure.OK  # the hole fell on zeros
        return
    finding = deep_directory(root)
    assert finding.structure in PROVEN, finding
    assert member in finding.text
    assert finding.loader_says


@pytest.mark.parametrize("layout", ["hf_trainer", "dcp", "orbax_ocdbt/100"])
def test_every_row_of_the_expectations_is_met(tmp_path: Path, layout: str) -> None:
    rows = expectations(layout, "deep")
    assert len(rows) > 10
    for (member, kind), enough in rows.items():
        root = damaged_copy(layout, tmp_path, member, kind, name=TRAINER_NAME)
        finding = deep_directory(root)
        assert finding.structure in enough, (member, kind, finding)
        shutil.rmtree(root)


def test_a_part_of_large_values_is_found_by_its_checksums(tmp_path: Path) -> None:
    content = torch_file(LARGE[:600_000])
    place = content.index(LARGE[300_000:300_032])
    content = content[:place] + b"\0" + content[place + 1 :]
    root = made({"state.pt": content, "other.pt": torch_file(LARGE[:9_000])}, tmp_path / "step_5")
    assert probe_directory(root).structure not in PROVEN
    finding = deep_directory(root)
    assert finding.structure is Structure.BROKEN
    assert finding.text.startswith("state.pt: 1 of 7 checksums")


def test_a_quick_finding_is_not_read_past(tmp_path: Path) -> None:
    root = damaged_copy("hf_trainer", tmp_path, "optimizer.pt", "trunc_73", name=TRAINER_NAME)
    seen: list[Progress] = []
    tree = tree_of(root)
    finding = deep_tree(machine(FileSystem()), with_effort(tree, Effort(report=seen.append)), "primary")
    assert finding == probe_directory(root)
    assert seen == []


def test_a_missing_member_is_told_after_all_is_read(tmp_path: Path) -> None:
    root = damaged_copy("hf_trainer", tmp_path, "scheduler.pt", "missing", name=TRAINER_NAME)
    assert deep_directory(root).structure is Structure.INCOMPLETE


def test_an_empty_directory_is_incomplete(tmp_path: Path) -> None:
    assert deep_directory(made({}, tmp_path)).structure is Structure.INCOMPLETE


def with_effort(tree: Tree, effort: Effort) -> Tree:
    return Tree(tree.fs, tree.root, tree.name, tree.members, effort)


def test_progress_is_of_the_whole_tree() -> None:
    seen: list[Progress] = []
    tree = with_effort(tree_of(FIXTURES / "one_save" / "hf_trainer"), Effort(report=seen.append))
    deep_tree(machine(FileSystem()), tree, "mirror")
    total = sum(member.size for member in tree.files.values())
    assert {(each.phase, each.name, each.side, each.total) for each in seen} == {
        ("deep", "hf_trainer", "mirror", total)
    }
    done = [each.done for each in seen]
    assert done == sorted(done)
    assert done[-1] == total


def test_a_tree_that_changes_is_no_finding(tmp_path: Path) -> None:
    root = copied("hf_trainer", tmp_path, name=TRAINER_NAME)
    tree = tree_of(root)
    (root / "optimizer.pt").write_bytes(b"another")
    with pytest.raises(LostInTree):
        deep_tree(machine(FileSystem()), tree, "primary")


# --- Megatron's listing


def megatron(root: Path, files: dict[str, bytes], listed: dict[str, bytes] | None = None) -> Path:
    digests = {name: sha256(content).hexdigest() for name, content in (files if listed is None else listed).items()}
    listing = json.dumps({"algorithm": "sha256", "files": digests}).encode()
    return made({**files, "integrity.json": listing}, root / "iter_0000810")


FILES = {"weights.safetensors": save("safetensors/model.safetensors"), "common.pt": torch_file(LARGE[:40_000])}


def test_listed_hashes_prove_every_file(tmp_path: Path) -> None:
    finding = deep_directory(megatron(tmp_path, FILES))
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums"), finding
    assert "their hashes agree" in finding.text


def test_a_file_with_another_hash_is_proven_wrong(tmp_path: Path) -> None:
    another = {**FILES, "weights.safetensors": save("safetensors/model.safetensors", "another_save")}
    root = megatron(tmp_path, another, listed=FILES)
    assert probe_directory(root).structure is Structure.OK
    finding = deep_directory(root)
    assert finding.structure is Structure.BROKEN
    assert "weights.safetensors: has sha256" in finding.text


def test_a_file_that_is_not_listed_is_told(tmp_path: Path) -> None:
    listed = {"common.pt": FILES["common.pt"]}
    finding = deep_directory(megatron(tmp_path, FILES, listed=listed))
    assert finding.structure is Structure.OK
    assert finding.proof != "checksums"
    assert "not weights.safetensors" in finding.text
    assert "nothing inside proves weights.safetensors" in finding.text


# --- TensorFlow's checksums


def test_tensors_beyond_the_bound_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_listed, "_MOST_OF_TENSORS", 2_000)
    finding = deep_directory(FIXTURES / "one_save" / "tf_checkpoint")
    assert finding.structure is Structure.OK
    assert finding.proof != "checksums"
    assert "bytes of tensors were not looked at" in finding.text


# --- mutants


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mutants_give_findings(tmp_path: Path, layout: str) -> None:
    root = copied(layout, tmp_path, name=TRAINER_NAME)
    values = random.Random(layout)
    members = members_of(layout)
    for number in range(60):
        path = root / values.choice(members)
        content = path.read_bytes()
        path.write_bytes(mutate(content, values))
        finding = deep_directory(root)
        assert isinstance(finding.structure, Structure), number
        assert finding.text, number
        path.write_bytes(content)
