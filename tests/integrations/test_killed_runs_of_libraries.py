"""A real run is killed in the middle of a save, mirrored and pruned meanwhile, and goes on from `ckptdeck resume`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.cli.deck import Deck
from tests.integrations.extra import require_extra

require_extra()

import torch  # noqa: E402
from transformers.trainer_utils import get_last_checkpoint  # noqa: E402

from tests.integrations.killed_run import BYTES_COPIED, EVERY, STEPS  # noqa: E402

pytestmark = pytest.mark.integrations
HERE = Path(__file__).parent
KILLED_AT = 6
NAMES = {
    "lightning": {
        2: "epoch=0-step=2.ckpt",
        4: "epoch=0-step=4.ckpt",
        6: "epoch=1-step=6.ckpt",
        8: "epoch=1-step=8.ckpt",
    },
    "trainer": {step: f"checkpoint-{step}" for step in range(EVERY, STEPS + 1, EVERY)},
}


@pytest.fixture
def deck(hour_ahead: None, deck: Deck) -> Deck:
    deck.init()
    return deck


@contextmanager
def run_of(library: str, how: str, root: Path, stop_at: int, resume: str = "", tmp: str = "/tmp") -> Iterator[IO[str]]:
    """The run's words. It is killed, by the signal nothing can catch, when the block ends."""
    command = [sys.executable, "-W", "ignore", str(HERE / "killed_run.py"), library, how, str(root), str(stop_at)]
    path = os.pathsep.join([str(HERE.parent.parent), *filter(None, sys.path)])
    child = subprocess.Popen(
        command + ([resume] if resume else []),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "TMPDIR": tmp},
    )
    assert child.stdout is not None
    with child.stdout as words:
        try:
            yield words
        finally:
            child.kill()
            child.wait()


def said(words: IO[str], last: str) -> list[str]:
    """What the run says until a line that begins with `last`."""
    lines = []
    for line in words:
        lines.append(line.rstrip("\n"))
        if line.startswith(last):
            return [each for each in lines if each.startswith(("begins", "in the", "ends"))]
    raise AssertionError(f"the run ended before {last!r}: {lines}")


@pytest.mark.parametrize("library", ["lightning", "trainer"])
def test_a_run_killed_in_the_middle_of_a_save_goes_on_from_resume(deck: Deck, library: str) -> None:
    names = NAMES[library]
    with run_of(library, "ours", deck.primary, KILLED_AT) as words:
        assert said(words, "in the middle") == ["begins at 0", "in the middle"]
        assert deck.run("mirror", deck.primary, "--yes").code == 0
        assert deck.run("prune", deck.primary, "--keep-last", "1", "--yes").code == 0
    whole = {path.name for path in (*deck.primary.iterdir(), *deck.mirror.iterdir())} & set(names.values())
    assert whole - {names[KILLED_AT]} == {names[4]}  # step 2 was pruned while step 6 was written
    assert not (deck.mirror / names[KILLED_AT]).exists()

    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (0, f"{deck.primary / names[4]}\n")
    with run_of(library, "ours", deck.primary, 0, resume=ran.out.rstrip("\n")) as words:
        assert said(words, "ends at") == ["begins at 4", "ends at 8"]

    assert deck.run("verify", deck.primary, "--quiet").code == 0
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    assert deck.run("status", deck.primary).code == 0
    for side in (deck.primary, deck.mirror):
        assert {path.name for path in side.iterdir()} - {".ckptdeck"} >= {names[4], names[6], names[8]}
    assert not any(path.name.endswith(".part") for path in deck.base.rglob("*"))
    ran = deck.run("resume", deck.primary)
    assert ran.out == f"{deck.primary / names[8]}\n"


def test_lightning_alone_leaves_half_of_it_under_its_name(deck: Deck) -> None:
    """Its temporary file lies in $TMPDIR. On another disk than the checkpoints' the last step is a copy."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        assert os.stat(elsewhere).st_dev != os.stat(deck.primary).st_dev
        with run_of("lightning", "bare", deck.primary, KILLED_AT, tmp=elsewhere) as words:
            said(words, "in the middle")
    half, whole = deck.primary / NAMES["lightning"][KILLED_AT], deck.primary / NAMES["lightning"][4]
    assert half.stat().st_size == BYTES_COPIED < whole.stat().st_size
    with pytest.raises(RuntimeError):
        torch.load(half, weights_only=False)
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (8, "")


def test_trainer_alone_leaves_half_of_it_and_resumes_from_it(deck: Deck) -> None:
    with run_of("trainer", "bare", deck.primary, KILLED_AT) as words:
        said(words, "in the middle")
    half = deck.primary / "checkpoint-6"
    assert get_last_checkpoint(str(deck.primary)) == str(half)
    assert not (half / "trainer_state.json").exists()
    with pytest.raises((RuntimeError, OSError)):
        torch.load(half / "optimizer.pt")
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (8, "")
