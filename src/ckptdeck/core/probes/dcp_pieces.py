"""A part of a torch DCP checkpoint: pieces one after another, each what torch.save writes, a zip of its own.

Looked at from outside, both ends of each: the CRC-32 of the values is in there, and neither torch nor this reads it.
"""

from __future__ import annotations

from bisect import bisect_right

from ckptdeck.core.probes.dcp_metadata import Piece
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages
from ckptdeck.core.probes.reading import Damage, Reader, Section, is_zero
from ckptdeck.core.probes.torch_zip import check_archive
from ckptdeck.core.probes.zip_directory import LOCAL_MAGIC, data_offset
from ckptdeck.core.states import Structure

_HEAD, _TAIL = 2048, 4096
"""What is read of a piece at once: the pickle before the values, and the small members and tables behind them."""
_LARGEST_PICKLE = 256 * 1024

_BROKEN_MESSAGE = (
    'torch says "CheckpointException", and below it "PytorchStreamReader failed reading zip archive" or '
    '"Check the documentation of torch.load"; inside the values it says nothing'
)
_SILENT_MESSAGE = "torch says nothing and loads the zeros"


class _PieceReader(Section):
    """A piece as if it were a file, its two ends read once."""

    def __init__(self, outer: Reader, piece: Piece) -> None:
        super().__init__(outer, piece.offset, piece.end)
        self._tail_at = max(_HEAD, piece.length - _TAIL)
        if piece.length <= _HEAD + _TAIL:
            whole = outer.at(piece.offset, piece.length)
            self._head, self._tail = whole[:_HEAD], whole[_HEAD:]
        else:
            self._head = outer.at(piece.offset, _HEAD)
            self._tail = outer.at(piece.offset + self._tail_at, _TAIL)

    def at(self, offset: int, length: int) -> bytes:
        length = min(length, self.size - offset)
        if offset < 0 or length <= 0:
            return b""
        if offset + length <= len(self._head):
            return self._head[offset : offset + length]
        if offset >= self._tail_at:
            return self._tail[offset - self._tail_at : offset - self._tail_at + length]
        return super().at(offset, length)


def check_pieces(reader: Reader, path: str, pieces: list[Piece], most: int) -> int:
    """Looks at up to `most` of the pieces, spread over the part; how many. Raises Damage for the first misfit.

    Pieces that were written through a transformation are left alone.
    """
    stride = max(1, -(-len(pieces) // max(1, most)))
    looked_at = 0
    for piece in pieces[::stride]:
        if not piece.packed and piece.length and _is_archive(reader, path, piece):
            _check_piece(reader, path, piece)
            looked_at += 1
    if looked_at:
        _check_pages(reader, path, pieces)
    return looked_at


def _is_archive(reader: Reader, path: str, piece: Piece) -> bool:
    """Whether it begins as torch.save's does. Raises Damage for zeros: nothing that is written begins so."""
    begin = reader.at(piece.offset, 4)
    if begin and is_zero(begin):
        raise _damage(path, piece, "it begins with zeros, where the header of an archive should be")
    return begin == LOCAL_MAGIC


def _check_piece(reader: Reader, path: str, piece: Piece) -> None:
    inner = _PieceReader(reader, piece)
    try:
        directory = check_archive(inner, _LARGEST_PICKLE)
    except Damage as damage:
        raise _damage(path, piece, f"{damage.text}, counted from there") from damage
    if directory.end != piece.length:
        raise _damage(path, piece, f"its archive ends after {directory.end:,} bytes")


def _damage(path: str, piece: Piece, text: str) -> Damage:
    return Damage(
        Structure.BROKEN,
        f"{path}: the piece of {piece.name!r}, {piece.length:,} bytes at byte {piece.offset:,}: {text}",
        loader_says=_BROKEN_MESSAGE,
    )


def _check_pages(reader: Reader, path: str, pieces: list[Piece]) -> None:
    begins = [piece.offset for piece in pieces]

    def span_at(offset: int) -> Span | None:
        index = bisect_right(begins, offset) - 1
        if index < 0 or offset >= pieces[index].end:
            return None
        return _member_at(reader, path, pieces[index], offset)

    if lost := find_lost_pages(reader, 0, max(piece.end for piece in pieces), span_at):
        raise Damage(Structure.SUSPECT, f"{path}: {lost}", loader_says=_SILENT_MESSAGE)


def _member_at(reader: Reader, path: str, piece: Piece, offset: int) -> Span | None:
    """The member of a piece's archive that holds a byte of the part. Raises Damage."""
    if piece.packed or not _is_archive(reader, path, piece):
        return None
    inner = _PieceReader(reader, piece)
    try:
        for entry in check_archive(inner, _LARGEST_PICKLE).entries:
            begin = piece.offset + data_offset(inner, entry)
            if begin <= offset < begin + entry.stored:
                return Span(piece.name, begin, begin + entry.stored)
    except Damage as damage:
        raise _damage(path, piece, f"{damage.text}, counted from there") from damage
    return None
