"""The judge must catch the usual ways to write a checkpoint before its silence about ours means anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from tests.crash.contents import Content, Tree, digest_of
from tests.crash.figures import count
from tests.crash.invariants import Promise, judge_names
from tests.crash.power_cuts import PowerCuts
from tests.crash.tree_workloads import directory, fill
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


def naive_copytree(source: Path, final: Path, step: Step) -> None:
    """`shutil.copytree` to the final name, looked at while it runs."""

    def copy(one: str, other: str) -> None:
        shutil.copy2(one, other)
        step("in the middle of the copy")

    shutil.copytree(source, final, symlinks=True, copy_function=copy)
    step("copied")


def rename_tree_without_fsync(source: Path, final: Path, step: Step) -> None:
    part = final.with_name(final.name + ".part")
    shutil.copytree(source, part, symlinks=True)
    step("part written")
    os.rename(part, final)
    step("renamed")


def fsync_tree_without_directories(source: Path, final: Path, step: Step) -> None:
    part = final.with_name(final.name + ".part")
    shutil.copytree(source, part, symlinks=True)
    for path in sorted(part.rglob("*")):
        if path.is_file() and not path.is_symlink():
            _sync(path, os.O_RDONLY)
    step("files synced")
    os.rename(part, final)
    step("renamed")


def fsync_tree_without_inner_directories(source: Path, final: Path, step: Step) -> None:
    fsync_tree_without_directories(source, final, step)
    _sync(final.parent, os.O_RDONLY | os.O_DIRECTORY)
    step("its own directory synced")


FILE_WRITERS = (naive_copy, slow_copy, rename_without_fsync, fsync_without_directory)
TREE_WRITERS = (naive_copytree, rename_tree_without_fsync, fsync_tree_without_directories)
"""The first two lose data, the last one only names."""
CARELESS_OF_DATA = (naive_copy, slow_copy, rename_without_fsync, naive_copytree, rename_tree_without_fsync)


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
@pytest.mark.parametrize("writer", FILE_WRITERS + TREE_WRITERS, ids=lambda writer: writer.__name__)
def test_judge_catches_what_is_lost(bench: Bench, tmp_path: Path, fs_type: str, writer: Writer) -> None:
    violations = _violations(bench, tmp_path, fs_type, writer, neighbour=False)

    assert any("is gone" in violation for violation in violations)


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
@pytest.mark.parametrize("writer", CARELESS_OF_DATA, ids=lambda writer: writer.__name__)
def test_judge_catches_names_without_their_data(bench: Bench, tmp_path: Path, fs_type: str, writer: Writer) -> None:
    violations = _violations(bench, tmp_path, fs_type, writer, neighbour=True)

    assert any(torn in violation for violation in violations for torn in ("empty", "zeros", "never whole"))


def test_judge_catches_links_and_empty_directories_that_were_not_synced(bench: Bench, tmp_path: Path) -> None:
    """ext4 and xfs write all names with any fsync; btrfs keeps only those it was asked for."""
    violations = _violations(bench, tmp_path, "btrfs", fsync_tree_without_inner_directories, neighbour=False)

    assert any("never whole" in violation and "optim/weights" not in violation for violation in violations)


def _violations(bench: Bench, directory: Path, fs_type: str, writer: Writer, *, neighbour: bool) -> list[str]:
    reason = why_no_volumes(fs_type)
    if reason:
        pytest.skip(reason)
    saves = _files() if writer in FILE_WRITERS else _trees()
    with bench.volume(fs_type) as volume:
        cuts = PowerCuts(bench, volume)
        _save(volume, writer, saves, cuts, directory, neighbour=neighbour)
    judged, violations = cuts.judge_all()
    count(f"power cuts of {writer.__name__} judged", judged)
    count(f"power cuts of {writer.__name__}: violations", len(violations))
    return violations


def _files() -> list[tuple[str, Content]]:
    """Three saves, the third over the first."""
    return [(name, bytes([number + 1]) * SIZE) for number, name in enumerate(("step_1.pt", "step_2.pt", "step_1.pt"))]


def _trees() -> list[tuple[str, Content]]:
    return [(f"checkpoint-{number}", directory(number)) for number in (1, 2)]


def _save(
    volume: Volume,
    writer: Writer,
    saves: Sequence[tuple[str, Content]],
    cuts: PowerCuts,
    directory: Path,
    *,
    neighbour: bool,
) -> None:
    """A neighbour that syncs the directory commits names before their data."""
    legal: dict[str, frozenset[str]] = {}
    kept: dict[str, frozenset[str]] = {}

    def step(label: str) -> None:
        if neighbour:
            _sync(volume.root, os.O_RDONLY | os.O_DIRECTORY)
        promise = Promise(dict(legal), dict(kept))
        cuts.cut(label, lambda root: judge_names(root, promise))

    for number, (name, content) in enumerate(saves):
        source = directory / f"source-{number}"
        if isinstance(content, Tree):
            source.mkdir()
            fill(FileSystem(), str(source), content)
        else:
            source.write_bytes(content)
        legal[name] = legal.get(name, frozenset()) | {digest_of(content)}
        if name in kept:
            kept[name] = legal[name]
        writer(source, volume.root / name, step)
        kept[name] = frozenset({digest_of(content)})
        step(f"after saving {name}")


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
