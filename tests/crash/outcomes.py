"""What is asked after every fault: the invariants, then recovery to the same end twice, then the work once more."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.states import CANDIDATES, Role, State
from ckptdeck.core.survey import take_survey
from tests.crash.contents import digest_of, in_words
from tests.crash.faults import Call, FaultyFileSystem, Killed, fsync_offences
from tests.crash.invariants import content_under, fingerprint, judge_names, judge_records, judge_settled
from tests.crash.sandbox import HOUR, Sandbox, machine
from tests.crash.workloads import Unfinished, Workload, act_again, recover

_SANDBOX = r"/\S*/ckptdeck-[^/]*/\d+"


@dataclass(frozen=True, slots=True)
class Tried:
    """One run of a workload under a fault."""

    sandbox: Sandbox
    log: Sequence[Call]
    error: BaseException | None
    leaked: int
    """Descriptors it left open."""


def attempt(workload: Workload, fs: FaultyFileSystem, sandbox: Sandbox) -> Tried:
    """Runs `workload` through `fs` in a prepared `sandbox`."""
    open_before = len(os.listdir("/proc/self/fd"))
    error: BaseException | None = None
    try:
        workload.act(fs, sandbox)
    except (Exception, Killed) as caught:  # noqa: BLE001  # the caller judges what came out
        error = caught
    leaked = len(os.listdir("/proc/self/fd")) - open_before
    fs.die()
    return Tried(sandbox, fs.log, error, leaked)


def offences(tried: Tried, *, killed: bool) -> list[str]:
    """What is wrong right after the fault."""
    found = standing(tried.sandbox, any_record=bookkeeping_failed(tried.log))
    found += fsync_offences(tried.log)
    allowed = Killed if killed else (CkptdeckError, Unfinished)
    if tried.error is not None and not isinstance(tried.error, allowed):
        found.append(f"raised {tried.error!r}")
    if not killed and tried.leaked:
        found.append("left a descriptor open")
    return found


def standing(sandbox: Sandbox, *, any_record: bool = False) -> list[str]:
    """The invariants that hold at every instant, on both sides. `any_record`: records may be older than files."""
    found = []
    for role in Role:
        promise = sandbox.promise(role)
        target = sandbox.found(FileSystem(), role)
        excused = _excused(sandbox, role, any_record=any_record)
        found += [f"{role}: {violation}" for violation in judge_names(sandbox.root(role), promise)]
        found += [f"{role}: {violation}" for violation in judge_records(target, promise, excused)]
    return found


def believed(sandbox: Sandbox) -> list[str]:
    """What a look at the sets calls whole, or may take for whole, without its being so."""
    survey = take_survey(machine(FileSystem(), hours=HOUR), sandbox.pair(FileSystem()), DEFAULT_POLICY)
    found = []
    for side in survey.sides:
        promise = sandbox.promise(side.role)
        for checkpoint in side.checkpoints:
            if checkpoint.state is State.VERIFIED:
                allowed = sandbox.legal[side.role].get(checkpoint.name, frozenset())
            elif checkpoint.state in CANDIDATES:
                allowed = promise.legal.get(checkpoint.name, frozenset())
            else:
                continue
            there = content_under(sandbox.root(side.role), checkpoint.name, promise)
            if digest_of(there) not in allowed:
                found.append(f"{side.role}: {checkpoint.name} is called {checkpoint.state} and is {in_words(there)}")
    return found


def _excused(sandbox: Sandbox, role: Role, *, any_record: bool) -> dict[str, frozenset[str]]:
    """Contents that need not be those of the record: known damage, and saves whose record could not be written."""
    legal = sandbox.legal[role]
    outdated = legal.keys() if any_record else sandbox.unrecorded & legal.keys()
    bad = sandbox.bad[role]
    return {name: bad.get(name, frozenset()) | legal.get(name, frozenset()) for name in {*bad, *outdated}}


def bookkeeping_failed(log: Sequence[Call]) -> bool:
    """A call on a control directory failed: a save then goes on and says that its record may be the old one."""
    failed = [call for call in log if call.error not in (None, errno.ENOENT)]
    return any(".ckptdeck/" in path for call in failed for path in call.paths)


def unconverged(workload: Workload, sandbox: Sandbox, *, any_record: bool = False) -> list[str]:
    """What is wrong after recovery: it must settle everything, and find nothing to do the second time."""
    recover(FileSystem(), sandbox)
    found = standing(sandbox, any_record=any_record)
    found += _unsettled(sandbox, parts_may_stay=workload.copies, any_record=any_record)
    settled = fingerprint(sandbox.base)
    recover(FileSystem(), sandbox)
    if fingerprint(sandbox.base) != settled:
        found.append("a second recover changed something")
    return [f"after recover: {violation}" for violation in found]


def undone(workload: Workload, sandbox: Sandbox) -> list[str]:
    """What is wrong once the work was done again: it must come through, and leave nothing half done."""
    try:
        act_again(workload, sandbox)
    except (CkptdeckError, Unfinished) as error:
        return [f"done again: {error}"]
    found = standing(sandbox) + _unsettled(sandbox)
    return [f"done again: {violation}" for violation in found]


def _unsettled(sandbox: Sandbox, *, parts_may_stay: bool = False, any_record: bool = False) -> list[str]:
    found = []
    for role in Role:
        target = sandbox.found(FileSystem(), role)
        excused = _excused(sandbox, role, any_record=any_record)
        violations = judge_settled(target, excused, parts_may_stay=parts_may_stay)
        found += [f"{role}: {violation}" for violation in violations]
    return found


def report(found: Sequence[tuple[str, str]]) -> str:
    """(where, violation) pairs, each violation once with the first places it was seen at."""
    places: dict[str, list[str]] = {}
    for where, violation in found:
        places.setdefault(re.sub(_SANDBOX, "", violation), []).append(re.sub(_SANDBOX, "", where))
    return "\n".join(
        f"{violation}\n    {len(where)} times, first at " + "\n      ".join(where[:3])
        for violation, where in places.items()
    )
