"""Hand-made pictures: what the console shows in the pages of the documentation and in the tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan, PlanItem
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Progress
from ckptdeck.core.sighting import (
    Checkpoint,
    Identity,
    InFlight,
    Inventory,
    Member,
    Receipt,
    Record,
    RecordMember,
    Sighting,
    StructureFinding,
    Volume,
    Writer,
)
from ckptdeck.core.states import Condition, Evidence, FlightState, Kind, Origin, Role, State, Structure, Verdict
from ckptdeck.core.survey import Projection, ResumePoint, Side, Step, Survey
from ckptdeck.monitor.snapshot import Job, JobState, LogEntry, SideActivity, Snapshot
from ckptdeck.monitor.trouble import find_trouble

NOW = 1_772_461_927.0
"""2026-03-02 14:32:07 UTC."""
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
WHOLE = 2_470_000_000
ROOTS = {Role.PRIMARY: "/data/ckpt", Role.MIRROR: "/mnt/d/ckpt"}
POLICY = Policy(resume_command="python train.py --resume {path}")


def name_of(step: int) -> str:
    return f"step_{step:04d}.pt"


def digest_of(name: str) -> str:
    return hashlib.md5(name.encode("utf-8", "surrogateescape")).hexdigest()


def checkpoint(
    name: str,
    state: State,
    *,
    step: int | None = None,
    age: float = DAY,
    size: int | None = WHOLE,
    recorded: int | None = WHOLE,
    verified: float | None = None,
    reason: str = "",
    structure: StructureFinding | None = None,
    rolling: bool = False,
) -> Checkpoint:
    """`size` None: nothing on disk; `recorded` None: no record; `verified`: seconds since its verification."""
    saved = NOW - age
    mtime = int(saved * 1e9)
    identity = None if size is None else Identity((Member("", size, mtime, mtime, 1, 1, 0o644, 1, size // 512),))
    record = None
    if recorded is not None:
        members = (RecordMember("", recorded, digest_of(name)),)
        record = Record(
            name,
            step,
            Kind.FILE,
            recorded,
            mtime,
            digest_of(name),
            members,
            saved + 4,
            Origin.PUBLISHED,
            None,
            "node07",
        )
    receipt = None
    if verified is not None and identity is not None:
        receipt = Receipt(name, True, digest_of(name), identity.stamps, Evidence.DEVICE, NOW - verified, "boot", "21:1")
    family = "foreign" if state is State.FOREIGN else "single-file"
    seen = Sighting(name, step, Kind.FILE, family, rolling, identity, record, receipt=receipt, structure=structure)
    at = None if verified is None else NOW - verified
    return Checkpoint(seen, state, reason, at, Evidence.DEVICE if verified is not None else None)


def verified(step: int, age: float, checked: float) -> Checkpoint:
    return checkpoint(
        name_of(step), State.VERIFIED, step=step, age=age, verified=checked, reason="size and digest match the record"
    )


def part(step: int, done: int, **changes: object) -> InFlight:
    flight = InFlight(
        name=f"{name_of(step)}.part",
        target=name_of(step),
        step=step,
        size=done,
        mtime_ns=int((NOW - 1) * 1e9),
        inode=77,
        state=FlightState.LIVE,
        reason="it grows, and a writer holds it",
        expected_size=WHOLE,
        writer=Writer(48213, "python3"),
        bytes_per_second=410_000_000.0,
        ours=False,
    )
    return replace(flight, **changes)  # type: ignore[arg-type]


def volume(fs: str, fs_class: str, total: int, free: int) -> Volume:
    return Volume(fs, fs_class, total, free, 1_000_000, False, 1, False, "21:1")


def judged_side(
    role: Role,
    checkpoints: Iterable[Checkpoint],
    disk: Volume | None,
    flights: tuple[InFlight, ...] = (),
    condition: Condition = Condition.OK,
    why: str = "",
) -> Side:
    found = tuple(checkpoints)
    control = None if condition is Condition.UNINITIALISED else f"{ROOTS[role]}/.ckptdeck"
    sightings = tuple(c.sighting for c in found)
    seen = Inventory(role, ROOTS[role], control, "5e70", "llama-ft-07", condition, why, NOW, disk, sightings, flights)
    return Side(seen, found)


def step_row(primary: Checkpoint | None, mirror: Checkpoint | None, verdict: Verdict, reason: str) -> Step:
    there = primary or mirror
    assert there is not None
    return Step(there.step, there.name, primary, mirror, verdict, reason)


def _rows() -> list[Step]:
    cut = StructureFinding(
        Structure.CUT, "torch-zip", "The central directory of the zip is missing; the file ends inside data/17.",
        expected_size=WHOLE, proof="min-size", loader_says="failed finding central directory: it is cut",
    )  # fmt: skip
    rows = [
        step_row(verified(2500, 4 * MINUTE, 3 * MINUTE), verified(2500, 4 * MINUTE, 2 * MINUTE), Verdict.SAFE,
                 "verified on both sides, same digest"),
        step_row(verified(2450, 15 * MINUTE, 14 * MINUTE), None, Verdict.MIRROR_ME,
                 "verified on primary, absent on mirror"),
    ]  # fmt: skip
    for back, step in enumerate(range(2400, 1950, -50)):
        age = (26 + 11 * back) * MINUTE
        primary, mirror = verified(step, age, age - MINUTE), verified(step, age, age - 2 * MINUTE)
        rows.append(step_row(primary, mirror, Verdict.SAFE, "verified on both sides, same digest"))
    rows.append(
        step_row(
            verified(1750, 2 * DAY, 2 * DAY),
            checkpoint(name_of(1750), State.TRUNCATED, step=1750, age=2 * DAY, size=1_820_000_000, structure=cut,
                       reason="ends 650 MB early: 1.82 of 2.47 GB."),
            Verdict.REPAIR,
            "verified on primary, truncated on mirror",
        )
    )  # fmt: skip
    rows.append(
        step_row(
            checkpoint(name_of(1700), State.UNRECORDED, step=1700, age=2 * DAY, recorded=None,
                       reason="no record, and its content is of no known format"),
            None,
            Verdict.ADOPT,
            "a candidate on primary; adopting proves and records it",
        )
    )  # fmt: skip
    rows.append(
        step_row(
            checkpoint(name_of(1650), State.REMOVED, step=1650, age=3 * DAY, size=None, reason="recorded and gone"),
            verified(1650, 3 * DAY, 2 * DAY),
            Verdict.MIRROR_ONLY,
            "verified on mirror, removed on primary",
        )
    )
    rolling = [
        checkpoint("last.ckpt", State.SIZE_ONLY, age=4 * MINUTE, rolling=True, reason="size matches the record")
        for _ in Role
    ]
    rows.append(step_row(rolling[0], rolling[1], Verdict.ADOPT, "right size on both sides, content not proven"))
    return rows


def survey(rows: Iterable[Step] | None = None, **changes: object) -> Survey:
    """The run of the product's first page: one step in flight, one to mirror, one cut on the mirror."""
    steps = tuple(_rows() if rows is None else rows)
    foreign = checkpoint("notes.txt", State.FOREIGN, size=2_100, recorded=None)
    primary = judged_side(
        Role.PRIMARY,
        [*(row.primary for row in steps if row.primary), foreign],
        volume("ext4", "local", 500_000_000_000, 131_000_000_000),
        (part(2550, 1_754_000_000),),
    )
    mirror = judged_side(
        Role.MIRROR,
        [row.mirror for row in steps if row.mirror],
        volume("9p", "win", 240_000_000_000, 17_000_000_000),
    )
    resume = ResumePoint(
        name_of(2500), 2500, Role.PRIMARY, f"/data/ckpt/{name_of(2500)}", State.VERIFIED, Evidence.DEVICE,
        NOW - 3 * MINUTE, True,
    )  # fmt: skip
    basis = "median of 10 gaps: 11m02s; largest of the last 5: 2.47 GB"
    space = {
        Role.PRIMARY: Projection(WHOLE, 662.0, 53, NOW + 3 * DAY + 4 * HOUR, basis),
        Role.MIRROR: Projection(WHOLE, 662.0, 6, NOW + HOUR + 10 * MINUTE, basis),
    }
    made = Survey(NOW, "llama-ft-07", POLICY, primary, mirror, steps, resume, space, False)
    return replace(made, **changes)  # type: ignore[arg-type]


def mirror_job(**changes: object) -> Job:
    job = Job(
        id=7,
        action="mirror",
        title="mirror step_2450.pt",
        command="ckptdeck mirror /data/ckpt /mnt/d/ckpt step_2450.pt",
        state=JobState.RUNNING,
        lane="mirror (9p)",
        submitted_at=NOW - 9,
        started_at=NOW - 9,
        progress=Progress("copy", name_of(2450), "mirror", 1_506_000_000, WHOLE),
        total_done=1_506_000_000,
        total_size=WHOLE,
        bytes_per_second=240_000_000.0,
        eta=4.0,
        if_we_quit="stops at a safe point and continues at the next start",
    )
    return replace(job, **changes)  # type: ignore[arg-type]


def finished_jobs() -> tuple[Job, ...]:
    bad = ItemResult(
        PlanItem(name_of(1750), Role.MIRROR, Act.COPY, "absent on mirror"), Outcome.FAILED,
        "The mirror answered with an I/O error at 1.82 GB; nothing was named.", 7,
    )  # fmt: skip
    good = ItemResult(
        PlanItem(name_of(2400), Role.MIRROR, Act.COPY, "absent on mirror"), Outcome.DONE, "copied, proven"
    )
    return (
        mirror_job(
            id=6, title="verify 3 checkpoints", command="ckptdeck verify /data/ckpt /mnt/d/ckpt", action="verify",
            state=JobState.QUEUED, progress=None, total_done=0, bytes_per_second=None, eta=None, started_at=None,
            lane="primary (ext4)",
        ),
        mirror_job(
            id=5, title="mirror 2 checkpoints", command="ckptdeck mirror /data/ckpt /mnt/d/ckpt",
            state=JobState.FAILED, ended_at=NOW - 2 * DAY, started_at=NOW - 2 * DAY - 41, results=(good, bad),
            error="The mirror failed while it was written to. Its disk may be dying. Look at dmesg, then mirror again.",
        ),
    )  # fmt: skip


_PAIR = "/data/ckpt /mnt/d/ckpt"
LOG = (
    LogEntry(NOW - 9, "console", "mirror step_2450.pt", f"ckptdeck mirror {_PAIR} step_2450.pt", "started"),
    LogEntry(NOW - 180, "console", "verify step_2500.pt", f"ckptdeck verify {_PAIR} step_2500.pt", "done"),
    LogEntry(NOW - 2 * DAY, "watch", "mirror step_1750.pt", f"ckptdeck mirror {_PAIR} step_1750.pt", "failed"),
)

TROUBLE = find_trouble(survey())


def snapshot(**changes: object) -> Snapshot:
    """The live scene, with nothing running."""
    made = Snapshot(
        version=1,
        taken_at=NOW,
        title="llama-ft-07",
        survey=survey(),
        primary=ROOTS[Role.PRIMARY],
        mirror=ROOTS[Role.MIRROR],
        activity={role: SideActivity() for role in Role},
        jobs=(),
        log=LOG,
        trouble=TROUBLE,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def busy_snapshot() -> Snapshot:
    """The live scene while a mirror runs."""
    return snapshot(jobs=(mirror_job(), *finished_jobs()))


def first_look() -> Snapshot:
    """Before the first scan ended."""
    return snapshot(survey=None, trouble=(), log=())


def day_one(count: int = 46) -> Snapshot:
    """Two bare directories, as somebody has them who never heard of this program."""
    rows = []
    for back in range(count):
        step = 2300 - 50 * back
        name, age = name_of(step), (15 + 11 * back) * MINUTE
        found = checkpoint(
            name, State.STRUCTURE_OK, step=step, age=age, recorded=None, reason="no record; torch-zip is complete"
        )
        rows.append(step_row(found, None, Verdict.ADOPT, "a candidate on primary; adopting proves and records it"))
    bare = survey(rows)
    primary = replace(bare.primary.inventory, condition=Condition.UNINITIALISED, control=None, in_flight=())
    assert bare.mirror is not None
    mirror = replace(bare.mirror.inventory, condition=Condition.UNINITIALISED, control=None)
    newest = ResumePoint(
        name_of(2300), 2300, Role.PRIMARY, f"/data/ckpt/{name_of(2300)}", State.STRUCTURE_OK, None, None, False
    )
    seen = replace(
        bare,
        run_id=None,
        policy=Policy(),
        primary=replace(bare.primary, inventory=primary),
        mirror=replace(bare.mirror, inventory=mirror),
        resume=newest,
    )
    return snapshot(title="ckpt", survey=seen, trouble=(), log=())


def mirror_gone() -> Snapshot:
    """The mirror's disk is not mounted."""
    seen = survey()
    why = (
        "/mnt/d is an empty directory on the root disk, and the set expects a 9p mount. "
        "Mount it; it is looked at again by itself."
    )
    away = judged_side(Role.MIRROR, (), None, condition=Condition.NOT_MOUNTED, why=why)
    rows = [
        replace(row, mirror=None, verdict=Verdict.UNKNOWN, reason="the mirror cannot be read") for row in seen.steps
    ]
    found = replace(seen, mirror=away, steps=tuple(rows), space={Role.PRIMARY: seen.space[Role.PRIMARY]})
    return snapshot(survey=found, trouble=("The mirror is not mounted.",))


def many(count: int) -> Snapshot:
    """A run that kept everything."""
    rows = [
        step_row(verified(step, age, HOUR), verified(step, age, HOUR), Verdict.SAFE, "verified on both sides")
        for step in range(count, 0, -1)
        for age in (DAY + MINUTE * (count - step),)
    ]
    return snapshot(survey=survey(rows))


HOSTILE = (
    "step_1000[best].pt",
    "[/]x.pt",
    "[/bold]step_900.pt",
    "y[link=https://example.org]z.pt",
    "\x1b]0;owned\x07step_800.pt",
    "step_\n700\r.pt",
    "bad\udcff\udcfe.pt",
    "\u202egnp.tp",
    "a" * 300 + ".pt",
    "模型_檢查點_最終版本.pt",
)


def hostile() -> Snapshot:
    """Names that try to break the screen."""
    rows = [
        step_row(
            checkpoint(name, State.VERIFIED, verified=HOUR),
            checkpoint(name, State.CORRUPT, reason="right size, wrong content"),
            Verdict.REPAIR,
            "verified on primary, corrupt on mirror",
        )
        for name in HOSTILE
    ]
    return snapshot(survey=survey(rows), title=HOSTILE[4])


def mirror_plan() -> Plan:
    whole = "verified on both sides, same digest"
    planned = [
        (2450, Act.COPY, "verified on primary, absent on mirror", None),
        (1700, Act.COPY, "a candidate: proven in the act, recorded on both sides", None),
        (2550, Act.SKIP, "being written by python3 (pid 48213)", "live-writer"),
        (2500, Act.KEEP, whole, None),
        (2400, Act.KEEP, whole, None),
        (1750, Act.KEEP, "truncated there: repair is the way", None),
    ]
    items = [
        PlanItem(name_of(step), Role.MIRROR, act, reason, WHOLE, step, guard) for step, act, reason, guard in planned
    ]
    return Plan("mirror", tuple(items), needs=2 * WHOLE)
