"""Adopt, copy, repair and recover, executed: what each leaves on both sides, and what it refuses in the act."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.errors import Cancelled, NoSpace, Refused, VolumeSuspect
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.lock import set_lock
from ckptdeck.core.naming import part_name
from ckptdeck.core.part import open_part
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Act, Outcome, Plan, PlanItem, PlanResult, Refusal
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.progress import CancelToken, Effort, Progress
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.sighting import Identity
from ckptdeck.core.states import Evidence, Origin, Role, State, Verdict
from ckptdeck.core.survey import take_survey
from ckptdeck.core.unit import member_of
from ckptdeck.core.volume import volume_of
from tests.core.pairs import do, survey
from tests.core.workbench import Workbench, digest_of

DATA = os.urandom(3_000_000)
PRIMARY, MIRROR = Role.PRIMARY, Role.MIRROR


def run(bench: Workbench, *items: PlanItem, action: str = "mirror", policy: Policy = DEFAULT_POLICY) -> PlanResult:
    return apply(bench.host, bench.pair, policy, Plan(action, items))


def copy_item(bench: Workbench, name: str) -> PlanItem:
    return bench.item(Act.COPY, name, MIRROR, source=PRIMARY)


def repair_item(bench: Workbench, name: str) -> PlanItem:
    status = (bench.mirror / name).lstat()
    item = bench.item(Act.REPAIR, name, MIRROR, source=PRIMARY)
    return replace(item, target=Identity((member_of("", status),)).stamps, target_inode=status.st_ino)


def test_a_copy_is_whole_recorded_and_proven_on_both_sides(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    os.chmod(bench.primary / "step_1.pt", 0o640)
    result = run(bench, copy_item(bench, "step_1.pt"))
    assert result.exit_code == 0
    copied = bench.mirror / "step_1.pt"
    assert copied.read_bytes() == DATA
    assert copied.stat().st_mtime_ns == (bench.primary / "step_1.pt").stat().st_mtime_ns
    assert copied.stat().st_mode & 0o777 == 0o640
    assert bench.names(MIRROR) == {"step_1.pt"}
    record = bench.record("step_1.pt", MIRROR)
    assert (record.digest, record.origin) == (digest_of(DATA), Origin.MIRRORED)
    for side in Role:
        receipt = bench.manifest(side).receipt("step_1.pt")
        assert receipt is not None
        assert receipt.good
        assert receipt.evidence in (Evidence.DEVICE, Evidence.CACHE)


def test_copying_a_candidate_records_both_sides_from_one_read(bench: Workbench) -> None:
    bench.put(PRIMARY, "step_1.pt", DATA)
    assert run(bench, copy_item(bench, "step_1.pt")).exit_code == 0
    assert bench.record("step_1.pt").origin is Origin.ADOPTED
    assert bench.record("step_1.pt", MIRROR).digest == bench.record("step_1.pt").digest


def test_a_rotten_source_is_a_finding_and_nothing_is_copied(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    flip(bench.primary / "step_1.pt")
    result = run(bench, copy_item(bench, "step_1.pt"))
    assert result.exit_code == 3
    assert result.results[0].error_code == "rotten-source"
    assert result.results[0].finding
    assert bench.names(MIRROR) == set()
    receipt = bench.manifest().receipt("step_1.pt")
    assert receipt is not None
    assert not receipt.good


def test_a_source_that_changed_since_the_plan_is_skipped(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    item = copy_item(bench, "step_1.pt")
    bench.publish("step_1.pt", DATA[::-1], replace=True)
    result = run(bench, item)
    assert result.results[0].outcome is Outcome.SKIPPED
    assert result.exit_code == 4
    assert bench.names(MIRROR) == set()


def test_a_source_that_grows_while_it_is_read_leaves_nothing(tmp_path: Path) -> None:
    class Growing(FileSystem):
        path: Path | None = None

        def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
            if self.path is not None and offset > 1_000_000:
                with self.path.open("ab") as file:
                    file.write(b"more")
                self.path = None
            return super().read_into(fd, buffer, offset)

    fs = Growing()
    bench = Workbench.fresh(tmp_path, fs)
    bench.publish("step_1.pt", DATA)
    item = copy_item(bench, "step_1.pt")
    fs.path = bench.primary / "step_1.pt"
    result = run(bench, item)
    assert result.results[0].error_code == "source-changed"
    assert bench.names(MIRROR) == set()


def test_a_source_held_open_for_writing_is_skipped(bench: Workbench) -> None:
    bench.put(PRIMARY, "step_1.pt", DATA)
    with (bench.primary / "step_1.pt").open("r+b"):
        result = run(bench, copy_item(bench, "step_1.pt"))
    assert result.results[0].error_code == "refused"
    assert "open for writing" in result.results[0].text
    assert bench.names(MIRROR) == set()


def test_a_name_that_appeared_on_the_mirror_is_not_touched(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    item = copy_item(bench, "step_1.pt")
    bench.put(MIRROR, "step_1.pt", b"somebody else's")
    assert run(bench, item).results[0].outcome is Outcome.SKIPPED
    assert (bench.mirror / "step_1.pt").read_bytes() == b"somebody else's"


def test_a_cancelled_copy_keeps_its_part_and_the_next_run_continues_it(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    token = CancelToken()

    def stop_half_way(progress: Progress) -> None:
        if progress.phase == "copy" and progress.done >= len(DATA) // 2:
            token.cancel()

    plan = Plan("mirror", (copy_item(bench, "step_1.pt"),))
    effort = Effort(report=stop_half_way, cancel=token)
    result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan, effort)
    assert result.exit_code == Cancelled.exit_code
    assert bench.names(MIRROR) == {part_name("step_1.pt")}
    left = (bench.mirror / part_name("step_1.pt")).stat()
    copied: list[int] = []
    again = Effort(report=lambda p: copied.append(p.done) if p.phase == "copy" else None)
    assert apply(bench.host, bench.pair, DEFAULT_POLICY, plan, again).exit_code == 0
    assert copied[0] > left.st_size
    assert (bench.mirror / "step_1.pt").read_bytes() == DATA
    assert (bench.mirror / "step_1.pt").stat().st_ino == left.st_ino


def test_a_leftover_part_with_other_bytes_is_begun_anew(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    bench.put(MIRROR, part_name("step_1.pt"), DATA[:1_000_000] + b"other")
    assert run(bench, copy_item(bench, "step_1.pt")).exit_code == 0
    assert (bench.mirror / "step_1.pt").read_bytes() == DATA


def test_what_does_not_fit_is_not_begun(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    result = run(bench, copy_item(bench, "step_1.pt"), policy=replace(DEFAULT_POLICY, reserve_fraction=0.999999))
    assert result.exit_code == NoSpace.exit_code
    assert bench.names(MIRROR) == set()


def test_a_failing_volume_stops_its_side_and_says_so(tmp_path: Path) -> None:
    class Broken(FileSystem):
        broken = False

        def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
            if self.broken:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().pwrite(fd, data, offset)

    fs = Broken()
    bench = Workbench.fresh(tmp_path, fs)
    bench.publish("step_1.pt", DATA)
    bench.publish("step_2.pt", DATA)
    items = copy_item(bench, "step_2.pt"), copy_item(bench, "step_1.pt")
    fs.broken = True
    result = run(bench, *items)
    assert result.exit_code == VolumeSuspect.exit_code
    assert [r.outcome for r in result.results] == [Outcome.FAILED, Outcome.SKIPPED]
    assert bench.names(MIRROR) == set()


def test_a_busy_target_is_tried_again(tmp_path: Path) -> None:
    class Busy(FileSystem):
        times = 0

        def rename_no_replace(self, source: str, target: str) -> None:
            if self.times > 0:
                self.times -= 1
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
            super().rename_no_replace(source, target)

    fs = Busy()
    bench = Workbench.fresh(tmp_path, fs)
    bench.publish("step_1.pt", DATA)
    fs.times = 2
    assert run(bench, copy_item(bench, "step_1.pt")).exit_code == 0
    assert bench.names(MIRROR) == {"step_1.pt"}


def test_a_repair_proves_the_new_copy_before_the_bad_one_goes(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    run(bench, copy_item(bench, "step_1.pt"))
    with (bench.mirror / "step_1.pt").open("r+b") as file:
        file.truncate(len(DATA) * 73 // 100)
    result = run(bench, repair_item(bench, "step_1.pt"), action="repair")
    assert result.exit_code == 0
    assert (bench.mirror / "step_1.pt").read_bytes() == DATA
    quarantine = bench.mirror / ".ckptdeck" / "quarantine"
    aside = [path for path in quarantine.iterdir() if path.suffix != ".json"]
    assert [path.stat().st_size for path in aside] == [len(DATA) * 73 // 100]
    assert bench.manifest(MIRROR).next_record("step_1.pt") is None


def test_a_repair_leaves_a_pinned_or_changed_copy_alone(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    bad = bench.put(MIRROR, "step_1.pt", b"bad")
    item = repair_item(bench, "step_1.pt")
    bench.manifest(PRIMARY).write_pin("step_1.pt", "")
    assert run(bench, item, action="repair").results[0].text.endswith("`ckptdeck unpin step_1.pt`.")
    bench.manifest(PRIMARY).drop_pin("step_1.pt")
    bad.write_bytes(b"something new")
    assert "not what the plan saw" in run(bench, item, action="repair").results[0].text
    assert bad.read_bytes() == b"something new"


def test_a_held_lock_skips_the_replacement_and_names_the_owner(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    bench.put(MIRROR, "step_1.pt", b"bad")
    item = repair_item(bench, "step_1.pt")
    with set_lock(bench.host, bench.on(PRIMARY)):
        result = run(bench, item, action="repair")
    assert result.exit_code == 5
    assert f"process {bench.host.pid}" in result.results[0].text
    assert (bench.mirror / "step_1.pt").read_bytes() == b"bad"


def test_adopting_records_what_is_there(bench: Workbench) -> None:
    bench.put(PRIMARY, "step_1.pt", DATA)
    before = (bench.primary / "step_1.pt").stat()
    assert run(bench, bench.item(Act.RECORD, "step_1.pt", PRIMARY), action="adopt").exit_code == 0
    assert bench.record("step_1.pt").digest == digest_of(DATA)
    after = (bench.primary / "step_1.pt").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def test_twins_that_differ_are_recorded_on_neither_side(bench: Workbench) -> None:
    bench.put(PRIMARY, "step_1.pt", b"one")
    bench.put(MIRROR, "step_1.pt", b"two")
    items = [bench.item(Act.RECORD, "step_1.pt", side, twin=side.other.value) for side in Role]
    result = run(bench, *items, action="adopt")
    assert [r.error_code for r in result.results] == ["rotten-source"] * 2
    assert bench.manifest(PRIMARY).record("step_1.pt") is None
    assert bench.manifest(MIRROR).record("step_1.pt") is None


def test_twins_that_agree_are_recorded_on_both(bench: Workbench) -> None:
    for side in Role:
        bench.put(side, "step_1.pt", DATA)
    items = [bench.item(Act.RECORD, "step_1.pt", side, twin=side.other.value) for side in Role]
    assert run(bench, *items, action="adopt").exit_code == 0
    assert bench.record("step_1.pt").digest == bench.record("step_1.pt", MIRROR).digest


def test_a_twin_that_the_other_sides_record_refutes_is_not_recorded(bench: Workbench) -> None:
    bench.put(MIRROR, "step_1.pt", b"rotten")
    item = bench.item(Act.RECORD, "step_1.pt", MIRROR, expect=digest_of(b"good"))
    assert run(bench, item, action="adopt").results[0].error_code == "rotten-source"
    assert bench.manifest(MIRROR).record("step_1.pt") is None


def crashed_before_rename(bench: Workbench, data: bytes) -> PlanItem:
    """What a kill between the durable announcement and the rename leaves, and the plan's item about it."""
    bench.publish("step_1.pt", data)
    control = bench.on(PRIMARY).control_path("manifest")
    os.rename(f"{control}/step_1.pt.json", f"{control}/step_1.pt.json.next")
    os.rename(bench.primary / "step_1.pt", bench.primary / part_name("step_1.pt"))
    item = bench.item(Act.FINISH, part_name("step_1.pt"), PRIMARY, mode="roll-forward", part=part_name("step_1.pt"))
    return replace(item, name="step_1.pt")


def test_recover_gives_a_whole_part_its_name(bench: Workbench) -> None:
    item = crashed_before_rename(bench, DATA)
    assert run(bench, item, action="recover").exit_code == 0
    assert (bench.primary / "step_1.pt").read_bytes() == DATA
    assert bench.names(PRIMARY) == {"step_1.pt"}
    receipt = bench.manifest().receipt("step_1.pt")
    assert receipt is not None
    assert receipt.good


def test_recover_does_not_name_a_part_whose_bytes_are_not_the_announced_ones(bench: Workbench) -> None:
    item = crashed_before_rename(bench, DATA)
    part = bench.primary / part_name("step_1.pt")
    times = part.stat()
    with part.open("r+b") as file:
        file.write(bytes([DATA[0] ^ 1]))
    os.utime(part, ns=(times.st_atime_ns, times.st_mtime_ns))
    status = part.stat()
    item = replace(item, stamps=Identity((member_of("", status),)).stamps)
    assert run(bench, item, action="recover").results[0].outcome is Outcome.SKIPPED
    assert bench.names(PRIMARY) == {part_name("step_1.pt")}


def test_recover_sets_a_part_aside_whose_name_was_taken(bench: Workbench) -> None:
    item = crashed_before_rename(bench, DATA)
    bench.put(PRIMARY, "step_1.pt", b"a restarted trainer's own")
    assert run(bench, item, action="recover").exit_code == 0
    assert (bench.primary / "step_1.pt").read_bytes() == b"a restarted trainer's own"
    assert bench.names(PRIMARY) == {"step_1.pt"}
    assert bench.manifest().next_record("step_1.pt") is None


def test_recover_touches_no_part_with_a_living_writer(bench: Workbench) -> None:
    volume = volume_of(bench.host.fs, str(bench.primary))
    living = open_part(bench.host, str(bench.primary), "step_1.pt", volume, minimum_age=300)
    living.write(b"in flight")
    item = bench.item(Act.DISCARD, part_name("step_1.pt"), PRIMARY, mode="part", part=part_name("step_1.pt"))
    result = run(bench, replace(item, name="step_1.pt"), action="recover")
    assert result.results[0].error_code == "in-use"
    assert (bench.primary / part_name("step_1.pt")).exists()
    living.discard()


def test_recover_finishes_a_record_whose_rename_had_happened(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    control = bench.on(PRIMARY).control_path("manifest")
    os.rename(f"{control}/step_1.pt.json", f"{control}/step_1.pt.json.next")
    item = bench.item(Act.FINISH, "step_1.pt", PRIMARY, mode="finish-record")
    assert run(bench, item, action="recover").exit_code == 0
    assert bench.record("step_1.pt").digest == digest_of(DATA)
    assert bench.manifest().next_record("step_1.pt") is None


def test_recover_records_what_broke_between_its_rename_and_its_record(bench: Workbench) -> None:
    """Only the announcement can tell that it is broken, so it becomes the record; the second run finds nothing."""
    bench.publish("step_1.pt", DATA)
    control = bench.on(PRIMARY).control_path("manifest")
    os.rename(f"{control}/step_1.pt.json", f"{control}/step_1.pt.json.next")
    flip(bench.primary / "step_1.pt")
    assert do(bench, plan_recover(survey(bench))).exit_code == 0
    copy = survey(bench).primary.find("step_1.pt")
    assert copy is not None
    assert copy.state is State.CORRUPT
    assert bench.record("step_1.pt").digest == digest_of(DATA)
    assert plan_recover(survey(bench)).acting == ()


def test_recover_withdraws_an_announcement_that_nothing_fits(bench: Workbench) -> None:
    """What has the name has neither the old bytes nor the new ones, and not their time."""
    bench.publish("step_1.pt", DATA)
    control = Path(bench.on(PRIMARY).control_path("manifest"))
    following = replace(bench.record("step_1.pt"), digest="7" * 32, mtime_ns=10**18)
    bench.manifest().write_next_record(following)
    flip(bench.primary / "step_1.pt")
    assert do(bench, plan_recover(survey(bench))).exit_code == 0
    assert os.listdir(control) == ["step_1.pt.json"]
    assert plan_recover(survey(bench)).acting == ()


def flip(path: Path) -> None:
    """One bit of it, as a rotting disk does."""
    times = path.stat()
    data = bytearray(path.read_bytes())
    data[1_500_000] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_recover_sweeps_temporary_files_of_our_own(bench: Workbench) -> None:
    left = Path(bench.on(PRIMARY).control_path("manifest", ".7-0.new"))
    left.write_bytes(b"half a record")
    bench.put(PRIMARY, "step_1.pt.part", b"x")
    item = bench.item(Act.DISCARD, part_name("step_1.pt"), PRIMARY, mode="part", part=part_name("step_1.pt"))
    assert run(bench, replace(item, name="step_1.pt"), action="recover").exit_code == 0
    assert not left.exists()
    assert bench.names(PRIMARY) == set()


def test_a_refused_plan_does_nothing(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    plan = Plan("mirror", (copy_item(bench, "step_1.pt"),), Refusal("live-writer", "Somebody writes"))
    with pytest.raises(Refused):
        apply(bench.host, bench.pair, DEFAULT_POLICY, plan)
    assert bench.names(MIRROR) == set()


def test_a_mirror_that_went_away_gets_nothing(bench: Workbench) -> None:
    bench.publish("step_1.pt", DATA)
    item = copy_item(bench, "step_1.pt")
    pair = bench.pair
    (bench.mirror / ".ckptdeck").rename(bench.mirror.parent / "the disk, away")
    with pytest.raises(VolumeSuspect):
        apply(bench.host, pair, DEFAULT_POLICY, Plan("mirror", (item,)))
    assert list(bench.mirror.iterdir()) == []


class _ModesCount(FileSystem):
    """Files that only may be read cannot be opened for writing, as for anybody but root."""

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        if writes and os.path.isfile(path) and not os.stat(path).st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return super().open(path, flags, mode)


def test_a_leftover_of_a_file_that_only_may_be_read_goes_on(tmp_path: Path) -> None:
    """It has the mode of its source already."""
    bench = Workbench.fresh(tmp_path, _ModesCount())
    bench.publish("step_1.pt", DATA)
    os.chmod(bench.primary / "step_1.pt", 0o440)
    left = bench.put(MIRROR, part_name("step_1.pt"), DATA[:1_000_000])
    os.chmod(left, 0o440)
    assert run(bench, copy_item(bench, "step_1.pt")).exit_code == 0
    assert (bench.mirror / "step_1.pt").read_bytes() == DATA
    assert (bench.mirror / "step_1.pt").stat().st_mode & 0o777 == 0o440


def test_a_rolling_name_saved_again_is_followed_by_the_mirror(tmp_path: Path) -> None:
    """`last.pt` differs from save to save: no quarrel, and nothing for quarantine."""
    bench = Workbench.fresh(tmp_path)
    for data in (b"first" * 9, b"second" * 9, b"third" * 9):
        with publish(bench.host, bench.on(Role.PRIMARY), Intent("last.pt", replace=True, readback=True)) as (stream, _):
            stream.write(data)
        survey = take_survey(bench.host, bench.pair, DEFAULT_POLICY)
        assert survey.steps[0].verdict is Verdict.MIRROR_ME
        result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan_mirror(survey))
        assert [one.outcome for one in result.results] == [Outcome.DONE]
        assert (bench.mirror / "last.pt").read_bytes() == data
    survey = take_survey(bench.host, bench.pair, DEFAULT_POLICY)
    assert survey.steps[0].verdict is Verdict.SAFE
    assert survey.mirror is not None
    assert survey.mirror.inventory.quarantine == ()
