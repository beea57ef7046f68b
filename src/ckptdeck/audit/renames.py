"""Renames that give something new its name: synced before, durable after, on one file system?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ckptdeck.audit.examination import Examination, Subject
from ckptdeck.audit.finding import Finding
from ckptdeck.audit.known_calls import Moved, Proof, copied_by, opened_to_write, written_by
from ckptdeck.audit.module import argument_of
from ckptdeck.audit.rules import DIRECTORY, ELSEWHERE, RENAME
from ckptdeck.audit.trace import UNKNOWN, Mark, Trace
from ckptdeck.audit.words import Words, speaks_of_setting_aside

_BESIDE = (
    "Make it beside its target: `tempfile.mkstemp(dir=os.path.dirname(target))`; or `ckptdeck.publish`, "
    "`ckptdeck.publish_directory`"
)
_SYNC = (
    "`fh.flush(); os.fsync(fh.fileno())` before the rename and an fsync of the directory after it; or "
    "`ckptdeck.publish`, `ckptdeck.publish_directory`, which do both"
)
_SYNC_NAME = (
    "`fd = os.open(directory, os.O_RDONLY); os.fsync(fd); os.close(fd)` after the rename; or `ckptdeck.publish`"
)


@dataclass(frozen=True, slots=True)
class _Writing:
    """What wrote the thing that is renamed, as far as it is in the same function."""

    proof: Proof
    content: Trace


def find_renames(look: Examination) -> Iterator[Finding]:
    for call in look.module.calls:
        moved = look.moved_by(call)
        if moved is None:
            continue
        source, target, writing = look.trace(moved.source, call), look.trace(moved.target, call), _writing(look, moved)
        if not (source.has(Mark.TEMPORARY) or writing) or not _names_something_new(target):
            continue
        subject = look.subject(call, target, source, *([writing.content] if writing else []))
        if writing and writing.proof is Proof.ITSELF and subject is not Subject.OTHER:
            subject = Subject.CHECKPOINT
        move = f"`{moved.name}` to `{look.module.text_of(moved.target)}`"
        if source.has(Mark.ELSEWHERE):
            if subject >= Subject.PERHAPS:
                what = f"{move} of something made in the system's temporary directory"
                yield look.finding(ELSEWHERE, call, what, _BESIDE)
        elif writing and subject is Subject.CHECKPOINT:
            if not look.is_synced_before(call):
                yield look.finding(RENAME, call, f"{move} without an fsync of what was written", _SYNC)
            elif not look.is_synced_after(call):
                yield look.finding(DIRECTORY, call, f"{move} without an fsync of its directory afterwards", _SYNC_NAME)


def _names_something_new(target: Trace) -> bool:
    """Not a rename to a backup or to another temporary name."""
    return not (speaks_of_setting_aside(target.leaf) or target.has(Mark.TEMPORARY))


def _writing(look: Examination, moved: Moved) -> _Writing | None:
    """The writing of what is renamed; the surest of several."""
    source = look.trace(moved.source, moved.call)
    names = look.names_of(moved.source, moved.call)
    around = source.within if source.has(Mark.TEMPORARY) else names
    found = _Writing(Proof.NAMES, UNKNOWN) if source.has(Mark.OPENED) else None
    for call in look.calls_around(moved.call):
        if call.lineno <= moved.call.lineno and call is not moved.call:
            writing = _writes(look, call, names, around)
            if writing is not None and (found is None or found.content is UNKNOWN or writing.proof is Proof.ITSELF):
                found = writing
    return found


def _writes(look: Examination, call: ast.Call, names: Words, around: Words) -> _Writing | None:
    """How a call writes what goes by one of `names` or what is in it, or a directory `around` it; itself, or in a
    function of the same source that is passed the name."""
    direct = _target_of(look, call)
    if direct is not None:
        target, writing = direct
        written = look.names_of(target, call)
        mine = not names.isdisjoint(look.trace(target, call).within | written) or not around.isdisjoint(written)
        return writing if mine else None
    called = look.called(call)
    for name in called.parameters if called is not None else ():
        assert called is not None
        passed = argument_of(call, called, name)
        if passed is not None and not names.isdisjoint(look.names_of(passed, call)):
            for inner in called.calls:
                direct = _target_of(look, inner)
                if direct is not None and isinstance(direct[0], ast.Name) and direct[0].id == name:
                    return direct[1]
    return None


def _target_of(look: Examination, call: ast.Call) -> tuple[ast.expr, _Writing] | None:
    """Where a known save, copy or `open` writes to."""
    written = written_by(call, look.module)
    if written is not None:
        content = UNKNOWN if written.content is None else look.trace(written.content, call)
        return written.target, _Writing(written.writer.proof, content)
    copied = copied_by(call, look.module)
    if copied is not None and copied.name != "shutil.move":
        return copied.target, _Writing(Proof.NAMES, look.trace(copied.source, call))
    opened = opened_to_write(call, look.module)
    return None if opened is None else (opened[0], _Writing(Proof.NAMES, UNKNOWN))
