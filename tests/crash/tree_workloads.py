"""The scripted work on checkpoints of several files: a directory with everything in it, and a TensorFlow group."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from ckptdeck.core.errors import from_os_error
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.progress import UNHURRIED
from ckptdeck.core.publish import Intent
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.sighting import Record, RecordMember
from ckptdeck.core.states import Kind, Origin, Role
from ckptdeck.core.transfer_tree import publish_copy
from tests.crash.contents import Tree, digest_of
from tests.crash.sandbox import EPOCH, Sandbox, machine
from tests.crash.workloads import (
    FILE_WORKLOADS,
    STEP,
    Act,
    Scene,
    Subject,
    Workload,
    killed_at,
    mirror,
    nothing_there,
    payload,
    recover_all,
    renames,
    repair,
    verify,
)

NAME = "checkpoint-810"
FINISHED = "finished"
GROUP_NAME = "ckpt-810"
FIRST, SECOND, MARKER = (f"{GROUP_NAME}{end}" for end in (".data-00000-of-00002", ".data-00001-of-00002", ".index"))
_LARGEST_WRITE = 4000
"""The larger file of each takes two writes."""


def directory(seed: int) -> Tree:
    """Files at two depths, the marker that trainers write last, a link inside, and a directory that holds nothing."""
    files = {
        "model.bin": payload(seed, 6000 + seed),
        "optim/shard_0.bin": payload(seed + 10, 3000 + seed),
        "trainer_state.json": payload(seed + 20, 200 + seed),
    }
    return Tree(files, {"optim/weights": "../model.bin"}, frozenset({"logs"}))


def group(seed: int) -> Tree:
    sizes = {FIRST: 6000, SECOND: 3000, MARKER: 200}
    return Tree({name: payload(seed, size + seed) for name, size in sizes.items()}, group=True)


def with_one_bit_wrong(tree: Tree, path: str) -> Tree:
    data = tree.files[path]
    files = {**tree.files, path: data[:99] + bytes([data[99] ^ 1]) + data[100:]}
    return Tree(files, tree.links, tree.empty, tree.group)


OLD, NEW, MIDDLE = directory(1), directory(2), directory(3)
DIRECTORY = Subject(NAME, Kind.DIRECTORY, OLD, with_one_bit_wrong(OLD, "optim/shard_0.bin"))
OLD_GROUP = group(1)
GROUP = Subject(GROUP_NAME, Kind.GROUP, OLD_GROUP, with_one_bit_wrong(OLD_GROUP, SECOND))


# --- the pieces


def save_tree(
    fs: FileSystem,
    sandbox: Sandbox,
    tree: Tree,
    *,
    replace: bool = False,
    readback: bool = False,
    pid: int = 1,
) -> None:
    """A trainer's save of a directory."""
    intent = Intent(NAME, step=STEP, replace=replace, readback=readback)
    with sandbox.saving(Role.PRIMARY, NAME, tree):
        with publish_tree(machine(fs, pid=pid), sandbox.found(fs, Role.PRIMARY), intent) as (path, result):
            fill(fs, path, tree)
        if any(warning.code == "unrecorded" for warning in result.warnings):
            sandbox.unrecorded.add(NAME)


def save_copy(fs: FileSystem, sandbox: Sandbox) -> None:
    """`ckptdeck publish DIRECTORY`: a finished directory that lies elsewhere."""
    intent = Intent(NAME, step=STEP, readback=True)
    with sandbox.saving(Role.PRIMARY, NAME, NEW):
        try:
            publish_copy(machine(fs), str(sandbox.base / FINISHED), sandbox.found(fs, Role.PRIMARY), intent, UNHURRIED)
        except OSError as error:
            raise from_os_error(error, f"Publishing {NAME}") from error


def fill(fs: FileSystem, path: str, tree: Tree) -> None:
    """What a trainer does in the directory it was given: plain writes, nothing synced."""
    for directory in tree.directories:
        fs.make_directory(os.path.join(path, directory))
    for name, data in tree.files.items():
        fd = fs.open(os.path.join(path, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[fs.write(fd, rest) :]
        finally:
            fs.close(fd)
    for name, target in tree.links.items():
        fs.symlink(target, os.path.join(path, name))


def mirror_of(subject: Subject) -> Act:
    return partial(mirror, subject=subject)


def repair_of(subject: Subject) -> Act:
    return partial(repair, subject=subject)


def _replace_with_middle(fs: FileSystem, sandbox: Sandbox) -> None:
    save_tree(fs, sandbox, MIDDLE, replace=True)


# --- the scenes


def finished_elsewhere(sandbox: Sandbox) -> None:
    (sandbox.base / FINISHED).mkdir()
    fill(FileSystem(), str(sandbox.base / FINISHED), NEW)


def old_tree_there(sandbox: Sandbox) -> None:
    save_tree(FileSystem(), sandbox, OLD, readback=True)


def group_there(sandbox: Sandbox) -> None:
    """Written by a trainer long ago, recorded and proven since."""
    root = sandbox.root(Role.PRIMARY)
    for name, data in OLD_GROUP.files.items():
        (root / name).write_bytes(data)
        os.utime(root / name, ns=(10**18, 10**18))
    members = tuple(RecordMember(name, len(data), digest_of(data)) for name, data in sorted(OLD_GROUP.files.items()))
    record = Record(
        name=GROUP_NAME,
        step=STEP,
        kind=Kind.GROUP,
        size=sum(member.size for member in members),
        mtime_ns=10**18,
        digest=digest_of(OLD_GROUP),
        members=members,
        recorded_at=EPOCH,
        origin=Origin.ADOPTED,
        run_id=None,
        host="box",
    )
    Manifest(FileSystem(), sandbox.found(FileSystem(), Role.PRIMARY)).write_record(record)
    sandbox.acknowledge(Role.PRIMARY, GROUP_NAME, OLD_GROUP)
    verify(FileSystem(), sandbox, subject=GROUP)


def rotten_tree_copy_there(sandbox: Sandbox) -> None:
    """The mirror's copy lost a bit of one file and was found out; the primary's is proven."""
    old_tree_there(sandbox)
    mirror(FileSystem(), sandbox, DIRECTORY)
    _rot(sandbox, DIRECTORY, sandbox.root(Role.MIRROR) / NAME, "optim/shard_0.bin")


def rotten_group_copy_there(sandbox: Sandbox) -> None:
    group_there(sandbox)
    mirror(FileSystem(), sandbox, GROUP)
    _rot(sandbox, GROUP, sandbox.root(Role.MIRROR), SECOND)


def _rot(sandbox: Sandbox, subject: Subject, base: Path, path: str) -> None:
    assert isinstance(subject.rotten, Tree)
    before = (base / path).stat()
    (base / path).write_bytes(subject.rotten.files[path])
    os.utime(base / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    sandbox.expect_damage(Role.MIRROR, subject.name, subject.rotten)
    verify(FileSystem(), sandbox, Role.MIRROR, subject)


def tree_died_after_exchange(sandbox: Sandbox) -> None:
    """The new content has the name and the old record, and the old content lies in the staging place."""
    killed_at(sandbox, old_tree_there, _replace_with_middle, lambda call: renames(call, f"{NAME}.json.next"))


def tree_died_before_exchange(sandbox: Sandbox) -> None:
    """Everything is on disk and announced; the two have to change places."""
    killed_at(sandbox, old_tree_there, _replace_with_middle, lambda call: call.name == "exchange")


def tree_died_before_rename(sandbox: Sandbox) -> None:
    """Everything is on disk and announced; only the name is missing."""
    killed_at(sandbox, nothing_there, _replace_with_middle, lambda call: renames(call, f"staging/{NAME}/{NAME}"))


def tree_died_while_writing(sandbox: Sandbox) -> None:
    """A staged directory that is not whole, and nothing announced."""
    killed_at(
        sandbox,
        nothing_there,
        _replace_with_middle,
        lambda call: call.name == "write" and call.paths[0].endswith("shard_0.bin"),
    )


def tree_copy_died(sandbox: Sandbox) -> None:
    """A mirror's copy with one whole file and one that is not durable yet."""
    killed_at(
        sandbox,
        old_tree_there,
        mirror_of(DIRECTORY),
        lambda call: call.name == "fsync" and call.paths[0].endswith("shard_0.bin"),
    )


def group_copy_died(sandbox: Sandbox) -> None:
    killed_at(
        sandbox, group_there, mirror_of(GROUP), lambda call: call.name == "fsync" and call.paths[0].endswith(SECOND)
    )


def group_copy_died_between_names(sandbox: Sandbox) -> None:
    """One data file has its place, the other and the marker have not; all of it is announced."""
    killed_at(sandbox, group_there, mirror_of(GROUP), lambda call: renames(call, SECOND))


def _work(
    name: str,
    prepare: Scene,
    act: Act,
    subject: Subject = DIRECTORY,
    *,
    copies: bool = False,
    reads_back: bool = False,
) -> Workload:
    return Workload(name, prepare, act, copies or reads_back, copies, _LARGEST_WRITE, subject)


TREE_PUBLISHES = (
    _work("publish-tree", nothing_there, lambda fs, sandbox: save_tree(fs, sandbox, NEW)),
    _work("replace-tree", old_tree_there, lambda fs, sandbox: save_tree(fs, sandbox, NEW, replace=True, readback=True)),
    _work("publish-tree-over-leftover", tree_died_while_writing, lambda fs, sandbox: save_tree(fs, sandbox, NEW)),
    _work("publish-tree-copy", finished_elsewhere, save_copy, reads_back=True),
    _work(
        "replace-tree-after-crash",
        tree_died_after_exchange,
        lambda fs, sandbox: save_tree(fs, sandbox, NEW, replace=True),
    ),
)
COPIES = (
    _work("mirror-tree", old_tree_there, mirror_of(DIRECTORY), copies=True),
    _work("mirror-group", group_there, mirror_of(GROUP), GROUP, copies=True),
    _work("mirror-tree-continued", tree_copy_died, mirror_of(DIRECTORY), copies=True),
    _work("mirror-group-continued", group_copy_died, mirror_of(GROUP), GROUP, copies=True),
    _work("repair-tree", rotten_tree_copy_there, repair_of(DIRECTORY), copies=True),
    _work("repair-group", rotten_group_copy_there, repair_of(GROUP), GROUP, copies=True),
)
RECOVERIES = (
    _work("recover-tree-finish", tree_died_after_exchange, recover_all),
    _work("recover-tree-exchange", tree_died_before_exchange, recover_all),
    _work("recover-tree-name", tree_died_before_rename, recover_all),
    _work("recover-tree-drop", tree_died_while_writing, recover_all),
    Workload(
        "recover-group-name",
        group_copy_died_between_names,
        recover_all,
        copies=True,
        largest_write=_LARGEST_WRITE,
        subject=GROUP,
    ),
)
TREE_WORKLOADS = TREE_PUBLISHES + COPIES + RECOVERIES
LONGEST_TREE_WORKLOADS = tuple(
    workload
    for workload in TREE_WORKLOADS
    if workload.name not in ("publish-tree", "replace-tree", "mirror-tree", "mirror-group")
)
"""Without those whose calls another one makes too, before or after it does more."""
CUT_TREE_WORKLOADS = tuple(
    workload
    for workload in LONGEST_TREE_WORKLOADS
    if workload.name not in ("publish-tree-copy", "recover-tree-finish", "recover-tree-name", "recover-tree-drop")
)
"""Without what a mirror, or a recovery that has all to do, does too; for power cuts, of which each takes a mount."""
WORKLOADS = FILE_WORKLOADS + TREE_WORKLOADS
