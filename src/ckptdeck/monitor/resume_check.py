"""Hashing the checkpoint a run would resume from, once at the start, so that the first line can be certain."""

from __future__ import annotations

from collections.abc import Callable

from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import Condition, Role, State
from ckptdeck.core.survey import Side, Survey


class ResumeCheck:
    """Asks for one hashing after the other until a resume point is certain.

    When the first candidate turns out bad, the next survey names an older one, which is then hashed too. Once
    something was certain it never asks again: what the trainer saves later is hashed when the operator wants it, and
    not at the cost of the training. Used by one thread.
    """

    def __init__(self, ask: Callable[[Survey, Side, Checkpoint], None]) -> None:
        self._ask = ask
        self._asked: set[tuple[str, Role]] = set()
        self._settled = False

    def consider(self, survey: Survey) -> None:
        """Looks at a new survey; at most one question."""
        point = survey.resume
        if self._settled or point is None:
            return
        side = survey.side(point.side)
        checkpoint = side.find(point.name) if side is not None else None
        if point.certain or point.state is not State.SIZE_ONLY or side is None or checkpoint is None:
            self._settled = True
            return
        if side.inventory.condition is not Condition.OK or (point.name, point.side) in self._asked:
            return
        self._asked.add((point.name, point.side))
        self._ask(survey, side, checkpoint)
