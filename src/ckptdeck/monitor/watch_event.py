"""What a watch tells: one event at a time."""

from __future__ import annotations

from enum import StrEnum

from ckptdeck.core.states import Role
from ckptdeck.core.values import dataclass


class Happening(StrEnum):
    """What kind of event it is; the words of the JSON lines."""

    START = "start"
    SIDE = "side"
    """What a side holds, said when it is first seen."""
    APPEARED = "appeared"
    """A checkpoint has its name and holds still."""
    GONE = "gone"
    """Somebody else removed a checkpoint."""
    TROUBLE = "trouble"
    """Something needs a person; `notify` is run for it."""
    OVER = "over"
    """A trouble is no longer there."""
    DONE = "done"
    SKIPPED = "skipped"
    """A guard, or somebody else's lock, kept one item of a plan from being done."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    HELD = "held"
    """A plan is not carried out, or has nothing left but what guards hold back."""
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Event:
    """One line. `at` in wall clock seconds."""

    at: float
    what: Happening
    text: str
    side: Role | None = None
    name: str | None = None
    """The checkpoint, exactly; made safe to show only in `text`."""
    command: str = ""
    """What was done, or what somebody has to do, as a line for a shell."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that needs a person, told when it begins and when it is over."""

    key: tuple[str, ...]
    """What it is about: the same as long as only its words change."""
    text: str
    side: Role | None = None
    name: str | None = None
    command: str = ""
    recurring: bool = False
    """Comes and goes with every save of some runs: it is over only after a day without."""
    seen_on_disk: bool = False
    """Whether it is over can only be told while both sides can be read."""
