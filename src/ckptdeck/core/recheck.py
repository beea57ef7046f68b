"""The last look at an item, in the moment of acting: is it still what was planned?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, from_condition, with_control
from ckptdeck.core.errors import Refused, describe_os_error
from ckptdeck.core.filesystem import FileSystem, is_there, opened
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sighting import Identity, Stamp
from ckptdeck.core.states import Condition, Kind
from ckptdeck.core.unit import OddThing, Unit, leading_out, look_at


def require_still_there(fs: FileSystem, found: CheckpointSet) -> None:
    """Raises VolumeSuspect when `found` was not usable, or is not what is at its place now."""
    now = found
    if found.condition is Condition.OK:
        try:
            bare = replace(found, control=None, document=None, condition=Condition.UNINITIALISED)
            now = with_control(fs, bare, fs.lstat(found.root).st_dev)
        except OSError as error:
            now = replace(found, condition=Condition.NOT_MOUNTED, why=describe_os_error(error, found.root))
    if now.condition is Condition.UNINITIALISED:
        now = replace(now, condition=Condition.NOT_MOUNTED, why="Its control directory is gone: it was unmounted")
    elif now.condition is Condition.OK and _set_id(now) != _set_id(found):
        now = replace(now, condition=Condition.WRONG_SET, why="Another set is at its place now")
    if now.condition is not Condition.OK:
        raise from_condition(now, "What was left to do was not tried; bring it back and plan anew")


def _set_id(found: CheckpointSet) -> str | None:
    return None if found.document is None else found.document.set_id


def unit_of(checkpoint_set: CheckpointSet, item: PlanItem) -> Unit:
    """Where what the item reads lies in one of the two sets."""
    return _unit(checkpoint_set, item, item.stamps)


def target_of(checkpoint_set: CheckpointSet, item: PlanItem) -> Unit:
    """Where what makes way lies."""
    return _unit(checkpoint_set, item, item.target)


def _unit(checkpoint_set: CheckpointSet, item: PlanItem, stamps: tuple[Stamp, ...]) -> Unit:
    members = tuple(stamp.path for stamp in stamps) if item.kind is Kind.GROUP else ()
    return Unit(checkpoint_set.root, item.name, item.kind, members)


def require_same(host: Host, unit: Unit, stamps: tuple[Stamp, ...], inode: int | None) -> Identity:
    """The identity of `unit`, if it is the one planned. Raises Refused when it is another one, gone, or a link."""
    try:
        found = look_at(host.fs, unit)
    except FileNotFoundError:
        raise _changed(unit.path, "it is gone") from None
    except OddThing as odd:
        raise _changed(unit.path, f"it is {odd}") from None
    if inode is not None and found.node is not None and found.node[1] != inode:
        raise _changed(unit.path, "another one took its name")
    if stamps:
        _require_stamps(unit, found.stamps, stamps)
    return found


def _require_stamps(unit: Unit, found: Sequence[Stamp], planned: Sequence[Stamp]) -> None:
    now = {stamp.path: stamp for stamp in found}
    for stamp in planned:
        there = now.pop(stamp.path, None)
        path = unit.path_of(stamp.path)
        if there is None:
            raise _changed(path, "it is gone")
        if not _fits(there, stamp):
            raise _changed(path, "its size or times moved")
    for path in now:
        raise _changed(unit.path_of(path), "it was not there")


def require_source(host: Host, unit: Unit, item: PlanItem) -> Identity:
    """The source of a copy or an adoption: as planned, all of it inside, and nobody is writing it."""
    found = require_same(host, unit, item.stamps, item.inode)
    outside = leading_out(found)
    if outside is not None:
        raise Refused(
            f"{visible(unit.path)} holds a link that leads out of it: {outside}",
            guard="symlink",
            why="A copy of the link would mean something else, and what it points to is no part of the checkpoint",
            next_step="Replace the link by the file it means, or make it relative to a file inside",
        )
    require_no_writer(host, unit, found)
    return found


def require_no_writer(host: Host, unit: Unit, identity: Identity) -> None:
    """Raises Refused when somebody on this host has a file of it open for writing."""
    keys = {(member.device, member.inode): unit.path_of(member.path) for member in identity.files}
    writers = host.find_writers(frozenset(keys))
    for key, path in keys.items():
        writer = writers.get(key)
        if writer is None:
            with opened(host.fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
                held = host.fs.open_for_writing_elsewhere(fd)
            if not held:
                continue
        who = writer.shown() if writer is not None else "a process"
        raise Refused(
            f"{visible(path)} is held open for writing by {who}",
            guard="live-writer",
            why="What is still being written is not touched and not trusted",
            next_step="Run the command again when the writer has closed it",
        )


def require_unpinned(host: Host, pair: Pair, name: str) -> None:
    """Raises Refused for a pin on either side, also one set since the plan was made: it protects both."""
    for checkpoint_set in pair.sets:
        if checkpoint_set.control is not None and Manifest(host.fs, checkpoint_set).pin(name) is not None:
            raise Refused(
                f"{visible(name)} is pinned", guard="pinned", next_step=f"`ckptdeck unpin {shell_word(name)}`"
            )


def require_free(host: Host, path: str) -> None:
    """Raises Refused when the name is taken after all."""
    if is_there(host.fs, path):
        raise _changed(path, "something has appeared under this name")


def _fits(now: Stamp, stamp: Stamp) -> bool:
    """A ctime of 0 in a plan means that it was not known."""
    if (now.size, now.mtime_ns) != (stamp.size, stamp.mtime_ns):
        return False
    return stamp.ctime_ns in (0, now.ctime_ns)


def _changed(path: str, how: str) -> Refused:
    return Refused(
        f"{visible(path)} is not what the plan saw: {how}",
        guard="changed-since-plan",
        why="A plan may skip what changed, never act on something else",
        next_step="Look again and plan anew",
    )


def moved_on(item: PlanItem, how: str) -> Refused:
    """The refusal of a recovery that does not find what it was planned for."""
    return Refused(
        f"{visible(item.name)} on the {item.side} is not what the plan saw: {how}",
        guard="changed-since-plan",
        why="Recovery touches only what it understands",
        next_step="Look again and plan anew",
    )
