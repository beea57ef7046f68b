"""A volume that accepts every write and cannot keep it: only fsync tells (T4)."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.hashing import Share
from ckptdeck.core.host import Host
from ckptdeck.core.part import open_part
from ckptdeck.core.pour import SourceFile, pour
from ckptdeck.core.progress import UNHURRIED
from ckptdeck.core.publish import Intent, publish, settle
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.states import Evidence, Role
from ckptdeck.core.volume import volume_of
from tests.crash.contents import Tree
from tests.crash.faults import FaultyFileSystem, fsync_offences
from tests.crash.figures import count
from tests.crash.sandbox import Sandbox, machine
from tests.crash.tree_workloads import fill
from tests.crash.volumes import FILE_SYSTEMS, thin_volume, why_no_volumes

MIB = 1 << 20
MEMORY = {"ext4": 40 * MIB, "xfs": 100 * MIB, "btrfs": 40 * MIB}
PROMISED = {"ext4": 256 * MIB, "xfs": 320 * MIB, "btrfs": 256 * MIB}
"""What the volume says it has; MEMORY is what it has. xfs wants at least 300 MiB and writes its log into them."""
NAME = "step_1.pt"


def _save(fs: FileSystem, target: CheckpointSet, mebibytes: int) -> None:
    piece = os.urandom(MIB)
    with publish(machine(fs), target, Intent(NAME)) as (stream, _):
        for _ in range(mebibytes):
            stream.write(piece)


def _save_tree(fs: FileSystem, target: CheckpointSet, mebibytes: int) -> None:
    piece = os.urandom(MIB)
    with publish_tree(machine(fs), target, Intent(NAME)) as (path, _):
        fill(fs, path, Tree({"model.bin": piece * (mebibytes - 1), "trainer_state.json": piece}))


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
@pytest.mark.parametrize("save", [_save, _save_tree], ids=["file", "directory"])
def test_what_only_fsync_refuses_gets_no_name(
    tmp_path: Path, fs_type: str, save: Callable[[FileSystem, CheckpointSet, int], None]
) -> None:
    reason = why_no_volumes(fs_type)
    if reason:
        pytest.skip(reason)
    with thin_volume(tmp_path, fs_type, memory=MEMORY[fs_type], promised=PROMISED[fs_type]) as root:
        sandbox = Sandbox.fresh(root / "pair")
        fs = FaultyFileSystem()
        target = sandbox.found(FileSystem(), Role.PRIMARY)
        with pytest.raises(CkptdeckError) as told:
            save(fs, target, MEMORY[fs_type] // MIB + 20)
        names = os.listdir(sandbox.root(Role.PRIMARY))

    refused = [call for call in fs.log if call.name == "fsync" and call.error is not None]
    assert refused, "the volume was not thin enough"
    assert refused[0].paths[0].endswith((".part", f"staging/{NAME}/{NAME}/model.bin"))
    assert refused[0].error in (errno.ENOSPC, errno.EIO)
    assert told.value.exit_code in (6, 7)
    assert NAME not in names
    assert not fsync_offences(fs.log)
    count("thin volumes refused")


@pytest.mark.parametrize("pairs", [False, True], ids=["alone", "pair"])
@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
def test_what_the_device_refused_behind_a_copy_is_still_told_at_its_end(
    tmp_path: Path, fs_type: str, pairs: bool
) -> None:
    """A copy is sent to the device while it is written, so the device refuses long before fsync asks (R5)."""
    reason = why_no_volumes(fs_type)
    if reason:
        pytest.skip(reason)
    size = MEMORY[fs_type] + 20 * MIB
    with thin_volume(tmp_path, fs_type, memory=MEMORY[fs_type], promised=PROMISED[fs_type]) as root:
        sandbox = Sandbox.fresh(root / "pair")
        fs = FaultyFileSystem()
        target = sandbox.found(FileSystem(), Role.MIRROR)
        with pytest.raises((CkptdeckError, OSError)):
            _copy(replace(machine(fs), pairs=pairs), target, size)
        names = os.listdir(sandbox.root(Role.MIRROR))

    refused = [call for call in fs.log if call.name in ("fsync", "pwrite") and call.error is not None]
    assert refused, "the volume was not thin enough"
    assert any(call.name == "evict" and call.number < refused[0].number for call in fs.log)
    assert NAME not in names
    assert not fsync_offences(fs.log)
    count("thin volumes refused")


def _copy(host: Host, target: CheckpointSet, size: int) -> None:
    volume = volume_of(host.fs, target.root)
    memory = os.memfd_create("source")
    try:
        os.write(memory, os.urandom(size))
        source = SourceFile(memory, "source", size, Evidence.CACHE, None)
        part = open_part(host, target.root, NAME, volume, minimum_age=0.0)
        try:
            pour(host, source, part, volume, name=NAME, side=Role.MIRROR, effort=UNHURRIED, share=Share(0, size))
            settle(host, target, volume, part, Intent(NAME))
            pytest.fail("the volume kept it")
        finally:
            part.discard()
    finally:
        os.close(memory)
