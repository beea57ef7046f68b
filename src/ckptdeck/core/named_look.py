"""A look at only those names of a side that are known to have changed, on top of the look before.

However large the set is, the disk is asked only for what is named, for what is young, moves or is unfinished, and for
the little that lies beside the checkpoints. Of what is told it says what a look at everything would say; a change that
nobody tells, as of what lies inside a directory that is at rest, is left to the next look at everything. Where names
alone do not do, because others may belong together with them or the bookkeeping changed without a name, it says so, and
everything has to be looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import replace

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import DirectoryEntry
from ckptdeck.core.gathering import Found, Gathering, marked, names_marked
from ckptdeck.core.groups import may_be_part
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import RECORD, ManifestContents, store_name
from ckptdeck.core.named_books import entry_at, read_books_again
from ckptdeck.core.naming import read_name
from ckptdeck.core.pointers import find_best
from ckptdeck.core.policy import Policy
from ckptdeck.core.register import Changes, Register
from ckptdeck.core.scan import bare_inventory
from ckptdeck.core.side_look import SideLook, Whole, beside
from ckptdeck.core.sighting import ENOUGH, Beside, BestModel, Inventory, ReadBefore, Record, Sighting, Volume
from ckptdeck.core.states import Kind
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import volume_of


@dataclass(frozen=True, slots=True)
class NamedInventory:
    """What a named look found."""

    inventory: Inventory
    changes: Changes


def look_again(
    host: Host, checkpoint_set: CheckpointSet, policy: Policy, register: Register, paths: Collection[str]
) -> NamedInventory | None:
    """The side as a whole, where only what lies at `paths`, in the set or in its bookkeeping, may have changed.

    None when everything has to be looked at. Raises OSError; after an error `register` must not be used again.
    `policy` reads names as the one of the look before did.
    """
    before, bare = register.inventory, bare_inventory(host, checkpoint_set)
    if not bare.condition.readable or before.beside is None or _whose(bare) != _whose(before):
        return None
    return _NamedLook(host, checkpoint_set, policy, register, bare).run_named(paths)


def _whose(inventory: Inventory) -> tuple[object, ...]:
    return (
        *(inventory.role, inventory.root, inventory.control, inventory.set_id, inventory.run_id),
        *(inventory.condition, inventory.why, inventory.boot_id),
    )


def same_place(one: Volume | None, other: Volume | None) -> bool:
    """The same mount of the same file system, whatever is free there."""
    if one is None or other is None:
        return one is other
    return replace(one, total=0, free=0, free_inodes=0) == replace(other, total=0, free=0, free_inodes=0)


@dataclass(frozen=True, slots=True)
class _Seen:
    books: ReadBefore | None
    entries: Mapping[str, DirectoryEntry | None]
    missing: Mapping[str, int]


class _NamedLook(SideLook):
    def __init__(
        self, host: Host, checkpoint_set: CheckpointSet, policy: Policy, register: Register, bare: Inventory
    ) -> None:
        super().__init__(host, checkpoint_set, policy, register.inventory, bare, register.by_name)
        self._register = register

    def run_named(self, paths: Collection[str]) -> NamedInventory | None:
        register, before = self._register, self._register.inventory
        beside_before = before.beside
        assert beside_before is not None  # asked by the caller
        volume = volume_of(self._fs, self._set.root)
        seen = self._see(paths, beside_before) if same_place(volume, before.volume) else None
        if seen is None:
            return None
        self._contents = seen.books.contents if seen.books is not None else ManifestContents()
        if any(self._may_regroup(name, entry) for name, entry in seen.entries.items()):
            return None
        # As it was: the register is brought up to date before all of it is used.
        self._before = {name: register.by_name[name] for name in seen.entries if name in register.by_name}
        gathering = Gathering(self._fs, self._set, self._policy, self._contents, {}, self._before)
        found = gathering.sort_singles(entry for entry in seen.entries.values() if entry is not None)
        return self._complete(seen, found, beside_before, volume)

    # --- names

    def _see(self, paths: Collection[str], beside_before: Beside) -> _Seen | None:
        """In the order of `list_set`, and a second time where something recorded is not there."""
        files: dict[str, set[str]] = {}
        for path in paths:
            directory, name = os.path.split(path)
            files.setdefault(directory, set()).add(name)
        told = files.pop(self._set.root, set()) | beside_before.others | self._register.restless
        seen = self._see_once(told, files, self._register.inventory.read)
        if seen is None:
            return None
        known = {name for name in seen.missing if self._is_known_to_be_missing(name)}
        if seen.missing.keys() <= known:
            return seen
        records = self._set.control_path("manifest")
        files.setdefault(records, set()).update(store_name(name) + RECORD for name in seen.missing)
        again = self._see_once(seen.entries.keys(), files, seen.books)
        if again is None:
            return None
        twice = seen.missing.keys() | known
        return _Seen(again.books, again.entries, {name: ENOUGH if name in twice else 1 for name in again.missing})

    def _is_known_to_be_missing(self, name: str) -> bool:
        before = self._register.by_name.get(name)
        return before is not None and before.seen_missing >= ENOUGH

    def _see_once(
        self, told: Collection[str], files: Mapping[str, Collection[str]], books: ReadBefore | None
    ) -> _Seen | None:
        names = set(told)
        if books is not None:
            again = read_books_again(self._fs, self._set, self._now, books, files)
            if again is None:
                return None
            books, names = again.books, names | again.names
        entries = {name: entry_at(self._fs, self._set.root, name) for name in names}
        records = books.contents.records if books is not None else {}
        missing = {name: ENOUGH for name, entry in entries.items() if entry is None and name in records}
        return _Seen(books, entries, missing)

    def _may_regroup(self, name: str, entry: DirectoryEntry | None) -> bool:
        """Other names may be one checkpoint with this one, or may have been."""
        register = self._register
        before, now = register.by_name.get(name), self._record_of(name, self._contents)
        if name in register.members or (before is not None and before.kind is Kind.GROUP):
            return True
        if (now is not None and now.kind is Kind.GROUP) or (register.members and f"{name}.group" in register.by_name):
            return True
        read = register.inventory.read
        recorded_before = read is not None and self._record_of(name, read.contents) is not None
        was_there = before is None or (before.kind is Kind.FILE and not before.seen_missing and before.link is None)
        was_known = before is not None or (register.inventory.beside and name in register.inventory.beside.others)
        was_loose = bool(was_known) and was_there and not recorded_before
        is_loose = now is None and entry is not None and (entry.stat is None or stat.S_ISREG(entry.stat.st_mode))
        reading = read_name(name, False, self._policy)
        return was_loose != is_loose and may_be_part(name, reading, by_words=self._policy.group)

    @staticmethod
    def _record_of(name: str, contents: ManifestContents) -> Record | None:
        return contents.records.get(name) or contents.next_records.get(name)

    # --- what they are now

    def _complete(self, seen: _Seen, found: Found, beside_before: Beside, volume: Volume) -> NamedInventory:
        register = self._register
        here = {sighting.name: sighting for sighting in (*found.same.values(), *found.fresh)}
        for name in seen.entries.keys() - here.keys():
            register.steps.pop(name, None)
        register.steps.update({name: sighting.step for name, sighting in here.items()})
        best = self._best(seen.entries, here)
        pointers, pointed_at = self._pointers(found, register.steps, best)
        fresh = self._closer_look(found)
        here.update((sighting.name, sighting) for sighting in fresh)
        missing = {name: self._missing(name, listings) for name, listings in seen.missing.items()}
        others = frozenset(name for name, entry in seen.entries.items() if entry is not None and name not in here)
        now_beside = Beside(others, found.markers, pointed_at)  # each of the others is looked at each time
        changes = self._put(seen.entries, missing | here, beside_before, now_beside)
        whole = Whole(
            volume=volume,
            books=seen.books,
            by_name=register.by_name,
            names=_There(register.by_name, register.members, others),
            pointers=pointers,
            best=best,
            beside=now_beside,
        )
        inventory = self._put_together(found, fresh, whole, register.siblings)
        register.follow(inventory, changes)
        return NamedInventory(inventory, changes)

    def _best(self, entries: Iterable[str], here: Mapping[str, Sighting]) -> BestModel | None:
        """Only a directory can say what is best."""
        before = self._register.inventory.best
        if all(sighting.kind is not Kind.DIRECTORY for sighting in (*self._before.values(), *here.values())):
            return before
        there = {**self._register.by_name, **here}
        for name in entries:
            if name not in here:
                there.pop(name, None)
        return find_best(self._fs, self._set.root, there.values(), before)

    def _put(
        self,
        names: Iterable[str],
        now: Mapping[str, Sighting],
        before: Beside,
        after: Beside,
    ) -> Changes:
        """Enters what `names` are `now`, and what others that changed say of any name."""
        register = self._register
        changes: dict[str, Sighting | None] = {}

        def enter(name: str, sighting: Sighting | None) -> None:
            if register.by_name.get(name) is not sighting:
                register.put(name, sighting)
                changes[name] = sighting

        for name in names:
            enter(name, now.get(name))
        marks = marked(after.markers, _There(register.by_name, register.members, after.others))
        spoken_of = {*before.pointed_at, *after.pointed_at, *names_marked(before.markers), *names_marked(after.markers)}
        for name in (*names, *spoken_of):
            sighting = register.by_name.get(name)
            if sighting is not None and not sighting.seen_missing:
                enter(name, beside(sighting, after.pointed_at.get(name), marks.get(name)))
        return changes


class _There(Container[str]):
    """The names that are listed, and the groups they make."""

    def __init__(self, by_name: Mapping[str, Sighting], members: Container[str], others: Container[str]) -> None:
        self._by_name = by_name
        self._members = members
        self._others = others

    def __contains__(self, name: object) -> bool:
        sighting = self._by_name.get(name) if isinstance(name, str) else None
        return (sighting is not None and not sighting.seen_missing) or name in self._members or name in self._others
