"""Recording checkpoints that somebody else wrote: proven where they lie, never moved, never changed."""

from __future__ import annotations

from collections.abc import Mapping

from ckptdeck.core.announcement import finish_earlier
from ckptdeck.core.checkpoint_set import CheckpointSet, Pair
from ckptdeck.core.closer_look import with_structure
from ckptdeck.core.deep_look import PROVEN_BAD, STATE_OF, look_deep
from ckptdeck.core.errors import Refused, RottenSource
from ckptdeck.core.hashing import Reading, look_still, read_for_proof
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.naming import read_name
from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.recheck import require_source, unit_of
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Record, Sighting
from ckptdeck.core.states import Kind, Origin, Structure
from ckptdeck.core.verify import receipt_of
from ckptdeck.core.volume import volume_of


def adopt(host: Host, pair: Pair, item: PlanItem, effort: Effort) -> str:
    """Hashes `item` and writes its record and receipt. Returns what was done, in one clause.

    Raises RottenSource when it differs from what the other side's record says, Refused when it is recorded or
    changed since the plan, SourceChanged, Cancelled, OSError.
    """
    checkpoint_set = pair.on(item.side)
    _require_unrecorded(Manifest(host.fs, checkpoint_set), item)
    proof = _look_inside(host, checkpoint_set, item, effort)
    reading = _prove(host, checkpoint_set, item, effort)
    expect = item.details.get("expect")
    if expect is not None and reading.digest != expect:
        raise RottenSource(
            f"{visible(item.name)} on the {item.side} is not what the {item.side.other}'s record says: "
            f"{reading.digest} for {expect}",
            why="One of the two copies is damaged or of another run",
            next_step=f"Nothing was recorded. To decide: `ckptdeck adopt {visible(item.name)} --side {item.side}`",
        )
    record_in_place(host, checkpoint_set, item, reading)
    return f"recorded, {reading.evidence} evidence{proof}"


def adopt_twins(host: Host, pair: Pair, first: PlanItem, second: PlanItem, effort: Effort) -> str:
    """Both sides have it and neither is recorded: both are hashed, and recorded only when they are the same."""
    readings = []
    proof = ""
    for item in (first, second):
        _require_unrecorded(Manifest(host.fs, pair.on(item.side)), item)
        proof = proof or _look_inside(host, pair.on(item.side), item, effort)
        readings.append(_prove(host, pair.on(item.side), item, effort))
    if readings[0].digest != readings[1].digest:
        raise RottenSource(
            f"{visible(first.name)} differs between the sides: {readings[0].digest} on the {first.side}, "
            f"{readings[1].digest} on the {second.side}",
            why="Both have the same size and no record tells which one is right",
            next_step=f"Nothing was recorded. Decide with `ckptdeck adopt {visible(first.name)} --side primary|mirror`",
        )
    for item, reading in zip((first, second), readings, strict=True):
        record_in_place(host, pair.on(item.side), item, reading)
    weakest = min((reading.evidence for reading in readings), key=lambda evidence: evidence.rank)
    return f"recorded on both sides, {weakest} evidence{proof}"


def record_finished(
    host: Host,
    target: CheckpointSet,
    name: str,
    *,
    step: int | None,
    metrics: Mapping[str, float],
) -> Record:
    """Proves and records the directory `name`, of which its writer, who is asking, says that it is finished.

    So no age guard speaks; an older record of that name gives way. Raises RottenSource when its format says that it is
    not whole, Refused when somebody writes it or a link leads out of it, SourceChanged, FileNotFoundError, OSError.
    """
    item = PlanItem(name, target.role, Act.RECORD, "its writer has finished it", step=step, kind=Kind.DIRECTORY)
    unit = unit_of(target, item)
    before = look_still(host.fs, unit)
    family = read_name(name, True, DEFAULT_POLICY).family
    seen = with_structure(host.fs, target.root, Sighting(name, step, unit.kind, family, identity=before))
    finding = seen.structure
    if finding is not None and finding.structure in PROVEN_BAD:
        raise RottenSource(
            f"{visible(unit.path)} is {STATE_OF[finding.structure]}: {visible(finding.text)}",
            why="Its own format says so, though its writer took it for finished",
            next_step="It was not recorded, so nothing will resume from it",
        )
    finish_earlier(host, Manifest(host.fs, target, pid=host.pid), unit.path, name)
    reading = _prove(host, target, item, UNHURRIED)
    return record_in_place(host, target, item, reading, metrics)


def _require_unrecorded(manifest: Manifest, item: PlanItem) -> None:
    try:
        record = manifest.record(item.name)
        announced = manifest.next_record(item.name)
    except ValueError:
        return  # a damaged record is what adopting again repairs
    if announced is not None or (record is not None and record.digest != item.details.get("replaces")):
        raise Refused(
            f"{visible(item.name)} on the {item.side} was recorded by somebody else meanwhile",
            guard="changed-since-plan",
            next_step="Look again and plan anew",
        )


def _look_inside(host: Host, checkpoint_set: CheckpointSet, item: PlanItem, effort: Effort) -> str:
    """What the checksums inside say of something nobody recorded, as a clause; "" where a record vouches for it.

    Raises RottenSource when they refute it.
    """
    if "expect" in item.details:
        return ""
    unit = unit_of(checkpoint_set, item)
    require_source(host, unit, item)
    finding = look_deep(host, unit, item.side, effort)
    if finding.structure in PROVEN_BAD:
        raise RottenSource(
            f"{visible(item.name)} on the {item.side} is {STATE_OF[finding.structure]}: {visible(finding.text)}",
            why="The checksums inside it speak against it" if finding.structure is Structure.BROKEN else "",
            next_step="Nothing was recorded. `ckptdeck quarantine` sets it aside",
        )
    return (
        f"; {visible(finding.text)}"
        if finding.proof == "checksums"
        else "; its format holds no checksum that proves it"
    )


def _prove(host: Host, checkpoint_set: CheckpointSet, item: PlanItem, effort: Effort) -> Reading:
    unit = unit_of(checkpoint_set, item)
    require_source(host, unit, item)
    volume = volume_of(host.fs, checkpoint_set.root)
    return read_for_proof(host, unit, volume, side=item.side, effort=effort)


def record_in_place(
    host: Host,
    checkpoint_set: CheckpointSet,
    item: PlanItem,
    reading: Reading,
    metrics: Mapping[str, float] | None = None,
) -> Record:
    """Writes record and receipt of a file that was read, hashed and held still where it lies. Raises OSError."""
    manifest = Manifest(host.fs, checkpoint_set, pid=host.pid)
    record = Record(
        name=item.name,
        step=item.step,
        kind=item.kind,
        size=reading.identity.size,
        mtime_ns=reading.identity.mtime_ns,
        digest=reading.digest,
        members=reading.members,
        recorded_at=host.clock.now(),
        origin=Origin.ADOPTED,
        run_id=checkpoint_set.document.run_id if checkpoint_set.document is not None else None,
        host=host.name,
        metrics=dict(metrics or {}),
    )
    manifest.write_record(record)
    manifest.write_receipt(receipt_of(host, checkpoint_set, record, reading))
    return record
