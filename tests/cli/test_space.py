"""`ckptdeck space`: the table, the document, the what-ifs, and what it says when something is not there."""

from __future__ import annotations

import json
import os
import time

import pytest

from ckptdeck.core import side_look
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.samples import Sample, encode_sample
from ckptdeck.core.sighting import Volume
from ckptdeck.core.volume import volume_of
from tests.cli.deck import Deck, data_of

KEYS = {
    "checkpoint_size", "interval", "room", "fits", "full_at", "fits_after_prune", "full_at_after_prune",
    "full_at_with_retention", "keep_last", "retention_fits", "retention_spare", "peak_need", "prune_frees",
    "prune_frees_at_most", "largest_keep", "saves_left", "rest_fits", "rest_fits_with_retention", "other_growth",
    "basis",
}  # fmt: skip
DAY = 86_400.0


def name_of(step: int) -> str:
    return f"step_{step:04}.pt"


def saved(deck: Deck, count: int = 16, *, mirrored: bool = True) -> None:
    """A pair with `count` verified steps of 50, one every half hour."""
    deck.init()
    for index in range(count):
        name = name_of(50 * (index + 1))
        deck.put(name, data_of(name), age=DAY + (count - index) * 1800)
    assert deck.run("adopt", deck.primary, "--yes").code == 0
    if mirrored:
        assert deck.run("mirror", deck.primary, "--all", "--yes").code == 0


def apart(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the mirror were another device, 6 saves away from its end."""

    def made_up(fs: FileSystem, path: str) -> Volume:
        found = volume_of(fs, path)
        is_mirror = path.startswith(str(deck.mirror))
        total = 10_000_000
        free = 100_000 + 6 * 20_000 + 5_000 if is_mirror else 5_000_000
        return Volume(
            "ext4", "local", total, free, 10_000, False, found.device + is_mirror, False, f"{found.mount}{is_mirror}"
        )

    monkeypatch.setattr(side_look, "volume_of", made_up)


def at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nobody else wrote to the disk the tests are on: it is seen as it is now."""
    seen: dict[str, Volume] = {}

    def as_first_seen(fs: FileSystem, path: str) -> Volume:
        return seen.setdefault(path, volume_of(fs, path))

    monkeypatch.setattr(side_look, "volume_of", as_first_seen)


def test_one_look_answers_how_many_when_what_for_and_what_to_do(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(deck)
    apart(deck, monkeypatch)
    ran = deck.run("space", deck.primary)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("6 more saves fit on the mirror: full in 3h")
    table = {line[:17].strip(): line[17:] for line in lines[5:]}
    assert table["one save"].split() == ["20.0", "kB", "every", "30m00s"] * 2
    assert table["more that fit"].split() == ["245", "6"]
    assert table["prune now frees"].split() == ["81.9", "kB", "81.9", "kB"]
    assert table["keep 12 needs"].split() == ["260", "kB,", "fits"] * 2
    assert "never by its own saves" in table["full with it"]
    assert table["most that fits"].split() == ["keep", "260", "keep", "21"]
    assert (
        "  `ckptdeck prune` frees 81.9 kB on the primary and 81.9 kB on the mirror: then 249 and 10 more fit" in lines
    )
    assert "  >  12    260 kB   fits, frees 81.9 kB  fits, frees 81.9 kB" in lines
    assert "     21    440 kB   fits                 fits                 the most that fits" in lines
    assert "     24    500 kB   fits                 NO, 55.0 kB short" in lines
    assert "largest of the last 5: 20.0 kB" in ran.out
    assert max(map(len, lines[5 : lines.index("WHAT TO DO")])) <= 80


def test_columns_stand_below_each_other(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(deck)
    apart(deck, monkeypatch)
    lines = deck.run("space", deck.primary).out.splitlines()
    head = next(line for line in lines if line.split() == ["primary", "mirror"])
    for line in lines[lines.index(head) : lines.index("WHAT TO DO") - 1]:
        for column in (head.index("primary"), head.index("mirror")):
            assert line[column - 2 : column] == "  "
            assert line[column] != " "


def test_the_document(deck: Deck) -> None:
    saved(deck)
    ran = deck.run("space", deck.primary, "--json", "--steps-left", "500")
    document = ran.document
    assert (ran.code, document["schema"], document["shared_device"]) == (0, "ckptdeck.space/1", True)
    for side in ("primary", "mirror"):
        assert document["sides"][side]["condition"] == "ok"
        assert document["sides"][side]["filesystem"]["free"] > 0
        assert set(document["sides"][side]["outlook"]) == KEYS
    outlook = document["sides"]["primary"]["outlook"]
    assert (outlook["checkpoint_size"], outlook["saves_left"]) == (20_000, 10)
    assert outlook["interval"] == pytest.approx(1800, abs=1)
    assert (outlook["keep_last"], outlook["peak_need"]) == (12, 13 * 2 * 20_000), "both sides are on one device"
    assert outlook["prune_frees"] == 8 * 20_480
    assert outlook["other_growth"] is None
    assert "more saves fit on both sides together" in document["answer"]
    assert any("ckptdeck prune" in sentence for sentence in document["advice"])
    assert [one["keep_last"] for one in document["retentions"]] == [1, 3, 6, 12, 24, 48]
    assert set(document["retentions"][0]["mirror"]) == KEYS


def test_what_if(deck: Deck) -> None:
    saved(deck)
    options = ("--keep-last", "4", "--every", "1h", "--size", "2MB", "--steps-left", "200")
    outlook = deck.run("space", deck.primary, "--json", *options).document["sides"]["primary"]["outlook"]
    assert (outlook["keep_last"], outlook["interval"], outlook["checkpoint_size"]) == (4, 3600.0, 2_000_000)
    assert (outlook["peak_need"], outlook["saves_left"]) == (5 * 2 * 2_000_000, 4)
    shown = deck.run("space", deck.primary, *options).out
    assert "as if the retention were keep 4, a save came every 1h00m, a save took 2.00 MB, 200 steps were left" in shown
    assert "4 saves to come" in shown
    assert "`ckptdeck prune --keep-last 4` frees" in shown


def test_years_beyond_every_calendar_are_no_traceback(deck: Deck) -> None:
    saved(deck, mirrored=False)
    assert deck.run("space", deck.primary, "--every", "9999w").code == 0
    outlook = deck.run("space", deck.primary, "--every", "9999w", "--json").document["sides"]["primary"]["outlook"]
    assert outlook["full_at"] is None
    assert deck.run("space", deck.primary, "--size", "999999999999PB", "--steps-left", "9" * 30).code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--keep-last", "0"), "--keep-last 0 is not 1 or more"),
        (("--steps-left", "-3"), "--steps-left -3 is not 1 or more"),
        (("--keep-last", "many"), "invalid int value"),
        (("--every", "soon"), '"soon" is not a length of time'),
        (("--every", "0s"), "takes bytes and time"),
        (("--size", "big"), '"big" is not a size'),
        (("--size", "0"), "takes bytes and time"),
        (("step_0050.pt",), "takes no names"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(deck: Deck, words: tuple[str, ...], says: str) -> None:
    deck.init()
    ran = deck.run("space", deck.primary, *words)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    error = deck.run("space", deck.primary, *words, "--json").document
    assert (error["schema"], error["exit_code"]) == ("ckptdeck.error/1", 2)


def test_a_mirror_that_is_not_there_is_7_and_the_primary_is_told_all_the_same(deck: Deck) -> None:
    saved(deck)
    deck.mirror.rename(deck.base / "elsewhere")
    deck.mirror.mkdir()
    ran = deck.run("space", deck.primary)
    assert ran.code == 7
    assert "on the primary" in ran.out.splitlines()[0]
    assert "nothing on the primary may go yet" in ran.out
    document = deck.run("space", deck.primary, "--json").document
    assert document["sides"]["mirror"]["condition"] != "ok"
    assert document["sides"]["mirror"]["outlook"] is None
    assert document["sides"]["primary"]["outlook"]["fits"] > 0


def test_bare_and_empty_directories(deck: Deck) -> None:
    ran = deck.run("space", deck.primary, deck.mirror)
    assert ran.code == 0
    assert ran.out.startswith("Nothing can be foretold")
    assert "no size yet" in ran.out


def test_it_writes_nothing_and_reads_the_samples_that_the_console_kept(
    deck: Deck, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(deck)
    at_rest(monkeypatch)
    now, rate = time.time(), 40e9 / DAY
    free = os.statvfs(deck.primary).f_bavail * 4096
    lines = [encode_sample(Sample(now - hour * 3600, int(free + hour * 3600 * rate), 0)) for hour in range(48, 0, -1)]
    for control in (deck.control, deck.mirror / ".ckptdeck"):
        (control / "space.jsonl").write_bytes(b"".join(lines))
    before = deck.tree()
    document = deck.run("space", deck.primary, "--json").document
    assert document["sides"]["primary"]["outlook"]["other_growth"] == pytest.approx(rate, rel=1e-3)
    assert "others add 40.0 GB a day (over 1d23h)" in deck.run("space", deck.primary).out
    status = deck.run("status", deck.primary, "--json").document
    assert status["space"]["primary"]["fits"] == document["sides"]["primary"]["outlook"]["fits"]
    assert "others add 40.0 GB a day" in json.dumps(status["space"]["primary"])
    assert deck.tree() == before


def test_hostile_paths_are_shown_escaped(deck: Deck) -> None:
    place = deck.base / "a\x1b[31m\nb"
    place.mkdir()
    ran = deck.run("space", place)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\\n" in ran.out
