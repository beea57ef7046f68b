"""Copies that end on a final name."""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.audit.examination import Examination, Subject
from ckptdeck.audit.finding import Finding
from ckptdeck.audit.floors import find_floors
from ckptdeck.audit.known_calls import copied_by
from ckptdeck.audit.rules import COPY
from ckptdeck.audit.trace import Mark
from ckptdeck.audit.words import speaks_of_a_launcher, speaks_of_another_disk


def find_copies(look: Examination) -> Iterator[Finding]:
    for call in look.module.calls:
        copied = copied_by(call, look.module)
        if copied is None or not look.is_final(call, copied.target):
            continue
        source, target = look.trace(copied.source, call), look.trace(copied.target, call)
        if copied.name == "shutil.move" and (
            source.has(Mark.TEMPORARY) or not speaks_of_another_disk(target.words | look.scope(call).words)
        ):
            continue  # within one file system it is a rename; renames.py looks at those of something new
        subject = look.subject(call, target, source)
        if subject >= Subject.LIKELY or (subject >= Subject.UNKNOWN and _carries_checkpoints(look)):
            shown = look.module.text_of(copied.target)
            doing = "moves, across file systems by copying," if copied.name == "shutil.move" else "copies straight"
            source_text = look.module.text_of(copied.source, 40)
            if copied.name == "shutil.copytree":
                cure = (
                    "`with ckptdeck.publish_directory(directory, name) as path: "
                    f"shutil.copytree({source_text}, path, dirs_exist_ok=True)`"
                )
            else:
                cure = f"`ckptdeck.publish_file({source_text}, directory, name)`; a whole mirror: `ckptdeck mirror`"
            yield look.finding(COPY, call, f"`{copied.name}` {doing} to `{shown}`", cure)


def _carries_checkpoints(look: Examination) -> bool:
    """A launcher that speaks of checkpoints, or whatever takes files for good by their size: there a copy between two
    names that say nothing is one of a checkpoint."""
    mentioned = look.module.mentions_checkpoints or look.module.mentions_weight_files
    return (mentioned and speaks_of_a_launcher(look.module.topic)) or any(True for _ in find_floors(look))
