"""Finding the command, exit codes, errors as paragraphs, and what a start loads."""

from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckptdeck import __version__
from ckptdeck.cli import status, watch
from ckptdeck.cli.main import COMMANDS
from tests.cli.deck import Deck, data_of

HEAVY = ("rich", "textual", "psutil", "watchfiles", "asyncio", "importlib.metadata")


def test_help_names_every_command(deck: Deck) -> None:
    ran = deck.run("--help")
    assert ran.code == 0
    for name in COMMANDS:
        assert f"  {name} " in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_the_common_options(deck: Deck, name: str) -> None:
    ran = deck.run(name, "--help")
    assert ran.code == 0
    assert f"ckptdeck {name}" in ran.out
    assert "--json" in ran.out
    assert "--quiet" in ran.out
    assert deck.run("help", name).out == ran.out


def test_version(deck: Deck) -> None:
    assert deck.run("--version").out == f"ckptdeck {__version__}\n"


def test_a_misspelt_command_is_guessed(deck: Deck) -> None:
    ran = deck.run("statsu")
    assert ran.code == 2
    assert "`ckptdeck status`" in ran.err


def test_errors_are_one_paragraph_and_with_json_one_document(deck: Deck) -> None:
    ran = deck.run("status", deck.primary, "--frobnicate", "--json")
    assert ran.code == 2
    document = ran.document
    assert document["schema"] == "ckptdeck.error/1"
    assert (document["code"], document["exit_code"]) == ("usage", 2)
    assert ran.err == f"ckptdeck: {document['text']}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (OSError(errno.EIO, "broken", "/data/x"), 7),
        (OSError(errno.ENOSPC, "full", "/data/x"), 6),
        (OSError(errno.EACCES, "no", "/data/x"), 3),
        (BrokenPipeError(), 141),
        (ZeroDivisionError("division by zero"), 70),
    ],
)
def test_what_nobody_foresaw_is_a_sentence_and_never_a_traceback(
    deck: Deck, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(status, "run", fail)
    ran = deck.run("status", deck.primary)
    assert ran.code == code
    assert "Traceback" not in ran.err
    if code == 70:
        assert "This is a bug in ckptdeck" in ran.err
        assert "division by zero" in ran.err
        assert "test_main.py" in ran.err
        assert deck.run("status", deck.primary, "--json").document["code"] == "bug"


def test_the_debug_variable_shows_the_traceback(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(status, "run", fail)
    monkeypatch.setenv("CKPTDECK_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        deck.run("status", deck.primary)


@pytest.mark.parametrize("words", [(), ("/data/ckpt",), ("/data/ckpt", "/mnt/d/ckpt"), ("console", "/data/ckpt")])
def test_the_console_without_a_terminal_exits_2_and_names_status(deck: Deck, words: tuple[str, ...]) -> None:
    ran = deck.run(*words)
    assert ran.code == 2
    directories = [word for word in words if word != "console"]
    assert f"`{' '.join(['ckptdeck', 'status', *directories])}`" in ran.err


def _python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["resume", "PRIMARY"],
        ["status", "PRIMARY"],
        ["verify", "PRIMARY"],
        ["mirror", "--help"],
    ],
    ids=" ".join,
)
def test_a_start_loads_nothing_heavy(deck: Deck, words: list[str]) -> None:
    deck.recorded("step_1.pt")
    code = (
        "import sys; from ckptdeck.cli.main import main; code = main(sys.argv[1:]);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    ran = _python(code, *[str(deck.primary) if word == "PRIMARY" else word for word in words])
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("name", "as_usual"), [("status", False), ("watch", True)])
def test_what_runs_for_weeks_looks_for_garbage_as_usual(
    deck: Deck, monkeypatch: pytest.MonkeyPatch, name: str, as_usual: bool
) -> None:
    usual = gc.get_threshold()
    meanwhile: list[tuple[int, int, int]] = []

    def run(*_: object) -> int:
        meanwhile.append(gc.get_threshold())
        return 0

    monkeypatch.setattr({"status": status, "watch": watch}[name], "run", run)
    deck.run(name, deck.primary)
    assert (meanwhile == [usual]) == as_usual
    assert gc.get_threshold() == usual


def test_the_module_runs_like_the_script(deck: Deck) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ckptdeck", "status", str(deck.primary), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["schema"] == "ckptdeck.status/1"


def test_a_reader_that_leaves_is_no_error(deck: Deck) -> None:
    for number in range(300):
        deck.put(f"step_{number}.pt", data_of("x", 64))
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "ckptdeck", "status", str(deck.primary), "--json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    os.close(reader)
    _, complaint = process.communicate(timeout=60)
    assert complaint == ""
    assert process.returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_nothing_but_what_is_heard(deck: Deck, closed: str) -> None:
    deck.mirrored("step_1.pt")
    (deck.base / "new.pt").write_bytes(b"whole" * 1000)
    words = f"publish {deck.base}/new.pt {deck.primary} --as step_2.pt"
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m ckptdeck {words} {closed}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert (deck.primary / "step_2.pt").read_bytes() == b"whole" * 1000
    resume = f"{sys.executable} -m ckptdeck resume {deck.primary} 2>&- <&-"
    heard = subprocess.run(["sh", "-c", resume], capture_output=True, text=True, check=False)
    assert (heard.returncode, heard.stdout) == (0, f"{deck.primary}/step_2.pt\n")


def test_an_answer_that_cannot_be_written_is_told(deck: Deck) -> None:
    deck.mirrored("step_1.pt")
    line = f"{sys.executable} -m ckptdeck status {deck.primary} --json > /dev/full"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "Writing the answer to stdout" in done.stderr
    assert "Traceback" not in done.stderr
