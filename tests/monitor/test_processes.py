"""Who writes to a file: another process with it open for writing, and nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckptdeck.core.sighting import Writer
from ckptdeck.monitor.processes import find_writers

HOLD = "import os, sys; fd = os.open(sys.argv[1], int(sys.argv[2])); print(flush=True); sys.stdin.read()"


def _key(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


@pytest.mark.parametrize(
    ("flags", "writes"),
    [(os.O_WRONLY, True), (os.O_RDWR, True), (os.O_WRONLY | os.O_APPEND, True), (os.O_RDONLY, False)],
)
def test_a_process_with_it_open_for_writing_is_found(tmp_path: Path, flags: int, writes: bool) -> None:
    path, other = tmp_path / "step_1.pt", tmp_path / "step_2.pt"
    path.write_bytes(b"x")
    other.write_bytes(b"x")
    command = [sys.executable, "-c", HOLD, str(path), str(flags)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = find_writers(frozenset({_key(path), _key(other)}))
        process.communicate()
    name = Path(sys.executable).resolve().name[:15]
    assert found.keys() == ({_key(path)} if writes else set())
    if writes:
        assert found[_key(path)].pid == process.pid
        assert found[_key(path)].name.startswith(name[:6])


def test_our_own_process_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "step_1.pt"
    with path.open("wb"):
        assert find_writers(frozenset({_key(path)})) == {}


def test_nothing_asked_nothing_looked_at(tmp_path: Path) -> None:
    assert find_writers(frozenset(), proc=str(tmp_path / "nowhere")) == {}


def test_without_proc_nobody_is_seen(tmp_path: Path) -> None:
    assert find_writers(frozenset({(1, 2)}), proc=str(tmp_path / "nowhere")) == {}


def _pretend(proc: Path, pid: int, target: Path, flags: str, comm: bytes = b"trainer\n") -> None:
    (proc / str(pid) / "fd").mkdir(parents=True)
    (proc / str(pid) / "fdinfo").mkdir()
    (proc / str(pid) / "fd" / "3").symlink_to(target)
    (proc / str(pid) / "fdinfo" / "3").write_text(f"pos:\t0\nflags:\t{flags}\nmnt_id:\t1\n")
    (proc / str(pid) / "comm").write_bytes(comm)


def test_the_first_of_several_writers_is_named_and_a_vanished_one_is_no_error(tmp_path: Path) -> None:
    proc, path = tmp_path / "proc", tmp_path / "step_1.pt"
    path.write_bytes(b"x")
    _pretend(proc, 30, path, "0100001")
    _pretend(proc, 4, path, "0100002", b"bad\xffname\n")
    _pretend(proc, 3, path, "0100000")
    (proc / "2").mkdir()
    (proc / "self").mkdir()
    _pretend(proc, 1, tmp_path / "gone", "0100001")
    assert find_writers(frozenset({_key(path)}), proc=str(proc)) == {_key(path): Writer(4, "bad\udcffname")}


def test_a_script_is_named_with_what_it_runs(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import sys\nfile = open(sys.argv[1], 'wb')\nprint('open', flush=True)\nsys.stdin.read()\n")
    path = tmp_path / "step_1.pt"
    with subprocess.Popen(
        [sys.executable, str(script), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as trainer:
        assert trainer.stdout is not None
        trainer.stdout.readline()
        assert find_writers(frozenset({_key(path)}))[_key(path)].name.endswith(" train.py")
