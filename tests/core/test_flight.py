"""Who writes a part, and what it is: judged from facts, and seen on a real file system without disturbing anybody."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.flight import Flight, Trace, find_traces, going_on, judge_flight
from ckptdeck.core.part import open_part
from ckptdeck.core.sighting import InFlight, Member, Writer
from ckptdeck.core.states import FlightState
from ckptdeck.core.unit import member_of
from tests.core.looks import GB, LOCAL, NOW, make_bench, ns, record

QUIET, YOUNG = 3600.0, 30.0
FREE, HELD, UNTOLD = Trace(None, False), Trace(None, True), Trace(None, None)


def member(size: int = GB, age: float = QUIET, mtime_ns: int | None = None) -> Member:
    return Member("", size, ns(NOW - age) if mtime_ns is None else mtime_ns, ns(NOW - age), 7, 5, 0o644, 1, 8)


def judged(
    *,
    ours: bool = True,
    trace: Trace = FREE,
    what: Member | None = None,
    promised: int | None = None,
    previous: InFlight | None = None,
    elapsed: float = 2.0,
    local: bool = True,
    same_as_final: bool = False,
    usual: int | None = None,
) -> InFlight:
    flight = Flight(
        name="step_0820.pt.part",
        target="step_0820.pt",
        step=820,
        ours=ours,
        member=what or member(),
        trace=trace,
        next_record=record("step_0820.pt", promised) if promised is not None else None,
        usual_size=usual,
        same_as_final=same_as_final,
        previous=previous,
        elapsed=elapsed,
    )
    return judge_flight(flight, local=local, now=NOW, min_age=300.0)


# --- live


@pytest.mark.parametrize("trace", [HELD, Trace(Writer(7, "python"), True)])
@pytest.mark.parametrize("age", [YOUNG, QUIET])
def test_whoever_holds_it_keeps_it_alive_however_quiet(trace: Trace, age: float) -> None:
    found = judged(trace=trace, what=member(age=age), promised=GB)
    assert (found.state, found.writer) == (FlightState.LIVE, trace.writer)


@pytest.mark.parametrize("local", [True, False])
def test_growth_is_life_and_gives_a_rate(local: bool) -> None:
    before = judged(what=member(GB))
    found = judged(what=member(3 * GB), previous=before, trace=UNTOLD, local=local)
    assert (found.state, found.bytes_per_second) == (FlightState.LIVE, GB)


def test_bytes_written_inside_a_file_of_full_size_are_life_too() -> None:
    before = judged(what=member(age=40.0), trace=UNTOLD)
    assert judged(what=member(age=20.0), previous=before, trace=UNTOLD).state is FlightState.LIVE


def test_another_inode_of_the_same_name_has_not_grown() -> None:
    before = replace(judged(what=member(1)), inode=99)
    found = judged(what=member(GB), previous=before)
    assert (found.state, found.bytes_per_second) == (FlightState.STALE, None)


def test_two_looks_in_one_moment_give_no_rate() -> None:
    assert judged(what=member(3), previous=judged(what=member(2)), elapsed=0.001).bytes_per_second is None


# --- left behind


@pytest.mark.parametrize("age", [YOUNG, QUIET])
def test_ours_that_nobody_on_this_host_has_open_is_stale_at_once(age: float) -> None:
    assert judged(what=member(age=age)).state is FlightState.STALE


def test_ours_whose_time_is_unknown_is_stale_when_nobody_has_it_open() -> None:
    assert judged(what=member(mtime_ns=0)).state is FlightState.STALE


@pytest.mark.parametrize(
    ("ours", "trace", "local"),
    [(False, FREE, True), (True, UNTOLD, True), (True, FREE, False), (False, UNTOLD, False)],
)
def test_anything_else_is_unknown_until_it_is_quiet(ours: bool, trace: Trace, local: bool) -> None:
    assert judged(ours=ours, trace=trace, local=local, what=member(age=YOUNG)).state is FlightState.UNKNOWN
    assert judged(ours=ours, trace=trace, local=local, what=member(age=QUIET)).state is FlightState.STALE


@pytest.mark.parametrize("mtime_ns", [0, -1, ns(315_532_800), ns(NOW + 3600)])
def test_an_unknown_time_is_never_quiet(mtime_ns: int) -> None:
    found = judged(ours=False, what=member(mtime_ns=mtime_ns))
    assert found.state is FlightState.UNKNOWN
    assert "mtime" in found.reason


def test_bytes_that_match_the_next_record_are_ready_and_fewer_are_stale() -> None:
    ready, short = judged(promised=GB), judged(promised=2 * GB)
    assert (ready.state, ready.expected_size) == (FlightState.READY, GB)
    assert (short.state, short.expected_size) == (FlightState.STALE, 2 * GB)
    assert "1.00 of 2.00 GB" in short.reason


def test_a_part_that_a_copy_goes_on_with_is_not_lost() -> None:
    left = judged(what=member(GB))
    assert left.reason.endswith("; 1.00 GB that nobody will finish")
    known = going_on(left, 2 * GB, "ckptdeck mirror step_0820.pt")
    assert known.reason.endswith("; 1.00 of 2.00 GB, and `ckptdeck mirror step_0820.pt` goes on with it")
    assert going_on(known, 2 * GB, "ckptdeck mirror step_0820.pt") == known


def test_a_second_name_of_the_final_file_is_stale() -> None:
    assert judged(same_as_final=True, promised=GB).state is FlightState.STALE


def test_siblings_tell_what_to_expect_where_no_record_does() -> None:
    assert judged(usual=7).expected_size == 7


# --- traces on a real file system


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "primary" / "x.pt.part"
    make_bench(tmp_path)
    made.write_bytes(b"x" * 100)
    return made


def traced(tmp_path: Path, path: Path, leases: bool | None = True) -> Trace:
    bench = make_bench(tmp_path / "looking")
    bench.fs.leases = leases
    status = path.lstat()
    return find_traces(bench.host, [(str(path), member_of("", status))])[status.st_dev, status.st_ino]


def test_an_open_writer_is_seen_and_a_reader_is_none(tmp_path: Path, path: Path) -> None:
    with path.open("rb"):
        assert traced(tmp_path / "1", path) == FREE
    with path.open("ab"):
        assert traced(tmp_path / "2", path) == HELD


def test_without_leases_the_table_of_locks_tells(tmp_path: Path, path: Path) -> None:
    with path.open("ab") as file:
        assert traced(tmp_path / "1", path, leases=False) == UNTOLD
        fcntl.flock(file, fcntl.LOCK_EX)
        locked = traced(tmp_path / "2", path, leases=False)
        assert (locked.held, locked.flocked) == (True, True)
        assert traced(tmp_path / "3", path, leases=None) == UNTOLD


def test_the_named_writer_comes_first(tmp_path: Path, path: Path) -> None:
    status = path.lstat()
    key = (status.st_dev, status.st_ino)
    bench = make_bench(tmp_path / "looking", writers=lambda files: dict.fromkeys(files, Writer(7, "python")))
    assert find_traces(bench.host, [(str(path), member_of("", status))]) == {key: Trace(Writer(7, "python"), True)}
    assert bench.fs.opened == []


def test_nobody_is_asked_about_nothing(tmp_path: Path) -> None:
    def fail(_: frozenset[tuple[int, int]]) -> dict[tuple[int, int], Writer]:
        raise AssertionError("asked")

    assert find_traces(make_bench(tmp_path, writers=fail).host, []) == {}


def test_another_file_under_the_name_says_nothing(tmp_path: Path, path: Path) -> None:
    status = path.lstat()
    stranger = replace(member_of("", status), inode=status.st_ino + 1)
    bench = make_bench(tmp_path / "looking")
    assert list(find_traces(bench.host, [(str(path), stranger)]).values()) == [UNTOLD]


def test_looking_never_takes_a_lock_a_publisher_wants(tmp_path: Path) -> None:
    """A publisher that claims its part at any point of our look must get it."""
    bench = make_bench(tmp_path)
    (bench.root / "x.pt.part").write_bytes(b"left behind")
    claims = []

    class Claiming(FileSystem):
        def open_for_writing_elsewhere(self, fd: int) -> bool | None:
            before = open_part(bench.host, str(bench.root), "a.pt", LOCAL, minimum_age=300.0)
            answer = super().open_for_writing_elsewhere(fd)
            again = os.open(bench.root / "x.pt.part", os.O_RDWR)
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
            claims.append(again)
            before.discard()
            return answer

    status = (bench.root / "x.pt.part").lstat()
    find_traces(replace(bench.host, fs=Claiming()), [(str(bench.root / "x.pt.part"), member_of("", status))])
    assert len(claims) == 1
    os.close(claims[0])
