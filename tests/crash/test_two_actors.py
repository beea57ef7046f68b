"""Two pieces of work at the same time on the same checkpoint, in every order that matters, and one of them dying."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.states import Role
from tests.crash.encounters import Encounter, play_in_every_order
from tests.crash.meetings import mirror, mirror_too, recover, recover_too, repair, repair_too
from tests.crash.sandbox import Sandbox
from tests.crash.workloads import (
    MIDDLE,
    NEW,
    OLD,
    died_after_rename,
    died_before_rename,
    died_while_writing,
    nothing_there,
    old_one_there,
    rotten_copy_there,
    save,
    verify,
)

SCHEDULES = 90
"""How many schedules of a pair are played."""


def _publish(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, NEW, pid=1)


def _publish_another(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, MIDDLE, pid=2)


def _replace(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, NEW, replace=True, readback=True, pid=1)


def _replace_with_another(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, MIDDLE, replace=True, readback=True, pid=2)


def _verify_mirror(fs: FileSystem, sandbox: Sandbox) -> None:
    verify(fs, sandbox, Role.MIRROR)


_CONTENTS = (OLD, MIDDLE, NEW)


ENCOUNTERS = (
    Encounter(nothing_there, (_publish, _publish_another), _CONTENTS),
    Encounter(nothing_there, (_publish, verify), _CONTENTS),
    Encounter(nothing_there, (_publish, mirror), _CONTENTS),
    Encounter(died_while_writing, (_publish, recover), _CONTENTS),
    Encounter(died_before_rename, (_publish, recover), _CONTENTS),
    Encounter(old_one_there, (_replace, _replace_with_another), _CONTENTS),
    Encounter(old_one_there, (_replace, verify), _CONTENTS),
    Encounter(old_one_there, (_replace, mirror), _CONTENTS),
    Encounter(rotten_copy_there, (_replace, repair), _CONTENTS),
    Encounter(died_before_rename, (_replace, recover), _CONTENTS),
    Encounter(died_after_rename, (_replace, recover), _CONTENTS),
    Encounter(old_one_there, (mirror, mirror_too), _CONTENTS),
    Encounter(old_one_there, (mirror, verify), _CONTENTS),
    Encounter(rotten_copy_there, (mirror, repair), _CONTENTS),
    Encounter(died_after_rename, (mirror, recover), _CONTENTS),
    Encounter(rotten_copy_there, (repair, repair_too), _CONTENTS),
    Encounter(rotten_copy_there, (repair, _verify_mirror), _CONTENTS),
    Encounter(rotten_copy_there, (repair, recover), _CONTENTS),
    Encounter(died_before_rename, (recover, recover_too), _CONTENTS),
    Encounter(died_before_rename, (recover, verify), _CONTENTS),
)


@pytest.mark.parametrize("encounter", ENCOUNTERS, ids=str)
def test_every_order_of_two_actors(encounter: Encounter, fresh_sandbox: Callable[[], Sandbox]) -> None:
    play_in_every_order(encounter, fresh_sandbox, at_most=SCHEDULES, of="")
