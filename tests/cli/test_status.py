"""The first look: the answer first, states in words, the JSON other programs read, and its exit code."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from ckptdeck.cli import text
from ckptdeck.cli.terminal import Terminal
from tests.cli.deck import Deck, cut, data_of, flip

SIDE = {
    "path",
    "control_path",
    "set_id",
    "condition",
    "why",
    "warnings",
    "filesystem",
    "checkpoints",
    "in_flight",
    "quarantine",
}
CHECKPOINT = {
    "name",
    "step",
    "kind",
    "family",
    "size",
    "mtime",
    "state",
    "reason",
    "recorded",
    "verified_at",
    "evidence",
    "pinned",
}


def test_bare_directories_can_be_looked_at_and_nothing_is_created(deck: Deck) -> None:
    deck.put("step_0810.pt", data_of("a"))
    before = deck.tree()
    ran = deck.run("status", deck.primary, deck.mirror)
    assert ran.code == 0
    assert "uninitialised" in ran.out
    assert "? unrecorded" in ran.out
    assert deck.tree() == before


def test_the_answer_is_the_first_line(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    lines = deck.run("status", deck.primary).out.splitlines()
    assert lines[0].startswith(f"RESUME 810  {deck.primary}/step_0810.pt  verified ")
    rows = [line.split() for line in lines if line.startswith(("810", "800"))]
    assert [row[0] for row in rows] == ["810", "800"]
    assert [row[1] for row in rows] == ["step_0810.pt", "step_0800.pt"]
    assert all(row[2:4] == ["+", "verified"] and row[-1] == "safe" for row in rows)


def test_columns_line_up(deck: Deck) -> None:
    deck.mirrored("step_7.pt", "step_123456.pt")
    lines = deck.run("status", deck.primary).out.splitlines()
    head = next(line for line in lines if line.startswith("step"))
    rows = [line for line in lines if line.startswith(("7 ", "123456"))]
    assert {line.index("+ verified") for line in rows} == {head.index("primary")}
    assert {line.index("safe") for line in rows} == {head.index("verdict")}


def test_what_is_bad_is_said_in_capitals_with_the_reason_and_exit_1(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    cut(deck.mirror / "step_0810.pt", 12_000)
    ran = deck.run("status", deck.primary)
    assert ran.code == 1
    assert "x TRUNCATED 12.0 of 20.0 kB" in ran.out
    assert "repair" in ran.out
    trouble = ran.out.split("TROUBLE")[1].split("\n\n")[0]
    assert "step_0810.pt on mirror is truncated" in trouble


def test_rows_without_a_finding_say_no_more_than_their_columns(deck: Deck) -> None:
    for step in range(800, 846):
        deck.put(f"step_{step:04d}.pt", data_of("a"))
    lines = deck.run("status", deck.primary).out.splitlines()
    rows = [line for line in lines if line.startswith("8")]
    assert len(rows) == 46
    assert all(row.endswith("  adopt") for row in rows)
    assert lines[-1].startswith("46 checkpoints without a record: `ckptdeck adopt`")


def test_a_long_reason_is_cut_in_its_row_and_whole_under_trouble(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    cut(deck.mirror / "step_0810.pt", 12_000)
    out = deck.run("status", deck.primary).out
    (row,) = [line for line in out.splitlines() if line.startswith("810")]
    reason = row.split("  repair")[1].strip()
    assert reason.startswith("mirror is truncated (12.0 of 20.0 kB, 8.00 kB short of the record of ")
    assert reason.endswith("…")
    assert len(reason) <= 100
    document = deck.run("status", deck.primary, "--json").document
    whole = document["sides"]["mirror"]["checkpoints"][0]["reason"]
    assert whole in out.split("TROUBLE")[1].split("\n\n")[0]
    assert whole in document["steps"][0]["reason"]


def test_a_size_only_resume_point_is_not_called_whole(deck: Deck) -> None:
    deck.recorded("step_0810.pt")
    deck.forget_receipts(deck.control)
    first = deck.run("status", deck.primary).out.splitlines()[0]
    assert first.startswith("RESUME 810?")
    assert "`ckptdeck resume`" in first


def test_nothing_saved_yet_is_well(deck: Deck) -> None:
    ran = deck.run("status", deck.primary)
    assert ran.code == 0
    assert ran.out.startswith("RESUME none  nothing has been saved yet")


def test_the_document_has_the_promised_shape(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    deck.run("pin", deck.primary, "step_0810.pt")
    deck.put("notes.txt", b"hello")
    document = deck.run("status", deck.primary, "--json").document
    assert document["schema"] == "ckptdeck.status/1"
    assert document["taken_at"].endswith("Z")
    assert document["run_id"] == "ckpt"
    assert set(document) == {"schema", "taken_at", "run_id", "resume", "sides", "steps", "space", "warnings"}
    assert set(document["resume"]) == {"name", "step", "side", "path", "state", "evidence", "verified_at"}
    primary = document["sides"]["primary"]
    assert set(primary) == SIDE
    assert primary["condition"] == "ok"
    assert set(primary["filesystem"]) == {"type", "class", "total", "free", "free_inodes", "optimistic"}
    by_name = {one["name"]: one for one in primary["checkpoints"]}
    checkpoint = by_name["step_0810.pt"]
    assert set(checkpoint) == CHECKPOINT
    assert checkpoint["state"] == "verified"
    assert checkpoint["pinned"] is True
    assert set(checkpoint["recorded"]) == {"size", "algorithm", "digest", "origin", "recorded_at"}
    assert by_name["notes.txt"]["state"] == "foreign"
    assert document["steps"] == [
        {
            "step": 810,
            "name": "step_0810.pt",
            "primary": "verified",
            "mirror": "verified",
            "verdict": "safe",
            "reason": document["steps"][0]["reason"],
        }
    ]
    assert set(document["space"]) == {"primary", "mirror", "shared_device"}
    assert set(document["space"]["primary"]) == {"checkpoint_size", "interval", "fits", "full_at", "basis"}


def test_without_a_mirror_its_places_are_null(deck: Deck) -> None:
    document = deck.run("status", deck.primary, "--json").document
    assert document["sides"]["mirror"] is None
    assert document["space"]["mirror"] is None
    assert document["resume"] is None


def test_a_name_that_is_not_utf_8_is_escaped_for_people_and_exact_for_programs(deck: Deck) -> None:
    name = os.fsdecode(b"bad\xff_step_5.pt")
    deck.put(name, data_of("a"))
    ran = deck.run("status", deck.primary)
    assert "bad\\xff" in ran.out
    found = deck.run("status", deck.primary, "--json").document["sides"]["primary"]["checkpoints"]
    assert [one["name"] for one in found] == ["bad\ufffd_step_5.pt"]
    assert [one["name_b64"] for one in found] == ["YmFk/19zdGVwXzUucHQ="]


def test_a_hostile_name_reaches_no_terminal_raw(deck: Deck) -> None:
    deck.put("\x1b[2Jevil\n_step_9.pt", data_of("a"))
    ran = deck.run("status", deck.primary)
    assert "\x1b" not in ran.out
    assert "\\e[2Jevil\\n_step_9.pt" in ran.out


def test_a_side_that_is_not_mounted_is_7(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    deck.mirror.rename(deck.base / "unplugged")
    ran = deck.run("status", deck.primary, "--json")
    assert ran.code == 7
    assert ran.document["sides"]["mirror"]["condition"] == "not-mounted"
    deck.mirror.mkdir()
    assert deck.run("status", deck.primary).code == 7, "an empty mount point is no mirror"


def test_two_control_directories_are_7_for_every_command(deck: Deck) -> None:
    deck.recorded("step_0810.pt")
    shutil.copytree(deck.control, deck.primary / ".ckptdeck")
    for words in (["status"], ["mirror", "--yes"], ["pin", "step_0810.pt"], ["export"], ["resume"]):
        ran = deck.run(*words, deck.primary, deck.mirror)
        assert ran.code == 7, words
        assert str(deck.control) in ran.out + ran.err


def test_a_damaged_record_is_a_finding(deck: Deck) -> None:
    deck.recorded("step_0810.pt")
    (deck.control / "manifest" / "step_0810.pt.json").write_text("{")
    ran = deck.run("status", deck.primary)
    assert ran.code == 1
    assert "damaged-record" in ran.out


def test_a_stale_part_is_a_finding_and_listed_apart(deck: Deck) -> None:
    deck.recorded("step_0800.pt")
    deck.put("step_0810.pt.part", data_of("a", 5_000))
    ran = deck.run("status", deck.primary)
    assert ran.code == 1
    assert "IN FLIGHT" in ran.out
    document = deck.run("status", deck.primary, "--json").document
    (flight,) = document["sides"]["primary"]["in_flight"]
    assert (flight["name"], flight["target"], flight["state"]) == ("step_0810.pt.part", "step_0810.pt", "stale")


def test_an_interrupted_copy_names_the_command_that_goes_on_with_it(deck: Deck) -> None:
    deck.recorded("step_0800.pt")
    deck.put("step_0800.pt.part", data_of("step_0800.pt")[:5_000], side="mirror")
    deck.put("step_0810.pt.part", data_of("a", 5_000), side="mirror")
    document = deck.run("status", deck.primary, "--json").document
    reasons = {flight["name"]: flight["reason"] for flight in document["sides"]["mirror"]["in_flight"]}
    assert reasons["step_0800.pt.part"].endswith("5.00 of 20.0 kB, and `ckptdeck mirror step_0800.pt` goes on with it")
    assert reasons["step_0810.pt.part"].endswith("5.00 kB that nobody will finish")
    assert "goes on: 5.00 kB" in deck.run("mirror", deck.primary, "--dry-run", "step_0800.pt").out


def test_a_young_file_that_changes_between_two_looks_is_an_unsafe_write_and_no_finding(
    deck: Deck, monkeypatch: pytest.MonkeyPatch
) -> None:
    deck.recorded("step_0800.pt")
    path = deck.put("step_0810.pt", data_of("a"), age=2.0)

    def grow(_clock: object, seconds: float) -> None:
        assert seconds == 1.0
        with path.open("ab") as file:
            file.write(b"more")

    monkeypatch.setattr("ckptdeck.monitor.host.SystemClock.sleep", grow)
    ran = deck.run("status", deck.primary, "--json")
    assert ran.code == 0
    assert {step["name"]: step["primary"] for step in ran.document["steps"]}["step_0810.pt"] == "unsafe-write"


def test_a_silent_flip_shows_only_when_hashed(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    flip(deck.mirror / "step_0810.pt")
    states = deck.run("status", deck.primary, "--json").document["steps"][0]
    assert states["mirror"] == "size-only"
    assert deck.run("verify", deck.primary).code == 1
    assert deck.run("status", deck.primary, "--json").document["steps"][0]["mirror"] == "corrupt"


def test_colour_is_only_added_to_words(deck: Deck) -> None:
    assert text.paint_ansi("x TRUNCATED", "bad") == "\x1b[31mx TRUNCATED\x1b[0m"
    assert text.paint_for(Terminal()) is text.paint_plain
    ran = deck.run("status", deck.primary)
    assert "\x1b" not in ran.out


def test_wide_and_combining_characters_count_as_the_terminal_counts_them() -> None:
    assert text.cell_width("abc") == 3
    assert text.cell_width("検証") == 4
    assert text.cell_width("e\u0301") == 1


def test_the_whole_document_is_valid_json_for_a_read_only_reader(deck: Deck, tmp_path: Path) -> None:
    deck.mirrored("step_0810.pt")
    copy = tmp_path / "status.json"
    copy.write_text(deck.run("status", deck.primary, "--json").out, encoding="ascii")
    assert json.loads(copy.read_text())["schema"] == "ckptdeck.status/1"
