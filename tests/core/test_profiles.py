"""One behaviour on every file system: the promise holds, or a warning code or a clear refusal says what does not."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.checkpoint_set import find_pair
from ckptdeck.core.errors import CkptdeckError, InUse, NoSpace, VolumeSuspect
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.plans.plan import Outcome, PlanResult
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.publish import Intent, Published, publish
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import Condition, Evidence, Kind, Role, State, Verdict
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.core.verify import verify_one
from ckptdeck.core.volume import volume_of
from ckptdeck.monitor.core_calls import PLANNERS
from tests.core.profiles import (
    APFS,
    BLOBFUSE,
    DRVFS,
    FAT,
    LOCAL,
    NFS,
    ODD_SMB,
    PROFILES,
    RCLONE,
    SMB,
    PlayedFileSystem,
    Profile,
)
from tests.core.units import fill
from tests.core.workbench import Workbench
from tests.crash.faults import NAMING, Call, FaultyFileSystem, Killed
from tests.crash.sandbox import EPOCH, StillClock

PRIMARY, MIRROR = Role.PRIMARY, Role.MIRROR
DAY = 86_400.0
FILE, DIRECTORY, GROUP = "step_0810.pt", "checkpoint-810", "step_000810"
NAMES = {Kind.FILE: FILE, Kind.DIRECTORY: DIRECTORY, Kind.GROUP: GROUP}


@dataclass(frozen=True)
class Stage:
    """A pair of sets on one volume of a kind."""

    profile: Profile
    fs: PlayedFileSystem
    clock: StillClock
    bench: Workbench

    @property
    def host(self) -> Host:
        return self.bench.host

    def look(self, previous: Survey | None = None) -> Survey:
        return take_survey(self.host, self.bench.pair, DEFAULT_POLICY, previous)

    def do(self, action: str, *names: str, **options: str) -> PlanResult:
        """Look, plan, apply, as a command does."""
        plan = PLANNERS[action](self.look(), names, {key.replace("_", "-"): text for key, text in options.items()})
        assert plan.refused is None, plan.refused
        return apply(self.host, self.bench.pair, DEFAULT_POLICY, plan, confirmed_count=plan.count)

    def done(self, action: str, *names: str, **options: str) -> PlanResult:
        """The same, and all of it could be done."""
        result = self.do(action, *names, **options)
        assert result.results, [item.reason for item in result.plan.items]
        assert {one.outcome for one in result.results} == {Outcome.DONE}, [one.text for one in result.results]
        return result

    def later(self, seconds: float = DAY) -> None:
        self.clock.sleep(seconds)

    def save(self, kind: Kind = Kind.FILE, content: bytes = b"weights" * 999, *, step: int = 810) -> str:
        """A checkpoint of the run's, recorded, on the primary."""
        name = NAMES[kind].replace("810", f"{step:03d}")
        match kind:
            case Kind.FILE:
                self.publish(content, name=name, step=step)
            case Kind.DIRECTORY:
                self.publish_directory(content, name=name, step=step)
            case Kind.GROUP:
                for part in ("model", "optim"):
                    self.bench.put(PRIMARY, f"{part}_000{step}.pt", content + part.encode(), self.clock.now() - DAY)
                self.done("adopt", name)
        return name

    def publish(self, content: bytes, *, name: str = FILE, replace: bool = False, step: int = 810) -> Published:
        intent = Intent(name, step=step, replace=replace, readback=True)
        with publish(self.host, self.bench.on(PRIMARY), intent) as (stream, result):
            stream.write(content)
        return result

    def publish_directory(
        self, content: bytes, *, name: str = DIRECTORY, replace: bool = False, step: int = 810
    ) -> Published:
        intent = Intent(name, step=step, replace=replace, readback=True)
        with publish_tree(self.host, self.bench.on(PRIMARY), intent) as (path, result):
            fill(Path(path), tree_of(content), at=self.clock.now())
        return result

    def content(self, name: str, side: Role = PRIMARY) -> bytes | None:
        """What a checkpoint holds, as `save` was given it; None for nothing. Anything in between fails."""
        root = self.bench.directory(side)
        if name.startswith("checkpoint"):
            if not (root / name).is_dir():
                return None
            content = (root / name / "weights.bin").read_bytes()
            assert {p.name: p.read_bytes() for p in (root / name).iterdir() if p.is_file()} | {
                "deep/rng.bin": (root / name / "deep" / "rng.bin").read_bytes()
            } == tree_of(content)
            return content
        if name.startswith("step_000"):
            parts = [root / f"{part}_{name[5:]}.pt" for part in ("model", "optim")]
            there = [part.read_bytes() for part in parts if part.exists()]
            if not there:
                return None
            assert len(there) == 2
            assert there[0].removesuffix(b"model") == there[1].removesuffix(b"optim")
            return there[0].removesuffix(b"model")
        return (root / name).read_bytes() if (root / name).exists() else None

    def copy(self, name: str, side: Role) -> Checkpoint:
        found = self.look().side(side)
        assert found is not None
        copy = found.find(name)
        assert copy is not None
        return copy

    def state(self, name: str, side: Role = PRIMARY) -> State:
        return self.copy(name, side).state

    def prove(self, name: str, *sides: Role) -> None:
        """Reads it: where inode numbers are made of names, a publish cannot tell its file by its new name."""
        for side in sides or tuple(Role):
            if self.bench.manifest(side).record(name) is not None:
                assert verify_one(self.host, self.bench.on(side), name).state is State.VERIFIED


def tree_of(content: bytes) -> dict[str, bytes | str | None]:
    return {"weights.bin": content, "trainer_state.json": b'{"global_step": 810}', "deep/rng.bin": content[:7]}


def made(profile: Profile, base: Path) -> Stage:
    volume = base / "volume"
    volume.mkdir()
    clock = StillClock(EPOCH)
    fs = PlayedFileSystem(profile, volume, clock)
    host = Host(fs=fs, clock=clock, name="box", boot_id="boot-1", pid=1, process_start="start-1")
    bench = Workbench(host, volume / "ckpt", volume / "mirror")
    bench.primary.mkdir()
    bench.mirror.mkdir()
    initialise(host, str(bench.primary), str(bench.mirror), run_id="llama-ft-07")
    return Stage(profile, fs, clock, bench)


@pytest.fixture(params=PROFILES, ids=str)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return made(request.param, tmp_path)


def on(*profiles: Profile) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("stage", profiles, indirect=True, ids=str)


def name_codes(profile: Profile, *, directory: bool = False) -> set[str]:
    """What a new name is worth there."""
    codes = set()
    if profile.directory_fsync:
        codes.add("W1")
    elif profile.mount.startswith(("nfs", "cifs", "smb")):
        codes.add("W4")
    if profile.no_replace and (profile.link or directory):
        codes.add("W8")
    return codes


def codes(published: Published) -> set[str]:
    return {warning.code for warning in published.warnings}


kinds = pytest.mark.parametrize("kind", Kind)


def test_it_is_known_for_what_it_is_and_can_be_made_a_pair(stage: Stage) -> None:
    volume = volume_of(stage.fs, str(stage.bench.primary))
    local = stage.profile is LOCAL
    assert (volume.fs_class == "local", volume.optimistic) == (local, not local)
    assert [found.condition for found in stage.bench.pair.sets] == [Condition.OK, Condition.OK]
    initialise(stage.host, str(stage.bench.primary), str(stage.bench.mirror))
    assert find_pair(stage.fs, str(stage.bench.primary), None).mirror == stage.bench.pair.mirror


def test_a_file_is_published_and_replaced(stage: Stage) -> None:
    first = stage.publish(b"first" * 999)
    assert codes(first) == name_codes(stage.profile)
    assert first.record is not None
    second = stage.publish(b"second" * 999, replace=True)
    assert codes(second) == name_codes(stage.profile) - {"W8"}
    assert stage.content(FILE) == b"second" * 999
    assert stage.bench.names(PRIMARY) == {FILE}
    if stage.profile is RCLONE:
        assert second.receipt is None
        stage.prove(FILE, PRIMARY)
    assert stage.state(FILE) is State.VERIFIED
    evidence = stage.copy(FILE, PRIMARY).evidence
    assert evidence in (
        {Evidence.DEVICE, Evidence.CACHE} if stage.profile is LOCAL else {Evidence.SERVER, Evidence.CACHE}
    )


def test_a_directory_is_published_and_replaced(stage: Stage) -> None:
    first = stage.publish_directory(b"first" * 999)
    assert codes(first) == name_codes(stage.profile, directory=True)
    stage.later()
    second = stage.publish_directory(b"second" * 999, replace=True)
    assert codes(second) <= name_codes(stage.profile, directory=True)
    assert stage.content(DIRECTORY) == b"second" * 999
    assert stage.bench.names(PRIMARY) == {DIRECTORY}
    kept = stage.look().primary.inventory.quarantine
    assert [one.name for one in kept] == ([] if stage.profile is LOCAL else [DIRECTORY])
    stage.prove(DIRECTORY, PRIMARY)
    assert stage.state(DIRECTORY) is State.VERIFIED


@kinds
def test_a_copy_is_whole_proven_and_nothing_to_look_at_again(stage: Stage, kind: Kind) -> None:
    name = stage.save(kind)
    stage.later()
    result = stage.done("mirror", name)
    assert result.exit_code == 0
    assert stage.content(name, MIRROR) == stage.content(name, PRIMARY)
    if stage.profile is RCLONE:
        stage.prove(name)
    assert [stage.state(name, side) for side in Role] == [State.VERIFIED, State.VERIFIED]
    survey = stage.look()
    assert survey.steps[0].verdict is Verdict.SAFE
    stage.later()
    assert stage.look(survey).steps == survey.steps
    for side in Role:
        assert verify_one(stage.host, stage.bench.on(side), name).state is State.VERIFIED
    assert stage.do("mirror", name).results == ()


def test_a_rotten_copy_is_repaired_from_the_whole_one_and_kept_in_quarantine(stage: Stage) -> None:
    for kind in (Kind.FILE, Kind.DIRECTORY):
        name = stage.save(kind)
        stage.later()
        stage.done("mirror", name)
        stage.prove(name)
        path = stage.bench.mirror / name / ("weights.bin" if kind is Kind.DIRECTORY else "")
        before = path.stat()
        path.write_bytes(b"x" + path.read_bytes()[1:])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert verify_one(stage.host, stage.bench.on(MIRROR), name).state is State.CORRUPT
        stage.later()
        stage.done("repair", name)
        assert stage.content(name, MIRROR) == stage.content(name, PRIMARY)
        stage.prove(name)
    mirror = stage.look().mirror
    assert mirror is not None
    assert {one.name for one in mirror.inventory.quarantine} == {FILE, DIRECTORY}


@kinds
def test_what_is_set_aside_comes_back_as_it_was(stage: Stage, kind: Kind) -> None:
    name = stage.save(kind)
    stage.later()
    stage.done("mirror", name)
    stage.prove(name)
    stage.later()
    content = stage.content(name, MIRROR)
    stage.done("quarantine", name, side="mirror")
    assert stage.content(name, MIRROR) is None
    mirror = stage.look().mirror
    assert mirror is not None
    (entry,) = mirror.inventory.quarantine
    stage.done("restore", from_quarantine=entry.id)
    assert stage.content(name, MIRROR) == content
    stage.prove(name)
    assert stage.state(name, MIRROR) is State.VERIFIED


@kinds
def test_a_retention_takes_the_oldest_from_both_sides_and_nothing_else(stage: Stage, kind: Kind) -> None:
    names = []
    for step in (700, 800, 900):
        names.append(stage.save(kind, str(step).encode() * 999, step=step))
        stage.later()
    for name in names:
        stage.done("mirror", name)
        stage.prove(name)
        stage.later()
    stage.done("prune", keep_last="2")
    for side in Role:
        assert [stage.content(name, side) for name in names] == [None, b"800" * 999, b"900" * 999]
        assert os.listdir(stage.bench.on(side).control_path("removing")) == []
    assert stage.look().steps[0].verdict is Verdict.SAFE


# --- when servers are at their worst


@on(SMB, DRVFS)
def test_a_file_somebody_reads_is_not_replaced_and_the_new_one_waits_proven(stage: Stage) -> None:
    """G1, B11, B12: no delete-then-rename, no lost bytes."""
    stage.publish(b"first" * 999)
    reader = stage.fs.open(str(stage.bench.primary / FILE), os.O_RDONLY)
    with pytest.raises(CkptdeckError, match="Permission denied"):
        stage.publish(b"second" * 999, replace=True)
    assert stage.clock.now() - EPOCH < 6
    assert stage.content(FILE) == b"first" * 999
    assert (stage.bench.primary / f"{FILE}.part").read_bytes() == b"second" * 999
    stage.fs.close(reader)
    stage.later()
    stage.done("recover")
    assert stage.content(FILE) == b"second" * 999
    assert stage.state(FILE) is State.VERIFIED
    assert stage.bench.names(PRIMARY) == {FILE}


@on(SMB, DRVFS)
def test_a_save_that_fails_leaves_no_part_where_open_files_cannot_be_removed(stage: Stage) -> None:
    """B21."""

    def diverge() -> None:
        with publish(stage.host, stage.bench.on(PRIMARY), Intent(FILE)) as (stream, _):
            stream.write(b"first" * 999)
            raise ValueError("diverged")

    with pytest.raises(ValueError, match="diverged"):
        diverge()
    assert stage.bench.names(PRIMARY) == set()


@on(DRVFS)
@pytest.mark.parametrize("replacing", [False, True])
def test_a_directory_somebody_has_open_waits_and_recover_names_it(stage: Stage, replacing: bool) -> None:
    """B5: W9."""
    if replacing:
        stage.save(Kind.DIRECTORY, b"first" * 999)
        stage.later()
    readers = []

    def publish_while_it_is_read() -> None:
        intent = Intent(DIRECTORY, step=810, replace=replacing, readback=True)
        with publish_tree(stage.host, stage.bench.on(PRIMARY), intent) as (path, _):
            fill(Path(path), tree_of(b"second" * 999), at=stage.clock.now())
            readers.append(stage.fs.open(f"{path}/deep/rng.bin", os.O_RDONLY))

    with pytest.raises(CkptdeckError, match="Permission denied"):
        publish_while_it_is_read()
    assert stage.content(DIRECTORY) == (b"first" * 999 if replacing else None)
    stage.fs.close(readers.pop())
    stage.later()
    stage.done("recover")
    assert stage.content(DIRECTORY) == b"second" * 999
    assert stage.state(DIRECTORY) is State.VERIFIED


@on(NFS)
@pytest.mark.parametrize("lost", ["rename", "link", "unlink"])
def test_an_answer_that_is_lost_is_not_taken_for_a_failure(stage: Stage, lost: str) -> None:
    """R12: asked again, the server says that there is no source, or that there is a target."""
    stage.publish(b"first" * 999)
    stage.later()
    staged = stage.bench.primary / f"{FILE}.part"
    intent = Intent(FILE, step=810, replace=lost == "rename", readback=True)
    if lost != "rename":
        (stage.bench.primary / FILE).unlink()
    stage.fs.losing = {f"{lost} {FILE}.part" if lost == "unlink" else f"{lost} {FILE}"}
    with publish(stage.host, stage.bench.on(PRIMARY), intent) as (stream, result):
        stream.write(b"second" * 999)
    assert stage.fs.losing == set()
    assert "W10" in codes(result)
    assert stage.content(FILE) == b"second" * 999
    assert not staged.exists()
    assert stage.state(FILE) is State.VERIFIED


@on(NFS)
def test_an_answer_about_a_record_that_is_lost_costs_nothing(stage: Stage) -> None:
    """The next record has its name all the same; of the record the next look knows better than the server said."""
    stage.fs.losing = {f"rename {FILE}.json.next"}
    assert stage.publish(b"first" * 999).record is not None
    stage.fs.losing = {f"rename {FILE}.json"}
    assert "unrecorded" in codes(stage.publish(b"second" * 999, replace=True))
    assert stage.fs.losing == set()
    stage.prove(FILE, PRIMARY)
    assert stage.state(FILE) is State.VERIFIED


@on(NFS)
@kinds
def test_a_deletion_goes_on_while_somebody_reads_and_its_rest_goes_later(stage: Stage, kind: Kind) -> None:
    """R27: the client keeps what is open under a name of its own, so a directory is not empty yet."""
    for step in (800, 900):
        stage.save(kind, str(step).encode() * 999, step=step)
        stage.later()
    stage.done("mirror")
    stage.later()
    old = NAMES[kind].replace("810", "800")
    inside = {Kind.FILE: old, Kind.DIRECTORY: f"{old}/weights.bin", Kind.GROUP: "optim_000800.pt"}[kind]
    reader = stage.fs.open(str(stage.bench.mirror / inside), os.O_RDONLY)
    result = stage.done("prune", keep_last="1")
    assert [stage.content(old, side) for side in Role] == [None, None]
    told = " ".join(one.text for one in result.results)
    assert ("somebody still reads it" in told) == (kind is Kind.DIRECTORY)
    stage.do("recover")
    stage.fs.close(reader)
    stage.do("recover")
    assert os.listdir(stage.bench.on(MIRROR).control_path("removing")) == []


@on(NFS)
def test_what_is_purged_while_somebody_reads_it_is_purged_once_more(stage: Stage) -> None:
    name = stage.save(Kind.DIRECTORY)
    stage.later()
    stage.done("mirror")
    stage.done("quarantine", name, side="mirror")
    mirror = stage.look().mirror
    assert mirror is not None
    (entry,) = mirror.inventory.quarantine
    reader = stage.fs.open(stage.bench.on(MIRROR).control_path("quarantine", entry.id, "weights.bin"), os.O_RDONLY)
    assert "somebody still reads" in stage.done("purge").results[0].text
    stage.fs.close(reader)
    stage.done("purge")
    assert os.listdir(stage.bench.on(MIRROR).control_path("quarantine")) == []


@on(NFS)
@pytest.mark.parametrize("times", [1, 5])
def test_a_stale_handle_is_tried_once_more_and_then_the_side_is_unreadable(stage: Stage, times: int) -> None:
    """B56, R28."""
    stage.publish(b"first" * 999)
    stage.fs.stale = times
    survey = stage.look()
    assert (survey.primary.inventory.condition is Condition.OK) == (times == 1)
    stage.fs.stale = times
    with contextlib.nullcontext() if times == 1 else pytest.raises(CkptdeckError, match="ESTALE"):
        assert verify_one(stage.host, stage.bench.on(PRIMARY), FILE).state is State.VERIFIED
    stage.fs.stale = 0
    assert stage.state(FILE) is State.VERIFIED


@on(NFS, BLOBFUSE)
@pytest.mark.parametrize("code", [errno.EDQUOT, errno.EIO])
def test_a_close_that_fails_is_a_failed_write(stage: Stage, code: int) -> None:
    """B26, B28, R6."""
    stage.fs.close_says = {f"{FILE}.part": code}
    with pytest.raises(NoSpace if code == errno.EDQUOT else VolumeSuspect):
        stage.publish(b"first" * 999)
    assert stage.fs.close_says == {}
    assert stage.bench.names(PRIMARY) == set()
    assert stage.look().primary.inventory.orphan_next == ()
    for kind in (Kind.FILE, Kind.DIRECTORY):
        stage.save(kind)
    stage.later()
    for name, member in ((FILE, f"{FILE}.part"), (DIRECTORY, "weights.bin")):
        stage.fs.close_says = {member: code}
        result = stage.do("mirror", name)
        assert stage.fs.close_says == {}
        assert result.exit_code == (6 if code == errno.EDQUOT else 7)
        assert stage.bench.names(MIRROR) == set()


@on(BLOBFUSE, DRVFS)
def test_a_time_that_cannot_be_kept_is_told_and_one_that_is_lost_protects(stage: Stage) -> None:
    """W7, B48, B51, G6."""
    for step in (700, 800, 900):
        stage.save(step=step, content=str(step).encode() * 999)
        stage.later()
    for step in (700, 800, 900):
        stage.done("mirror", f"step_0{step}.pt")
        stage.later()
    stage.fs.timeless = {"step_0700.pt"}
    survey = stage.look()
    assert [row.step for row in survey.steps] == [900, 800, 700]
    for step in (800, 900):
        stage.prove(f"step_0{step}.pt")
    plan = PLANNERS["prune"](survey, (), {"keep-last": "2"})
    assert plan.acting == ()
    assert {item.guard for item in plan.items if item.step == 700} == {"unknown-time"}


@on(SMB, FAT, BLOBFUSE)
def test_other_inode_numbers_after_a_mount_change_nothing(stage: Stage) -> None:
    """B69, R32."""
    stage.save()
    stage.later()
    stage.done("mirror")
    survey = stage.look()
    stage.fs.remount()
    again = stage.look(survey)
    assert [(row.name, row.verdict) for row in again.steps] == [(FILE, Verdict.SAFE)]
    assert again.primary.inventory.in_flight == ()


@on(ODD_SMB, BLOBFUSE, NFS)
def test_a_part_is_taken_over_only_after_a_silence(stage: Stage) -> None:
    """W13: no lock tells there that its writer is gone."""
    with contextlib.suppress(Killed):
        with publish(killed(stage, lambda call: call.name == "fsync"), stage.bench.on(PRIMARY), Intent(FILE)) as (s, _):
            s.write(b"first" * 999)
    assert stage.bench.names(PRIMARY) == {f"{FILE}.part"}
    with pytest.raises(InUse, match="maybe from another host"):
        stage.publish(b"second" * 999)
    stage.later(301)
    stage.publish(b"second" * 999)
    assert stage.content(FILE) == b"second" * 999


# --- killed


def killed(stage: Stage, matches: Callable[[Call], bool]) -> Host:
    """A machine that dies before the first call of which `matches` says yes."""

    def before(call: Call) -> None:
        if matches(call):
            fs.die()

    fs = FaultyFileSystem(before=before, real=stage.fs)
    return Host(fs=fs, clock=stage.clock, name="box", boot_id="boot-1", pid=2, process_start="start-2")


def names_something(n: int) -> Callable[[Call], bool]:
    """Before the n-th call that gives something a name, or takes one away, in a set."""
    seen: Iterator[int] = iter(range(1000))
    return lambda call: call.name in NAMING | {"unlink"} and next(seen) == n


@on(SMB, DRVFS, NFS, BLOBFUSE, RCLONE, FAT)
@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("work", ["publish", "publish_directory", "mirror"])
def test_killed_anywhere_it_recovers_to_one_of_both(stage: Stage, work: str, at: int) -> None:
    name = DIRECTORY if work == "publish_directory" else FILE
    stage.save(Kind.DIRECTORY if work == "publish_directory" else Kind.FILE, b"first" * 999)
    stage.later()
    host = killed(stage, names_something(at))
    dying = Stage(stage.profile, stage.fs, stage.clock, Workbench(host, stage.bench.primary, stage.bench.mirror))
    with contextlib.suppress(Killed):
        match work:
            case "publish":
                dying.publish(b"second" * 999, replace=True)
            case "publish_directory":
                dying.publish_directory(b"second" * 999, replace=True)
            case "mirror":
                dying.do("mirror")
    stage.later()
    assert stage.content(name) in ({b"first" * 999, b"second" * 999} | ({None} if stage.profile.exchange else set()))
    for _ in range(2):
        stage.do("recover")
    assert stage.content(name) in {b"first" * 999, b"second" * 999}
    assert stage.content(name, MIRROR) in {None, b"first" * 999}
    assert stage.look().primary.inventory.removing == ()
    assert PLANNERS["recover"](stage.look(), (), {}).acting == ()
    stage.prove(name)
    if stage.content(name, MIRROR) is None:
        stage.done("mirror")
    assert stage.content(name, MIRROR) == (stage.content(name) if work != "mirror" else b"first" * 999)


# --- names


@on(SMB, DRVFS, FAT, APFS)
def test_names_that_are_one_there_are_refused_both(stage: Stage, tmp_path: Path) -> None:
    """B62, R31."""
    primary = tmp_path / "ckpt"
    primary.mkdir()
    twins = ("caf\u00e9_1.ckpt", "cafe\u0301_1.ckpt") if stage.profile is APFS else ("A_1.ckpt", "a_1.ckpt")
    bench = Workbench(stage.host, primary, stage.bench.mirror)
    initialise(stage.host, str(primary), str(bench.mirror), replace_primary=True)
    for name in (*twins, "other_2.ckpt"):
        bench.put(PRIMARY, name, name.encode() * 99, stage.clock.now() - DAY)
    there = Stage(stage.profile, stage.fs, stage.clock, bench)
    there.done("adopt")
    result = there.do("mirror", all="true")
    assert [one.item.name for one in result.results] == ["other_2.ckpt"]
    refused = {item.name: item for item in result.plan.items if item.guard == "name-clash"}
    assert set(refused) == set(twins)
    assert bench.names(MIRROR) == {"other_2.ckpt"}
    assert set(twins) <= bench.names(PRIMARY)


def test_a_volume_that_keeps_names_apart_keeps_both(tmp_path: Path) -> None:
    stage = made(LOCAL, tmp_path)
    for name in ("A_1.ckpt", "a_1.ckpt", "caf\u00e9_1.ckpt", "cafe\u0301_1.ckpt"):
        stage.publish(name.encode() * 99, name=name, step=1)
    stage.later()
    stage.done("mirror")
    assert len(stage.bench.names(MIRROR)) == 4
