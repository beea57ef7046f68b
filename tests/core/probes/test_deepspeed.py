"""DeepSpeed's tags: what a set of ranks says about those that are not there."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ckptdeck.core.states import Structure
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes.looking import save
from tests.core.probes.trees import made, probe_directory, spoil

TORCH = save("hf_trainer/scheduler.pt")


def files(*names: str) -> dict[str, bytes]:
    return dict.fromkeys(names, TORCH)


def zero(kind: str, data: int, models: int, start: str = "") -> dict[str, bytes]:
    return files(
        *(
            f"{start}zero_pp_rank_{rank}_mp_rank_{model:02d}_{kind}_states.pt"
            for rank in range(data)
            for model in range(models)
        )
    )


HEALTHY = {
    "without zero": files("mp_rank_00_model_states.pt"),
    "zero 1": files("mp_rank_00_model_states.pt") | zero("optim", 4, 1),
    "zero 1 in bf16": files("mp_rank_00_model_states.pt") | zero("optim", 4, 1, "bf16_"),
    "tensor parallel": files("mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt") | zero("optim", 4, 2),
    "zero 3": zero("model", 8, 1) | zero("optim", 8, 1, "bf16_"),
    "pipeline": files("mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt")
    | files(*(f"layer_{layer:02d}-model_0{model}-model_states.pt" for layer in (1, 3, 4) for model in (0, 1)))
    | zero("optim", 2, 2),
    "experts": files("mp_rank_00_model_states.pt")
    | files(*(f"layer_{layer}_expert_{expert}_mp_rank_00_model_states.pt" for layer in (0, 2) for expert in range(4)))
    | zero("optim", 2, 1),
    "the second node of two": files("mp_rank_00_model_states.pt")
    | files(*(f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in range(4, 8))),
    "the old name": files("mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00optim_states.pt"),
    "universal": files("mp_rank_00_model_states.pt", "zero/w/fp32.pt", "zero/w/exp_avg.pt"),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_it_really_leaves_raises_no_alarm(tmp_path: Path, name: str) -> None:
    finding = probe_directory(made(HEALTHY[name], tmp_path / "global_step100"))
    assert (finding.structure, finding.format) == (Structure.OK, "deepspeed"), finding


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("zero 1", "mp_rank_00_model_states.pt"),
        ("zero 1", "zero_pp_rank_0_mp_rank_00_optim_states.pt"),
        ("zero 1", "zero_pp_rank_2_mp_rank_00_optim_states.pt"),
        ("zero 1 in bf16", "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"),
        ("tensor parallel", "zero_pp_rank_3_mp_rank_01_optim_states.pt"),
        ("tensor parallel", "mp_rank_01_model_states.pt"),
        ("zero 3", "zero_pp_rank_7_mp_rank_00_model_states.pt"),
        ("zero 3", "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"),
        ("pipeline", "layer_03-model_01-model_states.pt"),
        ("experts", "layer_2_expert_1_mp_rank_00_model_states.pt"),
        ("the second node of two", "zero_pp_rank_5_mp_rank_00_optim_states.pt"),
    ],
)
@pytest.mark.parametrize("directory", ["global_step100", "run/checkpoint"])
def test_a_missing_rank_is_named(tmp_path: Path, name: str, missing: str, directory: str) -> None:
    made(HEALTHY[name], tmp_path / "run" / "global_step100" / directory)
    (tmp_path / "run" / "global_step100" / directory / missing).unlink()
    finding = probe_directory(tmp_path / "run" / "global_step100")
    assert finding.structure is Structure.INCOMPLETE, finding
    assert finding.text.startswith(f"not there: {directory}/{missing},")
    assert finding.loader_says


def test_many_missing_ranks_are_counted(tmp_path: Path) -> None:
    root = made(HEALTHY["zero 3"], tmp_path / "global_step100")
    for path in sorted(root.glob("bf16_*"))[1:]:
        path.unlink()
    finding = probe_directory(root)
    assert "and 4 more" in finding.text
    assert "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt" in finding.text


def test_a_broken_state_is_worse_than_a_missing_one(tmp_path: Path) -> None:
    root = made(HEALTHY["zero 1"], tmp_path / "global_step100")
    spoil(root / "zero_pp_rank_1_mp_rank_00_optim_states.pt", "trunc_50")
    (root / "mp_rank_00_model_states.pt").unlink()
    assert probe_directory(root).structure is Structure.CUT


def share_of(values: int) -> bytes:
    """A state of so many floats."""
    file = io.BytesIO()
    write_torch_file(file, (Tensor("flat", (values,), b"\1\2\3\4" * values),), archive="optim", step=1, loss=0.5)
    return file.getvalue()


def test_a_share_of_another_size_is_suspect(tmp_path: Path) -> None:
    root = made(HEALTHY["zero 1"], tmp_path / "global_step100")
    for rank in range(4):
        share = share_of(200_000 if rank == 2 else 500_000)
        (root / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt").write_bytes(share)
    finding = probe_directory(root)
    assert finding.structure is Structure.SUSPECT
    assert "zero_pp_rank_2_mp_rank_00_optim_states.pt: 801," in finding.text


def test_a_tag_that_latest_does_not_name_is_told_to_trainer(tmp_path: Path) -> None:
    root = made(
        {f"global_step2/{name}": content for name, content in HEALTHY["zero 1"].items()}
        | {"trainer_state.json": b'{"global_step": 2}', "latest": b"global_step1\n", "rng_state.pth": TORCH},
        tmp_path / "checkpoint-2",
    )
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert finding.text == "latest names 'global_step1', which is not there"
    (root / "latest").write_bytes(b"global_step2")
    assert probe_directory(root).structure is Structure.OK
