"""What the console and the demo are started with; what they do then is tested where they live."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ckptdeck.cli.console
import ckptdeck.demo.run
import ckptdeck.tui.run
from ckptdeck.cli import main as entry
from ckptdeck.cli.terminal import Terminal
from ckptdeck.demo.run import DemoOptions
from ckptdeck.monitor.engine import LiveEngine
from ckptdeck.tui.key_map import AS_BUILT
from tests.cli.deck import Deck
from tests.cli.test_terminal import Screen


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every start of the console, instead of a console."""
    starts: list[dict[str, Any]] = []

    def run_console(engine: LiveEngine, **options: object) -> int:
        starts.append({"primary": engine.snapshot().primary, "mirror": engine.snapshot().mirror, **options})
        return 0

    def on_screen(**options: Any) -> Terminal:
        return Terminal(stdin=Screen(), stdout=Screen(), stderr=Screen(), **options)

    monkeypatch.setattr(ckptdeck.tui.run, "run_console", run_console)
    monkeypatch.setattr(ckptdeck.cli.console, "run_in_child", lambda work, _lost: work())
    monkeypatch.setattr(entry, "Terminal", on_screen)
    return starts


def test_bare_directories_are_the_console(deck: Deck, started: list[dict[str, Any]]) -> None:
    assert deck.run(deck.primary, deck.mirror).code == 0
    assert started == [
        {
            "primary": str(deck.primary),
            "mirror": str(deck.mirror),
            "read_only": False,
            "mouse": True,
            "start_locked": True,
            "theme": None,
            "bell": True,
            "keys": AS_BUILT,
        }
    ]


def test_options_beat_the_user_s_file(deck: Deck, started: list[dict[str, Any]], tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[console]\ntheme = "night"\nstart_locked = false\nmouse = true\nbell = false\n')
    assert deck.run("console", deck.primary, "--read-only", "--no-mouse", "--config", file).code == 0
    (start,) = started
    assert (start["read_only"], start["mouse"], start["start_locked"], start["theme"]) == (True, False, False, "night")
    assert start["bell"] is False


def test_the_keys_of_the_user_s_file_are_checked_before_the_console_opens(
    deck: Deck, started: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[keys]\nmirror = "d"\n"overview.mirror" = ["f6", "D"]\n')
    assert deck.run("console", deck.primary, "--config", file).code == 0
    assert started[0]["keys"].rebound == {
        "overview.mirror": ("f6", "D"), "recovery.mirror": ("d",), "detail.mirror": ("d",),
    }  # fmt: skip
    file.write_text('[keys]\n"overview.mirror" = "V"\n')
    assert deck.run("console", deck.primary, "--config", file).code == 2
    assert len(started) == 1


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A configuration file that does not answer: nobody writes into this pipe until the end."""
    file = tmp_path / "config" / "ckptdeck" / "config.toml"
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    monkeypatch.setattr(ckptdeck.cli.console, "_LOOK_FOR", 0.1)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield file
    with suppress(OSError):
        os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))


def test_a_home_that_hangs_means_the_defaults(deck: Deck, started: list[dict[str, Any]], hanging: Path) -> None:
    assert deck.run("console", deck.primary).code == 0
    assert started[0]["start_locked"] is True


def test_a_file_that_is_needed_and_hangs_is_said(deck: Deck, started: list[dict[str, Any]], hanging: Path) -> None:
    assert deck.run("console", deck.primary, "--config", hanging).code == 2
    assert deck.run("console").code == 2  # it would say which set
    assert started == []


def test_json_asks_for_a_document_the_console_has_not(deck: Deck, started: list[dict[str, Any]]) -> None:
    assert deck.run(deck.primary, "--json").code == 2
    assert started == []


def test_the_demo_gets_what_was_asked_for(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[DemoOptions] = []

    def run(options: DemoOptions) -> int:
        asked.append(options)
        return 0

    monkeypatch.setattr(ckptdeck.demo.run, "run", run)
    assert deck.run("demo").code == 0
    assert deck.run("demo", "--interval", "2s", "--size", "1MB", "--keep", "--json").code == 0
    assert asked == [DemoOptions(), DemoOptions(keep=True, interval=2.0, size=1_000_000, as_json=True)]
    assert deck.run("demo", "--size", "1TB").code == 2
