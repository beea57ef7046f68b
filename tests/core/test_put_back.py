"""From quarantine to its name again, with the record it had, and stopped at every name that changes on the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.plans.plan import Outcome, PlanResult
from ckptdeck.core.plans.set_aside import plan_put_back, plan_quarantine
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.states import Kind, Role, State
from ckptdeck.core.survey import Survey, take_survey
from tests.core.test_deletion import Stopping, carry_out, made
from tests.core.workbench import Workbench

PRIMARY = Role.PRIMARY


def survey_of(bench: Workbench) -> Survey:
    return take_survey(bench.host, bench.pair, DEFAULT_POLICY)


def set_aside(bench: Workbench, name: str) -> None:
    plan = plan_quarantine(survey_of(bench), (name,), side=PRIMARY)
    assert apply(bench.host, bench.pair, DEFAULT_POLICY, plan).exit_code == 0


def put_back(bench: Workbench) -> PlanResult:
    survey = survey_of(bench)
    plan = plan_put_back(survey, [one.id for one in survey.primary.inventory.quarantine])
    return apply(bench.host, bench.pair, DEFAULT_POLICY, plan)


def adopted(tmp_path: Path, kind: Kind, fs: Stopping) -> tuple[Workbench, str]:
    """The checkpoint, and a newer one, so that it is not the last good copy of the newest step."""
    bench = Workbench.fresh(tmp_path, fs)
    name, _ = made(bench, kind)
    bench.put(PRIMARY, "step_0900.pt", b"y" * 50, bench.host.clock.now() - 86_400)
    carry_out(bench, "adopt")
    return bench, name


@pytest.mark.parametrize("at", range(7))
@pytest.mark.parametrize("kind", Kind)
def test_stopped_anywhere_it_is_never_there_without_its_record(tmp_path: Path, kind: Kind, at: int) -> None:
    fs = Stopping()
    bench, name = adopted(tmp_path, kind, fs)
    before = survey_of(bench).primary.find(name)
    assert before is not None
    set_aside(bench, name)
    fs.left = at
    try:
        put_back(bench)
    except KeyboardInterrupt:
        fs.left = None
        copy = survey_of(bench).primary.find(name)
        if copy is not None and copy.sighting.identity is not None:
            assert copy.sighting.record is not None
        carry_out(bench, "recover")
        put_back(bench)
    fs.left = None
    copy = survey_of(bench).primary.find(name)
    assert copy is not None
    assert copy.state in (State.VERIFIED, State.SIZE_ONLY)
    assert copy.digest == before.digest


def test_a_name_that_is_taken_keeps_the_record_in_quarantine(tmp_path: Path) -> None:
    fs = Stopping()
    bench, name = adopted(tmp_path, Kind.FILE, fs)
    set_aside(bench, name)
    survey = survey_of(bench)
    plan = plan_put_back(survey, [survey.primary.inventory.quarantine[0].id])
    bench.put(PRIMARY, name, b"somebody else's")
    result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan)
    assert [one.outcome for one in result.results] == [Outcome.SKIPPED]
    assert not Path(bench.on(PRIMARY).control_path("manifest", f"{name}.json")).exists()
    assert (bench.primary / name).read_bytes() == b"somebody else's"
    os.unlink(bench.primary / name)
    assert put_back(bench).exit_code == 0
    assert bench.record(name).size == 50
