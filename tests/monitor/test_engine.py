"""The engine over made-up inventories: looking, silence, jobs, the log, and what the console is told."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from ckptdeck.core.checkpoint_set import CheckpointSet, Pair
from ckptdeck.core.errors import CkptdeckError, Refused, UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.plans.plan import Outcome, Plan, Refusal
from ckptdeck.core.states import Condition, FlightState, Role, State
from ckptdeck.core.survey import ResumePoint, Survey
from ckptdeck.monitor.engine import LiveEngine
from ckptdeck.monitor.snapshot import Engine, Job, JobState, Snapshot
from tests.monitor.making import (
    GUARD,
    HungFileSystem,
    MadeUpCore,
    StandingClock,
    checkpoint,
    flight,
    inventory,
    made_up_host,
    result,
)

LOOKING_AND_COMPOSING = 3


def silent_kernel(
    _roots: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
) -> Iterator[Collection[str]]:
    yield ()
    assert stop.wait(GUARD)


class Bench:
    """An engine on two real, empty directories, with everything else made up."""

    def __init__(self, directory: Path, fs: FileSystem | None = None) -> None:
        self.clock = StandingClock()
        self.core = MadeUpCore()
        self.primary, self.mirror = directory / "run", directory / "mirror"
        self.primary.mkdir()
        self.mirror.mkdir()
        self.host = made_up_host(self.clock, fs)
        self.engine = self.made()
        for role, path in ((Role.PRIMARY, self.primary), (Role.MIRROR, self.mirror)):
            self.core.inventories[role] = inventory(role, root=str(path), device=1 + (role is Role.MIRROR))

    def made(self, mirror: bool = True) -> LiveEngine:
        return LiveEngine(
            self.host,
            str(self.primary),
            str(self.mirror) if mirror else None,
            core=self.core.calls(),
            wait=self.clock.wait,
            watch=silent_kernel,
            prepare_job=lambda: None,
        )

    def start(self, threads: int = LOOKING_AND_COMPOSING) -> Snapshot:
        self.engine.start()
        self.clock.settle(threads)
        return self.engine.snapshot()

    def pass_time(self, seconds: float, threads: int = LOOKING_AND_COMPOSING) -> Snapshot:
        self.clock.advance(seconds)
        self.clock.settle(threads)
        return self.engine.snapshot()

    def survey(self) -> Survey:
        seen = self.engine.snapshot().survey
        assert seen is not None
        return seen

    def job(self, number: int) -> Job:
        return next(job for job in self.engine.snapshot().jobs if job.id == number)

    def over(self, number: int) -> Job:
        """The job once it is over: the engine's own way of waiting for it."""
        assert self.engine._runner.wait(number, GUARD)
        return self.job(number)

    def scans_of(self, role: Role) -> int:
        return sum(scanned is role for scanned, _ in self.core.scans)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.engine.stop(GUARD)


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[Bench]:
    """A bench whose mirror does not answer until `gate` is set."""
    fs = HungFileSystem(str(tmp_path / "mirror"))
    made = Bench(tmp_path, fs)
    yield made
    fs.gate.set()
    made.engine.stop(GUARD)


def gate_of(bench: Bench) -> HungFileSystem:
    assert isinstance(bench.host.fs, HungFileSystem)
    return bench.host.fs


def test_it_is_the_console_s_engine(bench: Bench) -> None:
    engine: Engine = bench.engine
    assert engine.snapshot().survey is None


def test_the_first_picture_is_there_before_anything_was_looked_at(bench: Bench) -> None:
    first = bench.engine.snapshot()
    assert (first.title, first.survey, first.error) == ("run", None, "")
    with pytest.raises(UsageError, match="Nothing has been looked at yet"):
        bench.engine.plan("mirror")


def test_both_sides_become_one_survey_and_versions_grow(bench: Bench) -> None:
    before = bench.engine.snapshot()
    after = bench.start()
    assert after.survey is not None
    assert after.survey.mirror is not None
    assert after.version > before.version
    assert before.survey is None, "a picture that was given away never changes"
    assert set(after.activity) == set(Role)


def test_two_looks_a_second_apart_and_then_at_the_pace_of_the_policy(bench: Bench) -> None:
    bench.start()
    assert bench.scans_of(Role.PRIMARY) == 1
    bench.pass_time(0.9)
    assert bench.scans_of(Role.PRIMARY) == 1
    bench.pass_time(0.1)
    assert bench.scans_of(Role.PRIMARY) == 2
    bench.pass_time(1.9)
    assert bench.scans_of(Role.PRIMARY) == 2
    bench.pass_time(8.1)
    assert bench.scans_of(Role.PRIMARY) == 3


def test_a_look_builds_on_the_one_before(bench: Bench) -> None:
    bench.start()
    bench.pass_time(1.0)
    looks = [previous for role, previous in bench.core.scans if role is Role.PRIMARY]
    assert looks == [None, bench.core.inventories[Role.PRIMARY]]


def test_what_moves_is_looked_at_every_second(bench: Bench) -> None:
    bench.core.inventories[Role.PRIMARY] = replace(
        bench.core.inventories[Role.PRIMARY], in_flight=(flight("x.pt.part", FlightState.LIVE),)
    )
    bench.start()
    for _ in range(4):
        bench.pass_time(1.0)
    assert bench.scans_of(Role.PRIMARY) == 5
    assert bench.scans_of(Role.MIRROR) < 5


def test_a_rescan_looks_at_once(bench: Bench) -> None:
    bench.start()
    bench.pass_time(1.0)
    looks = bench.scans_of(Role.PRIMARY)
    bench.engine.rescan()
    bench.clock.settle(LOOKING_AND_COMPOSING)
    assert bench.scans_of(Role.PRIMARY) == looks + 1


def test_a_single_side_needs_no_mirror(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.engine = bench.made(mirror=False)
    seen = bench.start(threads=2)
    assert seen.survey is not None
    assert seen.survey.mirror is None
    assert seen.mirror is None
    bench.engine.stop(GUARD)


def test_the_mirror_of_a_paired_primary_is_found(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    initialise(bench.host, str(bench.primary), str(bench.mirror))
    bench.engine = bench.made(mirror=False)
    seen = bench.start()
    assert seen.survey is not None
    assert seen.survey.mirror is not None
    assert seen.mirror == str(bench.mirror)
    bench.engine.stop(GUARD)


def test_the_same_directory_twice_is_said_and_nothing_is_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.mirror = bench.primary
    bench.engine = bench.made()
    bench.start()
    seen = bench.pass_time(1.0)
    assert seen.survey is None
    assert "same directory" in seen.error
    with pytest.raises(UsageError, match="same directory"):
        bench.engine.plan("mirror")
    bench.engine.stop(GUARD)


# --- a mount that hangs


def test_a_hung_mirror_leaves_the_primary_live(hung: Bench) -> None:
    began = hung.clock.now()
    first = hung.start(threads=2)
    assert gate_of(hung).entered.wait(GUARD)
    assert first.survey is None, "the mirror may still answer"
    hung.pass_time(5.0, threads=2)
    seen = hung.pass_time(0.5, threads=2)
    assert seen.activity[Role.MIRROR].silent_since == began
    assert seen.activity[Role.PRIMARY].silent_since is None
    assert seen.survey is not None
    assert seen.survey.mirror is not None
    assert seen.survey.mirror.inventory.condition is Condition.UNREADABLE
    assert any("does not answer" in text for text in seen.trouble)
    looks = hung.scans_of(Role.PRIMARY)
    hung.pass_time(10.0, threads=2)
    assert hung.scans_of(Role.PRIMARY) == looks + 1


def test_a_side_that_goes_silent_later_is_shown_as_it_was_and_not_believed(hung: Bench) -> None:
    fs = gate_of(hung)
    fs.gate.set()
    hung.start()
    hung.pass_time(1.0)
    fs.entered.clear()
    fs.gate.clear()
    hung.engine.rescan()
    assert fs.entered.wait(GUARD)
    hung.clock.settle(2)
    hung.pass_time(5.0, threads=2)
    _, mirror = hung.core.composed[-1]
    assert mirror is not None
    assert mirror.condition is Condition.UNREADABLE
    assert mirror.volume == hung.core.inventories[Role.MIRROR].volume
    fs.gate.set()
    hung.clock.settle(LOOKING_AND_COMPOSING)
    _, mirror = hung.core.composed[-1]
    assert mirror is not None
    assert mirror.condition is Condition.OK
    assert hung.engine.snapshot().activity[Role.MIRROR].silent_since is None


def test_stop_does_not_wait_for_a_hung_mount(hung: Bench) -> None:
    hung.start(threads=2)
    assert gate_of(hung).entered.wait(GUARD)
    assert hung.engine.stop(0) is True


def test_a_slow_first_look_does_not_hold_back_the_other_side(tmp_path: Path) -> None:
    """It gives signs of life, so it is not silent; still the primary is shown."""

    class Slow(FileSystem):
        def __init__(self) -> None:
            self.step = threading.Semaphore(0)
            self.waiting = threading.Semaphore(0)

        def list_directory(self, path: str) -> list:  # type: ignore[type-arg]
            if path.endswith("mirror"):
                for _ in range(3):
                    self.waiting.release()
                    assert self.step.acquire(timeout=GUARD)
                    super().lstat(path)
            return super().list_directory(path)

    slow = Slow()
    bench = Bench(tmp_path, slow)
    bench.start(threads=2)
    assert slow.waiting.acquire(timeout=GUARD)
    bench.pass_time(5.0, threads=2)
    seen = bench.pass_time(0.5, threads=2)
    assert seen.survey is not None
    assert seen.activity[Role.MIRROR].scanning
    slow.step.release(100)
    bench.engine.stop(GUARD)


# --- sides that do not belong together


def strangers(primary: CheckpointSet, mirror: CheckpointSet) -> Pair:
    return Pair(primary, replace(mirror, condition=Condition.WRONG_SET, why="Another disk is mounted there"))


def test_a_wrong_mirror_is_told_once_two_looks_agree(bench: Bench) -> None:
    bench.core.check_pair = strangers
    seen = bench.start()
    assert (bench.scans_of(Role.PRIMARY), bench.scans_of(Role.MIRROR)) == (2, 2)
    assert seen.survey is not None
    assert all(mirror is not None and mirror.condition is Condition.WRONG_SET for _, mirror in bench.core.composed)
    assert "Another disk is mounted there" in seen.trouble[0]


def test_an_init_between_the_looks_at_both_sides_rings_no_bell(bench: Bench) -> None:
    bench.start()
    doubts = iter([strangers])
    bench.core.check_pair = lambda primary, mirror: next(doubts, Pair)(primary, mirror)
    bench.engine.rescan()
    bench.clock.settle(LOOKING_AND_COMPOSING)
    assert next(doubts, None) is None
    assert all(mirror is not None and mirror.condition is Condition.OK for _, mirror in bench.core.composed)


def test_what_changed_while_nothing_was_composed_is_not_left_out_later(bench: Bench) -> None:
    bench.start()
    bench.pass_time(1.0)
    bench.engine.rescan()
    bench.clock.settle(LOOKING_AND_COMPOSING)
    assert not bench.core.composed_anew[-1], "all looks since were composed"
    before = len(bench.core.composed)
    doubts = iter([strangers])
    bench.core.check_pair = lambda primary, mirror: next(doubts, Pair)(primary, mirror)
    bench.engine.rescan()
    bench.clock.settle(LOOKING_AND_COMPOSING)
    assert bench.core.composed_anew[before]


# --- kernel events


def test_an_event_brings_a_look_and_slows_the_polling_behind_it(tmp_path: Path) -> None:
    batch = threading.Semaphore(0)
    watching = threading.Event()

    def kernel(
        roots: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
    ) -> Iterator[Collection[str]]:
        yield ()
        watching.set()
        while not stop.is_set():
            if batch.acquire(timeout=0.01):
                yield {f"{roots[0]}/step_1.pt"}

    bench = Bench(tmp_path)
    bench.engine = LiveEngine(
        bench.host, str(bench.primary), core=bench.core.calls(), wait=bench.clock.wait, watch=kernel
    )
    bench.start(threads=2)
    assert watching.wait(GUARD)
    bench.pass_time(1.0, threads=2)
    assert bench.engine.snapshot().activity[Role.PRIMARY].watching == "events"
    bench.pass_time(9.0, threads=2)
    assert bench.scans_of(Role.PRIMARY) == 2, "polled every 2 s without events, every 10 s with them"
    bench.pass_time(1.0, threads=2)
    assert bench.scans_of(Role.PRIMARY) == 3
    bench.clock.advance(1.5)
    batch.release()
    assert bench.core.scanned(4)
    bench.engine.stop(GUARD)


def test_a_directory_that_was_replaced_is_looked_at_as_a_whole_and_watched_anew(tmp_path: Path) -> None:
    named: list[Collection[str]] = []
    told: Queue[str] = Queue()
    begun = threading.Semaphore(0)

    def kernel(
        roots: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
    ) -> Iterator[Collection[str]]:
        yield ()
        begun.release()
        while not stop.is_set():
            with contextlib.suppress(Empty):
                yield {told.get(timeout=0.01)}

    def look_again(*arguments: Any) -> None:
        named.append(arguments[-1])

    bench = Bench(tmp_path)
    core = replace(bench.core.calls(), look_again=look_again)
    bench.engine = LiveEngine(bench.host, str(bench.primary), core=core, wait=bench.clock.wait, watch=kernel)
    bench.start(threads=2)
    assert begun.acquire(timeout=GUARD)
    bench.pass_time(1.0, threads=2)
    bench.clock.advance(1.0)
    told.put(str(bench.primary / "step_1.pt"))
    assert bench.core.scanned(3)
    assert len(named) == 1
    bench.clock.settle(2)
    bench.primary.rename(tmp_path / "old")
    bench.primary.mkdir()
    bench.clock.advance(1.0)
    told.put(str(bench.primary / "step_2.pt"))
    assert bench.core.scanned(4)
    assert begun.acquire(timeout=GUARD)
    assert len(named) == 1
    bench.engine.stop(GUARD)


def test_only_disks_of_this_machine_are_watched(tmp_path: Path) -> None:
    watched: list[str] = []

    def kernel(
        roots: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
    ) -> Iterator[Collection[str]]:
        watched.extend(roots)
        yield ()
        assert stop.wait(GUARD)

    bench = Bench(tmp_path)
    bench.core.inventories[Role.MIRROR] = inventory(Role.MIRROR, root=str(bench.mirror), fs_class="nfs", device=2)
    bench.engine = LiveEngine(
        bench.host, str(bench.primary), str(bench.mirror), core=bench.core.calls(), wait=bench.clock.wait, watch=kernel
    )
    bench.start()
    bench.engine.stop(GUARD)
    assert watched == [str(bench.primary)]


# --- work


def test_a_plan_becomes_a_job_with_its_line_and_lane(bench: Bench) -> None:
    bench.start()
    plan = bench.engine.plan("mirror", ["a.pt", "b.pt"], all="true")
    line = bench.engine.command_line(plan)
    assert line == f"ckptdeck mirror {bench.primary} {bench.mirror} --all a.pt b.pt"
    bench.core.apply = lambda _plan, _effort, on_result: on_result(result("a.pt", text="copied and proven"))
    done = bench.over(bench.engine.submit(plan))
    assert (done.state, done.command, done.lane) == (JobState.DONE, line, "device 2")
    assert (done.title, done.total_size, done.total_done) == ("mirror 2 checkpoints", 200, 100)
    assert done.if_we_quit == "continues at the next start"
    entry = bench.engine.snapshot().log[0]
    assert (entry.text, entry.outcome) == ("a.pt on mirror: copied and proven", "done")
    assert entry.command == f"ckptdeck mirror {bench.primary} {bench.mirror} a.pt"


def test_the_number_that_was_typed_reaches_the_core(bench: Bench) -> None:
    bench.start()
    plan = bench.engine.plan("mirror", ["a.pt"])
    bench.over(bench.engine.submit(plan, 92))
    bench.over(bench.engine.submit(plan))
    assert bench.core.confirmed == [92, None]


def test_what_was_done_is_looked_at(bench: Bench) -> None:
    bench.start()
    bench.pass_time(1.0)
    looks = bench.scans_of(Role.MIRROR)
    bench.over(bench.engine.submit(bench.engine.plan("mirror", ["a.pt"])))
    bench.clock.settle(LOOKING_AND_COMPOSING)
    assert bench.scans_of(Role.MIRROR) > looks


def test_a_refused_plan_and_an_empty_one_are_no_jobs(bench: Bench) -> None:
    bench.start()
    with pytest.raises(CkptdeckError, match="full"):
        bench.engine.submit(Plan("mirror", (), Refusal("no-space", "The mirror is full")))
    with pytest.raises(Refused, match="nothing to mirror"):
        bench.engine.submit(Plan("mirror", ()))
    assert bench.engine.snapshot().jobs == ()


def test_an_unknown_action_is_said_to_be_unknown(bench: Bench) -> None:
    bench.start()
    with pytest.raises(UsageError, match="no action explode"):
        bench.engine.plan("explode")


def test_items_that_fail_make_a_failed_job_with_the_reason(bench: Bench) -> None:
    bench.start()

    def one_of_two(_plan: Plan, _effort: object, on_result: Callable[..., None]) -> None:
        on_result(result("a.pt"))
        on_result(result("b.pt", Outcome.FAILED, "The source is rotten."))

    bench.core.apply = one_of_two
    failed = bench.over(bench.engine.submit(bench.engine.plan("mirror", ["a.pt", "b.pt"])))
    assert failed.state is JobState.FAILED
    assert failed.error == "1 of 2 could not be done. The first: The source is rotten."
    assert [entry.outcome for entry in bench.engine.snapshot().log] == ["failed", "failed", "done"]


def test_the_log_is_kept_in_the_set_and_read_from_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    initialise(bench.host, str(bench.primary), str(bench.mirror))
    bench.start()
    bench.core.apply = lambda _plan, _effort, on_result: on_result(result("a.pt"))
    bench.over(bench.engine.submit(bench.engine.plan("mirror", ["a.pt"])))
    bench.clock.settle(LOOKING_AND_COMPOSING)
    (entry,) = bench.engine.snapshot().log
    assert entry.who.endswith("@box pid 42"), "as the file says it"
    bench.engine.stop(GUARD)
    second = bench.engine = bench.made()
    bench.start()
    assert second.snapshot().log == (entry,)
    second.stop(GUARD)


def test_verify_is_one_job_per_side_newest_first(bench: Bench) -> None:
    names = ("step_2.pt", "step_1.pt")
    bench.core.checkpoints = {role: tuple(map(checkpoint, names)) for role in Role}
    bench.start()
    first = bench.engine.verify()
    assert [job.state for job in (bench.over(first), bench.over(first + 1))] == [JobState.DONE, JobState.DONE]
    for role in Role:
        assert [name for side, name in bench.core.verified if side is role] == list(names)
    assert {job.lane for job in bench.engine.snapshot().jobs} == {"device 1", "device 2"}
    assert bench.job(first).total_size == bench.job(first).total_done == 200


def test_verify_of_a_name_takes_only_that_and_of_an_unknown_one_says_so(bench: Bench) -> None:
    bench.core.checkpoints = {Role.MIRROR: (checkpoint("b.pt"), checkpoint("a.pt"))}
    bench.start()
    job = bench.over(bench.engine.verify(["a.pt"]))
    assert bench.core.verified == [(Role.MIRROR, "a.pt")]
    assert job.command == f"ckptdeck verify {bench.primary} {bench.mirror} a.pt"
    with pytest.raises(UsageError, match=r"nothing to verify in c\.pt"):
        bench.engine.verify(["c.pt"])


def test_a_finding_gets_its_own_line_in_the_log(bench: Bench) -> None:
    bench.core.checkpoints = {Role.PRIMARY: (checkpoint("a.pt"), checkpoint("b.pt"))}
    bench.core.verdicts = {"a.pt": State.CORRUPT}
    bench.start()
    job = bench.over(bench.engine.verify())
    assert job.state is JobState.DONE
    assert [r.finding for r in job.results] == [True, False]
    assert [entry.text for entry in bench.engine.snapshot().log] == [
        "verify 2 checkpoints on primary",
        "a.pt on primary: corrupt: hashed",
    ]


# --- the resume point


def resume_from(name: str, state: State = State.SIZE_ONLY, *, certain: bool = False) -> ResumePoint:
    return ResumePoint(name, 1, Role.PRIMARY, f"/data/{name}", state, None, None, certain)


def test_an_uncertain_resume_point_is_hashed_at_the_start_until_one_is_certain(bench: Bench) -> None:
    bench.core.checkpoints = {Role.PRIMARY: (checkpoint("b.pt", State.SIZE_ONLY), checkpoint("a.pt", State.SIZE_ONLY))}
    bench.core.resume = resume_from("b.pt")
    bench.core.verdicts = {"b.pt": State.CORRUPT}
    bench.start()
    assert bench.over(1).title == "check resume point b.pt on primary"
    bench.core.resume = resume_from("a.pt")
    bench.engine.rescan()
    bench.clock.settle(LOOKING_AND_COMPOSING)
    bench.over(2)
    assert [name for _, name in bench.core.verified] == ["b.pt", "a.pt"]
    bench.core.resume = resume_from("a.pt", State.VERIFIED, certain=True)
    bench.pass_time(1.0)
    bench.core.resume = resume_from("b.pt")
    bench.pass_time(10.0)
    assert len(bench.engine.snapshot().jobs) == 2, "what is saved later is not hashed by itself"


@pytest.mark.parametrize(
    ("point", "condition"),
    [
        (resume_from("a.pt", State.VERIFIED, certain=True), Condition.OK),
        (resume_from("a.pt", State.STRUCTURE_OK), Condition.OK),
        (resume_from("a.pt"), Condition.UNINITIALISED),
        (None, Condition.OK),
    ],
)
def test_nothing_is_hashed_by_itself_that_needs_no_hash_or_has_no_record(
    bench: Bench, point: ResumePoint | None, condition: Condition
) -> None:
    bench.core.checkpoints = {Role.PRIMARY: (checkpoint("a.pt"),)}
    bench.core.inventories[Role.PRIMARY] = inventory(root=str(bench.primary), condition=condition)
    bench.core.resume = point
    bench.start()
    assert bench.engine.snapshot().jobs == ()


# --- nothing ends unseen


def test_a_bug_in_a_scan_is_shown_and_looking_goes_on(bench: Bench) -> None:
    bench.core.fail_scan = ZeroDivisionError("oops")
    bench.start()
    assert bench.engine.snapshot().error == "This is a bug in ckptdeck: ZeroDivisionError: oops"
    bench.core.fail_scan = None
    seen = bench.pass_time(1.0)
    assert seen.error == ""
    assert seen.survey is not None


def test_a_side_whose_look_failed_is_not_believed_any_more(bench: Bench) -> None:
    bench.start()
    bench.core.fail_scan = UsageError("ckptdeck.toml: unknown key colour")
    bench.pass_time(1.0)
    primary, _ = bench.core.composed[-1]
    assert primary.condition is Condition.UNREADABLE
    assert "unknown key colour" in primary.why
