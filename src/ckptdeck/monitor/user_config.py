"""The user's own file: which primary is meant when none is named, how the console looks, and its keys."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ckptdeck.core.errors import UsageError, describe_os_error
from ckptdeck.core.safe_text import visible
from ckptdeck.core.values import dataclass

CONFIG_VARIABLE = "CKPTDECK_CONFIG"


@dataclass(frozen=True, slots=True)
class UserConfig:
    """What the user's file says; the defaults where it says nothing."""

    path: str | None = None
    """Where it was read from, None when there is no file."""
    primary: str | None = None
    """Absolute path of the primary that is meant when a command names none."""
    theme: str | None = None
    """Name of a console theme; None for the console's own choice."""
    start_locked: bool = True
    mouse: bool = True
    bell: bool = True
    """Whether new trouble rings, and shows a notification where the terminal has one."""
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(`place.action`, or `action` for every place it is at home; its keys as written). The console knows which there
    are, and checks them."""


_ALLOWED: dict[str, dict[str, type]] = {
    "": {"primary": str, "console": dict, "keys": dict},
    "console": {"theme": str, "start_locked": bool, "mouse": bool, "bell": bool},
}
_WORDS = {str: "a text", bool: "true or false", dict: "a table"}


def read_user_config(explicit: str | None, environ: Mapping[str, str]) -> UserConfig:
    """Reads `explicit` (`--config`), else `$CKPTDECK_CONFIG`, else the user's own file if there is one.

    Raises UsageError naming file, key and what is allowed.
    """
    named = named_path(explicit, environ)
    path = named or default_path(environ)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        if named is None and isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return UserConfig()
        raise UsageError(
            f"The configuration file cannot be read: {describe_os_error(error, path)}",
            next_step=f"Correct the path given by --config or ${CONFIG_VARIABLE}, or leave it out",
        ) from error
    return _decode(data, path)


def named_path(explicit: str | None, environ: Mapping[str, str]) -> str | None:
    """`explicit` (`--config`), else `$CKPTDECK_CONFIG`; None when neither names a file."""
    return explicit or environ.get(CONFIG_VARIABLE) or None


def default_path(environ: Mapping[str, str]) -> str:
    """`$XDG_CONFIG_HOME/ckptdeck/config.toml`, by default below `~/.config`."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # the XDG rule: a relative value is to be ignored
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "ckptdeck", "config.toml")


def _decode(data: bytes, path: str) -> UserConfig:
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(
            f"{visible(path)} is not valid TOML: {visible(str(error))}", next_step="Correct the file"
        ) from error
    _check(document, "", path)
    console = document.get("console", {})
    _check(console, "console", path)
    primary = document.get("primary")
    if primary is not None:
        primary = os.path.join(os.path.dirname(os.path.abspath(path)), os.path.expanduser(primary))
    return UserConfig(
        path=path,
        primary=primary,
        theme=console.get("theme"),
        start_locked=console.get("start_locked", True),
        mouse=console.get("mouse", True),
        bell=console.get("bell", True),
        keys=tuple(_keys(document.get("keys", {}), path).items()),
    )


def _keys(table: Mapping[str, object], path: str) -> dict[str, tuple[str, ...]]:
    """The table of keys, with `overview.mirror` and a table `[keys.overview]` taken for `"overview.mirror"`."""
    keys: dict[str, tuple[str, ...]] = {}
    for name, value in table.items():
        inner = {f"{name}.{action}": one for action, one in value.items()} if isinstance(value, dict) else {name: value}
        for entry, written in inner.items():
            if entry in keys:
                raise UsageError(
                    f"{visible(path)}: keys.{visible(entry)} is said twice", next_step="Leave one of them out"
                )
            said: list[object] = written if isinstance(written, list) else [written]
            names = [key for key in said if isinstance(key, str) and key]
            if not names or len(names) < len(said):
                raise UsageError(
                    f"{visible(path)}: keys.{visible(entry)} must be a key or a list of keys, "
                    f"not {visible(repr(written))}",
                    next_step='Write it like "overview.mirror" = "m", or = ["m", "f6"]',
                )
            keys[entry] = tuple(names)
    return keys


def _check(table: Mapping[str, object], section: str, path: str) -> None:
    allowed = _ALLOWED[section]
    for key, value in table.items():
        full = f"{section}.{key}" if section else key
        if key not in allowed:
            raise UsageError(
                f"{visible(path)}: unknown key {visible(full)}",
                why=f"Allowed {f'in [{section}]' if section else 'here'}: {', '.join(allowed)}",
                next_step="What a set is to be treated like belongs into the ckptdeck.toml of its control directory",
            )
        if type(value) is not allowed[key] or value == "":
            raise UsageError(
                f"{visible(path)}: {full} must be {_WORDS[allowed[key]]}, not {visible(repr(value))}",
                next_step="Correct the file",
            )
