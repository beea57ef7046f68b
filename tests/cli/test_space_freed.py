"""What a prune is said to free, against what statvfs says was freed, on file systems of every kind there is here."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.deck import Deck, data_of
from tests.crash.volumes import FILE_SYSTEMS, Bench, sync_volume

MIB = 1 << 20
BOOKKEEPING = 192 * 1024
"""Records and receipts that go with the checkpoints, and lines that are added to logs."""
PATIENCE = 10.0
"""Real seconds after which it is a failure."""


@pytest.fixture(params=[*FILE_SYSTEMS, "tmpfs"])
def root(bench: Bench, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param != "tmpfs":
        with bench.volume(request.param) as volume:
            yield volume.root
        return
    place = tmp_path / "memory"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)], check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def free_on(root: Path) -> int:
    sync_volume(root)
    figures = os.statvfs(root)
    return figures.f_bavail * figures.f_frsize


def freed_on(root: Path, before: int, expected: int) -> int:
    """What came back; xfs takes a moment to give it back."""
    until = time.monotonic() + PATIENCE
    while abs(free_on(root) - before - expected) > BOOKKEEPING and time.monotonic() < until:
        pass
    return free_on(root) - before


def test_the_figure_before_a_prune_is_what_it_gives_back(
    root: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    deck = Deck(root / "data", capsys)
    deck.primary.mkdir(parents=True)
    assert deck.run("init", deck.primary).code == 0
    for number in range(1, 5):
        deck.put(f"step_{number}.pt", data_of(str(number), MIB + number * 5000))
    deck.put("step_2.pt", data_of("2", MIB // 2))
    os.truncate(deck.primary / "step_2.pt", MIB + 10_000)
    os.link(deck.primary / "step_3.pt", root / "somebody-s")
    for number in range(1, 5):
        os.utime(deck.primary / f"step_{number}.pt", (1_700_000_000 + number * 1800,) * 2)
    assert deck.run("adopt", deck.primary, "--yes").code == 0

    free_on(root)  # what is still to be allocated is now
    outlook = deck.run("space", deck.primary, "--keep-last", "1", "--json").document["sides"]["primary"]["outlook"]
    plan = deck.run("prune", deck.primary, "--keep-last", "1", "--dry-run", "--json").document
    shares = any(kind in request.node.name for kind in ("xfs", "btrfs"))
    assert outlook["prune_frees"] == plan["frees"]
    assert outlook["prune_frees_at_most"] is plan["frees_at_most"] is shares
    each = {item["name"]: item["frees"] for item in plan["items"]}
    assert each["step_3.pt"] == 0, "it has another name"
    assert MIB // 2 <= each["step_2.pt"] < MIB * 3 // 4, "the rest of it is a hole"

    shown = deck.run("prune", deck.primary, "--keep-last", "1", "--dry-run").out
    assert f"3 items, frees {'up to ' if shares else ''}1." in shown

    before = free_on(root)
    pruned = deck.run("prune", deck.primary, "--keep-last", "1", "--yes", "--confirm-count", "3")
    assert pruned.code == 0, pruned.err
    assert [path.name for path in deck.primary.glob("*.pt")] == ["step_4.pt"]
    assert freed_on(root, before, plan["frees"]) == pytest.approx(plan["frees"], abs=BOOKKEEPING)
    assert plan["frees"] > MIB * 3 // 2

    after = deck.run("space", deck.primary, "--keep-last", "1", "--json").document["sides"]["primary"]["outlook"]
    assert after["prune_frees"] == 0
    assert after["room"] - outlook["room"] == pytest.approx(plan["frees"], abs=BOOKKEEPING)
    (root / "somebody-s").unlink()
    expected = plan["frees"] + MIB
    assert freed_on(root, before, expected) == pytest.approx(expected, abs=BOOKKEEPING)
