"""How long the disks will do, asked in every way: as things are, with a retention, with a prune now.

Pure arithmetic over a survey, the samples of the past and a what-if. A forecast never authorises anything (R29).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ckptdeck.core.amounts import size_text, span_text
from ckptdeck.core.samples import OtherGrowth, Sample, other_growth, pooled
from ckptdeck.core.sides import Projection, Side, Survey
from ckptdeck.core.space import bytes_still_needed, cadence_of, good_steps, saves_by_inodes, size_of_save, spacing_of
from ckptdeck.core.states import Role
from ckptdeck.core.values import dataclass


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is assumed in place of what was found; None takes what was found."""

    keep_last: int | None = None
    interval: float | None = None
    """Seconds between two saves."""
    size: int | None = None
    """Bytes of one save on one side."""
    steps_left: int | None = None
    """Training steps until the run ends."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The answers for one side: bytes; seconds since 1970. None where a figure has no ground, or never comes."""

    role: Role
    size: int | None
    """Of one save on this side."""
    per_save: int | None
    """What one save takes of the volume: of both sides, when they share it."""
    interval: float | None
    next_save: float | None
    room: int
    """Free, less the reserve and what is still being written."""
    fits: int | None
    """Saves that fit as things are, nothing pruned."""
    full_at: float | None
    """When the first save does not fit any more, nothing pruned."""
    fits_pruned: int | None
    full_at_pruned: float | None
    """The same after a prune now, and none later."""
    full_at_kept: float | None
    """The same with a prune now and after every save; None: never."""
    keep_last: int
    kept_fits: bool | None
    """The retention's peak fits: N kept and one being saved."""
    kept_spare: int | None
    """What is then left of the room at the worst moment; less than 0 is what lacks."""
    peak_need: int | None
    """Bytes the retention needs at its worst moment."""
    frees: int
    """Bytes a prune now would free on this volume."""
    frees_at_most: bool
    """It may be less: what goes may share blocks with what stays."""
    largest_keep: int | None
    """The largest N whose peak fits on this side."""
    saves_left: int | None
    """Until the run ends, from `steps_left` and the spacing of the steps."""
    rest_fits: bool | None
    """The rest of the run fits, nothing pruned."""
    rest_fits_kept: bool | None
    """The rest of the run fits with the retention."""
    others: OtherGrowth
    basis: tuple[str, ...]


def look_ahead(
    survey: Survey,
    samples: Mapping[Role, Sequence[Sample]],
    what_if: WhatIf | None = None,
    frees: Mapping[Role, int] | None = None,
) -> dict[Role, Outlook]:
    """An outlook for each side that can be read and whose volume is known.

    `frees`, what a prune of the same retention frees on each side, saves planning it.
    """
    what_if = what_if or WhatIf()
    keep_last = what_if.keep_last or survey.policy.keep_last
    frees = freed_by_prune(survey, keep_last) if frees is None else frees
    found, pasts = {}, _pasts(survey, samples)
    for side in survey.sides:
        if side.inventory.volume is None or not side.inventory.condition.readable:
            continue
        pooled = survey.sides if survey.shared_device else (side,)
        freed = sum(frees.get(one.role, 0) for one in pooled)
        ground = _Ground.of(side, pooled, survey, pasts[side.role], what_if, keep_last, freed)
        found[side.role] = ground.outlook(side.role, what_if)
    return found


def foresee(survey: Survey, samples: Mapping[Role, Sequence[Sample]]) -> Survey:
    """The same survey; where others are known to grow, its projections count with that."""
    pasts = _pasts(survey, samples)
    growing = {role for role, past in pasts.items() if other_growth(past, survey.taken_at).bytes_per_second > 0}
    if not growing:
        return survey
    space = dict(survey.space)
    for role, one in look_ahead(survey, samples, frees={}).items():
        if role in growing and one.fits is not None:
            space[role] = Projection(one.size, one.interval, one.fits, one.full_at, "; ".join(one.basis))
    return replace(survey, space=space)


def _pasts(survey: Survey, samples: Mapping[Role, Sequence[Sample]]) -> dict[Role, Sequence[Sample]]:
    """What was seen of each side's volume; on one device what is ours is that of both sides."""
    pasts = {side.role: samples.get(side.role, ()) for side in survey.sides}
    if not survey.shared_device:
        return pasts
    return {
        role: pooled(past, [samples.get(other, ()) for other in pasts if other is not role])
        for role, past in pasts.items()
    }


def freed_by_prune(survey: Survey, keep_last: int) -> dict[Role, int]:
    """Bytes that a prune now would free on each side; what a guard protects counts for nothing."""
    from ckptdeck.core.plans.prune import Wish, plan_prune

    plan = plan_prune(survey, Wish(keep_last=keep_last))
    return {side.role: sum(item.frees for item in plan.items if item.side is side.role) for side in survey.sides}


def largest_keep(outlooks: Mapping[Role, Outlook]) -> int | None:
    """The largest N that fits every side."""
    each = [one.largest_keep for one in outlooks.values()]
    return min((n for n in each if n is not None), default=None) if all(n is not None for n in each) else None


@dataclass(frozen=True, slots=True)
class _Ground:
    """The figures an outlook is worked out from. `size` is what one save takes of the volume, on all its sides."""

    now: float
    next_save: float
    size: int | None
    each: int | None
    """Of one side."""
    interval: float | None
    room: int
    ours: int
    """Bytes of the steps that are there and good."""
    there: int
    """How many those are, on the fuller side."""
    keep_last: int
    frees: int
    at_most: bool
    spacing: float | None
    """Training steps between two saves."""
    inodes: int | None
    """Saves for which there are inodes; None where they do not run out."""
    others: OtherGrowth
    basis: tuple[str, ...]

    @classmethod
    def of(
        cls,
        side: Side,
        pooled: Sequence[Side],
        survey: Survey,
        samples: Sequence[Sample],
        what_if: WhatIf,
        keep_last: int,
        frees: int,
    ) -> _Ground:
        now, volume = survey.taken_at, side.inventory.volume
        assert volume is not None  # asked by the caller
        found, size_basis = size_of_save(side, survey.sides)
        each = what_if.size or found
        size = None if each is None else each * len(pooled)
        cadence = cadence_of(survey.primary, now)
        interval = what_if.interval or cadence.interval
        reserve = int(volume.total * survey.policy.reserve_fraction)
        pending = sum(bytes_still_needed(one) for one in pooled)
        quarantined = sum(entry.size for one in pooled for entry in one.inventory.quarantine)
        others = other_growth(samples, now)
        steps = {one.role: good_steps(one) for one in pooled}
        basis = [
            f"assumed: {size_text(what_if.size)} a save" if what_if.size else size_basis,
            f"assumed: one every {span_text(what_if.interval)}" if what_if.interval else cadence.basis,
            f"{size_text(volume.free)} free, {size_text(reserve)} kept in reserve",
            others.basis,
        ]
        if pending:
            basis.append(f"{size_text(pending)} for what is being written")
        if quarantined:
            basis.append(f"{size_text(quarantined)} in quarantine, which `ckptdeck purge` frees")
        if len(pooled) > 1:
            basis.append("both sides on one volume: every save counts twice")
        if frees and volume.shares_blocks:
            basis.append(f"files on {volume.fs_type} may share blocks, so a prune may free less than their sizes")
        if volume.optimistic:
            basis.append(f"free space on {volume.fs_type} may be less than it says")
        return cls(
            now=now,
            next_save=now if interval is None else max(cadence.newest, now - interval) + interval,
            size=size,
            each=each,
            interval=interval,
            room=max(0, volume.free - reserve - pending),
            ours=sum(bytes_of for found_steps in steps.values() for bytes_of in found_steps.values()),
            there=max((len(found_steps) for found_steps in steps.values()), default=0),
            keep_last=keep_last,
            frees=frees,
            at_most=volume.shares_blocks,
            spacing=spacing_of(survey.steps),
            inodes=saves_by_inodes(side),
            others=others,
            basis=tuple(basis),
        )

    def outlook(self, role: Role, what_if: WhatIf) -> Outlook:
        saves_left = self._saves_left(what_if.steps_left)
        fits = self._fits(self.room)
        spare = self._kept_spare()
        kept_fits = None if spare is None else spare >= 0
        peak = None if self.size is None else (self.keep_last + 1) * self.size
        basis = self.basis
        if what_if.steps_left is not None and self.spacing is None:
            basis = (*basis, "every step left counts as a save: the spacing of the saves is not known")
        return Outlook(
            role=role,
            size=self.each,
            per_save=self.size,
            interval=self.interval,
            next_save=None if self.interval is None else self.next_save,
            room=self.room,
            fits=fits,
            full_at=self._full_at(self.room),
            fits_pruned=self._fits(self.room + self.frees),
            full_at_pruned=self._full_at(self.room + self.frees),
            full_at_kept=self._full_at_kept(),
            keep_last=self.keep_last,
            kept_fits=kept_fits,
            kept_spare=spare,
            peak_need=peak,
            frees=self.frees,
            frees_at_most=self.at_most and self.frees > 0,
            largest_keep=None if not self.size else max(0, (self.room + self.ours) // self.size - 1),
            saves_left=saves_left,
            rest_fits=None if saves_left is None or fits is None else saves_left <= fits,
            rest_fits_kept=self._rest_fits_kept(saves_left, kept_fits),
            others=self.others,
            basis=basis,
        )

    def _fits(self, room: int) -> int | None:
        """Saves that fit into `room` while others grow."""
        if not self.size:
            return None
        rate, interval = self.others.bytes_per_second, self.interval
        if interval is None or rate <= 0:
            count = room // self.size
        else:
            before_first = rate * max(0.0, self.next_save - self.now - interval)
            count = math.floor((room - before_first) / (self.size + rate * interval))
        count = max(0, count)
        return count if self.inodes is None else min(count, self.inodes)

    def _full_at(self, room: int) -> float | None:
        fits = self._fits(room)
        if fits is None or self.interval is None:
            return None
        return self.next_save + fits * self.interval

    def _kept_spare(self) -> int | None:
        """What the retention leaves at its peak, also where guards let it free less than it would like to."""
        if not self.size:
            return None
        missing = max(1, self.keep_last + 1 - self.there)
        settled = self.room + self.ours - (self.keep_last + 1) * self.size
        return min(settled, self.room + self.frees - missing * self.size)

    def _full_at_kept(self) -> float | None:
        """With a prune now and after every save: never, unless the peak does not fit or others take the room."""
        spare = self._kept_spare()
        if spare is None or self.interval is None:
            return None
        if spare < 0:
            return self._full_at(self.room + self.frees)
        rate = self.others.bytes_per_second
        return self.now + spare / rate if rate > 0 else None

    def _saves_left(self, steps_left: int | None) -> int | None:
        if steps_left is None:
            return None
        return steps_left if not self.spacing else math.ceil(steps_left / self.spacing)

    def _rest_fits_kept(self, saves_left: int | None, kept_fits: bool | None) -> bool | None:
        if saves_left is None or kept_fits is None:
            return None
        fits = self._fits(self.room)
        if fits is not None and saves_left <= fits:
            return True
        full_at = self._full_at_kept()
        if not kept_fits:
            return False
        return full_at is None or self.interval is None or self.next_save + saves_left * self.interval <= full_at
