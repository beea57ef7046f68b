"""The staging place of directories and groups: who owns it, what a leftover there is, and what is taken back."""

from __future__ import annotations

import errno
import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.errors import InUse, Refused
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.sighting import Volume
from ckptdeck.core.staged_tree import StagedTree
from ckptdeck.core.staging import claim_tree, open_tree, staging_place
from ckptdeck.core.states import Kind, Role
from ckptdeck.core.volume import volume_of
from tests.core.units import contents, fill
from tests.core.workbench import Workbench
from tests.crash.sandbox import machine

NAME = "step_500"
LEAST = 300.0
QUIET = 1_000_000_000.0


def local(bench: Workbench) -> Volume:
    return replace(volume_of(bench.host.fs, str(bench.primary)), fs_class="local")


def server(bench: Workbench) -> Volume:
    return replace(local(bench), fs_type="nfs4", fs_class="nfs")


def opened(bench: Workbench, name: str = NAME, kind: Kind = Kind.DIRECTORY) -> StagedTree:
    return open_tree(bench.host, bench.on(Role.PRIMARY), name, kind, local(bench), minimum_age=LEAST)


def claimed(bench: Workbench, volume: Volume | None = None) -> StagedTree | None:
    volume = volume or local(bench)
    return claim_tree(bench.host, bench.on(Role.PRIMARY), NAME, Kind.DIRECTORY, volume, minimum_age=LEAST)


def place(bench: Workbench, name: str = NAME) -> Path:
    return Path(staging_place(bench.on(Role.PRIMARY), name), name)


# --- where


def test_it_lies_in_the_control_directory_under_its_own_name_or_a_hash(bench: Workbench) -> None:
    staging = bench.on(Role.PRIMARY).control_path("staging")
    assert place(bench) == Path(staging) / NAME / NAME
    for odd in ("x" * 255, os.fsdecode(b"b\xff"), ".hidden", "~tilde"):
        assert place(bench, odd).name == odd
        around = place(bench, odd).parent
        assert around.parent == Path(staging)
        assert around.name.startswith("~")
        assert len(around.name) < 40


def test_without_a_control_directory_no_trainer_takes_it_for_a_checkpoint(tmp_path: Path) -> None:
    found = find_set(FileSystem(), str(tmp_path), Role.PRIMARY)
    path = Path(staging_place(found, "checkpoint-500"))
    assert path.parent == tmp_path
    assert path.name.startswith(".")
    assert path.name.endswith(".part")
    assert "500" not in path.name.replace(path.stem, "")


# --- owners


def test_a_live_owner_keeps_it_and_a_dead_one_s_is_begun_anew(bench: Workbench) -> None:
    first = opened(bench)
    fill(place(bench), {"half": b"1"})
    with pytest.raises(InUse):
        opened(bench)
    first.leave()
    first.discard()
    second = opened(bench)
    assert contents(place(bench)) == {}
    second.discard()
    assert not place(bench).exists()


def test_what_is_claimed_keeps_what_is_in_it(bench: Workbench) -> None:
    assert claimed(bench) is None
    fill(place(bench), {"half": b"1", "sub/x": b"2"})
    tree = claimed(bench)
    assert tree is not None
    assert contents(place(bench)) == {"half": b"1", "sub/x": b"2"}
    with pytest.raises(InUse):
        claimed(bench)
    tree.discard()
    assert not place(bench).exists()


def test_a_tree_that_was_taken_over_is_not_the_first_owner_s_to_remove(bench: Workbench) -> None:
    first = opened(bench)
    place(bench).parent.rename(place(bench).parent.with_name("away"))
    fill(place(bench), {"theirs": b"1"})
    first.discard()
    assert contents(place(bench)) == {"theirs": b"1"}


def test_a_directory_that_a_library_put_there_itself_is_the_one_that_gets_the_name(bench: Workbench) -> None:
    """As Orbax does it when told to overwrite. All the while the place is ours."""
    tree = opened(bench)
    place(bench).rmdir()
    fill(place(bench).with_name("temporary"), {"a": b"1"})
    with pytest.raises(InUse):
        opened(bench)
    with pytest.raises(InUse, match="temporary lies beside"):
        tree.follow(local(bench))
    place(bench).with_name("temporary").rename(place(bench))
    tree.follow(local(bench))
    tree.give_name(bench.host, local(bench), str(bench.primary / NAME), replace=False)
    assert tree.stamps_as(str(bench.primary / NAME)) is not None
    tree.discard()
    assert contents(bench.primary / NAME) == {"a": b"1"}
    assert not place(bench).parent.exists()


def test_what_a_writer_left_before_its_tree_or_beside_it_is_taken_away(bench: Workbench) -> None:
    place(bench).parent.mkdir()
    opened(bench).discard()
    fill(place(bench).with_name("temporary"), {"a": b"1"})
    opened(bench).discard()
    assert not place(bench).parent.exists()


def test_leaving_twice_and_discarding_twice_harm_nothing(bench: Workbench) -> None:
    tree = opened(bench)
    tree.discard()
    tree.discard()
    with_new = opened(bench)
    tree.discard()
    assert place(bench).is_dir()
    with_new.discard()


@pytest.mark.parametrize("code", [errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_a_server_has_no_locks_silence_decides(tmp_path: Path, code: int) -> None:
    class Lockless(FileSystem):
        def try_lock(self, fd: int) -> bool:
            raise OSError(code, os.strerror(code))

    bench = Workbench.fresh(tmp_path, Lockless())
    fill(place(bench), {"half": b"1"}, at=bench.host.clock.now() - 10.0)
    with pytest.raises(InUse, match="10 s ago, maybe from another host"):
        claimed(bench, server(bench))
    fill(place(bench), {}, at=QUIET)
    tree = claimed(bench, server(bench))
    assert tree is not None
    tree.discard()
    fill(place(bench), {"half": b"1"}, at=QUIET)
    with pytest.raises(OSError, match=os.strerror(code)):
        claimed(bench)


def test_the_youngest_file_is_what_counts_on_a_server(bench: Workbench) -> None:
    root = fill(place(bench), {"a/b/young": b"1", "old": b"2"}, at=QUIET)
    moment = bench.host.clock.now() - 100.0
    os.utime(root / "a" / "b" / "young", (moment, moment))
    with pytest.raises(InUse, match="100 s ago"):
        claimed(bench, server(bench))


def test_a_pipe_in_a_leftover_on_a_server_keeps_nobody_from_saving(bench: Workbench) -> None:
    root = fill(place(bench), {"a": b"1"})
    os.mkfifo(root / "pipe")
    fill(root, {}, at=QUIET)
    tree = claimed(bench, server(bench))
    assert tree is not None
    tree.take_apart()
    assert not place(bench).exists()


@pytest.mark.parametrize("what", ["file", "link", "pipe"])
def test_something_else_in_its_place_is_refused_and_left_alone(bench: Workbench, what: str) -> None:
    elsewhere = fill(bench.primary.parent / "elsewhere", {"x": b"1"})
    around = place(bench).parent
    if what == "file":
        around.write_bytes(b"1")
    elif what == "link":
        around.symlink_to(elsewhere)
    else:
        os.mkfifo(around)
    for volume in (local(bench), server(bench)):
        with pytest.raises(Refused, match="no directory"):
            claimed(bench, volume)
    assert os.listdir(around.parent) == [NAME]
    assert contents(elsewhere) == {"x": b"1"}


def test_no_descriptor_is_lost_when_it_is_in_use(bench: Workbench) -> None:
    fill(place(bench), {"half": b"1"})
    owner = os.open(place(bench), os.O_RDONLY)
    fcntl.flock(owner, fcntl.LOCK_EX)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(InUse):
            claimed(bench)
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(owner)


# --- giving names


def test_the_stamps_are_of_what_has_the_name_and_only_while_it_has(bench: Workbench) -> None:
    tree = opened(bench)
    fill(place(bench), {"a": b"1", "sub/b": b"22"})
    final = str(bench.primary / NAME)
    tree.give_name(bench.host, local(bench), final, replace=False)
    stamps = tree.stamps_as(final)
    assert stamps is not None
    assert [(stamp.path, stamp.size) for stamp in stamps] == [("a", 1), ("sub/b", 2)]
    os.rename(final, bench.primary / "away")
    assert tree.stamps_as(final) is None
    fill(bench.primary / NAME, {"a": b"1"})
    assert tree.stamps_as(final) is None
    tree.discard()


def test_the_names_of_a_group_are_all_given_or_none(bench: Workbench) -> None:
    fill(bench.primary, {"optim_1.pt": b"theirs"})
    tree = opened(bench, "step_1", Kind.GROUP)
    fill(place(bench, "step_1"), {"model_1.pt": b"1", "optim_1.pt": b"2", "x_1.index": b"3"})
    with pytest.raises(FileExistsError):
        tree.give_name(bench.host, local(bench), str(bench.primary / "step_1"), replace=False)
    assert contents(bench.primary) == {"optim_1.pt": b"theirs"}
    assert set(contents(place(bench, "step_1"))) == {"model_1.pt", "optim_1.pt", "x_1.index"}
    assert not tree.half_named
    (bench.primary / "optim_1.pt").unlink()
    tree.give_name(bench.host, local(bench), str(bench.primary / "step_1"), replace=False)
    assert contents(bench.primary) == {"model_1.pt": b"1", "optim_1.pt": b"2", "x_1.index": b"3"}
    stamps = tree.stamps_as(str(bench.primary / "step_1"))
    assert stamps is not None
    assert len(stamps) == 3
    tree.discard()


def test_a_child_holds_no_lock_of_it(bench: Workbench) -> None:
    tree = opened(bench)
    wait, go = os.pipe()
    ready, running = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.write(running, b"1")
        os.read(wait, 1)
        os._exit(0)
    os.close(wait)
    os.read(ready, 1)
    try:
        tree.leave()
        tree.discard()
        again = claimed(bench)
        assert again is not None
        again.discard()
    finally:
        for end in (go, ready, running):
            os.close(end)
        assert os.waitpid(child, 0)[1] == 0


def test_two_machines_that_begin_at_once_share_nothing(bench: Workbench) -> None:
    """The place is made by exclusive mkdir: whoever comes second finds the first one's lock."""
    other = replace(bench, host=machine(FileSystem(), pid=2))
    first = opened(bench)
    with pytest.raises(InUse):
        opened(other)
    first.discard()
    opened(other).discard()
