"""Hashing one recorded checkpoint where it lies, and writing what came of it as a receipt."""

from __future__ import annotations

import contextlib
from functools import partial

from ckptdeck.core.amounts import counted
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.comparison import compare_members, written_since
from ckptdeck.core.errors import SourceChanged, from_os_error
from ckptdeck.core.filesystem import once_more
from ckptdeck.core.hashing import Reading, read_for_proof
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.publish import receipt_for
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Receipt, Record
from ckptdeck.core.states import Role, State
from ckptdeck.core.unit import OddThing, look_at, unit_of_record
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import volume_of

_LOOKS = 3
"""How often a file is looked at again that changes under our eyes, before it is called busy."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What hashing one checkpoint said. `receipt` is None where nothing could be written or compared."""

    name: str
    side: Role
    state: State
    reason: str
    receipt: Receipt | None
    bytes_read: int


def verify_one(host: Host, checkpoint_set: CheckpointSet, name: str, effort: Effort = UNHURRIED) -> Verification:
    """Hashes `name` and compares it with its record and next record (2-core.md "Readers").

    It is bad only when it matches neither and, after hashing, both records and the file are unchanged. Never
    records anything that has no record. Raises Cancelled, VolumeSuspect, ItemFailed (unreadable),
    UsageError without a control directory.
    """
    manifest = Manifest(host.fs, checkpoint_set, pid=host.pid)
    path = checkpoint_set.path_of(name)
    try:
        for _ in range(_LOOKS):
            expected = known_records(manifest, name)
            if not expected:
                return Verification(name, checkpoint_set.role, State.UNRECORDED, "no record to compare with", None, 0)
            odd = _odd_thing(host, checkpoint_set, expected[0])
            if odd is not None:
                return Verification(name, checkpoint_set.role, State.SUSPECT, odd, None, 0)
            with contextlib.suppress(SourceChanged):
                outcome = once_more(partial(_look, host, checkpoint_set, manifest, name, expected, effort))
                if outcome is not None:
                    return outcome
    except FileNotFoundError:
        return Verification(name, checkpoint_set.role, State.MISSING, f"{visible(path)} is gone", None, 0)
    except OSError as error:
        raise from_os_error(error, f"Reading {visible(path)}") from error
    return Verification(
        name, checkpoint_set.role, State.UNSAFE_WRITE, "it changed each time it was read: still written", None, 0
    )


def _odd_thing(host: Host, checkpoint_set: CheckpointSet, record: Record) -> str | None:
    """Why what has the name can be nothing that was recorded."""
    try:
        look_at(host.fs, unit_of_record(checkpoint_set.root, record))
    except OddThing as odd:
        return f"recorded as a {record.kind}, it is {odd}"
    return None


def known_records(manifest: Manifest, name: str) -> tuple[Record, ...]:
    """What the file may be: its record and the next record, those that can be read, in this order."""
    found = []
    for read in (manifest.record, manifest.next_record):
        try:
            record = read(name)
        except ValueError:
            continue  # a damaged record proves nothing about the file; the scan reports it
        if record is not None:
            found.append(record)
    return tuple(found)


def receipt_of(host: Host, checkpoint_set: CheckpointSet, record: Record, reading: Reading) -> Receipt:
    """What this reading says about `record`, to be kept."""
    volume = volume_of(host.fs, checkpoint_set.root)
    return receipt_for(host, record, reading.identity.stamps, reading.evidence, volume, digest=reading.digest)


def write_bad_receipt(
    host: Host, checkpoint_set: CheckpointSet, manifest: Manifest, record: Record, reading: Reading
) -> Receipt:
    """Keeps the bad news, so that the next look need not hash again.

    Where there is no room for it, the old good receipt must not outlive it: that one is taken back, which needs none.
    """
    receipt = receipt_of(host, checkpoint_set, record, reading)
    try:
        manifest.write_receipt(receipt)
    except OSError:
        with contextlib.suppress(OSError):  # read-only: what is there cannot be changed by anybody
            manifest.drop_receipt(record.name)
    return receipt


def _look(
    host: Host,
    checkpoint_set: CheckpointSet,
    manifest: Manifest,
    name: str,
    expected: tuple[Record, ...],
    effort: Effort,
) -> Verification | None:
    """One reading; None when a record changed meanwhile and it must be looked at again."""
    side = checkpoint_set.role
    unit = unit_of_record(checkpoint_set.root, expected[0])
    reading = read_for_proof(host, unit, volume_of(host.fs, checkpoint_set.root), side=side, effort=effort)
    size = reading.identity.size
    match = next((record for record in expected if record.digest == reading.digest), None)
    if match is None:
        if known_records(manifest, name) != expected:
            return None
        bad = write_bad_receipt(host, checkpoint_set, manifest, expected[0], reading)
        state, reason = _how_bad(side, expected[0], reading)
        return Verification(name, side, state, reason, bad, size)
    if match is not expected[0] or manifest.record(name) != match:
        return Verification(name, side, State.SIZE_ONLY, "matches the record of a publish under way", None, size)
    receipt = receipt_of(host, checkpoint_set, match, reading)
    if not receipt.good:
        write_bad_receipt(host, checkpoint_set, manifest, match, reading)
        return Verification(name, side, State.CORRUPT, "this content was marked bad", receipt, size)
    try:
        manifest.write_receipt(receipt)
    except OSError as error:
        note = f"hash matches; the receipt could not be kept ({error.strerror})"
        return Verification(name, side, State.VERIFIED, note, receipt, size)
    return Verification(name, side, State.VERIFIED, f"hash matches the record ({receipt.evidence})", receipt, size)


def _how_bad(side: Role, record: Record, reading: Reading) -> tuple[State, str]:
    differences = compare_members(record.members, reading.members)
    if not differences:
        return State.CORRUPT, "its record contradicts itself: every file fits and their digest does not"
    worst = differences[0]
    if side is Role.PRIMARY and written_since(reading.identity.mtime_ns, record.mtime_ns, differences):
        return State.CHANGED, "other content and another mtime than recorded: the trainer wrote it again"
    more = len(differences) - 1
    return worst.state, worst.text + (
        f"; {counted(more, 'other file differs', 'other files differ')} too" if more else ""
    )
