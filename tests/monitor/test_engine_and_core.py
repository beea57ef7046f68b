"""The engine with the real core on real files: day one, the resume point, damage and its repair."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.initialise import initialise
from ckptdeck.core.named_look import NamedInventory, look_again
from ckptdeck.core.sighting import Sighting
from ckptdeck.core.states import Condition, Role, State, Verdict
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.activity import ActivityLog
from ckptdeck.monitor.core_calls import CoreCalls, core_calls
from ckptdeck.monitor.engine import LiveEngine
from ckptdeck.monitor.looking import Lookout
from ckptdeck.monitor.snapshot import Job, JobState, Snapshot
from ckptdeck.monitor.watcher import Watch
from ckptdeck.saving import publish
from tests.monitor.making import GUARD, StandingClock, made_up_host
from tests.monitor.test_engine import LOOKING_AND_COMPOSING, silent_kernel

HOUR = 3600.0
YEAR_2100 = 4_102_444_800.0
"""Later than any ctime the kernel will give a file of this test."""


class Deck:
    def __init__(self, directory: Path, watch: Watch = silent_kernel, core: CoreCalls | None = None) -> None:
        self.clock = StandingClock(YEAR_2100)
        self.host = made_up_host(self.clock)
        self.primary, self.mirror = directory / "run", directory / "mirror"
        self.primary.mkdir()
        self.mirror.mkdir()
        self.engine = LiveEngine(
            self.host,
            str(self.primary),
            str(self.mirror),
            wait=self.clock.wait,
            core=core,
            watch=watch,
            prepare_job=lambda: None,
        )

    def save(self, step: int, side: Path | None = None) -> Path:
        """A small, sound safetensors file, an hour old."""
        values = struct.pack("<64f", *map(float, range(step, step + 64)))
        header = json.dumps({"w": {"dtype": "F32", "shape": [64], "data_offsets": [0, len(values)]}}).encode()
        path = (side or self.primary) / f"step_{step:04}.safetensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + values)
        self.age(path)
        return path

    def record(self, step: int) -> set[str]:
        """As the library saves it; the paths a kernel would name."""
        name = f"step_{step:04}.pt"
        with publish(self.primary, name) as file:
            file.write(b"x" * 1000)
        books = self.primary.parent / f".{self.primary.name}.ckptdeck"
        return {str(self.primary / name), *(str(books / of / f"{name}.json") for of in ("manifest", "receipts"))}

    def age(self, path: Path) -> None:
        os.utime(path, (YEAR_2100 - HOUR, YEAR_2100 - HOUR))

    def start(self) -> Survey:
        self.engine.start()
        return self.settled()

    def settled(self) -> Survey:
        self.clock.settle(LOOKING_AND_COMPOSING)
        survey = self.snapshot().survey
        assert survey is not None, self.snapshot().error
        return survey

    def look_again(self) -> Survey:
        self.engine.rescan()
        return self.settled()

    def snapshot(self) -> Snapshot:
        return self.engine.snapshot()

    def finish(self, number: int) -> Job:
        assert self.engine._runner.wait(number, GUARD)
        self.settled()
        return next(job for job in self.snapshot().jobs if job.id == number)

    def act(self, action: str, *names: str, **options: str) -> Job:
        """Plans it, does it, and looks until what was done is believed."""
        job = self.finish(self.engine.submit(self.engine.plan(action, names, **options)))
        assert (job.state, job.error) == (JobState.DONE, "")
        self.look_again()
        self.clock.advance(1.0)
        self.settled()
        return job

    def resume_step(self) -> int | None:
        point = self.settled().resume
        return None if point is None else point.step

    def verdicts(self) -> dict[str, Verdict]:
        survey = self.snapshot().survey
        assert survey is not None
        return {step.name: step.verdict for step in survey.steps}


@pytest.fixture
def deck(tmp_path: Path) -> Iterator[Deck]:
    made = Deck(tmp_path)
    yield made
    made.engine.stop(GUARD)


def test_looking_at_two_bare_directories_creates_nothing(deck: Deck, tmp_path: Path) -> None:
    deck.save(100)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    survey = deck.start()
    assert survey.primary.inventory.condition is Condition.UNINITIALISED
    assert deck.verdicts() == {"step_0100.safetensors": Verdict.ADOPT}
    assert deck.snapshot().jobs == ()
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_day_one_records_and_mirrors_everything(deck: Deck) -> None:
    for step in (100, 200, 300):
        deck.save(step)
    deck.start()
    plan = deck.engine.plan("start")
    job = deck.finish(deck.engine.submit(plan))
    assert (job.state, job.error) == (JobState.DONE, "")
    assert job.total_done == job.total_size
    assert [r.item.name for r in job.results] == [f"step_0{step}.safetensors" for step in (300, 200, 100)]
    assert set(deck.verdicts().values()) == {Verdict.SAFE}
    assert len(deck.snapshot().log) == 3
    survey = deck.settled()
    assert survey.resume is not None
    assert (survey.resume.step, survey.resume.certain) == (300, True)
    assert not any("mounted" in text for text in deck.snapshot().trouble)


def test_a_resume_point_nobody_hashed_is_hashed_at_the_start(deck: Deck) -> None:
    initialise(deck.host, str(deck.primary), str(deck.mirror))
    published = deck.primary / "step_0200.safetensors"
    with publish(deck.primary, published.name) as file:
        file.write(deck.save(100).read_bytes())
    deck.start()
    job = deck.finish(1)
    assert job.title == "check resume point step_0200.safetensors on primary"
    survey = deck.settled()
    assert survey.resume is not None
    assert (survey.resume.name, survey.resume.certain) == (published.name, True)


def test_damage_is_trouble_until_it_is_repaired(deck: Deck) -> None:
    deck.save(100)
    deck.save(200)
    deck.start()
    deck.finish(deck.engine.submit(deck.engine.plan("start")))
    cut = deck.mirror / "step_0100.safetensors"
    os.truncate(cut, 100)
    deck.age(cut)
    deck.look_again()  # sees that it changed, and not yet whether that is over
    deck.clock.advance(1.0)
    survey = deck.settled()
    assert survey.mirror is not None
    found = survey.mirror.find(cut.name)
    assert found is not None
    assert found.state is State.TRUNCATED
    assert any(text.startswith("step_0100.safetensors on mirror is truncated") for text in deck.snapshot().trouble)
    assert deck.verdicts()[cut.name] is Verdict.REPAIR
    job = deck.finish(deck.engine.submit(deck.engine.plan("repair")))
    assert (job.state, job.error) == (JobState.DONE, "")
    assert cut.read_bytes() == (deck.primary / cut.name).read_bytes()
    assert set(deck.verdicts().values()) == {Verdict.SAFE}
    assert not any(cut.name in text for text in deck.snapshot().trouble)


def test_what_an_operator_does_with_checkpoints_goes_through_the_engine(deck: Deck) -> None:
    names = [deck.save(step).name for step in (100, 200, 300)]
    deck.start()
    deck.act("start")
    assert deck.act("mark-bad", names[2]).title == f"mark-bad {names[2]}"
    assert deck.resume_step() == 200
    deck.act("unmark-bad", names[2])
    assert deck.resume_step() == 300
    deck.act("rollback", step="200")
    assert deck.resume_step() == 200
    assert deck.verdicts()[names[2]] is Verdict.RETIRED

    aside = deck.act("quarantine", names[0], side="primary")
    assert aside.command.endswith(f"--side primary {names[0]}")
    (entry,) = deck.settled().primary.inventory.quarantine
    back = deck.act("restore", **{"from-quarantine": entry.id})
    assert (back.title, back.total_size) == (f"put back {names[0]}", 0)
    deck.act("quarantine", names[0], side="primary")
    (entry,) = deck.settled().primary.inventory.quarantine
    assert deck.act("purge", entry.id).title == f"purge {names[0]}"
    assert deck.settled().primary.inventory.quarantine == ()
    assert deck.act("restore", names[0]).total_size > 0
    assert (deck.primary / names[0]).read_bytes() == (deck.mirror / names[0]).read_bytes()
    assert deck.snapshot().log[0].text.startswith(f"{names[0]} on primary: copied and proven")


def test_a_prune_of_more_than_half_needs_its_count(deck: Deck) -> None:
    names = [deck.save(step).name for step in (100, 200, 300)]
    deck.start()
    deck.act("start")
    plan = deck.engine.plan("prune", **{"keep-last": "1"})
    assert plan.count == 4
    for confirmed in (None, 3):
        job = deck.finish(deck.engine.submit(plan, confirmed))
        assert job.state is JobState.FAILED
        assert "--confirm-count 4" in job.error
    job = deck.finish(deck.engine.submit(plan, 4))
    assert (job.state, job.error, job.title, job.items) == (JobState.DONE, "", "prune 4 copies", len(plan.acting))
    assert {path.name for path in deck.primary.iterdir()} == {names[2]}
    assert {path.name for path in deck.mirror.iterdir()} == {names[2], ".ckptdeck"}


def test_a_mirror_that_is_not_mounted_is_told_and_gets_no_plan(deck: Deck) -> None:
    deck.save(100)
    initialise(deck.host, str(deck.primary), str(deck.mirror))
    for path in sorted(deck.mirror.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    survey = deck.start()
    assert survey.mirror is not None
    assert survey.mirror.inventory.condition is Condition.NOT_MOUNTED
    assert "not mounted" in deck.snapshot().trouble[0]
    with pytest.raises(CkptdeckError, match="probably not mounted"):
        deck.engine.submit(deck.engine.plan("mirror"))


def test_a_policy_that_cannot_mean_anything_is_said(deck: Deck) -> None:
    made = initialise(deck.host, str(deck.primary), str(deck.mirror))
    control = made.pair.primary.control
    assert control is not None
    (Path(control) / "ckptdeck.toml").write_text("[prune]\ncolour = 1\n")
    deck.engine.start()
    deck.clock.settle(LOOKING_AND_COMPOSING)
    assert deck.snapshot().survey is None
    assert "colour" in deck.snapshot().error


def test_every_verb_takes_its_options_and_no_others(deck: Deck) -> None:
    deck.save(100)
    deck.start()
    assert deck.engine.plan("adopt", ["step_0100.safetensors"], replace="true", side="primary").action == "adopt"
    assert deck.engine.plan("mirror", all="true", replace="false").action == "mirror"
    assert deck.engine.plan("recover").action == "recover"
    for action, options in (("adopt", {"side": "left"}), ("mirror", {"side": "mirror"}), ("repair", {"all": "true"})):
        with pytest.raises(CkptdeckError):
            deck.engine.plan(action, **options)
    with pytest.raises(CkptdeckError):
        deck.engine.plan("recover", ["step_0100.safetensors"])


def test_roles_are_kept(deck: Deck) -> None:
    survey = deck.start()
    assert [side.role for side in survey.sides] == [Role.PRIMARY, Role.MIRROR]


class TellingKernel:
    """Tells what it is told of the primary, and knows when it was heard."""

    def __init__(self, directory: Path) -> None:
        self._primary = str(directory / "run")
        self._told: Queue[set[str]] = Queue()
        self._heard = threading.Semaphore(0)
        self._watching = threading.Semaphore(0)

    def watch(
        self, roots: Sequence[str], _wanted: Callable[[str, str], bool], stop: threading.Event
    ) -> Iterator[Collection[str]]:
        yield ()
        self._watching.release()
        while not stop.is_set() and roots[0] == self._primary:
            with contextlib.suppress(Empty):
                yield self._told.get(timeout=0.01)
                self._heard.release()

    def tell(self, paths: set[str]) -> None:
        self._told.put(paths)
        assert self._heard.acquire(timeout=GUARD)

    def watches_both(self) -> bool:
        return all(self._watching.acquire(timeout=GUARD) for _ in Role)


def start_with_two(deck: Deck, kernel: TellingKernel) -> None:
    """Up to where names are enough: everything was looked at while the kernel tells."""
    initialise(deck.host, str(deck.primary), str(deck.mirror))
    for step in (10, 20):
        deck.record(step)
    deck.start()
    deck.finish(1)  # of the resume point
    assert kernel.watches_both()
    deck.look_again()


def test_the_mirror_that_was_given_is_meant_whatever_the_set_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the primary answers before anybody looks at the mirror."""

    def look_at_once(lookout: Lookout) -> None:
        lookout._look_once(None)
        start(lookout)

    start = Lookout.start
    monkeypatch.setattr(Lookout, "start", look_at_once)
    deck, other = Deck(tmp_path), tmp_path / "other"
    other.mkdir()
    initialise(deck.host, str(deck.primary), str(other))
    deck.engine.start()
    deck.clock.settle(LOOKING_AND_COMPOSING)
    assert deck.snapshot().mirror == str(deck.mirror)
    deck.engine.stop(GUARD)


def test_what_the_kernel_names_is_looked_at_by_its_name(tmp_path: Path) -> None:
    def look(*arguments: Any) -> NamedInventory | None:
        found = look_again(*arguments)
        by_name.update({} if found is None else found.changes)
        return found

    by_name: dict[str, Sighting | None] = {}
    kernel = TellingKernel(tmp_path)
    deck = Deck(tmp_path, kernel.watch, replace(core_calls(), look_again=look))
    start_with_two(deck, kernel)
    kernel.tell(deck.record(30))
    deck.settled()
    deck.clock.advance(1.0)
    assert [row.name for row in deck.settled().steps] == ["step_0030.pt", "step_0020.pt", "step_0010.pt"]
    assert "step_0030.pt" in by_name
    deck.engine.stop(GUARD)


def test_what_looks_saw_before_they_failed_is_composed_although_the_last_one_saw_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All while one survey is being composed, so that none shows the side that failed."""

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    def compose(*arguments: Any) -> Survey:
        if not go_on.is_set():
            entered.set()
            assert go_on.wait(GUARD)
        return core.compose(*arguments)

    go_on, entered = threading.Event(), threading.Event()
    go_on.set()
    core, kernel = core_calls(), TellingKernel(tmp_path)
    deck = Deck(tmp_path, kernel.watch, replace(core, compose=compose))
    start_with_two(deck, kernel)
    go_on.clear()
    deck.engine.rescan()
    assert entered.wait(GUARD)
    deck.clock.settle(LOOKING_AND_COMPOSING - 1)
    monkeypatch.setattr(ActivityLog, "reread", fail)
    kernel.tell(deck.record(30))
    for _ in range(3):
        deck.clock.advance(2.0)
        deck.clock.settle(LOOKING_AND_COMPOSING - 1)
    monkeypatch.undo()
    deck.engine.rescan()
    deck.clock.settle(LOOKING_AND_COMPOSING - 1)
    go_on.set()
    deck.settled()
    assert "step_0030.pt" in deck.verdicts()
    deck.engine.stop(GUARD)
