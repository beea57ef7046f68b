"""Which record and which receipt speak of what is on disk now. Pure."""

from __future__ import annotations

from ckptdeck.core.sighting import Identity, Inventory, Receipt, Record, Sighting


def digests_marked_bad(inventory: Inventory) -> frozenset[str]:
    """Digests the operator declared bad here: a copy of such content made again is bad too."""
    return frozenset(
        record.marked_bad
        for sighting in inventory.sightings
        if (record := sighting.record) is not None and record.marked_bad is not None
    )


def record_in_force(sighting: Sighting) -> Record | None:
    """The record the file on disk is to be held against: its record, or the next one when that is what fits.

    Between the rename and the last step of a publish the file is described by its next record only.
    """
    record, following, identity = sighting.record, sighting.next_record, sighting.identity
    if following is None or identity is None:
        return record
    receipt = sighting.receipt
    if receipt is not None and speaks_of(receipt, identity):
        if record is not None and receipt.digest == record.digest:
            return record
        if receipt.digest == following.digest:
            return following
    if following.size != identity.size:
        return record
    if record is None or record.size != identity.size:
        return following
    return following if following.mtime_ns == identity.mtime_ns != record.mtime_ns else record


def speaks_of(receipt: Receipt, identity: Identity) -> bool:
    """Every member is what it was when the receipt was made, told by times that are known at all."""
    if len(receipt.stamps) != len(identity.members):
        return False
    for stamp, member in zip(receipt.stamps, identity.members, strict=True):
        if stamp.mtime_ns != member.mtime_ns or stamp.size != member.size or stamp.ctime_ns != member.ctime_ns:
            return False
        if stamp.path != member.path or (stamp.mtime_ns <= 0 and stamp.ctime_ns <= 0):
            return False
    return True


def receipt_counts(receipt: Receipt, identity: Identity, *, boot_id: str, mount: str) -> bool:
    """The receipt speaks of exactly what is on disk now, and its evidence is not of another boot or mount."""
    if not speaks_of(receipt, identity):
        return False
    return receipt.evidence.outlives_boot or (receipt.boot_id == boot_id != "" and receipt.mount == mount != "")
