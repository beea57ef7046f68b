"""What one side holds that is not finished: parts and trainers' temporary names in the set, staged trees, and what is
written under a final name. Each is held against the look before and against its siblings."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import DirectoryEntry
from ckptdeck.core.flight import UNTRACED, Flight, Trace, judge_flight
from ckptdeck.core.host import Host
from ckptdeck.core.in_place import flight_in_place
from ckptdeck.core.naming import NameReading, part_name, read_name
from ckptdeck.core.policy import Policy
from ckptdeck.core.siblings import Siblings
from ckptdeck.core.sighting import InFlight, Member, Record, Sighting
from ckptdeck.core.staged_look import StagedLook, size_of_tree, trace_tree
from ckptdeck.core.states import Kind
from ckptdeck.core.times import is_quiet
from ckptdeck.core.unit import member_of
from ckptdeck.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What a look knows when it judges them."""

    host: Host
    checkpoint_set: CheckpointSet
    policy: Policy
    now: float
    local: bool
    """The side lies on a disk of this machine."""
    elapsed: float
    """Seconds since the look before."""
    flights_before: Mapping[str, InFlight]
    """What was in flight then, by name."""
    next_records: Mapping[str, Record]
    traces: Mapping[tuple[int, int], Trace]
    """(device, inode) of each file whose writer was asked for → what was found."""
    siblings: Siblings

    def in_set(
        self, flights: Collection[tuple[DirectoryEntry, os.stat_result, NameReading]], there: Mapping[str, Sighting]
    ) -> Iterator[InFlight]:
        """Unfinished names in the set, beside what is `there`."""
        by_part = {part_name(name): name for name in self.next_records} if flights else {}
        for entry, status, reading in flights:
            target = reading.target or by_part.get(entry.name, "")
            following = self.next_records.get(target) if reading.ours else None
            is_directory = stat.S_ISDIR(status.st_mode)
            path = self.checkpoint_set.path_of(entry.name)
            member = size_of_tree(self.host.fs, path, status) if is_directory else None
            member = member or member_of("", status)
            flight = Flight(
                name=entry.name,
                target=target,
                step=following.step if reading.step is None and following is not None else reading.step,
                ours=reading.ours and not is_directory,
                kind=Kind.DIRECTORY if is_directory else Kind.FILE,
                member=member,
                trace=self._trace(path, status, member),
                next_record=following,
                usual_size=self.siblings.usual_size(target) if target else None,
                same_as_final=_inode_of(there.get(target)) == member.inode and member.links > 1,
                previous=self.flights_before.get(entry.name),
                elapsed=self.elapsed,
            )
            yield self._judge(flight)

    def staged(self, tree: StagedLook) -> InFlight:
        following = self.next_records.get(tree.target)
        flight = Flight(
            name=tree.name,
            target=tree.target,
            step=following.step if following is not None else read_name(tree.target, True, self.policy).step,
            ours=True,
            member=tree.member,
            trace=tree.trace,
            next_record=following,
            usual_size=self.siblings.usual_size(tree.target),
            same_as_final=False,
            previous=self.flights_before.get(tree.name),
            elapsed=self.elapsed,
            kind=following.kind if following is not None else Kind.DIRECTORY,
            staged=True,
        )
        return self._judge(flight)

    def in_place(self, written: Iterable[Sighting], before: Mapping[str, Sighting]) -> Iterator[InFlight]:
        """What is `written` under its final name; `before` are the sightings of the look before."""
        for sighting in written:
            flight = flight_in_place(
                self.host.fs,
                self.checkpoint_set.path_of(sighting.name),
                sighting,
                before=before.get(sighting.name),
                previous=self.flights_before.get(sighting.name),
                usual_size=self.siblings.usual_size(sighting.name),
                elapsed=self.elapsed,
            )
            if flight is not None:
                yield flight

    def _trace(self, path: str, status: os.stat_result, member: Member) -> Trace:
        """In a directory nobody is asked for before it is quiet: what is young is not believed to be left behind."""
        if stat.S_ISREG(status.st_mode):
            return self.traces.get((member.device, member.inode), UNTRACED)
        if stat.S_ISDIR(status.st_mode) and is_quiet(member.mtime_ns, self.now, self.policy.min_age):
            return trace_tree(self.host, path, member)
        return UNTRACED

    def _judge(self, flight: Flight) -> InFlight:
        return judge_flight(flight, local=self.local, now=self.now, min_age=self.policy.min_age)


def _inode_of(sighting: Sighting | None) -> int | None:
    identity = sighting.identity if sighting is not None else None
    return None if identity is None or identity.node is None else identity.node[1]
