from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.monitor.view_state import ViewState, load_view_state, save_view_state, view_state_path


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    path = view_state_path({"XDG_STATE_HOME": str(tmp_path)})
    assert path == str(tmp_path / "ckptdeck" / "view.json")
    state = ViewState(order="worst", theme="light", filters=("-safe", "1750"))
    assert save_view_state(path, state)
    assert load_view_state(path) == state
    assert [entry.name for entry in (tmp_path / "ckptdeck").iterdir()] == ["view.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"order": 3}', '{"filters": 3}', '{"filters": [1, {}]}', '{"colour": "x"}', "\xff"]
)
def test_nonsense_means_defaults(tmp_path: Path, text: str) -> None:
    path = tmp_path / "view.json"
    path.write_bytes(text.encode("latin-1"))
    assert load_view_state(str(path)) == ViewState()


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "ckptdeck").write_text("a file where a directory should be")
    assert not save_view_state(str(tmp_path / "ckptdeck" / "view.json"), ViewState())


@pytest.mark.parametrize("environment", [{}, {"XDG_STATE_HOME": "relative"}])
def test_the_state_directory_has_a_default(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert view_state_path(environment) == "/home/someone/.local/state/ckptdeck/view.json"
