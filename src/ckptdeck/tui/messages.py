"""What screens ask of the app. Data goes down by `show`, wishes come up as these."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from textual.message import Message

from ckptdeck.tui.actions import Place


class PlanWanted(Message):
    """Compute the plan of an action of the registry, show it, and run it when confirmed.

    Names and options are taken in the moment the key was pressed.
    """

    def __init__(
        self, action: str, names: tuple[str, ...] = (), options: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__()
        self.action = action
        self.names = names
        self.options = options


class VerifyWanted(Message):
    """Hash these checkpoints on both sides."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names


class CopyWanted(Message):
    """Hand `text` to the terminal's clipboard."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Say(Message):
    """Tell the operator something that passes by."""

    def __init__(self, text: str, *, warning: bool = False) -> None:
        super().__init__()
        self.text = text
        self.warning = warning


class GoTo(Message):
    """Show the screen at home at `place`."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place


class JobVerb(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


class JobAsked(Message):
    """Pause, resume or cancel one job."""

    def __init__(self, job: int, verb: JobVerb) -> None:
        super().__init__()
        self.job = job
        self.verb = verb


class ViewChanged(Message):
    """The snapshot is the same, the way it is looked at is not: the order, or the filters used so far."""

    def __init__(self, order: str, filters: tuple[str, ...]) -> None:
        super().__init__()
        self.order = order
        self.filters = filters


class TakenUp(Message):
    """The terminal is read again after a while in which it was not."""
