"""What an outlook means in sentences: what fills first, and what there is to do about it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckptdeck.core.amounts import counted, moment_text, size_text, span_text
from ckptdeck.core.outlook import Outlook, largest_keep
from ckptdeck.core.sides import Survey
from ckptdeck.core.space import good_steps
from ckptdeck.core.states import Role


def separate(survey: Survey, outlooks: Mapping[Role, Outlook]) -> dict[str, Outlook]:
    """An outlook for each volume, by the words for who lives there: two sides on one device have one."""
    if survey.shared_device:
        return dict(zip(["both sides together"], outlooks.values(), strict=False))
    return {f"the {role}": one for role, one in outlooks.items()}


def answer(survey: Survey, outlooks: Mapping[Role, Outlook]) -> str:
    """The first thing to know: which volume is full first, and when."""
    volumes = separate(survey, outlooks)
    known = {who: one for who, one in volumes.items() if one.fits is not None}
    if not known:
        return "Nothing can be foretold: no side has a good checkpoint on a volume that tells its size"
    who, first = min(known.items(), key=lambda pair: (_full_at(pair[1]), pair[1].fits or 0))
    fits = f"{counted(first.fits or 0, 'more save fits', 'more saves fit')} on {who}"
    if first.fits == 0:
        return f"The next save does not fit on {who}: it takes {_taken(first)}, {size_text(first.room)} are left"
    if first.full_at is None:
        return f"{fits}; when it is full cannot be told"
    return f"{fits}: full in {span_text(first.full_at - survey.taken_at)} ({moment_text(first.full_at)})"


def advice(survey: Survey, outlooks: Mapping[Role, Outlook]) -> tuple[str, ...]:
    """What to do, most urgent first; what needs nothing done says so."""
    volumes = separate(survey, outlooks)
    found = [*_of_prune(volumes, survey)]
    found += [sentence for who, one in volumes.items() for sentence in _of_volume(who, one, survey)]
    return (*found, *_of_retention(survey, outlooks))


def _of_prune(volumes: Mapping[str, Outlook], survey: Survey) -> Iterator[str]:
    freeing = {who: one for who, one in volumes.items() if one.frees}
    amounts = [f"{upto(one)}{size_text(one.frees)} on {who}" for who, one in freeing.items()]
    then = [f"{one.fits_pruned:,}" for one in freeing.values() if one.fits_pruned is not None]
    for one in list(freeing.values())[:1]:
        fit = f": then {' and '.join(then)} more fit" if then else ""
        yield f"`{prune_command(survey, one.keep_last)}` frees {' and '.join(amounts)}{fit}"


def _of_volume(who: str, one: Outlook, survey: Survey) -> Iterator[str]:
    prune = prune_command(survey, one.keep_last)
    quarantined = sum(
        entry.size
        for side in survey.sides
        if survey.shared_device or side.role is one.role
        for entry in side.inventory.quarantine
    )
    if not one.frees and _beyond(survey, one):
        yield f"nothing on {who} may go yet: `{prune} --dry-run` says what is held back, and why"
    if quarantined and (one.fits == 0 or one.kept_fits is False):
        yield f"`ckptdeck purge` gives back {size_text(quarantined)} of quarantine on {who}"
    if one.rest_fits is False:
        kept = {True: f"it does with keep {one.keep_last}", False: f"nor with keep {one.keep_last}", None: ""}
        left = counted(one.saves_left or 0, "save")
        yield f"the rest of the run ({left}) does not fit on {who} as things are; {kept[one.rest_fits_kept]}"


def _of_retention(survey: Survey, outlooks: Mapping[Role, Outlook]) -> Iterator[str]:
    volumes = separate(survey, outlooks)
    keep = next((one.keep_last for one in volumes.values()), survey.policy.keep_last)
    short = {who: one for who, one in volumes.items() if one.kept_fits is False}
    most = largest_keep(outlooks)
    for who, one in short.items():
        lacking = size_text(-(one.kept_spare or 0))
        yield f"keep {keep} does not fit on {who}: {lacking} short at its peak of {size_text(one.peak_need or 0)}"
    if short and most:
        command = prune_command(survey, most)
        yield f"keep {most} is the most that fits: `keep_last = {most}` in the policy, or `{command}`"
    elif short:
        yield "no retention fits: what is there and one save more are too large for the volume"
    elif volumes and all(one.kept_fits for one in volumes.values()):
        full = [one.full_at_kept for one in volumes.values() if one.full_at_kept is not None]
        if full:
            left = span_text(min(full) - survey.taken_at)
            yield f"keep {keep} after every save fits for {left}; what others add fills the volume then"
        else:
            yield f"keep {keep} after every save (`ckptdeck watch --auto-prune`) fits, and its own saves never fill it"


def prune_command(survey: Survey, keep_last: int) -> str:
    """The prune of that retention, without directories."""
    return "ckptdeck prune" + ("" if keep_last == survey.policy.keep_last else f" --keep-last {keep_last}")


def upto(one: Outlook) -> str:
    """Said before what a prune frees, where that is an upper limit."""
    return "up to " if one.frees_at_most else ""


def _beyond(survey: Survey, one: Outlook) -> bool:
    """There are more good steps than the retention keeps."""
    sides = survey.sides if survey.shared_device else tuple(s for s in survey.sides if s.role is one.role)
    return any(len(good_steps(side)) > one.keep_last for side in sides)


def _taken(one: Outlook) -> str:
    return size_text(one.per_save or 0)


def _full_at(one: Outlook) -> float:
    return float("inf") if one.full_at is None else one.full_at
