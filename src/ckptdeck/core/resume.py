"""Where the run goes on: the newest whole checkpoint, newest step first, the primary before the mirror.

A receipt stands; a recorded checkpoint without one is hashed now; what has no record is never taken, unless the caller
accepts its structure. "Nothing whole" and "nothing saved yet" are different answers, and neither is given while a side
that might hold more cannot be read: a launcher must never start from zero by mistake.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckptdeck.core.amounts import counted, span_text
from ckptdeck.core.checkpoint_set import Pair
from ckptdeck.core.errors import Cancelled, CkptdeckError, FreshRun, NothingWhole, VolumeSuspect
from ckptdeck.core.host import Host
from ckptdeck.core.naming import GROUP_FAMILIES
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, Condition, FlightState, Kind, Role, State
from ckptdeck.core.survey import ResumePoint, Side, Step, Survey
from ckptdeck.core.times import doubt_about, is_quiet

if TYPE_CHECKING:
    from ckptdeck.core.plans.plan import Plan

Warn = Callable[[str], None]
_BELIEVED = frozenset({Condition.OK, Condition.UNINITIALISED})
_TRACES = frozenset({"damaged-record", "pointer"})
"""Warnings of a scan that show that something was saved once."""
_TOLD = 5
"""Passed-over copies that are named one by one."""


def unheard(_sentence: str) -> None:
    """A Warn nobody listens to."""


def answer_resume(
    host: Host,
    pair: Pair,
    survey: Survey,
    *,
    accept_structure: bool = False,
    primary_only: bool = False,
    effort: Effort = UNHURRIED,
    warn: Warn = unheard,
) -> ResumePoint:
    """The newest whole checkpoint, proven. `warn` is told what was passed over and which side could not be asked.

    Raises NothingWhole when checkpoints or records exist, FreshRun when there are none, VolumeSuspect when a side
    that cannot be read may hold a newer one, Cancelled.
    """
    search = _Search(host, pair, survey, accept_structure, primary_only, effort)
    point = search.find()
    for sentence in search.warnings():
        warn(sentence)
    if point is not None:
        return point
    raise search.why_none()


def plan_bring_back(survey: Survey, name: str) -> Plan:
    """Copies `name`, whole on the mirror, to the primary; a bad copy there goes to quarantine. Pure.

    The plan is empty where the primary holds something under that name that is not bad.
    """
    from ckptdeck.core.plans.items import does
    from ckptdeck.core.plans.plan import Act, Plan
    from ckptdeck.core.plans.repair import plan_repair

    good = None if survey.mirror is None else survey.mirror.find(name)
    here = survey.primary.find(name)
    if here is not None and here.state in BAD:
        return plan_repair(survey, (name,))
    if good is None or (here is not None and here.state not in NOT_THERE):
        return Plan("restore", (), names=(name,))
    details = {"from": str(Role.MIRROR), "source": "recorded"}
    item = does(Act.COPY, Role.PRIMARY, good, "whole on the mirror, and the run resumes from it", details)
    return Plan("restore", (item,), needs=good.size, names=(name,))


@dataclass(slots=True)
class _Search:
    host: Host
    pair: Pair
    survey: Survey
    accept_structure: bool
    primary_only: bool
    effort: Effort
    passed: list[str] = field(default_factory=list)
    """Why each copy newer than the answer was not taken, newest first."""
    unread: bool = False
    """A copy could not be read, so it may be whole."""
    found: ResumePoint | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.survey.primary,) if self.primary_only else self.survey.sides

    @property
    def blind(self) -> tuple[Side, ...]:
        """Sides that cannot be read, or whose records are not for certain their own."""
        return tuple(side for side in self.sides if side.inventory.condition not in _BELIEVED)

    def find(self) -> ResumePoint | None:
        for row in self.survey.steps:
            for side in self.sides:
                copy = row.on(side.role)
                if copy is None or side in self.blind or copy.state in NOT_THERE | {State.RETIRED}:
                    continue
                if _could_be_whole(copy, accept_structure=self.accept_structure):
                    self.refuse_while_newer_is_out_of_reach(row)
                self.found = self.judge(side, copy)
                if self.found is not None:
                    return self.found
        return None

    def judge(self, side: Side, copy: Checkpoint) -> ResumePoint | None:
        """The copy as resume point, or None with the reason kept."""
        match copy.state:
            case State.VERIFIED:
                return _point(side, copy, copy.state, certain=True)
            case State.SIZE_ONLY:
                return self.hash_now(side, copy)
            case State.STRUCTURE_OK if self.accept_structure:
                if self.is_quiet(copy):
                    return _point(side, copy, copy.state, certain=False)
                self.pass_over(side, copy, copy.state, "its structure is whole, but it was written a moment ago")
            case State.STRUCTURE_OK:
                self.pass_over(side, copy, copy.state, f"{copy.reason}; `--accept structure` would take it")
            case _:
                self.unread |= copy.state is State.UNREADABLE
                self.pass_over(side, copy, copy.state, copy.reason)
        return None

    def hash_now(self, side: Side, copy: Checkpoint) -> ResumePoint | None:
        from ckptdeck.core.verify import verify_one

        try:
            seen = verify_one(self.host, self.pair.on(side.role), copy.name, self.effort)
        except Cancelled:
            raise
        except CkptdeckError as error:
            self.unread = True
            self.pass_over(side, copy, State.UNREADABLE, str(error))
            return None
        # "size-only" after hashing: the bytes are those of a publish whose record is not finished yet.
        if seen.state not in (State.VERIFIED, State.SIZE_ONLY):
            self.pass_over(side, copy, seen.state, seen.reason)
            return None
        receipt = seen.receipt
        return ResumePoint(
            name=copy.name,
            step=copy.step,
            side=side.role,
            path=_path(side, copy),
            state=seen.state,
            evidence=None if receipt is None else receipt.evidence,
            verified_at=None if receipt is None else receipt.verified_at,
            certain=True,
        )

    def pass_over(self, side: Side, copy: Checkpoint, state: State, why: str) -> None:
        self.passed.append(f"{visible(copy.name)} on the {side.role} is {state}: {why}")

    def is_quiet(self, copy: Checkpoint) -> bool:
        identity = copy.sighting.identity
        return identity is not None and is_quiet(identity.mtime_ns, self.survey.taken_at, self.survey.policy.min_age)

    def refuse_while_newer_is_out_of_reach(self, row: Step) -> None:
        """Raises VolumeSuspect when a side that cannot be read has, or for all we know has, a newer step."""
        for side in self.blind:
            known = [c for c in side.checkpoints if c.sighting.record is not None and not c.sighting.record.retired]
            newer = [c for c in known if c.step is not None and (row.step is None or c.step > row.step)]
            if newer:
                newest = max(newer, key=lambda copy: copy.step or 0)
                raise self.out_of_reach(side, f"it recorded {visible(newest.name)}, newer than", row)
            if side.role is Role.PRIMARY and not known:
                raise self.out_of_reach(side, "it may hold something newer than", row)

    def out_of_reach(self, side: Side, what: str, row: Step) -> VolumeSuspect:
        return VolumeSuspect(
            f"The {side.role} {visible(side.inventory.root)} cannot be read, and {what} {visible(row.name)}, "
            "the newest within reach",
            why=side.inventory.why,
            next_step="Mount it and ask again. If its disk is dead: `ckptdeck init NEW MIRROR --replace-primary`",
        )

    # --- what is said beside the answer

    def warnings(self) -> Iterator[str]:
        for side in self.blind:
            yield f"the {side.role} {visible(side.inventory.root)} was not asked: {side.inventory.why}"
        later = self.written_later()
        if self.found is not None and later is not None:
            yield (
                f"{visible(self.found.name)} was written before {visible(later.name)}, whose step is lower: two runs "
                f"in one directory? `ckptdeck rollback {later.step}` sets the steps above it aside"
            )
        yield from self.passed[:_TOLD]
        if len(self.passed) > _TOLD:
            yield f"{len(self.passed) - _TOLD} more were passed over; `ckptdeck status` lists them"
        yield from self.of_several_files()
        for side in self.sides:
            for flight in side.inventory.in_flight:
                if flight.state is FlightState.READY and self.is_newer(flight.step):
                    yield (
                        f"{visible(flight.name)} on the {side.role} is complete and newer; `ckptdeck recover` "
                        "gives it its name"
                    )

    def of_several_files(self) -> Iterator[str]:
        """TensorFlow takes what its names begin with for a path; of others there is no file called like the answer."""
        side = None if self.found is None else self.survey.side(self.found.side)
        copy = None if self.found is None or side is None else side.find(self.found.name)
        if copy is None or copy.sighting.kind is not Kind.GROUP or copy.sighting.family in GROUP_FAMILIES:
            return
        identity = copy.sighting.identity
        files = [member.path for member in identity.files] if identity is not None else []
        shown = ", ".join(visible(name) for name in files[:_TOLD])
        more = f" and {len(files) - _TOLD} more" if len(files) > _TOLD else ""
        yield f"{visible(copy.name)} is {counted(len(files), 'file')}, and none has that name: {shown}{more}"

    def written_later(self) -> Checkpoint | None:
        """What the run saved last, if its step is lower than the answer's (R21). Only times of the run's own disk."""
        saved = {copy.name: copy for copy in self.survey.primary.checkpoints if _saved_at(copy)}
        if self.found is None or self.found.step is None or self.found.name not in saved:
            return None
        last = max(saved.values(), key=_saved_at)
        later = _saved_at(last) > _saved_at(saved[self.found.name])
        return last if later and (last.step or 0) < self.found.step else None

    def is_newer(self, step: int | None) -> bool:
        if self.found is None or self.found.step is None:
            return True
        return step is not None and step > self.found.step

    # --- why there is no answer

    def why_none(self) -> CkptdeckError:
        roots = " and ".join(visible(side.inventory.root) for side in self.sides)
        if self.blind or self.unread:
            why = "; ".join(side.inventory.why for side in self.blind) or self.passed[0]
            return VolumeSuspect(
                f"No whole checkpoint within reach in {roots}, and not everything could be read",
                why=why,
                next_step="Mount or repair what cannot be read, then ask again; do not start a fresh run",
            )
        if not self.anything_was_saved():
            return FreshRun(
                f"No checkpoint and no record in {roots}",
                why="Every side could be read, and nothing has been saved yet",
                next_step="Start the run from the beginning",
            )
        best = self.best_candidate()
        return NothingWhole(
            f"There are checkpoints in {roots}, and none of them is proven whole",
            why=best[0],
            next_step=best[1],
        )

    def anything_was_saved(self) -> bool:
        """A checkpoint, a record or their traces, on any readable side, whichever were asked for."""
        for side in self.survey.sides:
            inventory = side.inventory
            if any(copy.state not in (State.FOREIGN, State.ABSENT) for copy in side.checkpoints):
                return True
            if inventory.quarantine or inventory.orphan_next or any(w.code in _TRACES for w in inventory.warnings):
                return True
            if any(flight.state is FlightState.READY for flight in inventory.in_flight):
                return True
        return False

    def best_candidate(self) -> tuple[str, str]:
        """(what is nearest to whole, what to do about it)."""
        if self.primary_only and self.survey.resume is not None and self.survey.resume.side is Role.MIRROR:
            name = visible(self.survey.resume.name)
            return f"The mirror holds {name}", "Leave out --primary-only, or bring it back with --restore"
        for side in self.sides:
            for flight in side.inventory.in_flight:
                if flight.state is FlightState.READY:
                    return f"{visible(flight.name)} is complete and lacks its name", "Run `ckptdeck recover`"
        for wanted in (CANDIDATES, None):
            for row in self.survey.steps:
                for side in self.sides:
                    copy = row.on(side.role)
                    if copy is None or copy.state in NOT_THERE or (wanted is not None and copy.state not in wanted):
                        continue
                    return _advice(copy, side, self.survey)
        return "Only records are left", "`ckptdeck status` shows what they name"


def _saved_at(copy: Checkpoint) -> int:
    """The recorded time of a step that is there, 0 for none."""
    record = copy.sighting.record
    if copy.step is None or record is None or record.retired or copy.state in NOT_THERE:
        return 0
    return record.mtime_ns


def _could_be_whole(copy: Checkpoint, *, accept_structure: bool) -> bool:
    return copy.state in (State.VERIFIED, State.SIZE_ONLY) or (accept_structure and copy.state is State.STRUCTURE_OK)


def _advice(copy: Checkpoint, side: Side, survey: Survey) -> tuple[str, str]:
    best = f"The best candidate is {visible(copy.name)} on the {side.role} ({copy.state}: {copy.reason})"
    if copy.sighting.record is None and copy.state in CANDIDATES:
        words = f"--{side.role} {shell_word(side.inventory.root)} {shell_word(copy.name)}"
        when = _from_when(copy, survey)
        return best, f"If you trust it, `ckptdeck adopt {words}` records it{when}; then ask again"
    return best, "`ckptdeck status` shows every copy and its state; do not start a fresh run over them"


def _from_when(copy: Checkpoint, survey: Survey) -> str:
    """How long the age guard still keeps a young checkpoint from being recorded, as a clause; "" where it does not."""
    identity, least = copy.sighting.identity, survey.policy.min_age
    if identity is None:
        return ""
    newest = max((member.mtime_ns for member in identity.files), default=identity.mtime_ns)
    left = least - (survey.taken_at - newest / 1e9)
    if left <= 0 or doubt_about(newest, survey.taken_at):
        return ""
    return f" in {span_text(left)}, once it has been quiet for {span_text(least)} (the age guard)"


def _point(side: Side, copy: Checkpoint, state: State, *, certain: bool) -> ResumePoint:
    return ResumePoint(
        name=copy.name,
        step=copy.step,
        side=side.role,
        path=_path(side, copy),
        state=state,
        evidence=copy.evidence,
        verified_at=copy.verified_at,
        certain=certain,
    )


def _path(side: Side, copy: Checkpoint) -> str:
    return os.path.join(side.inventory.root, copy.name)
