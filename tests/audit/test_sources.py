"""Which files are looked at: each once, no tests, no links into loops, no installed packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptdeck.audit.audit import audit
from ckptdeck.audit.sources import Source, find_sources

SAVE = "import torch\ntorch.save(model.state_dict(), 'model.pt')\n"


def put(path: Path, text: str = SAVE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names(*paths: Path) -> list[str]:
    return [Path(source.path).name for source in find_sources([str(path) for path in paths]) if not source.is_test]


def test_python_files_below_each_directory_by_name_before_those_further_down(tmp_path: Path) -> None:
    for name in ("b.py", "a.pyw", "c.txt", "d.sh", "inner/e.py", "aa/f.py"):
        put(tmp_path / name)
    assert names(tmp_path) == ["a.pyw", "b.py", "f.py", "e.py"]


def test_tests_are_left_out_below_a_directory_and_looked_at_when_named(tmp_path: Path) -> None:
    for name in ("tests/helper.py", "test_a.py", "a_test.py", "conftest.py", "testing_utils.py", "contest.py"):
        put(tmp_path / name)
    assert names(tmp_path) == ["contest.py"]
    assert audit([str(tmp_path)]).tests == 5
    named = audit([str(tmp_path / "test_a.py")])
    assert (named.tests, named.found) == (0, 1)


def test_what_is_not_the_user_s_is_left_out(tmp_path: Path) -> None:
    for name in (".git/a.py", "__pycache__/a.py", "node_modules/a.py", "env/lib/site-packages/a.py", "venv/b.py"):
        put(tmp_path / name)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    put(tmp_path / "own.py")
    assert names(tmp_path) == ["own.py"]
    assert names(tmp_path / "env" / "lib" / "site-packages") == ["a.py"]


def test_each_file_once_and_no_loop(tmp_path: Path) -> None:
    source = put(tmp_path / "src" / "a.py")
    (tmp_path / "src" / "loop").symlink_to(tmp_path / "src")
    (tmp_path / "src" / "again.py").symlink_to(source)
    (tmp_path / "src" / "gone.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "src" / "self.py").symlink_to("self.py")
    found = list(find_sources([str(tmp_path / "src"), str(source)]))
    assert [Path(one.path).name for one in found if not one.error] == ["a.py"]


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "directory.py").mkdir()
    assert names(tmp_path) == []
    pipe = str(tmp_path / "pipe.py")
    assert list(find_sources([pipe])) == [Source(pipe, error="neither a file nor a directory")]


def test_what_cannot_be_listed_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "shut" / "a.py")
    put(tmp_path / "z.py")
    really = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = audit([str(tmp_path)])
    assert [(Path(one.path).name, one.note) for one in report.reports] == [
        ("z.py", ""),
        ("shut", "cannot be listed: Permission denied"),
    ]


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        audit([str(tmp_path / "nowhere")])


def test_progress_is_told_in_bytes_and_may_end_the_audit(tmp_path: Path) -> None:
    put(tmp_path / "a.py")
    put(tmp_path / "b.py")
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit([str(tmp_path)], tell)
    assert told == [(0, 2 * len(SAVE)), (len(SAVE), 2 * len(SAVE))]
