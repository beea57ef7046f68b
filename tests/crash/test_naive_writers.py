"""The judge must catch the three usual ways to write a checkpoint before its silence about ours means anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.figures import count
from tests.crash.invariants import Promise, digest_of, judge_names
from tests.crash.power_cuts import PowerCuts
from tests.crash.volumes import FILE_SYSTEMS, Bench, Volume, why_no_volumes

CHUNK = 64 << 10
SIZE = 300_000

Step = Callable[[str], None]
Writer = Callable[[Path, Path, Step], None]


def naive_copy(source: Path, final: Path, step: Step) -> None:
    """`shutil.copy2` to the final name, as launchers do it."""
    shutil.copy2(source, final)
    step("copied")


def slow_copy(source: Path, final: Path, step: Step) -> None:
    """The same copy, looked at while it runs: a process that dies here leaves a short final name."""
    with open(source, "rb") as reader, open(final, "wb", buffering=0) as writer:
        while chunk := reader.read(CHUNK):
            writer.write(chunk)
            step("in the middle of the copy")


def rename_without_fsync(source: Path, final: Path, step: Step) -> None:
    part = final.with_name(final.name + ".part")
    shutil.copyfile(source, part)
    step("part written")
    os.replace(part, final)
    step("renamed")


def fsync_without_directory(source: Path, final: Path, step: Step) -> None:
    part = final.with_name(final.name + ".part")
    with open(source, "rb") as reader, open(part, "wb") as writer:
        shutil.copyfileobj(reader, writer)
        writer.flush()
        step("part written")
        os.fsync(writer.fileno())
    step("part synced")
    os.replace(part, final)
    step("renamed")


NAIVE = (naive_copy, slow_copy, rename_without_fsync, fsync_without_directory)
CARELESS_OF_DATA = (naive_copy, slow_copy, rename_without_fsync)


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
@pytest.mark.parametrize("writer", NAIVE, ids=lambda writer: writer.__name__)
def test_judge_catches_what_is_lost(bench: Bench, tmp_path: Path, fs_type: str, writer: Writer) -> None:
    violations = _violations(bench, tmp_path, fs_type, writer, neighbour=False)

    assert any("is gone" in violation for violation in violations)


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
@pytest.mark.parametrize("writer", CARELESS_OF_DATA, ids=lambda writer: writer.__name__)
def test_judge_catches_names_without_their_data(bench: Bench, tmp_path: Path, fs_type: str, writer: Writer) -> None:
    violations = _violations(bench, tmp_path, fs_type, writer, neighbour=True)

    assert any(torn in violation for violation in violations for torn in ("empty", "zeros", "never whole"))


def _violations(bench: Bench, directory: Path, fs_type: str, writer: Writer, *, neighbour: bool) -> list[str]:
    reason = why_no_volumes(fs_type)
    if reason:
        pytest.skip(reason)
    with bench.volume(fs_type) as volume:
        cuts = PowerCuts(bench, volume)
        _save_three(volume, writer, cuts, directory, neighbour)
    judged, violations = cuts.judge_all()
    count(f"power cuts of {writer.__name__} judged", judged)
    count(f"power cuts of {writer.__name__}: violations", len(violations))
    return violations


def _save_three(
    volume: Volume,
    writer: Writer,
    cuts: PowerCuts,
    directory: Path,
    neighbour: bool,
) -> None:
    """Three saves, the third over the first; a neighbour that syncs the directory commits names before their data."""
    legal: dict[str, frozenset[str]] = {}
    kept: dict[str, frozenset[str]] = {}

    def step(label: str) -> None:
        if neighbour:
            _sync_directory(volume.root)
        promise = Promise(dict(legal), dict(kept))
        cuts.cut(label, lambda root: judge_names(root, promise))

    for number, name in enumerate(("step_1.pt", "step_2.pt", "step_1.pt")):
        data = bytes([number + 1]) * SIZE
        source = directory / f"source-{number}"
        source.write_bytes(data)
        legal[name] = legal.get(name, frozenset()) | {digest_of(data)}
        if name in kept:
            kept[name] = legal[name]
        writer(source, volume.root / name, step)
        kept[name] = frozenset({digest_of(data)})
        step(f"after saving {name}")


def _sync_directory(root: Path) -> None:
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
