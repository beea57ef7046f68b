"""A staged tree: what a directory or a group is until it is whole. It lies in the control directory, where no trainer
lists it, and is flocked while its writer lives.

Without a control directory it lies in the set under a hashed `.part` name that no trainer takes for a checkpoint.
"""

from __future__ import annotations

import contextlib
import errno
import os

import xxhash

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.dismantle import dismantle
from ckptdeck.core.errors import InUse, Refused
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import store_name
from ckptdeck.core.naming import PART_SUFFIX, markers_last
from ckptdeck.core.part import keep_from_children
from ckptdeck.core.removal import put_back, quarantine
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Stamp, Volume, Warning
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import OddThing, Unit, look_at, walk
from ckptdeck.core.volume import exchange_directories, fsync_directory, rename_into_place

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW
_NO_LOCKS = frozenset({errno.EBADF, errno.ENOLCK, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


def staging_path(target: CheckpointSet, name: str) -> str:
    """Where the directory or group `name` is staged."""
    if target.control is not None:
        return target.control_path("staging", store_name(name))
    return os.path.join(target.root, f".{xxhash.xxh3_64(os.fsencode(name)).hexdigest()}{PART_SUFFIX}")


class StagedTree:
    """A directory that is filled and then gets its name, or gives its files theirs."""

    def __init__(self, fs: FileSystem, fd: int, path: str, kind: Kind, target: CheckpointSet) -> None:
        self.path = path
        self._target = target
        self.kind = kind
        self._fs = fs
        self._fd: int | None = fd
        self._left = False
        self._placed: dict[str, int] = {}
        """Inode by name of a group's members that have their place."""
        self._replaced: int | None = None
        """Descriptor of the directory that changed places with ours: while it is open no other gets its inode."""
        status = fs.fstat(fd)
        self.inode = status.st_ino
        keep_from_children(self)

    @property
    def unit(self) -> Unit:
        """What is staged, as a directory."""
        return Unit(os.path.dirname(self.path), os.path.basename(self.path), Kind.DIRECTORY)

    @property
    def half_named(self) -> bool:
        """After a failed `give_name`: some files of a group have their place and could not be taken back."""
        return bool(self._placed)

    def release(self) -> None:
        """Gives the flock back."""
        replaced, self._replaced = self._replaced, None
        fd, self._fd = self._fd, None
        try:
            if replaced is not None:
                self._fs.close(replaced)
        finally:
            if fd is not None:
                self._fs.close(fd)

    def follow(self, host: Host, volume: Volume) -> None:
        """Goes with the directory that has the staging place now: some libraries (Orbax, told to overwrite) put one of
        their own in the place of the one they were given.

        Raises InUse when it is another writer's, or in a forked child, FileNotFoundError, OSError.
        """
        if self._fd is None:
            raise InUse(
                f"{visible(self.path)} is another process's",
                why="This one was forked from it, and only the process that began to save can end it",
                next_step="Leave the block in the process that entered it; nothing was touched",
            )
        if self._fs.lstat(self.path).st_ino == self.inode:
            return
        theirs = _claimed(host, self._target, self.path, self.kind, volume)
        if theirs is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        self.release()
        self.inode = theirs.inode
        self._fd, theirs._fd = theirs._fd, None

    def leave(self) -> None:
        """What is staged stays, for the next run to continue or to roll forward; `discard` then only closes it."""
        self._left = True

    def discard(self) -> None:
        """Takes apart what is staged, or the old directory that changed places with it.

        What cannot be removed stays behind as a stale leftover, which is no harm.
        """
        if not self._left:
            with contextlib.suppress(OSError):
                self.remove()
        self._left = True  # its inode may be another's soon
        with contextlib.suppress(OSError):
            self.release()

    def take_apart(self) -> None:
        """`remove`, and the flock is given back on every way out."""
        try:
            self.remove()
        finally:
            self.leave()
            self.discard()

    def remove(self) -> None:
        """Takes apart what is at the staging place, if it is ours: the tree, or what it replaced. Raises OSError."""
        try:
            if self._replaced is not None:
                self._remove_replaced(self._replaced)
            elif self._fs.lstat(self.path).st_ino == self.inode:
                dismantle(self._fs, self.path)
        except FileNotFoundError:
            return

    def _remove_replaced(self, replaced: int) -> None:
        """Under its flock: another writer may take it for a leftover too, and by the time that we have looked and
        take apart what lies there it would be that writer's tree.
        """
        with opened(self._fs, self.path, os.O_RDONLY | _DIRECTORY) as fd:
            inode = self._fs.fstat(fd).st_ino
            if inode != self._fs.fstat(replaced).st_ino or not self._fs.try_lock(fd):
                return
            if self._fs.lstat(self.path).st_ino == inode:
                dismantle(self._fs, self.path)

    def give_name(self, host: Host, volume: Volume, final: str, *, replace: bool) -> tuple[Warning, ...]:
        """The tree at its final place: a directory in one atomic step, a group name by name, its marker last.

        Raises FileExistsError when a name is taken, OSError. Then nothing is left under a name, else see `half_named`.
        """
        if self.kind is Kind.GROUP:
            warnings = self._place_members(host, volume, os.path.dirname(final))
        else:
            warnings = self._place_directory(host, volume, final, replace=replace)
        with contextlib.suppress(OSError):  # after the rename only our own place could still show the old name
            fsync_directory(host.fs, os.path.dirname(self.path), volume)
        return warnings

    def stamps_as(self, final: str) -> tuple[Stamp, ...] | None:
        """The stamps of this tree, which has just got its place; None when the name has moved on."""
        root, name = os.path.split(final)
        unit = Unit(root, name, self.kind, tuple(self._placed))
        try:
            found = look_at(self._fs, unit)
        except (FileNotFoundError, OddThing):
            return None
        if self.kind is Kind.GROUP:
            same = {member.path: member.inode for member in found.members} == self._placed
        else:
            same = found.node is not None and found.node[1] == self.inode
        return found.stamps if same else None

    def _place_directory(self, host: Host, volume: Volume, final: str, *, replace: bool) -> tuple[Warning, ...]:
        try:
            return rename_into_place(host, volume, self.path, final, replace=False, inode=self.inode)
        except FileExistsError:
            if not replace:
                raise
        try:
            old = host.fs.open(final, os.O_PATH | _DIRECTORY)
        except NotADirectoryError:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), final) from None
        try:
            inode = host.fs.fstat(old).st_ino
            if exchange_directories(host, self.path, final):
                self._replaced = old
                return ()
        finally:
            if self._replaced is None:
                host.fs.close(old)
        if self._target.control is None:
            raise Refused(
                f"{visible(final)} is there, and {volume.fs_type} cannot exchange two directories in one step",
                guard="exists",
                why="Replacing it would leave a moment in which neither is there, and no place keeps the old one",
                next_step="Run `ckptdeck init` on the set, or move the old directory away first",
            )
        unit = Unit(self._target.root, os.path.basename(final), Kind.DIRECTORY)
        entry = quarantine(host, self._target, volume, unit, inode=inode, reason="replaced by a newer save")
        try:
            return rename_into_place(host, volume, self.path, final, replace=False, inode=self.inode)
        except OSError:
            with contextlib.suppress(OSError):  # the old one has its name again, or waits in quarantine
                put_back(host, self._target, volume, entry, unit)
            raise

    def _place_members(self, host: Host, volume: Volume, root: str) -> tuple[Warning, ...]:
        warnings: tuple[Warning, ...] = ()
        try:
            for name in markers_last(member.path for member in walk(host.fs, self.path)):
                staged = os.path.join(self.path, name)
                inode = host.fs.lstat(staged).st_ino
                final = os.path.join(root, name)
                warnings += rename_into_place(host, volume, staged, final, replace=False, inode=inode)
                self._placed[name] = inode
        except OSError:
            self._take_back(host, volume, root)
            raise
        return warnings

    def _take_back(self, host: Host, volume: Volume, root: str) -> None:
        """A name was taken: what has its place already is no checkpoint without the rest."""
        for name in reversed(markers_last(self._placed)):
            final, staged = os.path.join(root, name), os.path.join(self.path, name)
            with contextlib.suppress(OSError):
                rename_into_place(host, volume, final, staged, replace=False, inode=self._placed[name])
                del self._placed[name]


def open_tree(
    host: Host, target: CheckpointSet, name: str, kind: Kind, volume: Volume, *, minimum_age: float
) -> StagedTree:
    """A new, empty tree for `name`.

    A leftover that nobody owns is taken apart first. Raises InUse when a live writer owns it, Refused when the place
    is taken by something else, OSError.
    """
    path = staging_path(target, name)
    while True:
        try:
            host.fs.make_directory(path)
        except FileExistsError:
            leftover = claim_tree(host, target, name, kind, volume, minimum_age=minimum_age)
            if leftover is not None:
                leftover.take_apart()
            continue
        with contextlib.suppress(FileNotFoundError):  # taken for a leftover before it was locked, and taken apart
            tree = _claimed(host, target, path, kind, volume)
            if tree is not None:
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
    path = place or staging_path(target, name)
    try:
        if volume.fs_class != "local":
            _require_quiet(host, path, volume, minimum_age)
        return _claimed(host, target, path, kind, volume)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise Refused(
            f"{visible(path)} is no directory",
            guard="not-a-file",
            why="Something else uses the place where a checkpoint would be staged; links are never followed",
            next_step="Move it away, then try again",
        ) from None


def _claimed(host: Host, target: CheckpointSet, path: str, kind: Kind, volume: Volume) -> StagedTree | None:
    fd = host.fs.open(path, os.O_RDONLY | _DIRECTORY)
    try:
        if not _lock(host.fs, fd, volume):
            raise InUse(
                f"{visible(path)} is being written by another process",
                why="It holds the directory's lock, which the kernel takes away when it dies",
                next_step="Let it finish, or stop it; nothing was touched",
            )
        tree = StagedTree(host.fs, fd, path, kind, target)
        same = host.fs.lstat(path).st_ino == tree.inode
    except FileNotFoundError:
        same = False
    except BaseException:
        with contextlib.suppress(OSError):
            host.fs.close(fd)
        raise
    if not same:
        host.fs.close(fd)
        return None
    return tree


def _lock(fs: FileSystem, fd: int, volume: Volume) -> bool:
    """Servers cannot lock what is open for reading only, as a directory is; there only silence tells."""
    try:
        return fs.try_lock(fd)
    except OSError as error:
        if volume.fs_class != "local" and error.errno in _NO_LOCKS:
            return True
        raise


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
