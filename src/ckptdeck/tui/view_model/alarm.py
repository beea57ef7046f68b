"""What is new and wants a person: said and rung once."""

from __future__ import annotations

import re

from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.tui.view_model.line import brief, harmless

_LONGEST = 200
"""Cells of a notification: terminals that have them show one line or two."""


def notification(sentence: str) -> str:
    """What makes a terminal show `sentence` as a notification (OSC 9); one that knows none shows nothing.

    It begins with a word, for some terminals take `9;` and a figure for something else (9;4 is a progress).
    """
    return f"\x1b]9;ckptdeck: {brief(harmless(sentence), _LONGEST)}\x07"


class TroubleWatch:
    """Remembers which trouble is known. What is there at the first look is no news, the operator is looking at it."""

    def __init__(self) -> None:
        self._known: set[str] | None = None

    def fresh(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Sentences that were not there before; one whose figures changed is the same one."""
        if snapshot.survey is None:
            return ()
        kinds = {re.sub(r"\d+", "", sentence): sentence for sentence in snapshot.trouble}
        known = set(kinds) if self._known is None else self._known
        self._known = set(kinds)
        return tuple(sentence for kind, sentence in kinds.items() if kind not in known)
