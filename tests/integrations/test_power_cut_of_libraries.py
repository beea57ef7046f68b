"""The power is cut while real libraries save through us and the mirror copies what they saved.

Every cut is mounted and judged: what has its name holds every byte the library wrote, recovery comes to an end, and the
library loads what is there. The same judge convicts what the libraries save by themselves.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import xxhash

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.publish import Intent
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.states import Role, State
from ckptdeck.core.verify import verify_one
from tests.crash.faults import Call, FaultyFileSystem
from tests.crash.figures import count
from tests.crash.invariants import fingerprint
from tests.crash.power_cuts import PowerCuts
from tests.crash.sandbox import Sandbox, machine
from tests.crash.volumes import FILE_SYSTEMS, Bench, why_no_volumes
from tests.crash.workloads import Unfinished, carry_out, recover
from tests.integrations.extra import require_extra

require_extra()

from tests.integrations.libraries.contract import Library, library  # noqa: E402
from tests.integrations.values import Values  # noqa: E402

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
PAIR = "pair"
LARGEST_WRITE = 100_000
RECOVER_EVERY = 7
"""Every cut is judged as it is; recovery, copying and loading are tried after each seventh."""
Content = dict[str, str]
"""Path inside a checkpoint → digest of the file."""


@dataclass(frozen=True, slots=True)
class Judge:
    """What was promised when the power went."""

    saver: Library
    values: Values
    content: Content
    kept: frozenset[Role]
    """Sides on which somebody was told that it is safe."""
    thorough: bool = False

    def __call__(self, root: Path) -> list[str]:
        sandbox = Sandbox(root / PAIR)
        found = self._names(sandbox, self.kept)
        if self.thorough:
            found += self._recovered(sandbox)
        return found

    def _names(self, sandbox: Sandbox, kept: frozenset[Role]) -> list[str]:
        found = []
        for role in Role:
            names = {path.name for path in sandbox.root(role).iterdir()} - {".ckptdeck"}
            if names - {self.saver.checkpoint}:
                found.append(f"{role}: nobody may have made {sorted(names - {self.saver.checkpoint})}")
            if self.saver.checkpoint in names:
                now = content_of(sandbox.root(role) / self.saver.checkpoint)
                wrong = [path for path in self.content.keys() | now.keys() if now.get(path) != self.content.get(path)]
                found += [f"{role}: not as the library wrote it: {path}" for path in sorted(wrong)]
            elif role in kept:
                found.append(f"{role}: what was saved is gone")
        return found

    def _recovered(self, sandbox: Sandbox) -> list[str]:
        recover(FileSystem(), sandbox)
        settled = fingerprint(sandbox.base)
        recover(FileSystem(), sandbox)
        found = self._names(sandbox, self.kept)
        if fingerprint(sandbox.base) != settled:
            found.append("a second recover changed something")
        if (sandbox.root(Role.PRIMARY) / self.saver.checkpoint).is_dir():
            with contextlib.suppress(Unfinished):  # copied already
                carry_out(FileSystem(), sandbox, plan_mirror)
            found += self._names(sandbox, frozenset(Role))
            found += self._proven(sandbox)
        return [f"after recover: {violation}" for violation in found]

    def _proven(self, sandbox: Sandbox) -> Iterator[str]:
        for role in Role:
            target = find_set(FileSystem(), str(sandbox.root(role)), role)
            state = verify_one(machine(FileSystem()), target, self.saver.checkpoint).state
            if state is not State.VERIFIED:
                yield f"{role}: {state}"
            if list(Path(target.control_path("staging")).iterdir()):
                yield f"{role}: something is left where it was staged"
        if self.saver.load(sandbox.root(Role.MIRROR)) != self.values:
            yield "the library loads other values than it saved"


def content_of(root: Path) -> Content:
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): xxhash.xxh3_128_hexdigest(path.read_bytes()) for path in files}


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
@pytest.mark.parametrize("name", ["dcp", "hf_trainer", "orbax"])
def test_every_cut_leaves_what_the_library_wrote_or_nothing(bench: Bench, fs_type: str, name: str) -> None:
    reason = why_no_volumes(fs_type)
    if reason:
        pytest.skip(reason)
    saver = library(name)
    with bench.volume(fs_type) as volume:
        sandbox = Sandbox.fresh(volume.root / PAIR)
        volume.sync()
        cuts = PowerCuts(bench, volume)
        _save_and_mirror(saver, sandbox, cuts)
    judged, violations = cuts.judge_all()
    count("power cuts of real libraries' directories judged", judged)
    assert judged > 15
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("name", ["dcp", "hf_trainer", "orbax"])
def test_the_judge_convicts_what_the_library_saves_by_itself(
    bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut whenever it has synced a file, and when it has saved."""
    reason = why_no_volumes("ext4")
    if reason:
        pytest.skip(reason)
    saver = library(name)
    content: Content = {}
    fsync = os.fsync
    with bench.volume("ext4") as volume:
        sandbox = Sandbox.fresh(volume.root / PAIR)
        volume.sync()
        cuts = PowerCuts(bench, volume)

        def fsync_and_cut(fd: int) -> None:
            fsync(fd)
            cuts.cut("while it saved", Judge(saver, {}, content, frozenset()))

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync_and_cut)
            saver.save(sandbox.root(Role.PRIMARY))
        _sync_names(sandbox)
        content |= content_of(sandbox.root(Role.PRIMARY) / saver.checkpoint)
        cuts.cut("when it had saved", Judge(saver, {}, content, frozenset({Role.PRIMARY})))
    judged, violations = cuts.judge_all()
    count("power cuts of real libraries by themselves judged", judged)
    count("power cuts of real libraries by themselves: violations", len(violations))
    assert violations


def _save_and_mirror(saver: Library, sandbox: Sandbox, cuts: PowerCuts) -> None:
    assert saver.fill is not None
    content: Content = {}
    kept: set[Role] = set()
    values: Values = {}

    def after(call: Call) -> None:
        if call.changes:
            _sync_names(sandbox)
            thorough = cuts.asked % RECOVER_EVERY == 0
            cuts.cut(f"after {call}", Judge(saver, values, content, frozenset(kept), thorough))

    fs = FaultyFileSystem(after=after, largest_write=LARGEST_WRITE)
    primary = sandbox.found(fs, Role.PRIMARY)
    with publish_tree(machine(fs), primary, Intent(saver.checkpoint, readback=True)) as (path, _result):
        values |= saver.fill(Path(path))
        content |= content_of(Path(path))
        cuts.cut("when the library had saved", Judge(saver, values, content, frozenset(), thorough=True))
    kept.add(Role.PRIMARY)
    carry_out(fs, sandbox, plan_mirror)
    kept.add(Role.MIRROR)
    cuts.cut("when it was copied", Judge(saver, values, content, frozenset(kept), thorough=True))


def _sync_names(sandbox: Sandbox) -> None:
    """Whoever else syncs these directories brings every name to the disk before data that was not synced."""
    for role in Role:
        fd = os.open(sandbox.root(role), os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(fd)
        os.close(fd)
