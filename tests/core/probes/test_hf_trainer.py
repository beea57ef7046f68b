"""Trainer's `checkpoint-N` against the fact table, and what its variants leave that the table has not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.fact_table import cells
from tests.core.probes.looking import FIXTURES, CountingFileSystem, save
from tests.core.probes.trees import copied, damaged_copy, expectations, made, probe_directory

LAYOUT = "hf_trainer"
NAME = "checkpoint-2"
MEMBERS = (
    "model.safetensors",
    "optimizer.pt",
    "scheduler.pt",
    "rng_state.pth",
    "trainer_state.json",
    "training_args.bin",
    "config.json",
)
TABLE_1D = """
trunc_0         C C C C C C C
trunc_1B        C C C C C C C
trunc_10        C C C C C C C
trunc_50        C C C C C C C
trunc_73        C C C C C C C
trunc_90        C C C C C C C
trunc_99        C C C C C C C
trunc_m1        C C C C . C .
trunc_m4096     C C - C - C -
zero_tail       S C C C C C C
zero_tail_4k    S C C C C C C
hole_tail       S C C C C C C
zero_gap        . C C C C C C
hole_gap        S C C C C C C
zero_page_mid   . . C C C C C
zero_page_head  C C C C C C C
bitflip_mid     . . . C C C .
all_zero        C C C C C C C
all_hole        C C C C C C C
torn_mix        . C - - - - -
extra_16        C S S S C S C
extra_4k_zero   C S S S C S C
stale           . . - - . . -
missing         I I I I I . .
"""


@pytest.mark.parametrize(("layout", "member", "kind", "enough"), cells(TABLE_1D, [(LAYOUT, name) for name in MEMBERS]))
def test_every_damage_is_told(
    tmp_path: Path, layout: str, member: str, kind: str, enough: frozenset[Structure]
) -> None:
    finding = probe_directory(damaged_copy(layout, tmp_path, member, kind, name=NAME))
    assert finding.structure in enough, finding
    if Structure.OK not in enough:
        assert member in finding.text or "weights" in finding.text
        assert finding.loader_says


@pytest.mark.parametrize(("row", "enough"), expectations(LAYOUT).items())
def test_every_expectation_is_met(tmp_path: Path, row: tuple[str, str], enough: frozenset[Structure]) -> None:
    finding = probe_directory(damaged_copy(LAYOUT, tmp_path, *row, name=NAME))
    assert finding.structure in enough, finding
    if enough == frozenset(Structure) and row[1] == "missing":
        assert finding.structure is Structure.OK, finding


@pytest.mark.parametrize("which", ["one_save", "another_save"])
def test_whole_ones_raise_no_alarm(which: str, tmp_path: Path) -> None:
    fs = CountingFileSystem()
    finding = probe_directory(copied(LAYOUT, tmp_path, name=NAME, which=which), fs)
    assert (finding.structure, finding.format) == (Structure.OK, "hf-trainer")
    assert "step 2 with weights, optimizer, schedule and random numbers" in finding.text
    assert "values not checked" in finding.text
    assert fs.bytes_read < 130_000


@pytest.mark.parametrize("bit", range(1, 8))
def test_a_flipped_bit_in_the_state_that_leaves_no_json(tmp_path: Path, bit: int) -> None:
    root = copied(LAYOUT, tmp_path, name=NAME)
    content = bytearray((root / "trainer_state.json").read_bytes())
    content[len(content) // 2] ^= 1 << bit
    (root / "trainer_state.json").write_bytes(content)
    structure = probe_directory(root).structure
    assert structure is (Structure.OK if bit in (1, 2) else Structure.BROKEN)


def test_a_save_that_was_killed_says_so(tmp_path: Path) -> None:
    root = damaged_copy(LAYOUT, tmp_path, "trainer_state.json", "missing", name=NAME)
    (root / "rng_state.pth").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "trainer_state.json, which is written last: the save did not finish; rng_state.pth" in finding.text
    assert "FileNotFoundError" in finding.loader_says


@pytest.mark.parametrize("missing", ["optimizer.pt", "scheduler.pt", "rng_state.pth"])
def test_what_trainer_resumes_without_in_silence_is_told(tmp_path: Path, missing: str) -> None:
    finding = probe_directory(damaged_copy(LAYOUT, tmp_path, missing, "missing", name=NAME))
    assert finding.structure is Structure.INCOMPLETE
    assert missing in finding.text
    assert "goes on" in finding.loader_says


def test_a_directory_under_another_step_is_suspect(tmp_path: Path) -> None:
    finding = probe_directory(copied(LAYOUT, tmp_path, name="checkpoint-500"))
    assert finding.structure is Structure.SUSPECT
    assert "step 2" in finding.text
    assert "500" in finding.text


@pytest.mark.parametrize("name", ["best_model", "final", "run-7"])
def test_a_name_without_a_step_contradicts_nothing(tmp_path: Path, name: str) -> None:
    assert probe_directory(copied(LAYOUT, tmp_path, name=name)).structure is Structure.OK


def test_worse_than_missing_comes_first(tmp_path: Path) -> None:
    root = damaged_copy(LAYOUT, tmp_path, "model.safetensors", "trunc_50", name=NAME)
    (root / "trainer_state.json").unlink()
    (root / "scheduler.pt").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.CUT
    assert finding.text.startswith("model.safetensors: cut off")
    assert "(and 1 more finding)" in finding.text


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"global_step": "2"}', b'{"global_step": true}', b"2"])
def test_a_state_without_a_step_is_broken(tmp_path: Path, content: bytes) -> None:
    root = copied(LAYOUT, tmp_path, name=NAME)
    (root / "trainer_state.json").write_bytes(content)
    assert probe_directory(root).structure is Structure.BROKEN


STATE = json.dumps({"global_step": 2, "log_history": []}).encode()
WEIGHTS = {"model.safetensors": save("hf_trainer/model.safetensors"), "config.json": b"{}"}
OPTIMIZER, SCHEDULER, RANDOM, ARGUMENTS = (
    save(f"hf_trainer/{name}") for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin")
)
BASE = {"trainer_state.json": STATE, "training_args.bin": ARGUMENTS}
RESUME = {"optimizer.pt": OPTIMIZER, "scheduler.pt": SCHEDULER, "rng_state.pth": RANDOM}
RANKS = {f"rng_state_{rank}.pth": RANDOM for rank in range(4)}
HEALTHY = {
    "save_only_model": BASE | WEIGHTS,
    "adapter": BASE
    | RESUME
    | {"adapter_model.safetensors": WEIGHTS["model.safetensors"], "adapter_config.json": b"{}"},
    "a named adapter": BASE | RESUME | {"en/adapter_model.safetensors": WEIGHTS["model.safetensors"]},
    "two adapters": BASE
    | RESUME
    | {f"{d}adapter_model.safetensors": WEIGHTS["model.safetensors"] for d in ("", "en/")}
    | {f"{d}adapter_config.json": b"{}" for d in ("", "en/")},
    "pytorch_model.bin": BASE | RESUME | {"pytorch_model.bin": OPTIMIZER},
    "a projector": BASE | RESUME | {"mm_projector.bin": OPTIMIZER},
    "fp16": BASE | WEIGHTS | RESUME | {"scaler.pt": SCHEDULER},
    "four processes": BASE | WEIGHTS | RANKS | {"optimizer.pt": OPTIMIZER, "scheduler.pt": SCHEDULER},
    "the second node of two": BASE
    | WEIGHTS
    | {f"rng_state_{rank}.pth": RANDOM for rank in (8, 9, 10, 11, 12, 13, 14, 15)}
    | {"optimizer.pt": OPTIMIZER, "scheduler.pt": SCHEDULER},
    "fsdp": BASE | RANKS | {"pytorch_model_fsdp.bin": OPTIMIZER, "optimizer.bin": OPTIMIZER, "scheduler.pt": SCHEDULER},
    "xla": BASE
    | {f"rank{rank}-of-2-pytorch_model.bin": OPTIMIZER for rank in range(2)}
    | {f"rank{rank}-of-2-optimizer.pt": OPTIMIZER for rank in range(2)}
    | {"scheduler.pt": SCHEDULER, "rng_state_0.pth": RANDOM, "rng_state_1.pth": RANDOM},
    "deepspeed": BASE
    | RANKS
    | {f"global_step2/zero_pp_rank_{rank}_mp_rank_00_model_states.pt": OPTIMIZER for rank in range(4)}
    | {f"global_step2/bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt": OPTIMIZER for rank in range(4)}
    | {"latest": b"global_step2", "zero_to_fp32.py": b"#!/usr/bin/env python\n"},
    "what save_model leaves at the end": WEIGHTS | {"training_args.bin": ARGUMENTS},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_trainers_really_leave_raises_no_alarm(tmp_path: Path, name: str) -> None:
    directory = "final" if name.startswith("what save_model") else NAME
    finding = probe_directory(made(HEALTHY[name], tmp_path / directory))
    assert finding.structure is Structure.OK, finding


@pytest.mark.parametrize(
    ("name", "missing", "said"),
    [
        ("four processes", "rng_state_0.pth", "rng_state_0.pth"),
        ("four processes", "rng_state_2.pth", "rng_state_2.pth"),
        ("the second node of two", "rng_state_11.pth", "rng_state_11.pth"),
        ("fsdp", "optimizer.bin", "optimizer.pt"),
        ("fsdp", "pytorch_model_fsdp.bin", "weights"),
        ("xla", "rank1-of-2-optimizer.pt", "rank1-of-2-optimizer.pt"),
        ("deepspeed", "latest", "latest"),
        ("deepspeed", "global_step2/bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt", "rank_3"),
        ("adapter", "adapter_model.safetensors", "weights"),
        ("two adapters", "adapter_model.safetensors", "adapter_model.safetensors"),
        ("two adapters", "en/adapter_model.safetensors", "en/adapter_model.safetensors"),
    ],
)
def test_what_they_need_is_missed(tmp_path: Path, name: str, missing: str, said: str) -> None:
    root = made(HEALTHY[name], tmp_path / NAME)
    (root / missing).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE, finding
    assert said in finding.text


def test_one_process_among_several_is_not_alone(tmp_path: Path) -> None:
    root = made(HEALTHY["four processes"], tmp_path / NAME)
    for rank in (1, 2, 3):
        (root / f"rng_state_{rank}.pth").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.SUSPECT
    assert "rng_state_0.pth" in finding.text


def test_parts_of_fsdp_are_weights_and_optimizer(tmp_path: Path) -> None:
    root = made(BASE | RANKS | {"scheduler.pt": SCHEDULER}, tmp_path / NAME)
    copied("dcp", root, name="pytorch_model_fsdp_0")
    copied("dcp", root, name="optimizer_0")
    assert probe_directory(root).structure is Structure.OK
    shutil.rmtree(root / "pytorch_model_fsdp_0")
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "weights" in finding.text


def test_all_the_states_of_deepspeed_are_missed(tmp_path: Path) -> None:
    files = {path: content for path, content in HEALTHY["deepspeed"].items() if not path.startswith("global_step2/")}
    finding = probe_directory(made(files, tmp_path / NAME))
    assert finding.structure is Structure.INCOMPLETE
    assert "global_stepN" in finding.text


def test_a_checkpoint_inside_another_is_judged_where_it_lies(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint_000010"
    copied(LAYOUT, root, name="checkpoint")
    assert probe_directory(root).structure is Structure.OK
    (root / "checkpoint" / "optimizer.pt").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert finding.text == "checkpoint: not there: optimizer.pt"


def test_another_program_may_keep_an_optimizer_alone(tmp_path: Path) -> None:
    finding = probe_directory(made({"optimizer.pt": OPTIMIZER, "model.pt": OPTIMIZER}, tmp_path / "step-10"))
    assert finding.structure is Structure.UNKNOWN, finding


def test_fixtures_are_of_the_step_in_their_state() -> None:
    state = json.loads((FIXTURES / "one_save" / LAYOUT / "trainer_state.json").read_text())
    assert f"checkpoint-{state['global_step']}" == NAME
