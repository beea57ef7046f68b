"""Every call of every piece of work fails with every errno, once and for good; writes come up short, or lie."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from ckptdeck.core.errors import CkptdeckError, ContentMismatch, VolumeSuspect
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.states import Evidence, Role
from tests.crash.faults import (
    ERRNOS,
    NAMING,
    WRITES,
    Call,
    Fail,
    FaultyFileSystem,
    Lie,
    Short,
    failures,
    failures_in_turn,
)
from tests.crash.figures import count
from tests.crash.outcomes import Tried, attempt, bookkeeping_failed, offences, report, unconverged, undone
from tests.crash.sandbox import Sandbox
from tests.crash.tree_workloads import LONGEST_TREE_WORKLOADS, WORKLOADS
from tests.crash.volumes import Bench, why_no_volumes
from tests.crash.workloads import FILE_WORKLOADS, NAME, PUBLISHES, Unfinished, Workload

LOOKING_ERRNOS = (errno.EIO, errno.EACCES, errno.ESTALE)
"""What reading can fail with; the others speak of space and of writing."""
SETTLED_ERRNOS = (errno.ENOSPC, errno.ESTALE)
"""One that is final and one that is tried again: what is left on disk depends on the call that failed and on that, so
recovery is tried after these."""


@pytest.mark.parametrize("workload", FILE_WORKLOADS, ids=str)
def test_failed_at_every_call(workload: Workload, fresh_sandbox: Callable[[], Sandbox]) -> None:
    calls = _calls_of(workload, fresh_sandbox)
    found = []
    for fail in _worth_trying(calls):
        settle = calls[fail.at].changes and fail.code in SETTLED_ERRNOS
        found += _wrong(workload, calls[fail.at], fail, fresh_sandbox, settle=settle)
        count("errors tried")
    assert not found, report(found)


@pytest.mark.parametrize("workload", LONGEST_TREE_WORKLOADS, ids=str)
def test_failed_at_every_call_of_a_tree(workload: Workload, fresh_sandbox: Callable[[], Sandbox]) -> None:
    calls = _calls_of(workload, fresh_sandbox)
    of_it = [call for call in calls if call.changes or any(workload.subject.name in path for path in call.paths)]
    found = []
    for fail in failures_in_turn(of_it, LOOKING_ERRNOS):
        call = calls[fail.at]
        settle = call.changes and (call.name in NAMING or fail.at % 2 == 0)
        found += _wrong(workload, call, fail, fresh_sandbox, settle=settle)
        count("errors tried on trees")
    assert not found, report(found)


def _wrong(
    workload: Workload, call: Call, fail: Fail, fresh_sandbox: Callable[[], Sandbox], *, settle: bool
) -> list[tuple[str, str]]:
    """What a failing `call` breaks, and with `settle` what is wrong after recovery and when the work is done again."""
    tried = _try(workload, FaultyFileSystem(fail, largest_write=workload.largest_write), fresh_sandbox)
    wrong = offences(tried, killed=False) + _wrong_exit(tried, fail)
    if settle:
        wrong += unconverged(workload, tried.sandbox, any_record=bookkeeping_failed(tried.log))
        wrong += undone(workload, tried.sandbox)
    return [(f"{_named(fail)} at {call}", violation) for violation in wrong]


@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_short_writes_and_reads_lose_nothing(workload: Workload, fresh_sandbox: Callable[[], Sandbox]) -> None:
    calls = _calls_of(workload, fresh_sandbox)
    for call in calls:
        if call.name in WRITES or call.name == "read_into":
            short = FaultyFileSystem(Short(call.number), largest_write=workload.largest_write)
            tried = _try(workload, short, fresh_sandbox)
            assert tried.error is None, f"short {call}: {tried.error!r}"
            assert not offences(tried, killed=False)
            count("short reads and writes tried")


@pytest.mark.parametrize("workload", [w for w in WORKLOADS if w.reads_back], ids=str)
def test_lying_write_is_caught_where_it_is_read_back(workload: Workload, fresh_sandbox: Callable[[], Sandbox]) -> None:
    lies = 0
    for call in _calls_of(workload, fresh_sandbox):
        if call.name in WRITES and _is_staged(call):
            lying = FaultyFileSystem(Lie(call.number), largest_write=workload.largest_write)
            tried = _try(workload, lying, fresh_sandbox)
            # Without an error it was written again, and the copy that was acknowledged is there.
            assert tried.error is None or isinstance(tried.error, ContentMismatch), f"lying {call}: {tried.error!r}"
            assert not offences(tried, killed=False)
            lies += 1
    count("lying writes tried", lies)
    assert lies


def test_lying_last_write_is_caught_by_size_alone(fresh_sandbox: Callable[[], Sandbox]) -> None:
    workload = PUBLISHES[0]
    last = [call for call in _calls_of(workload, fresh_sandbox) if call.paths[:1] and NAME in call.paths[0]]
    write = [call for call in last if call.name in WRITES][-1]

    tried = _try(workload, FaultyFileSystem(Lie(write.number), largest_write=70_000), fresh_sandbox)

    assert isinstance(tried.error, ContentMismatch)
    assert not offences(tried, killed=False)


def test_failing_eviction_weakens_the_evidence_and_nothing_else(bench: Bench) -> None:
    """A kernel that cannot drop pages, or cannot say whether it did, costs the word "device", not the copy (R7)."""
    reason = why_no_volumes("ext4")
    if reason:
        pytest.skip(reason)
    workload = next(workload for workload in WORKLOADS if workload.name == "mirror-candidate")
    with bench.volume("ext4") as volume:
        made = iter(range(1000))

        def fresh() -> Sandbox:
            return Sandbox.fresh(volume.root / str(next(made)))

        calls = [call for call in _calls_of(workload, fresh) if call.name in ("evict", "resident_pages")]
        for call in calls:
            tried = _try(workload, FaultyFileSystem(Fail(call.number, errno.EINVAL), largest_write=70_000), fresh)
            assert tried.error is None, f"{call}: {tried.error!r}"
            assert not offences(tried, killed=False)
            count("failing evictions tried")
            if call.name == "resident_pages":
                role = Role.MIRROR if "mirror" in call.paths[0] else Role.PRIMARY
                receipt = Manifest(FileSystem(), tried.sandbox.found(FileSystem(), role)).receipt(NAME)
                assert receipt is not None
                assert receipt.evidence is Evidence.CACHE
    assert {call.name for call in calls} == {"evict", "resident_pages"}


def _calls_of(workload: Workload, fresh_sandbox: Callable[[], Sandbox]) -> list[Call]:
    tried = _try(workload, FaultyFileSystem(largest_write=workload.largest_write), fresh_sandbox)
    assert tried.error is None
    return list(tried.log)


def _try(workload: Workload, fs: FaultyFileSystem, fresh_sandbox: Callable[[], Sandbox]) -> Tried:
    sandbox = fresh_sandbox()
    workload.prepare(sandbox)
    return attempt(workload, fs, sandbox)


def _worth_trying(calls: list[Call]) -> list[Fail]:
    """Every errno where something changes; where it only looks, those that looking can give."""
    changing = [call for call in calls if call.changes]
    looking = [call for call in calls if not call.changes]
    return [*failures(changing, ERRNOS), *failures(looking, LOOKING_ERRNOS)]


def _wrong_exit(tried: Tried, fail: Fail) -> list[str]:
    """What cannot be made durable must say so with the right exit code (errors.py)."""
    call = tried.log[fail.at] if len(tried.log) > fail.at else None
    if call is None or call.name not in ("pwrite", "fsync") or not _is_staged(call):
        return []
    expected = {errno.ENOSPC: 6, errno.EDQUOT: 6, errno.EIO: 7, errno.ESTALE: 7, errno.EROFS: 7}.get(fail.code, 3)
    error = tried.error
    again = {later.name for later in tried.log[fail.at + 1 :] if later.paths == call.paths}
    if error is None and (("create" in again) if call.regular else ("fsync" in again)):
        return []  # written again into a new inode, or the names of a directory synced again
    told = error.exit_code if isinstance(error, CkptdeckError | Unfinished) else 0
    if told == VolumeSuspect.exit_code and fail.lasting:
        return []  # everything fails from there on: the look before the next try finds the side itself unreadable
    return [] if told == expected else [f"exit code {told} instead of {expected} ({error!r})"]


def _is_staged(call: Call) -> bool:
    return call.paths[0].endswith(".part") or "/staging/" in call.paths[0]


def _named(fail: Fail) -> str:
    return errno.errorcode[fail.code] + (" from here on" if fail.lasting else "")
