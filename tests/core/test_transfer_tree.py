"""Copies of directories and groups: mirror, repair, replace, and what interrupts them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.errors import Refused, SourceChanged, UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Act, Outcome
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.progress import UNHURRIED, CancelToken, Effort, Progress
from ckptdeck.core.publish import Intent
from ckptdeck.core.states import Kind, Origin, Role, State, Verdict
from ckptdeck.core.transfer_tree import publish_copy
from ckptdeck.core.verify import verify_one
from tests.core.pairs import QUIET, adopt, do, left_in, mirror, put, put_names, repair, row, states, survey
from tests.core.units import HOSTILE, contents, fill, seen
from tests.core.workbench import Workbench

PRIMARY, MIRROR = Role.PRIMARY, Role.MIRROR
NAME = "step_500"
FILES: dict[str, bytes | str | None] = {
    "weights.dat": bytes(range(256)) * 9000,
    "sub/deep/x.dat": b"x1" * 3000,
    "to": "sub/deep/x.dat",
    "dir": "sub",
    "loop": "loop",
    "gone": "nowhere",
    "empty": None,
    "sub/hollow": None,
}
GROUP = {"model_810.pt": b"m1" * 90_000, "optim_810_rank0.pt": b"o1" * 5000, "meta_810.json": b'{"step": 810}'}
SAFE = (State.VERIFIED, State.VERIFIED, Verdict.SAFE)


@pytest.fixture
def copied(bench: Workbench) -> Workbench:
    """A directory and a group, whole on both sides."""
    put(bench, NAME, FILES)
    put_names(bench, GROUP)
    assert mirror(bench).exit_code == 0
    return bench


# --- whole


def test_a_copy_is_whole_recorded_and_proven_on_both_sides(copied: Workbench) -> None:
    assert contents(copied.mirror / NAME) == FILES
    assert {name: (copied.mirror / name).read_bytes() for name in GROUP} == GROUP
    assert copied.names(MIRROR) == {NAME, *GROUP}
    for name, kind in ((NAME, Kind.DIRECTORY), ("step_810", Kind.GROUP)):
        assert states(copied, name) == SAFE
        one, other = copied.record(name, PRIMARY), copied.record(name, MIRROR)
        assert (one.kind, one.digest, one.members) == (kind, other.digest, other.members)
        assert (one.origin, other.origin) == (Origin.ADOPTED, Origin.MIRRORED)
        assert one.step == other.step == (500 if name == NAME else 810)
    for place in ("staging", "quarantine"):
        assert left_in(copied, MIRROR, place) == []
    assert mirror(copied).results == ()


def test_names_inside_may_hold_any_byte(bench: Workbench) -> None:
    files: dict[str, bytes | str | None] = dict.fromkeys(HOSTILE, bytes(range(1, 60)))
    put(bench, NAME, {**files, f"{HOSTILE[0]}.d/{HOSTILE[1]}": b"yz", "link": HOSTILE[2]})
    assert mirror(bench).exit_code == 0
    assert contents(bench.mirror / NAME) == contents(bench.primary / NAME)
    assert states(bench, NAME) == SAFE


@pytest.mark.parametrize("name", [f"{'y' * 240}_7.ckpt", os.fsdecode(b"b\xff\n_[red]=7.ckpt")])
def test_its_own_name_may_hold_any_byte(bench: Workbench, name: str) -> None:
    put(bench, name, {"a.dat": bytes(range(50))})
    assert mirror(bench).exit_code == 0
    assert states(bench, name) == SAFE


def test_modes_and_times_of_files_are_kept(bench: Workbench) -> None:
    root = put(bench, NAME, {"secret": b"12", "fixed": b"34", "sub/x": b"56", "open/y": b"78", "hollow": None})
    for inside, mode in (("secret", 0o600), ("fixed", 0o444), ("sub", 0o555), ("open", 0o2775), ("hollow", 0o711)):
        os.chmod(root / inside, mode)
    os.chmod(root, 0o750)
    os.utime(root / "secret", ns=(QUIET_NS + 7, QUIET_NS + 7))
    assert mirror(bench).exit_code == 0
    copy = bench.mirror / NAME
    modes = {i: stat.S_IMODE((copy / i).stat().st_mode) for i in ("secret", "fixed", "sub", "open", "hollow", ".")}
    assert modes == {
        "secret": 0o600,
        "fixed": 0o444,
        "sub": 0o755,  # its owner must be able to take it apart again
        "open": 0o2775,
        "hollow": 0o711,
        ".": 0o750,
    }
    assert (copy / "secret").stat().st_mtime_ns == QUIET_NS + 7


QUIET_NS = int(QUIET) * 10**9


def test_a_deep_tree_and_many_shards(bench: Workbench) -> None:
    files: dict[str, bytes | str | None] = {f"{'d/' * 40}{rank}.dat": bytes([1, rank]) for rank in range(200)}
    put(bench, NAME, files)
    assert mirror(bench).exit_code == 0
    assert contents(bench.mirror / NAME) == files


def test_progress_counts_the_bytes_of_the_whole_checkpoint(bench: Workbench) -> None:
    heard: list[Progress] = []
    put(bench, NAME, FILES)
    mirror(bench, effort=Effort(report=heard.append))
    copying = [one for one in heard if one.phase == "copy"]
    total = sum(len(data) for data in FILES.values() if isinstance(data, bytes))
    assert {one.total for one in heard} == {total}
    assert [one.done for one in copying] == sorted(one.done for one in copying)
    assert copying[-1].done == total


# --- sources that are not to be had


def test_a_link_that_leads_out_is_copied_nowhere(bench: Workbench) -> None:
    put(bench, NAME, {**FILES, "out": "/etc/passwd"})
    result = mirror(bench)
    assert result.results == ()
    assert "outside of the checkpoint" in " ".join(item.reason for item in result.plan.items)
    assert bench.names(MIRROR) == set()


def test_a_pipe_inside_is_copied_nowhere(bench: Workbench) -> None:
    os.mkfifo(put(bench, NAME, FILES) / "pipe")
    assert mirror(bench).results == ()
    assert bench.names(MIRROR) == set()


@pytest.mark.parametrize("what", ["new file", "grown", "pipe", "link out"])
def test_what_changed_since_the_plan_is_skipped(bench: Workbench, what: str) -> None:
    root = put(bench, NAME, FILES)
    plan = plan_mirror(survey(bench))
    if what == "new file":
        (root / "late.dat").write_bytes(b"1")
    elif what == "grown":
        (root / "weights.dat").write_bytes(b"1")
    elif what == "pipe":
        os.mkfifo(root / "pipe")
    else:
        (root / "out").symlink_to("/etc")
    (outcome,) = do(bench, plan).results
    assert outcome.outcome is Outcome.SKIPPED
    assert "is not what the plan saw" in outcome.text
    assert bench.names(MIRROR) == set()
    assert left_in(bench, MIRROR, "staging") == []


class _Acting(FileSystem):
    """Acts once when a file in the primary is read for the `nth` time at its start."""

    def __init__(self, nth: int) -> None:
        self.left = nth
        self.root = "-"
        self.act: Callable[[], object] = lambda: None

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        count = super().read_into(fd, buffer, offset)
        if offset == 0 and self.root in os.readlink(f"/proc/self/fd/{fd}"):
            self.left -= 1
            if self.left == 0:
                self.act()
        return count


@pytest.mark.parametrize("what", ["new file", "removed", "rewritten"])
def test_a_source_that_does_not_hold_still_gets_no_copy(tmp_path: Path, what: str) -> None:
    fs = _Acting(nth=2)
    bench = Workbench.fresh(tmp_path, fs)
    root = put(bench, NAME, FILES)
    plan = plan_mirror(survey(bench))

    def act() -> None:
        if what == "new file":
            (root / "late.dat").write_bytes(b"1")
        elif what == "removed":
            (root / "weights.dat").unlink()
        else:
            (root / "sub" / "deep" / "x.dat").write_bytes(b"x2" * 3000)

    fs.root, fs.act, fs.left = str(root), act, 2
    (outcome,) = do(bench, plan).results
    assert outcome.outcome is not Outcome.DONE
    assert bench.names(MIRROR) == set()
    assert left_in(bench, MIRROR, "staging") == []
    assert bench.manifest(MIRROR).next_record(NAME) is None


def test_a_rotten_source_is_a_finding_and_no_copy(bench: Workbench) -> None:
    root = put(bench, NAME, FILES)
    assert adopt(bench).exit_code == 0
    for receipt in Path(bench.on(PRIMARY).control_path("receipts")).iterdir():
        receipt.unlink()
    data = bytearray((root / "weights.dat").read_bytes())
    data[77_777] ^= 1
    (root / "weights.dat").write_bytes(data)
    os.utime(root / "weights.dat", (QUIET, QUIET))
    (outcome,) = mirror(bench).results
    assert (outcome.outcome, outcome.finding) == (Outcome.FAILED, True)
    assert "weights.dat: the size fits and the content does not" in outcome.text
    assert bench.names(MIRROR) == set()
    assert row(bench, NAME).primary is not None
    assert states(bench, NAME)[0] is State.CORRUPT


# --- going on after an interruption


def _cancelled_at(bench: Workbench, share: float) -> None:
    token = CancelToken()

    def watch(progress: Progress) -> None:
        if progress.phase == "copy" and progress.done >= share * progress.total:
            token.cancel()

    result = mirror(bench, effort=Effort(report=watch, cancel=token))
    assert [one.outcome for one in result.results] == [Outcome.CANCELLED]


def test_a_cancelled_copy_goes_on_where_it_was(bench: Workbench) -> None:
    put(bench, NAME, FILES)
    _cancelled_at(bench, 0.5)
    assert left_in(bench, MIRROR, "staging") == [NAME]
    assert bench.names(MIRROR) == set()
    (flight,) = survey(bench).sides[1].inventory.in_flight
    assert (flight.target, flight.kind, flight.staged) == (NAME, Kind.DIRECTORY, True)
    result = mirror(bench)
    assert "goes on" in result.plan.items[0].reason
    assert states(bench, NAME) == SAFE
    assert contents(bench.mirror / NAME) == FILES


def test_a_leftover_that_is_of_another_checkpoint_is_begun_anew(bench: Workbench) -> None:
    put(bench, NAME, FILES)
    stale: dict[str, bytes | str | None] = {"weights.dat": b"other", "old.dat": b"1", "to": "elsewhere"}
    left = fill(Path(bench.on(MIRROR).control_path("staging", NAME, NAME)), stale, at=QUIET)
    os.mkfifo(left / "pipe")
    assert mirror(bench).exit_code == 0
    assert contents(bench.mirror / NAME) == FILES


def test_a_leftover_with_other_bytes_under_the_same_names_is_begun_anew(bench: Workbench) -> None:
    put(bench, NAME, FILES)
    fill(
        Path(bench.on(MIRROR).control_path("staging", NAME, NAME)),
        {"weights.dat": b"zz", "sub/deep/x.dat": b""},
        at=QUIET,
    )
    assert mirror(bench).exit_code == 0
    assert contents(bench.mirror / NAME) == FILES


class _ModesCount(FileSystem):
    """Files that only may be read cannot be opened for writing, as for anybody but root."""

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        if writes and os.path.exists(path) and not os.stat(path).st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return super().open(path, flags, mode)


def test_a_leftover_that_only_may_be_read_goes_on_too(tmp_path: Path) -> None:
    """What was copied already has the mode of its source."""
    bench = Workbench.fresh(tmp_path, _ModesCount())
    root = put(bench, NAME, FILES)
    os.chmod(root / "weights.dat", 0o444)
    os.chmod(root / "sub" / "deep" / "x.dat", 0o400)
    _cancelled_at(bench, 0.5)
    assert mirror(bench).exit_code == 0
    assert contents(bench.mirror / NAME) == FILES
    assert stat.S_IMODE((bench.mirror / NAME / "weights.dat").stat().st_mode) == 0o444


# --- one side is bad


@pytest.mark.parametrize("side", list(Role))
@pytest.mark.parametrize("what", ["short", "missing", "extra", "flipped"])
def test_a_bad_directory_is_repaired_from_the_other_side(copied: Workbench, side: Role, what: str) -> None:
    root = copied.directory(side) / NAME
    victim = root / "weights.dat"
    times = victim.stat()
    if what == "short":
        os.truncate(victim, 1000)
    elif what == "missing":
        victim.unlink()
    elif what == "extra":
        fill(root, {"extra.dat": b"12"})
        os.utime(root / "extra.dat", (QUIET, QUIET))
    else:
        victim.write_bytes(bytes(times.st_size))
    if what in ("short", "flipped"):
        os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
        verify_one(copied.host, copied.on(side), NAME)
    assert row(copied, NAME).verdict is Verdict.REPAIR
    (outcome,) = repair(copied).results
    assert outcome.outcome is Outcome.DONE
    assert states(copied, NAME) == SAFE
    assert contents(copied.directory(side) / NAME) == FILES
    (aside,) = left_in(copied, side, "quarantine")
    assert (Path(copied.on(side).control_path("quarantine")) / aside).is_dir()
    assert left_in(copied, side, "staging") == []


@pytest.mark.parametrize("side", list(Role))
@pytest.mark.parametrize("what", ["short", "missing", "extra"])
def test_a_bad_group_is_repaired_from_the_other_side(copied: Workbench, side: Role, what: str) -> None:
    victim = copied.directory(side) / "optim_810_rank0.pt"
    if what == "short":
        os.truncate(victim, 1000)
        os.utime(victim, (QUIET, QUIET))
    elif what == "missing":
        victim.unlink()
    else:
        put_names(copied, {"ema_810.pt": b"e1"}, side)
    assert row(copied, "step_810").verdict is Verdict.REPAIR
    (outcome,) = repair(copied, "step_810").results
    assert (outcome.outcome, states(copied, "step_810")) == (Outcome.DONE, SAFE)
    assert copied.names(side) == {NAME, *GROUP}
    (aside,) = left_in(copied, side, "quarantine")
    kept = {path.name for path in (Path(copied.on(side).control_path("quarantine")) / aside).iterdir()}
    expected = {"short": {*GROUP}, "missing": {*GROUP} - {"optim_810_rank0.pt"}, "extra": {*GROUP, "ema_810.pt"}}
    assert kept == expected[what]


def test_a_trainer_s_newer_save_is_recorded_anew_and_then_replaces_the_mirror_s(copied: Workbench) -> None:
    (copied.primary / NAME / "weights.dat").write_bytes(b"newer" * 100)
    os.utime(copied.primary / NAME / "weights.dat", (QUIET + 9, QUIET + 9))
    assert states(copied, NAME)[0] is State.CHANGED
    assert adopt(copied, NAME, replace=True).exit_code == 0
    assert row(copied, NAME).verdict is Verdict.DIVERGED
    (outcome,) = mirror(copied, NAME, replace=True).results
    assert outcome.outcome is Outcome.DONE
    assert states(copied, NAME) == SAFE
    assert (copied.mirror / NAME / "weights.dat").read_bytes() == b"newer" * 100
    assert len(left_in(copied, MIRROR, "quarantine")) == 1


@pytest.mark.parametrize("twin", ["file", "group"])
def test_kinds_that_differ_between_the_sides_are_left_alone(bench: Workbench, twin: str) -> None:
    put(bench, "step_810", FILES)
    if twin == "file":
        put_names(bench, {"step_810": b"f1" * 100}, MIRROR)
    else:
        put_names(bench, GROUP, MIRROR)
    for result in (adopt(bench), mirror(bench), repair(bench)):
        assert all(one.item.name != "step_810" or one.item.side is PRIMARY for one in result.results)
    assert contents(bench.primary / "step_810") == FILES
    assert (bench.mirror / "step_810").is_dir() is False


def test_twins_without_records_are_recorded_only_when_they_are_the_same(bench: Workbench) -> None:
    for side in Role:
        put(bench, NAME, FILES, side)
        put(bench, "step_600", {**FILES, "weights.dat": bytes([side is PRIMARY, 2]) * 50}, side)
    results = adopt(bench).results
    assert states(bench, NAME) == SAFE
    assert all("differs between the sides" in one.text for one in results if one.item.name == "step_600")
    assert bench.manifest(MIRROR).record("step_600") is None


# --- a group's places


@pytest.mark.parametrize("taken", list(GROUP))
def test_a_name_of_a_group_that_is_taken_stops_all_of_it(bench: Workbench, taken: str) -> None:
    put_names(bench, GROUP)
    plan = plan_mirror(survey(bench))
    put_names(bench, {taken: b"theirs"}, MIRROR)
    (outcome,) = do(bench, plan).results
    assert outcome.outcome is Outcome.SKIPPED
    assert bench.names(MIRROR) == {taken}
    assert (bench.mirror / taken).read_bytes() == b"theirs"
    assert left_in(bench, MIRROR, "staging") == []
    assert bench.manifest(MIRROR).next_record("step_810") is None


def test_the_marker_of_a_group_gets_its_name_last(tmp_path: Path) -> None:
    class Ordered(FileSystem):
        def __init__(self) -> None:
            self.named: list[str] = []

        def rename_no_replace(self, source: str, target: str) -> None:
            super().rename_no_replace(source, target)
            if os.path.basename(target).startswith("ckpt-7"):
                self.named.append(os.path.basename(target))

    fs = Ordered()
    bench = Workbench.fresh(tmp_path, fs)
    names = ("ckpt-7.index", "ckpt-7.data-00000-of-00002", "ckpt-7.data-00001-of-00002")
    put_names(bench, {name: bytes(range(1, 99)) for name in names})
    plan = plan_mirror(survey(bench))
    item = next((item for item in plan.items if item.name == "ckpt-7"), None)
    assert item is not None
    if item.act is not Act.COPY:  # what no probe believes is copied by a plan that was made by hand
        found = row(bench, "ckpt-7").primary
        assert found is not None
        assert found.sighting.identity is not None
        forced = replace(item, act=Act.COPY, stamps=found.sighting.identity.stamps, kind=Kind.GROUP, details={})
        plan = replace(plan, items=(forced,), refused=None)
    do(bench, plan)
    assert fs.named[-1] == "ckpt-7.index"
    assert len(fs.named) == 3


# --- publishing a finished directory


def copy_in(bench: Workbench, source: Path, name: str = NAME, *, replacing: bool = False) -> None:
    intent = Intent(name, step=500, replace=replacing, readback=True)
    publish_copy(bench.host, str(source), bench.on(PRIMARY), intent, UNHURRIED)


def test_a_finished_directory_is_published_as_it_is(bench: Workbench, tmp_path: Path) -> None:
    source = fill(tmp_path / "out", FILES, at=QUIET)
    os.chmod(source / "weights.dat", 0o440)
    copy_in(bench, source)
    assert contents(bench.primary / NAME) == FILES
    assert seen(bench.primary / NAME).mtime_ns == QUIET_NS
    assert stat.S_IMODE((bench.primary / NAME / "weights.dat").stat().st_mode) == 0o440
    assert states(bench, NAME)[0] is State.VERIFIED


def test_a_directory_of_the_set_can_be_published_again(bench: Workbench) -> None:
    put(bench, "tensorboard", {"a.dat": b"12"})
    copy_in(bench, bench.primary / "tensorboard")
    copy_in(bench, bench.primary / NAME, replacing=True)
    assert contents(bench.primary / NAME) == {"a.dat": b"12"}
    assert bench.names(PRIMARY) == {NAME, "tensorboard"}


@pytest.mark.parametrize("which", ["set", "above"])
def test_a_source_that_holds_the_set_itself_is_refused(bench: Workbench, which: str) -> None:
    put(bench, "step_1", {"a.dat": b"12"})
    source = bench.primary if which == "set" else bench.primary.parent
    with pytest.raises(UsageError, match="holds the set"):
        copy_in(bench, source)
    assert bench.names(PRIMARY) == {"step_1"}
    assert left_in(bench, PRIMARY, "staging") == []


def test_what_cannot_be_a_checkpoint_is_refused_before_a_byte_is_copied(bench: Workbench, tmp_path: Path) -> None:
    out = fill(tmp_path / "out", {**FILES, "out": "/etc"})
    with pytest.raises(Refused, match="leads out of it") as refused:
        copy_in(bench, out)
    assert str(out) in str(refused.value)
    with pytest.raises(UsageError, match="holds no file") as usage:
        copy_in(bench, fill(tmp_path / "hollow", {"sub": None}))
    assert str(tmp_path / "hollow") in str(usage.value)
    pipe = fill(tmp_path / "pipe", FILES)
    os.mkfifo(pipe / "pipe")
    with pytest.raises(SourceChanged, match="neither file, link nor directory"):
        copy_in(bench, pipe)
    assert bench.names(PRIMARY) == set()
    assert left_in(bench, PRIMARY, "staging") == []


def test_readback_can_be_left_out(bench: Workbench) -> None:
    put(bench, NAME, FILES)
    quick = replace(DEFAULT_POLICY, readback=False)
    result = do(bench, plan_mirror(survey(bench, quick)), policy=quick)
    assert result.exit_code == 0
    assert states(bench, NAME)[1] is State.SIZE_ONLY
