"""The ring of free-space samples on disk: one line every ten minutes at most, best effort in both directions.

A full, read-only or silent disk loses samples and nothing else; several processes may keep one ring.
"""

from __future__ import annotations

import os

from ckptdeck.core.checkpoint_set import SPACE
from ckptdeck.core.filesystem import opened, read_file
from ckptdeck.core.host import Host
from ckptdeck.core.naming import FOREIGN_FAMILY
from ckptdeck.core.samples import MOST, SPACING, Sample, decode_samples, encode_sample, is_due, merged
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Inventory
from ckptdeck.core.small_file import write_small_file
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.values import dataclass

_LIMIT = 8 << 20
_SPARE = MOST // 5
"""Lines a ring may have too many before it is written anew."""


def read_samples(host: Host, survey: Survey) -> dict[Role, tuple[Sample, ...]]:
    """What is known of each side's volume, oldest first; nothing where there is nothing or it cannot be read."""
    return {side.role: decode_samples(_read(host, side.inventory.control)) for side in survey.sides}


@dataclass(frozen=True, slots=True)
class _Known:
    control: str | None
    asked_at: float
    samples: tuple[Sample, ...] = ()
    unwritten: tuple[Sample, ...] = ()
    """Seen by this process and not written down."""


class SampleKeeper:
    """The samples of each side, a new one whenever the newest is old enough. Ask it on the thread that looks there.

    `write` False, and a side without a control directory: new ones are only remembered.
    """

    def __init__(self, *, write: bool = True) -> None:
        self._write = write
        self._known: dict[Role, _Known] = {}

    def samples_with(self, host: Host, inventory: Inventory) -> tuple[Sample, ...]:
        """Oldest first, what `inventory` shows included where it is due."""
        role, control, now = inventory.role, inventory.control, inventory.taken_at
        known = self._known.get(role, _Known(control, -SPACING))
        if known.control == control and 0 <= now - known.asked_at < SPACING:
            return known.samples
        data = _read(host, control)
        samples = merged(decode_samples(data), known.unwritten)
        unwritten = known.unwritten
        if inventory.condition.readable and inventory.volume is not None and is_due(samples, now):
            sample = Sample(now, inventory.volume.free, bytes_of_ours(inventory))
            may_write = self._write and inventory.condition is Condition.OK and not inventory.volume.read_only
            if not (may_write and _append(host, control, sample, data)):
                unwritten = (*unwritten, sample)[-MOST:]
            samples = merged(samples, (sample,))
        self._known[role] = _Known(control, now, samples, unwritten)
        return samples


def bytes_of_ours(inventory: Inventory) -> int:
    """Everything on the volume that this set accounts for: checkpoints, parts and quarantine."""
    there = (one.identity for one in inventory.sightings if one.family != FOREIGN_FAMILY)
    return (
        sum(identity.allocated for identity in there if identity is not None)
        + sum(flight.size for flight in inventory.in_flight if not flight.final_name)
        + sum(entry.size for entry in inventory.quarantine)
    )


def _read(host: Host, control: str | None) -> bytes:
    if control is None:
        return b""
    try:
        return read_file(host.fs, os.path.join(control, SPACE), _LIMIT)
    except OSError:
        return b""


def _append(host: Host, control: str | None, sample: Sample, data: bytes) -> bool:
    """Adds a line to the ring that holds `data`; one that has become too long loses its oldest. False: it could not."""
    if control is None:
        return False
    line = encode_sample(sample)
    try:
        if data.count(b"\n") >= MOST + _SPARE:
            lines = map(encode_sample, (*(one for one in decode_samples(data) if one.at <= sample.at), sample))
            write_small_file(host.fs, control, SPACE, b"".join([*lines][-MOST:]), pid=host.pid)
            return True
        whole = not data or data.endswith(b"\n")  # else the last writer was cut off, and this starts a line of its own
        path = os.path.join(control, SPACE)
        with opened(host.fs, path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            # One write: O_APPEND keeps lines of several processes whole.
            line = line if whole else b"\n" + line
            return host.fs.write(fd, memoryview(line)) == len(line)
    except OSError:
        return False
