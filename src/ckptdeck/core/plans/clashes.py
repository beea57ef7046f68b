"""Copies that would be one on the side they go to, where names that differ are taken for the same: none is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckptdeck.core.folding import folded
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Refusal
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sides import Side, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import NOT_THERE, Kind, NameFolding, Role

_HOW = {
    NameFolding.CASE: "does not tell upper from lower case",
    NameFolding.UNICODE: "may take accents that are composed otherwise for the same",
}


class Clashes:
    """The names of both sides, as one side takes them. Pure."""

    def __init__(self, survey: Survey, role: Role) -> None:
        side = survey.side(role)
        self._side = side
        self._taken: Mapping[str, frozenset[str]] = {}
        if side is not None and side.inventory.folding is not NameFolding.NONE:
            self._taken = _taken(survey, side)

    def refusal(self, copy: Checkpoint) -> Refusal | None:
        """Why no copy of this is made: another name would be the same there, or two inside it would."""
        side = self._side
        if side is None or not self._taken:
            return None
        folding = side.inventory.folding
        for name in _files(copy):
            others = self._taken.get(folded(name, folding), frozenset()) - {name}
            if others:
                return _refusal(side, name, min(others), "rename one of them")
        seen: dict[str, str] = {}
        for path in _paths(copy):
            twin = seen.setdefault(folded(path, folding), path)
            if twin != path:
                inside = f"{visible(copy.name)}/"
                return _refusal(side, inside + path, inside + twin, "it cannot hold this checkpoint")
        return None


def _refusal(side: Side, name: str, other: str, remedy: str) -> Refusal:
    volume = side.inventory.volume
    where = f"the {side.role}" + (f" ({volume.fs_type})" if volume is not None else "")
    how = _HOW[side.inventory.folding]
    return Refusal(Guard.NAME_CLASH, f"{where} {how}: {visible(name)} would be {visible(other)} there; {remedy}")


def _taken(survey: Survey, side: Side) -> dict[str, frozenset[str]]:
    """Folded name → the names that are there, or would be, and fold to it."""
    found: dict[str, set[str]] = {}
    for each in survey.sides:
        for copy in each.checkpoints:
            for name in _files(copy):
                found.setdefault(folded(name, side.inventory.folding), set()).add(name)
    return {key: frozenset(names) for key, names in found.items()}


def _files(copy: Checkpoint) -> Iterator[str]:
    """Its names in the set."""
    if copy.state in NOT_THERE:
        return
    if copy.sighting.kind is Kind.GROUP and copy.sighting.identity is not None:
        yield from (member.path for member in copy.sighting.identity.members)
    else:
        yield copy.name


def _paths(copy: Checkpoint) -> Iterator[str]:
    """The names inside a directory, those of the directories in it too."""
    if copy.sighting.kind is not Kind.DIRECTORY or copy.sighting.identity is None:
        return
    seen = set()
    for member in copy.sighting.identity.members:
        steps = member.path.split("/")
        for depth in range(1, len(steps) + 1):
            path = "/".join(steps[:depth])
            if path not in seen:
                seen.add(path)
                yield path
