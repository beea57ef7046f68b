"""What an operator does, with the keys an operator presses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal.run import Run
from tests.terminal.screen import CKPTDECK, Screen, processes_naming, wait_until

Open = Callable[..., Screen]


def verified_rows(text: str) -> int:
    return sum(re.search(r"verified.+verified.+safe", line) is not None for line in text.splitlines())


def test_day_one_two_bare_directories_are_recorded_and_mirrored(run: Run, open_screen: Open) -> None:
    originals = {path.name: path.read_bytes() for path in (run.save_directly(step) for step in range(50, 350, 50))}
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    assert "LOCKED" in screen.text()
    assert not list(run.mirror.iterdir())
    screen.type("A")
    review = screen.wait_for("Do it")
    assert "ckptdeck init" in review
    screen.leave_review("Enter")  # the focus is on Cancel
    assert not list(run.mirror.iterdir())
    screen.type("A")
    screen.leave_review("y")
    seen = screen.wait_for(lambda text: verified_rows(text) == 6)
    assert "RESUME 300" in seen
    assert "UNLOCKED" in seen
    assert {name: (run.mirror / name).read_bytes() for name in run.on_mirror()} == originals
    screen.type("q")
    assert screen.ended() == 0
    assert screen.is_sane()


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (160, 45)])
def test_what_a_trainer_saves_appears_is_mirrored_and_ends_verified(
    run: Run, open_screen: Open, columns: int, rows: int
) -> None:
    for step in (50, 100):
        run.save_directly(step)
    run.record_and_mirror()
    screen = open_screen(*CKPTDECK, *run.directories, columns=columns, rows=rows)
    screen.wait_for(lambda text: verified_rows(text) == 2)
    run.let_a_trainer_save(150)
    screen.wait_for(lambda text: "size-only" in text and " 150 " in text)
    screen.type("g", "m")
    screen.wait_for("Press U to unlock")
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt"}
    screen.type("U")
    screen.wait_for("UNLOCKED")
    screen.type("m")
    screen.leave_review("y")
    screen.wait_for(lambda text: verified_rows(text) == 3)
    assert (run.mirror / "step_0150.pt").read_bytes() == (run.primary / "step_0150.pt").read_bytes()
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt", "step_0150.pt"}


def test_a_truncated_mirror_copy_is_shown_and_repaired(run: Run, open_screen: Open) -> None:
    for step in (50, 100):
        run.save_directly(step)
    run.record_and_mirror()
    bad = run.mirror / "step_0050.pt"
    run.cut(bad)
    screen = open_screen(*CKPTDECK, *run.directories)
    seen = screen.wait_for("TRUNCATED")
    assert re.search(r"TRUNCATED +144/19[78]K .*repair", seen)
    screen.type("U")
    screen.wait_for("UNLOCKED")
    screen.type("G", "r")
    screen.leave_review("y")
    screen.wait_for(lambda text: verified_rows(text) == 2)
    assert bad.read_bytes() == (run.primary / "step_0050.pt").read_bytes()
    assert any((run.mirror / ".ckptdeck" / "quarantine").iterdir())


def test_a_large_prune_is_typed_and_one_set_aside_is_put_back(run: Run, open_screen: Open) -> None:
    for step in range(50, 300, 50):
        run.save_directly(step)
    run.record_and_mirror()
    run.keep_last(2)
    bad = run.mirror / "step_0250.pt"
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for(lambda text: verified_rows(text) == 5)
    screen.type("U")
    screen.wait_for("UNLOCKED")
    screen.type("P")
    screen.wait_for("Type 6 (6 copies deleted for good), then y:  _")
    screen.leave_review("Enter")  # the focus is on Cancel
    screen.type("P")
    screen.answer("Type 6", "7", "y:  7")
    screen.type("y", "BSpace")  # with a number that is not the plan's
    screen.wait_for("y:  _")
    screen.type("6")
    screen.wait_for("y confirms")
    assert len(run.on_primary()) == len(run.on_mirror()) == 5
    screen.leave_review("y")
    screen.wait_for(lambda text: verified_rows(text) == 2 and "step_0050" not in text)
    assert run.on_primary() == run.on_mirror() == {"step_0200.pt", "step_0250.pt"}

    run.cut(bad)
    left = bad.read_bytes()
    screen.wait_for("TRUNCATED")
    screen.type("g", "X")
    screen.wait_for("this frees nothing until")
    screen.leave_review("y")
    wait_until(lambda: not bad.exists())
    screen.type("Q")
    screen.wait_for(lambda text: "1 artifact: 144K on the mirror" in text and "step_0250.pt of the mirror" in text)
    screen.type("b")
    screen.leave_review("y")
    wait_until(lambda: bad.exists() and bad.read_bytes() == left)
    screen.wait_for("Nothing is in quarantine.")
    screen.type("q")
    screen.wait_for("TRUNCATED")
    screen.type("q")
    assert screen.ended() == 0
    assert screen.is_sane()


def test_quitting_while_a_job_runs_asks_and_ends_by_itself_once_it_is_done(run: Run, open_screen: Open) -> None:
    screen = slow_mirror(run, open_screen, size=2_500_000)
    screen.type("q")
    asked = screen.wait_for("Stop them and quit")
    assert "1 job not finished" in asked
    assert "mirror step_0100.pt" in asked
    screen.answer("Stop them and quit", "n", lambda text: "Stop them" not in text)
    screen.type("q")
    screen.wait_for("continues at the next start")
    assert screen.ended() == 0
    assert screen.is_sane()
    assert (run.mirror / "step_0100.pt").read_bytes() == (run.primary / "step_0100.pt").read_bytes()


def test_quitting_for_sure_stops_the_job_where_it_can_go_on(run: Run, open_screen: Open) -> None:
    screen = slow_mirror(run, open_screen)
    screen.type("q")
    screen.answer("Stop them and quit", "y", lambda text: "Stop them" not in text)
    assert screen.ended() == 0
    assert screen.is_sane()
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt.part"}


def test_the_demo_shows_trouble_and_leaves_nothing_behind(open_screen: Open) -> None:
    screen = open_screen(*CKPTDECK, "demo", "--size", "400kB", "--interval", "1s")
    screen.wait_for(lambda text: "· recovery" in text and "1. discard    step_0680.pt" in text)
    screen.type("Escape")
    screen.wait_for(lambda text: re.search(r"TRUNCATED +29\d/40\dK .*repair", text) is not None)
    place = demo_of(screen)
    assert len(processes_naming(place)) == 1, "the trainer"
    screen.type("q")
    assert screen.ended() == 0
    assert screen.is_sane()
    assert not place.exists()
    assert not processes_naming(place)


def demo_of(screen: Screen) -> Path:
    return next(path for path in screen.base.iterdir() if path.name.startswith("ckptdeck-demo"))


def slow_mirror(run: Run, open_screen: Open, size: int = 24_000_000, shell: tuple[str, ...] = ()) -> Screen:
    """A console in the middle of copying step 100, a megabyte a second."""
    run.save_directly(50)
    run.record_and_mirror()
    run.save_directly(100, size)
    run.limit_rate("1MB/s")
    screen = open_screen(*shell, *CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    screen.type("U")
    screen.wait_for("UNLOCKED")
    screen.type("g", "m")
    screen.leave_review("y")
    wait_until(lambda: (run.mirror / "step_0100.pt.part").exists())
    return screen
