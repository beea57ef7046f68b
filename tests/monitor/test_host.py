"""The real machine as the core is told about it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckptdeck.monitor.host import SystemClock, process_start, this_host


def test_this_host_is_this_process_on_this_boot() -> None:
    host = this_host("ckptdeck mirror /a/")
    assert host.pid == os.getpid()
    assert host.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert host.name == os.uname().nodename
    assert host.command == "ckptdeck mirror /a/"


def test_the_command_is_a_line_that_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/ckptdeck", "mirror", "./my run"])
    assert this_host().command == "ckptdeck mirror './my run'"


def test_a_process_is_known_by_its_start() -> None:
    own = process_start(os.getpid())
    assert own is not None
    assert own == this_host().process_start
    assert own.isdigit()
    uptime_ticks = float(Path("/proc/uptime").read_text().split()[0]) * os.sysconf("SC_CLK_TCK")
    assert 0 < int(own) <= uptime_ticks


def test_a_name_with_blanks_and_brackets_does_not_shift_the_fields(tmp_path: Path) -> None:
    script = tmp_path / "a) b (c"
    script.symlink_to(sys.executable)
    with subprocess.Popen(
        [str(script), "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        started = process_start(process.pid)
        process.communicate(b"\n")
    own = process_start(os.getpid())
    assert started is not None
    assert own is not None
    assert int(started) >= int(own)


def test_a_process_that_is_gone_has_no_start() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert process_start(process.pid) is None


def test_the_clock_tells_wall_time_and_moves_forward() -> None:
    clock = SystemClock()
    assert abs(clock.now() - time.time()) < 5
    before = clock.monotonic()
    clock.sleep(0.001)
    assert clock.monotonic() > before
