"""What happens between a plan and its acts, or between two of them: each is held against what is so in that moment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.initialise import initialise
from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan, PlanResult
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.states import Role
from ckptdeck.core.survey import take_survey
from ckptdeck.core.verify import verify_one
from ckptdeck.monitor.core_calls import PLANNERS
from tests.core.workbench import Workbench
from tests.crash.invariants import fingerprint
from tests.crash.sandbox import StillClock

NAMES = tuple(f"step_{step:04d}.pt" for step in (100, 200, 300, 400, 500))
PRIMARY, MIRROR = Role.PRIMARY, Role.MIRROR
Happening = Callable[[Workbench], object]


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    """Five steps, whole on both sides; the two oldest are more than the retention of three keeps."""
    bench = Workbench.fresh(tmp_path)
    for name in NAMES:
        save(bench, name)
    do(bench, plan(bench, "mirror"))
    return bench


def save(bench: Workbench, name: str) -> None:
    intent = Intent(name, step=int(name[5:9]), readback=True)
    with publish(bench.host, bench.on(PRIMARY), intent) as (stream, _):
        stream.write(name.encode() * 50)


def plan(bench: Workbench, action: str, *names: str, options: Mapping[str, str] | None = None) -> Plan:
    survey = take_survey(bench.host, bench.pair, DEFAULT_POLICY)
    if action == "prune":
        options = {"keep-last": "3"}
    return PLANNERS[action](survey, names, options or {})


def do(bench: Workbench, planned: Plan, after_first: Happening | None = None) -> PlanResult:
    """Carries it out; `after_first` happens once the first item is done."""
    done: list[ItemResult] = []

    def tell(result: ItemResult) -> None:
        done.append(result)
        if after_first is not None and len(done) == 1:
            after_first(bench)

    return apply(bench.host, bench.pair, DEFAULT_POLICY, planned, on_result=tell, confirmed_count=planned.count)


def outcomes(result: PlanResult) -> list[Outcome]:
    return [one.outcome for one in result.results]


def forget(bench: Workbench, side: Role, name: str) -> None:
    """As if it had never been there."""
    os.unlink(bench.directory(side) / name)
    os.unlink(bench.on(side).control_path("manifest", f"{name}.json"))


# --- a side goes away


def unmounted(bench: Workbench) -> None:
    bench.mirror.rename(bench.mirror.with_name("away"))
    bench.mirror.mkdir()


def another_mounted(bench: Workbench) -> None:
    other = bench.mirror.with_name("other")
    (other / "ckpt").mkdir(parents=True)
    (other / "mirror").mkdir()
    initialise(bench.host, str(other / "ckpt"), str(other / "mirror"))
    bench.mirror.rename(bench.mirror.with_name("away"))
    (other / "mirror").rename(bench.mirror)


SOMETHING_TO_DO: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "prune": ((), {}),
    "mirror": ((), {}),
    "quarantine": (NAMES[:2], {"side": "primary"}),
    "purge": ((), {}),
}


def with_something_to_do(bench: Workbench, action: str) -> Plan:
    if action == "mirror":
        for name in ("step_0600.pt", "step_0700.pt"):
            save(bench, name)
    if action == "purge":
        do(bench, plan(bench, "quarantine", *NAMES[:2], options={"side": "primary"}))
    names, options = SOMETHING_TO_DO[action]
    planned = plan(bench, action, *names, options=options)
    assert len(planned.acting) > 1
    return planned


def exit_of(bench: Workbench, planned: Plan) -> tuple[int, bool]:
    """The exit code, and whether anything was done."""
    try:
        result = do(bench, planned)
    except CkptdeckError as error:
        return error.exit_code, False
    return result.exit_code, Outcome.DONE in outcomes(result)


@pytest.mark.parametrize("gone", [unmounted, another_mounted])
@pytest.mark.parametrize("action", SOMETHING_TO_DO)
def test_a_mirror_lost_after_the_plan_stops_all_of_it(bench: Workbench, action: str, gone: Happening) -> None:
    planned = with_something_to_do(bench, action)
    gone(bench)
    before = fingerprint(bench.primary.parent)
    code, done = exit_of(bench, planned)
    assert (code, done) == (7, False)
    assert fingerprint(bench.primary.parent) == before


@pytest.mark.parametrize("gone", [unmounted, another_mounted])
@pytest.mark.parametrize("action", SOMETHING_TO_DO)
def test_a_mirror_lost_in_the_middle_gets_nothing_more(bench: Workbench, action: str, gone: Happening) -> None:
    """A mirror of many checkpoints takes hours, in which a disk may go and another one be mounted at its place."""
    planned = with_something_to_do(bench, action)
    before: list[str] = []

    def happens(_bench: Workbench) -> None:
        gone(bench)
        before.append(fingerprint(bench.primary.parent))

    result = do(bench, planned, happens)
    assert result.exit_code == 7
    assert outcomes(result).count(Outcome.DONE) == 1
    assert fingerprint(bench.primary.parent) == before[0]


# --- what a deletion relies on goes away


def test_a_trainer_that_deletes_what_a_victim_relies_on_is_seen_at_once(bench: Workbench) -> None:
    """The survey may be two seconds old; what it says of the survivors is asked again before each deletion."""
    planned = plan(bench, "prune")
    assert len(planned.acting) == 4

    def rotates(_bench: Workbench) -> None:
        os.unlink(bench.mirror / NAMES[2])

    result = do(bench, planned, rotates)
    assert [(one.item.name, one.outcome) for one in result.results] == [
        (NAMES[0], Outcome.DONE),
        (NAMES[0], Outcome.DONE),  # three newer ones are whole still, since the next is not going any more
        (NAMES[1], Outcome.SKIPPED),
        (NAMES[1], Outcome.SKIPPED),
    ]
    assert "only 2 of 3" in result.results[2].text


def test_a_pin_set_while_a_plan_is_carried_out_protects(bench: Workbench) -> None:
    planned = plan(bench, "prune")
    second = planned.acting[2].name

    def pins(_bench: Workbench) -> None:
        bench.manifest(MIRROR).write_pin(second, "paper")

    result = do(bench, planned, pins)
    assert {one.item.name: one.outcome for one in result.results}[second] is Outcome.SKIPPED
    assert (bench.primary / second).exists()


def test_a_pin_only_the_mirror_knows_protects_what_the_mirror_does_not_have(bench: Workbench) -> None:
    forget(bench, MIRROR, NAMES[0])
    bench.manifest(MIRROR).write_pin(NAMES[0], "paper")
    planned = plan(bench, "prune")
    assert [item.name for item in planned.acting] == [NAMES[1], NAMES[1]]
    assert "paper" in next(item.reason for item in planned.items if item.name == NAMES[0])


def test_a_proof_that_became_too_old_between_plan_and_act_is_made_again_first(bench: Workbench) -> None:
    planned = plan(bench, "prune")
    clock = bench.host.clock
    assert isinstance(clock, StillClock)
    clock.sleep(8 * 86_400)
    result = do(bench, planned)
    assert set(outcomes(result)) == {Outcome.SKIPPED}
    assert "has to be hashed" in result.results[0].text
    again = plan(bench, "prune")
    assert [item.act for item in again.acting][:6] == [Act.VERIFY] * 6
    assert set(outcomes(do(bench, again))) == {Outcome.DONE}


# --- quarantine


def chosen(bench: Workbench, *names: str) -> Plan:
    return plan(bench, "quarantine", *names, options={"side": "mirror"})


def test_the_last_good_copy_is_not_set_aside_when_the_other_broke_since_the_plan(bench: Workbench) -> None:
    planned = chosen(bench, NAMES[-1])
    assert planned.acting
    (bench.primary / NAMES[-1]).write_bytes(b"torn")
    result = do(bench, planned)
    assert outcomes(result) == [Outcome.SKIPPED]
    assert "last good copy" in result.results[0].text


def test_what_a_pointer_names_since_the_plan_is_not_set_aside(bench: Workbench) -> None:
    planned = chosen(bench, NAMES[1])
    (bench.mirror / "latest").write_text(NAMES[1])
    assert outcomes(do(bench, planned)) == [Outcome.SKIPPED]


def test_a_name_that_vanished_since_the_plan_keeps_nothing_else_from_being_set_aside(bench: Workbench) -> None:
    planned = chosen(bench, NAMES[0], NAMES[1])
    for side in Role:
        forget(bench, side, NAMES[0])
    result = do(bench, planned)
    assert {one.item.name: one.outcome for one in result.results} == {
        NAMES[0]: Outcome.SKIPPED,
        NAMES[1]: Outcome.DONE,
    }


def test_a_copy_that_was_repaired_since_the_plan_is_not_set_aside(bench: Workbench) -> None:
    whole = (bench.mirror / NAMES[0]).read_bytes()
    (bench.mirror / NAMES[0]).write_bytes(whole[:10])
    planned = plan(bench, "quarantine")
    assert [item.name for item in planned.acting] == [NAMES[0]]
    (bench.mirror / NAMES[0]).write_bytes(whole)
    verify_one(bench.host, bench.on(MIRROR), NAMES[0])
    assert outcomes(do(bench, planned)) == [Outcome.SKIPPED]
