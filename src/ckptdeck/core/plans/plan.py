"""What every planner returns and `apply` works from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from ckptdeck.core.safe_text import json_name
from ckptdeck.core.sighting import Stamp
from ckptdeck.core.states import Kind, Role
from ckptdeck.core.values import dataclass


class Act(StrEnum):
    """What is done to one item."""

    KEEP = "keep"
    """Nothing; the reason says why it stays as it is."""
    SKIP = "skip"
    """Nothing; a guard stopped it."""
    RECORD = "record"
    """Prove it in place and write its record (adopt)."""
    COPY = "copy"
    """Stage, prove and name a copy on the other side (mirror, restore)."""
    REPAIR = "repair"
    """Stage and prove a good copy, then bad one to quarantine, then staged one to its name."""
    FINISH = "finish"
    """Bring an interrupted publish to its end (recover)."""
    DISCARD = "discard"
    """Remove a leftover part whose data cannot be completed, or a next record without data (recover)."""
    VERIFY = "verify"
    """Hash it before anything is deleted that relies on it (prune)."""
    QUARANTINE = "quarantine"
    DELETE = "delete"
    """Un-name it, then take it apart (prune)."""
    PURGE = "purge"
    """Take apart what is in quarantine; only that frees its bytes."""
    PUT_BACK = "put-back"
    """From quarantine to its name, no clobber."""
    RETIRE = "retire"
    """Out of resume and retention, and first to be pruned (rollback)."""
    POINTER = "pointer"
    """Copy a pointer file after its target is verified."""
    MARK_BAD = "mark-bad"
    """Declare the recorded content bad, whatever its hash says."""
    UNMARK_BAD = "unmark-bad"


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One thing to do, or one thing that stays and why."""

    name: str
    side: Role
    """The side that changes (for a copy: the side that gets it)."""
    act: Act
    reason: str
    size: int = 0
    step: int | None = None
    guard: str | None = None
    """Stable name of the guard that stopped the item (act SKIP), else None."""
    stamps: tuple[Stamp, ...] = ()
    """The identity of what is read, as planned; another one in the moment of acting skips the item."""
    inode: int | None = None
    target: tuple[Stamp, ...] = ()
    """The identity of what has the name on `side` now and makes way (repair, replace); empty: the name must be free."""
    target_inode: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    """What the executor needs beside: e.g. {"mode": "first-publish", "part": "x.pt.part"}."""
    kind: Kind = Kind.FILE
    """Of what is read; a group's names are the paths of its stamps."""
    frees: int = 0
    """Bytes that `side` gets back, when everything before it in the plan is done too (freed.py)."""

    @property
    def acts(self) -> bool:
        return self.act not in (Act.KEEP, Act.SKIP)

    @property
    def checkpoint(self) -> str:
        """The name of the checkpoint, also where `name` is an id in quarantine."""
        return self.details.get("checkpoint", self.name)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a whole plan may not run."""

    guard: str
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A list of items computed from disk. `needs` in bytes, on the side that is changed."""

    action: str
    """"adopt", "mirror", "repair", "recover", ..."""
    items: tuple[PlanItem, ...]
    refused: Refusal | None = None
    needs: int = 0
    at_most: bool = False
    """`frees` is an upper limit: what goes may share blocks with what stays."""
    answer: str = ""
    """One sentence that comes before the items (recover: where to resume, what was lost)."""
    consequence: str = ""
    """The part of `answer` that does not say where to resume (recover)."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the caller asked for beyond names, e.g. {"all": "true"}; shown in the command line of the plan."""
    names: tuple[str, ...] = ()
    """The names the caller asked for, empty for all."""
    count: int | None = None
    """How many are deleted, where that has to be confirmed by the number; None where a plain yes is enough."""

    @property
    def acting(self) -> tuple[PlanItem, ...]:
        """The items that change something."""
        return tuple(item for item in self.items if item.acts)

    @property
    def frees(self) -> int:
        """Bytes that come back on both sides together."""
        return sum(item.frees for item in self.items)

    @property
    def digest(self) -> str:
        """Short fingerprint of exactly what would be done."""
        material = [
            [
                json_name(i.name),
                i.side,
                i.act,
                [_fingerprint(stamp) for stamp in i.stamps],
                [_fingerprint(stamp) for stamp in i.target],
            ]
            for i in self.items
            if i.acts
        ]
        text = json.dumps([self.action, material], separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _fingerprint(stamp: Stamp) -> list[str | int]:
    return [stamp.path.encode("utf-8", "surrogateescape").hex(), stamp.size, stamp.mtime_ns]


class Outcome(StrEnum):
    """What became of one item."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ItemResult:
    item: PlanItem
    outcome: Outcome
    text: str
    """What happened, or why not, in one sentence."""
    exit_code: int = 0
    error_code: str | None = None
    finding: bool = False
    """A source turned out rotten: a finding about data, worth a bell."""


def outcomes_text(results: Sequence[ItemResult]) -> str:
    """ "3 done, 1 failed"; "" without results."""
    counts = ((outcome, sum(one.outcome is outcome for one in results)) for outcome in Outcome)
    return ", ".join(f"{count} {outcome}" for outcome, count in counts if count)


@dataclass(frozen=True, slots=True)
class PlanResult:
    plan: Plan
    results: tuple[ItemResult, ...]

    @property
    def exit_code(self) -> int:
        """7 beats 6 beats 5 beats 4, partly done is 3; 130 when cancelled; 0 when everything was done."""
        codes = {result.exit_code for result in self.results if result.exit_code}
        for code in (130, 7, 6, 5):
            if code in codes:
                return code
        if not codes:
            return 0
        done = any(result.outcome is Outcome.DONE for result in self.results)
        return 3 if done or codes != {4} else 4
