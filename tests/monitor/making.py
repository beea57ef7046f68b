"""A clock that stands still, a core that is made up, and short ways to make what a survey consists of."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, find_pair, find_set
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan, PlanItem, PlanResult
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.sighting import (
    Checkpoint,
    Identity,
    InFlight,
    Inventory,
    Member,
    Record,
    Sighting,
    Volume,
)
from ckptdeck.core.states import Condition, FlightState, Kind, Origin, Role, State, Verdict
from ckptdeck.core.survey import Projection, ResumePoint, Side, Step, Survey
from ckptdeck.core.verify import Verification
from ckptdeck.monitor.core_calls import CoreCalls, core_calls

GUARD = 60.0
"""Real seconds after which a test that waits for another thread fails."""


class StandingClock:
    """Time moves only when a test says so, and threads that wait for it can be waited for."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self._now = now
        self._changed = threading.Condition()
        self._sleepers: list[tuple[float, threading.Event]] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def wait(self, event: threading.Event, seconds: float) -> None:
        """In place of `event.wait(seconds)`."""
        sleeper = (self._now + seconds, event)
        with self._changed:
            self._sleepers.append(sleeper)
            self._changed.notify_all()
        try:
            assert event.wait(GUARD), "nobody moved the clock"
        finally:
            with self._changed:
                self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        with self._changed:
            self._now += seconds
            for due, event in self._sleepers:
                if due <= self._now:
                    event.set()

    def settle(self, threads: int) -> None:
        """Waits until exactly so many threads wait for time or news, so that all that could happen has happened."""
        done = threading.Event()
        with self._changed:
            while not done.is_set():
                asleep = sum(not event.is_set() for _, event in self._sleepers)
                if asleep == threads:
                    return
                assert self._changed.wait(GUARD), f"{asleep} of {threads} threads came to rest"


class HungFileSystem(FileSystem):
    """Calls for anything under `root` do not come back before `gate` is set."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.gate = threading.Event()
        self.entered = threading.Event()

    def lstat(self, path: str) -> os.stat_result:
        self._hang(path)
        return super().lstat(path)

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        self._hang(path)
        return super().list_directory(path)

    def _hang(self, path: str) -> None:
        if path.startswith(self.root):
            self.entered.set()
            assert self.gate.wait(GUARD)


def made_up_host(clock: StandingClock, fs: FileSystem | None = None) -> Host:
    return Host(
        fs=fs or FileSystem(),
        clock=clock,
        name="box",
        boot_id="boot",
        pid=42,
        process_start="1",
        command="ckptdeck console",
    )


class MadeUpCore:
    """Real sets, made-up inventories, surveys and work. Everything asked of it is written down."""

    def __init__(self) -> None:
        self.inventories: dict[Role, Inventory] = {}
        self.checkpoints: dict[Role, tuple[Checkpoint, ...]] = {}
        self.resume: ResumePoint | None = None
        self.scans: list[tuple[Role, Inventory | None]] = []
        self.composed: list[tuple[Inventory, Inventory | None]] = []
        self.composed_anew: list[bool] = []
        self.verified: list[tuple[Role, str]] = []
        self.verdicts: dict[str, State] = {}
        self.calls_made: list[str] = []
        self.confirmed: list[int | None] = []
        self.check_pair: Callable[[CheckpointSet, CheckpointSet], Pair] = Pair
        self.fail_scan: Exception | None = None
        self._scanned = threading.Condition()
        self.apply: Callable[[Plan, Effort, Callable[[ItemResult], None]], None] = lambda _p, _e, _r: None

    def calls(self) -> CoreCalls:
        return CoreCalls(
            find_set=find_set,
            refuse_overlap=core_calls().refuse_overlap,
            check_pair=lambda primary, mirror: self.check_pair(primary, mirror),
            read_policy=lambda _fs, _control: DEFAULT_POLICY,
            scan=self._scan,
            look_again=lambda *_: None,
            compose=self._compose,
            planners={"mirror": self._plan},
            find_pair=find_pair,
            apply=self._apply,
            verify_one=self._verify_one,
        )

    def _scan(self, host: Host, found: CheckpointSet, policy: Policy, previous: Inventory | None) -> Inventory:
        host.fs.list_directory(found.root)
        with self._scanned:
            self.scans.append((found.role, previous))
            self._scanned.notify_all()
        if self.fail_scan is not None:
            raise self.fail_scan
        return self.inventories.get(found.role) or inventory(found.role, root=found.root)

    def _compose(
        self, primary: Inventory, mirror: Inventory | None, policy: Policy, now: float, changes: object
    ) -> Survey:
        self.composed.append((primary, mirror))
        self.composed_anew.append(changes is None)
        return survey(primary, mirror, self.checkpoints, resume=self.resume, taken_at=now, policy=policy)

    def scanned(self, times: int) -> bool:
        """Waits until so many scans were made over both sides."""
        with self._scanned:
            return self._scanned.wait_for(lambda: len(self.scans) >= times, GUARD)

    def _plan(self, seen: Survey, names: Sequence[str], options: Mapping[str, str]) -> Plan:
        items = tuple(PlanItem(name, Role.MIRROR, Act.COPY, "not there", size=100) for name in names)
        return Plan("mirror", items, names=tuple(names), options=options)

    def _apply(
        self,
        host: Host,
        pair: Pair,
        policy: Policy,
        plan: Plan,
        effort: Effort,
        on_result: Callable[[ItemResult], None],
        confirmed_count: int | None,
    ) -> PlanResult:
        self.calls_made.append("apply")
        self.confirmed.append(confirmed_count)
        results: list[ItemResult] = []

        def both(result: ItemResult) -> None:
            results.append(result)
            on_result(result)

        self.apply(plan, effort, both)
        return PlanResult(plan, tuple(results))

    def _verify_one(self, host: Host, found: CheckpointSet, name: str, effort: Effort) -> Verification:
        self.verified.append((found.role, name))
        state = self.verdicts.get(name, State.VERIFIED)
        return Verification(name, found.role, state, "hashed", None, 100)


def inventory(
    role: Role = Role.PRIMARY,
    *,
    root: str = "/data/run",
    condition: Condition = Condition.OK,
    why: str = "",
    device: int = 1,
    fs_class: str = "local",
    sightings: Iterable[Sighting] = (),
    in_flight: Iterable[InFlight] = (),
) -> Inventory:
    return Inventory(
        role=role,
        root=root,
        control=None,
        set_id=None,
        run_id=None,
        condition=condition,
        why=why,
        taken_at=0.0,
        volume=Volume("ext4", fs_class, 1000, 500, 100, False, device, False, f"1:{device}"),
        sightings=tuple(sightings),
        in_flight=tuple(in_flight),
    )


def checkpoint(name: str, state: State = State.VERIFIED, reason: str = "", *, size: int = 100) -> Checkpoint:
    """A recorded file that is there."""
    member = Member("", size, 1, 1, 1, 1, 0o644, 1, 1)
    record = Record(name, None, Kind.FILE, size, 1, "d" * 32, (), 0.0, Origin.PUBLISHED, None, "box")
    return Checkpoint(
        Sighting(name, None, Kind.FILE, "single-file", identity=Identity((member,)), record=record), state, reason
    )


def flight(name: str, state: FlightState, reason: str = "") -> InFlight:
    return InFlight(name, "", None, 10, 1, 1, state, reason, None, None, None, True)


def step(name: str, verdict: Verdict, primary: Checkpoint | None, mirror: Checkpoint | None) -> Step:
    return Step(None, name, primary, mirror, verdict, "as told")


def survey(
    primary: Inventory,
    mirror: Inventory | None = None,
    checkpoints: Mapping[Role, Sequence[Checkpoint]] | None = None,
    *,
    steps: Sequence[Step] = (),
    resume: ResumePoint | None = None,
    space: Mapping[Role, Projection] | None = None,
    shared_device: bool = False,
    taken_at: float = 0.0,
    policy: Policy = DEFAULT_POLICY,
) -> Survey:
    there = checkpoints or {}
    return Survey(
        taken_at=taken_at,
        run_id=None,
        policy=policy,
        primary=Side(primary, tuple(there.get(Role.PRIMARY, ()))),
        mirror=None if mirror is None else Side(mirror, tuple(there.get(Role.MIRROR, ()))),
        steps=tuple(steps),
        resume=resume,
        space=space or {},
        shared_device=shared_device,
    )


def result(name: str, outcome: Outcome = Outcome.DONE, text: str = "done", *, size: int = 100) -> ItemResult:
    code = 3 if outcome is Outcome.FAILED else 0
    return ItemResult(PlanItem(name, Role.MIRROR, Act.COPY, "", size=size), outcome, text, code)
