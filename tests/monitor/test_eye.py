"""Looks at one side that follow one another: at what is named where that does, at everything where it does not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.host import Host
from ckptdeck.core.named_look import NamedInventory
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.register import Register
from ckptdeck.monitor.core_calls import CoreCalls, core_calls
from ckptdeck.monitor.eye import Eye
from ckptdeck.monitor.looking import Look
from tests.core.looks import Bench, make_bench


class Side:
    """A set with one recorded checkpoint, looked at by one eye."""

    def __init__(self, directory: Path, core: CoreCalls) -> None:
        self.bench: Bench = make_bench(directory)
        self.bench.write("step_0001.pt")
        self.bench.record("step_0001.pt", 1)
        self.eye = Eye(core)

    def look(self, *names: str) -> Look:
        paths = {str(self.bench.root / name) for name in names}
        return self.eye.look(self.bench.host, self.bench.found, DEFAULT_POLICY, paths)

    def look_at_everything(self) -> Look:
        return self.eye.look(self.bench.host, self.bench.found, DEFAULT_POLICY, None)


def test_what_is_named_is_looked_at_alone(tmp_path: Path) -> None:
    side = Side(tmp_path, core_calls())
    first = side.look("step_0001.pt")
    assert (first.complete, first.changes) == (True, None)
    side.bench.fs.listings.clear()
    side.bench.write("step_0001.pt", b"cut")
    second = side.look("step_0001.pt")
    assert not second.complete
    assert second.changes is not None
    assert second.changes.keys() == {"step_0001.pt"}
    assert str(side.bench.root) not in side.bench.fs.listings
    third = side.look().changes
    assert third is not None
    assert [seen is not None and seen.moved for seen in third.values()] == [False], "it is at rest"


def test_a_look_at_everything_says_what_changed_since(tmp_path: Path) -> None:
    side = Side(tmp_path, core_calls())
    side.look_at_everything()
    assert side.look_at_everything().changes == {}
    side.bench.write("last.ckpt")
    (side.bench.root / "step_0001.pt").unlink()
    (side.bench.control / "manifest" / "step_0001.pt.json").unlink()
    changes = side.look_at_everything().changes
    assert changes is not None
    assert {name: seen is None for name, seen in changes.items()} == {"last.ckpt": False, "step_0001.pt": True}


def test_what_changed_without_being_named_has_everything_looked_at(tmp_path: Path) -> None:
    side = Side(tmp_path, core_calls())
    side.look_at_everything()
    side.bench.record("step_0001.pt", 1, retired=True)
    look = side.look("step_0001.pt")
    assert look.complete
    (seen,) = look.inventory.sightings
    assert seen.record is not None
    assert seen.record.retired


def test_a_record_that_is_damaged_where_it_lies_is_seen(tmp_path: Path) -> None:
    side = Side(tmp_path, core_calls())
    side.bench.clock.time += 60.0
    before = side.look_at_everything().inventory
    assert before.read is not None
    assert before.read.settled
    record = side.bench.control / "manifest" / "step_0001.pt.json"
    record.write_text("{")
    look = side.eye.look(side.bench.host, side.bench.found, DEFAULT_POLICY, {str(record)})
    assert look.complete
    for inventory in (look.inventory, side.look_at_everything().inventory):
        assert inventory.read is not None
        assert [damaged.path for damaged in inventory.read.contents.damaged] == [str(record)]


def test_a_look_at_names_that_fails_becomes_one_at_everything(tmp_path: Path) -> None:
    def fails(
        _host: Host, _found: CheckpointSet, _policy: Policy, _register: Register, _paths: Collection[str]
    ) -> NamedInventory | None:
        raise OSError(5, "Input/output error")

    side = Side(tmp_path, replace(core_calls(), look_again=fails))
    side.look_at_everything()
    side.bench.write("step_0001.pt", b"cut")
    look = side.look("step_0001.pt")
    assert (look.complete, look.changes) == (True, None)
    assert [seen.moved for seen in look.inventory.sightings] == [True]
