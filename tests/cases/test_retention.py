"""Cases B of the checkpoint managers: retention deletes the wrong one. B40-B46 of the others are its mirror image."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.states import State
from tests.cases.run import DAY, MIRROR, PRIMARY, Run, content_of, name_of, safetensors_file, torch_file
from tests.crash.sandbox import EPOCH


def victims(run: Run, keep_last: int) -> list[int]:
    """Steps whose copies on both sides a prune would take."""
    plan = run.plan("prune", keep_last=str(keep_last))
    steps = {
        side: [item.step for item in plan.acting if item.act is Act.DELETE and item.side is side]
        for side in (PRIMARY, MIRROR)
    }
    assert steps[PRIMARY] == steps[MIRROR]
    return [step for step in steps[PRIMARY] if step is not None]


def test_b1_the_newest_step_is_the_newest_whatever_its_time(run: Run) -> None:
    run.mirrored(200, 400, 600, 800, 1000)
    os.utime(run.primary / name_of(1000), ns=(0, 0))
    assert run.verify(name_of(1000)).code == 0
    assert victims(run, 3) == [200, 400]
    os.utime(run.primary / name_of(200), ns=(0, 0))
    assert run.verify(name_of(200)).code == 0
    plan = run.plan("prune", keep_last="3")
    (item,) = [item for item in plan.items if (item.step, item.side) == (200, PRIMARY)]
    assert item.guard == Guard.UNKNOWN_TIME
    assert "mtime reads 0" in item.reason


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("step_9900.pt", "step_10000.pt", "step_09990.pt"), (10000, 9990, 9900)),
        (("checkpoint_9.pt", "checkpoint_10.pt"), (10, 9)),
    ],
)
def test_b3_b41_steps_are_numbers(run: Run, names: tuple[str, ...], order: tuple[int, ...]) -> None:
    for name in sorted(names, key=lambda name: int("".join(filter(str.isdigit, name)))):
        run.save(int("".join(filter(str.isdigit, name))), name=name)
    run.clock.sleep(DAY)
    assert run.do("mirror", all="true").exit_code == 0
    run.clock.sleep(DAY)
    assert tuple(row.step for row in run.look().steps) == order
    assert victims(run, len(order) - 1) == [order[-1]]


def test_b4_b43_the_limit_takes_the_lower_number_of_directories(run: Run) -> None:
    for step in (9, 10):
        run.put_tree(
            f"checkpoint_{step}",
            {
                "model.safetensors": safetensors_file(step),
                "optimizer.bin": torch_file(step),
                "random_states_0.pkl": b"\x80\x04N.",
            },
        )
        run.clock.sleep(60)
    run.do("adopt")
    run.do("mirror", all="true")
    assert [state.name for state in run.look().steps] == ["checkpoint_10", "checkpoint_9"]
    assert victims(run, 1) == [9]


def test_b5_a_pin_is_beside_the_number_and_changes_no_order(run: Run) -> None:
    run.mirrored(100, 700, 800, 810)
    assert run.ckptdeck("pin", name_of(100)).code == 0
    plan = run.plan("prune", keep_last="2")
    kept = {item.step for item in plan.items if item.act is Act.KEEP}
    assert kept == {100, 800, 810}
    assert victims(run, 2) == [700]


@pytest.mark.parametrize("keep", ["0", "-1", "", "all", "1.5"])
def test_b6_b44_keeping_none_is_no_wish_anybody_has(run: Run, keep: str) -> None:
    run.mirrored(810)
    assert run.ckptdeck("prune", f"--keep-last={keep}", "--yes").code == 2
    ran = run.ckptdeck("prune", "--keep-last", "1", "--yes")
    assert (ran.code, run.steps()) == (0, [810])
    assert "nothing to prune" in ran.out


def test_b8_a_link_to_another_run_is_shown_and_nothing_else(run: Run) -> None:
    elsewhere = run.base / "other" / "step_0700.pt"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(content_of(700))
    (run.primary / "step_0700.pt").symlink_to(elsewhere)
    run.mirrored(790, 800, 810)
    assert f"a symbolic link to {elsewhere}" in str(run.ckptdeck("status", "--json").document)
    for command in (
        ("prune", "--keep-last", "1", "--yes", "--confirm-count", "4"),
        ("quarantine", "--yes"),
        ("quarantine", "step_0700.pt", "--side", "primary", "--yes"),
        ("adopt", "step_0700.pt", "--yes"),
        ("mirror", "step_0700.pt", "--yes"),
    ):
        run.ckptdeck(*command)
    assert elsewhere.read_bytes() == content_of(700)
    assert (run.primary / "step_0700.pt").is_symlink()
    assert run.names(MIRROR) == [name_of(810)]


def test_b9_b44_two_for_a_moment_rather_than_none(run: Run) -> None:
    run.mirrored(800)
    run.put("step_0810.pt.part", content_of(810)[:1000], age=1)
    assert victims(run, 1) == []
    (run.primary / "step_0810.pt.part").unlink()
    run.saved(810)
    assert victims(run, 1) == []
    run.do("mirror")
    run.clock.sleep(DAY)
    assert victims(run, 1) == [800]


def test_b10_the_same_plan_after_every_start(run: Run) -> None:
    run.mirrored(*range(100, 900, 100))
    plans = {run.ckptdeck("prune", "--keep-last", "5", "--dry-run", "--json").document["digest"] for _ in range(5)}
    assert len(plans) == 1
    assert victims(run, 5) == [100, 200, 300]


def test_b11_an_older_higher_step_is_no_newest_without_a_word(run: Run) -> None:
    run.saved(5000)
    run.clock.sleep(20 * DAY)
    run.mirrored(300, 400)
    ran = run.ckptdeck("resume")
    assert "step_5000.pt was written before step_0400.pt, whose step is lower" in ran.err
    assert "`ckptdeck rollback 400`" in ran.err
    plan = run.plan("prune", keep_last="1")
    assert plan.acting == ()
    assert {item.guard for item in plan.items if item.step in (300, 400)} <= {Guard.OUT_OF_ORDER, Guard.TOO_FEW}
    assert run.ckptdeck("rollback", "400", "--yes").code == 0
    ran = run.ckptdeck("resume")
    assert (ran.out, "lower" in ran.err) == (f"{run.primary}/step_0400.pt\n", False)


def test_b12_a_lower_limit_is_caught_up_with_in_one_plan(run: Run) -> None:
    run.mirrored(*range(10, 380, 10))
    ran = run.ckptdeck("prune", "--keep-last", "5", "--dry-run", "--json")
    going = [item for item in ran.items if item["action"] == "delete"]
    assert len(going) == 2 * 32
    assert ran.document["frees"] > 0
    refused = run.ckptdeck("prune", "--keep-last", "5", "--yes")
    assert refused.code == 4
    assert "--confirm-count 64" in refused.err
    assert run.ckptdeck("prune", "--keep-last", "5", "--yes", "--confirm-count", "64").code == 0
    assert run.steps(PRIMARY) == run.steps(MIRROR) == [330, 340, 350, 360, 370]


# --- of files and copies


def test_b37_what_is_in_flight_stops_nothing_else_and_has_its_reason(run: Run) -> None:
    run.mirrored(100, 200, 300)
    for growth in (1000, 2000):
        run.put("step_0310.pt.part", b"x" * growth, age=1)
        assert victims(run, 2) == [100]


def test_b38_what_a_guard_holds_back_is_always_told(run: Run) -> None:
    run.mirrored(100, 200, 300)
    run.set_age(run.primary / name_of(100), 10)
    run.verify(name_of(100))
    ran = run.ckptdeck("prune", "--keep-last", "2", "--yes")
    (line,) = [line for line in ran.out.splitlines() if "younger than the age guard" in line]
    assert name_of(100) in line
    assert run.steps(PRIMARY) == [100, 200, 300]


def test_b40_steps_written_out_of_order_stay_and_the_rest_goes_on(run: Run) -> None:
    for step in (100, 300, 200, 400, 500):
        run.save(step)
    run.clock.sleep(DAY)
    run.do("mirror", all="true")
    run.clock.sleep(DAY)
    plan = run.plan("prune", keep_last="2")
    assert {item.step for item in plan.acting if item.act is Act.DELETE} == {100, 300}
    assert {item.guard for item in plan.items if item.step == 200} == {Guard.OUT_OF_ORDER}


def test_b45_a_short_file_is_cut_is_offered_for_quarantine_and_is_no_source(run: Run) -> None:
    run.saved(800, 810)
    run.cut(name_of(810), 500)
    assert run.state(name_of(810)) is State.TRUNCATED
    assert [item.name for item in run.plan("quarantine").acting] == [name_of(810)]
    assert run.do("mirror", all="true").exit_code == 0
    assert run.steps(MIRROR) == [800]


def test_b46_a_torn_newest_does_not_count(run: Run) -> None:
    run.mirrored(100, 200, 300)
    run.saved(400)
    run.cut(name_of(400), 500)
    assert victims(run, 3) == []
    assert victims(run, 2) == [100]


def test_b47_without_a_record_nothing_is_called_well(run: Run) -> None:
    run.put("step_0810.pt", b"of no known format" * 99)
    assert run.state("step_0810.pt") is State.UNRECORDED
    ran = run.ckptdeck("resume")
    assert (ran.code, ran.out) == (8, "")


def test_b48_a_file_of_unknown_time_is_listed_and_copied_and_never_pruned(run: Run) -> None:
    run.saved(100, 200, 300)
    os.utime(run.primary / name_of(100), ns=(0, 0))
    assert run.do("mirror", all="true").exit_code == 0
    assert run.steps(MIRROR) == [100, 200, 300]
    run.verify()
    plan = run.plan("prune", keep_last="2")
    assert plan.acting == ()
    assert {item.guard for item in plan.items if item.step == 100} == {Guard.UNKNOWN_TIME}


def test_the_clock_of_all_this_stands_still(run: Run) -> None:
    assert run.clock.now() == EPOCH
    assert Path(run.primary).is_dir()
