"""Anything in any order: saves, damage, commands, crashes at any call, lost mounts, clocks that jump (T10).

What each of them did is held against every invariant and the bytes on disk.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ckptdeck.core.plans.plan import Outcome
from ckptdeck.core.states import Kind, Role
from tests.crash.figures import count
from tests.crash.oracle import Deed, judge, judge_answer, standing, take, unrecorded_since, vouch
from tests.crash.world import DAY, FOREIGN, Ended, World
from tests.crash.world_contents import changed, kind_of, name_of, set_times, step_of, write

_MEMORY = Path("/dev/shm")
_DEATHS = st.one_of(st.none(), st.none(), st.integers(0, 12), st.integers(0, 60))
"""Before which of its calls that change something a command dies, if it does."""
_MOST_STEPS = 14


class Machine(RuleBasedStateMachine):
    """One world."""

    def __init__(self) -> None:
        super().__init__()
        memory = _MEMORY if _MEMORY.is_dir() else None
        self.world = World.fresh(Path(tempfile.mkdtemp(prefix="ckptdeck-", dir=memory)) / "world")
        self.steps = 0

    def teardown(self) -> None:
        shutil.rmtree(self.world.base.parent)

    # --- what was done, judged

    def _did(self, deed: Deed, run: Callable[[], Ended]) -> Ended:
        before = take(self.world)
        ended = run()
        after = take(self.world)
        wrong = vouch(self.world, before, after) if deed.action in ("adopt", "mirror") else []
        wrong += judge(self.world, before, after, deed, ended)
        wrong += standing(self.world, after)
        count("machine: steps")
        count("machine: crashes in the middle", int(ended.killed))
        for one in ended.result.results if ended.result is not None else ():
            count(f"machine: {one.item.act}", int(one.outcome is Outcome.DONE))
        assert not wrong, f"{deed}: {wrong}; {_told(ended)}"
        return ended

    def _act(self, action: str, names: list[str], options: dict[str, str], death: int | None, deed: Deed) -> Ended:
        return self._did(deed, lambda: self.world.act(action, names, options, death))

    def _pick(self, data: st.DataObject) -> tuple[Role, str]:
        """A copy that is there."""
        return data.draw(st.sampled_from(self.world.there()))

    def _has_copies(self) -> bool:
        return bool(self.world.there())

    def _next(self, kind: Kind) -> str:
        self.steps += 1
        return name_of(self.steps * 10, kind)

    # --- the trainer

    @initialize(kinds=st.lists(st.sampled_from((Kind.FILE, Kind.FILE, Kind.DIRECTORY)), max_size=4))
    def begin(self, kinds: list[Kind]) -> None:
        for kind in kinds:
            self.world.save(self._next(kind), readback=True, old=True)
        self._did(Deed("mirror"), lambda: self.world.act("mirror"))

    @precondition(lambda self: self.steps < _MOST_STEPS)
    @rule(kinds=st.lists(st.sampled_from(tuple(Kind)), min_size=1, max_size=3), death=_DEATHS)
    def an_hour_of_training(self, kinds: list[Kind], death: int | None) -> None:
        """What every run does: save, mirror, prune."""
        for kind in kinds:
            name = self._next(kind)
            if kind is Kind.GROUP:
                self.world.save_group(name)
            else:
                self._did(Deed("save"), partial(self.world.save, name, readback=True, old=True))
        self.mirror(False, None)
        self.prune(death)

    @precondition(lambda self: self.steps < _MOST_STEPS)
    @rule(kind=st.sampled_from((Kind.FILE, Kind.DIRECTORY)), readback=st.booleans(), old=st.booleans(), death=_DEATHS)
    def save(self, kind: Kind, readback: bool, old: bool, death: int | None) -> None:
        name = self._next(kind)
        self._did(Deed("save"), lambda: self.world.save(name, readback=readback, old=old, death=death))

    @precondition(_has_copies)
    @rule(data=st.data(), readback=st.booleans(), old=st.booleans(), death=_DEATHS)
    def save_again(self, data: st.DataObject, readback: bool, old: bool, death: int | None) -> None:
        _, name = self._pick(data)
        if kind_of(name) is not Kind.GROUP:
            self._did(Deed("save"), lambda: self.world.save(name, readback=readback, old=old, death=death))

    @precondition(lambda self: self.steps < _MOST_STEPS)
    @rule(old=st.booleans())
    def write_directly(self, old: bool) -> None:
        self.world.write_in_place(self._next(Kind.FILE), old=old)

    @precondition(lambda self: self.steps < _MOST_STEPS)
    @rule()
    def save_a_group(self) -> None:
        self.world.save_group(self._next(Kind.GROUP))

    @precondition(_has_copies)
    @rule(data=st.data(), old=st.booleans())
    def write_over(self, data: st.DataObject, old: bool) -> None:
        role, name = self._pick(data)
        if kind_of(name) is Kind.FILE:
            self.world.write_in_place(name, role=role, old=old)

    @precondition(_has_copies)
    @rule(data=st.data())
    def point(self, data: st.DataObject) -> None:
        _, name = self._pick(data)
        (self.world.root(Role.PRIMARY) / "latest").write_text(name)

    # --- damage and accidents

    @precondition(_has_copies)
    @rule(data=st.data(), part=st.floats(0, 0.99), keep_time=st.booleans())
    def tear(self, data: st.DataObject, part: float, keep_time: bool) -> None:
        role, name = self._pick(data)
        path = data.draw(st.sampled_from(self.world.paths_of(role, name)))
        before = path.stat()
        changed(path, lambda: os.truncate(path, int(before.st_size * part)))
        if keep_time:
            set_times(path, before.st_mtime_ns)
        copy = take(self.world).of(role, name)
        if copy is not None and copy.digest not in self.world.whole[name]:
            self.world.cut.add(copy.digest)

    @precondition(_has_copies)
    @rule(data=st.data(), keep_time=st.booleans())
    def flip(self, data: st.DataObject, keep_time: bool) -> None:
        role, name = self._pick(data)
        path = data.draw(st.sampled_from(self.world.paths_of(role, name)))
        before = path.stat()
        content = bytearray(path.read_bytes())
        if not content:
            return
        content[-1] ^= 1
        write(path, bytes(content))
        if keep_time:
            set_times(path, before.st_mtime_ns)

    @precondition(_has_copies)
    @rule(data=st.data(), when=st.sampled_from(("now", "zero", "future", "old")))
    def touch(self, data: st.DataObject, when: str) -> None:
        role, name = self._pick(data)
        now = self.world.just_now()
        times = {"now": now, "zero": 0, "future": now + int(DAY) * 10**9, "old": self.world.at_rest()}
        for path in self.world.paths_of(role, name):
            set_times(path, times[when])

    @precondition(_has_copies)
    @rule(data=st.data())
    def somebody_deletes(self, data: st.DataObject) -> None:
        self.world.remove(*self._pick(data))

    @rule(role=st.sampled_from(Role))
    def somebody_s_own(self, role: Role) -> None:
        """Files that are none of ours, and a link where a checkpoint could be."""
        if self.world.displaced:
            return
        root = self.world.root(role)
        (root / FOREIGN[0]).write_text("notes")
        (root / FOREIGN[1]).mkdir(exist_ok=True)
        link = root / "step_0001.safetensors"
        if not link.is_symlink():
            link.symlink_to("/nowhere")

    # --- the machine

    @rule(seconds=st.sampled_from((-3600.0, -10.0, 60.0, 400.0, DAY, 8 * DAY)))
    def clock_jumps(self, seconds: float) -> None:
        self.world.clock.jump(seconds)

    @rule(cached=st.booleans())
    def reboot(self, cached: bool) -> None:
        self.world.boots += 1
        self.world.mounts += 1
        self.world.cached = cached

    @precondition(lambda self: not self.world.displaced)
    @rule(what=st.sampled_from(("nothing", "empty", "other")))
    def mirror_is_lost(self, what: str) -> None:
        self.world.displace(what)

    @precondition(lambda self: self.world.displaced)
    @rule()
    def mirror_is_back(self) -> None:
        self.world.bring_back()

    # --- commands

    @rule(every=st.booleans(), death=_DEATHS)
    def mirror(self, every: bool, death: int | None) -> None:
        self._act("mirror", [], {"all": "true"} if every else {}, death, Deed("mirror"))

    @precondition(_has_copies)
    @rule(data=st.data(), death=_DEATHS)
    def mirror_replacing(self, data: st.DataObject, death: int | None) -> None:
        _, name = self._pick(data)
        self._act("mirror", [name], {"replace": "true"}, death, Deed("mirror", replace=True))

    @rule(death=_DEATHS)
    def prune(self, death: int | None) -> None:
        self._act("prune", [], {}, death, Deed("prune"))

    @rule(death=_DEATHS)
    def quarantine(self, death: int | None) -> None:
        self._act("quarantine", [], {}, death, Deed("quarantine"))

    @precondition(_has_copies)
    @rule(data=st.data(), death=_DEATHS)
    def quarantine_this_one(self, data: st.DataObject, death: int | None) -> None:
        role, name = self._pick(data)
        self._act("quarantine", [name], {"side": str(role)}, death, Deed("quarantine", side=role))

    @rule(data=st.data(), death=_DEATHS)
    def put_back(self, data: st.DataObject, death: int | None) -> None:
        ids = [one.id for side in self.world.look().sides for one in side.inventory.quarantine]
        if ids:
            options = {"from-quarantine": data.draw(st.sampled_from(ids))}
            self._act("restore", [], options, death, Deed("restore", put_back=True))

    @rule(death=_DEATHS)
    def purge(self, death: int | None) -> None:
        self._act("purge", [], {}, death, Deed("purge"))

    @rule(newest=st.sampled_from(("", "1", "3")), death=_DEATHS)
    def restore(self, newest: str, death: int | None) -> None:
        self._act("restore", [], {"newest": newest} if newest else {}, death, Deed("restore"))

    @rule(death=_DEATHS)
    def repair(self, death: int | None) -> None:
        self._act("repair", [], {}, death, Deed("repair"))

    @precondition(_has_copies)
    @rule(data=st.data(), death=_DEATHS)
    def rollback(self, data: st.DataObject, death: int | None) -> None:
        _, name = self._pick(data)
        self._act("rollback", [], {"step": str(step_of(name))}, death, Deed("rollback"))

    @precondition(_has_copies)
    @rule(data=st.data(), action=st.sampled_from(("mark-bad", "unmark-bad")), death=_DEATHS)
    def mark(self, data: st.DataObject, action: str, death: int | None) -> None:
        _, name = self._pick(data)
        self._act(action, [name], {}, death, Deed("mark-bad"))

    @rule(replace=st.booleans(), death=_DEATHS)
    def adopt(self, replace: bool, death: int | None) -> None:
        self._act("adopt", [], {"replace": "true"} if replace else {}, death, Deed("adopt"))

    @precondition(_has_copies)
    @rule(data=st.data(), death=_DEATHS)
    def adopt_this_one(self, data: st.DataObject, death: int | None) -> None:
        role, name = self._pick(data)
        self._act("adopt", [name], {"side": str(role)}, death, Deed("adopt", side=role))

    @precondition(_has_copies)
    @rule(data=st.data(), role=st.sampled_from(Role))
    def pin(self, data: st.DataObject, role: Role) -> None:
        if role is Role.PRIMARY or not self.world.displaced:
            _, name = self._pick(data)
            self.world.manifest(role).write_pin(name, "kept for the paper")

    @rule(death=_DEATHS)
    def prove_and_prune(self, death: int | None) -> None:
        self._did(Deed("verify"), self.world.verify)
        self.prune(death)

    @rule(death=_DEATHS)
    def verify(self, death: int | None) -> None:
        self._did(Deed("verify"), lambda: self.world.verify(death))

    @rule()
    def resume(self) -> None:
        """It hashes what is not proven yet, and changes nothing else."""
        before = take(self.world)
        point, error = self.world.resume()
        wrong = judge_answer(self.world, before, point, error)
        count("machine: resume points asked for")
        assert not wrong, wrong
        assert before.copies == take(self.world).copies

    @rule(death=_DEATHS)
    def recover(self, death: int | None) -> None:
        before = take(self.world)
        ended = self._act("recover", [], {}, death, Deed("recover"))
        if ended.killed:
            self._act("recover", [], {}, None, Deed("recover"))
        wrong = unrecorded_since(before, take(self.world))
        assert not wrong, wrong
        settled = self.world.everything()
        again = self._act("recover", [], {}, None, Deed("recover"))
        assert again.plan is None or not again.plan.acting, list(again.plan.acting)
        assert settled == self.world.everything(), "a second recover changed something"


def _told(ended: Ended) -> str:
    if ended.killed:
        return "killed"
    if ended.error is not None:
        return str(ended.error)
    return (
        "; ".join(f"{one.item.act} {one.item.name}: {one.text}" for one in ended.result.results) if ended.result else ""
    )


def run_machine(examples: int, steps: int, start: int) -> None:
    """The same examples every time; a failing one is not made smaller, which would take minutes."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(start)(type("Seeded", (Machine,), {})), settings=chosen)
