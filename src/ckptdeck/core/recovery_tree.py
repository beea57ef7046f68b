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
from ckptdeck.core.staged_tree import StagedTree
from ckptdeck.core.staging import claim_tree
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import Unit, unit_of_record
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import fsync_directory, volume_of


@dataclass(frozen=True, slots=True)
class _Interrupted:
    """One interrupted publish or copy, and the places where its files may be."""

    host: Host
    target: CheckpointSet
    manifest: Manifest
    volume: Volume
    tree: StagedTree
    announced: Record
    effort: Effort

    @property
    def final(self) -> Unit:
        return unit_of_record(self.target.root, self.announced)

    def read(self, unit: Unit) -> Reading | None:
        """None for what is not there, or no checkpoint at all."""
        with contextlib.suppress(FileNotFoundError, SourceChanged):
            return read_for_proof(self.host, unit, self.volume, side=self.target.role, effort=self.effort)
        return None

    def digest(self, unit: Unit) -> str | None:
        reading = self.read(unit)
        return None if reading is None else reading.digest


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
        interrupted = _Interrupted(host, target, manifest, volume, tree, announced, effort)
        return (_finish_group if announced.kind is Kind.GROUP else _finish_directory)(interrupted)
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
    fsync_directory(host.fs, os.path.dirname(tree.place), volume)


def _finish_directory(its: _Interrupted) -> str:
    final = its.final
    named = its.read(final)
    if named is not None and named.digest == its.announced.digest:
        _record(its, named)
        return _taken_apart(its, "it has its name already: recorded")
    staged = its.read(its.tree.unit)
    if staged is None or staged.digest != its.announced.digest:
        return _set_aside(its, "it does not hold the announced bytes")
    taken = is_there(its.host.fs, final.path) if named is None else named.digest != its.announced.replaces
    if taken:
        return _set_aside(its, "its name is taken by something else")
    _give_name(its, replace=named is not None)
    return _taken_apart(its, "whole after all: it has its name now")


def _finish_group(its: _Interrupted) -> str:
    """Whole when each file, in whichever place, is the announced one; the rest then follows, the marker last."""
    placed: list[str] = []
    whole = True
    for member in its.announced.members:
        in_set = its.digest(Unit(its.target.root, member.path))
        if in_set == member.digest:
            placed.append(member.path)
            continue
        staged = its.digest(Unit(its.tree.path, member.path))
        whole = whole and in_set is None and staged == member.digest
    if not whole:
        return _take_group_back(its, placed)
    _give_name(its, replace=False)
    return _taken_apart(its, "whole after all: every file has its name now")


def _give_name(its: _Interrupted, *, replace: bool) -> None:
    if its.volume.fs_class != "local":
        its.tree.release()  # servers rename no directory that anybody, we included, has open (R11)
    its.tree.give_name(its.host, its.volume, its.final.path, replace=replace)
    fsync_directory(its.host.fs, its.target.root, its.volume)
    now = its.read(its.final)
    if now is not None and now.digest == its.announced.digest:
        _record(its, now)


def _take_group_back(its: _Interrupted, placed: list[str]) -> str:
    """Files of ours that got their place go with the rest: alone they are no checkpoint."""
    if placed:
        group = Unit(its.target.root, its.announced.name, Kind.GROUP, tuple(placed))
        why = "part of an interrupted copy that is not whole"
        quarantine(its.host, its.target, its.volume, group, inode=None, reason=why)
    return _set_aside(its, "it does not hold the announced bytes")


def _record(its: _Interrupted, reading: Reading) -> None:
    its.manifest.promote_next_record(its.announced.name)
    stamps, evidence, digest = reading.identity.stamps, reading.evidence, its.announced.digest
    receipt = receipt_for(its.host, its.announced, stamps, evidence, its.volume, digest=digest)
    its.manifest.write_receipt(receipt)


def _set_aside(its: _Interrupted, why: str) -> str:
    entry = None
    if is_there(its.host.fs, its.tree.path):
        entry = quarantine(its.host, its.target, its.volume, its.tree.unit, inode=its.tree.inode, reason=why)
    its.tree.remove()
    its.manifest.drop_next_record(its.announced.name)
    return why if entry is None else f"{why}: set aside as {entry}"


def _taken_apart(its: _Interrupted, done: str) -> str:
    """What is left at the staging place: nothing, an empty directory, or what was replaced."""
    its.tree.remove()
    fsync_directory(its.host.fs, os.path.dirname(its.tree.place), its.volume)
    return done
