"""What each act of a plan does, once: the last look, under the lock where names change, then the change itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from ckptdeck.core.adoption import adopt, adopt_twins
from ckptdeck.core.amounts import size_text
from ckptdeck.core.checkpoint_set import CheckpointSet, Pair
from ckptdeck.core.dismantle import KeptForReader
from ckptdeck.core.errors import Refused, UsageError
from ckptdeck.core.guards import not_quiet
from ckptdeck.core.host import Host
from ckptdeck.core.last_look import LastLook
from ckptdeck.core.lock import set_lock
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.plans.set_aside import plan_quarantine_again
from ckptdeck.core.pointer_copy import copy_pointer
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.pruning import Pruner
from ckptdeck.core.recheck import (
    require_free,
    require_no_writer,
    require_same,
    require_still_there,
    require_unpinned,
    target_of,
    unit_of,
)
from ckptdeck.core.recovery import discard, finish
from ckptdeck.core.removal import purge, put_back, quarantine
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Record, Stamp
from ckptdeck.core.states import Condition, Kind, Role
from ckptdeck.core.transfer import Staged, staged_copy
from ckptdeck.core.unit import Unit
from ckptdeck.core.volume import volume_of

_NEEDS_BOTH = frozenset({Act.COPY, Act.REPAIR, Act.POINTER, Act.DELETE, Act.QUARANTINE, Act.PURGE, Act.DISCARD})
"""What reads the other side, and what takes something away, which no side may lose while the other is in doubt."""


class Acts:
    """The acts of one plan over one pair of sets."""

    def __init__(self, host: Host, pair: Pair, policy: Policy, plan: Plan) -> None:
        self.host = host
        self._pair = pair
        self._policy = policy
        self._pruner = Pruner(host, pair, policy, plan)
        self._look = LastLook(host, pair, policy, lambda survey: plan_quarantine_again(survey, plan))

    def free_figure(self, side: Role) -> str:
        """What a full volume says of itself, as a clause: it may not know why it is full."""
        try:
            volume = volume_of(self.host.fs, self._pair.on(side).root)
        except OSError:
            return ""
        return f" ({size_text(volume.free)} are free there by its own figure)"

    def do(self, group: tuple[PlanItem, ...], effort: Effort) -> str:
        """One item, or the two of a checkpoint on both sides; returns what was done in one clause.

        Raises CkptdeckError for what a guard or the data stopped, OSError.
        """
        effort.check()
        for item in group:
            self._require_sides(item)
        item = group[0]
        match item.act:
            case Act.RECORD if len(group) == 2:
                return adopt_twins(self.host, self._pair, group[0], group[1], effort)
            case Act.RECORD:
                return adopt(self.host, self._pair, item, effort)
            case Act.COPY | Act.REPAIR:
                return self._copy(item, effort)
            case Act.VERIFY:
                return self._pruner.prove(item, effort)
            case Act.POINTER:
                return copy_pointer(self.host, self._pair, item)
        with self._locked():
            return self._change_names(item, effort)

    def _require_sides(self, item: PlanItem) -> None:
        """Each side that matters is still there and the one it was: a plan may take hours, and disks come and go."""
        for checkpoint_set in self._pair.sets:
            matters = checkpoint_set.role is item.side or item.act in _NEEDS_BOTH
            if matters and checkpoint_set.condition is not Condition.UNINITIALISED:
                require_still_there(self.host.fs, checkpoint_set)

    def _change_names(self, item: PlanItem, effort: Effort) -> str:
        """What needs the set lock."""
        target = self._pair.on(item.side)
        match item.act:
            case Act.FINISH:
                return finish(self.host, target, item, self._policy, effort)
            case Act.DISCARD:
                return discard(self.host, target, item, self._policy)
            case Act.DELETE:
                return self._pruner.delete(item)
            case Act.QUARANTINE:
                return self._quarantine(target, item)
            case Act.PUT_BACK:
                return self._put_back(target, item)
            case Act.PURGE:
                return self._purge(target, item)
            case Act.RETIRE:
                self._change_record(target, item, lambda record: replace(record, retired=True))
                return "set aside: no resume point, first to be pruned"
            case Act.MARK_BAD:
                self._change_record(target, item, lambda record: replace(record, marked_bad=record.digest))
                return "marked bad"
            case Act.UNMARK_BAD:
                self._change_record(target, item, lambda record: replace(record, marked_bad=None))
                self._drop_verdict_of_mark(target, item)
                return "not marked bad any more"
        raise UsageError(f"This program cannot carry out {item.act!r}", next_step="Plan anew with this version")

    def _copy(self, item: PlanItem, effort: Effort) -> str:
        """Stage and prove, then name. What stands in the way goes to quarantine only once its successor is proven."""
        source, target = self._pair.on(item.side.other), self._pair.on(item.side)
        replacing = bool(item.target)
        if not replacing:
            require_free(self.host, target.path_of(item.name))
        with staged_copy(self.host, source, target, item, self._policy, effort) as staged:
            if not replacing:
                published = staged.give_name(self.host)
            else:
                with self._locked():
                    self._make_way(target, item, staged)
                    published = staged.give_name(self.host)
        evidence = published.receipt.evidence.value if published.receipt is not None else "stream"
        return f"{'replaced' if replacing else 'copied'} and proven, {evidence} evidence"

    def _make_way(self, target: CheckpointSet, item: PlanItem, staged: Staged) -> None:
        unit = target_of(target, item)
        found = require_same(self.host, unit, item.target, item.target_inode)
        require_no_writer(self.host, unit, found)
        require_unpinned(self.host, self._pair, item.name)
        if "rolling" in item.details:  # its successor takes the name in one step; nobody goes back to it
            staged.intent = replace(staged.intent, replace=True)
            return
        quarantine(self.host, target, staged.volume, unit, inode=_inode(found), reason=item.reason)

    def _quarantine(self, target: CheckpointSet, item: PlanItem) -> str:
        self._look.require(item)
        unit = unit_of(target, item)
        found = require_same(self.host, unit, _as_member(item), item.inode)
        self._require_quiet(unit, found)
        require_no_writer(self.host, unit, found)
        require_unpinned(self.host, self._pair, item.name)
        leftover = "leftover" in item.details
        entry = quarantine(
            self.host,
            target,
            volume_of(self.host.fs, target.root),
            unit,
            inode=_inode(found),
            reason=item.reason,
            with_record=not leftover,
        )
        return f"set aside as {entry}"

    def _put_back(self, target: CheckpointSet, item: PlanItem) -> str:
        name = item.details["checkpoint"]
        unit = Unit(target.root, name, item.kind)
        if item.kind is not Kind.GROUP:
            require_free(self.host, unit.path)
        try:
            put_back(self.host, target, volume_of(self.host.fs, target.root), item.name, unit)
        except FileNotFoundError:
            raise _gone(item) from None
        except FileExistsError:
            raise Refused(
                f"{visible(name)} is taken on the {item.side}",
                guard="exists",
                why="Putting back never replaces anything",
                next_step="Move or quarantine what has the name, then try again",
            ) from None
        return f"{visible(name)} has its name again"

    def _purge(self, target: CheckpointSet, item: PlanItem) -> str:
        try:
            purge(self.host, target, item.name)
        except FileNotFoundError:
            raise _gone(item) from None
        except KeptForReader:
            return "purged, but for what somebody still reads: purge it again once that is closed"
        return "purged"

    def _change_record(self, target: CheckpointSet, item: PlanItem, change: Callable[[Record], Record]) -> None:
        manifest = Manifest(self.host.fs, target, pid=self.host.pid)
        try:
            record = manifest.record(item.name)
        except ValueError:
            record = None
        if record is None or record.digest != item.details.get("digest", record.digest):
            raise Refused(
                f"{visible(item.name)} on the {item.side} was saved again since the plan",
                guard="changed-since-plan",
                next_step="Look again and plan anew",
            )
        manifest.write_record(change(record))

    def _drop_verdict_of_mark(self, target: CheckpointSet, item: PlanItem) -> None:
        """A bad receipt for the very content that was recorded was bad for the mark alone."""
        manifest = Manifest(self.host.fs, target, pid=self.host.pid)
        with suppress(ValueError):  # a damaged one counts for nothing
            receipt = manifest.receipt(item.name)
            if receipt is not None and not receipt.good and receipt.digest == item.details.get("digest"):
                manifest.drop_receipt(item.name)

    def _require_quiet(self, unit: Unit, found: Identity) -> None:
        now, least = self.host.clock.now(), self._policy.min_age
        times = [(member.path, member.mtime_ns) for member in found.files] or [("", found.mtime_ns)]
        for path, time in times:
            refusal = not_quiet(time, now, least)
            if refusal is not None:
                raise Refused(f"{visible(unit.path_of(path))} may not be touched: {refusal.text}", guard=refusal.guard)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with set_lock(self.host, *(one for one in self._pair.sets if one.condition is Condition.OK)):
            yield


def _inode(found: Identity) -> int | None:
    return found.node[1] if found.node is not None else None


def _as_member(item: PlanItem) -> tuple[Stamp, ...]:
    """A leftover's stamp names the leftover; of a file that is looked at the path is ""."""
    if item.kind is Kind.FILE:
        return tuple(replace(stamp, path="") for stamp in item.stamps)
    return item.stamps


def _gone(item: PlanItem) -> Refused:
    return Refused(
        f"{visible(item.name)} is not in quarantine any more",
        guard="changed-since-plan",
        next_step="`ckptdeck quarantined` lists what is",
    )
