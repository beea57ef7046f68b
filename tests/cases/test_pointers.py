"""Cases D of the checkpoint managers: the resume pointer is wrong."""

from __future__ import annotations

from ckptdeck.core.guards import Guard
from ckptdeck.core.states import State
from tests.cases.run import MIRROR, PRIMARY, Run, hf_checkpoint


def test_d1_a_pointer_ahead_of_its_data_is_told_and_what_is_whole_is_kept(run: Run) -> None:
    run.put_tree("checkpoint-800", hf_checkpoint(800))
    run.do("adopt", "checkpoint-800")
    run.do("mirror")
    begun = {name: data for name, data in hf_checkpoint(810).items() if name not in ("optimizer.pt", "scheduler.pt")}
    run.put_tree("checkpoint-810", begun, age=400)
    run.put("latest", b"checkpoint-810\n")
    assert run.state("checkpoint-810") is State.INCOMPLETE
    told = str(run.ckptdeck("status", "--json").document)
    assert "latest on the primary points to checkpoint-810, which is incomplete" in told
    assert run.ckptdeck("resume").out == f"{run.primary}/checkpoint-800\n"
    assert run.plan("prune", keep_last="1").acting == ()
    refused = run.plan("quarantine", "checkpoint-810")
    assert {item.guard for item in refused.items} == {Guard.POINTER_TARGET}
    assert "latest" not in run.names(MIRROR)


def test_d2_only_one_and_that_unproven_is_no_reason_to_start_from_zero(run: Run) -> None:
    run.put("last.ckpt", b"of no known format" * 99)
    ran = run.ckptdeck("resume")
    assert (ran.code, ran.out) == (8, "")
    assert "do not start a fresh run" in ran.err or "ckptdeck adopt" in ran.err
    run.saved(810)
    run.cut("step_0810.pt", 10, PRIMARY)
    ran = run.ckptdeck("resume")
    assert (ran.code, ran.out) == (8, "")


def test_d2_nothing_saved_yet_is_another_answer(run: Run) -> None:
    ran = run.ckptdeck("resume")
    assert (ran.code, ran.out) == (9, "")


def test_d4_a_tracker_of_a_step_that_never_was_points_to_nothing(run: Run) -> None:
    run.put_tree("iter_0000020", {"model_optim_rng.pt": b"x" * 100})
    run.put("latest_checkpointed_iteration.txt", b"28")
    assert "names '28', which is not here" in str(run.ckptdeck("status", "--json").document)
