"""Kernel events are hints: told on, coalesced, and never missed for good."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.monitor.watcher import Watcher, watch_directories, worth_a_look
from tests.monitor.making import GUARD


class Listener:
    def __init__(self) -> None:
        self.told: list[bool] = []
        self.paths: list[list[str]] = []
        self.heard = threading.Semaphore(0)
        self.stands = threading.Event()
        self.quiet = threading.Event()

    def changed(self, paths: Collection[str]) -> None:
        self.paths.append(sorted(paths))
        self.heard.release()

    def watched(self, events: bool) -> None:
        self.told.append(events)
        (self.stands if events else self.quiet).set()


def two_batches(
    roots: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
) -> Iterator[Collection[str]]:
    yield ()
    yield {f"{roots[0]}/step_1.pt"}
    yield {f"{roots[1]}/step_1.pt.json", f"{roots[0]}/step_2.pt"}
    assert stop.wait(GUARD)


def test_what_changed_is_told_by_name() -> None:
    listener = Listener()
    watcher = Watcher(("/data/run", "/data/books"), listener, two_batches)
    watcher.start()
    assert all(listener.heard.acquire(timeout=GUARD) for _ in range(2))
    watcher.stop(GUARD)
    assert listener.paths == [["/data/run/step_1.pt"], ["/data/books/step_1.pt.json", "/data/run/step_2.pt"]]
    assert listener.told == [True, False]


def test_nothing_is_said_to_be_watched_before_the_kernel_does() -> None:
    began, stands = threading.Event(), threading.Event()

    def slow(*arguments: Any) -> Iterator[Collection[str]]:
        began.set()
        assert stands.wait(GUARD)
        yield from two_batches(*arguments)

    listener = Listener()
    watcher = Watcher(("/data/run", "/data/books"), listener, slow)
    watcher.start()
    assert began.wait(GUARD)
    assert listener.told == []
    stands.set()
    assert listener.stands.wait(GUARD)
    watcher.stop(GUARD)


def test_a_watch_that_was_stopped_says_nothing_any_more() -> None:
    """The next one may already watch."""
    began, stopped = threading.Event(), threading.Event()

    def late(*_: object) -> Iterator[Collection[str]]:
        began.set()
        assert stopped.wait(GUARD)
        yield ()

    listener = Listener()
    watcher = Watcher(("/data/run",), listener, late)
    watcher.start()
    assert began.wait(GUARD)
    watcher.stop(0)
    stopped.set()
    watcher.stop(GUARD)
    assert watcher.ended
    assert listener.told == []


def test_a_kernel_that_cannot_watch_leaves_polling() -> None:
    def no_watches_left(*_: object) -> Iterator[Collection[str]]:
        yield ()
        raise OSError(28, "No space left on device")

    listener = Listener()
    watcher = Watcher(("/data/run",), listener, no_watches_left)
    watcher.start()
    assert listener.quiet.wait(GUARD)
    watcher.stop(GUARD)
    assert listener.told == [True, False]


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


# --- the real thing


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def listener(run: Path) -> Iterator[Listener]:
    listener = Listener()
    watcher = Watcher((str(run),), listener, watch_directories)
    watcher.start()
    assert listener.stands.wait(GUARD)
    yield listener
    watcher.stop(GUARD)


def test_the_first_rename_into_place_is_told(run: Path, listener: Listener) -> None:
    (run / "step_1.pt.part").write_bytes(b"x")
    (run / "step_1.pt.part").rename(run / "step_1.pt")
    assert listener.heard.acquire(timeout=GUARD)
    assert str(run / "step_1.pt") in listener.paths[0]
    assert listener.told == [True]


def move_away(run: Path) -> None:
    run.rename(run.with_name("old"))
    run.mkdir()


def remove(run: Path) -> None:
    """The new one may get the very inode number of the old one."""
    run.rmdir()
    run.mkdir()


@pytest.mark.parametrize("replaced", [move_away, remove])
def test_a_directory_that_is_replaced_ends_the_watch(
    run: Path, listener: Listener, replaced: Callable[[Path], None]
) -> None:
    replaced(run)
    assert listener.quiet.wait(GUARD)
    assert listener.told == [True, False]


def test_a_name_that_is_not_utf_8_ends_the_watch_without_a_word_to_anybody(run: Path, listener: Listener) -> None:
    (run / os.fsdecode(b"\xff.pt")).touch()
    assert listener.quiet.wait(GUARD)
    assert listener.told == [True, False]


def test_a_directory_that_is_not_there_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone|No such"):
        list(watch_directories((str(tmp_path / "gone"),), worth_a_look, threading.Event()))
