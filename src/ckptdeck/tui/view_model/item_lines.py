"""The items of a plan as lines that are made when they are shown: a plan over 10,000 opens as fast as a small one.

How many lines an item takes has to be known beforehand; reasons are few, and each is wrapped once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import overload

from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.safe_text import visible
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, line, pad, wrap

ACT_WORDS = {
    Act.RECORD: "record",
    Act.COPY: "copy",
    Act.REPAIR: "repair",
    Act.FINISH: "finish",
    Act.DISCARD: "discard",
    Act.QUARANTINE: "set aside",
    Act.DELETE: "delete",
    Act.VERIFY: "hash first",
    Act.PURGE: "purge",
    Act.PUT_BACK: "put back",
    Act.RETIRE: "retire",
    Act.POINTER: "pointer",
    Act.MARK_BAD: "mark bad",
    Act.UNMARK_BAD: "not bad",
    Act.KEEP: "keep",
    Act.SKIP: "stopped",
}
ACT_INKS = {
    Act.DELETE: Ink.BAD,
    Act.PURGE: Ink.BAD,
    Act.RETIRE: Ink.WARN,
    Act.DISCARD: Ink.WARN,
    Act.QUARANTINE: Ink.WARN,
    Act.REPAIR: Ink.WARN,
    Act.MARK_BAD: Ink.WARN,
}
_NARROWEST = 24
"""Cells a reason needs to stand beside its item; with less it stands below."""


class Runs(Sequence[Line]):
    """Lines that come in runs, one after the other; a run is made when one of its lines is asked for."""

    def __init__(self, lengths: Iterable[int]) -> None:
        self._ends = list(accumulate(lengths))

    def _run(self, number: int) -> Sequence[Line]:
        raise NotImplementedError

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, wanted: int) -> Line: ...
    @overload
    def __getitem__(self, wanted: slice) -> tuple[Line, ...]: ...
    def __getitem__(self, wanted: int | slice) -> Line | tuple[Line, ...]:
        if isinstance(wanted, slice):
            return tuple(self[place] for place in range(*wanted.indices(len(self))))
        if not -len(self) <= wanted < len(self):
            raise IndexError(wanted)
        place = wanted % len(self)
        number = bisect_right(self._ends, place)
        return self._run(number)[place - (self._ends[number - 1] if number else 0)]


class Together(Runs):
    """Several runs of lines as one."""

    def __init__(self, *parts: Sequence[Line]) -> None:
        self._parts = parts
        super().__init__(map(len, parts))

    def _run(self, number: int) -> Sequence[Line]:
        return self._parts[number]


class ItemLines(Runs):
    """One item after the other; `sided` when they are not all on one side."""

    def __init__(self, items: Sequence[PlanItem], width: int, *, sided: bool) -> None:
        self._items = items
        self._width = width
        self._side_width = 9 if sided else 0
        self._names = min(max(len(visible(item.checkpoint)) for item in items), max(12, width // 3))
        self._column = 2 + 10 + self._names + 2 + self._side_width + 6 + 2
        self._beside = width - self._column >= _NARROWEST
        self._wrapped: dict[str, tuple[Line, ...]] = {}
        super().__init__(len(self._reason(item)) + (not self._beside) for item in items)

    def _run(self, number: int) -> Sequence[Line]:
        item = self._items[number]
        head, reason = self._head(item), self._reason(item)
        if not self._beside:
            return (head, *reason)
        first, *rest = reason
        return ((*head, Piece("  "), *first), *((Piece(" " * self._column), *part) for part in rest))

    def _head(self, item: PlanItem) -> Line:
        ink = Ink.MUTED if not item.acts else ACT_INKS.get(item.act, Ink.ACCENT)
        return line(
            Piece(f"  {pad(ACT_WORDS[item.act], 10)}", ink),
            Piece(pad(visible(item.checkpoint, self._names), self._names), Ink.STRONG if item.acts else Ink.PLAIN),
            Piece(f"  {pad(_direction(item), self._side_width)}", Ink.MUTED),
            pad(measures.size(item.size) if item.size else "", 6, right=True),
        )

    def _reason(self, item: PlanItem) -> tuple[Line, ...]:
        """Why, in lines; what stands before it already is left out."""
        reason = item.reason.removeprefix(f"{visible(item.checkpoint)}, ")
        reason = f"{reason} ({item.guard})" if item.guard else reason
        if reason not in self._wrapped:
            self._wrapped[reason] = self._wrap(reason)
        return self._wrapped[reason]

    def _wrap(self, reason: str) -> tuple[Line, ...]:
        if self._beside:
            return wrap(line(reason), self._width - self._column) or (BLANK,)
        return wrap(line(f"    {reason}"), self._width, indent="    ")


def _direction(item: PlanItem) -> str:
    return f"→ {item.side}" if item.act in (Act.COPY, Act.REPAIR) else str(item.side)
