"""The user's own file: where it is, what it may say, and how it says no."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.core.errors import UsageError
from ckptdeck.monitor.user_config import UserConfig, default_path, read_user_config


def test_no_file_is_the_defaults(tmp_path: Path) -> None:
    assert read_user_config(None, {"XDG_CONFIG_HOME": str(tmp_path)}) == UserConfig()


def test_the_places_in_their_order(tmp_path: Path) -> None:
    default = tmp_path / "ckptdeck" / "config.toml"
    default.parent.mkdir()
    for path, primary in ((default, "/one"), (tmp_path / "v.toml", "/two"), (tmp_path / "e.toml", "/three")):
        path.write_text(f'primary = "{primary}"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert read_user_config(None, environ).primary == "/one"
    environ["CKPTDECK_CONFIG"] = str(tmp_path / "v.toml")
    assert read_user_config(None, environ).primary == "/two"
    assert read_user_config(str(tmp_path / "e.toml"), environ).primary == "/three"


def test_a_relative_xdg_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/op")
    assert default_path({"XDG_CONFIG_HOME": "relative"}) == "/home/op/.config/ckptdeck/config.toml"


def test_everything_it_may_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/op")
    path = tmp_path / "c.toml"
    path.write_text(
        'primary = "~/ckpt"\n[console]\ntheme = "night"\nstart_locked = false\nmouse = false\nbell = false\n'
        '[keys]\nmirror = "d"\n"overview.help" = ["f1", "?"]\noverview.down = "t"\n[keys.jobs]\ncancel = "k"\n'
    )
    keys = (("mirror", ("d",)), ("overview.help", ("f1", "?")), ("overview.down", ("t",)), ("jobs.cancel", ("k",)))
    assert read_user_config(str(path), {}) == UserConfig(str(path), "/home/op/ckpt", "night", False, False, False, keys)


def test_a_relative_primary_lies_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('primary = "runs/ckpt"\n')
    assert read_user_config(str(path), {}).primary == str(tmp_path / "runs" / "ckpt")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("primry = '/a'", "unknown key primry"),
        ("mirror = '/a'", "Allowed here: primary, console, keys"),
        ("[console]\nteme = 'x'", "unknown key console.teme"),
        ("[console]\nmouse = 'no'", "console.mouse must be true or false"),
        ("[console]\nmouse = 1", "console.mouse must be true or false"),
        ("[console]\nbell = 'off'", "console.bell must be true or false"),
        ("console = 3", "console must be a table"),
        ("primary = 3", "primary must be a text"),
        ("primary = ''", "primary must be a text"),
        ("primary = ", "not valid TOML"),
        (f"keys = {'[' * 5_000}", "not valid TOML"),
        ("keys = 'x'", "keys must be a table"),
        ("[keys]\nmirror = 1", "keys.mirror must be a key or a list of keys, not 1"),
        ("[keys]\nmirror = ''", "keys.mirror must be a key or a list of keys"),
        ("[keys]\nmirror = []", "keys.mirror must be a key or a list of keys"),
        ("[keys]\nmirror = ['d', 2]", "keys.mirror must be a key or a list of keys"),
        ("[keys.overview.mirror]\nkey = 'd'", "keys.overview.mirror must be a key or a list of keys"),
        ("[keys]\n'a.b' = 'd'\na.b = 'e'", "keys.a.b is said twice"),
    ],
)
def test_a_wrong_file_is_a_usage_error_that_names_it(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_user_config(str(path), {})
    assert str(path) in str(error.value)
    assert says in str(error.value)


def test_bytes_that_are_no_text_are_said_so(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        read_user_config(str(path), {})


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_user_config(str(tmp_path / "none.toml"), {})
