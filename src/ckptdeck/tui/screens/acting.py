"""A screen whose rows are checkpoints: what is done to those meant. Names are taken in the moment of the key press."""

from __future__ import annotations

from ckptdeck.tui.messages import CopyWanted, PlanWanted, Say, VerifyWanted
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.view_model.overview import resume_text


class ActingScreen(LiveScreen):
    """Subclasses say which checkpoints a key is meant for."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the checkpoints that are meant."""
        raise NotImplementedError

    @property
    def quarantine_targets(self) -> tuple[str, ...]:
        """The same, with parts by their own names: they may be set aside too."""
        return self.targets

    def action_mirror(self) -> None:
        self._plan("mirror", self.targets)

    def action_adopt(self) -> None:
        self._plan("adopt", self.targets)

    def action_repair(self) -> None:
        self._plan("repair", self.targets)

    def action_restore(self) -> None:
        self._plan("restore", self.targets)

    def action_quarantine(self) -> None:
        self._plan("quarantine", self.quarantine_targets)

    def action_verify(self) -> None:
        if self._any(self.targets):
            self.post_message(VerifyWanted(self.targets))

    def _plan(self, action: str, names: tuple[str, ...]) -> None:
        """A plan about names; without any there is nothing to plan."""
        if self._any(names):
            self.post_message(PlanWanted(action, names))

    def _any(self, names: tuple[str, ...]) -> bool:
        if not names:
            self.post_message(Say("There is no checkpoint to do this with."))
        return bool(names)

    def action_copy_resume(self) -> None:
        survey = None if self._view is None else self._view.survey
        text = None if survey is None else resume_text(survey)
        self._copy(text, "There is nothing whole to resume from yet.")

    def _copy(self, text: str | None, otherwise: str) -> None:
        self.post_message(Say(otherwise) if text is None else CopyWanted(text))
