"""Cases F and H of the checkpoint managers, and B8, B11, B19, B57, B58, B66, B75, B76, B79, B80 of the others."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
from pathlib import Path

import pytest

from ckptdeck.cli.progress_bar import ProgressBar
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import Refused
from ckptdeck.core.lock import set_lock
from ckptdeck.core.plans.plan import Outcome
from ckptdeck.core.progress import Progress
from ckptdeck.core.sighting import Writer
from ckptdeck.core.states import FlightState, State
from tests.cases.run import DAY, MIRROR, PRIMARY, Disk, Run, content_of, name_of
from tests.crash.faults import NAMING, WRITES, Call, FaultyFileSystem, Killed
from tests.monitor.test_engine import hung as hung
from tests.monitor.test_engine import (
    test_a_hung_mirror_leaves_the_primary_live as a_hung_mirror_leaves_the_primary_live,
)
from tests.monitor.test_engine import test_stop_does_not_wait_for_a_hung_mount as stop_does_not_wait_for_a_hung_mount

TEMPORARY = "30000.orbax-checkpoint-tmp-0"


def test_f1_a_temporary_directory_of_a_trainer_is_shown_and_left_while_it_may_live(run: Run) -> None:
    path = run.put_tree(TEMPORARY, {"default/d/0001": b"x" * 5000}, age=2 * DAY)
    (flight,) = run.look().primary.inventory.in_flight
    assert (flight.state, flight.target, flight.size) == (FlightState.STALE, "30000", 5000)
    assert flight.reason.startswith("no process has it open, quiet for 2d")
    status = (path / "default" / "d" / "0001").stat()
    run.writers = lambda files: {key: Writer(77, "python3") for key in files if key == (status.st_dev, status.st_ino)}
    (flight,) = run.look().primary.inventory.in_flight
    assert (flight.state, flight.reason) == (FlightState.LIVE, "written by python3 (pid 77)")
    assert [item.name for item in run.plan("quarantine").acting] == []
    run.writers = lambda _files: {}
    run.set_age(path / "default" / "d" / "0001", 10)
    assert [item.name for item in run.plan("quarantine").acting] == []
    run.clock.sleep(DAY)
    assert [item.name for item in run.plan("quarantine").acting] == [TEMPORARY]


def test_f3_the_second_of_two_mirrors_keeps_its_hands_off(run: Run) -> None:
    run.saved(810)
    part = run.mirror / f"{name_of(810)}.part"
    with part.open("w+b") as first:
        first.write(content_of(810)[:100])
        first.flush()
        fcntl.flock(first, fcntl.LOCK_EX)
        ran = run.ckptdeck("mirror", name_of(810), "--yes")
        assert ran.code == 4
        assert "being written" in ran.told or "has it open for writing" in ran.told
        assert part.read_bytes() == content_of(810)[:100]
    assert run.ckptdeck("mirror", "--yes").code == 0


def test_f3_a_lock_says_who_holds_it(run: Run) -> None:
    run.mirrored(100, 200, 300)
    with set_lock(run.host, *run.bench.pair.sets):
        ran = run.ckptdeck("prune", "--keep-last", "2", "--yes")
    assert ran.code == 5
    assert "locked by process 4242 on box" in ran.told
    assert run.steps() == [100, 200, 300]


# --- H: beside the trainer


def test_h3_a_source_that_goes_while_it_is_copied_leaves_nothing_and_claims_nothing(run: Run) -> None:
    run.save(810, content_of(810) * 12)
    run.clock.sleep(DAY)
    run.plan("mirror")

    def before(call: Call) -> None:
        if call.name == "pwrite" and call.paths[0].endswith(".pt.part"):
            (run.primary / name_of(810)).unlink(missing_ok=True)

    run.watched(before=before)
    (result,) = run.do("mirror").results
    assert (result.outcome, result.error_code) == (Outcome.FAILED, "source-changed")
    run.fs = Disk()
    assert run.names(MIRROR) == []
    assert run.bench.manifest(MIRROR).record(name_of(810)) is None


def test_h4_looking_verifying_and_planning_open_nothing_of_the_trainer_s_for_writing(run: Run) -> None:
    run.mirrored(800, 810)
    run.put("step_0820.pt.part", b"x" * 10, age=1)
    flags: list[int] = []

    class Watched(FaultyFileSystem):
        def open(self, path: str, how: int, mode: int = 0o666) -> int:
            if path.startswith(f"{run.primary}/"):
                flags.append(how & os.O_ACCMODE)
            return super().open(path, how, mode)

    fs = Watched(real=Disk())
    run.fs = fs
    for words in (("status",), ("verify",), ("resume",), ("prune", "--dry-run"), ("mirror", "--dry-run"), ("space",)):
        run.ckptdeck(*words)
    touched = [call for call in fs.log if any(path.startswith(f"{run.primary}/") for path in call.paths)]
    assert flags
    assert set(flags) == {os.O_RDONLY}
    assert not [c for c in touched if c.name in NAMING | WRITES | {"create", "unlink", "truncate", "try_lock"}]


# --- of files and copies


def test_b8_what_no_event_tells_of_is_seen_at_the_next_look(run: Run) -> None:
    run.mirrored(800)
    before = run.look()
    run.put(name_of(810), content_of(810), age=0)
    assert [row.step for row in run.look(before).steps] == [810, 800]


def test_b11_a_lock_file_that_was_replaced_is_noticed(run: Run) -> None:
    """flock follows the inode: held on an orphan it guards nothing."""
    path = run.control(PRIMARY, "lock")
    taken: list[int] = []

    class Replacing(Disk):
        def try_lock(self, fd: int) -> bool:
            taken.append(os.fstat(fd).st_ino)
            if len(taken) == 1:
                path.unlink()
                path.touch()
            return super().try_lock(fd)

    run.fs = Replacing()
    with set_lock(run.host, run.bench.on(PRIMARY)):
        assert len(taken) == 2
        assert taken[1] == path.stat().st_ino


def test_b19_a_long_copy_is_told_of_a_few_times_a_second(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar(Terminal(as_json=True, quiet=False), run.clock)
    for done in range(10_000):
        run.clock.sleep(0.001)
        bar(Progress("copy", name_of(810), "mirror", done << 20, 10_000 << 20))
    assert 10 <= len(capsys.readouterr().err.splitlines()) <= 10 * 10


def test_b57_nothing_is_held_open_between_two_pieces_of_work(run: Run) -> None:
    run.mirrored(800)
    held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd)]
    assert not [path for path in held if path.startswith(str(run.base))]
    run.clock.sleep(100 * DAY)
    run.save(810)
    assert run.state(name_of(810)) is State.VERIFIED


def _is_open(fd: str) -> bool:
    with contextlib.suppress(OSError):
        os.readlink(f"/proc/self/fd/{fd}")
        return True
    return False


def test_b58_a_lock_of_before_the_reboot_stops_nobody(run: Run) -> None:
    run.mirrored(100, 200, 300)
    owner = {"host": "box", "boot": "boot-0", "pid": 1, "started": "0"}
    run.control(PRIMARY, "lock").write_text(json.dumps(owner))
    assert run.ckptdeck("prune", "--keep-last", "2", "--yes").code == 0
    assert run.steps() == [200, 300]
    assert json.loads(run.control(PRIMARY, "lock").read_text().strip())["boot"] == "boot-1"


def test_b66_a_link_put_in_the_place_of_a_directory_that_is_deleted_leads_nowhere(run: Run, tmp_path: Path) -> None:
    for step in (100, 200):
        run.put_tree(f"checkpoint-{step}", {"model.bin": b"x" * 100, "deep/optimizer.bin": b"y" * 100})
        run.clock.sleep(60)
    outside = tmp_path / "precious"
    (outside / "deep").mkdir(parents=True)
    for path in ("model.bin", "deep/optimizer.bin", "optimizer.bin"):
        (outside / path).write_bytes(b"precious")
    run.put("notes", b"")

    class Swapping(Disk):
        def list_open_directory(self, fd: int) -> list:  # type: ignore[type-arg]
            entries = super().list_open_directory(fd)
            path = Path(os.readlink(f"/proc/self/fd/{fd}"))
            if "/quarantine/" in str(path) and (path / "deep").is_dir() and not (path / "deep").is_symlink():
                (path / "deep").rename(tmp_path / "moved")
                (path / "deep").symlink_to(outside)
            return entries

    run.do("quarantine", "checkpoint-100", side="primary")
    run.fs = Swapping()
    ran = run.ckptdeck("purge", "--yes")
    assert ran.code != 0
    assert sorted(p.relative_to(outside).as_posix() for p in outside.rglob("*") if p.is_file()) == [
        "deep/optimizer.bin",
        "model.bin",
        "optimizer.bin",
    ]


@pytest.mark.parametrize("named", [True, False])
def test_b75_b76_a_deletion_that_was_cut_is_decided_by_its_intent_and_not_by_what_is_absent(
    run: Run, named: bool
) -> None:
    run.mirrored(100, 200, 300)

    def before(call: Call) -> None:
        takes_name = call.name in NAMING and call.paths[0] == str(run.primary / name_of(100))
        unlinks = call.name == "unlink" and "/removing/" in call.paths[0]
        if takes_name if named else unlinks and not (run.primary / name_of(100)).exists():
            fs.die()

    fs = run.watched(before=before)
    with contextlib.suppress(Killed):
        run.do("prune", keep_last="2")
    run.fs = Disk()
    assert (run.primary / name_of(100)).exists() == named
    assert run.ckptdeck("recover", "--yes").code == 0
    assert (run.primary / name_of(100)).exists() == named
    assert (run.bench.manifest(PRIMARY).record(name_of(100)) is not None) == named
    for side in (PRIMARY, MIRROR):
        assert list(run.control(side, "removing").iterdir()) == []
    assert run.plan("recover").acting == ()


def test_b79_a_mount_that_hangs_stops_nothing_but_its_own_side(hung: object) -> None:
    a_hung_mirror_leaves_the_primary_live(hung)  # type: ignore[arg-type]


def test_b79_quitting_does_not_wait_for_it(hung: object) -> None:
    stop_does_not_wait_for_a_hung_mount(hung)  # type: ignore[arg-type]


def test_b80_where_no_rename_keeps_from_replacing_a_racing_publisher_s_file_is_safe(run: Run) -> None:
    theirs = b"saved by another rank"

    class Racing(Disk):
        def rename_no_replace(self, source: str, target: str) -> None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

        def link(self, source: str, target: str) -> None:
            if target == str(run.primary / name_of(810)):
                Path(target).write_bytes(theirs)
            super().link(source, target)

    run.fs = Racing()
    with pytest.raises(Refused, match="exists already"):
        run.save(810)
    assert (run.primary / name_of(810)).read_bytes() == theirs
    assert run.names() == [name_of(810)]
    assert stat.S_ISREG((run.primary / name_of(810)).lstat().st_mode)
