"""The outlook as programs read it: sizes in bytes, times ISO 8601 UTC, durations in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ckptdeck.cli.json_output import Document, time_or_none, volume_object
from ckptdeck.core.outlook import Outlook, largest_keep
from ckptdeck.core.safe_text import json_name
from ckptdeck.core.sides import Side, Survey
from ckptdeck.core.space_advice import advice, answer
from ckptdeck.core.states import Role


def space_document(
    survey: Survey, outlooks: Mapping[Role, Outlook], retentions: Iterable[tuple[int, Mapping[Role, Outlook]]]
) -> Document:
    """How long the disks will do; on one device the figures of each side are those of both together."""
    return {
        "schema": "ckptdeck.space/1",
        "taken_at": time_or_none(survey.taken_at),
        "shared_device": survey.shared_device,
        "answer": answer(survey, outlooks),
        "advice": list(advice(survey, outlooks)),
        "largest_keep": largest_keep(outlooks),
        "sides": {
            "primary": _space_of(survey.primary, outlooks),
            "mirror": None if survey.mirror is None else _space_of(survey.mirror, outlooks),
        },
        "retentions": [
            {"keep_last": keep_last, **{role.value: _outlook(one) for role, one in found.items()}}
            for keep_last, found in retentions
        ],
    }


def _space_of(side: Side, outlooks: Mapping[Role, Outlook]) -> Document:
    inventory, outlook = side.inventory, outlooks.get(side.role)
    return {
        **json_name(inventory.root, "path"),
        "condition": inventory.condition.value,
        "filesystem": None if inventory.volume is None else volume_object(inventory.volume),
        "outlook": None if outlook is None else _outlook(outlook),
    }


def _outlook(outlook: Outlook) -> Document:
    return {
        "checkpoint_size": outlook.size,
        "interval": outlook.interval,
        "room": outlook.room,
        "fits": outlook.fits,
        "full_at": time_or_none(outlook.full_at),
        "fits_after_prune": outlook.fits_pruned,
        "full_at_after_prune": time_or_none(outlook.full_at_pruned),
        "full_at_with_retention": time_or_none(outlook.full_at_kept),
        "keep_last": outlook.keep_last,
        "retention_fits": outlook.kept_fits,
        "retention_spare": outlook.kept_spare,
        "peak_need": outlook.peak_need,
        "prune_frees": outlook.frees,
        "prune_frees_at_most": outlook.frees_at_most,
        "largest_keep": outlook.largest_keep,
        "saves_left": outlook.saves_left,
        "rest_fits": outlook.rest_fits,
        "rest_fits_with_retention": outlook.rest_fits_kept,
        "other_growth": outlook.others.bytes_per_second if outlook.others.known else None,
        "basis": list(outlook.basis),
    }
