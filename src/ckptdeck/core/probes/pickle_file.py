"""P10: pickles of protocol 0 to 5, joblib's among them (P11). Walked opcode by opcode; nothing is built or imported.

Proves the exact end: STOP is where the file ends. Blind to what lies in byte strings and arrays, which are stepped
over.
"""

from __future__ import annotations

import re

from ckptdeck.core.probes.joblib import ArrayOfUnknownSize, JoblibWalk
from ckptdeck.core.probes.lost_pages import Span, find_in, find_lost_pages, zero_tail
from ckptdeck.core.probes.pickle_bytes import PickleDamage, PickleEnds
from ckptdeck.core.probes.pickle_walk import PickleTooLong
from ckptdeck.core.probes.reading import Damage, Reader, TooLarge, is_zero
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

EXTENSIONS = (".pkl", ".pickle", ".joblib")
JOBLIB_EXTENSION = ".joblib"

_MAGIC = re.compile(rb"\x80[\x02-\x05]", re.DOTALL)
_FIRST_OF_OLD_PROTOCOLS = b"(])}cNIJKLMFGSTUVX"
"""What a pickle without a magic, of protocol 0 or 1, begins with."""
_TOO_SOON = 64
"""Bytes within which a file that has no magic shows itself to be something else."""

_RANDOM_STATES = re.compile(r"random_states_[0-9]+\.pkl", re.ASCII)
_RANDOM_STATES_MESSAGE = (
    'accelerate says nothing but "Could not load random states", among its notes, and goes on with other random numbers'
)
_ZEROS_MESSAGE = {
    "pickle": "pickle.load says \"invalid load key, '\\x00'\"",
    "joblib": 'joblib.load says "KeyError: 0"',
}
_CUT_MESSAGE = {
    "pickle": 'pickle.load says "pickle data was truncated" or "EOFError: Ran out of input"',
    "joblib": 'joblib.load says "EOFError" or "Reading from <file>: EOF: reading array data"',
}
_DAMAGED_MESSAGE = {
    "pickle": 'pickle.load says "invalid load key" or "pickle data was truncated", or loads wrong values',
    "joblib": 'joblib.load says "KeyError" with a number, or loads wrong values',
}


def looks_like_pickle(head: bytes, name: str) -> bool:
    """By its magic; protocols 0 and 1 have none, so by their name and a first byte they begin with."""
    if _MAGIC.match(head):
        return True
    return name.endswith(EXTENSIONS) and head[:1] in _FIRST_OF_OLD_PROTOCOLS


def probe_pickle(reader: Reader, name: str) -> StructureFinding:
    """Whether a pickle, or several, fill the file exactly, and whether pages look lost. Raises TooLarge."""
    walk = JoblibWalk(reader.at, 0, reader.size)
    try:
        walk.run(reader.effort)
    except PickleTooLong as error:
        raise TooLarge from error
    except ArrayOfUnknownSize:
        return StructureFinding(Structure.UNKNOWN, "joblib", "an array in it is of a type whose size is not known")
    except PickleDamage as error:
        return _damaged(reader, name, walk, error)
    kind = _kind(name, walk)
    end = walk.position
    try:
        count = 1 + _count_others(reader, walk)
        _check_pages(reader, walk, kind, end)
        if count == 1 and end < reader.size:
            raise Damage(
                Structure.SUSPECT,
                f"{reader.size - end:,} bytes too many: the pickle ends at byte {end:,}, the file at {reader.size:,}",
                loader_says=f"{kind}.load says nothing and loads the right values; something else was appended",
            )
    except Damage as damage:
        return StructureFinding(
            damage.structure,
            kind,
            damage.text,
            expected_size=end,
            proof="exact-size",
            loader_says=damage.loader_says,
        )
    what = f"{walk.arrays:,} arrays among them; " if walk.arrays else ""
    several = f"{count:,} pickles one after another, of which a loader reads the first; " if count > 1 else ""
    return StructureFinding(
        Structure.OK,
        kind,
        f"{reader.size:,} bytes, exactly up to the end its opcodes have; {what}{several}values not checked",
        expected_size=reader.size,
        proof="exact-size",
    )


def payload_spans(reader: Reader) -> list[Span]:
    """The byte strings and arrays of a page or more of the first pickle, in the order of their place.

    None where one is of a length that cannot be told. Raises Damage, TooLarge.
    """
    walk = JoblibWalk(reader.at, 0, reader.size)
    try:
        walk.run(reader.effort)
    except PickleTooLong as error:
        raise TooLarge from error
    except ArrayOfUnknownSize:
        return []
    except PickleDamage as error:
        raise Damage(Structure.BROKEN, f"no whole pickle: {error}") from error
    return _spans(walk)


def _spans(walk: JoblibWalk) -> list[Span]:
    return [Span(f"value at byte {begin:,}", begin, end) for begin, end in walk.payloads]


def _kind(name: str, walk: JoblibWalk) -> str:
    return "joblib" if walk.arrays or name.endswith(JOBLIB_EXTENSION) else "pickle"


def _damaged(reader: Reader, name: str, walk: JoblibWalk, error: PickleDamage) -> StructureFinding:
    """What the walk stumbled over: the end of the file, zeros, or something that is no pickle."""
    if walk.position < _TOO_SOON and not _MAGIC.match(reader.near(0, 2)):
        return StructureFinding(Structure.UNKNOWN, "", f"named as a pickle, but no known format ({error})")
    kind = _kind(name, walk)
    structure, text, message = Structure.BROKEN, f"no whole pickle: {error}", _DAMAGED_MESSAGE[kind]
    zeros = zero_tail(reader, 0, reader.size)
    if zeros is not None:
        text = f"the last {reader.size - zeros:,} of {reader.size:,} bytes read as zeros; {error}"
        message = _ZEROS_MESSAGE[kind]
    elif isinstance(error, PickleEnds):
        structure, text = Structure.CUT, f"cut off at {reader.size:,} bytes: {error}"
        message = _CUT_MESSAGE[kind]
    elif is_zero(reader.at(walk.position, 8)):
        message = _ZEROS_MESSAGE[kind]
    if _RANDOM_STATES.fullmatch(name):
        message = _RANDOM_STATES_MESSAGE
    return StructureFinding(structure, kind, text, loader_says=message)


def _count_others(reader: Reader, walk: JoblibWalk) -> int:
    """How many whole pickles follow the first and fill the file; 0 when anything else does."""
    count = 0
    try:
        while walk.position < reader.size:
            walk.begin_another()
            walk.run(reader.effort)
            count += 1
    except (PickleDamage, PickleTooLong, ArrayOfUnknownSize):
        return 0
    return count


def _check_pages(reader: Reader, walk: JoblibWalk, kind: str, end: int) -> None:
    if lost := find_lost_pages(reader, 0, end, find_in(_spans(walk))):
        raise Damage(Structure.SUSPECT, lost, loader_says=f"{kind}.load says nothing and loads the zeros")
