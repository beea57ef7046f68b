"""Publishing a directory: the same rule as for a file (publish.py), with a staged tree in the place of the part.

tree      in the staging place, exclusive, flocked               (staging.py)
write     by anybody, in any order, at any depth
fsync     every file, then every directory from the deepest up   settle_tree
announce, prove, rename, fsync, record                           as a file
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import InUse, Refused, UsageError, from_os_error
from ckptdeck.core.filesystem import opened
from ckptdeck.core.hashing import Share, digest_descriptor
from ckptdeck.core.host import Host
from ckptdeck.core.naming import markers_last
from ckptdeck.core.policy import MINIMUM_AGE
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.publish import (
    READ_ONLY,
    Intent,
    Published,
    Settled,
    StagedFile,
    name_part,
    read_back,
    record_for,
    require_publishable,
)
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Member, RecordMember, Volume
from ckptdeck.core.staged_tree import StagedTree
from ckptdeck.core.staging import open_tree
from ckptdeck.core.states import Evidence, Kind, MemberKind
from ckptdeck.core.unit import OddThing, directories_of, leading_out, look_at, record_of_link
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import fsync_directory, sync_data, volume_of

_FIRST_SHARD = re.compile(r"__0_[0-9]+\.distcp")


@dataclass(frozen=True, slots=True)
class ProvenFile:
    """A staged file that is durable, hashed and read back already, as a copy does file by file."""

    digest: str
    evidence: Evidence


@contextlib.contextmanager
def publish_tree(
    host: Host, target: CheckpointSet, intent: Intent, effort: Effort = UNHURRIED
) -> Iterator[tuple[str, Published]]:
    """Yields the path of an empty directory to fill and the result that is complete once the block has ended.

    All writers must have closed their files when it ends. An exception in the block, a kill, or a full disk leave
    nothing under the final name. Raises as `publish` does, and InUse when a file still changes at the end.
    """
    require_publishable(host, target, intent, Kind.DIRECTORY)
    result = Published(target.path_of(intent.name))
    try:
        volume = volume_of(host.fs, target.root)
        tree = open_tree(host, target, intent.name, Kind.DIRECTORY, volume, minimum_age=MINIMUM_AGE)
    except OSError as error:
        raise from_os_error(error, f"Staging {visible(result.path)}") from error
    try:
        yield tree.path, result
        tree.follow(volume)
        settled = settle_tree(host, target, volume, tree, intent, effort)
        _require_finished(tree, settled)
        name_part(host, target, volume, tree, settled, intent, result)
    except OSError as error:
        raise from_os_error(error, f"Publishing {visible(result.path)}") from error
    finally:
        # After a success nothing is left at the staging place but what a replacement put there.
        tree.discard()


def settle_tree(
    host: Host,
    target: CheckpointSet,
    volume: Volume,
    tree: StagedTree,
    intent: Intent,
    effort: Effort = UNHURRIED,
    proven: Mapping[str, ProvenFile] | None = None,
) -> Settled:
    """Makes every file and directory durable, then proves them as far as asked. Nothing has a new name afterwards.

    `proven` files are durable, hashed and read back already. Raises UsageError for a tree without a file, Refused for
    links that lead out of it, InUse when it changed meanwhile, and as `settle` does.
    """
    before = _look(host, tree)
    require_sound(tree.path, before)
    members: dict[str, RecordMember] = {}
    evidence = Evidence.DEVICE if intent.readback else Evidence.STREAM
    files = {member.path: member for member in before.files}
    done = 0
    for path in markers_last(files):
        member = files[path]
        known = (proven or {}).get(path)
        if known is None:
            share = Share(done, before.size)
            known = _settle_file(host, target, volume, tree, member, intent, effort, share)
        members[path] = RecordMember(path, member.size, known.digest)
        evidence = min(evidence, known.evidence, key=lambda each: each.rank)
        done += member.size
    for directory in [*directories_of(member.path for member in before.members), *_empty(before)]:
        fsync_directory(host.fs, tree.unit.path_of(directory), volume)
    fsync_directory(host.fs, tree.path, volume)
    members.update((m.path, record_of_link(m)) for m in before.members if m.kind is not MemberKind.FILE)
    _require_unchanged(host, tree, before)
    ordered = tuple(members[path] for path in sorted(members))
    return Settled(record_for(host, target, intent, tree.kind, ordered, before.mtime_ns), evidence)


def _settle_file(
    host: Host,
    target: CheckpointSet,
    volume: Volume,
    tree: StagedTree,
    member: Member,
    intent: Intent,
    effort: Effort,
    share: Share,
) -> ProvenFile:
    path = tree.unit.path_of(member.path)
    with opened(host.fs, path, READ_ONLY) as fd:
        sync_data(host.fs, fd, path)
        digest = digest_descriptor(
            host,
            fd,
            member.size,
            name=intent.name,
            side=target.role,
            phase="hash",
            effort=effort,
            drop=False,
            share=share,
        )
    if not intent.readback:
        return ProvenFile(digest, Evidence.STREAM)
    staged = StagedFile(path, member.inode, member.size, digest, intent.name)
    return ProvenFile(digest, read_back(host, target.role, volume, staged, effort, share))


def _look(host: Host, tree: StagedTree) -> Identity:
    try:
        return look_at(host.fs, tree.unit)
    except OddThing as odd:
        raise Refused(
            f"What is staged in {visible(tree.path)} is {odd}",
            guard="not-a-file",
            why="A checkpoint is made of files, links inside it, and directories",
            next_step="Save without it; nothing got the final name",
        ) from None


def require_sound(path: str, found: Identity) -> None:
    """Raises UsageError for a directory without a file, Refused for a link in it that leads out."""
    if not found.files:
        raise UsageError(
            f"{visible(path)} holds no file",
            why="An empty directory would look like a checkpoint and hold nothing",
            next_step="Write the checkpoint into it first; nothing got the final name",
        )
    outside = leading_out(found)
    if outside is not None:
        raise Refused(
            f"{visible(path)} holds a link that leads out of it: {outside}",
            guard="symlink",
            why="What it points to would be no part of the checkpoint",
            next_step="Write the file itself; nothing got the final name",
        )


def _require_finished(tree: StagedTree, settled: Settled) -> None:
    """torch's distributed checkpoints get their `.metadata` last, from the rank that is called 0 in the names.

    Nothing has them open between two files, so only its absence tells that a save goes on behind our back.
    """
    names = {member.path for member in settled.record.members}
    for path in sorted(names):
        directory, _, name = path.rpartition("/")
        beside = f"{directory}/" if directory else ""
        if not _FIRST_SHARD.fullmatch(name) or names & {f"{beside}.metadata", f"{beside}__0.metadata"}:
            continue
        raise InUse(
            f"{visible(tree.unit.path_of(directory))} holds shards and no .metadata, which is written last",
            why="A save that was begun in the block, as async_save begins one, still goes on",
            next_step="Wait for its future before the block ends; nothing got the final name",
        )


def _require_unchanged(host: Host, tree: StagedTree, before: Identity) -> None:
    """A rank that still writes when the block ends would change bytes that were hashed."""
    after = _look(host, tree)
    known = {stamp.path: (stamp.size, stamp.mtime_ns) for stamp in before.stamps}
    now = {stamp.path: (stamp.size, stamp.mtime_ns) for stamp in after.stamps}
    changed = sorted(path for path in known.keys() | now.keys() if known.get(path) != now.get(path))
    if changed:
        raise InUse(
            f"{visible(tree.unit.path_of(changed[0]))} changed while the checkpoint was made durable",
            why="Another process still writes into it",
            next_step="Let every rank finish (a barrier) before the block ends; nothing got the final name",
        )


def _empty(identity: Identity) -> list[str]:
    return [member.path for member in identity.members if member.kind is MemberKind.DIRECTORY]
