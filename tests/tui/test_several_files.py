"""Real directories and groups, from the disk to the lines of the console."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.staging import staging_place
from ckptdeck.core.states import Role
from ckptdeck.tui.fates import Fates
from ckptdeck.tui.thought import answer_at_once
from ckptdeck.tui.view_model.cells import columns_for, row_line
from ckptdeck.tui.view_model.details import pane_lines
from ckptdeck.tui.view_model.heading import resume_line
from ckptdeck.tui.view_model.line import text_of, width_of
from ckptdeck.tui.view_model.rows import Entry, entries_of
from ckptdeck.tui.view_model.view import Lock, View, look
from ckptdeck.tui.view_model.work import flight_detail, flight_line
from tests.core import pairs
from tests.core.units import HOSTILE, fill
from tests.core.workbench import Workbench
from tests.tui import scenes

GROUP = {f"{name}_000810.pt": name.encode() * 900 for name in ("model", "optim", "ema")}


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench.fresh(tmp_path)


def shown(bench: Workbench) -> View:
    snapshot = replace(scenes.snapshot(), survey=pairs.survey(bench))
    return look(snapshot, bench.host.clock.now(), None, Lock.LOCKED)


def entry(view: View, key: str) -> Entry:
    assert view.survey is not None
    return next(one for one in entries_of(view.survey) if one.key == key)


def pane(view: View, key: str) -> str:
    one = entry(view, key)
    return "\n".join(
        text_of(part).rstrip() for part in pane_lines(one, view, 200, Fates().of(one, view, answer_at_once))
    )


def lines_of(view: View) -> Iterator[str]:
    """Every row at several widths, each filled exactly, and every pane."""
    assert view.survey is not None
    entries = entries_of(view.survey)
    for width in (30, 72, 80, 200):
        columns = columns_for(width, entries, single=False)
        for one in entries:
            made = row_line(one, view, columns, width, cursor=False, chosen=False)
            assert width_of(made) == width
            yield text_of(made)
    for one in entries:
        yield pane(view, one.key)


def test_a_group_is_one_row_that_names_its_largest_and_newest_file(bench: Workbench) -> None:
    pairs.put_names(bench, GROUP)
    pairs.mirror(bench)
    view = shown(bench)
    assert view.survey is not None
    assert [one.key for one in entries_of(view.survey)] == ["step_000810"]
    told = pane(view, "step_000810")
    assert told.count("a group of 3 files") == 2
    assert "largest    model_000810.pt" in told
    assert text_of(resume_line(view, 100)).strip().startswith("RESUME 810")


def test_what_a_group_lost_is_told_by_its_name(bench: Workbench) -> None:
    pairs.put_names(bench, GROUP)
    pairs.mirror(bench)
    (bench.mirror / "optim_000810.pt").unlink()
    told = pane(shown(bench), "step_000810")
    assert "INCOMPLETE" in told
    assert "differs    optim_000810.pt (4.50 kB) is not there" in told


def test_hostile_names_inside_move_no_cursor_and_fill_no_row_over(bench: Workbench) -> None:
    files = dict.fromkeys(HOSTILE, bytes(range(1, 90)))
    root = pairs.put(bench, "step_500", files)
    pairs.put(bench, os.fsdecode(b"[red]\x1b[2Jb\xff\n_7.ckpt"), files)
    pairs.mirror(bench)
    for name in HOSTILE[1:4]:
        (root / name).write_bytes(b"cut")
        os.utime(root / name, (pairs.QUIET, pairs.QUIET))
    lines = list(lines_of(shown(bench)))
    assert lines
    assert not any(ord(char) < 32 and char != "\n" for text in lines for char in text)
    assert any("TRUNCATED" in text for text in lines)


def test_a_tree_that_is_being_staged_is_in_flight_until_it_has_its_name(bench: Workbench) -> None:
    place = fill(
        Path(staging_place(bench.on(Role.PRIMARY), "step_600"), "step_600"),
        {"a.dat": b"1" * 700, "sub/b.dat": b"2" * 50},
    )
    owner = os.open(place.parent, os.O_RDONLY)
    fcntl.flock(owner, fcntl.LOCK_EX)
    try:
        view = shown(bench)
    finally:
        os.close(owner)
    assert view.survey is not None
    (flight,) = view.survey.primary.inventory.in_flight
    row = text_of(flight_line(Role.PRIMARY, flight, 80, cursor=True))
    assert "live" in row
    assert "step_600/" in row
    told = "\n".join(text_of(part) for part in flight_detail((Role.PRIMARY, flight), view, 80))
    assert "a directory, staged in the control directory; 750 bytes so far" in told
    (only,) = entries_of(view.survey)
    assert (only.key, only.verdict) == ("step_600", "in-flight")


def test_a_directory_that_is_filled_under_its_name_is_an_unsafe_write(bench: Workbench) -> None:
    root = pairs.put(bench, "step_600", {"a.dat": bytes(range(1, 90))})
    first = pairs.survey(bench)
    (root / "b.dat").write_bytes(bytes(range(1, 50)))
    second = pairs.survey(bench, previous=first)
    (flight,) = second.primary.inventory.in_flight
    assert flight.final_name
    row = text_of(flight_line(Role.PRIMARY, flight, 80, cursor=False))
    assert "unsafe-write" in row
    assert "step_600/" in row
