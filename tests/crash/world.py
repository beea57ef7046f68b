"""A pair of sets in which anything may happen, and what is known about it that the code under test does not say.

The world knows which contents were ever whole under each name, because it made them; everything else is read from
disk. What is done through ckptdeck goes through a file system that may die at any call.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckptdeck.core.apply import apply
from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, find_pair, find_set
from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.plans.plan import Plan, PlanResult
from ckptdeck.core.policy import Policy
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.resume import answer_resume
from ckptdeck.core.sides import ResumePoint
from ckptdeck.core.sighting import Record, RecordMember
from ckptdeck.core.states import Kind, Origin, Role
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.core.verify import verify_one
from ckptdeck.monitor.core_calls import PLANNERS
from tests.crash.contents import Content, Tree, digest_of
from tests.crash.faults import CHANGES, Call, FaultyFileSystem, Killed
from tests.crash.sandbox import EPOCH, StillClock
from tests.crash.tree_workloads import fill
from tests.crash.world_contents import content_of, kind_of, safetensors, set_times, step_of, write

DAY = 86_400.0
KEEP = 2
"""What prune and mirror keep in this world, so that few checkpoints are enough for something to go."""
POLICY = Policy(keep_last=KEEP)
_DEADLY = CHANGES - {"close"}
"""Calls before which a command may die; between two of them nothing on disk changes."""
_LARGEST_WRITE = 300
"""What one write takes, so that a file takes several."""
ANOTHER_RUN_S = "step_9990.safetensors"
"""What the mirror of another pair holds, which may be mounted where ours was."""
FOREIGN = ("notes.txt", "wandb")


class MovableClock(StillClock):
    """Jumps when told to, forwards and back."""

    def jump(self, seconds: float) -> None:
        self._now += seconds


class WorldFileSystem(FaultyFileSystem):
    """Memory that calls itself a disk: a mount can become another one, and reading can prove little.

    The process dies before call `death` of those that change something; in between nothing on disk lies.
    """

    def __init__(self, death: int | None, mount: int, *, cached: bool) -> None:
        super().__init__(before=self._before_call, largest_write=_LARGEST_WRITE)
        self._left = death
        self._mount = mount
        self._cached = cached

    def _before_call(self, call: Call) -> None:
        if self._left is None or call.name not in _DEADLY:
            return
        if self._left == 0:
            self.die()
        self._left -= 1

    def mount_table(self) -> str:
        table = super().mount_table().replace(" - tmpfs ", " - ext4 ")
        return "\n".join(f"{self._mount}{line}" for line in table.splitlines())

    def resident_pages(self, fd: int, size: int, offset: int = 0) -> int:
        super().resident_pages(fd, size, offset)
        return 1 if self._cached else 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How something that was done through ckptdeck ended."""

    killed: bool = False
    error: CkptdeckError | None = None
    plan: Plan | None = None
    result: PlanResult | None = None
    survey: Survey | None = None
    """What the plan was made from."""
    wrote_while_planning: bool = False


@dataclass
class World:
    """Two sets below `base`, and a second pair whose mirror may be mounted where ours was."""

    base: Path
    clock: MovableClock = field(default_factory=lambda: MovableClock(EPOCH))
    whole: dict[str, set[str]] = field(default_factory=dict)
    """Name → digests of every content that is whole there: somebody made it so, or an operator vouched for it."""
    cut: set[str] = field(default_factory=set)
    """Digests of contents whose own format says that they are cut."""
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Name → the files of it."""
    boots: int = 1
    mounts: int = 1
    cached: bool = False
    """Somebody holds every file in memory, so that reading proves nothing about the disk."""
    displaced: bool = False
    """The mirror is not where it should be."""
    _made: int = 0

    @classmethod
    def fresh(cls, base: Path) -> World:
        world = cls(base)
        for role in Role:
            world.root(role).mkdir(parents=True)
        initialise(world.host(FileSystem()), str(world.root(Role.PRIMARY)), str(world.root(Role.MIRROR)))
        other = base / "other"
        for role in Role:
            (other / role.value).mkdir(parents=True)
        initialise(world.host(FileSystem()), str(other / "primary"), str(other / "mirror"))
        with publish(
            world.host(FileSystem()), find_set(FileSystem(), str(other / "mirror"), Role.MIRROR), Intent(ANOTHER_RUN_S)
        ) as (stream, _):
            stream.write(safetensors(251))
        return world

    # --- the machine

    def root(self, role: Role) -> Path:
        return self.base / role.value

    @property
    def away(self) -> Path:
        """Where the mirror is while it is displaced."""
        return self.base / "away"

    def host(self, fs: FileSystem) -> Host:
        return Host(fs, self.clock, "box", f"boot-{self.boots}", 1, "start-1")

    def file_system(self, death: int | None = None) -> WorldFileSystem:
        return WorldFileSystem(death, self.mounts, cached=self.cached)

    def pair(self, fs: FileSystem | None = None) -> Pair:
        return find_pair(fs or FileSystem(), str(self.root(Role.PRIMARY)), str(self.root(Role.MIRROR)))

    def found(self, role: Role, fs: FileSystem | None = None) -> CheckpointSet:
        return find_set(fs or FileSystem(), str(self.root(role)), role)

    def manifest(self, role: Role) -> Manifest:
        return Manifest(FileSystem(), self.found(role))

    def look(self) -> Survey:
        return take_survey(self.host(self.file_system()), self.pair(), POLICY)

    def at_rest(self) -> int:
        """A time stamp of a day ago, never the same twice."""
        self._made += 1
        return int((self.clock.now() - DAY) * 10**9) + self._made

    def just_now(self) -> int:
        return int(self.clock.now() * 10**9)

    # --- what is saved

    def content(self, kind: Kind, name: str) -> Content:
        """Something nobody saved before; whole under `name` from now on."""
        self._made += 1
        made = content_of(self._made, kind, name)
        self.whole.setdefault(name, set()).add(digest_of(made))
        return made

    def save(self, name: str, *, readback: bool, old: bool, death: int | None = None) -> Ended:
        """A trainer's save through the library: its own name again, or a new one."""
        kind = kind_of(name)
        made = self.content(kind, name)
        mtime = self.at_rest() if old else self.just_now()
        fs = self.file_system(death)
        host, target = self.host(fs), self.found(Role.PRIMARY)
        intent = Intent(name, step=step_of(name), replace=True, readback=readback, mtime_ns=mtime)

        def run() -> None:
            if isinstance(made, bytes):
                with publish(host, target, intent) as (stream, _):
                    stream.write(made)
                return
            with publish_tree(host, target, intent) as (path, _):
                fill(fs, path, made)
                set_times(Path(path), mtime)

        return _ended(fs, run)

    def write_in_place(self, name: str, *, role: Role = Role.PRIMARY, old: bool) -> None:
        """A trainer that knows nothing of us writes the whole thing directly under its final name."""
        kind = kind_of(name)
        made = self.content(kind, name)
        root = self.root(role)
        files = {name: made} if isinstance(made, bytes) else made.files
        if kind is Kind.GROUP:
            self.groups[name] = tuple(files)
        for path, data in files.items():
            place = root / name / path if kind is Kind.DIRECTORY else root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            write(place, data)
            set_times(place, self.at_rest() if old else self.just_now())

    def save_group(self, name: str) -> None:
        """Written by a trainer a while ago, and recorded since."""
        self.write_in_place(name, old=True)
        root = self.root(Role.PRIMARY)
        files = {path: (root / path).read_bytes() for path in sorted(self.groups[name])}
        members = tuple(RecordMember(path, len(data), digest_of(data)) for path, data in files.items())
        size = sum(member.size for member in members)
        record = Record(
            name,
            step_of(name),
            Kind.GROUP,
            size,
            max((root / path).stat().st_mtime_ns for path in files),
            digest_of(Tree(files, group=True)),
            members,
            self.clock.now(),
            Origin.ADOPTED,
            None,
            "box",
        )
        self.manifest(Role.PRIMARY).write_record(record)

    # --- what is done through ckptdeck

    def act(
        self,
        action: str,
        names: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        death: int | None = None,
    ) -> Ended:
        """Look, plan, apply, as a command does it."""
        fs = self.file_system(death)
        host = self.host(fs)
        seen: list[Survey] = []
        plans: list[Plan] = []
        results: list[PlanResult] = []
        wrote = False

        def run() -> None:
            nonlocal wrote
            before = self.everything()
            pair = self.pair(fs)
            seen.append(take_survey(host, pair, POLICY))
            plans.append(PLANNERS[action](seen[0], names, options or {}))
            wrote = self.everything() != before
            results.append(apply(host, pair, POLICY, plans[0], confirmed_count=plans[0].count))

        ended = _ended(fs, run)
        return Ended(
            ended.killed,
            ended.error,
            plans[0] if plans else None,
            results[0] if results else None,
            seen[0] if seen else None,
            wrote,
        )

    def verify(self, death: int | None = None) -> Ended:
        """Hashes everything that is recorded, on the sides that are there."""
        fs = self.file_system(death)
        host = self.host(fs)

        def run() -> None:
            for checkpoint_set in self.pair(fs).sets:
                if checkpoint_set.condition.readable and checkpoint_set.control is not None:
                    for name in sorted(Manifest(fs, checkpoint_set).read_all(0).records):
                        verify_one(host, checkpoint_set, name)

        return _ended(fs, run)

    def resume(self) -> tuple[ResumePoint | None, CkptdeckError | None]:
        """As a launcher asks, which names the primary alone."""
        fs = self.file_system()
        host, pair = self.host(fs), find_pair(fs, str(self.root(Role.PRIMARY)), None)
        try:
            return answer_resume(host, pair, take_survey(host, pair, POLICY)), None
        except CkptdeckError as error:
            return None, error
        finally:
            fs.die()

    # --- what others do

    def paths_of(self, role: Role, name: str) -> list[Path]:
        """Every file of what is there under that name."""
        root = self.root(role)
        if name in self.groups:
            return [root / path for path in self.groups[name] if (root / path).exists()]
        place = root / name
        if place.is_dir():
            return sorted(path for path in place.rglob("*") if path.is_file())
        return [place] if place.exists() else []

    def there(self) -> list[tuple[Role, str]]:
        """Each side and name under which anything lies."""
        sides = [Role.PRIMARY] if self.displaced else list(Role)
        return [(role, name) for role in sides for name in sorted(self.whole) if self._is_there(role, name)]

    def _is_there(self, role: Role, name: str) -> bool:
        return any((self.root(role) / path).exists() for path in self.groups.get(name, (name,)))

    def remove(self, role: Role, name: str) -> None:
        for path in self.paths_of(role, name):
            path.unlink()
        shutil.rmtree(self.root(role) / name, ignore_errors=True)

    def displace(self, what: str) -> None:
        """The mirror goes away, and `what` is in its place: nothing, an empty mount point, or another pair's mirror."""
        self.root(Role.MIRROR).rename(self.away)
        if what == "empty":
            self.root(Role.MIRROR).mkdir()
        elif what == "other":
            (self.base / "other" / "mirror").rename(self.root(Role.MIRROR))
        self.displaced = True

    def bring_back(self) -> None:
        place = self.root(Role.MIRROR)
        if place.exists() and any(place.iterdir()):
            place.rename(self.base / "other" / "mirror")
        elif place.exists():
            place.rmdir()
        self.away.rename(place)
        self.displaced = False
        self.mounts += 1

    def everything(self) -> dict[str, tuple[int, int, int, int]]:
        """Every path with inode, size and times; best-effort files left out."""
        found = {}
        for directory, directories, files in os.walk(self.base):
            for name in (*files, *directories):
                path = os.path.join(directory, name)
                status = os.lstat(path)
                found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return found


def _ended(fs: FaultyFileSystem, run: Callable[[], None]) -> Ended:
    try:
        run()
    except Killed:
        return Ended(killed=True)
    except CkptdeckError as error:
        return Ended(error=error)
    finally:
        fs.die()
    return Ended()
