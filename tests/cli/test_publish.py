"""A file gets its name from the shell: whole, read back and recorded, or not at all."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
import xxhash

from tests.cli.deck import Deck, data_of


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "step_0810.pt"
    path.write_bytes(data_of("a"))
    path.chmod(0o640)
    return path


def test_the_file_is_named_recorded_and_read_back(deck: Deck, source: Path) -> None:
    deck.init()
    ran = deck.run("publish", source, deck.primary, "--metric", "loss=1.93", "--metric", "acc=0.5", "--json")
    assert ran.code == 0
    document = ran.document
    assert document["schema"] == "ckptdeck.publish/1"
    assert document["path"] == f"{deck.primary}/step_0810.pt"
    assert (document["step"], document["size"], document["recorded"]) == (810, 20_000, True)
    assert document["digest"] == xxhash.xxh3_128(data_of("a")).hexdigest()
    assert document["evidence"] in ("device", "cache", "server")
    assert (deck.primary / "step_0810.pt").read_bytes() == data_of("a")
    assert (deck.primary / "step_0810.pt").stat().st_mode & 0o777 == 0o640
    assert '"loss": 1.93' in (deck.control / "manifest" / "step_0810.pt.json").read_text().replace('":1', '": 1')
    assert deck.run("resume", deck.primary).out == f"{deck.primary}/step_0810.pt\n"


def test_another_name_and_step(deck: Deck, source: Path) -> None:
    deck.init()
    assert deck.run("publish", source, deck.primary, "--as", "final.pt", "--step", "9000").code == 0
    (found,) = deck.run("status", deck.primary, "--json").document["sides"]["primary"]["checkpoints"]
    assert (found["name"], found["step"]) == ("final.pt", 9000)


def test_a_taken_name_is_refused_unless_replace(deck: Deck, source: Path) -> None:
    deck.init()
    assert deck.run("publish", source, deck.primary).code == 0
    source.write_bytes(data_of("b"))
    ran = deck.run("publish", source, deck.primary)
    assert ran.code == 4
    assert (deck.primary / "step_0810.pt").read_bytes() == data_of("a")
    assert deck.run("publish", source, deck.primary, "--replace").code == 0
    assert (deck.primary / "step_0810.pt").read_bytes() == data_of("b")


def test_stdin(deck: Deck) -> None:
    deck.init()
    command = [sys.executable, "-m", "ckptdeck", "publish", "-", str(deck.primary), "--as", "step_7.pt"]
    ran = subprocess.run(command, input=data_of("c", 3_000_000), capture_output=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (deck.primary / "step_7.pt").read_bytes() == data_of("c", 3_000_000)


@pytest.mark.parametrize(
    "words",
    [
        ("-", "PRIMARY"),
        ("SOURCE", "PRIMARY", "--metric", "loss"),
        ("SOURCE", "PRIMARY", "--metric", "loss=nan"),
        ("SOURCE", "PRIMARY", "--metric", "=1"),
        ("SOURCE", "PRIMARY", "--step", "-1"),
        ("SOURCE", "PRIMARY", "--as", "a/b.pt"),
        ("SOURCE", "PRIMARY", "--as", "step_1.pt.part"),
        ("/nowhere/step_1.pt", "PRIMARY"),
        ("PRIMARY", "SOURCE"),
    ],
)
def test_what_cannot_be_published_is_a_usage_error(deck: Deck, source: Path, words: tuple[str, ...]) -> None:
    deck.init()
    places = {"SOURCE": source, "PRIMARY": deck.primary}
    ran = deck.run("publish", *[places.get(word, word) for word in words])
    assert ran.code == 2
    assert list(deck.primary.iterdir()) == []


def test_a_source_that_changes_meanwhile_gets_no_name(
    deck: Deck, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deck.init()

    def read(file: io.BufferedReader, _path: str) -> bytes:
        chunk = file.read(1 << 20)
        if chunk:
            with source.open("ab") as grown:
                grown.write(b"more" * 1000)
        return chunk if file.tell() < 30_000 else b""

    monkeypatch.setattr("ckptdeck.cli.publish._read", read)
    ran = deck.run("publish", source, deck.primary)
    assert ran.code == 3
    assert "changed while it was copied" in ran.err
    assert list(deck.primary.iterdir()) == []


def test_a_bare_directory_gets_the_name_and_a_warning(deck: Deck, source: Path) -> None:
    ran = deck.run("publish", source, deck.primary)
    assert ran.code == 0
    assert ran.err.startswith("warning: ")
    assert (deck.primary / "step_0810.pt").read_bytes() == data_of("a")


@pytest.mark.parametrize("source", ["-", "empty.pt"])
def test_nothing_is_no_checkpoint(deck: Deck, source: str) -> None:
    """`false | ckptdeck publish -` must not name 0 bytes."""
    deck.init()
    (deck.base / "empty.pt").touch()
    command = [sys.executable, "-m", "ckptdeck", "publish", source, str(deck.primary), "--as", "step_7.pt"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, cwd=deck.base, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "Nothing came from" in done.stderr
    assert list(deck.primary.iterdir()) == []


def test_a_name_that_is_too_long_is_a_usage_error(deck: Deck, source: Path) -> None:
    deck.init()
    assert deck.run("publish", source, deck.primary, "--as", "x" * 256 + ".pt").code == 2
