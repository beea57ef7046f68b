"""The outlook of the newest survey, worked out again only when that or what is assumed is another one."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_

from ckptdeck.core.outlook import Outlook, WhatIf, freed_by_prune, look_ahead
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.tui.view_model.view import View

MANY = 2000
"""Rows from which on working the retention out takes long enough to count (0.1 s of a core)."""
KEPT_FOR = 60.0
"""Seconds between two surveys of so many rows within which the first one's retention has to do."""
KEPT_AT_REST = 600.0
"""The same where no row is another one: only what grows old can be judged otherwise."""


def still_does(judged: Survey, survey: Survey) -> bool:
    """Whether the retention worked out over `judged` has to do for `survey` too, which is one of very many rows."""
    if len(survey.steps) < MANY or judged.policy != survey.policy:
        return False
    at_rest = len(judged.steps) == len(survey.steps) and all(map(is_, judged.steps, survey.steps))
    return 0 <= survey.taken_at - judged.taken_at < (KEPT_AT_REST if at_rest else KEPT_FOR)


class Foresight:
    """Remembers the newest answer, and what a prune of each retention frees."""

    def __init__(self) -> None:
        self._planned: Survey | None = None
        self._frees: dict[int, Mapping[Role, int]] = {}

    def of(self, view: View, what_if: WhatIf) -> Mapping[Role, Outlook]:
        """Empty before the first scan has ended."""
        survey = view.survey
        if survey is None:
            return {}
        frees = self._freed(survey, what_if.keep_last or survey.policy.keep_last)
        return look_ahead(survey, view.snapshot.samples, what_if, frees)

    def _freed(self, survey: Survey, keep_last: int) -> Mapping[Role, int]:
        """Of very many rows for a while the same: planning a prune of those can be felt."""
        planned = self._planned
        if planned is not survey and (planned is None or not still_does(planned, survey)):
            self._planned, self._frees = survey, {}
        if keep_last not in self._frees:
            self._frees[keep_last] = freed_by_prune(survey, keep_last)
        return self._frees[keep_last]
