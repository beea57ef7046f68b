"""`status --prometheus FILE`."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.cli.deck import Deck


def test_the_file_is_written_whole_beside_the_usual_answer(deck: Deck, tmp_path: Path) -> None:
    deck.mirrored("step_0800.pt")
    place = tmp_path / "collector"
    place.mkdir()
    ran = deck.run("status", deck.primary, "--prometheus", str(place / "ckptdeck.prom"))
    assert "RESUME 800" in ran.out
    assert os.listdir(place) == ["ckptdeck.prom"]
    names = {family.name for family in text_string_to_metric_families((place / "ckptdeck.prom").read_text())}
    assert "ckptdeck_newest_whole_step" in names


def test_another_ending_or_a_missing_place_is_an_error(deck: Deck, tmp_path: Path) -> None:
    assert deck.run("status", deck.primary, "--prometheus", str(tmp_path / "x.txt")).code == 2
    ran = deck.run("status", deck.primary, "--prometheus", str(tmp_path / "gone" / "x.prom"))
    assert (ran.code, ran.out.startswith("RESUME")) == (3, True), "the status is told all the same"
