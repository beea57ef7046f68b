"""The ring of free-space samples on disk: one line every ten minutes at most, best effort in both directions."""

from __future__ import annotations

import contextlib
import os

from ckptdeck.core.checkpoint_set import SPACE
from ckptdeck.core.filesystem import opened, read_file
from ckptdeck.core.host import Host
from ckptdeck.core.samples import MOST, Sample, decode_samples, encode_sample, is_due
from ckptdeck.core.sides import Side
from ckptdeck.core.small_file import write_small_file
from ckptdeck.core.states import Condition

_LIMIT = 8 << 20
_SPARE = MOST // 5
"""Lines a ring may have too many before it is written anew."""


def read_samples(host: Host, control: str | None) -> tuple[Sample, ...]:
    """Oldest first; none where there are none or they cannot be read."""
    if control is None:
        return ()
    try:
        return decode_samples(read_file(host.fs, os.path.join(control, SPACE), _LIMIT))
    except OSError:
        return ()


def keep_sample(host: Host, side: Side, known: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """Adds what the side's volume is like now, when the newest of `known` is old enough. Returns all there are.

    A full or read-only disk loses the sample and nothing else.
    """
    inventory = side.inventory
    if inventory.control is None or inventory.condition is not Condition.OK or inventory.volume is None:
        return known
    if not is_due(known, inventory.taken_at):
        return known
    sample = Sample(inventory.taken_at, inventory.volume.free, bytes_of_ours(side))
    with contextlib.suppress(OSError):
        _append(host, inventory.control, sample, known)
    return (*known, sample)


def bytes_of_ours(side: Side) -> int:
    """Everything on the volume that this set accounts for: checkpoints, parts and quarantine."""
    return (
        sum(copy.size for copy in side.present)
        + sum(flight.size for flight in side.inventory.in_flight if not flight.final_name)
        + sum(entry.size for entry in side.inventory.quarantine)
    )


def _append(host: Host, control: str, sample: Sample, known: tuple[Sample, ...]) -> None:
    if len(known) >= MOST + _SPARE:
        lines = b"".join(map(encode_sample, (*known, sample)[-MOST:]))
        write_small_file(host.fs, control, SPACE, lines, pid=host.pid)
        return
    path = os.path.join(control, SPACE)
    with opened(host.fs, path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW) as fd:
        host.fs.write(fd, memoryview(encode_sample(sample)))
