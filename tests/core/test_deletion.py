"""Deleting for real: the name goes first, the record with it, and every interruption is brought to an end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.deletion import delete, finish_removal
from ckptdeck.core.errors import Refused
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.plan import Outcome, Plan
from ckptdeck.core.plans.prune import Wish, plan_prune
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.states import Kind, Role, State
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.core.unit import Unit, look_at
from ckptdeck.core.volume import volume_of
from ckptdeck.monitor.core_calls import PLANNERS
from tests.core.workbench import Workbench

NAMES = tuple(f"step_{step:04d}.pt" for step in (100, 200, 300, 400))


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return filled(Workbench.fresh(tmp_path))


def filled(bench: Workbench) -> Workbench:
    """Four steps, whole on both sides."""
    for name in NAMES:
        intent = Intent(name, step=int(name[5:9]), readback=True)
        with publish(bench.host, bench.on(Role.PRIMARY), intent) as (stream, _):
            stream.write(name.encode() * 50)
    carry_out(bench, "mirror")
    return bench


def survey_of(bench: Workbench) -> Survey:
    return take_survey(bench.host, bench.pair, DEFAULT_POLICY)


def carry_out(bench: Workbench, action: str) -> list[Outcome]:
    options = {"keep-last": "3"} if action == "prune" else {}
    plan = PLANNERS[action](survey_of(bench), (), options)
    result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan, confirmed_count=plan.count)
    return [one.outcome for one in result.results]


def plan_of(bench: Workbench) -> Plan:
    return plan_prune(survey_of(bench), Wish(keep_last=3))


def listed(directory: Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if not name.startswith("."))


def test_the_oldest_goes_on_both_sides_and_leaves_nothing_behind(bench: Workbench) -> None:
    assert carry_out(bench, "prune") == [Outcome.DONE, Outcome.DONE]
    for side in Role:
        assert listed(bench.directory(side)) == list(NAMES[1:])
        control = Path(bench.on(side).control_path())
        assert os.listdir(control / "removing") == []
        assert not (control / "manifest" / f"{NAMES[0]}.json").exists()
        assert not (control / "receipts" / f"{NAMES[0]}.json").exists()
    assert plan_of(bench).acting == ()


def test_a_file_touched_between_plan_and_apply_survives(bench: Workbench) -> None:
    plan = plan_of(bench)
    os.utime(bench.primary / NAMES[0], (1e9, 1e9))
    result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan)
    by_side = {one.item.side: one.outcome for one in result.results}
    assert by_side[Role.PRIMARY] is Outcome.SKIPPED
    assert (bench.primary / NAMES[0]).exists()


def test_a_pin_set_after_the_plan_protects_both_sides(bench: Workbench) -> None:
    plan = plan_of(bench)
    bench.manifest(Role.MIRROR).write_pin(NAMES[0], "paper")
    result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan)
    assert {one.outcome for one in result.results} == {Outcome.SKIPPED}
    assert all((bench.directory(side) / NAMES[0]).exists() for side in Role)


def test_a_survivor_that_broke_after_the_plan_stops_the_deletion(bench: Workbench) -> None:
    plan = plan_of(bench)
    (bench.mirror / NAMES[2]).write_bytes(b"short")
    result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan)
    assert {one.outcome for one in result.results} == {Outcome.SKIPPED}


def test_a_plan_over_half_of_a_side_is_refused_without_its_number(bench: Workbench) -> None:
    plan = plan_prune(survey_of(bench), Wish(keep_last=1))
    assert plan.count == 6
    for wrong in (None, 5):
        with pytest.raises(Refused, match="deletes 6 copies"):
            apply(bench.host, bench.pair, DEFAULT_POLICY, plan, confirmed_count=wrong)
    apply(bench.host, bench.pair, DEFAULT_POLICY, plan, confirmed_count=6)
    assert listed(bench.primary) == listed(bench.mirror) == [NAMES[3]]


def removal(bench: Workbench, name: str, kind: Kind = Kind.FILE, members: tuple[str, ...] = ()) -> Callable[[], str]:
    target = bench.on(Role.PRIMARY)
    unit = Unit(target.root, name, kind, members)
    volume = volume_of(bench.host.fs, target.root)
    return lambda: delete(bench.host, target, volume, unit, look_at(bench.host.fs, unit))


def test_another_file_in_the_very_moment_goes_back_with_its_record(bench: Workbench) -> None:
    """`publish` takes no lock: the rename may meet a newer file."""
    target = bench.on(Role.PRIMARY)
    unit = Unit(target.root, NAMES[0])
    planned = look_at(bench.host.fs, unit)
    bench.publish(NAMES[0], b"saved again" * 9, replace=True)
    with pytest.raises(Refused, match="in this very moment"):
        delete(bench.host, target, volume_of(bench.host.fs, target.root), unit, planned)
    assert (bench.primary / NAMES[0]).read_bytes() == b"saved again" * 9
    assert bench.record(NAMES[0]).size == 99
    assert os.listdir(target.control_path("removing")) == []


class Stopping(FileSystem):
    """Stops like a killed process at the n-th call that changes a name."""

    def __init__(self) -> None:
        self.left: int | None = None

    def _count(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt

    def rename(self, source: str, target: str) -> None:
        self._count()
        super().rename(source, target)

    def rename_no_replace(self, source: str, target: str) -> None:
        self._count()
        super().rename_no_replace(source, target)

    def unlink(self, path: str) -> None:
        self._count()
        super().unlink(path)

    def unlink_in(self, directory: int, name: str) -> None:
        self._count()
        super().unlink_in(directory, name)

    def remove_directory(self, path: str) -> None:
        self._count()
        super().remove_directory(path)


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("kind", Kind)
def test_stopped_anywhere_it_is_whole_with_its_record_or_gone(tmp_path: Path, kind: Kind, at: int) -> None:
    fs = Stopping()
    bench = Workbench.fresh(tmp_path, fs)
    name, members = made(bench, kind)
    carry_out(bench, "adopt")
    fs.left = at
    try:
        removal(bench, name, kind, members)()
    except KeyboardInterrupt:
        fs.left = None
        before = survey_of(bench).primary.inventory.removing
        if before:
            assert [one.name for one in before] == [name]
            carry_out(bench, "recover")
    fs.left = None
    survey = survey_of(bench)
    copy = survey.primary.find(name)
    assert survey.primary.inventory.removing == ()
    assert os.listdir(bench.on(Role.PRIMARY).control_path("removing")) == []
    if copy is None:
        assert not any((bench.primary / member).exists() for member in (name, *members))
    else:
        assert copy.state is State.VERIFIED
    assert plan_recover(survey).acting == ()


def made(bench: Workbench, kind: Kind) -> tuple[str, tuple[str, ...]]:
    old = bench.host.clock.now() - 86_400
    match kind:
        case Kind.FILE:
            bench.put(Role.PRIMARY, "step_0100.pt", b"x" * 50, old)
            return "step_0100.pt", ()
        case Kind.DIRECTORY:
            (bench.primary / "checkpoint-100").mkdir()
            for member in ("trainer_state.json", "model.bin"):
                bench.put(Role.PRIMARY, f"checkpoint-100/{member}", b'{"global_step": 100}', old)
            return "checkpoint-100", ()
        case Kind.GROUP:
            names = ("model_000100.pt", "optim_000100.pt")
            for member in names:
                bench.put(Role.PRIMARY, member, b"x" * 50, old)
            return "step_000100", names


@pytest.mark.parametrize("kind", Kind)
def test_what_was_torn_before_recover_came_has_its_record_back(tmp_path: Path, kind: Kind) -> None:
    """Without it nobody could tell any more that it is torn."""
    fs = Stopping()
    bench = Workbench.fresh(tmp_path, fs)
    name, members = made(bench, kind)
    carry_out(bench, "adopt")
    fs.left = 1  # the intent is there, and the data has its name
    with pytest.raises(KeyboardInterrupt):
        removal(bench, name, kind, members)()
    fs.left = None
    victim = bench.primary / (members[0] if members else name)
    os.truncate(victim / "model.bin" if victim.is_dir() else victim, 5)
    carry_out(bench, "recover")
    copy = survey_of(bench).primary.find(name)
    assert copy is not None
    assert copy.sighting.record is not None
    assert os.listdir(bench.on(Role.PRIMARY).control_path("removing")) == []


def test_an_intent_that_cannot_be_read_is_left_to_a_person(bench: Workbench) -> None:
    target = bench.on(Role.PRIMARY)
    Path(target.control_path("removing", "x.json")).write_text(json.dumps({"schema": "?"}))
    with pytest.raises(Refused, match="cannot be read"):
        finish_removal(bench.host, target, volume_of(bench.host.fs, target.root), "x")
