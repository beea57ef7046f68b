"""Whole pages of zeros in the midst of values (G4): the trace of pages that were lost though the size is right.

For files that hold no checksum. Values hold zeros too, whole rows and tensors of them, so a run counts as lost only
when everything says that no value begins or ends it. It begins and ends at page boundaries, give or take the zero bytes
of one value. It begins strictly inside a tensor and does not end where one ends. That tensor does not begin at an
even place, from where whole rows fall on page boundaries by right. And no other run of zeros in it shows that it has
zeros of its own, as tables with unused rows do. Even then it is grounds for suspicion, never proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.lost_pages import WIDEST_VALUE, FindSpan, Span, cut_inside, find_in
from ckptdeck.core.probes.reading import MIB, PAGE, is_zero

_MOST_RUNS = 4096
"""More runs of zero pages than this are nobody's loss."""
_MOST_TENSORS = 16
"""As many may be read again for zeros of their own."""
_EVEN = 512
"""A tensor that begins at a multiple of it has rows that begin at page boundaries sooner or later."""
_OWN_ZEROS = 64
"""Bytes; as many zeros in a row come from no value that is not zero."""
_LOOKED_THROUGH = 32 * MIB
"""On either side of a run, for zeros that are the tensor's own."""

_ZERO_PAGE = bytes(PAGE)
_ZEROS = bytes(_OWN_ZEROS)
_SOMETHING = re.compile(rb"[^\0]")


def find_lost_runs(reader: LongReader, spans: Sequence[Span]) -> str:
    """What looks lost inside the tensors, as a sentence; "" when nothing does. `spans` lie in the order of the file."""
    if not spans:
        return ""
    span_at = find_in(spans)
    runs = []
    for run in _zero_pages(reader, spans[0].begin // PAGE * PAGE, spans[-1].end):
        runs.append(run)
        if len(runs) > _MOST_RUNS:
            return ""
    own: dict[Span, bool] = {}
    """Whether a tensor has zeros of its own."""
    for begin, end in runs:
        span = cut_inside(reader, begin, span_at)
        if span is None or span.begin % _EVEN == 0 or _ends_as_a_value(reader, end, span_at):
            continue
        if span not in own and len(own) == _MOST_TENSORS:
            break
        if span not in own:
            own[span] = _has_zeros_of_its_own(reader, span, begin, end)
        if not own[span]:
            return (
                f"{end - begin:,} bytes from byte {begin:,} on read as zeros: whole pages, with values right before "
                f"and after them, inside {span.name!r} at bytes {span.begin:,} to {span.end:,}"
            )
    return ""


def _zero_pages(reader: LongReader, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of each run of pages that hold nothing but zeros, from the page boundary `begin` on."""
    start: int | None = None
    place, data = begin, b""
    for piece in reader.pieces(begin, end // PAGE * PAGE):
        data += piece
        whole = len(data) // PAGE * PAGE
        for page in range(0, whole, PAGE):
            if data.startswith(_ZERO_PAGE, page):
                start = place + page if start is None else start
            elif start is not None:
                yield start, place + page
                start = None
        place += whole
        data = data[whole:]
    if start is not None:
        yield start, place


def _ends_as_a_value(reader: LongReader, end: int, span_at: FindSpan) -> bool:
    """Whether the zeros that fill the pages up to `end` go on for more than a value, or end with a tensor."""
    span = span_at(end - 1)
    return span is None or span.end <= end + WIDEST_VALUE or is_zero(reader.at(end, WIDEST_VALUE + 1))


def _has_zeros_of_its_own(reader: LongReader, span: Span, begin: int, end: int) -> bool:
    """Whether zeros in the tensor, near the run, begin or end where no page does."""
    lower, upper = max(span.begin, begin - _LOOKED_THROUGH), min(span.end, end + _LOOKED_THROUGH)
    return any(not _on_pages(start, stop) for start, stop in _zero_runs(reader, lower, upper))


def _on_pages(start: int, stop: int) -> bool:
    """Whether zeros are whole pages, give or take the zero bytes of one value on either side."""
    first = -(-start // PAGE) * PAGE
    return first - start <= WIDEST_VALUE and stop % PAGE <= WIDEST_VALUE and first < stop // PAGE * PAGE


def _zero_runs(reader: LongReader, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of each run of zeros that no value explains, between these bytes."""
    start: int | None = None
    place, before = begin, b""
    for piece in reader.pieces(begin, end):
        data = before + piece
        base, position = place - len(before), 0
        place += len(piece)
        while True:
            if start is None:
                found = data.find(_ZEROS, position)
                if found < 0:
                    break
                start, position = base + found, found + _OWN_ZEROS
            something = _SOMETHING.search(data, position)
            if something is None:
                break
            yield start, base + something.start()
            start, position = None, something.start()
        before = data[max(position, len(data) - _OWN_ZEROS + 1) :] if start is None else b""
    if start is not None:
        yield start, place
