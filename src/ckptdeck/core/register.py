"""What the last look at a side saw, by name, so that the next one can look at a few names only."""

from __future__ import annotations

from collections.abc import Mapping

from ckptdeck.core.siblings import Siblings
from ckptdeck.core.sighting import ENOUGH, Inventory, Sighting
from ckptdeck.core.states import Kind
from ckptdeck.core.times import is_quiet

Changes = Mapping[str, Sighting | None]
"""By name, what is seen now in place of what was; None where nothing is any more."""


class Register:
    """Belongs to whoever looks; a named look brings it up to date."""

    def __init__(self, inventory: Inventory, min_age: float) -> None:
        self.inventory = inventory
        self.by_name = {sighting.name: sighting for sighting in inventory.sightings}
        self.steps = {s.name: s.step for s in inventory.sightings if not s.seen_missing}
        self.siblings = Siblings(inventory.sightings)
        self.members = {
            member.path
            for sighting in inventory.sightings
            if sighting.kind is Kind.GROUP and sighting.identity is not None
            for member in sighting.identity.members
        }
        self._min_age = min_age
        self.restless = {s.name for s in inventory.sightings if self._is_restless(s)}
        """Names that say more at each look, whether they are told to have changed or not."""

    def follow(self, inventory: Inventory, changes: Changes) -> None:
        """Takes what a look at some names found; `by_name` has it already."""
        self.inventory = inventory
        seen = ((name, self.by_name.get(name)) for name in self.restless | changes.keys())
        self.restless = {name for name, sighting in seen if sighting is not None and self._is_restless(sighting)}

    def changes_to(self, inventory: Inventory) -> Changes:
        """What is seen otherwise in `inventory` than it was the last time."""
        now = {sighting.name: sighting for sighting in inventory.sightings}
        before = self.by_name
        changes: dict[str, Sighting | None] = {
            n: sighting for n, sighting in now.items() if before.get(n) is not sighting
        }
        changes.update(dict.fromkeys(before.keys() - now.keys()))
        return changes

    def put(self, name: str, sighting: Sighting | None) -> None:
        """`name` is now seen like this; None: it is gone."""
        self.siblings.follow(name, sighting)
        if sighting is None:
            self.by_name.pop(name, None)
        else:
            self.by_name[name] = sighting
        if sighting is None or sighting.seen_missing:
            self.steps.pop(name, None)
        else:
            self.steps[name] = sighting.step

    def _is_restless(self, sighting: Sighting) -> bool:
        """A directory counts while it is young by any of its times (a copy may have set the mtimes back): what is
        written inside it is not told by its name."""
        if sighting.held or sighting.moved or sighting.error is not None or sighting.link is not None:
            return True
        if 0 < sighting.seen_missing < ENOUGH:
            return True
        identity = sighting.identity
        if sighting.kind is not Kind.DIRECTORY or identity is None or identity.directory is None:
            return False
        newest = max(max(one.mtime_ns, one.ctime_ns) for one in (identity.directory, *identity.members))
        return not is_quiet(newest, self.inventory.taken_at, self._min_age)
