"""Copying a directory or a group into a staged tree, file by file; each is durable and read back before the next."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import UsageError
from ckptdeck.core.hashing import Share, look_still, require_still
from ckptdeck.core.host import Host
from ckptdeck.core.naming import markers_last
from ckptdeck.core.page_cache import leave_nothing
from ckptdeck.core.policy import MINIMUM_AGE
from ckptdeck.core.pour import open_directory, open_source, pour, staged_part
from ckptdeck.core.progress import Effort
from ckptdeck.core.publish import (
    Intent,
    Published,
    Settled,
    StagedFile,
    keep_mode_and_time,
    name_part,
    read_back,
    require_publishable,
    require_size,
)
from ckptdeck.core.publish_tree import ProvenFile, require_sound, settle_tree
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Member, RecordMember, Volume
from ckptdeck.core.staged_tree import StagedTree
from ckptdeck.core.staging import claim_tree, open_tree
from ckptdeck.core.states import Evidence, Kind, MemberKind, Role
from ckptdeck.core.unit import OddThing, Unit, directories_of, record_of_link, walk
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import sync_data, volume_of

_OWNER_MAY_ALL = 0o700
"""A directory that its owner may not write cannot be moved to another parent."""


@dataclass(frozen=True, slots=True)
class CopiedTree:
    """What was read and staged."""

    members: tuple[RecordMember, ...]
    """Of the source, as read."""
    evidence: Evidence
    """Of the source's files, the weakest."""
    proven: Mapping[str, ProvenFile]

    def settle(
        self, host: Host, target: CheckpointSet, volume: Volume, tree: StagedTree, intent: Intent, effort: Effort
    ) -> Settled:
        """The staged tree with its names durable too."""
        return settle_tree(host, target, volume, tree, intent, effort, self.proven)


def tree_for(
    host: Host,
    target: CheckpointSet,
    name: str,
    kind: Kind,
    volume: Volume,
    source: Identity,
    *,
    minimum_age: float,
) -> StagedTree:
    """A tree to copy into: a leftover that holds nothing but files of the source, else a new one."""
    leftover = claim_tree(host, target, name, kind, volume, minimum_age=minimum_age)
    if leftover is not None:
        try:
            if _may_continue(host, leftover, source):
                return leftover
        except BaseException:
            leftover.leave()
            leftover.discard()
            raise
        leftover.take_apart()
    return open_tree(host, target, name, kind, volume, minimum_age=minimum_age)


def _may_continue(host: Host, leftover: StagedTree, source: Identity) -> bool:
    kinds = {member.path: (member.kind, member.target) for member in source.members}
    empty = directories_of(kinds)
    kinds.update((path, (MemberKind.DIRECTORY, "")) for path in empty)
    try:
        staged = walk(host.fs, leftover.path)
    except (OddThing, FileNotFoundError):
        return False
    return all(kinds.get(member.path) == (member.kind, member.target) for member in staged)


def copy_tree(
    host: Host,
    unit: Unit,
    before: Identity,
    from_volume: Volume,
    tree: StagedTree,
    volume: Volume,
    *,
    trusted: bool,
    side: Role,
    readback: bool,
    minimum_age: float,
    effort: Effort,
) -> CopiedTree:
    """Copies every member of `unit`, markers last. Raises SourceChanged, ContentMismatch, Cancelled, OSError."""
    _make_directories(host, tree, before)
    proven: dict[str, ProvenFile] = {}
    read: dict[str, RecordMember] = {}
    evidence = Evidence.DEVICE
    files = {member.path: member for member in before.files}
    done = 0
    for path in markers_last(files):
        member = files[path]
        share = Share(done, before.size)
        with open_source(host, unit.path_of(path), member, from_volume, trusted=trusted) as source:
            part = staged_part(host, tree.unit.path_of(path), volume, source, minimum_age=minimum_age)
            try:
                digest = pour(host, source, part, volume, name=unit.name, side=side, effort=effort, share=share)
                keep_mode_and_time(host.fs, part.descriptor, member.mode, member.mtime_ns)
                sync_data(host.fs, part.descriptor, part.path)
                require_size(part.path, member.size, host.fs.fstat(part.descriptor).st_size)
                staged = StagedFile(part.path, part.inode, member.size, digest, unit.name)
                kept = read_back(host, side, volume, staged, effort, share) if readback else Evidence.STREAM
                leave_nothing(host.fs, part.descriptor, volume)
                part.release()  # some servers say only now that the data did not arrive (R6)
            finally:
                part.leave()
                part.discard()
        proven[path] = ProvenFile(digest, kept)
        read[path] = RecordMember(path, member.size, digest)
        evidence = min(evidence, source.evidence, key=lambda each: each.rank)
        done += member.size
    others = [member for member in before.members if member.kind is not MemberKind.FILE]
    _make_links(host, tree, others)
    if unit.kind is Kind.DIRECTORY:
        _keep_directory_modes(host, unit, tree, before)
    read.update((member.path, record_of_link(member)) for member in others)
    return CopiedTree(tuple(read[path] for path in sorted(read)), evidence, proven)


def publish_copy(host: Host, source: str, target: CheckpointSet, intent: Intent, effort: Effort) -> Published:
    """Publishes a copy of the finished directory `source`. Raises as `publish_tree` does, SourceChanged, OSError."""
    require_publishable(host, target, intent, Kind.DIRECTORY)
    unit = Unit(os.path.dirname(source), os.path.basename(source), Kind.DIRECTORY)
    _require_outside(host, unit, target)
    before = look_still(host.fs, unit)
    require_sound(unit.path, before)
    result = Published(target.path_of(intent.name))
    volume = volume_of(host.fs, target.root)
    tree = open_tree(host, target, intent.name, Kind.DIRECTORY, volume, minimum_age=MINIMUM_AGE)
    try:
        copied = copy_tree(
            host,
            unit,
            before,
            volume_of(host.fs, unit.path),
            tree,
            volume,
            trusted=True,
            side=target.role,
            readback=intent.readback,
            minimum_age=MINIMUM_AGE,
            effort=effort,
        )
        require_still(host.fs, unit, before)
        settled = copied.settle(host, target, volume, tree, intent, effort)
        name_part(host, target, volume, tree, settled, intent, result)
    finally:
        tree.discard()
    return result


def _require_outside(host: Host, source: Unit, target: CheckpointSet) -> None:
    """A copy of what holds the set, or where it is staged, would be a copy of itself."""
    status = host.fs.lstat(source.path)
    for place in (target.root, target.control or target.root):
        while True:
            above = host.fs.lstat(place)
            if (above.st_dev, above.st_ino) == (status.st_dev, status.st_ino):
                raise UsageError(
                    f"{visible(source.path)} holds the set {visible(target.root)} itself",
                    why="A checkpoint lies in a set, never the other way round",
                    next_step="Name the directory of one finished checkpoint",
                )
            if place == os.path.dirname(place):
                break
            place = os.path.dirname(place)


def _make_directories(host: Host, tree: StagedTree, before: Identity) -> None:
    empty = [member.path for member in before.members if member.kind is MemberKind.DIRECTORY]
    needed = {*directories_of(member.path for member in before.members), *empty}
    for directory in sorted(needed):
        with contextlib.suppress(FileExistsError):
            host.fs.make_directory(tree.unit.path_of(directory))


def _make_links(host: Host, tree: StagedTree, others: list[Member]) -> None:
    for member in others:
        if member.kind is MemberKind.LINK:
            with contextlib.suppress(FileExistsError):  # a continued tree: its links were compared
                host.fs.symlink(member.target, tree.unit.path_of(member.path))


def _keep_directory_modes(host: Host, unit: Unit, tree: StagedTree, before: Identity) -> None:
    empty = [member.path for member in before.members if member.kind is MemberKind.DIRECTORY]
    for directory in [*directories_of(member.path for member in before.members), *empty, ""]:
        mode = host.fs.lstat(unit.path_of(directory)).st_mode & 0o7777 | _OWNER_MAY_ALL
        with open_directory(host, tree.unit.path_of(directory)) as fd:
            keep_mode_and_time(host.fs, fd, mode, None)
