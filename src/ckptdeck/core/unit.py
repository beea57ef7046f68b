"""A checkpoint on disk, whatever it is made of: a file, a directory, or a group of names that belong to one step.

Looking at one gives its identity: every member's stat. Links are seen and never followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from operator import attrgetter

import xxhash

from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Member, Record, RecordMember
from ckptdeck.core.states import Kind, MemberKind
from ckptdeck.core.values import dataclass

DEEPEST = 64
"""Directories inside one another; what goes deeper is no checkpoint of a trainer."""


class OddThing(Exception):
    """What has the name is not what a checkpoint is made of; the text says how, "it is ..."."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Where one checkpoint lies. `members` are the names of a group, relative to `root`; empty for the other kinds."""

    root: str
    name: str
    kind: Kind = Kind.FILE
    members: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Of the file or the directory; a group has none, and this says where it would be."""
        return os.path.join(self.root, self.name)

    @property
    def base(self) -> str:
        """What member paths are relative to."""
        return self.root if self.kind is Kind.GROUP else self.path

    def path_of(self, member: str) -> str:
        return os.path.join(self.base, member) if member else self.path


def unit_of_record(root: str, record: Record) -> Unit:
    """Where the recorded checkpoint should lie below `root`."""
    members = tuple(member.path for member in record.members) if record.kind is Kind.GROUP else ()
    return Unit(root, record.name, record.kind, members)


def look_at(fs: FileSystem, unit: Unit) -> Identity:
    """The identity of what is there now. A member of a group that is not there is left out.

    Raises FileNotFoundError when nothing is, OddThing, or the OSError of a stat or a listing.
    """
    match unit.kind:
        case Kind.FILE:
            status = fs.lstat(unit.path)
            if not stat.S_ISREG(status.st_mode):
                raise OddThing("no regular file")
            return Identity((member_of("", status),))
        case Kind.DIRECTORY:
            status = fs.lstat(unit.path)
            if not stat.S_ISDIR(status.st_mode):
                raise OddThing("no directory")
            return Identity(walk(fs, unit.path), member_of("", status, MemberKind.DIRECTORY))
        case Kind.GROUP:
            return Identity(tuple(_group_members(fs, unit)))


def member_of(path: str, status: os.stat_result, kind: MemberKind = MemberKind.FILE, target: str = "") -> Member:
    size = status.st_size if kind is MemberKind.FILE else 0
    return Member(
        *(path, size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino),
        *(stat.S_IMODE(status.st_mode), status.st_nlink, status.st_blocks, kind, target),
    )


def walk(fs: FileSystem, path: str) -> tuple[Member, ...]:
    """Every file, link and empty directory below `path`, in the order of their paths. Raises OddThing, OSError."""
    found: list[Member] = []
    waiting: list[tuple[str, os.stat_result | None]] = [("", None)]
    while waiting:
        directory, status = waiting.pop()
        if directory.count("/") >= DEEPEST:
            raise OddThing(f"directories inside one another, deeper than {DEEPEST}")
        entries = fs.list_directory(os.path.join(path, directory) if directory else path)
        if not entries and status is not None:
            found.append(member_of(directory, status, MemberKind.DIRECTORY))
        above = f"{directory}/" if directory else ""
        for entry in entries:
            inside = above + entry.name
            member_status = _status(entry, path, inside)
            if stat.S_ISREG(member_status.st_mode):
                found.append(member_of(inside, member_status))
            elif stat.S_ISDIR(member_status.st_mode):
                waiting.append((inside, member_status))
            else:
                found.append(_link(fs, path, inside, member_status))
    return tuple(sorted(found, key=_path_of))


def directories_of(paths: Iterable[str]) -> list[str]:
    """Every directory on the way to `paths`, deepest first, without the top one."""
    found = set()
    for path in paths:
        while path := path.rpartition("/")[0]:
            found.add(path)
    return sorted(found, key=lambda path: (-path.count("/"), path))


def escapes(path: str, target: str) -> bool:
    """Whether the link at `path` may lead out of its checkpoint, by its text alone.

    Up only at its start: behind a name a `..` climbs from wherever that name, a link itself, has led.
    """
    steps = [step for step in target.split("/") if step not in ("", ".")]
    up = 0
    while up < len(steps) and steps[up] == "..":
        up += 1
    return not target or target.startswith("/") or up > path.count("/") or ".." in steps[up:]


def leading_out(identity: Identity) -> str | None:
    """The first link that leads out of the checkpoint: such a unit is neither recorded nor copied (2-core.md)."""
    for member in identity.members:
        if member.kind is MemberKind.LINK and escapes(member.path, member.target):
            return f"{visible(member.path)} is a link to {visible(member.target)}, outside of the checkpoint"
    return None


def unit_digest(members: Iterable[RecordMember]) -> str:
    """Of a file its own; else xxh3_128 over the byte-sorted lines `<hex>  <path>` (2-core.md "A record").

    The path of a link ends with "//" there and that of an empty directory with "/", which no file's does.
    """
    listed = list(members)
    if len(listed) == 1 and not listed[0].path:
        return listed[0].digest
    marks = {MemberKind.FILE: "", MemberKind.LINK: "//", MemberKind.DIRECTORY: "/"}
    lines = sorted(os.fsencode(f"{member.digest}  {member.path}{marks[member.kind]}\n") for member in listed)
    return xxhash.xxh3_128(b"".join(lines)).hexdigest()


def record_of_link(member: Member) -> RecordMember:
    """A link or an empty directory as a record keeps it."""
    digest = xxhash.xxh3_128(os.fsencode(member.target)).hexdigest()
    return RecordMember(member.path, 0, digest, member.kind, member.target)


def _group_members(fs: FileSystem, unit: Unit) -> Iterator[Member]:
    missing: FileNotFoundError | None = None
    found = 0
    for name in sorted(unit.members):
        try:
            status = fs.lstat(os.path.join(unit.root, name))
        except FileNotFoundError as error:
            missing = error
            continue
        if not stat.S_ISREG(status.st_mode):
            raise OddThing(f"no group of files: {visible(name)} is not a regular one")
        found += 1
        yield member_of(name, status)
    if not found:
        raise missing or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), unit.path)


_path_of = attrgetter("path")


def _status(entry: DirectoryEntry, path: str, inside: str) -> os.stat_result:
    if entry.stat is None:
        code = entry.error or errno.EIO
        raise OSError(code, os.strerror(code), os.path.join(path, inside))
    return entry.stat


def _link(fs: FileSystem, path: str, inside: str, status: os.stat_result) -> Member:
    if stat.S_ISLNK(status.st_mode):
        return member_of(inside, status, MemberKind.LINK, fs.read_link(os.path.join(path, inside)))
    raise OddThing(f"a directory with {visible(inside)} in it, which is neither file, link nor directory")
