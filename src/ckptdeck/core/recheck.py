"""The last look at an item, in the moment of acting: is it still what was planned?"""

from __future__ import annotations

import os
import stat

from ckptdeck.core.errors import Refused
from ckptdeck.core.filesystem import is_there, opened
from ckptdeck.core.hashing import member_of
from ckptdeck.core.host import Host
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Member, Stamp


def require_same(host: Host, path: str, stamps: tuple[Stamp, ...], inode: int | None) -> Member:
    """The member at `path`, if it is the one planned. Raises Refused when it is another one, gone, or a link."""
    try:
        status = host.fs.lstat(path)
    except FileNotFoundError:
        raise _changed(path, "it is gone") from None
    if not stat.S_ISREG(status.st_mode):
        raise _changed(path, "it is no regular file any more")
    member = member_of("", status)
    if inode is not None and member.inode != inode:
        raise _changed(path, "another file took its name")
    if stamps and not _fits(member, stamps[0]):
        raise _changed(path, "its size or times moved")
    return member


def require_source(host: Host, path: str, item: PlanItem) -> Member:
    """The source of a copy or an adoption: as planned, and nobody is writing it."""
    member = require_same(host, path, item.stamps, item.inode)
    require_no_writer(host, path, member)
    return member


def require_no_writer(host: Host, path: str, member: Member) -> None:
    """Raises Refused when somebody on this host has the file open for writing."""
    with opened(host.fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        held = host.fs.open_for_writing_elsewhere(fd)
    key = (member.device, member.inode)
    writer = host.find_writers(frozenset({key})).get(key)
    if held or writer is not None:
        who = writer.shown() if writer is not None else "a process"
        raise Refused(
            f"{visible(path)} is held open for writing by {who}",
            guard="live-writer",
            why="What is still being written is not touched and not trusted",
            next_step="Run the command again when the writer has closed it",
        )


def require_free(host: Host, path: str) -> None:
    """Raises Refused when the name is taken after all."""
    if is_there(host.fs, path):
        raise _changed(path, "something has appeared under this name")


def _fits(member: Member, stamp: Stamp) -> bool:
    """A ctime of 0 in a plan means that it was not known."""
    if (member.size, member.mtime_ns) != (stamp.size, stamp.mtime_ns):
        return False
    return stamp.ctime_ns in (0, member.ctime_ns)


def _changed(path: str, how: str) -> Refused:
    return Refused(
        f"{visible(path)} is not what the plan saw: {how}",
        guard="changed-since-plan",
        why="A plan may skip what changed, never act on something else",
        next_step="Look again and plan anew",
    )
