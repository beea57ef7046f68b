"""The table of states, row by row, and the arithmetic in the reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckptdeck.core.health import judge
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.sighting import Checkpoint, Inventory, Sighting, Writer
from ckptdeck.core.states import Evidence, Kind, Origin, Role, State, Structure
from tests.core.looks import (
    BOOT,
    DAY,
    GB,
    MOUNT,
    NOW,
    ONE,
    OTHER,
    SERVER,
    identity,
    inventory,
    ns,
    receipt,
    record,
    sighting,
    structure,
    verified,
)


def judged(one: Sighting, *others: Sighting, role: Role = Role.PRIMARY, **changes: Any) -> Checkpoint:
    return by_name(inventory(one, *others, role=role, **changes))[one.name]


def by_name(side: Inventory, marked_bad: frozenset[str] = frozenset()) -> dict[str, Checkpoint]:
    return {checkpoint.name: checkpoint for checkpoint in judge(side, DEFAULT_POLICY, NOW, marked_bad=marked_bad)}


# --- proven content


def test_a_receipt_that_fits_makes_verified_with_its_time_and_evidence() -> None:
    found = judged(verified("step_0810.pt", 810))
    assert (found.state, found.verified_at, found.evidence) == (State.VERIFIED, NOW - 3600, Evidence.DEVICE)


@pytest.mark.parametrize("moved", ["size", "mtime_ns", "ctime_ns"])
def test_a_receipt_for_another_identity_counts_nothing(moved: str) -> None:
    there = identity()
    change: dict[str, Any] = {moved: 5}
    stamp = replace(there.stamps[0], **change)
    one = sighting(record=record(), receipt=receipt(there, stamps=(stamp,)))
    assert judged(one).state is State.SIZE_ONLY


@pytest.mark.parametrize(("boot", "mount"), [("boot-0", MOUNT), (BOOT, "99:8:1"), ("", MOUNT)])
@pytest.mark.parametrize(
    ("evidence", "survives"), [(Evidence.CACHE, False), (Evidence.SERVER, True), (Evidence.DEVICE, True)]
)
def test_weak_evidence_dies_with_its_boot_and_mount(boot: str, mount: str, evidence: Evidence, survives: bool) -> None:
    one = sighting(record=record(), receipt=receipt(identity(), evidence=evidence, boot_id=boot, mount=mount))
    assert judged(one).state is (State.VERIFIED if survives else State.SIZE_ONLY)


def test_cache_evidence_of_this_boot_and_mount_counts_and_says_what_it_is() -> None:
    found = judged(sighting(record=record(), receipt=receipt(identity(), evidence=Evidence.CACHE)))
    assert (found.state, found.evidence) == (State.VERIFIED, Evidence.CACHE)
    assert "memory" in found.reason


def test_an_unknown_boot_of_ours_keeps_no_weak_evidence() -> None:
    one = sighting(record=record(), receipt=receipt(identity(), evidence=Evidence.CACHE, boot_id=""))
    assert judged(one, boot_id="").state is State.SIZE_ONLY


def test_the_hash_of_what_was_written_is_never_verified() -> None:
    found = judged(sighting(record=record(), receipt=receipt(identity(), evidence=Evidence.STREAM)))
    assert found.state is State.SIZE_ONLY
    assert "nothing was read back" in found.reason


def test_a_receipt_whose_times_are_all_unknown_counts_nothing() -> None:
    there = replace(identity(), members=(replace(identity().members[0], mtime_ns=0, ctime_ns=0),))
    one = sighting(identity=there, record=record(mtime_ns=0), receipt=receipt(there))
    assert judged(one).state is State.SIZE_ONLY


def test_a_fresh_publish_without_read_back_is_size_only() -> None:
    found = judged(sighting(record=record()))
    assert found.state is State.SIZE_ONLY
    assert "without reading it back" in found.reason


def test_only_the_mtime_moved_is_size_only_and_says_so() -> None:
    there = identity(age=2 * DAY)
    found = judged(sighting(identity=there, record=record(), receipt=receipt(identity())))
    assert found.state is State.SIZE_ONLY
    assert "mtime" in found.reason


# --- differing from the record

SEED = 2_470_000_000
LEFT = 1_820_000_000


@pytest.mark.parametrize("role", list(Role))
def test_short_of_the_record_at_the_recorded_time_is_truncated_with_the_arithmetic(role: Role) -> None:
    found = judged(sighting(identity=identity(LEFT), record=record(size=SEED)), role=role)
    assert found.state is State.TRUNCATED
    assert "1.82 of 2.47 GB, 650 MB short of the record of 2026-09-20" in found.reason


def test_a_single_missing_byte_is_told_in_bytes() -> None:
    found = judged(sighting(identity=identity(SEED - 1), record=record(size=SEED)))
    assert "2,469,999,999 of 2,470,000,000 bytes, 1 B short" in found.reason


@pytest.mark.parametrize("size", [LEFT, SEED + 100])
def test_another_size_and_another_time_on_the_primary_is_the_trainers_newer_save(size: int) -> None:
    found = judged(sighting(identity=identity(size, age=3600), record=record(size=SEED)))
    assert found.state is State.CHANGED
    assert "adopt --replace" in found.reason


@pytest.mark.parametrize(("size", "state"), [(LEFT, State.TRUNCATED), (SEED + 100, State.CORRUPT)])
def test_on_the_mirror_any_difference_is_bad(size: int, state: State) -> None:
    one = sighting(identity=identity(size, age=3600), record=record(size=SEED))
    assert judged(one, role=Role.MIRROR).state is state


@pytest.mark.parametrize(
    ("finding", "state"),
    [
        (Structure.CUT, State.TRUNCATED),
        (Structure.BROKEN, State.CORRUPT),
        (Structure.OK, State.CHANGED),
        (Structure.SUSPECT, State.CHANGED),
        (Structure.UNKNOWN, State.CHANGED),
    ],
)
def test_a_rewritten_primary_is_bad_only_when_its_own_structure_says_so(finding: Structure, state: State) -> None:
    one = sighting(identity=identity(LEFT, age=3600), record=record(size=SEED), structure=structure(finding))
    assert judged(one).state is state


def test_longer_than_recorded_at_the_recorded_time_is_corrupt() -> None:
    assert judged(sighting(identity=identity(SEED + 100), record=record(size=SEED))).state is State.CORRUPT


@pytest.mark.parametrize(
    ("role", "age", "state"),
    [
        (Role.PRIMARY, DAY, State.CORRUPT),
        (Role.PRIMARY, 3600.0, State.CHANGED),
        (Role.MIRROR, DAY, State.CORRUPT),
        (Role.MIRROR, 3600.0, State.CORRUPT),
    ],
)
def test_right_size_and_wrong_content(role: Role, age: float, state: State) -> None:
    there = identity(age=age)
    one = sighting(identity=there, record=record(), receipt=receipt(there, digest=OTHER, good=False))
    assert judged(one, role=role).state is state


def test_on_a_server_two_seconds_of_mtime_are_no_difference() -> None:
    there = identity(LEFT, age=DAY - 1.5)
    assert judged(sighting(identity=there, record=record(size=SEED)), volume=SERVER).state is State.TRUNCATED
    assert judged(sighting(identity=there, record=record(size=SEED))).state is State.CHANGED


# --- next records, marks, retirement


def test_between_rename_and_promotion_the_next_record_is_the_record() -> None:
    following = record(digest=OTHER, mtime_ns=ns(NOW - 3600))
    found = judged(sighting(identity=identity(age=3600), record=record(), next_record=following))
    assert (found.state, found.digest) == (State.SIZE_ONLY, OTHER)


def test_a_first_publish_is_described_by_its_next_record_alone() -> None:
    there = identity()
    one = sighting(next_record=record(), receipt=receipt(there))
    assert judged(one).state is State.VERIFIED
    unfit = sighting(next_record=record(size=5))
    assert judged(unfit).state is State.UNRECORDED


def test_a_next_record_of_a_replacement_under_way_leaves_the_old_file_alone() -> None:
    there = identity()
    following = record(size=GB, digest=OTHER, mtime_ns=ns(NOW))
    found = judged(sighting(identity=there, record=record(), next_record=following, receipt=receipt(there)))
    assert (found.state, found.digest) == (State.VERIFIED, ONE)


def test_a_receipt_decides_between_two_records_that_both_fit() -> None:
    there = identity()
    following = record(digest=OTHER)
    one = sighting(identity=there, record=record(), next_record=following, receipt=receipt(there, digest=OTHER))
    assert (judged(one).state, judged(one).digest) == (State.VERIFIED, OTHER)


def test_bad_only_when_it_fits_neither_record() -> None:
    one = sighting(identity=identity(5), record=record(), next_record=record(digest=OTHER, size=7))
    assert judged(one, role=Role.MIRROR).state is State.TRUNCATED


def test_content_marked_bad_is_corrupt_on_this_side_and_as_a_twin() -> None:
    marked = verified("step_0800.pt", 800)
    assert marked.record is not None
    marked = replace(marked, record=replace(marked.record, marked_bad=ONE))
    assert judged(marked).state is State.CORRUPT
    twin = by_name(inventory(verified("step_0800.pt", 800), role=Role.MIRROR), marked_bad=frozenset({ONE}))
    assert twin["step_0800.pt"].state is State.CORRUPT


def test_another_content_of_the_same_size_is_not_the_one_marked_bad() -> None:
    """The mark belongs to a content: a trainer that saved the step again is only told apart by a hash."""
    marked = sighting(record=record(marked_bad=ONE, mtime_ns=ns(NOW - 2 * DAY)))
    assert judged(marked).state is State.SIZE_ONLY
    assert judged(marked, role=Role.MIRROR).state is State.CORRUPT
    proven_before_the_mark = replace(marked, receipt=receipt(identity()))
    assert judged(proven_before_the_mark).state is State.CORRUPT
    hashed_since = replace(marked, receipt=receipt(identity(), digest=OTHER, good=False))
    assert judged(hashed_since).state is State.CHANGED


def test_retired_is_retired_until_somebody_writes_it() -> None:
    one = sighting(record=record(retired=True))
    assert judged(one).state is State.RETIRED
    assert judged(replace(one, held=True)).state is State.UNSAFE_WRITE


# --- without a record


@pytest.mark.parametrize(
    ("finding", "state"),
    [
        (Structure.OK, State.STRUCTURE_OK),
        (Structure.CUT, State.TRUNCATED),
        (Structure.BROKEN, State.CORRUPT),
        (Structure.INCOMPLETE, State.INCOMPLETE),
        (Structure.SUSPECT, State.SUSPECT),
        (Structure.UNKNOWN, State.UNRECORDED),
    ],
)
def test_without_a_record_structure_speaks(finding: Structure, state: State) -> None:
    found = judged(sighting(structure=structure(finding, "ends at byte 1820 of 2470")))
    assert found.state is state
    assert "ends at byte 1820 of 2470" in found.reason


def test_without_a_record_or_a_format_it_is_unrecorded() -> None:
    assert judged(sighting()).state is State.UNRECORDED


def test_a_bad_deep_check_of_something_unrecorded_stands() -> None:
    bad = receipt(identity(), good=False, note="CRC of data/7 differs")
    found = judged(sighting(receipt=bad, structure=structure(Structure.OK)))
    assert (found.state, found.reason) == (State.CORRUPT, "CRC of data/7 differs")


def test_a_good_receipt_without_record_proves_nothing() -> None:
    assert judged(sighting(receipt=receipt(identity()))).state is State.UNRECORDED


def test_far_from_agreeing_siblings_is_suspect_with_both_sizes() -> None:
    siblings = [sighting(f"step_{n:04d}.pt", n, identity=identity(SEED + n)) for n in range(10, 60, 10)]
    stray = sighting("step_0810.pt", identity=identity(LEFT))
    found = judged(stray, *siblings)
    assert found.state is State.SUSPECT
    assert "1.82 GB" in found.reason
    assert "2.47 GB" in found.reason
    assert all(judged(one, stray, *siblings).state is State.UNRECORDED for one in siblings[:1])


def test_what_was_just_begun_is_not_held_against_its_siblings() -> None:
    """The first file of a directory that a trainer is filling."""
    siblings = [sighting(f"step_{n:04d}.pt", n, identity=identity(SEED + n)) for n in range(10, 60, 10)]
    young = judged(sighting("step_0810.pt", identity=identity(LEFT, age=20)), *siblings)
    assert young.state is State.UNRECORDED
    assert "it may still be written" in young.reason
    unknown = judged(sighting("step_0810.pt", identity=identity(LEFT, mtime_ns=0)), *siblings)
    assert unknown.state is State.SUSPECT


def test_siblings_that_disagree_or_are_too_few_say_nothing() -> None:
    varied = [sighting(f"step_{n:04d}.pt", n, identity=identity(n * GB)) for n in range(1, 9)]
    assert judged(sighting(identity=identity(LEFT)), *varied).state is State.UNRECORDED
    two = [sighting(f"step_{n:04d}.pt", n, identity=identity(SEED)) for n in (10, 20)]
    assert judged(sighting(identity=identity(LEFT)), *two).state is State.UNRECORDED


def test_a_format_that_vouches_for_itself_is_not_doubted_for_its_size() -> None:
    siblings = [sighting(f"step_{n:04d}.pt", n, identity=identity(SEED)) for n in range(10, 60, 10)]
    one = sighting(identity=identity(LEFT), structure=structure(Structure.OK))
    assert judged(one, *siblings).state is State.STRUCTURE_OK


# --- being written, not looked at, not ours


@pytest.mark.parametrize("sign", [{"held": True}, {"moved": True}, {"writer": Writer(7, "python")}])
def test_a_final_name_that_is_being_written_is_unsafe_write_whatever_its_record_says(sign: dict[str, Any]) -> None:
    assert judged(replace(verified("step_0810.pt", 810), **sign)).state is State.UNSAFE_WRITE


def test_an_error_is_unreadable_never_missing_or_corrupt() -> None:
    found = judged(sighting(identity=None, record=record(), error="Input/output error (EIO): /p/step_0810.pt"))
    assert (found.state, found.reason) == (State.UNREADABLE, "Input/output error (EIO): /p/step_0810.pt")


def test_foreign_names_links_and_directories_are_shown_and_not_judged() -> None:
    for one in (
        sighting("notes.txt", None, family="foreign"),
        sighting("step_0810.pt", link="/elsewhere/step_0810.pt"),
        sighting("logs", None, kind=Kind.DIRECTORY, family="foreign"),
    ):
        assert judged(one).state is State.FOREIGN


def test_a_recorded_name_is_never_foreign() -> None:
    assert judged(sighting("weights", None, family="foreign", record=record("weights"))).state is State.SIZE_ONLY
    assert judged(sighting(link="elsewhere", record=record())).state is State.SUSPECT


@pytest.mark.parametrize(
    ("mtime_ns", "words"),
    [
        (0, "unknown"),
        (-5 * 10**9, "unknown"),
        (ns(315_532_800), "before 1990"),
        (ns(NOW + 301), "future"),
        (ns(NOW - 3), "3s ago"),
        (ns(NOW + 200), "0s ago"),
    ],
)
def test_what_time_says_stands_beside_the_verdict(mtime_ns: int, words: str) -> None:
    found = judged(sighting(identity=identity(mtime_ns=mtime_ns), structure=structure(Structure.CUT)))
    assert found.state is State.TRUNCATED
    assert words in found.reason


# --- gone


def gone(name: str, step: int | None, seen_missing: int = 2, **changes: Any) -> Sighting:
    promised = replace(record(name, step=step), **changes)
    return sighting(name, step, identity=None, record=promised, seen_missing=seen_missing)


def test_newer_than_the_newest_whole_one_is_missing_and_older_is_removed() -> None:
    states = by_name(inventory(gone("step_0820.pt", 820), verified("step_0810.pt", 810), gone("step_0800.pt", 800)))
    assert states["step_0820.pt"].state is State.MISSING
    assert states["step_0800.pt"].state is State.REMOVED


def test_with_nothing_whole_here_every_recorded_one_is_missing() -> None:
    states = by_name(inventory(gone("step_0800.pt", 800), sighting("step_0810.pt", 810, record=record())))
    assert states["step_0800.pt"].state is State.MISSING


def test_one_listing_is_not_enough_to_call_it_missing() -> None:
    assert judged(gone("step_0820.pt", 820, seen_missing=1)).state is State.UNREADABLE


def test_a_retired_one_that_is_gone_is_removed() -> None:
    assert judged(gone("step_0820.pt", 820, retired=True)).state is State.REMOVED


def test_rolling_names_go_by_time() -> None:
    old, new = gone("last.ckpt", None, mtime_ns=ns(NOW - 2 * DAY)), gone("best.ckpt", None, mtime_ns=ns(NOW))
    states = by_name(inventory(old, new, verified("step_0810.pt", 810)))
    assert (states["last.ckpt"].state, states["best.ckpt"].state) == (State.REMOVED, State.MISSING)


# --- order


def test_newest_step_first_as_numbers_then_rolling_then_foreign() -> None:
    names = [
        ("step_9900.pt", 9900),
        ("notes.txt", None),
        ("last.ckpt", None),
        ("step_10000.pt", 10000),
        ("s_9990.pt", 9990),
    ]
    seen = [sighting(n, s, family="foreign" if n == "notes.txt" else "single-file") for n, s in names]
    order = [checkpoint.name for checkpoint in judge(inventory(*seen), DEFAULT_POLICY, NOW)]
    assert order == ["step_10000.pt", "s_9990.pt", "step_9900.pt", "last.ckpt", "notes.txt"]


def test_what_was_verified_stands_only_for_the_very_same_sighting() -> None:
    one = verified("step_0810.pt", 810)
    before = by_name(inventory(one))
    known = {name: replace(checkpoint, reason="seen before") for name, checkpoint in before.items()}
    again = judge(inventory(one), DEFAULT_POLICY, NOW, verified_before=known)
    assert again[0].reason == "seen before"
    touched = judge(inventory(replace(one, held=True)), DEFAULT_POLICY, NOW, verified_before=known)
    assert touched[0].state is State.UNSAFE_WRITE


def test_an_adopted_record_does_not_speak_of_publishing() -> None:
    found = judged(sighting(record=record(origin=Origin.ADOPTED)))
    assert "never verified here" in found.reason
