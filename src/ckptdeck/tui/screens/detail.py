"""One checkpoint over the whole screen: record against reality, evidence, history, every file; with the same keys."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.core.safe_text import shell_word
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.fates import Fates
from ckptdeck.tui.screens.acting import ActingScreen
from ckptdeck.tui.screens.reader import Reader
from ckptdeck.tui.view_model.dossier import dossier_lines, member_lines
from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.view_model.overview import path_of
from ckptdeck.tui.view_model.rows import Entry, entries_of
from ckptdeck.tui.view_model.view import View


class DetailScreen(Reader, ActingScreen):
    PLACE = Place.DETAIL
    BINDINGS = bindings_for(Place.DETAIL)

    def __init__(self, key: str, fates: Fates) -> None:
        super().__init__()
        self._key = key
        self._fates = fates
        self._entry: Entry | None = None
        self._seen: object = None
        self._members: dict[int, tuple[Line, ...]] = {}
        """By width: thousands of files are laid out once per survey."""

    def paint(self, view: View) -> None:
        if view.survey is not self._seen:
            self._seen = view.survey
            entries = () if view.survey is None else entries_of(view.survey)
            self._entry = next((entry for entry in entries if entry.key == self._key), None)
            self._members.clear()
        super().paint(view)

    def tell(self, view: View, width: int) -> Sequence[Line]:
        if width not in self._members:
            self._members[width] = member_lines(self._entry, width)
        return (
            *dossier_lines(self._entry, view, width, self._fates.of(self._entry, view, self.ask)),
            *self._members[width],
        )

    @property
    def targets(self) -> tuple[str, ...]:
        return (self._key,)

    @property
    def quarantine_targets(self) -> tuple[str, ...]:
        return (self._key,) if self._entry is None else self._entry.names

    def action_copy_path(self) -> None:
        survey = None if self._view is None else self._view.survey
        path = None if survey is None or self._entry is None else path_of(self._entry, survey)
        self._copy(None if path is None else shell_word(path), "Nothing lies under this name.")
