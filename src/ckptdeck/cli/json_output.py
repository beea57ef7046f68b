"""Everything --json prints: one document per command. Sizes in bytes, times ISO 8601 UTC, durations in seconds.

Names that are not UTF-8 come with replacement characters and, exactly, in `<key>_b64`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ckptdeck.core.errors import CkptdeckError, Refused
from ckptdeck.core.record_format import iso
from ckptdeck.core.safe_text import json_name
from ckptdeck.core.sighting import Checkpoint, InFlight, Quarantined, Record, Stamp, Volume, Warning
from ckptdeck.core.survey import Projection, ResumePoint, Side, Step, Survey

if TYPE_CHECKING:
    from ckptdeck.core.plans.plan import ItemResult, Plan, PlanItem, PlanResult
    from ckptdeck.core.verify import Verification

Document = dict[str, Any]


def status_document(survey: Survey) -> Document:
    return {
        "schema": "ckptdeck.status/1",
        "taken_at": iso(survey.taken_at),
        "run_id": survey.run_id,
        "resume": None if survey.resume is None else resume_object(survey.resume),
        "sides": {
            "primary": _side(survey.primary),
            "mirror": None if survey.mirror is None else _side(survey.mirror),
        },
        "steps": [_step(step) for step in survey.steps],
        "space": {
            "primary": _projection(survey.space.get(survey.primary.role)),
            "mirror": None if survey.mirror is None else _projection(survey.space.get(survey.mirror.role)),
            "shared_device": survey.shared_device,
        },
        "warnings": warnings_list(survey.warnings),
    }


def resume_object(point: ResumePoint) -> Document:
    return {
        **json_name(point.name),
        "step": point.step,
        "side": point.side.value,
        **json_name(point.path, "path"),
        "state": point.state.value,
        "evidence": None if point.evidence is None else point.evidence.value,
        "verified_at": time_or_none(point.verified_at),
    }


def plan_document(plan: Plan) -> Document:
    """A plan; `--only-plan` reads it back (plan_file.py)."""
    return {
        "schema": "ckptdeck.plan/1",
        "action": plan.action,
        "digest": plan.digest,
        "answer": plan.answer,
        "names": [json_name(name) for name in plan.names],
        "options": dict(plan.options),
        "refused": None if plan.refused is None else {"guard": plan.refused.guard, "text": plan.refused.text},
        "items": [item_object(item) for item in plan.items],
        "frees": plan.frees,
        "frees_at_most": plan.at_most,
        "needs": plan.needs,
        "confirm_count": plan.count,
    }


def result_document(result: PlanResult) -> Document:
    """The plan again, with an outcome per item that was to be acted on."""
    document = plan_document(result.plan)
    outcomes = {id(one.item): one for one in result.results}
    for item, shown in zip(result.plan.items, document["items"], strict=True):
        one = outcomes.get(id(item))
        shown["outcome"] = None if one is None else one.outcome.value
        shown["text"] = None if one is None else one.text
        shown["error"] = None if one is None else one.error_code
    document["exit_code"] = result.exit_code
    return document


def item_object(item: PlanItem) -> Document:
    return {
        **json_name(item.name),
        "step": item.step,
        "side": item.side.value,
        "action": item.act.value,
        "reason": item.reason,
        "guard": item.guard,
        "size": item.size,
        "frees": item.frees,
        "identity": _stamps(item.stamps),
        "replaces": _stamps(item.target),
    }


def _stamps(stamps: Iterable[Stamp]) -> list[Document]:
    return [{**json_name(stamp.path, "path"), "size": stamp.size, "mtime_ns": stamp.mtime_ns} for stamp in stamps]


def verify_document(results: Iterable[Verification], *, unrecorded: int, exit_code: int) -> Document:
    return {
        "schema": "ckptdeck.verify/1",
        "results": [
            {
                **json_name(one.name),
                "side": one.side.value,
                "state": one.state.value,
                "reason": one.reason,
                "evidence": None if one.receipt is None else one.receipt.evidence.value,
                "verified_at": None
                if one.receipt is None or not one.receipt.good
                else time_or_none(one.receipt.verified_at),
                "digest": None if one.receipt is None else one.receipt.digest,
                "bytes_read": one.bytes_read,
            }
            for one in results
        ],
        "unrecorded": unrecorded,
        "exit_code": exit_code,
    }


def error_document(error: CkptdeckError) -> Document:
    return {
        "schema": "ckptdeck.error/1",
        "code": error.code,
        "exit_code": error.exit_code,
        "guard": error.guard if isinstance(error, Refused) else None,
        "what": error.what,
        "why": error.why,
        "next_step": error.next_step,
        "text": str(error),
    }


def optional_name(name: str | None, key: str) -> Document:
    """A name or path that may be missing: null then."""
    return {key: None} if name is None else {**json_name(name, key)}


def warnings_list(warnings: Iterable[Warning]) -> list[Document]:
    return [{"code": warning.code, "text": warning.text} for warning in warnings]


def progress_result(result: ItemResult) -> Document:
    """One line on stderr when an item of a plan is over."""
    return {
        "schema": "ckptdeck.item/1",
        **json_name(result.item.name),
        "side": result.item.side.value,
        "action": result.item.act.value,
        "outcome": result.outcome.value,
        "text": result.text,
    }


# --- parts of the status


def _side(side: Side) -> Document:
    inventory = side.inventory
    return {
        **json_name(inventory.root, "path"),
        **optional_name(inventory.control, "control_path"),
        "set_id": inventory.set_id,
        "condition": inventory.condition.value,
        "why": inventory.why,
        "warnings": warnings_list(inventory.warnings),
        "filesystem": None if inventory.volume is None else volume_object(inventory.volume),
        "checkpoints": [_checkpoint(checkpoint) for checkpoint in side.checkpoints],
        "in_flight": [_in_flight(flight) for flight in inventory.in_flight],
        "quarantine": [_quarantined(entry) for entry in inventory.quarantine],
    }


def volume_object(volume: Volume) -> Document:
    return {
        "type": volume.fs_type,
        "class": volume.fs_class,
        "total": volume.total,
        "free": volume.free,
        "free_inodes": volume.free_inodes,
        "optimistic": volume.optimistic,
    }


def _checkpoint(checkpoint: Checkpoint) -> Document:
    sighting = checkpoint.sighting
    return {
        **json_name(checkpoint.name),
        "step": checkpoint.step,
        "kind": sighting.kind.value,
        "family": sighting.family,
        "size": checkpoint.size,
        "mtime": None if sighting.identity is None else time_or_none(sighting.identity.mtime_ns / 1e9),
        "state": checkpoint.state.value,
        "reason": checkpoint.reason,
        "recorded": None if sighting.record is None else _record(sighting.record),
        "verified_at": time_or_none(checkpoint.verified_at),
        "evidence": None if checkpoint.evidence is None else checkpoint.evidence.value,
        "pinned": sighting.pinned is not None,
    }


def _record(record: Record) -> Document:
    return {
        "size": record.size,
        "algorithm": record.algorithm,
        "digest": record.digest,
        "origin": record.origin.value,
        "recorded_at": iso(record.recorded_at),
    }


def _in_flight(flight: InFlight) -> Document:
    return {
        **json_name(flight.name),
        **json_name(flight.target, "target"),
        "size": flight.size,
        "expected_size": flight.expected_size,
        "state": flight.state.value,
        "reason": flight.reason,
        "writer": None if flight.writer is None else {"pid": flight.writer.pid, **json_name(flight.writer.name)},
        "bytes_per_second": flight.bytes_per_second,
    }


def quarantined_document(survey: Survey) -> Document:
    return {
        "schema": "ckptdeck.quarantined/1",
        "sides": {side.role.value: [_quarantined(one) for one in side.inventory.quarantine] for side in survey.sides},
    }


def _quarantined(entry: Quarantined) -> Document:
    return {
        **json_name(entry.id, "id"),
        **json_name(entry.name),
        "reason": entry.reason,
        "size": entry.size,
        "at": iso(entry.at),
    }


def _step(step: Step) -> Document:
    return {
        "step": step.step,
        **json_name(step.name),
        "primary": None if step.primary is None else step.primary.state.value,
        "mirror": None if step.mirror is None else step.mirror.state.value,
        "verdict": step.verdict.value,
        "reason": step.reason,
    }


def _projection(projection: Projection | None) -> Document | None:
    if projection is None:
        return None
    return {
        "checkpoint_size": projection.checkpoint_size,
        "interval": projection.interval,
        "fits": projection.fits,
        "full_at": time_or_none(projection.full_at),
        "basis": projection.basis,
    }


def time_or_none(seconds: float | None) -> str | None:
    """ISO 8601; None also for a time no calendar has, which a damaged inode may hold."""
    if seconds is None:
        return None
    try:
        return iso(seconds)
    except (OverflowError, ValueError, OSError):
        return None
