"""The outlook of the newest survey, worked out again only when that or what is assumed is another one."""

from __future__ import annotations

from collections.abc import Mapping

from ckptdeck.core.outlook import Outlook, WhatIf, freed_by_prune, look_ahead
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.tui.view_model.view import View

MANY = 2000
"""Rows from which on working the retention out takes long enough to count (0.1 s of a core)."""
KEPT_FOR = 60.0
"""Seconds between two surveys of so many rows within which the first one's retention has to do."""


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
        """Of very many rows for a minute the same: planning a prune of those can be felt."""
        planned = self._planned
        too_soon = (
            planned is not None
            and len(survey.steps) >= MANY
            and planned.policy == survey.policy
            and 0 <= survey.taken_at - planned.taken_at < KEPT_FOR
        )
        if planned is not survey and not too_soon:
            self._planned, self._frees = survey, {}
        if keep_last not in self._frees:
            self._frees[keep_last] = freed_by_prune(survey, keep_last)
        return self._frees[keep_last]
