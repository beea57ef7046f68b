"""The first line: where to resume, and when the next save is due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.states import Role
from ckptdeck.tui.view_model.heading import resume_line
from ckptdeck.tui.view_model.line import text_of
from ckptdeck.tui.view_model.view import Lock, look
from tests.tui import scenes


@pytest.mark.parametrize("ours", [False, True], ids=["in place", "published"])
def test_a_save_under_way_is_said_whoever_writes_it_and_a_copy_of_our_own_is_none(ours: bool) -> None:
    seen = scenes.survey()
    flights = tuple(replace(flight, ours=ours) for flight in seen.primary.inventory.in_flight)
    inventory = replace(seen.primary.inventory, in_flight=flights)
    survey = replace(seen, primary=replace(seen.primary, inventory=inventory))
    view = look(scenes.snapshot(survey=survey), scenes.NOW, None, Lock.LOCKED)
    assert "saving now" in text_of(resume_line(view, 120))
    copying = {(flight.target, str(Role.PRIMARY)): scenes.mirror_job() for flight in flights if flight.target}
    assert copying
    assert "saving now" not in text_of(resume_line(replace(view, busy=copying), 120))
