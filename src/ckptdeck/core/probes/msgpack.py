"""P9: flax's msgpack. One table of tables; arrays are extensions that hold shape, type and bytes.

Proves the exact end: the outermost table closes where the file ends. Blind to the bytes of arrays. The format has no
magic, so a file that does not bear its name is held to it only after a whole array has been found in it.
"""

from __future__ import annotations

import re

from ckptdeck.core.probes.array_types import count_values
from ckptdeck.core.probes.lost_pages import Span, find_in, find_lost_pages
from ckptdeck.core.probes.reading import PAGE, Damage, Reader, TooLarge, is_zero
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

FORMAT = "flax-msgpack"
EXTENSION = ".msgpack"

_FLAX_NAME = re.compile(r"checkpoint_[0-9]+", re.ASCII)
_MOST_VALUES = 3_000_000
_VALUES_BETWEEN_CHECKS = 1 << 14
_LONGEST_KEY = 4096
_LONGEST_SHAPE = 1024
_ARRAY_EXTENSIONS = (1, 3)
"""flax's arrays, and single values of numpy types in the same notation."""

_CUT_MESSAGE = 'flax says "ValueError: Unpack failed: incomplete input"'
_EXTRA_MESSAGE = 'flax says "ExtraData: unpack(b) received extra data"'
_BROKEN_MESSAGE = 'flax says "Unpack failed", "int is not allowed for map key" or "unpack(b) received extra data"'
_SILENT_MESSAGE = "flax says nothing and loads the zeros"

_TYPE = re.compile(
    r"(?P<kind>bool|b?float|u?int|complex|str|bytes|void|datetime|timedelta)(?P<bits>[0-9]*).*", re.ASCII
)


def looks_like_msgpack(head: bytes, name: str) -> bool:
    """A table by its first byte whose first key is text; of a file with the extension, any table."""
    header = _HEADERS.get(head[0]) if head else None
    if header is None or header.what != "table":
        return False
    if name.endswith(EXTENSION):
        return True
    first_key = _HEADERS.get(head[1 + header.width]) if len(head) > 1 + header.width else None
    return first_key is not None and first_key.what == "text"


def probe_msgpack(reader: Reader, name: str) -> StructureFinding:
    """Whether the outermost table fills the file exactly, and whether pages look lost. Raises TooLarge."""
    walk = _Walk(reader)
    try:
        walk.run()
        _check_end(reader, walk)
    except Damage as damage:
        if not walk.arrays and not name.endswith(EXTENSION) and not is_named_by_flax(name):
            return StructureFinding(Structure.UNKNOWN, "", "no known format")
        expected = walk.place if walk.closed else None
        return StructureFinding(
            damage.structure,
            FORMAT,
            damage.text,
            expected_size=expected,
            proof="none" if expected is None else "exact-size",
            loader_says=damage.loader_says or _BROKEN_MESSAGE,
        )
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, exactly up to the end of its table; {walk.arrays:,} arrays as long as their shapes "
        "say; values not checked",
        expected_size=reader.size,
        proof="exact-size",
    )


def payload_spans(reader: Reader) -> list[Span]:
    """The values of a page or more, in the order of their place. Raises Damage, TooLarge."""
    walk = _Walk(reader)
    walk.run()
    return walk.spans()


def is_named_by_flax(name: str) -> bool:
    """Whether flax names its checkpoints so; others do too."""
    return _FLAX_NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class _Header:
    """What a first byte announces: a length in itself, or in the `width` bytes that follow it."""

    what: str
    """"text", "bytes", "extension", "list", "table", or "plain" for a value of `length` bytes."""
    length: int = 0
    width: int = 0


def _headers() -> dict[int, _Header]:
    table = {byte: _Header("plain") for byte in (*range(0x80), 0xC0, 0xC2, 0xC3, *range(0xE0, 0x100))}
    table |= {0x80 + length: _Header("table", length) for length in range(16)}
    table |= {0x90 + length: _Header("list", length) for length in range(16)}
    table |= {0xA0 + length: _Header("text", length) for length in range(32)}
    for what, first, widths in (
        ("bytes", 0xC4, (1, 2, 4)),
        ("extension", 0xC7, (1, 2, 4)),
        ("text", 0xD9, (1, 2, 4)),
        ("list", 0xDC, (2, 4)),
        ("table", 0xDE, (2, 4)),
    ):
        table |= {first + index: _Header(what, 0, width) for index, width in enumerate(widths)}
    for first, lengths in ((0xCA, (4, 8)), (0xCC, (1, 2, 4, 8)), (0xD0, (1, 2, 4, 8))):
        table |= {first + index: _Header("plain", length) for index, length in enumerate(lengths)}
    return table | {0xD4 + index: _Header("extension", 1 << index) for index in range(5)}


_HEADERS = _headers()


class _Walk:
    """A place in the file that steps from value to value; nothing but headers, keys and shapes is read."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.place = 0
        self.arrays = 0
        self.closed = False
        """The outermost value was found whole."""
        self.payloads: list[tuple[int, int]] = []

    def run(self) -> None:
        """Walks the outermost value. Raises Damage, TooLarge."""
        open_values: list[tuple[int, bool]] = [(1, False)]
        """(values that are left, whether every second one from here is a key) of what is open."""
        steps = 0
        while open_values:
            left, table = open_values.pop()
            if left == 0:
                continue
            steps += 1
            if steps % _VALUES_BETWEEN_CHECKS == 0:
                self.reader.effort.check()
                if steps > _MOST_VALUES:
                    raise TooLarge
            open_values.append((left - 1, table))
            if table and left % 2 == 0:
                self._step_over_key()
            elif inner := self._step_over_value():
                open_values.append(inner)
        self.closed = True

    def spans(self) -> list[Span]:
        return [Span(f"value at byte {begin:,}", begin, end) for begin, end in self.payloads]

    def _step_over_key(self) -> None:
        start = self.place
        header, length = self._header()
        if header.what != "text" or length > _LONGEST_KEY:
            found = "zeros" if is_zero(self.reader.near(start, 8)) else "something else"
            raise Damage(Structure.BROKEN, f"byte {start:,} should hold the name of a value; found {found}")
        self._skip(length)

    def _step_over_value(self) -> tuple[int, bool] | None:
        start = self.place
        header, length = self._header()
        if header.what in ("list", "table"):
            self._require(length)
            return (2 * length, True) if header.what == "table" else (length, False)
        if header.what == "extension":
            kind = self.reader.near(self.place, 1)
            self._skip(1)
            if kind and kind[0] in _ARRAY_EXTENSIONS:
                self._step_over_array(start, self.place + length)
                return None
        self._skip(length)
        return None

    def _step_over_array(self, start: int, end: int) -> None:
        """(shape, type, bytes), which agree with each other and with the length of the extension."""
        outer, parts = self._header()
        shape = self._shape() if (outer.what, parts) == ("list", 3) else None
        notation, length = self._header() if shape is not None else (outer, 0)
        if shape is None or notation.what != "text" or length > _LONGEST_KEY:
            raise Damage(Structure.BROKEN, f"the array at byte {start:,} has no shape and type")
        text = self.reader.near(self.place, length).decode("utf-8", "replace")
        self._skip(length)
        data, length = self._header()
        width, values = _width(text), count_values(shape)
        if data.what not in ("bytes", "text") or self.place + length != end:
            raise Damage(Structure.BROKEN, f"the array at byte {start:,} does not end where it says")
        if values is None or (width is not None and values * width != length):
            raise Damage(
                Structure.BROKEN,
                f"the array at byte {start:,} is {values or 0:,} values of {text!r}, and holds {length:,} bytes",
            )
        self._skip(length)
        self.arrays += 1

    def _shape(self) -> tuple[int, ...] | None:
        header, length = self._header()
        if header.what != "list" or length > _LONGEST_SHAPE:
            return None
        return tuple(self._integer() for _ in range(length))

    def _integer(self) -> int:
        """An unsigned number; -1 for any other value."""
        place = self.place
        header, length = self._header()
        raw = self.reader.near(place, 1 + length)
        self._skip(length)
        if header.what != "plain" or not raw:
            return -1
        if raw[0] < 0x80:
            return raw[0]
        return int.from_bytes(raw[1:], "big") if 0xCC <= raw[0] <= 0xCF else -1

    def _header(self) -> tuple[_Header, int]:
        """What the next value is and its length, which for extensions does not count their kind."""
        raw = self.reader.near(self.place, 1)
        if not raw:
            raise self._ends(1)
        header = _HEADERS.get(raw[0])
        if header is None:
            raise Damage(Structure.BROKEN, f"byte {self.place:,} holds 0x{raw[0]:02x}, which begins no value")
        self._skip(1)
        if not header.width:
            return header, header.length
        length = int.from_bytes(self.reader.near(self.place, header.width), "big")
        self._skip(header.width)
        return header, length

    def _skip(self, length: int) -> None:
        self._require(length)
        if length >= PAGE:
            self.payloads.append((self.place, self.place + length))
        self.place += length

    def _require(self, length: int) -> None:
        if self.place + length > self.reader.size:
            raise self._ends(length)

    def _ends(self, length: int) -> Damage:
        return Damage(
            Structure.CUT,
            f"cut off at {self.reader.size:,} bytes: byte {self.place:,} asks for {length:,} more, "
            f"{self.reader.size - self.place:,} are left",
            loader_says=_CUT_MESSAGE,
        )


def _width(text: str) -> int | None:
    """Bytes per value of a type by numpy's name for it; types of less than a byte are stored in one."""
    match = _TYPE.fullmatch(text)
    if match is None:
        return None
    if match["kind"] == "bool":
        return 1
    return max(1, int(match["bits"][:9]) // 8) if match["bits"] else None


def _check_end(reader: Reader, walk: _Walk) -> None:
    if walk.place < reader.size:
        raise Damage(
            Structure.BROKEN,
            f"{reader.size - walk.place:,} bytes too many: its table ends at byte {walk.place:,}, the file at "
            f"{reader.size:,}",
            loader_says=_EXTRA_MESSAGE,
        )
    if lost := find_lost_pages(reader, 0, reader.size, find_in(walk.spans())):
        raise Damage(Structure.SUSPECT, lost, loader_says=_SILENT_MESSAGE)
