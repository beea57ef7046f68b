"""A pair of sets in a fresh directory, the contents that count as whole there, and a machine to act on them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, find_pair, find_set
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.states import Role
from tests.crash.contents import Content, Tree, digest_of
from tests.crash.invariants import Promise

HOUR = 1
EPOCH = 1_900_000_000.0
"""Now, in every sandbox: later than any mtime the kernel gives, so that everything is quiet for the age guard."""


class StillClock:
    """Time that only moves when somebody waits."""

    def __init__(self, now: float = EPOCH) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


def machine(fs: FileSystem, *, pid: int = 1, hours: int = 0) -> Host:
    """A host that is `hours` past EPOCH; `pid` tells two actors apart."""
    clock = StillClock(EPOCH + hours * 3600)
    return Host(fs=fs, clock=clock, name="box", boot_id="boot-1", pid=pid, process_start=f"start-{pid}")


@dataclass
class Sandbox:
    """Two sets below `base`, and what has been promised about them so far."""

    base: Path
    legal: dict[Role, dict[str, frozenset[str]]] = field(default_factory=lambda: {role: {} for role in Role})
    kept: dict[Role, dict[str, frozenset[str]]] = field(default_factory=lambda: {role: {} for role in Role})
    bad: dict[Role, dict[str, frozenset[str]]] = field(default_factory=lambda: {role: {} for role in Role})
    """Contents that were wrong before the work under test began."""
    groups: dict[Role, dict[str, dict[str, frozenset[str]]]] = field(
        default_factory=lambda: {role: {} for role in Role}
    )
    """Of each group, digests of what its members may hold while it is not whole."""
    unrecorded: set[str] = field(default_factory=set)
    """Names whose record could not be written: the save was told so, and the record may be the old one."""
    hours: int = 0
    """How long after EPOCH plans are made."""

    _saving: list[set[str]] = field(default_factory=list)
    """For each save under way, the contents that were saved since it began."""

    @classmethod
    def fresh(cls, base: Path) -> Sandbox:
        sandbox = cls(base)
        for role in Role:
            sandbox.root(role).mkdir(parents=True)
        initialise(machine(FileSystem()), str(sandbox.root(Role.PRIMARY)), str(sandbox.root(Role.MIRROR)))
        return sandbox

    def remove(self) -> None:
        shutil.rmtree(self.base)

    def root(self, role: Role) -> Path:
        return self.base / role.value

    def found(self, fs: FileSystem, role: Role) -> CheckpointSet:
        return find_set(fs, str(self.root(role)), role)

    def pair(self, fs: FileSystem) -> Pair:
        return find_pair(fs, str(self.root(Role.PRIMARY)), str(self.root(Role.MIRROR)))

    def at(self, base: Path) -> Sandbox:
        """The same promises about a copy of the sets somewhere else, as they are now."""
        return Sandbox(
            base,
            {role: dict(names) for role, names in self.legal.items()},
            {role: dict(names) for role, names in self.kept.items()},
            {role: dict(names) for role, names in self.bad.items()},
            {role: {name: dict(members) for name, members in names.items()} for role, names in self.groups.items()},
            set(self.unrecorded),
        )

    # --- what is promised

    @contextlib.contextmanager
    def saving(self, role: Role, name: str, data: Content) -> Iterator[None]:
        """A save of `data` goes on in the block. When it ends well, `data` is there, or what was saved meanwhile."""
        digest = digest_of(data)
        meanwhile = {digest}
        for digests in self._saving:
            digests.add(digest)
            meanwhile |= digests
        self._saving.append(meanwhile)
        self.allow(role, name, data)
        try:
            yield
        finally:
            self._saving.remove(meanwhile)
        self.acknowledge(role, name, data)
        self.kept[role][name] = frozenset(meanwhile)

    def promise(self, role: Role) -> Promise:
        legal = {
            name: self.legal[role].get(name, frozenset()) | self.bad[role].get(name, frozenset())
            for name in {*self.legal[role], *self.bad[role]}
        }
        return Promise(legal, dict(self.kept[role]), self.groups[role])

    def allow(self, role: Role, name: str, data: Content) -> None:
        """`data` is whole under `name` from now on; what stood there before may stay or go."""
        self._know_members(role, name, data)
        self.legal[role][name] = self.legal[role].get(name, frozenset()) | {digest_of(data)}
        if name in self.kept[role]:
            self.kept[role][name] = self.kept[role][name] | {digest_of(data)}

    def acknowledge(self, role: Role, name: str, data: Content) -> None:
        """Somebody was told that `data` is safe under `name`."""
        self.allow(role, name, data)
        self.kept[role][name] = frozenset({digest_of(data)})
        self.bad[role].pop(name, None)

    def expect_damage(self, role: Role, name: str, data: Content) -> None:
        """`data` is what stands under `name`, and it is wrong; it may stay until somebody repairs it."""
        self._know_members(role, name, data)
        self.bad[role][name] = frozenset({digest_of(data)})
        self.kept[role].pop(name, None)

    def _know_members(self, role: Role, name: str, data: Content) -> None:
        if isinstance(data, Tree) and data.group:
            members = self.groups[role].setdefault(name, {})
            for member, content in data.files.items():
                members[member] = members.get(member, frozenset()) | {digest_of(content)}
