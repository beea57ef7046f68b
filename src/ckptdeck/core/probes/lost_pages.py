"""Holes and zeros where values should be: what an interrupted write-back or a preallocated file leaves (G1, G2).

Real values hold zeros too, and sparse copies turn those into holes. What tells them apart: lost pages begin exactly at
a page boundary, wherever that falls inside a tensor; zeros that were written begin where a value does. So zeros count
as lost only when they start within one value of a page boundary, strictly inside a tensor. That is grounds for
suspicion, not proof.
"""

from __future__ import annotations

import errno
from bisect import bisect_right
from collections.abc import Callable, Sequence

from ckptdeck.core.probes.reading import PAGE, Reader, is_zero, zeros_at_end
from ckptdeck.core.values import dataclass

WIDEST_VALUE = 8
"""Bytes of the widest common value: as many zeros may stand before a boundary by right."""
_MOST_HOLES = 4096


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes of one tensor: `begin` up to, not including, `end`."""

    name: str
    begin: int
    end: int


FindSpan = Callable[[int], Span | None]
"""The tensor that holds the byte at this offset."""


def find_in(spans: Sequence[Span]) -> FindSpan:
    """Finds among `spans`, which lie in the order of the file and apart from each other."""
    begins = [span.begin for span in spans]

    def span_at(offset: int) -> Span | None:
        index = bisect_right(begins, offset) - 1
        return spans[index] if index >= 0 and offset < spans[index].end else None

    return span_at


def find_lost_pages(reader: Reader, begin: int, end: int, span_at: FindSpan) -> str:
    """What looks lost between `begin` and `end`, as a sentence; "" when nothing does."""
    for hole, stop in holes(reader, begin, end):
        if span := cut_inside(reader, hole, span_at):
            return (
                f"{stop - hole:,} bytes from byte {hole:,} on were never stored (a hole that reads as zeros), "
                f"inside {span.name!r} at bytes {span.begin:,} to {span.end:,}"
            )
    start = zero_tail(reader, begin, end)
    if start is None:
        return ""
    if start <= begin:
        return f"all {end - begin:,} bytes of data read as zeros" if end - begin >= PAGE else ""
    if span := cut_inside(reader, start, span_at):
        return (
            f"the last {end - start:,} bytes, from the page at byte {start:,} on, read as zeros; "
            f"that begins inside {span.name!r} at bytes {span.begin:,} to {span.end:,}"
        )
    return ""


def holes(reader: Reader, begin: int, end: int) -> list[tuple[int, int]]:
    """(start, stop) of what the file system does not store in the range; none where it cannot say."""
    found: list[tuple[int, int]] = []
    position = begin
    while position < end and len(found) < _MOST_HOLES:
        try:
            start = reader.fs.next_hole(reader.fd, position)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTSUP, errno.ENXIO):
                break
            raise
        if start >= end:
            break
        position = min(_data_after(reader, start, end), end)
        found.append((start, position))
    return found


def zero_tail(reader: Reader, begin: int, end: int) -> int | None:
    """Where the zeros that fill the last page before `end` begin: `begin`, or a page boundary. None without such.

    Pages are looked at ever further apart going back, then the first zero one is searched between two looks, so a
    tail of gigabytes costs some hundred kilobytes.
    """
    first = -(-begin // PAGE)
    last = (end - 1) // PAGE
    if last < first or not _zero_page(reader, last, end):
        return None
    zero, nonzero, stride = last, first - 1, 1
    while zero > first:
        page = max(first, last - stride)
        if not _zero_page(reader, page, end):
            nonzero = page
            break
        zero, stride = page, stride * 2
    while zero - nonzero > 1:
        page = (zero + nonzero) // 2
        if _zero_page(reader, page, end):
            zero = page
        else:
            nonzero = page
    if zero == first and is_zero(reader.at(begin, first * PAGE - begin)):
        return begin
    return zero * PAGE


def cut_inside(reader: Reader, boundary: int, span_at: FindSpan) -> Span | None:
    """The tensor that zeros from `boundary` on cut in two, when they cannot be zeros of its own."""
    span = span_at(boundary)
    if span is None or span.begin >= boundary:
        return None
    look = min(boundary - span.begin, WIDEST_VALUE + 1)
    before = zeros_at_end(reader.at(boundary - look, look))
    own = before > WIDEST_VALUE or before == boundary - span.begin
    return None if own else span


def _zero_page(reader: Reader, page: int, end: int) -> bool:
    return is_zero(reader.at(page * PAGE, min(PAGE, end - page * PAGE)))


def _data_after(reader: Reader, offset: int, end: int) -> int:
    try:
        return reader.fs.next_data(reader.fd, offset)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return end
        raise
