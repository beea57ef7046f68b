"""Where the run goes on, and the three ways of saying that it cannot."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ckptdeck.core.checkpoint_set import CheckpointSet, Pair
from ckptdeck.core.errors import Cancelled, CkptdeckError, FreshRun, NothingWhole, VolumeSuspect
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.progress import CancelToken, Effort
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.resume import answer_resume, plan_bring_back
from ckptdeck.core.sighting import InFlight, Inventory, Quarantined, Warning
from ckptdeck.core.states import Condition, Evidence, FlightState, Role, State, Structure
from ckptdeck.core.survey import ResumePoint, Survey, compose, take_survey
from tests.core.looks import (
    DAY,
    NOW,
    OTHER,
    identity,
    inventory,
    ns,
    record,
    sighting,
    structure,
    verified,
)
from tests.core.workbench import Workbench
from tests.crash.sandbox import machine

PAIR = Pair(
    CheckpointSet("/primary", Role.PRIMARY, None, None, Condition.OK),
    CheckpointSet("/mirror", Role.MIRROR, None, None, Condition.OK),
)
"""Where nothing needs hashing, nothing of the disk is looked at."""


def looked(primary: Inventory, mirror: Inventory | None = None) -> Survey:
    return compose(primary, mirror, DEFAULT_POLICY, NOW)


def ask(survey: Survey, **options: Any) -> ResumePoint:
    return answer_resume(machine(FileSystem()), PAIR, survey, **options)


def why(survey: Survey, **options: Any) -> CkptdeckError:
    with pytest.raises(CkptdeckError) as error:
        ask(survey, **options)
    return error.value


def on_mirror(*sightings: Any, **changes: Any) -> Inventory:
    return inventory(*sightings, role=Role.MIRROR, **changes)


def unrecorded(name: str, step: int, *, age: float = DAY, what: Structure = Structure.OK) -> Any:
    return sighting(name, step, identity=identity(age=age), structure=structure(what))


def ready(name: str, step: int) -> InFlight:
    return InFlight(name + ".part", name, step, 5, ns(NOW - DAY), 3, FlightState.READY, "", 5, None, None, True)


class TestOrder:
    def test_newest_step_first_by_number(self) -> None:
        survey = looked(inventory(*(verified(f"step_{n}.pt", n) for n in (9900, 10000, 9990))))
        assert ask(survey).step == 10000

    def test_the_primary_before_the_mirror(self) -> None:
        survey = looked(inventory(verified("step_1.pt", 1)), on_mirror(verified("step_1.pt", 1)))
        point = ask(survey)
        assert (point.side, point.path, point.certain) == (Role.PRIMARY, "/primary/step_1.pt", True)
        assert (point.state, point.evidence) == (State.VERIFIED, Evidence.DEVICE)

    def test_a_newer_step_on_the_mirror_before_an_older_one_on_the_primary(self) -> None:
        survey = looked(inventory(verified("step_1.pt", 1)), on_mirror(verified("step_2.pt", 2)))
        assert ask(survey).path == "/mirror/step_2.pt"
        assert ask(survey, primary_only=True).path == "/primary/step_1.pt"

    def test_a_rolling_name_only_where_no_step_is_whole(self) -> None:
        both = inventory(verified("last.ckpt", None), verified("step_1.pt", 1))
        assert ask(looked(both)).name == "step_1.pt"
        assert ask(looked(inventory(verified("last.ckpt", None)))).name == "last.ckpt"

    def test_what_was_rolled_back_is_out(self) -> None:
        gone_back = replace(verified("step_2.pt", 2), record=record("step_2.pt", step=2, retired=True))
        assert ask(looked(inventory(gone_back, verified("step_1.pt", 1)))).step == 1


class TestWithoutRecord:
    def test_structure_counts_only_when_accepted(self) -> None:
        survey = looked(inventory(unrecorded("step_2.pt", 2), verified("step_1.pt", 1)))
        told: list[str] = []
        assert ask(survey, warn=told.append).step == 1
        assert told == ["step_2.pt on the primary is structure-ok: it is ok; `--accept structure` would take it"]
        point = ask(survey, accept_structure=True)
        assert (point.step, point.state, point.certain) == (2, State.STRUCTURE_OK, False)

    def test_not_while_it_may_still_be_written(self) -> None:
        survey = looked(inventory(unrecorded("step_2.pt", 2, age=30), verified("step_1.pt", 1)))
        assert ask(survey, accept_structure=True).step == 1

    @pytest.mark.parametrize("what", [Structure.UNKNOWN, Structure.CUT, Structure.SUSPECT])
    def test_anything_less_is_never_taken(self, what: Structure) -> None:
        survey = looked(inventory(unrecorded("step_2.pt", 2, what=what), verified("step_1.pt", 1)))
        assert ask(survey, accept_structure=True).step == 1


class TestOutOfReach:
    AWAY: ClassVar[dict[str, Any]] = {
        "condition": Condition.NOT_MOUNTED,
        "why": "its volume is gone",
        "volume": None,
    }

    def away(self, name: str, step: int) -> Any:
        return sighting(name, step, identity=None, record=record(name, step=step), error="its volume is gone")

    def test_a_mirror_that_is_away_is_a_warning(self) -> None:
        told: list[str] = []
        survey = looked(inventory(verified("step_1.pt", 1)), on_mirror(**self.AWAY))
        assert ask(survey, warn=told.append).step == 1
        assert told == ["the mirror /mirror was not asked: its volume is gone"]

    def test_a_newer_record_on_a_side_that_is_away_is_not_passed_over(self) -> None:
        survey = looked(inventory(self.away("step_2.pt", 2), **self.AWAY), on_mirror(verified("step_1.pt", 1)))
        error = why(survey)
        assert isinstance(error, VolumeSuspect)
        assert "step_2.pt" in str(error)
        assert "step_1.pt" in str(error)

    def test_an_older_or_equal_record_there_is(self) -> None:
        gone = inventory(self.away("step_1.pt", 1), self.away("step_2.pt", 2), **self.AWAY)
        assert ask(looked(gone, on_mirror(verified("step_2.pt", 2)))).path == "/mirror/step_2.pt"

    def test_a_primary_of_which_nothing_is_known_may_hold_anything(self) -> None:
        survey = looked(inventory(**self.AWAY), on_mirror(verified("step_1.pt", 1)))
        assert isinstance(why(survey), VolumeSuspect)

    @pytest.mark.parametrize("sightings", [(), (unrecorded("step_1.pt", 1),)])
    def test_7_beats_8_and_9(self, sightings: tuple[Any, ...]) -> None:
        assert isinstance(why(looked(inventory(*sightings), on_mirror(**self.AWAY))), VolumeSuspect)

    def test_an_item_that_cannot_be_read_is_a_matter_of_that_item(self) -> None:
        broken = sighting("step_2.pt", 2, identity=None, record=record("step_2.pt", step=2), error="Input/output error")
        told: list[str] = []
        assert ask(looked(inventory(broken, verified("step_1.pt", 1))), warn=told.append).step == 1
        assert told == ["step_2.pt on the primary is unreadable: Input/output error"]
        assert isinstance(why(looked(inventory(broken))), VolumeSuspect), "but without another it may be the whole one"

    def test_with_primary_only_the_mirror_is_not_needed(self) -> None:
        survey = looked(inventory(), on_mirror(**self.AWAY))
        assert isinstance(why(survey, primary_only=True), FreshRun)


class TestNothing:
    def test_an_empty_pair_is_a_fresh_run(self) -> None:
        assert isinstance(why(looked(inventory(), on_mirror())), FreshRun)

    def test_foreign_names_and_unfinished_first_saves_too(self) -> None:
        stale = replace(ready("step_1.pt", 1), state=FlightState.STALE)
        assert isinstance(why(looked(inventory(sighting("x", None, family="foreign"), in_flight=(stale,)))), FreshRun)

    @pytest.mark.parametrize(
        "primary",
        [
            inventory(unrecorded("step_1.pt", 1)),
            inventory(sighting("step_1.pt", 1, identity=None, record=record(step=1), seen_missing=2)),
            inventory(in_flight=(ready("step_1.pt", 1),)),
            inventory(quarantine=(Quarantined("q1", "step_1.pt", "cut", 5, NOW),)),
            inventory(orphan_next=("step_1.pt",)),
            inventory(warnings=(Warning("damaged-record", "step_1.pt.json: not JSON"),)),
            inventory(warnings=(Warning("pointer", "latest names step_1.pt, which is not here"),)),
        ],
        ids=["candidate", "record", "ready", "quarantine", "announced", "damaged", "pointer"],
    )
    def test_any_trace_of_a_save_is_not(self, primary: Inventory) -> None:
        assert isinstance(why(looked(primary)), NothingWhole)

    def test_the_best_candidate_is_named_with_what_to_do(self) -> None:
        primary = inventory(
            unrecorded("step_3.pt", 3, what=Structure.CUT), unrecorded("step_2.pt", 2), unrecorded("step_1.pt", 1)
        )
        text = str(why(looked(primary)))
        assert "best candidate is step_2.pt on the primary (structure-ok" in text
        assert "`ckptdeck adopt --primary /primary step_2.pt`" in text

    def test_a_young_candidate_says_from_when_on_it_can_be_recorded(self) -> None:
        least = DEFAULT_POLICY.min_age
        young = why(looked(inventory(unrecorded("step_2.pt", 2, age=least - 20)))).next_step
        assert "step_2.pt` records it in 20s, once it has been quiet for" in young
        assert "records it; then" in why(looked(inventory(unrecorded("step_2.pt", 2, age=least)))).next_step

    def test_a_complete_part_sends_to_recover(self) -> None:
        error = why(looked(inventory(unrecorded("step_1.pt", 1), in_flight=(ready("step_2.pt", 2),))))
        assert "`ckptdeck recover`" in error.next_step

    def test_with_primary_only_the_mirror_s_is_named(self) -> None:
        error = why(looked(inventory(), on_mirror(verified("step_1.pt", 1))), primary_only=True)
        assert isinstance(error, NothingWhole)
        assert "--primary-only" in error.next_step


class TestWarnings:
    def test_not_more_than_a_handful_of_names(self) -> None:
        cut = [unrecorded(f"step_{n}.pt", n, what=Structure.CUT) for n in range(2, 12)]
        told: list[str] = []
        ask(looked(inventory(*cut, verified("step_1.pt", 1))), warn=told.append)
        assert len(told) == 6
        assert told[-1].startswith("5 more were passed over")

    def test_a_complete_part_that_is_newer_is_told(self) -> None:
        primary = inventory(verified("step_2.pt", 2), in_flight=(ready("step_1.pt", 1), ready("step_3.pt", 3)))
        told: list[str] = []
        ask(looked(primary), warn=told.append)
        assert [text.split()[0] for text in told] == ["step_3.pt.part"]


def save(bench: Workbench, step: int, data: bytes) -> None:
    """Published by a trainer without read-back: recorded, no receipt."""
    with publish(bench.host, bench.on(Role.PRIMARY), Intent(f"step_{step}.pt", step=step)) as (stream, _):
        stream.write(data * 1000)


class Failing(FileSystem):
    """Reads of one path fail."""

    def __init__(self) -> None:
        self.path = ""

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        if path == self.path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return super().open(path, flags, mode)


class TestHashing:
    def survey(self, bench: Workbench) -> Survey:
        return take_survey(bench.host, bench.pair, DEFAULT_POLICY)

    def ask(self, bench: Workbench, **options: Any) -> ResumePoint:
        return answer_resume(bench.host, bench.pair, self.survey(bench), **options)

    @pytest.fixture
    def saved(self, bench: Workbench) -> Workbench:
        save(bench, 1, b"one")
        save(bench, 2, b"two")
        return bench

    def test_what_has_no_receipt_is_hashed_and_gets_one(self, saved: Workbench) -> None:
        assert self.survey(saved).resume is not None
        point = self.ask(saved)
        assert (point.name, point.state, point.certain) == ("step_2.pt", State.VERIFIED, True)
        receipt = saved.manifest().receipt("step_2.pt")
        assert receipt is not None
        assert receipt.good
        assert saved.manifest().receipt("step_1.pt") is None

    def test_what_the_hash_disproves_is_passed_over(self, saved: Workbench) -> None:
        path = saved.primary / "step_2.pt"
        status = path.stat()
        path.write_bytes(b"TWO" * 1000)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        told: list[str] = []
        assert self.ask(saved, warn=told.append).name == "step_1.pt"
        assert told[0].startswith("step_2.pt on the primary is corrupt")

    def test_a_publish_whose_record_is_not_finished_is_whole(self, saved: Workbench) -> None:
        records = Path(saved.manifest().records_directory)
        (records / "step_2.pt.json").rename(records / "step_2.pt.json.next")
        point = self.ask(saved)
        assert (point.name, point.certain, point.evidence) == ("step_2.pt", True, None)

    @pytest.mark.parametrize("alone", [False, True])
    def test_a_read_error_while_hashing_is_no_answer_about_the_content(self, tmp_path: Path, alone: bool) -> None:
        fs = Failing()
        bench = Workbench.fresh(tmp_path, fs)
        if not alone:
            save(bench, 1, b"one")
        save(bench, 2, b"two")
        survey = self.survey(bench)
        fs.path = str(bench.primary / "step_2.pt")
        told: list[str] = []
        if alone:
            with pytest.raises(VolumeSuspect):
                answer_resume(bench.host, bench.pair, survey)
        else:
            assert answer_resume(bench.host, bench.pair, survey, warn=told.append).name == "step_1.pt"
            assert told[0].startswith("step_2.pt on the primary is unreadable")

    def test_cancel_is_no_answer(self, saved: Workbench) -> None:
        token = CancelToken()
        token.cancel()
        with pytest.raises(Cancelled):
            self.ask(saved, effort=Effort(cancel=token))


class TestBringingBack:
    def test_a_free_name_is_copied_to(self) -> None:
        survey = looked(inventory(verified("step_1.pt", 1)), on_mirror(verified("step_2.pt", 2)))
        (item,) = plan_bring_back(survey, "step_2.pt").items
        assert (item.act, item.side, item.name, item.target) == (Act.COPY, Role.PRIMARY, "step_2.pt", ())

    def test_a_bad_copy_is_repaired(self) -> None:
        cut = sighting("step_2.pt", 2, identity=identity(5), record=record("step_2.pt", step=2))
        survey = looked(inventory(cut), on_mirror(verified("step_2.pt", 2)))
        (item,) = plan_bring_back(survey, "step_2.pt").acting
        assert (item.act, item.side) == (Act.REPAIR, Role.PRIMARY)
        assert item.target == identity(5).stamps

    @pytest.mark.parametrize(
        "here",
        [
            lambda: unrecorded("step_2.pt", 2),
            lambda: replace(
                verified("step_2.pt", 2), identity=identity(7, age=30), record=record("step_2.pt", step=2, digest=OTHER)
            ),
        ],
        ids=["unrecorded", "written again"],
    )
    def test_what_may_be_the_trainer_s_own_stays(self, here: Callable[[], Any]) -> None:
        survey = looked(inventory(here()), on_mirror(verified("step_2.pt", 2)))
        assert plan_bring_back(survey, "step_2.pt").acting == ()
