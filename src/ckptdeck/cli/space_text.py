"""The outlook as people read it: the answer, both volumes side by side, what to do, and what other retentions need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ckptdeck.cli.text import Paint, cell_width, paint_plain
from ckptdeck.core.amounts import counted, moment_text, size_text, span_text
from ckptdeck.core.outlook import Outlook, WhatIf, largest_keep
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sides import Side, Survey
from ckptdeck.core.space_advice import advice, answer, separate, upto
from ckptdeck.core.states import Role

Retentions = Sequence[tuple[int, Mapping[Role, Outlook]]]
"""For each N, the outlook of every side."""


def space_lines(
    survey: Survey,
    outlooks: Mapping[Role, Outlook],
    retentions: Retentions,
    what_if: WhatIf,
    paint: Paint = paint_plain,
) -> Iterator[str]:
    tight = any(one.fits is not None and one.fits < 2 for one in outlooks.values())
    yield paint(answer(survey, outlooks), "bad" if tight else "strong")
    assumed = list(_assumed(what_if))
    if assumed:
        yield f"as if {', '.join(assumed)}"
    yield ""
    yield from _aligned([_side_cells(side) for side in survey.sides])
    volumes = separate(survey, outlooks)
    if any(one.fits is not None for one in volumes.values()):
        yield ""
        yield from _aligned(_figures(volumes, survey.taken_at))
        yield ""
        yield paint("WHAT TO DO", "strong")
        yield from (f"  {sentence}" for sentence in advice(survey, outlooks) or ["nothing"])
        yield ""
        yield paint("RETENTIONS", "strong")
        yield from _aligned(_retention_cells(survey, outlooks, retentions), indent="  ")
    if volumes:
        yield ""
        yield paint("WHAT THIS RESTS ON", "strong")
        yield from _aligned(_basis_cells(volumes), indent="  ")


def _assumed(what_if: WhatIf) -> Iterator[str]:
    if what_if.keep_last is not None:
        yield f"the retention were keep {what_if.keep_last}"
    if what_if.interval is not None:
        yield f"a save came every {span_text(what_if.interval)}"
    if what_if.size is not None:
        yield f"a save took {size_text(what_if.size)}"
    if what_if.steps_left is not None:
        yield f"{counted(what_if.steps_left, 'step')} were left"


def _side_cells(side: Side) -> list[str]:
    inventory = side.inventory
    cells = [side.role.value, visible(inventory.root)]
    volume = inventory.volume
    if volume is None or not inventory.condition.readable:
        return [*cells, inventory.condition.words.upper(), visible(inventory.why)]
    free = f"{'about ' if volume.optimistic else ''}{size_text(volume.free)} free of {size_text(volume.total)}"
    return [*cells, volume.fs_type, free]


def _figures(volumes: Mapping[str, Outlook], now: float) -> list[list[str]]:
    """A row per question, a column per volume."""
    first = next(iter(volumes.values()))
    heads = [who.removeprefix("the ") for who in volumes]
    rows: list[tuple[str, Callable[[Outlook], str]]] = [
        ("one save", _save),
        ("more that fit", lambda one: _number(one.fits)),
        ("  full", lambda one: _when(one.full_at, now)),
        ("prune now frees", _frees),
        ("  then fit", lambda one: _number(one.fits_pruned)),
        ("  then full", lambda one: _when(one.full_at_pruned, now)),
        (f"keep {first.keep_last} needs", _peak),
        ("  full with it", lambda one: _when_kept(one, now)),
        ("most that fits", lambda one: "?" if one.largest_keep is None else f"keep {one.largest_keep:,}"),
    ]
    if first.saves_left is not None:
        rows += [
            (f"{counted(first.saves_left, 'save')} to come", lambda one: _fits(one.rest_fits)),
            (f"  with keep {first.keep_last}", lambda one: _fits(one.rest_fits_kept)),
        ]
    return [["", *heads], *([label, *map(say, volumes.values())] for label, say in rows)]


def _retention_cells(survey: Survey, outlooks: Mapping[Role, Outlook], retentions: Retentions) -> Iterator[list[str]]:
    chosen = next(iter(outlooks.values())).keep_last
    most = largest_keep(outlooks)
    yield ["", "keep", "needs", *(who.removeprefix("the ") for who in separate(survey, outlooks))]
    for keep_last, found in retentions:
        each = separate(survey, found).values()
        needs = max((one.peak_need for one in each if one.peak_need is not None), default=None)
        mark = ">" if keep_last == chosen else ""
        note = "the most that fits" if keep_last == most else ""
        yield [mark, f"{keep_last:,}", "?" if needs is None else size_text(needs), *map(_retention, each), note]


def _retention(one: Outlook) -> str:
    if one.kept_spare is None:
        return "?"
    if one.kept_spare < 0:
        return f"NO, {size_text(-one.kept_spare)} short"
    return f"fits, frees {upto(one)}{size_text(one.frees)}" if one.frees else "fits"


def _basis_cells(volumes: Mapping[str, Outlook]) -> Iterator[list[str]]:
    for who, one in volumes.items():
        for number, text in enumerate(one.basis):
            yield ["" if number else who.removeprefix("the "), visible(text)]


def _save(one: Outlook) -> str:
    size = "?" if one.size is None else size_text(one.size)
    return size if one.interval is None else f"{size} every {span_text(one.interval)}"


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _when(at: float | None, now: float) -> str:
    if at is None:
        return "?"
    return f"in {span_text(at - now)}, {moment_text(at)}" if at > now else "NOW"


def _when_kept(one: Outlook, now: float) -> str:
    if one.kept_fits and one.full_at_kept is None:
        return "never" if one.others.known else "never by its own saves"
    return _when(one.full_at_kept, now)


def _frees(one: Outlook) -> str:
    return f"{upto(one)}{size_text(one.frees)}" if one.frees else "nothing"


def _peak(one: Outlook) -> str:
    if one.peak_need is None or one.kept_spare is None:
        return "?"
    lacking = "" if one.kept_spare >= 0 else f", {size_text(-one.kept_spare)} short"
    return f"{size_text(one.peak_need)}, {_fits(one.kept_fits)}{lacking}"


def _fits(fits: bool | None) -> str:
    return {True: "fits", False: "DOES NOT FIT", None: "?"}[fits]


def _aligned(rows: Iterable[Sequence[str]], indent: str = "") -> Iterator[str]:
    """Cells below each other; the last one of a row is as long as it is."""
    listed = list(rows)
    columns = max(map(len, listed), default=0)
    widths = [
        max((cell_width(row[column]) for row in listed if column < len(row) - 1), default=0)
        for column in range(columns)
    ]
    for row in listed:
        cells = (cell + " " * (width - cell_width(cell)) for cell, width in zip(row, widths, strict=False))
        yield (indent + "  ".join(cells)).rstrip()
