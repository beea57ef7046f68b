"""What a checkpoint of several files is made of: how many, the largest, the newest, what differs from its record."""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.comparison import compare_members, unread
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint, Identity
from ckptdeck.core.states import Kind, MemberKind
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.view import View

_NAME = 40
"""Characters of a member's path."""


def member_facts(checkpoint: Checkpoint, view: View) -> list[tuple[str, str]]:
    """(name, value) for the pane; nothing for a single file."""
    seen = checkpoint.sighting
    if seen.kind is Kind.FILE:
        return []
    facts = [("members", member_count(checkpoint))]
    identity = seen.identity
    if identity is not None and identity.files:
        largest = max(identity.files, key=lambda member: member.size)
        newest = max(identity.files, key=lambda member: member.mtime_ns)
        facts.append(("largest", f"{visible(largest.path, _NAME)} {measures.size(largest.size)}"))
        facts.append(("newest", f"{visible(newest.path, _NAME)} {measures.moment(newest.mtime_ns / 1e9, view.zone)}"))
    difference = _difference(checkpoint, identity)
    return [*facts, ("differs", difference)] if difference else facts


def member_count(checkpoint: Checkpoint) -> str:
    """`a directory of 12 files`, what is there or else what was recorded; "" for a single file."""
    seen = checkpoint.sighting
    if seen.kind is Kind.FILE:
        return ""
    if seen.identity is not None:
        files = len(seen.identity.files)
    else:
        files = 0 if seen.record is None else sum(m.kind is MemberKind.FILE for m in seen.record.members)
    return f"a {seen.kind} of {counted(files, 'file')}"


def _difference(checkpoint: Checkpoint, identity: Identity | None) -> str:
    """The worst of what differs by name and size, and how many more do."""
    record = checkpoint.sighting.record
    if record is None or identity is None:
        return ""
    found = compare_members(record.members, unread(identity))
    if not found:
        return ""
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return found[0].text + more
