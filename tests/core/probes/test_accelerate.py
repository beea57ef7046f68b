"""What accelerate's `save_state` leaves against the fact table, and the diffusers scripts' variants."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.fact_table import cells
from tests.core.probes.looking import FIXTURES, CountingFileSystem, save
from tests.core.probes.trees import damaged_copy, made, probe_directory

LAYOUT = "accelerate"
RANDOM = "random_states_0.pkl"
MEMBERS = ("model.safetensors", "optimizer.bin", "scheduler.bin", RANDOM)
TABLE_1E = """
trunc_0         C C C C
trunc_1B        C C C C
trunc_10        C C C C
trunc_50        C C C C
trunc_73        C C C C
trunc_90        C C C C
trunc_99        C C C C
trunc_m1        C C C C
trunc_m4096     C C - C
zero_tail       S C C C
zero_tail_4k    S C C C
hole_tail       S C C C
zero_gap        . . C C
hole_gap        . . C C
zero_page_mid   . . C C
zero_page_head  C C C C
bitflip_mid     . . . .
all_zero        C C C C
all_hole        C C C C
torn_mix        . C - C
extra_16        C S S S
extra_4k_zero   C S S S
stale           . . - .
missing         I I . I
"""


@pytest.mark.parametrize(("layout", "member", "kind", "enough"), cells(TABLE_1E, [(LAYOUT, name) for name in MEMBERS]))
def test_every_damage_is_told(
    tmp_path: Path, layout: str, member: str, kind: str, enough: frozenset[Structure]
) -> None:
    finding = probe_directory(damaged_copy(layout, tmp_path, member, kind, name="checkpoint_2"))
    assert finding.structure in enough, finding
    if Structure.OK in enough:
        return
    assert member in finding.text or "weights" in finding.text
    assert finding.loader_says
    if member == RANDOM:
        assert "says nothing" in finding.loader_says


@pytest.mark.parametrize("which", ["one_save", "another_save"])
def test_whole_ones_raise_no_alarm(which: str) -> None:
    fs = CountingFileSystem()
    finding = probe_directory(FIXTURES / which / LAYOUT, fs)
    assert (finding.structure, finding.format) == (Structure.OK, LAYOUT)
    assert "the random numbers of one process" in finding.text
    assert fs.bytes_read < 60_000


WEIGHTS, OPTIMIZER, SCHEDULER, NUMBERS = (save(f"accelerate/{name}") for name in MEMBERS)
STATE = {"optimizer.bin": OPTIMIZER, "scheduler.bin": SCHEDULER, RANDOM: NUMBERS}
HEALTHY = {
    "one model": {"model.safetensors": WEIGHTS} | STATE,
    "no schedule": {"model.safetensors": WEIGHTS, "optimizer.bin": OPTIMIZER, RANDOM: NUMBERS},
    "saved by torch": {"pytorch_model.bin": OPTIMIZER} | STATE,
    "diffusers": {"unet/diffusion_pytorch_model.safetensors": WEIGHTS, "unet/config.json": b"{}"} | STATE,
    "diffusers with an adapter": {"pytorch_lora_weights.safetensors": WEIGHTS} | STATE,
    "two of everything": {"model.safetensors": WEIGHTS, "model_1.safetensors": WEIGHTS, "optimizer_1.bin": OPTIMIZER}
    | {"custom_checkpoint_0.pkl": NUMBERS, "custom_checkpoint_1.pkl": NUMBERS}
    | STATE,
    "two processes": {"model.safetensors": WEIGHTS, "random_states_1.pkl": NUMBERS} | STATE,
    "eight processes": {f"random_states_{rank}.pkl": NUMBERS for rank in range(8)}
    | {"model.safetensors": WEIGHTS}
    | STATE,
    "deepspeed": {
        "pytorch_model/mp_rank_00_model_states.pt": OPTIMIZER,
        "pytorch_model/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt": OPTIMIZER,
        "latest": b"pytorch_model",
        RANDOM: NUMBERS,
    },
    "fsdp": {"pytorch_model_fsdp_0_rank0.bin": OPTIMIZER, "optimizer_0_rank0.bin": OPTIMIZER, RANDOM: NUMBERS},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_trainers_really_leave_raises_no_alarm(tmp_path: Path, name: str) -> None:
    finding = probe_directory(made(HEALTHY[name], tmp_path / "checkpoint-500"))
    assert finding.structure is Structure.OK, finding


@pytest.mark.parametrize(
    ("name", "missing", "said"),
    [
        ("two of everything", "model.safetensors", "model.safetensors"),
        ("two of everything", "optimizer.bin", "optimizer.bin"),
        ("two of everything", "custom_checkpoint_0.pkl", "custom_checkpoint_0.pkl"),
        ("two processes", RANDOM, RANDOM),
        ("eight processes", "random_states_3.pkl", "random_states_3.pkl"),
        ("eight processes", RANDOM, RANDOM),
        ("diffusers", "unet/diffusion_pytorch_model.safetensors", "weights"),
        ("fsdp", "optimizer_0_rank0.bin", "optimizer.bin"),
        ("deepspeed", "pytorch_model/mp_rank_00_model_states.pt", "weights"),
    ],
)
def test_what_they_need_is_missed(tmp_path: Path, name: str, missing: str, said: str) -> None:
    root = made(HEALTHY[name], tmp_path / "checkpoint-500")
    (root / missing).unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE, finding
    assert said in finding.text
    assert finding.loader_says


def test_a_number_that_is_no_rank_is_no_gap(tmp_path: Path) -> None:
    files = HEALTHY["one model"] | {"random_states_20261130.pkl": NUMBERS}
    assert probe_directory(made(files, tmp_path / "checkpoint-500")).structure is Structure.OK
