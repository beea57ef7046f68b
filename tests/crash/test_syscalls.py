"""What the kernel was really asked, in which order, by real processes; and that no call goes past the seam (T1)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.crash.figures import count
from tests.crash.sandbox import Sandbox
from tests.crash.tree_workloads import CUT_TREE_WORKLOADS
from tests.crash.workloads import Workload

HERE = Path(__file__).parents[2]
TRACED = (
    "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,symlink,symlinkat,"
    "mkdir,mkdirat,rmdir"
)
PUBLISH = """
import sys
import ckptdeck
with ckptdeck.publish(sys.argv[1], "step_7.pt") as stream:
    stream.write(b"x" * 300_000)
"""
PUBLISH_DIRECTORY = """
import os
import sys
import ckptdeck
with ckptdeck.publish_directory(sys.argv[1], "checkpoint-7") as path:
    os.mkdir(os.path.join(path, "optim"))
    for name in ("trainer_state.json", "model.bin", "optim/shard.bin"):
        with open(os.path.join(path, name), "wb") as file:
            file.write(b"x" * 3000)
    os.symlink("model.bin", os.path.join(path, "weights"))
"""
COPIES_AND_RECOVERIES = [work for work in CUT_TREE_WORKLOADS if not work.name.startswith(("publish", "replace"))]
ACT = """
import json
import sys
from pathlib import Path
from tests.crash.faults import FaultyFileSystem
from tests.crash.sandbox import Sandbox
from tests.crash.tree_workloads import TREE_WORKLOADS
workload = next(workload for workload in TREE_WORKLOADS if workload.name == sys.argv[2])
fs = FaultyFileSystem()
workload.act(fs, Sandbox(Path(sys.argv[1])))
json.dump([[call.name, *call.paths] for call in fs.log if call.changes and call.error is None], sys.stdout)
"""


def test_order_of_system_calls_of_a_publish(tmp_path: Path) -> None:
    run = _initialised(tmp_path)

    steps, _ = _traced(tmp_path, PUBLISH, str(run))

    assert steps == [
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


def test_order_of_system_calls_of_a_directory_and_of_its_replacement(tmp_path: Path) -> None:
    run = _initialised(tmp_path)
    place, final = ".run.ckptdeck/staging/checkpoint-7", "run/checkpoint-7"
    staged = f"{place}/checkpoint-7"
    written = [
        f"mkdir {place}",
        f"mkdir {staged}",
        f"mkdir {staged}/optim",
        f"create {staged}/trainer_state.json",
        f"write {staged}/trainer_state.json",
        f"create {staged}/model.bin",
        f"write {staged}/model.bin",
        f"create {staged}/optim/shard.bin",
        f"write {staged}/optim/shard.bin",
        f"symlink {staged}/weights",
        f"fsync {staged}/model.bin",
        f"fsync {staged}/optim/shard.bin",
        f"fsync {staged}/trainer_state.json",
        f"fsync {staged}/optim",
        f"fsync {staged}",
        "create .run.ckptdeck/manifest/TEMPORARY",
        "write .run.ckptdeck/manifest/TEMPORARY",
        "fsync .run.ckptdeck/manifest/TEMPORARY",
        "rename .run.ckptdeck/manifest/TEMPORARY to .run.ckptdeck/manifest/checkpoint-7.json.next",
        "fsync .run.ckptdeck/manifest",
    ]
    durable_and_recorded = [
        "fsync .run.ckptdeck/staging",
        "fsync run",
        "rename .run.ckptdeck/manifest/checkpoint-7.json.next to .run.ckptdeck/manifest/checkpoint-7.json",
        "fsync .run.ckptdeck/manifest",
    ]
    taken_apart = [
        *(f"unlink {staged}/{name}" for name in ("trainer_state.json", "weights", "optim/shard.bin", "model.bin")),
        f"rmdir {staged}/optim",
        f"rmdir {staged}",
        f"rmdir {place}",
    ]

    first, _ = _traced(tmp_path, PUBLISH_DIRECTORY, str(run))
    second, _ = _traced(tmp_path, PUBLISH_DIRECTORY, str(run))

    assert first == [*written, f"rename {staged} to {final}", f"rmdir {place}", *durable_and_recorded]
    assert second == [*written, f"exchange {staged} and {final}", *durable_and_recorded, *taken_apart]


@pytest.mark.parametrize("workload", COPIES_AND_RECOVERIES, ids=str)
def test_no_call_of_a_tree_goes_past_the_seam(workload: Workload, tmp_path: Path) -> None:
    """One run of each piece of work: what the seam was asked is what the kernel was asked, in the same order."""
    sandbox = Sandbox.fresh(tmp_path / "pair")
    workload.prepare(sandbox)

    steps, told = _traced(tmp_path, ACT, str(sandbox.base), workload.name)

    asked = (_as_step(name, [os.path.relpath(path, tmp_path) for path in paths]) for name, *paths in json.loads(told))
    assert steps == _once(step for step in asked if step)
    count("system calls of trees compared with the seam", len(steps))


def _initialised(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    run.mkdir()
    subprocess.run([sys.executable, "-m", "ckptdeck", "init", str(run)], check=True, capture_output=True)
    return run


def _traced(tmp_path: Path, script: str, *arguments: str) -> tuple[list[str], str]:
    """What a process that runs `script` asks the kernel below `tmp_path`, and what it printed."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace")
    log = tmp_path / "strace.log"
    command = [strace, "-f", "-y", "-o", str(log), "-e", f"trace={TRACED}", sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE)
    return _steps(log.read_text(encoding="utf-8", errors="replace"), tmp_path), done.stdout


def _as_step(name: str, paths: list[str]) -> str | None:
    """A call through the seam in the words of a traced one; None for those that are not traced."""
    match name:
        case "create" | "fsync" | "unlink" | "symlink":
            return f"{name} {paths[0]}"
        case "write" | "pwrite":
            return f"write {paths[0]}"
        case "make_directory":
            return f"mkdir {paths[0]}"
        case "remove_directory":
            return f"rmdir {paths[0]}"
        case "rename" | "rename_no_replace" | "link":
            return f"rename {paths[0]} to {paths[1]}"
        case "exchange":
            return f"exchange {paths[0]} and {paths[1]}"
    return None


def _steps(log: str, top: Path) -> list[str]:
    """The successful calls on paths below `top` that change something."""
    steps = (_step(line, re.escape(str(top))) for line in log.splitlines())
    return _once(step for step in steps if step)


def _once(steps: Iterable[str]) -> list[str]:
    """Repeated writes once, and names that say nothing under one name."""
    kept: list[str] = []
    for step in steps:
        shown = re.sub(r"/\.[^/ ]*\.new", "/TEMPORARY", step)
        if not kept or kept[-1] != shown:
            kept.append(shown)
    return kept


def _step(line: str, top: str) -> str | None:
    if " = -1 " in line:
        return None
    if found := re.search(rf'openat\(.*"{top}/([^"]*)", ([A-Z_|]*)', line):
        return f"create {found[1]}" if "O_CREAT" in found[2] else None
    if found := re.search(rf"(?:pwrite64|write)\(\d+<{top}/([^>]*)>", line):
        return f"write {found[1]}"
    if found := re.search(rf"f(?:data)?sync\(\d+<{top}/([^>]*)>", line):
        return f"fsync {found[1]}"
    if found := re.search(rf'\b(?:rename\w*|link|linkat)\(.*"{top}/([^"]*)", .*"{top}/([^"]*)"(.*)', line):
        return (
            f"exchange {found[1]} and {found[2]}"
            if "RENAME_EXCHANGE" in found[3]
            else f"rename {found[1]} to {found[2]}"
        )
    if found := re.search(rf'unlinkat\(\d+<{top}/([^>]*)>, "([^"]*)"(.*)', line):
        return f"{'rmdir' if 'AT_REMOVEDIR' in found[3] else 'unlink'} {found[1]}/{found[2]}"
    if found := re.search(rf'(unlink|symlink|mkdir|rmdir)(?:at)?\(.*"{top}/([^"]*)"(.*)', line):
        return f"{'rmdir' if 'AT_REMOVEDIR' in found[3] else found[1]} {found[2]}"
    return None
