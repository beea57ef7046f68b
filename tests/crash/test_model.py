"""First the machine has to show that it catches planted faults; then the real thing must stand up to it (T10)."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from ckptdeck.core import acts, checkpoint_set, deletion, guards, pruning, verify
from ckptdeck.core.acts import Acts
from ckptdeck.core.filesystem import read_file, write_all
from ckptdeck.core.plans import keep, prune
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.progress import Effort
from ckptdeck.core.states import NOT_THERE, Kind, Role, State
from ckptdeck.core.verify import Verification
from tests.crash.figures import FIGURES, count
from tests.crash.machine import run_machine


def ignores_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "pinned", lambda *_: None)
    monkeypatch.setattr(keep, "_pin", lambda _: None)
    for module in (acts, pruning):
        monkeypatch.setattr(module, "require_unpinned", lambda *_: None)


def counts_what_is_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "_is_verified", lambda copy: copy is not None and copy.state not in NOT_THERE)
    monkeypatch.setattr(prune, "row_counts", lambda *_: True)
    monkeypatch.setattr(keep, "row_counts", lambda *_: True)


def takes_what_is_young(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (guards, acts):
        monkeypatch.setattr(module, "not_quiet", lambda *_: None)


def takes_the_last_good_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "last_good_copy", lambda *_: None)


def copies_to_the_final_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong twice before there was a product."""

    def copy(self: Acts, item: PlanItem, _effort: Effort) -> str:
        fs = self.host.fs
        source, target = (self._pair.on(side).path_of(item.name) for side in (item.side.other, item.side))
        if item.kind is Kind.FILE and not item.target:
            fd = fs.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            write_all(fs, fd, memoryview(read_file(fs, source, 1 << 20)), 0)
            fs.fsync(fd)
            fs.close(fd)
        return "copied"

    monkeypatch.setattr(Acts, "_copy", copy)


def writes_to_whatever_is_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "condition", lambda _: None)
    monkeypatch.setattr(guards, "uninitialised", lambda *_: None)
    monkeypatch.setattr(checkpoint_set, "_checked_mirror", lambda _primary, mirror: mirror)


def trusts_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "verify_one", lambda _host, found, name, _effort: sure(found.role, name))


def sure(role: Role, name: str) -> Verification:
    return Verification(name, role, State.VERIFIED, "it has the right size", None, 0)


def forgets_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a deletion that was interrupted before the data lost its name."""
    monkeypatch.setattr(deletion, "_give_record_back", lambda removal, *_: os.unlink(removal.intent))


PLANTS: tuple[tuple[Callable[[pytest.MonkeyPatch], None], str, int], ...] = (
    (ignores_pins, "it is pinned", 1),
    (counts_what_is_torn, "whole newer steps", 3),
    (takes_what_is_young, "it is young|its time is unknown", 13),
    (takes_the_last_good_copy, "last good copy", 24),
    (copies_to_the_final_name, "under a final name that is not whole", 2),
    (writes_to_whatever_is_mounted, "a mirror that is not there", 24),
    (trusts_the_size, "not whole", 32),
    (forgets_the_record, "lost its record", 4),
)
"""What is planted, what the machine says of it, and a seed with which that takes few examples."""


@pytest.mark.parametrize(("plant", "says", "start"), PLANTS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_machine_catches(
    plant: Callable[[pytest.MonkeyPatch], None], says: str, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    figures = FIGURES.copy()
    with pytest.raises(AssertionError, match=says):
        run_machine(200, 40, start)
    FIGURES.clear()
    FIGURES.update(figures)
    count("machine: planted faults it found")


def test_whatever_happens_the_invariants_hold() -> None:
    run_machine(40, 40, 1)
