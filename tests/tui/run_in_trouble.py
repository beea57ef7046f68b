"""One run with something of everything: what all pictures of the documentation are taken from."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.sighting import Removing, StructureFinding
from ckptdeck.core.states import FlightState, Role, State, Structure, Verdict
from ckptdeck.monitor.snapshot import LogEntry, Snapshot
from ckptdeck.monitor.trouble import find_trouble
from tests.tui import aftermath, disks, scenes
from tests.tui.scenes import DAY, HOUR, MINUTE, NOW, WHOLE, name_of

_PAIR = "/data/ckpt /mnt/d/ckpt"
_SAID = (
    (9.0, "this console", "mirror step_2450.pt",
     f"ckptdeck mirror {_PAIR} step_2450.pt", "started"),
    (3 * MINUTE, "this console", "step_2500.pt on mirror: verified, device evidence",
     f"ckptdeck verify {_PAIR} step_2500.pt", "done"),
    (4 * MINUTE, "trainer@node07 pid 48377", "publish step_2500.pt",
     "ckptdeck publish /scratch/out.pt /data/ckpt --as step_2500.pt", "done"),
    (26 * MINUTE, "watch@node07 pid 812", "step_2400.pt on mirror: copied, proven",
     f"ckptdeck mirror {_PAIR} step_2400.pt", "done"),
    (HOUR, "ops@node07 pid 9120", "step_1850.pt set aside on mirror: truncated",
     f"ckptdeck quarantine {_PAIR} step_1850.pt", "done"),
    (5 * HOUR, "watch@node07 pid 812", "step_0250.pt on primary: deleted",
     f"ckptdeck prune {_PAIR}", "done"),
    (DAY, "ops@node07 pid 7001", "step_0200.pt on mirror: cancelled at a safe point",
     f"ckptdeck prune {_PAIR}", "cancelled"),
    (2 * DAY, "watch@node07 pid 811", "mirror step_1850.pt: I/O error at 1.82 GB",
     f"ckptdeck mirror {_PAIR} step_1850.pt", "failed"),
)  # fmt: skip
_CUT = StructureFinding(
    Structure.CUT, "torch-zip", "The central directory of the zip is missing; the file ends inside data/17.",
    expected_size=WHOLE, proof="min-size", loader_says="failed finding central directory: it is cut",
)  # fmt: skip


def log() -> tuple[LogEntry, ...]:
    return tuple(LogEntry(NOW - ago, who, text, command, outcome) for ago, who, text, command, outcome in _SAID)


def survey() -> Survey:
    rows = [_told(row) for row in disks.filling_survey().steps]
    made = scenes.survey(rows)
    newer, older = aftermath.set_aside()
    part = scenes.part(
        1900, 1_204_000_000, state=FlightState.STALE, reason="nobody holds its lock", writer=None, ours=True,
        bytes_per_second=None, mtime_ns=int((NOW - HOUR) * 1e9), announced=True,
    )  # fmt: skip
    gone = Removing("20260302T140000000000Z-0200aaaa", name_of(200))
    mirror = {"in_flight": (part,), "removing": (gone,), "quarantine": (newer,)}
    return aftermath.changed(aftermath.changed(made, Role.MIRROR, **mirror), Role.PRIMARY, quarantine=(older,))


def _told(row: Step) -> Step:
    """What is special about three of the steps."""
    if row.step == 2450:
        absent = scenes.checkpoint(row.name, State.ABSENT, step=2450, size=None, recorded=None)
        return replace(row, mirror=absent, verdict=Verdict.MIRROR_ME, reason="verified on primary, absent on mirror")
    if row.step == 1850:
        cut = scenes.checkpoint(
            row.name, State.TRUNCATED, step=1850, age=disks.age_of(13), size=1_820_000_000, structure=_CUT,
            reason="ends 650 MB early: 1.82 of 2.47 GB",
        )  # fmt: skip
        return replace(row, mirror=cut, verdict=Verdict.REPAIR, reason="verified on primary, truncated on mirror")
    if row.step == 1900:
        found = scenes.checkpoint(
            row.name,
            State.STRUCTURE_OK,
            step=1900,
            age=3 * HOUR,
            recorded=None,
            reason="no record; its zip is whole",
        )
        absent = scenes.checkpoint(row.name, State.ABSENT, step=1900, size=None, recorded=None)
        return replace(row, primary=found, mirror=absent, verdict=Verdict.ADOPT, reason="a candidate on the primary")
    return row


def in_trouble() -> Snapshot:
    seen = survey()
    return scenes.snapshot(
        survey=seen,
        samples=disks.filling_samples(),
        jobs=(scenes.mirror_job(), *scenes.finished_jobs()),
        log=log(),
        trouble=find_trouble(seen),
    )
