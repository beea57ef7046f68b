"""One side, looked at once: a listing, the bookkeeping, and a closer look at what is new, young or in doubt.

What did not change since the previous look is neither opened nor read again. The error of one item is that item's
alone; a listing that fails is a condition of the side, and then nothing is called missing.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ckptdeck.core.bookkeeping import read_records_of_lost_root
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import describe_os_error
from ckptdeck.core.filesystem import once_more
from ckptdeck.core.host import Host
from ckptdeck.core.naming import FOREIGN_FAMILY
from ckptdeck.core.policy import Policy
from ckptdeck.core.side_look import SideLook
from ckptdeck.core.sighting import Inventory, Sighting
from ckptdeck.core.states import Condition


def scan(host: Host, checkpoint_set: CheckpointSet, policy: Policy, previous: Inventory | None = None) -> Inventory:
    """What is in the set now. Never raises for what is on disk; a condition and its reason say what is wrong.

    `previous` is the inventory of the look before, taken under a policy that reads names alike. From it come growth,
    movement, and everything that need not be opened again.
    """
    bare = bare_inventory(host, checkpoint_set)
    if not checkpoint_set.condition.readable:
        return _unreadable(host, checkpoint_set, bare, previous)
    try:
        before = {s.name: s for s in previous.sightings} if previous is not None else {}
        return once_more(lambda: SideLook(host, checkpoint_set, policy, previous, bare, before).run())
    except OSError as error:
        why = describe_os_error(error, os.fsdecode(error.filename or checkpoint_set.root))
        failed = replace(bare, condition=Condition.UNREADABLE, why=why)
        return _unreadable(host, checkpoint_set, failed, previous)


def _unreadable(host: Host, checkpoint_set: CheckpointSet, bare: Inventory, previous: Inventory | None) -> Inventory:
    """A side that cannot be listed: everything known to belong there is unreadable, and nothing is missing."""
    why = bare.why or f"this side is {bare.condition}"
    known = {}
    for name, record in read_records_of_lost_root(host.fs, checkpoint_set, bare.taken_at).items():
        known[name] = Sighting(name, record.step, record.kind, "recorded", record.step is None, None, record)
    for sighting in previous.sightings if previous is not None else ():
        if sighting.family != FOREIGN_FAMILY:
            known[sighting.name] = replace(
                sighting, identity=None, writer=None, held=False, moved=False, structure=None, seen_missing=0
            )
    return replace(bare, sightings=tuple(replace(sighting, error=why) for sighting in known.values()))


def bare_inventory(host: Host, checkpoint_set: CheckpointSet) -> Inventory:
    """Of a set that nobody has looked into yet."""
    document = checkpoint_set.document
    return Inventory(
        role=checkpoint_set.role,
        root=checkpoint_set.root,
        control=checkpoint_set.control,
        set_id=document.set_id if document is not None else None,
        run_id=document.run_id if document is not None else None,
        condition=checkpoint_set.condition,
        why=checkpoint_set.why,
        taken_at=host.clock.now(),
        volume=None,
        boot_id=host.boot_id,
    )
