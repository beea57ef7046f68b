"""Kernel events are hints: told on, coalesced, and never missed for good."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pytest

from ckptdeck.monitor.watcher import Watcher, watch_directories, worth_a_look
from tests.monitor.making import GUARD


class Listener:
    def __init__(self) -> None:
        self.hinted = threading.Event()
        self.told: list[bool] = []
        self.hints = 0
        self.paths: list[list[str]] = []
        self.heard = threading.Event()
        self.quiet = threading.Event()

    def hint(self) -> None:
        self.hints += 1
        self.hinted.set()

    def changed(self, paths: Collection[str]) -> None:
        self.paths.append(sorted(paths))
        self.heard.set()

    def watched(self, events: bool) -> None:
        self.told.append(events)
        if not events:
            self.quiet.set()


def two_batches(
    roots: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
) -> Iterator[Collection[str]]:
    yield {f"{roots[0]}/step_1.pt"}
    yield {f"{roots[1]}/step_1.pt.json", f"{roots[0]}/step_2.pt"}
    yield {f"{roots[0]}/\ufffd.pt"}
    assert stop.wait(GUARD)


def test_what_changed_is_told_by_name_and_what_has_no_name_as_a_hint() -> None:
    listener = Listener()
    watcher = Watcher(("/data/run", "/data/books"), listener, two_batches)
    watcher.start()
    assert listener.hinted.wait(GUARD)
    watcher.stop(GUARD)
    assert listener.paths == [["/data/run/step_1.pt"], ["/data/books/step_1.pt.json", "/data/run/step_2.pt"]]
    assert listener.hints == 1
    assert listener.told == [True]


def test_a_kernel_that_cannot_watch_leaves_polling() -> None:
    def no_watches_left(*_: object) -> Iterator[Collection[str]]:
        raise OSError(28, "No space left on device")

    listener = Listener()
    watcher = Watcher(("/data/run",), listener, no_watches_left)
    watcher.start()
    assert listener.quiet.wait(GUARD)
    watcher.stop(GUARD)
    assert listener.told == [True, False]
    assert listener.hints == 0


@pytest.mark.parametrize(
    ("change", "name", "wanted"),
    [
        ("modified", "step_1.pt.part", False),
        ("added", "step_1.pt.part", True),
        ("deleted", "step_1.pt.part", True),
        ("modified", "step_1.pt", True),
        ("added", "step_1.pt", True),
    ],
)
def test_only_the_flood_of_a_growing_part_is_dropped(change: str, name: str, wanted: bool) -> None:
    assert worth_a_look(change, name) is wanted


def test_the_kernel_tells_of_a_rename_into_place(tmp_path: Path) -> None:
    """The real thing. The file is renamed until it is noticed, since a watch says nowhere when it has begun."""
    listener = Listener()
    watcher = Watcher((str(tmp_path),), listener, watch_directories)
    (tmp_path / "step_1.pt.part").write_bytes(b"x")
    watcher.start()
    for _ in range(100):
        (tmp_path / "step_1.pt.part").rename(tmp_path / "step_1.pt")
        (tmp_path / "step_1.pt").rename(tmp_path / "step_1.pt.part")
        if listener.heard.wait(0.1):
            break
    watcher.stop(GUARD)
    assert str(tmp_path / "step_1.pt") in listener.paths[0]
    assert listener.told == [True]


def test_a_directory_that_is_not_there_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone|No such"):
        list(watch_directories((str(tmp_path / "gone"),), worth_a_look, threading.Event()))
