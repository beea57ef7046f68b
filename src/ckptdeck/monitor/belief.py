"""What may be believed about a side: its newest inventory, marked down when the side went silent or failed. Pure.

A picture of a side that does not answer any more must not lead to a deletion, here or on the other side
(invariant 5), so it is kept to be looked at, and its condition says that it cannot be read.
"""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.sighting import Inventory
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.looking import Look


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about one side."""

    role: Role
    root: str
    look: Look | None = None
    error: str = ""
    """Why the newest attempt to look brought nothing; "" when it brought `look`."""
    silent: bool = False
    overdue: bool = False
    """The first look takes so long that the other side is shown without it."""


def believe(known: Known, checked: CheckpointSet | None, now: float) -> Inventory | None:
    """The inventory to compose with; None while the first look has not ended.

    `checked` is the found set with its condition as part of the pair; it wins over what a look at one side alone
    could tell.
    """
    if known.look is None:
        if not (known.silent or known.overdue):
            return None
        silent = f"The {known.role}'s file system does not answer"
        why = silent if known.silent else "It is still being looked at for the first time"
        return _nothing_known(known, f"{why}; the other side is shown without it", now)
    inventory = known.look.inventory
    if checked is not None and checked.condition is not known.look.found.condition:
        inventory = replace(inventory, condition=checked.condition, why=checked.why)
    if known.silent:
        return _marked_down(
            inventory, f"The {known.role}'s file system does not answer; what is shown is what it last said"
        )
    if known.error:
        return _marked_down(inventory, known.error)
    return inventory


def _marked_down(inventory: Inventory, why: str) -> Inventory:
    return replace(inventory, condition=Condition.UNREADABLE, why=why)


def _nothing_known(known: Known, why: str, now: float) -> Inventory:
    return Inventory(
        role=known.role,
        root=known.root,
        control=None,
        set_id=None,
        run_id=None,
        condition=Condition.UNREADABLE,
        why=why,
        taken_at=now,
        volume=None,
    )
