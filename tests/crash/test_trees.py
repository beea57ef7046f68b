"""What no single fault and no sampled order reaches on directories and groups: two faults, the narrowest moments."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.errors import InUse, VolumeSuspect
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.publish import Intent, Published
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.states import FlightState, Role
from ckptdeck.core.survey import take_survey
from tests.crash.contents import read_content, read_group
from tests.crash.faults import WRITES, Call, Fail, FaultyFileSystem, Kill, Killed, Lie, record_calls
from tests.crash.figures import count
from tests.crash.outcomes import standing, unconverged
from tests.crash.sandbox import HOUR, Sandbox, machine
from tests.crash.tree_workloads import (
    FIRST,
    GROUP,
    GROUP_NAME,
    NAME,
    NEW,
    OLD,
    OLD_GROUP,
    SECOND,
    TREE_WORKLOADS,
    fill,
    group_there,
    old_tree_there,
    save_tree,
)
from tests.crash.volumes import FILE_SYSTEMS, Bench, why_no_volumes
from tests.crash.workloads import Unfinished, Workload, mirror, recover

LONG_NAME = f"checkpoint-{'9' * 220}"
"""Kept under a hash in the control directory."""


class _FailingNames(FaultyFileSystem):
    """Gives no name that `refused` picks by its path."""

    def __init__(self, refused: Callable[[str, str], bool]) -> None:
        super().__init__()
        self._refused = refused

    def rename_no_replace(self, source: str, target: str) -> None:
        if self._refused(source, target):
            raise OSError(errno.EIO, os.strerror(errno.EIO), target)
        super().rename_no_replace(source, target)


def test_group_that_is_named_halfway_and_cannot_be_taken_back_is_left_to_recover(
    fresh_sandbox: Callable[[], Sandbox],
) -> None:
    sandbox = fresh_sandbox()
    group_there(sandbox)

    def refused(source: str, target: str) -> bool:
        return source.endswith(SECOND) or target.endswith(f"staging/{GROUP_NAME}/{GROUP_NAME}/{FIRST}")

    with pytest.raises(Unfinished):
        mirror(_FailingNames(refused), sandbox, GROUP)
    assert os.path.exists(sandbox.root(Role.MIRROR) / FIRST)
    assert not standing(sandbox)

    recover(FileSystem(), sandbox)

    assert read_group(sandbox.root(Role.MIRROR), OLD_GROUP.files) == OLD_GROUP
    assert not unconverged(_workload("recover-group-name"), sandbox)


def test_name_that_may_not_survive_keeps_what_it_replaced(fresh_sandbox: Callable[[], Sandbox]) -> None:
    """The fsync that makes the exchange durable fails: after a power cut the old directory may be all there is."""
    sandbox = fresh_sandbox()
    old_tree_there(sandbox)
    rehearsal = Sandbox.fresh(sandbox.base / "rehearsal")
    old_tree_there(rehearsal)
    calls = record_calls(lambda fs: save_tree(fs, rehearsal, NEW, replace=True))
    rehearsal.remove()
    root = str(rehearsal.root(Role.PRIMARY))
    sync = next(call for call in calls if call.name == "fsync" and call.paths == (root,))

    with pytest.raises(VolumeSuspect):
        save_tree(FaultyFileSystem(Fail(sync.number, errno.EIO)), sandbox, NEW, replace=True)

    control = sandbox.found(FileSystem(), Role.PRIMARY).control_path("staging", NAME, NAME)
    assert read_content(sandbox.base / control) == OLD
    assert not unconverged(_workload("replace-tree"), sandbox)
    assert read_content(sandbox.root(Role.PRIMARY) / NAME) == NEW


@pytest.mark.parametrize("moment", ["after it was announced", "while it was written"])
def test_leftover_that_is_kept_under_a_hash_is_recovered(fresh_sandbox: Callable[[], Sandbox], moment: str) -> None:
    sandbox = fresh_sandbox()
    rehearsal = Sandbox.fresh(sandbox.base / "rehearsal")
    calls = record_calls(lambda fs: _save_long(fs, rehearsal))
    rehearsal.remove()
    picked = {"after it was announced": "rename_no_replace", "while it was written": "symlink"}[moment]
    at = next(call.number for call in calls if call.name == picked)
    sandbox.allow(Role.PRIMARY, LONG_NAME, NEW)
    with pytest.raises(Killed):
        _save_long(FaultyFileSystem(Kill(at)), sandbox)

    assert not unconverged(_workload("recover-tree-drop"), sandbox)

    named = os.path.exists(sandbox.root(Role.PRIMARY) / LONG_NAME)
    assert named == (moment == "after it was announced")


def test_short_write_of_a_copy_is_caught_without_reading_back(fresh_sandbox: Callable[[], Sandbox]) -> None:
    workload = _workload("mirror-tree")
    calls = record_calls(partial(_mirror_without_reading_back, sandbox=_prepared(fresh_sandbox)))
    lies = [call for call in calls if call.name in WRITES and "/staging/" in call.paths[0]]
    for call in lies:
        sandbox = _prepared(fresh_sandbox)
        _mirror_without_reading_back(FaultyFileSystem(Lie(call.number)), sandbox)
        assert read_content(sandbox.root(Role.MIRROR) / NAME) == OLD, f"lying {call}"
        assert not unconverged(workload, sandbox)
        count("lying writes tried")
    assert len(lies) == len(OLD.files)


def test_what_was_replaced_is_taken_apart_under_its_lock(fresh_sandbox: Callable[[], Sandbox]) -> None:
    """Else the next writer could take it for a leftover, and have its own tree in its place when we get there."""
    sandbox = fresh_sandbox()
    old_tree_there(sandbox)
    place = sandbox.found(FileSystem(), Role.PRIMARY).control_path("staging", NAME)
    met: list[Call] = []

    def meet(call: Call) -> None:
        taken_apart = call.name == "unlink" and call.paths[0].startswith(f"{place}/")
        if taken_apart or (call.name == "rename" and call.paths[0].endswith(f"{NAME}.json.next")):
            with pytest.raises(InUse), _publishing(sandbox):
                pass
            met.append(call)

    save_tree(FaultyFileSystem(before=meet), sandbox, NEW, replace=True)

    assert {call.name for call in met} == {"rename", "unlink"}
    assert not os.path.lexists(place)
    assert not standing(sandbox)


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
def test_tree_whose_files_are_closed_is_live_while_its_writer_is(bench: Bench, fs_type: str) -> None:
    """btrfs gives its files another device than the kernel's table of locks does."""
    reason = why_no_volumes(fs_type)
    if reason:
        pytest.skip(reason)
    with bench.volume(fs_type) as volume:
        sandbox = Sandbox.fresh(volume.root / "pair")
        with _publishing(sandbox) as (path, _):
            fill(FileSystem(), path, NEW)
            survey = take_survey(machine(FileSystem(), hours=HOUR), sandbox.pair(FileSystem()), DEFAULT_POLICY)
            (flight,) = survey.primary.inventory.in_flight
            assert flight.state is FlightState.LIVE
            assert not plan_recover(survey).acting


def test_tree_that_was_taken_for_a_leftover_before_it_was_locked_is_begun_again(
    fresh_sandbox: Callable[[], Sandbox],
) -> None:
    sandbox = fresh_sandbox()
    place = sandbox.found(FileSystem(), Role.PRIMARY).control_path("staging", NAME)
    taken: list[Call] = []

    def take(call: Call) -> None:
        if call.name == "open" and call.paths == (place,) and not taken:
            os.rmdir(place)
            taken.append(call)

    save_tree(FaultyFileSystem(before=take), sandbox, NEW)

    assert taken
    assert not standing(sandbox)


def _workload(name: str) -> Workload:
    return next(workload for workload in TREE_WORKLOADS if workload.name == name)


def _prepared(fresh_sandbox: Callable[[], Sandbox]) -> Sandbox:
    sandbox = fresh_sandbox()
    old_tree_there(sandbox)
    sandbox.allow(Role.MIRROR, NAME, OLD)
    return sandbox


def _mirror_without_reading_back(fs: FileSystem, sandbox: Sandbox) -> None:
    host, pair, policy = machine(fs), sandbox.pair(fs), replace(DEFAULT_POLICY, readback=False)
    apply(host, pair, policy, plan_mirror(take_survey(host, pair, policy)))


def _publishing(sandbox: Sandbox) -> contextlib.AbstractContextManager[tuple[str, Published]]:
    fs = FileSystem()
    return publish_tree(machine(fs, pid=2), sandbox.found(fs, Role.PRIMARY), Intent(NAME, step=810, replace=True))


def _save_long(fs: FileSystem, sandbox: Sandbox) -> None:
    with publish_tree(machine(fs), sandbox.found(fs, Role.PRIMARY), Intent(LONG_NAME, step=9)) as (path, _):
        fill(fs, path, NEW)
