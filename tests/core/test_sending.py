"""A staged file is on its way to the device while it is written, and what the device refuses then is as final (R5)."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path

import pytest

from ckptdeck.core import part
from ckptdeck.core.errors import CkptdeckError, NoSpace
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.states import Role
from tests.core.workbench import Workbench, digest_of
from tests.crash.faults import Call, Fail, Fault, FaultyFileSystem, fsync_offences

NAME = "step_1.pt"
WINDOW = 1000
DATA = bytes(index % 251 for index in range(10 * WINDOW))


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "WINDOW", WINDOW)


class FailingSend(FaultyFileSystem):
    """The n-th sending gives `code`."""

    def __init__(self, nth: int, code: int) -> None:
        super().__init__(before=self._aim)
        self._left, self._code = nth, code

    def _aim(self, call: Call) -> None:
        if call.name == "send":
            if self._left == 0:
                self._fault: Fault | None = Fail(call.number, self._code)
            self._left -= 1


def save(base: Path, fs: FileSystem, *, swallow: bool = False) -> Workbench:
    bench = Workbench.fresh(base, fs)
    with publish(bench.host, bench.on(Role.PRIMARY), Intent(NAME)) as (stream, _):
        for start in range(0, len(DATA), WINDOW // 2):
            with contextlib.suppress(*[OSError] * swallow):
                stream.write(DATA[start : start + WINDOW // 2])
                stream.flush()
    return bench


def test_every_window_is_sent_once(tmp_path: Path) -> None:
    sent: list[tuple[int, int]] = []

    class Noting(FileSystem):
        def send(self, fd: int, offset: int, length: int) -> None:
            sent.append((offset, length))
            super().send(fd, offset, length)

    bench = save(tmp_path, Noting())
    assert sent == [(start, WINDOW) for start in range(0, len(DATA), WINDOW)]
    assert bench.record(NAME).digest == digest_of(DATA)


@pytest.mark.parametrize("swallow", [False, True], ids=["told", "the writer goes on"])
@pytest.mark.parametrize("nth", [0, 9])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_refusal_on_the_way_gets_no_name_and_no_second_chance(
    tmp_path: Path, code: int, nth: int, swallow: bool
) -> None:
    fs = FailingSend(nth, code)
    with pytest.raises(CkptdeckError) as told:
        save(tmp_path, fs, swallow=swallow)
    assert isinstance(told.value, NoSpace) == (code in (errno.ENOSPC, errno.EDQUOT))
    assert [path.name for path in (tmp_path / "ckpt").iterdir()] == []
    assert not fsync_offences(fs.log)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_where_nothing_can_be_sent_it_is_synced_at_the_end(tmp_path: Path, code: int) -> None:
    bench = save(tmp_path, FailingSend(3, code))
    assert (tmp_path / "ckpt" / NAME).read_bytes() == DATA
    assert bench.record(NAME).digest == digest_of(DATA)


def test_a_writer_that_goes_back_is_whole_too(tmp_path: Path) -> None:
    bench = Workbench.fresh(tmp_path)
    with publish(bench.host, bench.on(Role.PRIMARY), Intent(NAME)) as (stream, _):
        stream.write(DATA)
        stream.seek(WINDOW)
        stream.write(DATA[:WINDOW])
    expected = DATA[:WINDOW] + DATA[:WINDOW] + DATA[2 * WINDOW :]
    assert (tmp_path / "ckpt" / NAME).read_bytes() == expected
    assert bench.record(NAME).digest == digest_of(expected)
