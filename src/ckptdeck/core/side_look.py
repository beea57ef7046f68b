"""One side looked at: what a listing and the bookkeeping say, and a closer look at what is new, young or in doubt."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ckptdeck.core.bookkeeping import list_quarantine, list_removals
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.closer_look import may_be_written, moved_since, needs_probe, with_structure, with_traces
from ckptdeck.core.errors import describe_os_error
from ckptdeck.core.flight import UNTRACED, Trace, find_traces
from ckptdeck.core.folding import folding_of
from ckptdeck.core.gathering import Found, Gathering, as_recorded
from ckptdeck.core.host import Host
from ckptdeck.core.listing import list_set
from ckptdeck.core.manifest import ManifestContents
from ckptdeck.core.naming import part_name, read_name
from ckptdeck.core.pointers import TRAINER_STATE, find_best, read_pointers
from ckptdeck.core.policy import Policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.siblings import Siblings
from ckptdeck.core.sighting import (
    Beside,
    BestModel,
    Inventory,
    Member,
    Pointer,
    ReadBefore,
    Sighting,
    Volume,
    Warning,
)
from ckptdeck.core.staged_look import StagedLook, look_at_staged
from ckptdeck.core.states import Kind
from ckptdeck.core.unfinished import Unfinished
from ckptdeck.core.unit import member_of
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import volume_of

Listed = TypeVar("Listed")


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything on a side, whether this look found it or the one before."""

    volume: Volume
    books: ReadBefore | None
    by_name: Mapping[str, Sighting]
    names: Container[str]
    """What is listed, and the groups it makes."""
    pointers: tuple[Pointer, ...]
    best: BestModel | None
    beside: Beside


class SideLook:
    """One look at one readable side, on top of the one before."""

    def __init__(
        self,
        host: Host,
        checkpoint_set: CheckpointSet,
        policy: Policy,
        previous: Inventory | None,
        bare: Inventory,
        before: Mapping[str, Sighting],
    ) -> None:
        """`before` are the sightings of `previous`, by name."""
        self._host = host
        self._fs = host.fs
        self._set = checkpoint_set
        self._policy = policy
        self._previous = previous
        self._bare = bare
        self._now = bare.taken_at
        self._elapsed = bare.taken_at - previous.taken_at if previous is not None else 0.0
        self._before = before
        self._flights_before = {f.name: f for f in previous.in_flight} if previous is not None else {}
        self._contents = ManifestContents()
        self._damaged: dict[str, str] = {}
        self._traces: dict[tuple[int, int], Trace] = {}
        self._warnings: list[Warning] = []

    def run(self) -> Inventory:
        """A look at every name. Raises OSError when the side as a whole cannot be looked at."""
        root = self._set.root
        volume = volume_of(self._fs, root)
        listing = list_set(self._fs, self._set, self._now, self._previous)
        self._contents = listing.contents
        self._damaged = self._damage()
        gathering = Gathering(self._fs, self._set, self._policy, self._contents, self._damaged, self._before)
        found = gathering.sort_out(listing.entries)
        here = (*found.same.values(), *found.fresh)
        best = find_best(self._fs, root, here, self._previous.best if self._previous is not None else None)
        pointers, pointed_at = self._pointers(found, {sighting.name: sighting.step for sighting in here}, best)
        fresh = self._closer_look(found)
        there = {
            sighting.name: beside(sighting, pointed_at.get(sighting.name), found.unfinished.get(sighting.name))
            for sighting in (*found.same.values(), *fresh)
        }
        missing = {name: self._missing(name, listings) for name, listings in listing.missing.items()}
        listed = {entry.name for entry in listing.entries}
        others = frozenset(listed - there.keys() - found.grouped)
        whole = Whole(
            volume=volume,
            books=listing.books,
            by_name=there | missing,
            names=listed | there.keys(),
            pointers=pointers,
            best=best,
            beside=Beside(others, found.markers, pointed_at),
        )
        return self._put_together(found, fresh, whole, None)

    def _pointers(
        self, found: Found, steps: Mapping[str, int | None], best: BestModel | None
    ) -> tuple[tuple[Pointer, ...], dict[str, str]]:
        """The pointer files, and checkpoint → what points to it, of the names in `steps`."""
        pointers, pointed_at, warnings = read_pointers(self._fs, self._set.root, found.pointers, found.links, steps)
        self._warnings += warnings
        if best is not None and best.target in steps:
            pointed_at.setdefault(best.target, f"{best.source}/{TRAINER_STATE}")
        return pointers, pointed_at

    def _put_together(self, found: Found, fresh: list[Sighting], whole: Whole, siblings: Siblings | None) -> Inventory:
        """The side as it is now. `siblings` are those of the whole; None: made where something is being written."""
        staged = self._listed("staging", lambda: look_at_staged(self._host, self._set, self._contents))
        if siblings is None:
            in_work = found.flights or staged or any(s.held or s.moved for s in fresh)
            siblings = Siblings(whole.by_name.values() if in_work else ())
        unfinished = Unfinished(
            host=self._host,
            checkpoint_set=self._set,
            policy=self._policy,
            now=self._now,
            local=whole.volume.fs_class == "local",
            elapsed=self._elapsed,
            flights_before=self._flights_before,
            next_records=self._contents.next_records,
            traces=self._traces,
            siblings=siblings,
        )
        return replace(
            self._bare,
            volume=whole.volume,
            sightings=tuple(whole.by_name.values()),
            in_flight=(
                *unfinished.in_set(found.flights, whole.by_name),
                *map(unfinished.staged, staged),
                *unfinished.in_place((s for s in fresh if s.held or s.moved), self._before),
            ),
            quarantine=self._listed("quarantine", lambda: list_quarantine(self._fs, self._set)),
            removing=self._listed("removing", lambda: list_removals(self._fs, self._set)),
            pins=self._contents.pins,
            pointers=whole.pointers,
            best=whole.best,
            orphan_next=self._orphan_next(whole.names, staged),
            warnings=tuple(self._warnings),
            folding=folding_of(self._fs, self._set, whole.volume),
            read=whole.books,
            beside=whole.beside,
        )

    def _orphan_next(self, names: Container[str], staged: Sequence[StagedLook]) -> tuple[str, ...]:
        trees = {tree.target for tree in staged}
        return tuple(
            name
            for name in self._contents.next_records
            if name not in names and part_name(name) not in names and name not in trees
        )

    # --- names

    def _damage(self) -> dict[str, str]:
        """Why a record cannot be read, by its file name."""
        if not self._contents.damaged:
            return {}
        records = self._set.control_path("manifest")
        for damaged in self._contents.damaged:
            self._warnings.append(Warning("damaged-record", f"{visible(damaged.path)}: {visible(damaged.why)}"))
        return {os.path.basename(d.path): d.why for d in self._contents.damaged if os.path.dirname(d.path) == records}

    def _missing(self, name: str, listings: int) -> Sighting:
        record = self._contents.records[name]
        reading = as_recorded(read_name(name, record.kind is Kind.DIRECTORY, self._policy), record)
        missing = Sighting(
            name=name,
            step=reading.step,
            kind=record.kind,
            family=reading.family,
            rolling=reading.step is None,
            record=record,
            receipt=self._contents.receipts.get(name),
            next_record=self._contents.next_records.get(name),
            pinned=self._contents.pins.get(name),
            seen_missing=listings,
        )
        before = self._before.get(name)
        return before if before is not None and before == missing else missing

    # --- finals

    def _closer_look(self, found: Found) -> list[Sighting]:
        """Asks who writes, once for all, and lets formats speak where nothing else can."""
        fresh = [replace(s, moved=True) if moved_since(s, self._before.get(s.name)) else s for s in found.fresh]
        now, min_age = self._now, self._policy.min_age
        asked = {
            s.name: members for s in fresh if (members := may_be_written(s, self._before.get(s.name), now, min_age))
        }
        files = [
            (os.path.join(self._base(s), member.path) if member.path else self._set.path_of(s.name), member)
            for s in fresh
            if s.name in asked
            for member in asked[s.name]
        ]
        parts = [
            (self._set.path_of(entry.name), member_of("", status))
            for entry, status, _ in found.flights
            if stat.S_ISREG(status.st_mode)
        ]
        self._traces = find_traces(self._host, (*files, *parts))
        fresh = [with_traces(s, map(self._trace, asked[s.name])) if s.name in asked else s for s in fresh]
        root, role = self._set.root, self._set.role
        return [with_structure(self._fs, root, s) if needs_probe(s, role) else s for s in fresh]

    def _base(self, sighting: Sighting) -> str:
        return self._set.root if sighting.kind is Kind.GROUP else self._set.path_of(sighting.name)

    def _trace(self, member: Member) -> Trace:
        return self._traces.get((member.device, member.inode), UNTRACED)

    # --- beside

    def _listed(self, where: str, listed: Callable[[], Sequence[Listed]]) -> tuple[Listed, ...]:
        """What lies in a directory of the bookkeeping; a warning, and nothing, where that cannot be listed."""
        try:
            return tuple(listed())
        except OSError as error:
            self._warnings.append(Warning(where, describe_os_error(error, self._set.control_path(where))))
            return ()


def beside(sighting: Sighting, pointer: str | None, mark: str | None) -> Sighting:
    """With what other names say of it."""
    if (sighting.pointed_at_by, sighting.unfinished) == (pointer, mark):
        return sighting
    return replace(sighting, pointed_at_by=pointer, unfinished=mark)
