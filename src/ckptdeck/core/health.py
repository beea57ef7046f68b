"""What one checkpoint is on one side: record, stat, structure and receipt in, a state with its arithmetic out. Pure.

The table of states is the specification (1-product.md). Nothing less than a content hash that was compared makes a
checkpoint `verified`, and nothing that could be the trainer's own newer save is ever called bad on the primary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from ckptdeck.core.amounts import counted, moment_text, part_of_text, size_text, span_text
from ckptdeck.core.comparison import Difference, compare_unread, written_since
from ckptdeck.core.naming import FOREIGN_FAMILY, order_key
from ckptdeck.core.policy import Policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.siblings import Company, Siblings
from ckptdeck.core.sighting import ENOUGH, Checkpoint, Identity, Inventory, Receipt, Record, Sighting, StructureFinding
from ckptdeck.core.standing import digests_marked_bad, receipt_counts, record_in_force
from ckptdeck.core.states import Evidence, Kind, Origin, Role, State, Structure
from ckptdeck.core.times import doubt_about, is_quiet, known_age
from ckptdeck.core.unit import leading_out
from ckptdeck.core.values import dataclass

_COARSE_CLOCK_NS = 2_000_000_000
"""Servers and FAT keep times less exactly than they were set (R9)."""


def judge(
    inventory: Inventory,
    policy: Policy,
    now: float,
    *,
    marked_bad: frozenset[str] = frozenset(),
    verified_before: Mapping[str, Checkpoint] = MappingProxyType({}),
) -> tuple[Checkpoint, ...]:
    """Every sighting with its state: newest step first, then rolling names, then foreign ones.

    `marked_bad` holds digests the operator declared bad on the other side; those of this side's records count anyway.
    A checkpoint whose next record is the one that fits carries it as its record. `verified_before` are verified ones,
    by name, of the look before: they stand where the very same sighting comes again. The caller leaves it out when
    boot, mount or a mark changed.
    """
    side = _Side(inventory, policy, now, marked_bad | digests_marked_bad(inventory))
    there: list[Checkpoint] = []
    for sighting in _in_order_of(verified_before, inventory.sightings):
        if sighting.identity is not None or sighting.error is not None:
            before = verified_before.get(sighting.name)
            if before is None or before.sighting is not sighting:
                before = side.judge_present(sighting)
            there.append(before)
    gone = [s for s in inventory.sightings if s.identity is None and s.error is None]
    newest = newest_whole(there) if gone else None
    judged = [*side.doubt_strays(there), *(judge_gone(sighting, newest) for sighting in gone)]
    return tuple(sorted(judged, key=place_of_checkpoint))


def judge_alone(inventory: Inventory, policy: Policy, now: float, sighting: Sighting) -> Checkpoint:
    """Something of `inventory` that is there, or may be, judged by itself: what `judge` makes of it where no digest is
    marked bad and its siblings have no say, as over whatever has a record."""
    return _Side(inventory, policy, now, frozenset()).judge_present(sighting)


def _in_order_of(before: Mapping[str, Checkpoint], sightings: tuple[Sighting, ...]) -> Iterable[Sighting]:
    """The same sightings, so that what was sorted once is nearly sorted now: a listing comes in no order at all."""
    if not before:
        return sightings
    by_name = {sighting.name: sighting for sighting in sightings}
    return [*(by_name.pop(name) for name in before if name in by_name), *by_name.values()]


@dataclass(frozen=True, slots=True)
class _Side:
    inventory: Inventory
    policy: Policy
    now: float
    marked_bad: frozenset[str]

    def judge_present(self, sighting: Sighting) -> Checkpoint:
        """Anything that is there, or may be."""
        identity = sighting.identity
        if sighting.error is not None or identity is None:
            return Checkpoint(sighting, State.UNREADABLE, sighting.error or "it could not be looked at")
        record = record_in_force(sighting)
        if record is not sighting.record:
            sighting = replace(sighting, record=record)
        odd = _odd_thing(sighting)
        if odd is not None:
            return Checkpoint(sighting, State.FOREIGN if record is None else State.SUSPECT, odd)
        if sighting.writer is not None or sighting.held or sighting.moved:
            return Checkpoint(sighting, State.UNSAFE_WRITE, _unsafe_reason(sighting))
        outside = leading_out(identity)
        if outside is not None:
            return Checkpoint(sighting, State.SUSPECT, outside)
        if record is None:
            return self._judge_unrecorded(sighting, identity)
        if record.retired:
            return Checkpoint(sighting, State.RETIRED, "set aside by rollback: no resume point, first to be pruned")
        differences = compare_unread(record, identity)
        if differences:
            return self._judge_other_shape(sighting, identity, record, differences)
        return self._judge_right_size(sighting, identity, record)

    def doubt_strays(self, there: list[Checkpoint]) -> list[Checkpoint]:
        """Of what no record vouches for, what lacks files that its siblings have, and what neither record nor format
        vouches for and is far from its siblings' size; each once it is old enough to have been finished."""
        if all(checkpoint.sighting.record is not None for checkpoint in there):
            return there
        sound = [c for c in there if c.state in _SOUND]
        if any(_stands_by_its_siblings(c) for c in sound):
            company = Company(c.sighting for c in sound if c.sighting.kind is not Kind.FILE and not self._is_young(c))
            there = [self._less_than_company(c, company) if _stands_by_its_siblings(c) else c for c in there]
        if not any(checkpoint.state is State.UNRECORDED for checkpoint in there):
            return there
        siblings = Siblings(c.sighting for c in sound)
        return [_doubted(c, siblings) if c.state is State.UNRECORDED and not self._is_young(c) else c for c in there]

    def _less_than_company(self, checkpoint: Checkpoint, company: Company) -> Checkpoint:
        sighting, identity = checkpoint.sighting, checkpoint.sighting.identity
        lack = company.lacking(sighting)
        if lack is None or identity is None:
            return checkpoint
        if lack.all_of_a_kind and sighting.kind is Kind.GROUP:
            return self._lacking(sighting, identity, lack.text)
        if self._is_young(checkpoint):
            return checkpoint
        return replace(checkpoint, state=State.SUSPECT, reason=lack.text)

    def _is_young(self, checkpoint: Checkpoint) -> bool:
        identity = checkpoint.sighting.identity
        age = None if identity is None else known_age(identity.mtime_ns, self.now)
        return age is not None and age < self.policy.min_age

    def _judge_unrecorded(self, sighting: Sighting, identity: Identity) -> Checkpoint:
        receipt = sighting.receipt
        if receipt is not None and not receipt.good and self._counts(receipt, identity):
            return Checkpoint(sighting, State.CORRUPT, receipt.note or "its content was found bad", receipt.verified_at)
        finding = sighting.structure
        if sighting.unfinished is not None:
            reason = f"{visible(sighting.unfinished)} says that it is not finished"
            return self._lacking(sighting, identity, reason)
        if finding is None or finding.structure is Structure.UNKNOWN:
            text = finding.text if finding is not None and finding.text else "no record, and no format that could tell"
            if not identity.files:
                return self._lacking(sighting, identity, text)
            return Checkpoint(sighting, State.UNRECORDED, text + self._young(identity))
        return self._judge_structure(sighting, identity, finding)

    def _lacking(self, sighting: Sighting, identity: Identity, reason: str) -> Checkpoint:
        """Incomplete; what is not there yet may still come while it is young."""
        quiet = is_quiet(identity.mtime_ns, self.now, self.policy.min_age)
        state = State.INCOMPLETE if quiet else State.UNSAFE_WRITE
        return Checkpoint(sighting, state, reason + self._young(identity))

    def _judge_other_shape(
        self, sighting: Sighting, identity: Identity, record: Record, differences: tuple[Difference, ...]
    ) -> Checkpoint:
        """Sizes or members are not the recorded ones."""
        finding = sighting.structure
        if self.inventory.role is Role.PRIMARY and self._written_since(identity, record, differences):
            if finding is not None and finding.structure in _PROVEN_BAD:
                return self._judge_structure(sighting, identity, finding)
            how = f"{size_text(identity.size)}, the record of {_origin(record)} says {size_text(record.size)}"
            if sighting.kind is not Kind.FILE:
                how = _members_text(record, differences)
            reason = (
                f"{how}, and it was written since: the trainer saved it again; "
                f"`ckptdeck adopt --replace` records what is there now"
            )
            return Checkpoint(sighting, State.CHANGED, reason + self._young(identity))
        worst = differences[0]
        reason = _shape_text(identity, record) if sighting.kind is Kind.FILE else _members_text(record, differences)
        return Checkpoint(sighting, worst.state, reason + self._young(identity))

    def _judge_structure(self, sighting: Sighting, identity: Identity, finding: StructureFinding) -> Checkpoint:
        if finding.structure is Structure.INCOMPLETE:
            return self._lacking(sighting, identity, _structure_text(finding))
        text = _structure_text(finding) + self._young(identity)
        return Checkpoint(sighting, _STATE_OF_STRUCTURE[finding.structure], text)

    def _judge_right_size(self, sighting: Sighting, identity: Identity, record: Record) -> Checkpoint:
        receipt = sighting.receipt
        counts = receipt is not None and self._counts(receipt, identity)
        if receipt is not None and counts and (receipt.digest != record.digest or not receipt.good):
            return self._judge_other_content(sighting, identity, record, receipt)
        if record.digest in self.marked_bad and (counts or not self._may_be_saved_again(identity, record)):
            return Checkpoint(sighting, State.CORRUPT, "an operator marked this content as bad")
        if receipt is not None and counts and receipt.evidence is not Evidence.STREAM:
            reason = f"{size_text(identity.size)}, {_EVIDENCE[receipt.evidence]}, equals the record"
            return Checkpoint(sighting, State.VERIFIED, reason, receipt.verified_at, receipt.evidence)
        return Checkpoint(sighting, State.SIZE_ONLY, self._unproven(identity, record, receipt))

    def _judge_other_content(
        self, sighting: Sighting, identity: Identity, record: Record, receipt: Receipt
    ) -> Checkpoint:
        rewritten = self.inventory.role is Role.PRIMARY and self._written_since(identity, record)
        finding = sighting.structure
        cut = finding is not None and finding.structure in (Structure.CUT, Structure.BROKEN)
        content = f"content {receipt.digest[:8]}, recorded {record.digest[:8]} ({_origin(record)})"
        if rewritten and not cut and receipt.digest != record.digest and receipt.digest not in self.marked_bad:
            reason = f"{content}, and written since: the trainer saved it again; `ckptdeck adopt --replace` records it"
            return Checkpoint(sighting, State.CHANGED, reason, receipt.verified_at, receipt.evidence)
        reason = f"right size, wrong content: {receipt.note or content}"
        return Checkpoint(sighting, State.CORRUPT, reason, receipt.verified_at, receipt.evidence)

    def _unproven(self, identity: Identity, record: Record, receipt: Receipt | None) -> str:
        size = f"{size_text(identity.size)} as recorded, content not proven"
        if self._written_since(identity, record):
            return f"{size}: only its mtime is not the recorded one{self._young(identity)}"
        if receipt is None:
            return f"{size}: " + (
                "published without reading it back" if record.origin is Origin.PUBLISHED else "never verified here"
            )
        if receipt.stamps != identity.stamps:
            return f"{size}: touched since it was verified {moment_text(receipt.verified_at)}"
        if receipt.evidence is Evidence.STREAM:
            return f"{size}: the hash is of what was written, nothing was read back"
        return f"{size}: verified from memory only, and in another boot or mount"

    def _may_be_saved_again(self, identity: Identity, record: Record) -> bool:
        """The trainer may have written another content of the same size: only its hash tells."""
        return self.inventory.role is Role.PRIMARY and self._written_since(identity, record)

    def _counts(self, receipt: Receipt, identity: Identity) -> bool:
        volume = self.inventory.volume
        mount = volume.mount if volume is not None else ""
        return receipt_counts(receipt, identity, boot_id=self.inventory.boot_id, mount=mount)

    def _written_since(self, identity: Identity, record: Record, differences: Iterable[Difference] = ()) -> bool:
        exact = self.inventory.volume is not None and self.inventory.volume.fs_class == "local"
        return written_since(identity.mtime_ns, record.mtime_ns, differences, 0 if exact else _COARSE_CLOCK_NS)

    def _young(self, identity: Identity) -> str:
        """What must be known beside any verdict on a file that may still be in the making."""
        doubt = doubt_about(identity.mtime_ns, self.now)
        if doubt:
            return f"; {doubt}"
        age = known_age(identity.mtime_ns, self.now)
        if age is not None and age < self.policy.min_age:
            return f"; changed {span_text(age)} ago, it may still be written"
        return ""


_STATE_OF_STRUCTURE = {
    Structure.OK: State.STRUCTURE_OK,
    Structure.CUT: State.TRUNCATED,
    Structure.BROKEN: State.CORRUPT,
    Structure.SUSPECT: State.SUSPECT,
}
_SOUND = frozenset({State.VERIFIED, State.SIZE_ONLY, State.STRUCTURE_OK, State.UNRECORDED})
"""What siblings are held against."""
_PROVEN_BAD = frozenset({Structure.CUT, Structure.BROKEN, Structure.INCOMPLETE})
_EVIDENCE = {
    Evidence.DEVICE: "read from the device",
    Evidence.SERVER: "read from the server",
    Evidence.CACHE: "read, maybe from memory",
}


def _odd_thing(sighting: Sighting) -> str | None:
    """What keeps a name from being a checkpoint that could be judged at all."""
    if sighting.link is not None:
        return f"a symbolic link to {visible(sighting.link)}: shown, never followed"
    record = sighting.record
    if record is not None and record.kind is not sighting.kind:
        return f"recorded as a {record.kind}, is a {sighting.kind}: move it away, or its record, and look again"
    if sighting.family == FOREIGN_FAMILY and record is None:
        return "a directory of no known layout" if sighting.kind is Kind.DIRECTORY else "no name of a checkpoint"
    return None


def _unsafe_reason(sighting: Sighting) -> str:
    if sighting.writer is not None:
        return f"{sighting.writer.shown()} writes directly under the final name"
    if sighting.held:
        return "a process holds it open for writing under its final name"
    return "its size or mtime changed between two looks: somebody writes directly under the final name"


def _shape_text(identity: Identity, record: Record) -> str:
    """The arithmetic of a file with another size than recorded."""
    difference = record.size - identity.size
    if difference > 0:
        part = part_of_text(identity.size, record.size)
        return f"{part}, {size_text(difference)} short of the record of {_origin(record)}"
    recorded = f"{size_text(record.size)} recorded {_origin(record)}"
    return f"{size_text(identity.size)}, {size_text(-difference)} more than the {recorded}"


def _members_text(record: Record, differences: tuple[Difference, ...]) -> str:
    """The worst file, and how many more differ, of a directory or a group."""
    more = len(differences) - 1
    rest = f"; {counted(more, 'other file differs', 'other files differ')} too" if more else ""
    return f"{differences[0].text}{rest}; recorded {_origin(record)} with {counted(len(record.members), 'file')}"


def _structure_text(finding: StructureFinding) -> str:
    return finding.text or f"{finding.format or 'its format'}: {finding.structure}"


def _origin(record: Record) -> str:
    return f"{moment_text(record.recorded_at)} ({record.origin})"


def _stands_by_its_siblings(checkpoint: Checkpoint) -> bool:
    """Several files without a record, whose own format does not say either that they are all of a group."""
    sighting = checkpoint.sighting
    if sighting.kind is Kind.FILE or sighting.record is not None:
        return False
    told = checkpoint.state is State.STRUCTURE_OK and sighting.kind is Kind.DIRECTORY
    return checkpoint.state is State.UNRECORDED or told


def _doubted(checkpoint: Checkpoint, siblings: Siblings) -> Checkpoint:
    usual = siblings.strays_from(checkpoint.name, checkpoint.size)
    if usual is None:
        return checkpoint
    off = checkpoint.size - usual
    reason = (
        f"{size_text(checkpoint.size)}, its siblings have {size_text(usual)}: {size_text(abs(off))} "
        f"{'more' if off > 0 else 'less'}, and no record or format could tell why"
    )
    return replace(checkpoint, state=State.SUSPECT, reason=reason)


def newest_whole(there: Iterable[Checkpoint]) -> Checkpoint | None:
    """Of what is verified, what gone names are held against."""
    whole = [checkpoint for checkpoint in there if checkpoint.state is State.VERIFIED]
    return max(whole, key=_step_then_time, default=None)


def _step_then_time(checkpoint: Checkpoint) -> tuple[int, int, str]:
    identity = checkpoint.sighting.identity
    mtime_ns = 0 if identity is None else identity.mtime_ns
    return (-1 if checkpoint.step is None else checkpoint.step, mtime_ns, checkpoint.name)


def judge_gone(sighting: Sighting, newest: Checkpoint | None) -> Checkpoint:
    """A recorded name that a listing lacks."""
    record = sighting.record
    if record is None:
        return Checkpoint(sighting, State.ABSENT, "never was here")
    if sighting.seen_missing < ENOUGH:
        reason = "recorded, but not in the listing; a second listing decides whether it is missing"
        return Checkpoint(sighting, State.UNREADABLE, reason)
    recorded = f"recorded {_origin(record)} with {size_text(record.size)}"
    if record.retired:
        return Checkpoint(sighting, State.REMOVED, f"{recorded}, retired, and gone since")
    if newest is not None and _is_older(sighting, record, newest):
        return Checkpoint(sighting, State.REMOVED, f"{recorded}; older than {visible(newest.name)}: a retention's work")
    against = "nothing here is verified" if newest is None else f"newer than {visible(newest.name)}, the newest whole"
    return Checkpoint(sighting, State.MISSING, f"{recorded}, not there, and {against}")


def _is_older(sighting: Sighting, record: Record, newest: Checkpoint) -> bool:
    if sighting.step is not None and newest.step is not None:
        return sighting.step < newest.step
    identity = newest.sighting.identity
    return identity is not None and record.mtime_ns < identity.mtime_ns


def place_of_checkpoint(checkpoint: Checkpoint) -> tuple[bool, tuple[bool, int, str]]:
    """What a side is sorted by: newest first."""
    sighting = checkpoint.sighting
    return (checkpoint.state is State.FOREIGN, order_key(sighting.step, sighting.name))
