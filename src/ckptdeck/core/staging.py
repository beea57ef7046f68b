"""A staged tree: what a directory or a group is until it is whole. It lies in a place of its own in the control
directory, where no trainer lists it, and place and tree are flocked while its writer lives.

    staging/checkpoint-500/checkpoint-500

The place outlives what a library does with the path it was given: some (Orbax) write beside it and put another
directory there at the end. Without a control directory the place lies in the set, under a hashed `.part` name that no
trainer takes for a checkpoint.
"""

from __future__ import annotations

import contextlib
import os

import xxhash

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import InUse, Refused
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import store_name
from ckptdeck.core.naming import PART_SUFFIX
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Volume
from ckptdeck.core.staged_tree import DIRECTORY, StagedTree, in_use, lock_directory
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import OddThing, walk


def staging_place(target: CheckpointSet, name: str) -> str:
    """The directory in which the directory or group `name` is staged; nothing else has anything to do in there."""
    if target.control is not None:
        return target.control_path("staging", store_name(name))
    return os.path.join(target.root, f".{xxhash.xxh3_64(os.fsencode(name)).hexdigest()}{PART_SUFFIX}")


def open_tree(
    host: Host, target: CheckpointSet, name: str, kind: Kind, volume: Volume, *, minimum_age: float
) -> StagedTree:
    """A new, empty tree for `name`.

    A leftover that nobody owns is taken apart first. Raises InUse when a live writer owns it, Refused when the place
    is taken by something else, OSError.
    """
    place = staging_place(target, name)
    while True:
        try:
            host.fs.make_directory(place)
        except FileExistsError:
            leftover = claim_tree(host, target, name, kind, volume, minimum_age=minimum_age)
            if leftover is not None:
                leftover.take_apart()
            continue
        with contextlib.suppress(FileNotFoundError):  # taken for a leftover before it was locked, and taken apart
            tree = _claimed(host, target, place, name, kind, volume)
            if tree is not None:
                return _begun(host, tree, volume)


def _begun(host: Host, tree: StagedTree, volume: Volume) -> StagedTree:
    try:
        host.fs.make_directory(tree.path)
        tree.hold(volume)
    except BaseException:
        tree.discard()
        raise
    return tree


def claim_tree(
    host: Host,
    target: CheckpointSet,
    name: str,
    kind: Kind,
    volume: Volume,
    *,
    minimum_age: float,
    place: str | None = None,
) -> StagedTree | None:
    """Takes over a leftover tree that nobody owns; None when there is none any more.

    `place` is its path where that is known better than its name, which may be kept as a hash only.

    Raises InUse while its writer lives (or may live: where flock does not reach, quiet for the age guard), Refused
    for anything that is no directory.
    """
    path = place or staging_place(target, name)
    try:
        if volume.fs_class != "local":
            _require_quiet(host, path, volume, minimum_age)
        return _claimed(host, target, path, name, kind, volume)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise Refused(
            f"{visible(path)} is no directory",
            guard="not-a-file",
            why="Something else uses the place where a checkpoint would be staged; links are never followed",
            next_step="Move it away, then try again",
        ) from None


def _claimed(host: Host, target: CheckpointSet, place: str, name: str, kind: Kind, volume: Volume) -> StagedTree | None:
    """The place and, where one is in it, the tree. None when another has taken the place's name meanwhile."""
    fd = host.fs.open(place, DIRECTORY)
    try:
        if not lock_directory(host.fs, fd, volume):
            raise in_use(place)
        tree = StagedTree(host.fs, fd, place, name, kind, target)
    except BaseException:
        with contextlib.suppress(OSError):
            host.fs.close(fd)
        raise
    with contextlib.ExitStack() as undo:
        undo.callback(tree.release)
        with contextlib.suppress(FileNotFoundError):
            if host.fs.lstat(place).st_ino == host.fs.fstat(fd).st_ino:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # its writer came no further
                    tree.hold(volume)
                undo.pop_all()
                return tree
    return None


def _require_quiet(host: Host, path: str, volume: Volume, minimum_age: float) -> None:
    times = [host.fs.lstat(path).st_mtime_ns]
    with contextlib.suppress(OddThing):  # what holds a pipe is no copy of ours any more: its own time must do
        times += [member.mtime_ns for member in walk(host.fs, path)]
    quiet_for = host.clock.now() - max(times) / 1e9
    if not quiet_for >= minimum_age:
        raise InUse(
            f"{visible(path)} was written {max(quiet_for, 0):.0f} s ago, maybe from another host",
            why=f"On {volume.fs_type} only silence for {minimum_age:.0f} s proves that its writer is gone",
            next_step="Wait, then try again",
        )
