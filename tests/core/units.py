"""Directories and groups on disk for tests, at rest for a day unless they say otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.sighting import Identity
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import Unit, look_at

HOSTILE = tuple(
    os.fsdecode(name)
    for name in (
        b"new\nline.pt",
        b"tab\tand\x1b[31mred.pt",
        b"b\xff\xfe.pt",
        b"[bold red]markup[/] & <b>.pt",
        b"back\\slash.pt",
        b"it's a 'quote' $(reboot) `id`.pt",
        b"at@",
        b"at",
        b" leading and trailing ",
        b"-rf",
        b"...",
        b"\xe2\x80\xaebidi.pt",
        b"x" * 252 + b".pt",
    )
)
"""Names that anything inside a directory may have."""


def fill(root: Path, files: Mapping[str, bytes | str | None], *, at: float | None = None) -> Path:
    """A directory at `root`: bytes are a file, a text is a link to it, None an empty directory. Times are `at`."""
    root.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            place.mkdir()
        elif isinstance(content, str):
            place.symlink_to(content)
        else:
            place.write_bytes(content)
    if at is not None:
        rest(root, at)
    return root


def rest(root: Path, at: float) -> None:
    """Sets the times of everything below `root`, and of it, to `at`."""
    for directory, names, files in os.walk(root):
        for name in (*names, *files):
            os.utime(os.path.join(directory, name), (at, at), follow_symlinks=False)
    os.utime(root, (at, at))


def seen(root: Path, kind: Kind = Kind.DIRECTORY, members: tuple[str, ...] = ()) -> Identity:
    """What a look gives."""
    return look_at(FileSystem(), Unit(str(root.parent), root.name, kind, members))


def contents(root: Path) -> dict[str, bytes | str | None]:
    """Everything below `root` as `fill` takes it; directories that hold something are implied."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[inside] = os.readlink(path)
        elif not path.is_dir():
            found[inside] = path.read_bytes()
        elif not any(path.iterdir()):
            found[inside] = None
    return found
