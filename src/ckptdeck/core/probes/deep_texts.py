"""How a full read says what it proved, and what it could not."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.amounts import counted
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_PROOF = "checksums"
_NOT_CHECKED = "values not checked"


def proven(quick: StructureFinding, size: int, what: str) -> StructureFinding:
    """Every byte of content is proven: what the quick look suspected is settled, but for bytes after the end."""
    end = size if quick.expected_size is None else quick.expected_size
    if quick.structure is Structure.SUSPECT and end < size:
        return too_many(quick, size, end, what, _PROOF)
    return StructureFinding(Structure.OK, quick.format, f"{what}: {size:,} bytes read", expected_size=end, proof=_PROOF)


def too_many(quick: StructureFinding, size: int, end: int, what: str, proof: str) -> StructureFinding:
    """Whole up to `end`, as `proof` has it, and something else follows."""
    return StructureFinding(
        Structure.SUSPECT,
        quick.format,
        f"{counted(size - end, 'byte')} too many: its content ends at byte {end:,}, the file at {size:,}; {what}",
        expected_size=end,
        proof=proof,
        loader_says="most readers say nothing and load the right values; something else was appended",
    )


def unprovable(quick: StructureFinding, why: str) -> StructureFinding:
    """The quick finding, saying that nothing inside the file can prove its values."""
    reason = f"values cannot be proven, as {why}"
    if _NOT_CHECKED in quick.text:
        return replace(quick, text=quick.text.replace(_NOT_CHECKED, reason))
    return replace(quick, text=f"{quick.text}; {reason}")
