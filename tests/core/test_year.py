"""A year of hourly checkpoints, mirrored and pruned after each save, under a clock that is given (T10).

The year is played on inventories, through the real judges and planners; two days of it again with real files.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckptdeck.core.apply import apply
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Act, Outcome, Plan
from ckptdeck.core.plans.prune import plan_prune
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.sides import Side
from ckptdeck.core.sighting import Identity, Inventory, Member, Receipt, Record, RecordMember, Sighting
from ckptdeck.core.states import Evidence, Kind, Origin, Role, State
from ckptdeck.core.survey import Survey, compose, take_survey
from tests.core.looks import BOOT, GB, LOCAL, MOUNT, NOW, inventory, ns
from tests.core.workbench import Workbench
from tests.crash.sandbox import StillClock

HOUR = 3600.0
YEAR, DAYS = 8760, 48
BACKLOG = 46
"""What had gathered on both sides before anybody pruned, as in the story this began with."""
KEPT = DEFAULT_POLICY.keep_last


class PlayedPair:
    """Both sides as their scans would see them, changed as the acts would change them."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.sides: dict[Role, dict[str, Sighting]] = {role: {} for role in Role}
        self.survey = self.look()

    def look(self) -> Survey:
        before = getattr(self, "survey", None)
        self.survey = compose(
            self._inventory(Role.PRIMARY), self._inventory(Role.MIRROR), DEFAULT_POLICY, self.now, previous=before
        )
        return self.survey

    def _inventory(self, role: Role) -> Inventory:
        volume = replace(LOCAL, device=7 if role is Role.PRIMARY else 9)
        return inventory(*self.sides[role].values(), role=role, volume=volume, taken_at=self.now)

    def save(self, step: int) -> None:
        """A trainer's save, which is not read back."""
        name = name_of(step)
        there = Identity((Member("", GB, ns(self.now), ns(self.now), 7, step + 10, 0o644, 1, GB // 512),))
        digest = f"{step:032x}"
        record = Record(
            name,
            step,
            Kind.FILE,
            GB,
            ns(self.now),
            digest,
            (RecordMember("", GB, digest),),
            self.now,
            Origin.PUBLISHED,
            "run",
            "box",
        )
        self.sides[Role.PRIMARY][name] = Sighting(name, step, Kind.FILE, "single-file", False, there, record)

    def carry_out(self, plan: Plan) -> None:
        """A copy proves both; a deletion leaves nothing behind."""
        assert plan.refused is None, plan.refused
        for item in plan.acting:
            if item.act is Act.DELETE:
                del self.sides[item.side][item.name]
                continue
            assert item.act is Act.COPY
            source = self.sides[item.side.other][item.name]
            self.sides[item.side.other][item.name] = self._proven(source)
            self.sides[item.side][item.name] = self._proven(source)

    def _proven(self, sighting: Sighting) -> Sighting:
        identity, record = sighting.identity, sighting.record
        assert identity is not None
        assert record is not None
        receipt = Receipt(sighting.name, True, record.digest, identity.stamps, Evidence.DEVICE, self.now, BOOT, MOUNT)
        return replace(sighting, receipt=receipt)


def name_of(step: int) -> str:
    return f"step_{step:07d}.pt"


def test_each_hour_of_a_year_leaves_the_last_twelve_whole_on_both_sides() -> None:
    pair = PlayedPair(NOW)
    for step in range(BACKLOG):
        pair.now += HOUR
        pair.save(step)
    pair.carry_out(plan_mirror(pair.look(), all_steps=True))
    first = plan_prune(pair.look())
    assert first.count == len(first.acting) == 2 * (BACKLOG - KEPT)
    pair.carry_out(first)

    for step in range(BACKLOG, BACKLOG + YEAR):
        pair.now += HOUR
        pair.save(step)
        seen = pair.look()
        for side in seen.sides:
            assert whole_steps(side) == list(range(step - 1, step - 1 - KEPT, -1)), "what the hour before left"
        copies = plan_mirror(seen)
        assert [(item.act, item.step) for item in copies.acting] == [(Act.COPY, step)]
        pair.carry_out(copies)
        gone = plan_prune(pair.look())
        assert gone.count is None, "what every hour does asks for no number"
        assert [(item.act, item.step) for item in gone.acting] == [(Act.DELETE, step - KEPT)] * 2
        pair.carry_out(gone)
        assert len(pair.sides[Role.PRIMARY]) == len(pair.sides[Role.MIRROR]) == KEPT


def test_two_days_of_real_files_leave_the_last_twelve(tmp_path: Path) -> None:
    """The same through the acts themselves; nothing gathers in the control directories neither."""
    bench = Workbench.fresh(tmp_path)
    clock = bench.host.clock
    assert isinstance(clock, StillClock)
    for step in range(DAYS):
        clock.sleep(HOUR)
        intent = Intent(name_of(step), step=step, mtime_ns=ns(clock.now()))
        with publish(bench.host, bench.on(Role.PRIMARY), intent) as (stream, _):
            stream.write(name_of(step).encode() * 20)
        for planner in (plan_mirror, plan_prune):
            plan = planner(take_survey(bench.host, bench.pair, DEFAULT_POLICY))
            assert len(plan.acting) <= 2
            result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan)
            assert {one.outcome for one in result.results} <= {Outcome.DONE}
    last = {name_of(step) for step in range(DAYS - KEPT, DAYS)}
    for role in Role:
        assert bench.names(role) == last
        control = Path(bench.on(role).control_path())
        assert {path.name.removesuffix(".json") for path in (control / "manifest").iterdir()} == last
        assert {path.name.removesuffix(".json") for path in (control / "receipts").iterdir()} == last
        assert not any(any((control / place).iterdir()) for place in ("removing", "staging", "quarantine"))


def whole_steps(side: Side) -> list[int]:
    return [copy.step for copy in side.checkpoints if copy.state is State.VERIFIED and copy.step is not None]
