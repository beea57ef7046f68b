"""A saved plan read back: what may be done is what was reviewed, or less."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ckptdeck.cli.json_output import item_object
from ckptdeck.core.errors import UsageError, describe_os_error
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.safe_text import name_from_json, visible
from ckptdeck.core.values import dataclass

_NOT_IN_PLAN = "not-in-plan"
_LARGEST = 64 << 20
"""Bytes of a saved plan; one item needs about 600."""
_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """What `--dry-run --json` wrote: the request behind it, and exactly which items may be acted on."""

    path: str
    action: str
    names: tuple[str, ...]
    options: Mapping[str, str]
    items: frozenset[_Key]


def read_plan_file(path: str, action: str) -> SavedPlan:
    """Raises UsageError for a file that is no saved plan, or one of another action."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise _not_a_plan(path, f"it is larger than {_LARGEST} bytes")
        document = json.loads(data)
    except OSError as error:
        raise UsageError(f"The plan cannot be read: {describe_os_error(error, path)}") from error
    except (ValueError, RecursionError) as error:
        raise _not_a_plan(path, str(error)) from error
    if not isinstance(document, dict) or document.get("schema") != "ckptdeck.plan/1":
        raise _not_a_plan(path, "its schema is not ckptdeck.plan/1")
    if document.get("action") != action:
        raise UsageError(
            f"{visible(path)} is a plan of `{visible(str(document.get('action')))}`, not of `{action}`",
            next_step="Apply it with the command it was made by",
        )
    try:
        return SavedPlan(
            path=path,
            action=action,
            names=tuple(name_from_json(name) for name in document["names"]),
            options={str(key): str(value) for key, value in document["options"].items()},
            items=frozenset(_saved_key(item) for item in document["items"] if item["action"] not in _IDLE),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _not_a_plan(path, f"{type(error).__name__}: {error}") from error


_IDLE = (Act.KEEP.value, Act.SKIP.value)


def restrict(plan: Plan, saved: SavedPlan) -> Plan:
    """`plan`, with every item that is not exactly in the saved one left alone."""
    items = tuple(
        item
        if not item.acts or _key(item) in saved.items
        else replace(
            item, act=Act.SKIP, guard=_NOT_IN_PLAN, reason=f"not in the saved plan {visible(saved.path)}", frees=0
        )
        for item in plan.items
    )
    kept = [item for item in items if item.acts]
    share = sum(item.size for item in kept) / max(1, sum(item.size for item in plan.acting))
    count = None if plan.count is None else sum(item.act is Act.DELETE for item in kept)
    return replace(plan, items=items, count=count, needs=round(plan.needs * share))


def _key(item: PlanItem) -> _Key:
    return _saved_key(item_object(item))


def _saved_key(item: dict[str, Any]) -> _Key:
    stamps = [
        [name_from_json(stamp, "path"), int(stamp["size"]), int(stamp["mtime_ns"])]
        for stamp in (*item["identity"], *item["replaces"])
    ]
    material = json.dumps([stamps, len(item["identity"])])
    return name_from_json(item), str(item["side"]), str(item["action"]), material


def _not_a_plan(path: str, why: str) -> UsageError:
    return UsageError(
        f"{visible(path)} is not a saved plan: {visible(why)}",
        next_step="Make one with `--dry-run --json > plan.json`",
    )
