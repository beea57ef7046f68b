"""The scripted pieces of work that are killed, failed and cut off at every call."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from ckptdeck.core.apply import apply
from ckptdeck.core.errors import Refused
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.adopt import plan_adopt
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Plan
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.plans.repair import plan_repair
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.states import Kind, Role
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.core.verify import verify_one
from tests.crash.contents import Content
from tests.crash.faults import NAMING, Call, FaultyFileSystem, Killed
from tests.crash.sandbox import HOUR, Sandbox, machine

SIZE = 200_000
PIECE = 50_000
NAME = "step_0000810.pt"
STEP = 810

Act = Callable[[FileSystem, Sandbox], None]
Scene = Callable[[Sandbox], None]


def payload(seed: int, size: int = SIZE) -> bytes:
    """Bytes without zeros that differ from seed to seed in every block."""
    period = bytes((seed * 37 + number) % 255 + 1 for number in range(251))
    return (period * (size // 251 + 1))[:size]


OLD, NEW, MIDDLE = payload(1), payload(2, SIZE + 1234), payload(3, SIZE + 77)
ROTTEN = OLD[:99_000] + bytes([OLD[99_000] ^ 1]) + OLD[99_001:]


@dataclass(frozen=True, slots=True)
class Subject:
    """A checkpoint that is worked on, and what it may hold in the course of it."""

    name: str
    kind: Kind
    old: Content
    rotten: Content
    """`old` with one bit of it wrong."""


FILE = Subject(NAME, Kind.FILE, OLD, ROTTEN)


class Unfinished(Exception):
    """A plan that did not do all it set out to do: no traceback, an exit code."""

    def __init__(self, exit_code: int, text: str) -> None:
        super().__init__(f"exit {exit_code}: {text}")
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Workload:
    """`prepare` sets the scene on the real file system, `act` is what goes through the faulty one.

    `act` acknowledges what it was told is done; when it raises, nothing beyond that was promised.
    """

    name: str
    prepare: Scene
    act: Act
    reads_back: bool = False
    """What it writes is read again before it gets a name."""
    copies: bool = False
    """What it leaves unfinished is kept for the same command to go on with."""
    largest_write: int = 70_000
    """What one write takes, so that a payload takes several."""
    subject: Subject = FILE

    def __str__(self) -> str:
        return self.name


# --- the pieces


def save(
    fs: FileSystem,
    sandbox: Sandbox,
    data: bytes,
    *,
    name: str = NAME,
    role: Role = Role.PRIMARY,
    replace: bool = False,
    readback: bool = False,
    seeking: bool = False,
    pid: int = 1,
) -> None:
    """A trainer's save: in pieces, or back and forth as zip and HDF5 writers do it."""
    intent = Intent(name, step=810, replace=replace, readback=readback)
    with sandbox.saving(role, name, data):
        with publish(machine(fs, pid=pid), sandbox.found(fs, role), intent) as (stream, result):
            if seeking:
                stream.write(bytes(PIECE))
                stream.write(data[PIECE:])
                stream.seek(0)
                stream.write(data[:PIECE])
            else:
                for start in range(0, len(data), PIECE):
                    stream.write(data[start : start + PIECE])
        if any(warning.code == "unrecorded" for warning in result.warnings):
            sandbox.unrecorded.add(name)


def carry_out(
    fs: FileSystem, sandbox: Sandbox, make_plan: Callable[[Survey], Plan], *, hours: int = 0, pid: int = 1
) -> None:
    """Survey, plan, apply, as a command does it. Raises Unfinished unless something was planned and all of it done."""
    host = machine(fs, hours=sandbox.hours + hours, pid=pid)
    pair = sandbox.pair(fs)
    plan = make_plan(take_survey(host, pair, DEFAULT_POLICY))
    result = apply(host, pair, DEFAULT_POLICY, plan)
    if result.exit_code:
        raise Unfinished(result.exit_code, "; ".join(item.text for item in result.results))
    if not plan.acting:
        raise Unfinished(0, "nothing to do: " + "; ".join(item.reason for item in plan.items))


def foreign_file(sandbox: Sandbox, data: bytes, *, role: Role = Role.PRIMARY) -> None:
    """A checkpoint somebody else wrote, long ago, without a record."""
    path = sandbox.root(role) / NAME
    path.write_bytes(data)
    os.utime(path, ns=(10**18, 10**18))
    sandbox.acknowledge(role, NAME, data)


def mirror(fs: FileSystem, sandbox: Sandbox, subject: Subject = FILE) -> None:
    sandbox.allow(Role.MIRROR, subject.name, subject.old)
    carry_out(fs, sandbox, plan_mirror)
    sandbox.acknowledge(Role.MIRROR, subject.name, subject.old)


def adopt(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_adopt)


def repair(fs: FileSystem, sandbox: Sandbox, subject: Subject = FILE) -> None:
    sandbox.allow(Role.MIRROR, subject.name, subject.old)
    carry_out(fs, sandbox, plan_repair)
    sandbox.acknowledge(Role.MIRROR, subject.name, subject.old)


def recover(fs: FileSystem, sandbox: Sandbox) -> None:
    """`ckptdeck recover`, an hour after whatever happened."""
    with contextlib.suppress(Unfinished):  # what it may not touch it leaves, and says so
        recover_all(fs, sandbox)


def recover_all(fs: FileSystem, sandbox: Sandbox) -> None:
    """The same where there is something to do and all of it can be done."""
    carry_out(fs, sandbox, plan_recover, hours=HOUR)


def verify(fs: FileSystem, sandbox: Sandbox, role: Role = Role.PRIMARY, subject: Subject = FILE) -> None:
    verify_one(machine(fs), sandbox.found(fs, role), subject.name)


# --- the scenes


def nothing_there(_sandbox: Sandbox) -> None:
    """An empty pair."""


def old_one_there(sandbox: Sandbox) -> None:
    save(FileSystem(), sandbox, OLD, readback=True)


def unrecorded_one_there(sandbox: Sandbox) -> None:
    foreign_file(sandbox, OLD)


def rotten_copy_there(sandbox: Sandbox) -> None:
    """The mirror's copy lost a bit and was found out; the primary's is proven."""
    old_one_there(sandbox)
    mirror(FileSystem(), sandbox)
    path = sandbox.root(Role.MIRROR) / NAME
    before = path.stat()
    path.write_bytes(ROTTEN)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    sandbox.expect_damage(Role.MIRROR, NAME, ROTTEN)
    verify(FileSystem(), sandbox, Role.MIRROR)


def killed_at(sandbox: Sandbox, prepare: Scene, act: Act, matches: Callable[[Call], bool]) -> None:
    """`prepare`, then an `act` that died before the first of its calls of which `matches` says yes."""

    def die_there(call: Call) -> None:
        if matches(call):
            fs.die()

    prepare(sandbox)
    fs = FaultyFileSystem(before=die_there)
    try:
        act(fs, sandbox)
    except Killed:
        return
    raise AssertionError("it never came to the call it was to die before")


def _replace_with_middle(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, MIDDLE, replace=True)


def renames(call: Call, end: str) -> bool:
    """`call` gives something whose name ends with `end` another one."""
    return call.name in NAMING and call.paths[0].endswith(end)


def died_after_rename(sandbox: Sandbox) -> None:
    """The new content has the name and the old record; its own record is still announced."""
    killed_at(sandbox, old_one_there, _replace_with_middle, lambda call: renames(call, f"{NAME}.json.next"))


def died_before_rename(sandbox: Sandbox) -> None:
    """Everything is on disk and announced; only the name is missing."""
    killed_at(sandbox, nothing_there, _replace_with_middle, lambda call: renames(call, f"{NAME}.part"))


def died_while_writing(sandbox: Sandbox) -> None:
    """A part that is not whole."""
    killed_at(
        sandbox,
        nothing_there,
        _replace_with_middle,
        lambda call: call.name == "fsync" and call.paths[0].endswith(f"{NAME}.part"),
    )


PUBLISHES = (
    Workload("publish", nothing_there, lambda fs, sandbox: save(fs, sandbox, NEW)),
    Workload("publish-readback", nothing_there, lambda fs, sandbox: save(fs, sandbox, NEW, readback=True), True),
    Workload("publish-seeking", nothing_there, lambda fs, sandbox: save(fs, sandbox, NEW, seeking=True)),
    Workload("publish-over-part", died_while_writing, lambda fs, sandbox: save(fs, sandbox, NEW)),
    Workload("replace", old_one_there, lambda fs, sandbox: save(fs, sandbox, NEW, replace=True, readback=True), True),
    Workload("replace-after-crash", died_after_rename, lambda fs, sandbox: save(fs, sandbox, NEW, replace=True)),
)
PLANNED = (
    Workload("adopt", unrecorded_one_there, adopt),
    Workload("mirror", old_one_there, mirror, reads_back=True, copies=True),
    Workload("mirror-candidate", unrecorded_one_there, mirror, reads_back=True, copies=True),
    Workload("repair", rotten_copy_there, repair, reads_back=True, copies=True),
    Workload("recover-finish", died_after_rename, recover_all),
    Workload("recover-name", died_before_rename, recover_all),
    Workload("recover-drop", died_while_writing, recover_all),
)
FILE_WORKLOADS = PUBLISHES + PLANNED


def act_again(workload: Workload, sandbox: Sandbox) -> None:
    """The same work once more after recovery, on a machine that is well again: now it has to come through.

    A save that had got its name after all finds it taken. A repair that had set the bad copy aside is a mirror. What
    recovery had finished is not planned again.
    """
    sandbox.hours += 2 * HOUR
    with contextlib.suppress(Refused):
        try:
            workload.act(FileSystem(), sandbox)
        except Unfinished as unfinished:
            if unfinished.exit_code:
                raise
    if workload.copies:
        with contextlib.suppress(Unfinished):
            mirror(FileSystem(), sandbox, workload.subject)
        sandbox.acknowledge(Role.MIRROR, workload.subject.name, workload.subject.old)
