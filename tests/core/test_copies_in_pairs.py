"""A mirror whose bytes go through two threads keeps every promise of one that goes through one."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core import turns
from ckptdeck.core.errors import Cancelled, SourceChanged
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.progress import CancelToken, Effort, Progress
from ckptdeck.core.states import Evidence, Role
from ckptdeck.core.transfer import staged_copy
from tests.core.workbench import Workbench, digest_of
from tests.crash.faults import Call, Fail, Fault, FaultyFileSystem, Kill, Killed, Short

NAME = "step_0001.pt"
BLOCK = 4096
DATA = bytes(index * 7 % 256 for index in range(9 * BLOCK + 11))
POLICY = replace(DEFAULT_POLICY, min_age=0.0)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(turns, "BLOCK", BLOCK)
    monkeypatch.setattr(turns, "PAIR_FROM", 2 * BLOCK)
    descriptors = _descriptors()
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == turns.HELPER]
    assert _descriptors() == descriptors


def _descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    bench = Workbench.fresh(tmp_path)
    bench.publish(NAME, DATA, readback=True)
    return bench


def copy(bench: Workbench, fs: FileSystem, effort: Effort | None = None) -> Evidence:
    host = replace(bench.host, fs=fs, pairs=True)
    item: PlanItem = bench.item(Act.COPY, NAME, Role.MIRROR, source=Role.PRIMARY)
    with staged_copy(host, bench.on(Role.PRIMARY), bench.on(Role.MIRROR), item, POLICY, effort or Effort()) as staged:
        staged.give_name(host)
    return staged.settled.evidence


def test_both_threads_read_and_the_copy_is_whole(bench: Workbench) -> None:
    readers = set()

    class Watched(FileSystem):
        def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
            readers.add(threading.get_ident())
            return super().read_into(fd, buffer, offset)

    copy(bench, Watched())
    assert len(readers) == 2
    assert (bench.mirror / NAME).read_bytes() == DATA
    assert bench.record(NAME, Role.MIRROR).digest == digest_of(DATA)


class FaultyAt(FaultyFileSystem):
    """The fault comes at the n-th call of one kind on the file, whatever the threads did before it.

    Which call of the whole run that is differs from run to run, so it is decided when it comes.
    """

    def __init__(self, name: str, place: Path, nth: int, fault: type[Kill | Short] | int) -> None:
        super().__init__(before=self._aim)
        self._name, self._place, self._left, self._kind = name, str(place), nth, fault

    def _aim(self, call: Call) -> None:
        if call.name != self._name or not call.paths[0].startswith(self._place):
            return
        if self._left == 0:
            self._fault: Fault | None = (
                Fail(call.number, self._kind) if isinstance(self._kind, int) else self._kind(call.number)
            )
        self._left -= 1


@pytest.mark.parametrize("nth", range(10))
@pytest.mark.parametrize(
    ("call", "side"), [("read_into", Role.PRIMARY), ("pwrite", Role.MIRROR)], ids=["read", "write"]
)
def test_a_failed_call_on_either_thread_names_nothing_and_leaves_nothing(
    bench: Workbench, call: str, side: Role, nth: int
) -> None:
    code = errno.ENOSPC if call == "pwrite" else errno.EIO
    with pytest.raises(OSError, match=os.strerror(code)):
        copy(bench, FaultyAt(call, bench.directory(side) / NAME, nth, code))
    assert bench.names(Role.MIRROR) == set()
    copy(bench, FileSystem())
    assert (bench.mirror / NAME).read_bytes() == DATA


@pytest.mark.parametrize("nth", [0, 1, 4, 9])
@pytest.mark.parametrize(
    ("call", "side"), [("read_into", Role.PRIMARY), ("pwrite", Role.MIRROR)], ids=["read", "write"]
)
def test_the_kernel_may_take_or_give_less(bench: Workbench, call: str, side: Role, nth: int) -> None:
    copy(bench, FaultyAt(call, bench.directory(side) / NAME, nth, Short))
    assert (bench.mirror / NAME).read_bytes() == DATA


@pytest.mark.parametrize("nth", range(10))
@pytest.mark.parametrize(
    ("call", "side"), [("read_into", Role.PRIMARY), ("pwrite", Role.MIRROR)], ids=["read", "write"]
)
def test_killed_on_either_thread_it_goes_on_later(bench: Workbench, call: str, side: Role, nth: int) -> None:
    with pytest.raises(Killed):
        copy(bench, FaultyAt(call, bench.directory(side) / NAME, nth, Kill))
    assert bench.names(Role.MIRROR) <= {f"{NAME}.part"}
    copy(bench, FileSystem())
    assert (bench.mirror / NAME).read_bytes() == DATA


@pytest.mark.parametrize("block", [1, 2, 5])
def test_cancelled_it_leaves_what_it_has_and_goes_on_there(bench: Workbench, block: int) -> None:
    token = CancelToken()

    def report(progress: Progress) -> None:
        if progress.phase == "copy" and progress.done >= block * BLOCK:
            token.cancel()

    with pytest.raises(Cancelled):
        copy(bench, FileSystem(), Effort(report, token))
    assert (bench.mirror / f"{NAME}.part").read_bytes() == DATA[: block * BLOCK]
    copy(bench, FileSystem())
    assert (bench.mirror / NAME).read_bytes() == DATA


def test_a_source_that_ends_early_is_no_copy(bench: Workbench) -> None:
    class Cut(FileSystem):
        def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
            return super().read_into(fd, buffer[: max(0, 5 * BLOCK - offset)], offset)

    with pytest.raises(SourceChanged, match="could be read"):
        copy(bench, Cut())
    assert bench.names(Role.MIRROR) == set()
