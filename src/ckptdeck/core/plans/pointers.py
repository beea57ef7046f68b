"""Which pointer files follow their checkpoints to the other side: last, and only to what is whole there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Pointer, Stamp
from ckptdeck.core.states import Role, State


def pointer_items(survey: Survey, to: Role, arriving: Collection[str]) -> Iterator[PlanItem]:
    """A pointer is copied when all it names is verified on side `to`, or is `arriving` there by the same plan.

    On the primary an existing pointer is the trainer's own and stays.
    """
    source, target = survey.side(to.other), survey.side(to)
    if source is None or target is None:
        return
    there = {pointer.name: pointer for pointer in target.inventory.pointers}
    for pointer in source.inventory.pointers:
        known = there.get(pointer.name)
        if not pointer.targets or (known is not None and (known.content == pointer.content or to is Role.PRIMARY)):
            continue
        copies = [target.find(name) for name in pointer.targets]
        whole = all(
            name in arriving or (copy is not None and copy.state is State.VERIFIED)
            for name, copy in zip(pointer.targets, copies, strict=True)
        )
        if whole:
            yield _item(pointer, to)


def _item(pointer: Pointer, to: Role) -> PlanItem:
    reason = f"points to {visible(pointer.targets[0])}, which is whole there by then"
    return PlanItem(
        pointer.name,
        to,
        Act.POINTER,
        reason,
        size=len(pointer.content),
        stamps=(Stamp("", len(pointer.content), pointer.mtime_ns, 0),),
        inode=pointer.inode,
        details={"targets": "\0".join(pointer.targets)},
    )
