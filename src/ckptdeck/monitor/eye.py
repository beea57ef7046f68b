"""The looks at one side, one after the other: at everything, or only at what is told to have changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.host import Host
from ckptdeck.core.policy import Policy
from ckptdeck.core.register import Register
from ckptdeck.core.sighting import Inventory
from ckptdeck.monitor.core_calls import CoreCalls
from ckptdeck.monitor.looking import Look


class Eye:
    """Remembers what it saw. For one looking thread, and policies that read names alike."""

    def __init__(self, core: CoreCalls) -> None:
        self._core = core
        self._seen: Inventory | None = None
        self._register: Register | None = None
        self._doubtful = False

    def look(self, host: Host, found: CheckpointSet, policy: Policy, paths: Collection[str] | None) -> Look:
        """At `paths` if that does, else, or without any, at everything."""
        return self._look_again(host, found, policy, paths) or self._look_at_everything(host, found, policy)

    def _look_again(
        self, host: Host, found: CheckpointSet, policy: Policy, paths: Collection[str] | None
    ) -> Look | None:
        register = self._register
        if paths is None or register is None:
            return None
        self._register = None  # a look that fails leaves it half done
        self._doubtful = True
        try:
            named = self._core.look_again(host, found, policy, register, paths)
        except OSError:
            return None  # if it is not only about what was named, the look at everything says so
        self._register = register
        if named is None:
            return None
        self._seen, self._doubtful = named.inventory, False
        return Look(found, named.inventory, complete=False, changes=named.changes)

    def _look_at_everything(self, host: Host, found: CheckpointSet, policy: Policy) -> Look:
        before, known = self._seen, self._register
        if before is not None and self._doubtful:
            before = _doubted(before)
        inventory = self._core.scan(host, found, policy, before)
        self._seen, self._doubtful = inventory, False
        changes = None if known is None else known.changes_to(inventory)
        if known is not None and not changes:
            known.follow(inventory, {})  # at rest: nothing has to be sorted by name again
        else:
            self._register = Register(inventory, policy.min_age)
        return Look(found, inventory, changes=changes)


def _doubted(inventory: Inventory) -> Inventory:
    """With bookkeeping of which every file is compared: a look at names that broke off may have met a file that was
    damaged where it lies, which no time of a directory tells."""
    read = inventory.read
    return inventory if read is None else replace(inventory, read=replace(read, settled=False))
