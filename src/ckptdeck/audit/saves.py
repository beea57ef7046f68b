"""Saves that go straight to a final name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ckptdeck.audit.examination import Examination, Subject
from ckptdeck.audit.finding import Finding
from ckptdeck.audit.known_calls import Proof, Written, makes_directory, opened_to_write, written_by
from ckptdeck.audit.rules import SAVE
from ckptdeck.audit.trace import UNKNOWN, Mark
from ckptdeck.audit.words import (
    names_a_checkpoint,
    speaks_of_pointer,
    speaks_of_something_else,
    split,
)

_SEVERAL = "; files that make one checkpoint together all go into one `with ckptdeck.publish_directory(...)`"


def find_saves(look: Examination) -> Iterator[Finding]:
    used: set[int] = set()
    for call in look.module.calls:
        written = written_by(call, look.module)
        if written is None:
            continue
        target = look.trace(written.target, call)
        if _is_save(look, written):
            used.update(map(id, target.opens))
            where = target.opens[0].args[0] if target.opens and target.opens[0].args else written.target
            what = f"`{written.name}` writes straight to `{look.module.text_of(where)}`"
            yield look.finding(SAVE, call, what, _cure(look, written))
        elif target.opens:
            used.update(map(id, target.opens))
    for call in look.module.calls:
        if id(call) not in used:
            yield from _find_open(look, call)


def _is_save(look: Examination, written: Written) -> bool:
    call, proof = written.call, written.writer.proof
    target = look.trace(written.target, call)
    if not look.is_final(call, written.target) or (written.writer.stream_only and not target.has(Mark.OPENED)):
        return False
    content = UNKNOWN if written.content is None else look.trace(written.content, call)
    if isinstance(call.func, ast.Attribute) and makes_directory(written):
        saved = split(look.module.text_of(call.func.value))
        if speaks_of_something_else(saved | look.module.topic):
            return False  # a tokenizer or a configuration beside the model
    subject = look.subject(call, target, content)
    if proof is Proof.ITSELF:
        return subject >= Subject.PERHAPS
    if proof is Proof.NAMES:
        return subject is Subject.CHECKPOINT
    return subject is Subject.CHECKPOINT and names_a_checkpoint(target.words)


def _find_open(look: Examination, call: ast.Call) -> Iterator[Finding]:
    """An `open(path, "wb")` of a checkpoint, whatever is written then; of a text only what points at one."""
    opened = opened_to_write(call, look.module)
    if opened is None or not look.is_final(call, opened[0]):
        return
    path, mode = opened
    target = look.trace(path, call)
    if "b" in mode:
        wanted = look.subject(call, target) is Subject.CHECKPOINT and names_a_checkpoint(target.words)
    else:
        wanted = names_a_checkpoint(target.leaf) and speaks_of_pointer(target.leaf)
    if wanted:
        what = f"`{look.module.text_of(call.func)}` empties `{look.module.text_of(path)}` and writes it in place"
        yield look.finding(SAVE, call, what, "`with ckptdeck.publish(directory, name) as fh: fh.write(...)`")


def _cure(look: Examination, written: Written) -> str:
    module = look.module
    content = "..." if written.content is None else module.text_of(written.content, 40)
    if makes_directory(written):
        owner = module.text_of(written.call.func, 50)
        return f"`with ckptdeck.publish_directory(directory, name) as path: {owner}(path)`"
    if written.writer.into_stream:
        return f"`with ckptdeck.publish(directory, name) as fh: {written.writer.into_stream.format(content)}`{_SEVERAL}"
    return (
        "Save into a temporary place, then `ckptdeck.publish_file(temporary, directory, name)`; or save into "
        "`with ckptdeck.publish_directory(directory, name) as path`"
    )
