"""After a crash: a directory or a group whose publish or copy was cut, judged by what its files hold.

Two places may hold it: the staging place and the set. Of a directory one of them holds all of it, also when the two
had changed places already; of a group each file is in one of them.
"""

from __future__ import annotations

import contextlib
import os

from ckptdeck.core.announcement import finish_earlier
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import SourceChanged
from ckptdeck.core.filesystem import is_there
from ckptdeck.core.hashing import Reading, read_for_proof
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.publish import receipt_for
from ckptdeck.core.recheck import moved_on
from ckptdeck.core.removal import quarantine
from ckptdeck.core.sighting import Record, Volume
from ckptdeck.core.staging import StagedTree, claim_tree
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import Unit, unit_of_record
from ckptdeck.core.volume import fsync_directory, volume_of


def finish_tree(
    host: Host,
    target: CheckpointSet,
    manifest: Manifest,
    volume: Volume,
    item: PlanItem,
    policy: Policy,
    effort: Effort,
) -> str:
    """Brings an interrupted publish of a directory or a group to its end; returns what was done in one clause.

    Raises Refused while its writer lives or when its announcement is gone; nothing is then touched.
    """
    try:
        announced = manifest.next_record(item.name)
    except ValueError as error:
        raise moved_on(item, f"its next record is damaged: {error}") from None
    if announced is None:
        raise moved_on(item, "its next record is gone")
    tree = claim_tree(host, target, item.name, announced.kind, volume, minimum_age=policy.min_age)
    if tree is None:
        raise moved_on(item, "what was staged is gone")
    try:
        tree.leave()
        finish = _finish_group if announced.kind is Kind.GROUP else _finish_directory
        return finish(host, target, manifest, volume, tree, announced, effort)
    finally:
        tree.discard()


def discard_tree(host: Host, target: CheckpointSet, manifest: Manifest, item: PlanItem, policy: Policy) -> None:
    """Takes apart what is staged and can become nothing. Raises Refused while its writer lives."""
    volume = volume_of(host.fs, target.root)
    place = os.path.join(target.control_path(), item.details["part"])
    tree = claim_tree(host, target, item.name, item.kind, volume, minimum_age=policy.min_age, place=place)
    if tree is None:
        raise moved_on(item, "what was staged is gone")
    try:
        finish_earlier(host, manifest, target.path_of(item.name), item.name)
        tree.remove()
    finally:
        tree.leave()
        tree.discard()
    fsync_directory(host.fs, os.path.dirname(tree.path), volume)


def _finish_directory(
    host: Host,
    target: CheckpointSet,
    manifest: Manifest,
    volume: Volume,
    tree: StagedTree,
    announced: Record,
    effort: Effort,
) -> str:
    final = unit_of_record(target.root, announced)
    named = _read(host, final, volume, target, effort)
    if named is not None and named.digest == announced.digest:
        _record(host, manifest, volume, announced, named)
        return _taken_apart(host, volume, tree, "it has its name already: recorded")
    staged = _read(host, tree.unit, volume, target, effort)
    if staged is None or staged.digest != announced.digest:
        return _set_aside(host, target, manifest, volume, tree, announced, "it does not hold the announced bytes")
    taken = is_there(host.fs, final.path) if named is None else named.digest != announced.replaces
    if taken:
        return _set_aside(host, target, manifest, volume, tree, announced, "its name is taken by something else")
    _let_go(tree, volume)
    tree.give_name(host, volume, final.path, replace=named is not None)
    fsync_directory(host.fs, target.root, volume)
    now = _read(host, final, volume, target, effort)
    if now is not None and now.digest == announced.digest:
        _record(host, manifest, volume, announced, now)
    return _taken_apart(host, volume, tree, "whole after all: it has its name now")


def _finish_group(
    host: Host,
    target: CheckpointSet,
    manifest: Manifest,
    volume: Volume,
    tree: StagedTree,
    announced: Record,
    effort: Effort,
) -> str:
    """Whole when each file, in whichever place, is the announced one; the rest then follows, the marker last."""
    digests = {member.path: member.digest for member in announced.members}
    placed: list[str] = []
    whole = True
    for path, digest in digests.items():
        in_set = _digest(host, Unit(target.root, path), volume, target, effort)
        if in_set == digest:
            placed.append(path)
            continue
        staged = _digest(host, Unit(tree.path, path), volume, target, effort)
        whole = whole and in_set is None and staged == digest
    if not whole:
        return _take_group_back(host, target, manifest, volume, tree, announced, placed)
    final = unit_of_record(target.root, announced)
    _let_go(tree, volume)
    tree.give_name(host, volume, final.path, replace=False)
    fsync_directory(host.fs, target.root, volume)
    now = _read(host, final, volume, target, effort)
    if now is not None and now.digest == announced.digest:
        _record(host, manifest, volume, announced, now)
    return _taken_apart(host, volume, tree, "whole after all: every file has its name now")


def _let_go(tree: StagedTree, volume: Volume) -> None:
    """Servers rename no directory that anybody, we included, has open (R11)."""
    if volume.fs_class != "local":
        tree.release()


def _take_group_back(
    host: Host,
    target: CheckpointSet,
    manifest: Manifest,
    volume: Volume,
    tree: StagedTree,
    announced: Record,
    placed: list[str],
) -> str:
    """Files of ours that got their place go with the rest: alone they are no checkpoint."""
    if placed:
        group = Unit(target.root, announced.name, Kind.GROUP, tuple(placed))
        quarantine(host, target, volume, group, inode=None, reason="part of an interrupted copy that is not whole")
    return _set_aside(host, target, manifest, volume, tree, announced, "it does not hold the announced bytes")


def _read(host: Host, unit: Unit, volume: Volume, target: CheckpointSet, effort: Effort) -> Reading | None:
    """None for what is not there, or no checkpoint at all."""
    with contextlib.suppress(FileNotFoundError, SourceChanged):
        return read_for_proof(host, unit, volume, side=target.role, effort=effort)
    return None


def _digest(host: Host, unit: Unit, volume: Volume, target: CheckpointSet, effort: Effort) -> str | None:
    reading = _read(host, unit, volume, target, effort)
    return None if reading is None else reading.digest


def _record(host: Host, manifest: Manifest, volume: Volume, announced: Record, reading: Reading) -> None:
    manifest.promote_next_record(announced.name)
    stamps = reading.identity.stamps
    manifest.write_receipt(receipt_for(host, announced, stamps, reading.evidence, volume, digest=announced.digest))


def _set_aside(
    host: Host,
    target: CheckpointSet,
    manifest: Manifest,
    volume: Volume,
    tree: StagedTree,
    announced: Record,
    why: str,
) -> str:
    if is_there(host.fs, tree.path):
        entry = quarantine(host, target, volume, tree.unit, inode=tree.inode, reason=why)
        manifest.drop_next_record(announced.name)
        return f"{why}: set aside as {entry}"
    manifest.drop_next_record(announced.name)
    return why


def _taken_apart(host: Host, volume: Volume, tree: StagedTree, done: str) -> str:
    """What is left at the staging place: nothing, an empty directory, or what was replaced."""
    tree.remove()
    fsync_directory(host.fs, os.path.dirname(tree.path), volume)
    return done
