"""The bench itself works: small sizes, one round, and what its table says of a figure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.__main__ import main
from tests.bench.figures import Better, Row
from tests.bench.subject import all_subjects
from tests.bench.table import Baseline, keep_baseline, mark_of, read_baseline, table


def test_a_run_gives_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    arguments = ["verify", "--rounds", "1", "--scale", "0.0001", "--room", str(tmp_path), "--json", str(file)]
    assert main(arguments) in (0, 1)  # what small sizes and a busy machine come to says nothing
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [row for row in rows if row["name"].startswith("ckptdeck verify")]
    assert all(row["value"] is not None or row["note"].startswith("not here") for row in rows)
    assert "ckptdeck verify" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [file]


def test_subjects_are_found_by_being_there() -> None:
    assert "verify" in [subject.name for subject in all_subjects()]


@pytest.mark.parametrize(
    ("row", "before", "mark"),
    [
        pytest.param(Row("s", "n", 1.0, reach=1.1), 1.0, "", id="well"),
        pytest.param(Row("s", "n", 1.2, reach=1.1), 1.1, "✗ reach", id="not reached"),
        pytest.param(Row("s", "n", 1.0, reach=1.1), 0.8, "▲ worse than 0.80", id="a fifth worse"),
        pytest.param(Row("s", "n", 70.0, "%", 95.0, Better.HIGHER), 99.0, "✗ reach, ▲ worse than 99.00", id="both"),
        pytest.param(Row("s", "n", None, reach=1.1), 1.0, "", id="not here"),
    ],
)
def test_marks(row: Row, before: float, mark: str) -> None:
    assert mark_of(row, Baseline("", "", {row.key: before})) == mark
    assert mark in table([row], Baseline("", "", {row.key: before}))


def test_a_baseline_keeps_what_is_not_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    one, other = Row("s", "one", 1.0), Row("s", "other", 2.0)
    keep_baseline([one, other], "2026-01-01", path)
    keep_baseline([replace(one, value=3.0), replace(other, value=None)], "2026-01-02", path)
    kept = read_baseline(path)
    assert (kept.date, kept.values) == ("2026-01-02", {one.key: 3.0, other.key: 2.0})
