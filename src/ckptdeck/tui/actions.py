"""The one registry of what a person can do: keys, footer, help and command palette all come from here."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from ckptdeck.core.values import dataclass
from ckptdeck.tui.view_model.view import Lock


class Place(StrEnum):
    """Where an action is at home."""

    OVERVIEW = "Overview"
    IN_FLIGHT = "In flight"
    JOBS = "Jobs"
    QUARANTINE = "Quarantine"
    RECOVERY = "Recovery"
    SPACE = "Space"
    ACTIVITY = "Activity"
    DETAIL = "Detail"
    STORY = "Story"
    LIST = "In every list"
    EVERYWHERE = "Everywhere"
    PLANNING = "While a plan is made"
    DIALOG = "In every dialog"
    REVIEW = "Plan review"
    QUIT = "Quit question"
    HELP = "Help page"


class Group(IntEnum):
    """The footer's three parts, from left to right."""

    DEED = 0
    LOOK = 1
    CONSOLE = 2


@dataclass(frozen=True, slots=True)
class Action:
    """`id` names the Textual action and the binding; `keys` are Textual's names for the keys."""

    id: str
    keys: tuple[str, ...]
    shown: str
    """The keys as a person reads them."""
    label: str
    """One or two words for the footer and the palette."""
    help: str
    places: tuple[Place, ...]
    rank: int = 0
    """Place in the queue for room in the footer: 1 stays longest, 0 is never shown there."""
    changes: bool = False
    """It leads to changed files: gone when read-only, refused with a reason while locked."""
    opens_lock: bool = False
    """Works while locked, because its review is the way to unlock."""
    plan: str = ""
    """What the engine calls the plan it leads to."""
    command: str = ""
    """The command of the shell that does the same or shows the same, "" where there is none."""

    @property
    def group(self) -> Group:
        """Whom it stands with in the footer."""
        if self.rank in (1, 2, 3):
            return Group.CONSOLE
        return Group.DEED if self.changes or self.command == "verify" else Group.LOOK


_HERE = (Place.OVERVIEW,)
_ROWS = (Place.OVERVIEW, Place.RECOVERY, Place.DETAIL)
"""Where a key is meant for checkpoints."""
_TEXTS = (Place.DETAIL, Place.STORY)
_LISTS = (Place.LIST, *_TEXTS)
_READING = (*_LISTS, Place.DIALOG)
_MOVING = (*_READING, Place.SPACE)
_SCREENS = (Place.IN_FLIGHT, Place.JOBS, Place.QUARANTINE, Place.RECOVERY, Place.SPACE, Place.ACTIVITY)

REGISTRY: tuple[Action, ...] = (
    Action(
        "recover", ("R",), "R", "Recover", "Carry out the plan above: finish, clear, repair, bring back and mirror",
        (Place.RECOVERY,), rank=4, changes=True, opens_lock=True, plan="mend", command="recover",
    ),
    Action(
        "mirror", ("m",), "m", "Mirror",
        "Copy the chosen checkpoints, or the one under the cursor, to the mirror; proven in the act",
        _ROWS, rank=5, changes=True, plan="mirror", command="mirror",
    ),
    Action(
        "mirror_kept", ("M",), "M", "Mirror all", "Copy everything the retention keeps and the mirror lacks",
        _HERE, rank=15, changes=True, plan="mirror", command="mirror",
    ),
    Action(
        "adopt", ("A",), "A", "Adopt",
        "Write records for checkpoints that have none; on a fresh pair: set up, record and mirror everything",
        _ROWS, rank=6, changes=True, opens_lock=True, plan="adopt", command="adopt",
    ),
    Action(
        "prune", ("P",), "P", "Prune", "Delete what the retention does not keep, on both sides, guarded and reviewed",
        (Place.OVERVIEW, Place.SPACE), rank=7, changes=True, plan="prune", command="prune",
    ),
    Action(
        "quarantine", ("X",), "X", "Quarantine",
        "Set bad copies of the chosen checkpoints aside, on the side where they are bad; frees nothing",
        (*_ROWS, Place.IN_FLIGHT), rank=9, changes=True, plan="quarantine", command="quarantine",
    ),
    Action(
        "verify", ("V",), "V", "Verify", "Hash the chosen checkpoints, or the one under the cursor",
        _ROWS, rank=12, command="verify",
    ),
    Action(
        "repair", ("r",), "r", "Repair", "Replace the bad side from the whole one; the bad copy is set aside",
        _ROWS, rank=13, changes=True, plan="repair", command="repair",
    ),
    Action(
        "restore", ("e",), "e", "Restore",
        "Copy the chosen checkpoints, or the one under the cursor, from the mirror back to the primary",
        _ROWS, rank=14, changes=True, plan="restore", command="restore",
    ),
    Action(
        "recovery", ("R",), "R", "Recovery", "After a crash: where to resume, what can be finished, what is a leftover",
        (Place.OVERVIEW, Place.IN_FLIGHT), rank=8, command="recover",
    ),
    Action(
        "put_back", ("b",), "b", "Put back", "Give what is under the cursor its name again, if that is free",
        (Place.QUARANTINE,), rank=4, changes=True, plan="restore", command="restore",
    ),
    Action(
        "purge", ("P",), "P", "Purge", "Delete what is under the cursor for good; only that frees its bytes",
        (Place.QUARANTINE,), rank=5, changes=True, plan="purge", command="purge",
    ),
    Action(
        "purge_all", ("E",), "E", "Purge all", "Empty the quarantine of both sides for good",
        (Place.QUARANTINE,), rank=6, changes=True, plan="purge", command="purge",
    ),
    Action(
        "unlock", ("U",), "U", "Unlock", "Allow actions that change files, or lock them again",
        (Place.EVERYWHERE,), rank=3, changes=True, opens_lock=True,
    ),
    Action(
        "space", ("s",), "s", "Space", "How long the disks will do, what a retention needs, and what if",
        (Place.OVERVIEW, Place.QUARANTINE), rank=10, command="space",
    ),
    Action(
        "more", ("l", "right", "plus"), "→ l", "More", "Turn the chosen knob up", (Place.SPACE,), rank=4,
    ),
    Action("less", ("h", "left", "minus"), "← h", "Less", "Turn the chosen knob down", (Place.SPACE,), rank=5),
    Action("reset", ("0",), "0", "Reset", "Let all knobs say what is so", (Place.SPACE,), rank=6),
    Action(
        "basis", ("b",), "b", "Basis", "What to do and what the figures rest on, in full", (Place.SPACE,), rank=8
    ),
    Action(
        "filter", ("slash",), "/", "Filter",
        "Show rows that hold every word; a leading - inverts, ↑ brings back earlier ones",
        (Place.OVERVIEW, Place.ACTIVITY), rank=11,
    ),
    Action(
        "problems", ("exclamation_mark",), "!", "Problems", "Only what wants a person, and all trouble in words",
        _HERE, rank=26,
    ),
    Action(
        "in_flight", ("i",), "i", "In flight", "What is being written, and leftover parts",
        _HERE, rank=19, command="status",
    ),
    Action(
        "quarantined", ("Q",), "Q", "In quarantine", "What is in quarantine: put it back or purge it",
        (Place.OVERVIEW, Place.RECOVERY), rank=17, command="quarantined",
    ),
    Action(
        "jobs", ("J",), "J", "Jobs", "Running and finished work",
        (Place.OVERVIEW, Place.IN_FLIGHT, Place.QUARANTINE, Place.RECOVERY, Place.SPACE, Place.ACTIVITY), rank=18,
    ),
    Action(
        "activity", ("a",), "a", "Activity", "Who did what, with its result and its line for a shell",
        (Place.OVERVIEW, Place.JOBS, Place.RECOVERY), rank=24,
    ),
    Action(
        "zoom", ("z", "enter", "l", "right"), "z ⏎ l", "Detail",
        "All there is to know about the row under the cursor, over the whole screen",
        (Place.OVERVIEW, Place.IN_FLIGHT, Place.JOBS, Place.QUARANTINE, Place.RECOVERY, Place.ACTIVITY), rank=27,
    ),
    Action(
        "pause_view", ("space",), "space", "Pause view", "Hold the rows still while everything goes on, or let them go",
        _HERE, rank=25,
    ),
    Action("order", ("o",), "o", "Order", "Sort rows: newest, oldest, worst, largest", _HERE, rank=20),
    Action("choose", ("v",), "v", "Choose", "Choose the row under the cursor, or let it go", _HERE, rank=21),
    Action("choose_down", ("shift+down",), "⇧↓", "Choose down", "Choose this row and step down", _HERE),
    Action("choose_up", ("shift+up",), "⇧↑", "Choose up", "Choose this row and step up", _HERE),
    Action("choose_all", ("asterisk",), "*", "Choose all", "Choose every row shown, or let all go", _HERE),
    Action(
        "rollback", ("Z",), "Z", "Roll back",
        "Go back to the step under the cursor: later steps are set aside on both sides, nothing is deleted",
        _HERE, rank=22, changes=True, plan="rollback", command="rollback",
    ),
    Action(
        "mark_bad", ("B",), "B", "Mark bad", "Declare the recorded content bad, and every copy of it",
        _HERE, changes=True, plan="mark-bad", command="mark-bad",
    ),
    Action(
        "unmark_bad", ("N",), "N", "Not bad", "Take the mark back: the hash decides again",
        _HERE, changes=True, plan="unmark-bad", command="unmark-bad",
    ),
    Action(
        "copy_resume", ("c",), "c", "Copy resume", "Copy the resume command, or the path to resume from",
        (Place.OVERVIEW, Place.RECOVERY), command="resume",
    ),
    Action(
        "copy_path", ("C",), "C", "Copy path", "Copy the path of the checkpoint under the cursor",
        (Place.OVERVIEW, Place.DETAIL),
    ),
    Action("clear", ("escape",), "esc", "Clear", "Let go of pause, filter, problems view and chosen rows", _HERE),
    Action("pause", ("p",), "p", "Pause", "Pause the job under the cursor, or let it go on", (Place.JOBS,), rank=4),
    Action("cancel", ("x",), "x", "Cancel job", "Stop the job at the next safe point", (Place.JOBS,), rank=5),
    Action(
        "copy_command", ("c",), "c", "Copy command", "Copy what is shown here as a line for a shell",
        (Place.JOBS, Place.ACTIVITY, Place.IN_FLIGHT, Place.QUARANTINE, Place.SPACE), rank=16,
    ),
    Action("down", ("j", "down"), "j ↓", "Down", "One row down", _MOVING),
    Action("up", ("k", "up"), "k ↑", "Up", "One row up", _MOVING),
    Action("page_down", ("pagedown", "ctrl+d", "ctrl+f"), "pgdn", "Page down", "One page down", _MOVING),
    Action("page_up", ("pageup", "ctrl+u", "ctrl+b"), "pgup", "Page up", "One page up", _MOVING),
    Action("first", ("g", "home"), "g home", "First", "To the first row", _READING),
    Action("last", ("G", "end"), "G end", "Last", "To the last row", _READING),
    Action("rescan", ("f5",), "f5", "Look again", "Look at both sides again now", (Place.EVERYWHERE,)),
    Action("theme", ("T",), "T", "Theme", "Next theme: dark, light, colour-safe", (Place.EVERYWHERE,)),
    Action(
        "palette", ("colon", "ctrl+p"), ": ctrl+p", "Palette", "Find any action by its name",
        (Place.EVERYWHERE,), rank=23,
    ),
    Action("help", ("question_mark",), "?", "Help", "This page", (Place.EVERYWHERE,), rank=1),
    Action("leave", ("q",), "q", "Quit", "Leave; asks when jobs are running", _HERE, rank=2),
    Action("back", ("q", "escape"), "q esc", "Back", "Back to the overview", _SCREENS, rank=2),
    Action(
        "close", ("q", "escape", "z", "h", "left"), "q esc h", "Back", "Back to where one came from", _TEXTS, rank=2
    ),
    Action("give_up", ("escape",), "esc", "Give up", "Drop the plan that is being made", (Place.PLANNING,)),
    Action("confirm", ("y",), "y", "Do it", "Carry out the plan under review", (Place.REVIEW,)),
    Action("decline", ("escape", "q", "n"), "esc q n", "Cancel", "Leave everything as it is", (Place.REVIEW,)),
    Action("copy", ("c",), "c", "Copy command", "Copy the plan as a line for a shell", (Place.REVIEW,)),
    Action("stop_and_quit", ("y",), "y", "Stop them and quit", "Quit although jobs are running", (Place.QUIT,)),
    Action("stay", ("escape", "n", "q"), "esc n q", "Stay", "Do not quit", (Place.QUIT,)),
    Action(
        "close_help", ("escape", "q", "question_mark", "enter"), "esc q ? ⏎", "Close", "Back to the screen below",
        (Place.HELP,),
    ),
)  # fmt: skip

BY_ID = {action.id: action for action in REGISTRY}


def hidden(action: Action, lock: Lock) -> bool:
    """True when the action is not there at all."""
    return action.changes and lock is Lock.READ_ONLY


def refused(action: Action, lock: Lock) -> bool:
    """True when the action cannot be used now; `key_words.refusal` says why."""
    locked = action.changes and not action.opens_lock and lock is Lock.LOCKED
    return locked or hidden(action, lock)


def offered(place: Place, lock: Lock) -> tuple[Action, ...]:
    """What can be asked for at `place`, its own actions first."""
    own = [action for action in REGISTRY if place in action.places]
    shared = [action for action in REGISTRY if Place.EVERYWHERE in action.places and place not in action.places]
    return tuple(action for action in (*own, *shared) if not hidden(action, lock))
