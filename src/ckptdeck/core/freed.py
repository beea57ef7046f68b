"""What a volume gets back when checkpoints lose their names: blocks, not lengths, and none that has another name. Pure.

A sparse file has fewer blocks than its length, a hard link holds its blocks while another name stands. What reflinks
and snapshots share cannot be seen in a stat, so where they exist the figure is an upper limit (`Volume.shares_blocks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ckptdeck.core.sighting import BLOCK, Identity, Member, Volume
from ckptdeck.core.states import MemberKind

_TELLS_BLOCKS = frozenset({"local", "nfs"})
"""Others may leave `st_blocks` at 0 for whatever holds data."""


def freed_by(going: Sequence[Identity], volumes: Sequence[Volume | None]) -> list[int]:
    """Bytes that each of `going` gives back when they go in this order, each on its volume.

    Blocks with several names come back with the last of them, if all of them go.
    """
    gone: Counter[tuple[int, int]] = Counter()
    return [
        sum(_freed(member, volume, gone) for member in _everything_of(identity))
        for identity, volume in zip(going, volumes, strict=True)
    ]


def freed_together(members: Iterable[Member], volume: Volume | None) -> int:
    """The same for members that go at once."""
    gone: Counter[tuple[int, int]] = Counter()
    return sum(_freed(member, volume, gone) for member in members)


def _everything_of(identity: Identity) -> Iterable[Member]:
    return identity.members if identity.directory is None else (*identity.members, identity.directory)


def _freed(member: Member, volume: Volume | None, gone: Counter[tuple[int, int]]) -> int:
    if member.kind is MemberKind.FILE:
        node = member.device, member.inode
        gone[node] += 1
        if gone[node] < member.links:
            return 0
    silent = member.blocks == 0 and volume is not None and volume.fs_class not in _TELLS_BLOCKS
    return member.size if silent else member.blocks * BLOCK
