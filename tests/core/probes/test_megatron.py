"""Megatron-LM's directories: a file for each rank, distributed checkpoints, and its list of hashes."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from ckptdeck.core.probes.integrity import integrity_listing
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.states import Structure
from tests.core.probes.looking import save
from tests.core.probes.trees import copied, made, probe_directory, tree_of

TORCH = save("hf_trainer/scheduler.pt")
MODEL, OPTIMIZER = "model_optim_rng.pt", "distrib_optim.pt"
DESCRIPTION = {"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch"}


def ranks(tensor: int, pipeline: int, *names: str) -> dict[str, bytes]:
    return {
        f"mp_rank_{one:02d}_{other:03d}/{name}": TORCH
        for one in range(tensor)
        for other in range(pipeline)
        for name in names
    }


HEALTHY = {
    "one rank": {f"mp_rank_00/{MODEL}": TORCH},
    "tensor parallel": {f"mp_rank_{rank:02d}/{MODEL}": TORCH for rank in range(8)},
    "tensor and pipeline parallel": ranks(2, 4, MODEL, OPTIMIZER),
    "experts": {
        f"mp_rank_0{one}_00{other}_00{third}/{MODEL}": TORCH for one in (0, 1) for other in (0, 1) for third in (0, 1)
    },
    "the old names": ranks(2, 2, "model_rng.pt", "optim.pt"),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_every_rank_there_raises_no_alarm(tmp_path: Path, name: str) -> None:
    finding = probe_directory(made(HEALTHY[name], tmp_path / "iter_0000810"))
    assert (finding.structure, finding.format) == (Structure.OK, "megatron"), finding


@pytest.mark.parametrize(
    ("name", "missing", "said"),
    [
        ("tensor parallel", f"mp_rank_00/{MODEL}", "mp_rank_00/"),
        ("tensor parallel", f"mp_rank_05/{MODEL}", "mp_rank_05"),
        ("tensor and pipeline parallel", f"mp_rank_01_003/{MODEL}", f"mp_rank_01_003/{MODEL}"),
        ("experts", f"mp_rank_01_000_001/{MODEL}", "mp_rank_01_000_001"),
        ("the old names", "mp_rank_00_001/model_rng.pt", "mp_rank_00_001/model_rng.pt"),
    ],
)
@pytest.mark.parametrize("empty_directory_stays", [True, False])
def test_a_missing_rank_is_named(
    tmp_path: Path, name: str, missing: str, said: str, empty_directory_stays: bool
) -> None:
    root = made(HEALTHY[name], tmp_path / "release")
    (root / missing).unlink()
    if not empty_directory_stays and not any((root / missing).parent.iterdir()):
        (root / missing).parent.rmdir()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE, finding
    assert said.removesuffix("/") in finding.text


def test_a_rank_without_an_optimizer_is_suspect_since_it_may_train_nothing(tmp_path: Path) -> None:
    root = made(HEALTHY["tensor and pipeline parallel"], tmp_path / "iter_0000810")
    (root / "mp_rank_01_003" / OPTIMIZER).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.SUSPECT
    assert f"mp_rank_01_003/{OPTIMIZER}, which 7 of 8 ranks have" in finding.text


def distributed(into: Path, name: str = "iter_0000810") -> Path:
    return made({"common.pt": TORCH, "metadata.json": json.dumps(DESCRIPTION).encode()}, copied("dcp", into, name=name))


def test_a_distributed_checkpoint_raises_no_alarm(tmp_path: Path) -> None:
    finding = probe_directory(distributed(tmp_path))
    assert (finding.structure, finding.format) == (Structure.OK, "megatron+dcp")
    assert "torch_dist" in finding.text


@pytest.mark.parametrize("missing", ["common.pt", "metadata.json", ".metadata", "__0_0.distcp"])
def test_a_missing_part_of_a_distributed_checkpoint_is_named(tmp_path: Path, missing: str) -> None:
    root = distributed(tmp_path)
    (root / missing).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE, finding
    assert missing in finding.text


def test_a_description_without_any_part_is_incomplete(tmp_path: Path) -> None:
    root = distributed(tmp_path / "run", name="weights")
    for path in (*root.glob("*.distcp"), root / ".metadata"):
        path.unlink()
    finding = probe_directory(tmp_path / "run")
    assert finding.structure is Structure.INCOMPLETE
    assert "weights/.metadata and every part" in finding.text


def test_another_program_has_a_metadata_json_too(tmp_path: Path) -> None:
    root = copied("dcp", tmp_path)
    (root / "metadata.json").write_text('{"step": 5}')
    finding = probe_directory(root)
    assert (finding.structure, finding.format) == (Structure.OK, "dcp")


def listed(root: Path, *, algorithm: str = "sha256", leave_out: str = "") -> dict[str, str]:
    digests = {path.name: sha256(path.read_bytes()).hexdigest() for path in root.iterdir() if path.name != leave_out}
    (root / "integrity.json").write_text(json.dumps({"algorithm": algorithm, "files": digests}))
    return digests


def test_the_list_of_hashes_is_there_for_whoever_reads_every_byte(tmp_path: Path) -> None:
    root = distributed(tmp_path / "run")
    digests = listed(root)
    assert integrity_listing(tree_of(root)) == digests
    assert integrity_listing(tree_of(tmp_path / "run")) == {f"iter_0000810/{name}": d for name, d in digests.items()}
    finding = probe_directory(root)
    assert finding.structure is Structure.OK
    assert "5 files that integrity.json names; " in finding.text


def test_a_file_that_is_not_in_the_list_is_told(tmp_path: Path) -> None:
    root = distributed(tmp_path)
    listed(root, leave_out="__0_1.distcp")
    finding = probe_directory(root)
    assert finding.structure is Structure.OK
    assert "and not __0_1.distcp" in finding.text


def test_a_file_that_is_in_the_list_alone_is_missed(tmp_path: Path) -> None:
    root = made({"common.pt": TORCH, "weights.bin": TORCH}, tmp_path / "iter_0000810")
    listed(root)
    (root / "weights.bin").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "weights.bin, of 2 files that integrity.json names" in finding.text
    assert integrity_listing(tree_of(root)) == {"common.pt": sha256(TORCH).hexdigest()}


@pytest.mark.parametrize(
    "document",
    [[], {}, {"files": {}}, {"algorithm": "crc32", "files": {"common.pt": "00"}}, {"algorithm": 1, "files": []}],
)
def test_a_list_of_something_else_says_nothing(tmp_path: Path, document: object) -> None:
    root = distributed(tmp_path)
    (root / "integrity.json").write_text(json.dumps(document))
    assert probe_directory(root).structure is Structure.OK
    assert integrity_listing(tree_of(root)) is None


def test_a_digest_that_is_none_is_left_out(tmp_path: Path) -> None:
    root = distributed(tmp_path)
    files = {"common.pt": "not a digest", "metadata.json": 5, "../outside": "0" * 64}
    (root / "integrity.json").write_text(json.dumps({"algorithm": "SHA-256", "files": files}))
    assert integrity_listing(tree_of(root)) is None
    assert probe_directory(root).structure is Structure.INCOMPLETE


def test_a_cut_list_is_told(tmp_path: Path) -> None:
    root = distributed(tmp_path)
    listed(root)
    content = (root / "integrity.json").read_bytes()
    (root / "integrity.json").write_bytes(content[: len(content) // 2])
    finding = probe_directory(root)
    assert (finding.structure, finding.format) == (Structure.CUT, "integrity")
    with pytest.raises(Damage):
        integrity_listing(tree_of(root))
