"""A side stays watched: also after it was replaced, and after a watch that could not go on."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.states import Role
from ckptdeck.monitor.watch_keeping import Place, WatchKeeper, place_of
from ckptdeck.monitor.watcher import watch_directories
from tests.monitor.making import GUARD, StandingClock, made_up_host

PLACE = Place(("/data/run",), ((1, 2),), "1:1")


class Listener:
    """What was said, in order, by any watch."""

    def __init__(self) -> None:
        self.told: list[bool] = []
        self.said = threading.Semaphore(0)
        self.paths: set[str] = set()
        self.heard = threading.Semaphore(0)

    def changed(self, paths: Collection[str]) -> None:
        self.paths.update(paths)
        self.heard.release()

    def watched(self, events: bool) -> None:
        self.told.append(events)
        self.said.release()

    def says(self, *told: bool) -> bool:
        """Waits until that was said, and nothing since it was asked before."""
        return all(self.said.acquire(timeout=GUARD) for _ in told) and self.told[-len(told) :] == list(told)


def stands(
    _directories: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
) -> Iterator[Collection[str]]:
    yield ()
    assert stop.wait(GUARD)


def place_at(directory: Path) -> Place:
    place = place_of(FileSystem(), find_set(FileSystem(), str(directory), Role.PRIMARY))
    assert place is not None
    return place


@pytest.mark.parametrize(
    "elsewhere",
    [replace(PLACE, nodes=((1, 3),)), replace(PLACE, nodes=((2, 2),)), replace(PLACE, mount="2:1")],
)
def test_another_directory_of_the_same_name_gets_a_watch_of_its_own(elsewhere: Place) -> None:
    listener = Listener()
    keeper = WatchKeeper(listener, stands)
    keeper.keep(PLACE, revive=True)
    assert listener.says(True)
    keeper.keep(PLACE, revive=True)
    keeper.keep(elsewhere, revive=False)
    assert listener.says(False, True), "the old one was stopped before the new one began"
    keeper.keep(None, revive=False)
    assert listener.says(False)
    keeper.stop(GUARD)
    keeper.keep(PLACE, revive=True)
    assert listener.told == [True, False, True, False]


def test_a_watch_that_ended_is_replaced_at_looks_at_everything_only() -> None:
    begun = threading.Semaphore(0)

    def none_left(*_: Any) -> Iterator[Collection[str]]:
        begun.release()
        yield ()
        raise OSError(28, "No space left on device")

    listener = Listener()
    keeper = WatchKeeper(listener, none_left)
    keeper.keep(PLACE, revive=True)
    assert begun.acquire(timeout=GUARD)
    assert listener.says(True, False)
    for _ in range(100):
        keeper.keep(PLACE, revive=False)
    assert not begun.acquire(blocking=False)
    for _ in range(1000):  # at one of the next looks: the thread may still be about to end
        keeper.keep(PLACE, revive=True)
        if begun.acquire(timeout=0.01):
            break
    else:
        pytest.fail("nobody watches any more")
    keeper.stop(GUARD)


def test_the_directories_of_the_bookkeeping_are_told_apart_too(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    assert place_at(run).directories == (str(run),)
    control = initialise(made_up_host(StandingClock()), str(run), None).pair.primary.control
    assert control is not None
    before = place_at(run)
    assert before == place_at(run)
    manifest = Path(control, "manifest")
    manifest.rename(manifest.with_name("old"))
    manifest.mkdir()
    assert place_at(run) != before
    manifest.rmdir()
    assert place_of(FileSystem(), find_set(FileSystem(), str(run), Role.PRIMARY)) is None


# --- the real thing


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def keeper(run: Path, listener: Listener) -> Iterator[WatchKeeper]:
    keeper = WatchKeeper(listener, watch_directories)
    keeper.keep(place_at(run), revive=True)
    assert listener.says(True)
    yield keeper
    keeper.stop(GUARD)


def stands_again(keeper: WatchKeeper, listener: Listener, run: Path) -> bool:
    """At one of the next looks at everything."""
    for _ in range(1000):
        keeper.keep(place_at(run), revive=True)
        if listener.said.acquire(timeout=0.01):
            return listener.told[-1]
    return False


def move_away(run: Path) -> None:
    run.rename(run.with_name("old"))
    run.mkdir()


def remove(run: Path) -> None:
    """The new one may get the very inode number of the old one."""
    shutil.rmtree(run)
    run.mkdir()


@pytest.mark.parametrize("replaced", [move_away, remove])
def test_what_lies_there_now_is_watched(
    run: Path, keeper: WatchKeeper, listener: Listener, replaced: Callable[[Path], None]
) -> None:
    replaced(run)
    assert listener.says(False)
    assert stands_again(keeper, listener, run)
    (run / "step_1.pt").touch()
    assert listener.heard.acquire(timeout=GUARD)
    assert listener.paths == {str(run / "step_1.pt")}


def test_a_name_that_is_not_utf_8_ends_the_watch_until_it_has_gone(
    run: Path, keeper: WatchKeeper, listener: Listener
) -> None:
    """The library that watches can tell no such name, and none of those beside it."""
    odd = run / os.fsdecode(b"\xff.pt")
    odd.touch()
    assert listener.says(False)
    odd.unlink()
    assert stands_again(keeper, listener, run)
    (run / "step_1.pt").touch()
    assert listener.heard.acquire(timeout=GUARD)
    assert listener.paths == {str(run / "step_1.pt")}
