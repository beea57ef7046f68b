"""A directory or a group while it is staged: what it is until it has its name, and how it gets it.

It lies in a place of its own (staging.py). Place and tree are flocked while the writer lives: by the place a leftover
is told from a live one, by the tree the next publisher of the name waits until its record is written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.dismantle import dismantle
from ckptdeck.core.errors import InUse, Refused
from ckptdeck.core.filesystem import FileSystem, is_there
from ckptdeck.core.host import Host
from ckptdeck.core.naming import markers_last
from ckptdeck.core.part import keep_from_children
from ckptdeck.core.removal import put_back, quarantine
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Stamp, Volume, Warning
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import OddThing, Unit, look_at, walk
from ckptdeck.core.volume import NO_LOCKS, exchange_directories, fsync_directory, rename_into_place

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class StagedTree:
    """A directory that is filled and then gets its name, or gives its files theirs."""

    def __init__(self, fs: FileSystem, place_fd: int, place: str, name: str, kind: Kind, target: CheckpointSet) -> None:
        self.place = place
        self._name = name
        self.path = os.path.join(place, name)
        self._target = target
        self.kind = kind
        self._fs = fs
        self._place_fd: int | None = place_fd
        self._fd: int | None = None
        self._left = False
        self._placed: dict[str, int] = {}
        """Inode by name of a group's members that have their place."""
        self._place_inode = fs.fstat(place_fd).st_ino
        self.inode = 0
        """Of the tree, 0 while there is none."""
        keep_from_children(self)

    @property
    def unit(self) -> Unit:
        """What is staged, as a directory."""
        return Unit(self.place, self._name, Kind.DIRECTORY)

    @property
    def half_named(self) -> bool:
        """After a failed `give_name`: some files of a group have their place and could not be taken back."""
        return bool(self._placed)

    def release(self) -> None:
        """Gives the flocks back."""
        place_fd, self._place_fd = self._place_fd, None
        fd, self._fd = self._fd, None
        try:
            if fd is not None:
                self._fs.close(fd)
        finally:
            if place_fd is not None:
                self._fs.close(place_fd)

    def hold(self, volume: Volume) -> None:
        """Takes the tree that is at its path now, under its flock: whoever publishes the same name next waits for it.

        Raises InUse when it is another writer's, FileNotFoundError, NotADirectoryError, OSError.
        """
        fd = self._fs.open(self.path, DIRECTORY)
        try:
            if not lock_directory(self._fs, fd, volume):
                raise in_use(self.path)
            inode = self._fs.fstat(fd).st_ino
        except BaseException:
            with contextlib.suppress(OSError):
                self._fs.close(fd)
            raise
        earlier, self._fd = self._fd, fd
        self.inode = inode
        if earlier is not None:
            self._fs.close(earlier)

    def follow(self, volume: Volume) -> None:
        """Goes with the directory that has the path now: some libraries (Orbax, told to overwrite) put one of their own
        in the place of the one they were given.

        Raises InUse in a forked child and when such a library still writes, FileNotFoundError, OSError.
        """
        if self._place_fd is None:
            raise InUse(
                f"{visible(self.path)} is another process's",
                why="This one was forked from it, and only the process that began to save can end it",
                next_step="Leave the block in the process that entered it; nothing was touched",
            )
        beside = [entry.name for entry in self._fs.list_directory(self.place) if entry.name != self._name]
        if beside:
            raise InUse(
                f"{visible(os.path.join(self.place, beside[0]))} lies beside the directory that was to be filled",
                why="A library still writes there, and will put it into its place when it has finished",
                next_step="Wait for it (Orbax: wait_until_finished) before the block ends; nothing got the final name",
            )
        if self._fs.lstat(self.path).st_ino != self.inode:
            self.hold(volume)

    def leave(self) -> None:
        """What is staged stays, for the next run to continue or to roll forward; `discard` then only closes it."""
        self._left = True

    def discard(self) -> None:
        """Takes apart what is staged, and the old directory that changed places with it.

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
        """Takes apart the staging place, if it is ours, with the tree or what it replaced in it. Raises OSError."""
        try:
            if self._fs.lstat(self.place).st_ino == self._place_inode:
                dismantle(self._fs, self.place)
        except FileNotFoundError:
            return

    def give_name(self, host: Host, volume: Volume, final: str, *, replace: bool) -> tuple[Warning, ...]:
        """The tree at its final place: a directory in one atomic step, a group name by name, its marker last.

        Raises FileExistsError when a name is taken, OSError. Then nothing is left under a name, else see `half_named`.
        """
        if self.kind is Kind.GROUP:
            warnings = self._place_members(host, volume, os.path.dirname(final))
        else:
            warnings = self._place_directory(host, volume, final, replace=replace)
        with contextlib.suppress(OSError):  # after the rename only our own place could still show the old name
            if not is_there(self._fs, self.path):  # else what was replaced lies there
                self._fs.remove_directory(self.place)
            fsync_directory(host.fs, os.path.dirname(self.place), volume)
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
        old = host.fs.lstat(final)
        if not stat.S_ISDIR(old.st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), final)
        if exchange_directories(host, self.path, final):
            return ()
        if self._target.control is None:
            raise Refused(
                f"{visible(final)} is there, and {volume.fs_type} cannot exchange two directories in one step",
                guard="exists",
                why="Replacing it would leave a moment in which neither is there, and no place keeps the old one",
                next_step="Run `ckptdeck init` on the set, or move the old directory away first",
            )
        unit = Unit(self._target.root, os.path.basename(final), Kind.DIRECTORY)
        entry = quarantine(host, self._target, volume, unit, inode=old.st_ino, reason="replaced by a newer save")
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


def lock_directory(fs: FileSystem, fd: int, volume: Volume) -> bool:
    """Servers cannot lock what is open for reading only, as a directory is; there only silence tells."""
    try:
        return fs.try_lock(fd)
    except OSError as error:
        if volume.fs_class != "local" and error.errno in NO_LOCKS:
            return True
        raise


def in_use(path: str) -> InUse:
    return InUse(
        f"{visible(path)} is being written by another process",
        why="It holds the directory's lock, which the kernel takes away when it dies",
        next_step="Let it finish, or stop it; nothing was touched",
    )
