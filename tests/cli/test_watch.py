"""`ckptdeck watch`: its lines, its JSON lines, and how it begins and ends."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckptdeck.cli.terminal import Terminal
from ckptdeck.cli.watch import event_line, event_object
from ckptdeck.core.states import Role
from ckptdeck.monitor.host import SystemClock
from ckptdeck.monitor.watch_event import Event, Happening
from tests.cli.deck import OLD, Deck, data_of
from tests.crash.invariants import fingerprint
from tests.monitor.making import GUARD

AT = 1_796_000_000.25
COPIED = Event(
    AT,
    Happening.DONE,
    "step_810.pt: copied and proven, device evidence",
    Role.MIRROR,
    "step_810.pt",
    "ckptdeck mirror /data/ckpt /mnt/d/ckpt step_810.pt",
)


class Stopper:
    """In place of the sleep between two turns: sends a signal to ourselves once all `paths` are there."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number
        self.paths: list[Path] = []
        self.turns = 1
        self._until = time.monotonic() + GUARD

    def __call__(self, _clock: SystemClock, _seconds: float) -> None:
        assert time.monotonic() < self._until, f"{self.paths} never came, or the signal did not end it"
        time.sleep(0.005)  # the engine's threads need the processor
        self.turns -= 1
        if self.turns <= 0 and all(path.exists() for path in self.paths):
            self.turns = 1_000_000
            os.kill(os.getpid(), self.number)


@pytest.fixture(params=[signal.SIGTERM, signal.SIGINT])
def stopper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stopper:
    made = Stopper(request.param)
    monkeypatch.setattr(SystemClock, "sleep", lambda clock, seconds: made(clock, seconds))
    return made


def test_a_line_has_the_time_the_side_what_and_the_command() -> None:
    assert event_line(COPIED) == (
        "2026-11-30T00:53:20Z mirror  step_810.pt: copied and proven, device evidence"
        "  $ ckptdeck mirror /data/ckpt /mnt/d/ckpt step_810.pt"
    )
    assert event_line(Event(AT, Happening.TROUBLE, "first line\nand\tmore", Role.PRIMARY)) == (
        "2026-11-30T00:53:20Z primary TROUBLE first line and more"
    )
    assert event_line(Event(AT, Happening.STOP, "stopped")) == "2026-11-30T00:53:20Z -       stopped"


def test_an_object_has_the_same_and_the_exact_name() -> None:
    assert event_object(COPIED) == {
        "schema": "ckptdeck.event/1",
        "at": "2026-11-30T00:53:20.250000Z",
        "event": "done",
        "side": "mirror",
        "name": "step_810.pt",
        "text": COPIED.text,
        "command": COPIED.command,
    }
    odd = event_object(Event(AT, Happening.APPEARED, "there", Role.PRIMARY, "step_\udcff1.pt"))
    assert odd["name_b64"] == "c3RlcF//MS5wdA=="
    assert event_object(Event(AT, Happening.STOP, "stopped"))["command"] is None


def test_it_mirrors_until_a_signal_ends_it(deck: Deck, stopper: Stopper) -> None:
    deck.recorded("step_1.pt")
    stopper.paths = [deck.mirror / ".ckptdeck" / "receipts" / "step_1.pt.json"]
    ran = deck.run("watch", deck.primary, "--auto-mirror")
    assert ran.code == 0
    assert (deck.mirror / "step_1.pt").read_bytes() == data_of("step_1.pt")
    lines = ran.out.splitlines()
    assert f"watching {deck.primary} and {deck.mirror}: copies to the mirror what the retention keeps" in lines[0]
    assert lines[-1].endswith("stopped; nothing was under way")
    copied = next(line for line in lines if "copied and proven" in line)
    assert copied.endswith(f"  $ ckptdeck mirror {deck.primary} {deck.mirror} step_1.pt")
    assert "copied and proven" in (deck.control / "log.jsonl").read_text()


def test_with_json_every_line_is_an_object(deck: Deck, stopper: Stopper) -> None:
    deck.recorded("step_1.pt")
    stopper.paths = [deck.mirror / ".ckptdeck" / "receipts" / "step_1.pt.json"]
    ran = deck.run("watch", deck.primary, deck.mirror, "--auto-mirror", "--auto-prune", "--json")
    assert ran.code == 0
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert {event["schema"] for event in events} == {"ckptdeck.event/1"}
    assert [events[0]["event"], events[-1]["event"]] == ["start", "stop"]
    assert [event["side"] for event in events if event["event"] == "done"] == ["mirror"]
    for line in ran.err.splitlines():
        assert json.loads(line)["schema"] == "ckptdeck.progress/1"


def test_bare_directories_are_looked_at_and_left_as_they_are(deck: Deck, stopper: Stopper) -> None:
    deck.put("step_1.pt", data_of("step_1.pt"), age=OLD)
    before = fingerprint(deck.base)
    stopper.turns = 50
    ran = deck.run("watch", deck.primary, deck.mirror)
    assert ran.code == 0
    assert fingerprint(deck.base) == before


def test_what_cannot_be_meant_is_refused_at_the_start(deck: Deck) -> None:
    ran = deck.run("watch", deck.primary, deck.mirror, "--auto-mirror")
    assert ran.code == 4
    assert "ckptdeck init" in ran.err
    deck.init()
    assert deck.run("watch", deck.primary, deck.primary).code == 2
    (deck.control / "ckptdeck.toml").write_text("[watch]\nnotify = 3\n")
    assert "watch.notify" in deck.run("watch", deck.primary).err


def test_auto_mirror_needs_a_mirror(deck: Deck) -> None:
    assert deck.run("init", deck.primary).code == 0
    ran = deck.run("watch", deck.primary, "--auto-mirror")
    assert ran.code == 2
    assert "There is no mirror to copy to" in ran.err


def test_a_full_disk_under_the_output_ends_nothing() -> None:
    script = (
        "from ckptdeck.cli.terminal import Terminal; terminal = Terminal();"
        "[terminal.keep_saying(f'line {number}') for number in range(1000)]; terminal.flush()"
    )
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_line_that_found_no_room_comes_with_the_next() -> None:
    class FullAtFirst(io.StringIO):
        full = True

        def flush(self) -> None:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")

    stdout = FullAtFirst()
    terminal = Terminal(stdout=stdout)
    terminal.keep_saying("one")
    stdout.full = False
    terminal.keep_saying("two")
    assert stdout.getvalue() == "one\ntwo\n"
