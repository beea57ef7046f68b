"""What is new and wants a person: said and rung once."""

from __future__ import annotations

import re

from ckptdeck.monitor.snapshot import Snapshot


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
