"""Two pieces of work at the same time on the same directory or group, in a sample of the orders that matter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.states import Role
from tests.crash.encounters import Encounter, play_in_every_order
from tests.crash.meetings import mirror, mirror_too, recover, recover_too, repair, repair_too
from tests.crash.sandbox import Sandbox
from tests.crash.tree_workloads import (
    DIRECTORY,
    GROUP,
    GROUP_NAME,
    MIDDLE,
    NAME,
    NEW,
    OLD,
    OLD_GROUP,
    group_copy_died,
    group_copy_died_between_names,
    group_there,
    old_tree_there,
    rotten_group_copy_there,
    rotten_tree_copy_there,
    save_tree,
    tree_copy_died,
    tree_died_after_exchange,
    tree_died_before_exchange,
    tree_died_while_writing,
)
from tests.crash.workloads import Act, Scene, nothing_there, verify

SCHEDULES = 28
"""How many schedules of a pair are played."""


def _publish(fs: FileSystem, sandbox: Sandbox) -> None:
    save_tree(fs, sandbox, NEW, pid=1)


def _publish_another(fs: FileSystem, sandbox: Sandbox) -> None:
    save_tree(fs, sandbox, MIDDLE, pid=2)


def _replace(fs: FileSystem, sandbox: Sandbox) -> None:
    save_tree(fs, sandbox, NEW, replace=True, readback=True, pid=1)


def _replace_with_another(fs: FileSystem, sandbox: Sandbox) -> None:
    save_tree(fs, sandbox, MIDDLE, replace=True, readback=True, pid=2)


def _verify(fs: FileSystem, sandbox: Sandbox) -> None:
    verify(fs, sandbox, Role.PRIMARY, DIRECTORY)


def _verify_the_copy(fs: FileSystem, sandbox: Sandbox) -> None:
    verify(fs, sandbox, Role.MIRROR, GROUP)


def _tree(scene: Scene, one: Act, other: Act) -> Encounter:
    return Encounter(scene, (one, other), (OLD, MIDDLE, NEW), NAME)


def _group(scene: Scene, one: Act, other: Act) -> Encounter:
    return Encounter(scene, (one, other), (OLD_GROUP,), GROUP_NAME)


ENCOUNTERS = (
    _tree(nothing_there, _publish, _publish_another),
    _tree(nothing_there, _publish, mirror),
    _tree(tree_died_while_writing, _publish, _publish_another),
    _tree(tree_died_while_writing, _publish, recover),
    _tree(old_tree_there, _replace, _replace_with_another),
    _tree(old_tree_there, _replace, _verify),
    _tree(old_tree_there, _replace, mirror),
    _tree(tree_died_after_exchange, _replace, _replace_with_another),
    _tree(tree_died_before_exchange, _replace, recover),
    _tree(tree_died_after_exchange, _replace, recover),
    _tree(old_tree_there, mirror, mirror_too),
    _tree(tree_copy_died, mirror, recover),
    _tree(tree_died_after_exchange, mirror, recover),
    _tree(rotten_tree_copy_there, repair, repair_too),
    _tree(tree_died_before_exchange, recover, recover_too),
    _tree(tree_died_before_exchange, recover, _verify),
    _group(group_there, mirror, mirror_too),
    _group(group_there, mirror, _verify_the_copy),
    _group(group_copy_died, mirror, recover),
    _group(group_copy_died_between_names, mirror, recover),
    _group(group_copy_died_between_names, recover, recover_too),
    _group(rotten_group_copy_there, repair, mirror),
    _group(rotten_group_copy_there, repair, _verify_the_copy),
)


@pytest.mark.parametrize("encounter", ENCOUNTERS, ids=str)
def test_every_order_of_two_actors(encounter: Encounter, fresh_sandbox: Callable[[], Sandbox]) -> None:
    play_in_every_order(encounter, fresh_sandbox, at_most=SCHEDULES, of=" on trees")
