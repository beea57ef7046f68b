"""What is recorded in place: checkpoints without a record, and with `replace` those the trainer wrote again."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.guards import Guard, blocks_reading, in_flight, other_kind, side_not_usable, symlink
from ckptdeck.core.plans.items import choose_rows, does, in_order, stays, stopped
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.safe_text import shell_word
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, Role, State
from ckptdeck.core.values import dataclass

_NO_TWIN = frozenset({Guard.BAD, Guard.SYMLINK, Guard.FOREIGN, Guard.SUSPECT})
"""Why a twin is not recorded itself, that is no doubt about the other side's."""


def plan_adopt(survey: Survey, names: Sequence[str] = (), *, replace: bool = False, side: Role | None = None) -> Plan:
    """Records what has no record. Both sides are compared; where they differ, `side` says which one is right.

    Raises UsageError for a name that is nowhere.
    """
    options = {"replace": "true"} if replace else {}
    if side is not None:
        options["side"] = str(side)
    refused = _side_refusal(survey, side)
    if refused is not None:
        return Plan("adopt", (), refused, options=options, names=tuple(names))
    rows, strangers = choose_rows(survey, names)
    wish = Wish(bool(names), replace, side)
    items = in_order([item for row in rows for item in adopt_row(row, survey, wish)])
    acting = [item for item in items if item.acts]
    return Plan("adopt", items + strangers, answer=_answer(acting), options=options, names=tuple(names))


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asked for."""

    named: bool = False
    replace: bool = False
    side: Role | None = None

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(Role) if self.side is None else (self.side,)


def adopt_row(row: Step, survey: Survey, wish: Wish) -> tuple[PlanItem, ...]:
    """One item for each side on which the checkpoint is."""
    refusals = {role: _refusal(row, role, survey, wish) for role in Role}
    items = []
    for role in wish.roles:
        checkpoint = row.on(role)
        if checkpoint is None or checkpoint.state in NOT_THERE:
            continue
        link = symlink(checkpoint)
        if link is not None:
            items.append(stopped(checkpoint, role, link))
        elif checkpoint.state is State.RETIRED:
            items.append(stays(checkpoint, role, "retired: recorded already and no resume point"))
        elif checkpoint.sighting.record is not None and checkpoint.state is not State.CHANGED:
            items.append(stays(checkpoint, role, _recorded(checkpoint)))
        elif (refusal := refusals[role]) is not None:
            items.append(stopped(checkpoint, role, refusal))
        else:
            items.append(_compared(row, role, checkpoint, refusals[role.other], wish))
    return tuple(items)


def _recorded(checkpoint: Checkpoint) -> str:
    name = shell_word(checkpoint.name)
    if checkpoint.state is State.VERIFIED:
        return "recorded and verified already"
    if checkpoint.state in BAD:
        return f"recorded already, and {checkpoint.state} against its record; see `ckptdeck repair {name}`"
    return f"recorded already ({checkpoint.state}); `ckptdeck verify {name}` proves it"


def _refusal(row: Step, role: Role, survey: Survey, wish: Wish) -> Refusal | None:
    """Why the copy on one side may not be recorded, its twin left aside. None also where there is none."""
    checkpoint, side = row.on(role), survey.side(role)
    if checkpoint is None or side is None or checkpoint.state in NOT_THERE:
        return None
    name = shell_word(checkpoint.name)
    if checkpoint.state in BAD:
        return Refusal(Guard.BAD, f"{checkpoint.state}: {checkpoint.reason}")
    if checkpoint.state is State.CHANGED and not wish.replace:
        text = f"written again after it was recorded; `ckptdeck adopt {name} --replace` records what is there now"
        return Refusal(Guard.CHANGED, text)
    difference = other_kind(checkpoint, row.on(role.other)) or (_difference(row, role) if wish.side is None else None)
    if difference is not None:
        return difference
    if checkpoint.state is State.SUSPECT and not (wish.named and wish.side is role):
        remedy = f"`ckptdeck adopt {name} --side {role}` vouches for it"
        return Refusal(Guard.SUSPECT, f"suspect: {checkpoint.reason}; {remedy}")
    if checkpoint.sighting.next_record is not None:
        return Refusal(Guard.INTERRUPTED, "its publish was interrupted; `ckptdeck recover` finishes it")
    refusal = blocks_reading(checkpoint, side, survey.taken_at, survey.policy.min_age)
    return refusal or in_flight(checkpoint.name, side)


def _compared(row: Step, role: Role, checkpoint: Checkpoint, twin_refusal: Refusal | None, wish: Wish) -> PlanItem:
    """The item for a copy that could be recorded, now that its twin is looked at."""
    twin = row.on(role.other)
    details = {"source": "adopt"}
    if checkpoint.sighting.record is not None:
        details["replaces"] = checkpoint.sighting.record.digest
    if wish.side is not None:
        details["chosen"] = "true"
        return does(Act.RECORD, role, checkpoint, f"{checkpoint.state}; chosen with --side {role}", details)
    if twin is None or (twin.sighting.record is None and twin.state in NOT_THERE):
        return does(Act.RECORD, role, checkpoint, f"{checkpoint.state}, only on the {role}", details)
    if "replaces" in details:
        reason = "written again by the trainer; what is there now is recorded"
        return does(Act.RECORD, role, checkpoint, reason, details)
    if twin.sighting.record is not None:
        return _against_record(role, checkpoint, twin.sighting.record.digest, details)
    return _against_twin(role, checkpoint, twin, twin_refusal, details)


def _against_record(role: Role, checkpoint: Checkpoint, digest: str, details: dict[str, str]) -> PlanItem:
    """The other side has a record: the content must be the recorded one."""
    reason = f"{checkpoint.state}; its content must be what the {role.other}'s record says"
    return does(Act.RECORD, role, checkpoint, reason, {**details, "expect": digest})


def _against_twin(
    role: Role, checkpoint: Checkpoint, twin: Checkpoint, twin_refusal: Refusal | None, details: dict[str, str]
) -> PlanItem:
    """Neither side has a record, and their sizes do not speak against each other."""
    if twin_refusal is None:
        reason = f"{checkpoint.state} on both sides with the same size; recorded if the content is the same"
        return does(Act.RECORD, role, checkpoint, reason, {**details, "twin": str(role.other)})
    if twin_refusal.guard in _NO_TWIN:
        reason = f"{checkpoint.state}; the {role.other}'s does not speak against it ({twin.state})"
        return does(Act.RECORD, role, checkpoint, reason, details)
    text = f"its twin on the {role.other} cannot be compared now: {twin_refusal.text}"
    return stopped(checkpoint, role, Refusal(twin_refusal.guard, text))


def _difference(row: Step, role: Role) -> Refusal | None:
    """The other side says another size, in its record or, where nobody recorded it, on its disk."""
    checkpoint, twin = row.on(role), row.on(role.other)
    if checkpoint is None or twin is None or checkpoint.state is State.CHANGED:
        return None
    record = twin.sighting.record
    if record is not None:
        there, where = record.size, f"in the {role.other}'s record"
    elif twin.sighting.link is None and twin.state in CANDIDATES | {State.SUSPECT}:
        there, where = twin.size, f"on the {role.other}"
    else:
        return None
    if there == checkpoint.size:
        return None
    name = shell_word(checkpoint.name)
    text = (
        f"suspect: {checkpoint.size} bytes ({size_text(checkpoint.size)}) on the {role}, {there} bytes "
        f"({size_text(there)}) {where}; `ckptdeck adopt {name} --side {role}` if this one is right"
    )
    return Refusal(Guard.TWINS_DIFFER, text)


def _side_refusal(survey: Survey, side: Role | None) -> Refusal | None:
    """Both sides are needed for the comparison, unless the caller names the right one."""
    if side is not None:
        return side_not_usable(survey, side)
    roles = [each.role for each in survey.sides]
    return next((refusal for role in roles if (refusal := side_not_usable(survey, role)) is not None), None)


def _answer(acting: Sequence[PlanItem]) -> str:
    if not acting:
        return "nothing to record"
    names = {item.name for item in acting}
    return f"record {counted(len(names), 'checkpoint')}: {size_text(sum(item.size for item in acting))} to read"
