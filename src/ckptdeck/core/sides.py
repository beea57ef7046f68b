"""Both sides looked at together: judged sides, rows with verdicts, the resume point, the projection.

Only shapes; `survey.py` fills them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ckptdeck.core.policy import Policy
from ckptdeck.core.sighting import Checkpoint, Inventory, Warning
from ckptdeck.core.states import NOT_THERE, Evidence, Role, State, Verdict
from ckptdeck.core.values import dataclass

_NOT_PRESENT = NOT_THERE | {State.FOREIGN}


@dataclass(frozen=True, slots=True)
class Step:
    """One row: the same checkpoint on both sides. Rolling names have `step` None and are one row each."""

    step: int | None
    name: str
    """The same on both sides."""
    primary: Checkpoint | None
    mirror: Checkpoint | None
    """State `absent` where it never was, `unreadable` where its whole side cannot be read; None only when the pair has
    no such side."""
    verdict: Verdict
    reason: str

    def on(self, side: Role) -> Checkpoint | None:
        return self.primary if side is Role.PRIMARY else self.mirror


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where the run would go on."""

    name: str
    step: int | None
    side: Role
    path: str
    state: State
    evidence: Evidence | None
    verified_at: float | None
    certain: bool
    """True when a receipt stands; False when it must still be hashed."""


@dataclass(frozen=True, slots=True)
class Side:
    """One judged side. `checkpoints` holds everything with a name, foreign ones and recorded-but-gone ones too,
    newest step first, then rolling names, then foreign ones."""

    inventory: Inventory
    checkpoints: tuple[Checkpoint, ...]
    _by_name: Mapping[str, Checkpoint] | None = field(init=False, default=None, repr=False, compare=False)
    """Made when first asked for."""
    _sums: _Sums | None = field(init=False, default=None, repr=False, compare=False)
    """Added up when first asked for: a console asks every second."""

    def followed_by(
        self, inventory: Inventory, checkpoints: tuple[Checkpoint, ...], by_name: Mapping[str, Checkpoint]
    ) -> Side:
        """The same side a look later. `by_name` are the `checkpoints` by their names."""
        after = Side(inventory, checkpoints)
        object.__setattr__(after, "_by_name", by_name)
        if checkpoints is self.checkpoints:
            object.__setattr__(after, "_sums", self._sums)
        return after

    def with_inventory(self, inventory: Inventory) -> Side:
        """The same checkpoints, of an inventory that differs only in what is in flight."""
        after = Side(inventory, self.checkpoints)
        object.__setattr__(after, "_by_name", self._by_name)
        object.__setattr__(after, "_sums", self._sums)
        return after

    @property
    def role(self) -> Role:
        return self.inventory.role

    @property
    def present(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that are there, whatever their state: no foreign names, nothing only remembered."""
        return self._added_up.present

    @property
    def held(self) -> int:
        """Bytes of what is present."""
        return self._added_up.held

    @property
    def last_save(self) -> float | None:
        """When the newest step was written, in seconds since 1970; None without one."""
        return self._added_up.last_save

    @property
    def _added_up(self) -> _Sums:
        if self._sums is None:
            object.__setattr__(self, "_sums", _add_up(self.checkpoints))
        assert self._sums is not None
        return self._sums

    def find(self, name: str) -> Checkpoint | None:
        if self._by_name is None:
            object.__setattr__(self, "_by_name", {checkpoint.name: checkpoint for checkpoint in self.checkpoints})
        assert self._by_name is not None
        return self._by_name.get(name)


@dataclass(frozen=True, slots=True)
class _Sums:
    present: tuple[Checkpoint, ...]
    held: int
    last_save: float | None


def _add_up(checkpoints: tuple[Checkpoint, ...]) -> _Sums:
    there = tuple(c for c in checkpoints if c.state not in _NOT_PRESENT)
    saved = [c.sighting.identity.mtime_ns for c in checkpoints if c.step is not None and c.sighting.identity]
    return _Sums(there, sum(c.size for c in there), max(saved) / 1e9 if saved else None)


@dataclass(frozen=True, slots=True)
class Projection:
    """What the space of one side allows (2-core.md "Space projection")."""

    checkpoint_size: int | None
    interval: float | None
    """Seconds between two saves."""
    fits: int | None
    """How many more fit beside the reserve."""
    full_at: float | None
    basis: str
    """How the figures came about: "median of 10 gaps: 11m02s; largest of the last 5: 2.47 GB"."""


@dataclass(frozen=True, slots=True)
class Survey:
    """An immutable picture of the pair at `taken_at`."""

    taken_at: float
    run_id: str | None
    policy: Policy
    primary: Side
    mirror: Side | None
    steps: tuple[Step, ...]
    """Newest step first; rolling names after them. Foreign names are not steps."""
    resume: ResumePoint | None
    space: Mapping[Role, Projection]
    shared_device: bool
    warnings: tuple[Warning, ...] = ()

    def side(self, role: Role) -> Side | None:
        return self.primary if role is Role.PRIMARY else self.mirror

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.primary,) if self.mirror is None else (self.primary, self.mirror)
