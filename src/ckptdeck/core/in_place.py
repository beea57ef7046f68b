"""Checkpoints that somebody writes directly under their final names: how far they are, and how far they have to go."""

from __future__ import annotations

import os

from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.flight import growth_rate
from ckptdeck.core.sighting import Identity, InFlight, Sighting
from ckptdeck.core.states import FlightState, Kind


def flight_in_place(
    fs: FileSystem,
    path: str,
    sighting: Sighting,
    *,
    before: Sighting | None,
    previous: InFlight | None,
    usual_size: int | None,
    elapsed: float,
) -> InFlight | None:
    """`sighting`, at `path`, as something in flight, `elapsed` seconds after it was seen as `before` and `previous`."""
    identity = sighting.identity
    if identity is None:
        return None
    promised = _promise(fs, path, sighting, identity, previous)
    known = sighting.record.size if sighting.record is not None else usual_size
    return InFlight(
        name=sighting.name,
        target=sighting.name,
        step=sighting.step,
        size=identity.size,
        mtime_ns=identity.mtime_ns,
        inode=_inode(identity),
        state=FlightState.LIVE,
        reason="written directly under its final name",
        expected_size=known if promised is None else promised,
        writer=sighting.writer,
        bytes_per_second=growth_rate(_inode(identity), identity.size, _as_flight(before), elapsed),
        ours=False,
        final_name=True,
        kind=sighting.kind,
        promised=promised,
    )


def _promise(
    fs: FileSystem, path: str, sighting: Sighting, identity: Identity, previous: InFlight | None
) -> int | None:
    """What the header of a file says its size will be. Read once: only a file that became shorter begins anew."""
    if sighting.kind is not Kind.FILE or sighting.link is not None or identity.node is None:
        return None
    if (
        previous is not None
        and previous.promised is not None
        and (previous.inode, previous.size <= identity.size) == (_inode(identity), True)
    ):
        return previous.promised
    from ckptdeck.core.probes.promised_size import promised_size

    try:
        with opened(fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            status = fs.fstat(fd)
            if (status.st_dev, status.st_ino) != identity.node:
                return None
            promised = promised_size(fs, fd, status.st_size, sighting.name)
    except OSError:
        return None  # it is gone, replaced or not ours to read: its progress stays untold
    return promised if promised is not None and promised >= identity.size else None


def _inode(identity: Identity) -> int:
    return identity.node[1] if identity.node is not None else 0


def _as_flight(before: Sighting | None) -> tuple[int, int] | None:
    """(inode, bytes) of the look before."""
    identity = before.identity if before is not None else None
    return None if identity is None else (_inode(identity), identity.size)
