"""What is new and wants a person, and what was asked for here and not done: said once."""

from __future__ import annotations

import re

from ckptdeck.core.amounts import counted
from ckptdeck.core.plans.plan import Outcome
from ckptdeck.monitor.snapshot import Job, Snapshot
from ckptdeck.tui.view_model.line import brief, harmless

_LONGEST = 200
"""Cells of a notification: terminals that have them show one line or two."""
_ABOUT_A_COPY = re.compile(r".+ on (?:primary|mirror) is [^:]+(?=: )")


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
        """Sentences that were not there before; one whose figures or, of a copy, whose reason changed is the same."""
        if snapshot.survey is None:
            return ()
        kinds = {_kind(sentence): sentence for sentence in snapshot.trouble}
        known = set(kinds) if self._known is None else self._known
        self._known = set(kinds)
        return tuple(sentence for kind, sentence in kinds.items() if kind not in known)


def _kind(sentence: str) -> str:
    about = _ABOUT_A_COPY.match(sentence)
    return re.sub(r"\d+", "", sentence) if about is None else about[0]


class JobWatch:
    """Remembers what was begun here: nobody looks at the jobs who was not told that something stayed undone."""

    def __init__(self) -> None:
        self._begun: set[int] = set()

    def begun(self, job: int) -> None:
        self._begun.add(job)

    def undone(self, snapshot: Snapshot) -> tuple[str, ...]:
        """A sentence for each job that ended since the last look and did not do all it was to do."""
        over = [job for job in snapshot.jobs if job.state.over and job.id in self._begun]
        self._begun -= {job.id for job in over}
        return tuple(filter(None, map(_what_stayed, over)))


def _what_stayed(job: Job) -> str:
    """ "" for a job that did everything, or was cancelled by who sits here."""
    undone = [result for result in job.results if result.outcome in (Outcome.SKIPPED, Outcome.FAILED)]
    if not undone:
        return f"{job.title}: {job.error}" if job.error else ""
    some = f"{len(undone)} of {counted(len(job.results), 'item')} not done" if undone != [*job.results] else "not done"
    return f"{job.title}: {some}. {undone[0].text}"
