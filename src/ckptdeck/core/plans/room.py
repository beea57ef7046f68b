"""Whether what is to be copied fits beside the reserve, item by item, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.keep import would_free
from ckptdeck.core.plans.plan import Act, PlanItem, Refusal
from ckptdeck.core.sides import Survey
from ckptdeck.core.space import reserve_on, room_on
from ckptdeck.core.states import Role

_TAKES_ROOM = frozenset({Act.COPY, Act.REPAIR})


def need_of(item: PlanItem) -> int:
    """Bytes an item still has to write; those of a leftover part are paid already."""
    if item.act not in _TAKES_ROOM:
        return 0
    return max(0, item.size - int(item.details.get("part_size", "0")))


def total_need(items: Iterable[PlanItem]) -> int:
    return sum(need_of(item) for item in items)


def fit(items: tuple[PlanItem, ...], survey: Survey) -> tuple[PlanItem, ...]:
    """The same items in the same order; those for which no room is left are skipped."""
    left = {role: room_on(survey, role) for role in Role}
    freed: dict[Role, int] = {}
    fitted = []
    for item in items:
        need, room = need_of(item), left[item.side]
        if need == 0 or room is None:
            fitted.append(item)
        elif need > room:
            if item.side not in freed:
                freed[item.side] = would_free(survey, item.side)
            figures = _figures(survey, item.side, room, freed[item.side])
            fitted.append(_no_room(item, f"needs {size_text(need)}: {figures}"))
        else:
            for role in Role if survey.shared_device else (item.side,):
                left[role] = room - need
            fitted.append(item)
    return tuple(fitted)


def nothing_fits(wanted: Iterable[PlanItem], fitted: Iterable[PlanItem], survey: Survey) -> Refusal | None:
    """The refusal of a whole plan in which every item that needs room found none."""
    needing = [item for item in wanted if need_of(item) > 0]
    if not needing or any(item.act in _TAKES_ROOM for item in fitted):
        return None
    side = needing[0].side
    total = size_text(total_need(needing))
    figures = _figures(survey, side, room_on(survey, side) or 0, would_free(survey, side))
    return Refusal(Guard.NO_SPACE, f"{counted(len(needing), 'checkpoint')} ({total}) to copy and none fits: {figures}")


def _no_room(item: PlanItem, reason: str) -> PlanItem:
    return replace(
        item,
        act=Act.SKIP,
        guard=str(Guard.NO_SPACE),
        reason=reason,
        stamps=(),
        inode=None,
        target=(),
        target_inode=None,
        details={},
    )


def _figures(survey: Survey, role: Role, room: int, freed: int) -> str:
    beyond = f"{size_text(freed)} there are beyond the retention" if freed else "the retention keeps all that is there"
    reserve = size_text(reserve_on(survey, role))
    return f"{size_text(max(0, room))} are left on the {role} beside the reserve of {reserve}; {beyond}"
