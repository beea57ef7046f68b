"""Who did what: written when it can be, read back whatever is in the file, and never in the way."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.monitor import log
from tests.monitor.making import StandingClock, made_up_host


def test_what_is_written_is_read_back_newest_first(tmp_path: Path) -> None:
    clock = StandingClock(1_790_000_000.25)
    host = made_up_host(clock)
    assert log.append(host, str(tmp_path), text="mirror: 1 done", outcome="done", command="ckptdeck mirror /a")
    clock.advance(60)
    assert log.append(host, str(tmp_path), text="verify: 1 corrupt", outcome="exit 1")
    newest, oldest = log.read_log(FileSystem(), str(tmp_path))
    assert (newest.text, newest.outcome, newest.command) == ("verify: 1 corrupt", "exit 1", host.command)
    assert (oldest.text, oldest.command, oldest.at) == ("mirror: 1 done", "ckptdeck mirror /a", 1_790_000_000.25)
    assert newest.who.endswith(f"@{host.name} pid {host.pid}")
    first = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])
    assert first["at"] == "2026-09-21T14:13:20.250+00:00"


def test_limit_and_tail(tmp_path: Path) -> None:
    host = made_up_host(StandingClock())
    for number in range(3000):
        log.append(host, str(tmp_path), text=f"entry {number}", outcome="done", command="x" * 60)
    assert (tmp_path / "log.jsonl").stat().st_size > 256 * 1024
    entries = log.read_log(FileSystem(), str(tmp_path), limit=1000)
    assert [entry.text for entry in entries[:2]] == ["entry 2999", "entry 2998"]
    assert len(entries) == 1000
    assert 1000 < len(log.read_log(FileSystem(), str(tmp_path), limit=10_000)) < 3000


def test_it_never_grows_without_bound_and_keeps_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST", 5_000)
    host = made_up_host(StandingClock())
    for number in range(60):
        log.append(host, str(tmp_path), text=f"entry {number}", outcome="done", command="x" * 400)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) == {"log.jsonl", "log.jsonl.1"}
    assert all(size < log.MOST + 1000 for size in sizes.values())
    told = [entry.text for entry in log.read_log(FileSystem(), str(tmp_path))]
    assert told == [f"entry {number}" for number in range(59, 59 - len(told), -1)]
    assert len(told) > 5_000 // 600, "the earlier file is read, too"


def test_who_comes_second_does_not_set_the_new_file_aside(tmp_path: Path) -> None:
    """Another process is between finding it long and giving it the other name."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"x" * log.MOST + b"\n")
    host = made_up_host(StandingClock())
    with path.open("ab") as other:
        assert FileSystem().try_lock(other.fileno())
        assert log.append(host, str(tmp_path), text="ours", outcome="done")
        assert os.listdir(tmp_path) == ["log.jsonl"]
        os.rename(path, tmp_path / "log.jsonl.1")
    assert log.append(host, str(tmp_path), text="later", outcome="done")
    assert [entry.text for entry in log.read_log(FileSystem(), str(tmp_path))] == ["later", "ours"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"at": "soon"}', b'{"at": 3}', b"\0\0\0"])
def test_a_damaged_line_is_left_out(tmp_path: Path, damage: bytes) -> None:
    host = made_up_host(StandingClock())
    log.append(host, str(tmp_path), text="one", outcome="done")
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(damage + b"\n")
    log.append(host, str(tmp_path), text="two", outcome="done")
    assert [entry.text for entry in log.read_log(FileSystem(), str(tmp_path))] == ["two", "one"]


def test_hostile_text_stays_one_line(tmp_path: Path) -> None:
    host = made_up_host(StandingClock())
    log.append(host, str(tmp_path), text="two\nlines \udcff", outcome="done")
    assert (tmp_path / "log.jsonl").read_bytes().count(b"\n") == 1
    assert log.read_log(FileSystem(), str(tmp_path))[0].text == "two\nlines \udcff"


class Full(FileSystem):
    def write(self, fd: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    host = made_up_host(StandingClock())
    assert not log.append(host, None, text="x", outcome="done")
    assert not log.append(host, str(tmp_path / "nowhere"), text="x", outcome="done")
    assert not log.append(made_up_host(StandingClock(), Full()), str(tmp_path), text="x", outcome="done")
    assert log.read_log(FileSystem(), None) == ()
    assert log.read_log(FileSystem(), str(tmp_path / "nowhere")) == ()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    (tmp_path / "log.jsonl").symlink_to(victim)
    assert not log.append(made_up_host(StandingClock()), str(tmp_path), text="x", outcome="done")
    assert victim.read_text() == "mine\n"


def test_a_user_without_a_name_is_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nameless)
    log.append(made_up_host(StandingClock()), str(tmp_path), text="x", outcome="done")
    assert log.read_log(FileSystem(), str(tmp_path))[0].who.startswith(f"uid {os.getuid()}@")
