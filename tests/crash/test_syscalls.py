"""What the kernel was really asked, in which order, by one real publish of a real process (T1)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TRACED = "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,linkat,unlink,unlinkat"
PUBLISH = """
import sys
import ckptdeck
with ckptdeck.publish(sys.argv[1], "step_7.pt") as stream:
    stream.write(b"x" * 300_000)
"""


def test_order_of_system_calls_of_a_publish(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace")
    run = tmp_path / "run"
    run.mkdir()
    subprocess.run([sys.executable, "-m", "ckptdeck", "init", str(run)], check=True, capture_output=True)
    log = tmp_path / "strace.log"
    command = [strace, "-f", "-y", "-o", str(log), "-e", f"trace={TRACED}", sys.executable, "-c", PUBLISH, str(run)]
    subprocess.run(command, check=True, capture_output=True)

    assert _steps(log.read_text(encoding="utf-8", errors="replace"), tmp_path) == [
        "create run/step_7.pt.part",
        "write run/step_7.pt.part",
        "fsync run/step_7.pt.part",
        "create .run.ckptdeck/manifest/TEMPORARY",
        "write .run.ckptdeck/manifest/TEMPORARY",
        "fsync .run.ckptdeck/manifest/TEMPORARY",
        "rename .run.ckptdeck/manifest/TEMPORARY to .run.ckptdeck/manifest/step_7.pt.json.next",
        "fsync .run.ckptdeck/manifest",
        "rename run/step_7.pt.part to run/step_7.pt",
        "fsync run",
        "rename .run.ckptdeck/manifest/step_7.pt.json.next to .run.ckptdeck/manifest/step_7.pt.json",
        "fsync .run.ckptdeck/manifest",
    ]


def _steps(log: str, top: Path) -> list[str]:
    """The successful calls on paths below `top` that change something, repeated writes once."""
    steps: list[str] = []
    for line in log.splitlines():
        step = _step(line, re.escape(str(top)))
        if step and (not steps or steps[-1] != step):
            steps.append(re.sub(r"/\.[^/ ]*\.new", "/TEMPORARY", step))
    return steps


def _step(line: str, top: str) -> str | None:
    if " = -1 " in line:
        return None
    if found := re.search(rf'openat\(.*"{top}/([^"]*)", ([A-Z_|]*)', line):
        return f"create {found[1]}" if "O_CREAT" in found[2] else None
    if found := re.search(rf"(?:pwrite64|write)\(\d+<{top}/([^>]*)>", line):
        return f"write {found[1]}"
    if found := re.search(rf"f(?:data)?sync\(\d+<{top}/([^>]*)>", line):
        return f"fsync {found[1]}"
    if found := re.search(rf'(?:rename\w*|linkat)\(.*"{top}/([^"]*)", .*"{top}/([^"]*)"', line):
        return f"rename {found[1]} to {found[2]}"
    return None
