"""What lies in the staging place of a set, and whether its writer lives: the directory's flock tells, as of a part."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection
from dataclasses import replace

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.flight import Trace, find_traces, flocked
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import ManifestContents, store_name
from ckptdeck.core.sighting import Member
from ckptdeck.core.states import MemberKind
from ckptdeck.core.unit import OddThing, member_of, walk
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import volume_of

_ASKED = 64
"""Files of one tree whose writers are asked for, the youngest first."""


@dataclass(frozen=True, slots=True)
class StagedLook:
    """One staged tree as a whole."""

    name: str
    """Where it lies, as people are told: `staging/checkpoint-500`."""
    target: str
    member: Member
    """Its directory's inode, the bytes in it and the time of the newest."""
    trace: Trace


def look_at_staged(host: Host, checkpoint_set: CheckpointSet, contents: ManifestContents) -> list[StagedLook]:
    """Every staged tree. Raises OSError when the staging place cannot be listed."""
    if checkpoint_set.control is None:
        return []
    place = checkpoint_set.control_path("staging")
    entries = [e for e in host.fs.list_directory(place) if e.stat is not None and stat.S_ISDIR(e.stat.st_mode)]
    if not entries:
        return []
    targets = {store_name(name): name for name in contents.next_records}
    locked = _locked_in(host.fs, place)
    looks = []
    for entry in entries:
        path = os.path.join(place, entry.name)
        member = size_of_tree(host.fs, path, entry.stat) if entry.stat is not None else None
        if member is None:
            continue
        trace = trace_tree(host, path, member, locked)
        looks.append(StagedLook(f"staging/{entry.name}", targets.get(entry.name, entry.name), member, trace))
    return looks


def _locked_in(fs: FileSystem, place: str) -> set[tuple[int, int]]:
    """(device, inode), as stat gives them, of what is under an exclusive flock in the file system of `place`.

    The kernel's table names a file system by the device of its mount, which on btrfs is not the one of its files.
    """
    device = fs.lstat(place).st_dev
    major, minor = volume_of(fs, place).mount.split(":")[1:]
    known_as = {device, os.makedev(int(major), int(minor))}
    return {(device, inode) for named, inode in flocked(fs) if named in known_as}


def size_of_tree(fs: FileSystem, path: str, status: os.stat_result) -> Member | None:
    """The directory at `path` with the bytes in it and its newest time, its own where it holds odd things.

    None when it is gone or cannot be listed.
    """
    itself = member_of("", status, MemberKind.DIRECTORY)
    try:
        members = walk(fs, path)
    except OddThing:
        return itself
    except OSError:
        return None
    newest = max((member.mtime_ns for member in members), default=0)
    return replace(itself, size=sum(member.size for member in members), mtime_ns=max(newest, itself.mtime_ns))


def trace_tree(host: Host, path: str, tree: Member, locked: Collection[tuple[int, int]] = ()) -> Trace:
    """Whether somebody writes in the directory at `path`: by its own flock, or by who has its youngest files open."""
    if (tree.device, tree.inode) in locked:
        return Trace(None, True, flocked=True)
    files: list[Member] = []
    with contextlib.suppress(OSError, OddThing):
        files = sorted(walk(host.fs, path), key=lambda member: -member.mtime_ns)[:_ASKED]
    asked = [(os.path.join(path, m.path), m) for m in files if m.kind is MemberKind.FILE]
    traces = find_traces(host, asked).values()
    held = next((trace for trace in traces if trace.held), None)
    if held is not None:
        return held
    unknown = any(trace.held is None for trace in traces)
    return Trace(held=None if unknown else False)
