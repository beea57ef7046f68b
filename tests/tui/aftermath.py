"""Pictures of what needs a decision: a run that was cut short, a full disk, a quarantine, and a damaged directory."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.plans.plan import Plan
from ckptdeck.core.plans.prune import plan_prune
from ckptdeck.core.sighting import (
    Checkpoint,
    Identity,
    InFlight,
    Inventory,
    Member,
    Quarantined,
    RecordMember,
    Removing,
)
from ckptdeck.core.states import FlightState, Kind, Role, State, Verdict
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.snapshot import Snapshot
from tests.tui import scenes
from tests.tui.scenes import DAY, HOUR, MINUTE, NOW, WHOLE, name_of

ENTRY = "20260302T133207000000Z-9f2c11d0"
OLD_ENTRY = "20260228T143207000000Z-77ab34c1"


def changed(survey: Survey, role: Role, **inventory: object) -> Survey:
    """The survey with other contents of one side's inventory."""
    side = survey.side(role)
    assert side is not None
    made: Inventory = replace(side.inventory, **inventory)  # type: ignore[arg-type]
    return replace(survey, **{role.value: replace(side, inventory=made)})  # type: ignore[arg-type]


def ready_part() -> InFlight:
    return scenes.part(
        2550, WHOLE, state=FlightState.READY, reason="its bytes are those of its record", writer=None, ours=True,
        bytes_per_second=None, announced=True,
    )  # fmt: skip


def stale_part() -> InFlight:
    """A copy to the mirror that was cut short."""
    return scenes.part(
        2450, 1_204_000_000, state=FlightState.STALE, reason="nobody holds its lock", writer=None, ours=True,
        bytes_per_second=None, mtime_ns=int((NOW - HOUR) * 1e9), announced=True,
    )  # fmt: skip


def after_reboot() -> Snapshot:
    """Step 2550 was complete and not named yet; a copy to the mirror and a deletion there were cut short."""
    survey = changed(scenes.survey(), Role.PRIMARY, in_flight=(ready_part(),))
    gone = Removing("20260302T140000000000Z-1200aaaa", name_of(1200))
    survey = changed(survey, Role.MIRROR, in_flight=(stale_part(),), removing=(gone,))
    return scenes.snapshot(survey=survey, log=())


def kept_everything() -> Snapshot:
    """A run without retention so far."""
    return scenes.snapshot(survey=everything_kept(), trouble=(), log=())


def everything_kept(count: int = 46) -> Survey:
    """Every save of the run on both sides."""
    rows = []
    for back in range(count):
        step, age = 50 * (count - back), (15 + 11 * back) * MINUTE
        primary, mirror = scenes.verified(step, age, age - MINUTE), scenes.verified(step, age, age - 2 * MINUTE)
        rows.append(scenes.step_row(primary, mirror, Verdict.SAFE, "verified on both sides, same digest"))
    survey = changed(scenes.survey(rows), Role.PRIMARY, in_flight=())
    assert survey.resume is not None
    newest = 50 * count
    path = f"/data/ckpt/{name_of(newest)}"
    return replace(survey, resume=replace(survey.resume, name=name_of(newest), step=newest, path=path))


def prune_plan() -> Plan:
    """More than half of what is there: it has to be typed."""
    plan = plan_prune(everything_kept())
    assert plan.count == 68
    return plan


def set_aside() -> tuple[Quarantined, ...]:
    return (
        Quarantined(
            ENTRY, name_of(1750), "truncated: ends 650 MB early: 1.82 of 2.47 GB", 1_820_000_000, NOW - HOUR, named=True
        ),
        Quarantined(
            OLD_ENTRY, "checkpoint-900", "incomplete: optimizer.pt (4.94 GB) is not there", 2_480_000_000,
            NOW - 2 * DAY, Kind.DIRECTORY, named=True,
        ),
    )  # fmt: skip


def with_quarantine() -> Snapshot:
    """One on each side."""
    newer, older = set_aside()
    survey = changed(scenes.survey(), Role.MIRROR, quarantine=(newer,))
    return scenes.snapshot(survey=changed(survey, Role.PRIMARY, quarantine=(older,)))


MEMBERS = {"config.json": 1_200, "model.safetensors": 4_940_000_000, "optimizer.pt": 9_880_000_000}


def tree(name: str, state: State, *, step: int, lacks: str = "", reason: str = "") -> Checkpoint:
    """A directory of three files, one of which may not be there."""
    whole = scenes.checkpoint(name, state, step=step, age=HOUR, verified=MINUTE, reason=reason)
    record = whole.sighting.record
    assert record is not None
    there = [
        Member(path, size, int((NOW - HOUR + place) * 1e9), 1, 1, 10 + place, 0o644, 1, size // 512)
        for place, (path, size) in enumerate(MEMBERS.items())
        if path != lacks
    ]
    recorded = tuple(RecordMember(path, size, scenes.digest_of(path)) for path, size in MEMBERS.items())
    directory = Member("", 0, int((NOW - HOUR) * 1e9), 1, 1, 9, 0o755, 2, 0)
    sighting = replace(
        whole.sighting,
        kind=Kind.DIRECTORY,
        identity=Identity(tuple(there), directory),
        record=replace(record, kind=Kind.DIRECTORY, size=sum(MEMBERS.values()), members=recorded),
    )
    return replace(whole, sighting=sighting)


def of_directories() -> Snapshot:
    """A trainer's directories: one lost its optimizer on the mirror, another is being staged."""
    row = scenes.step_row(
        tree("checkpoint-500", State.VERIFIED, step=500),
        tree("checkpoint-500", State.INCOMPLETE, step=500, lacks="optimizer.pt", reason="1 of 3 files is not there"),
        Verdict.REPAIR,
        "verified on primary, incomplete on mirror",
    )
    staged = scenes.part(
        600, 5_200_000_000, name="staging/checkpoint-600", target="checkpoint-600", kind=Kind.DIRECTORY, staged=True,
        ours=True, announced=True, expected_size=sum(MEMBERS.values()), reason="its lock is held",
    )  # fmt: skip
    survey = changed(scenes.survey([row]), Role.PRIMARY, in_flight=(staged,))
    return scenes.snapshot(survey=survey, trouble=(), log=())
