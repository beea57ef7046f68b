"""What is done, as a line for a shell: shown in the console, kept in the log, printed by refusals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ckptdeck.core.safe_text import shell_word

if TYPE_CHECKING:
    from ckptdeck.core.plans.plan import Plan


def command_line(plan: Plan, primary: str, mirror: str | None) -> str:
    """The plan as `ckptdeck ACTION PRIMARY MIRROR NAME... --options`, ready to be pasted."""
    return action_line(plan.action, primary, mirror, plan.names, plan.options)


def action_line(
    action: str,
    primary: str,
    mirror: str | None,
    names: Iterable[str] = (),
    options: Mapping[str, str] | None = None,
) -> str:
    """Any command of ckptdeck as a line for a shell. An option whose value is "true" is a flag, "false" is left out."""
    words = ["ckptdeck", action, directory_word(primary)]
    if mirror is not None:
        words.append(directory_word(mirror))
    names = tuple(names)
    for key, value in (options or {}).items():
        if value == "false":
            continue
        if action == "rollback" and key == "step":
            names = (value,)
            continue
        words.append("--" + key.replace("_", "-"))
        if value != "true":
            words.append(value)
    if any(name.startswith("-") for name in names):
        words.append("--")
    words.extend(names)
    return " ".join(shell_word(word) for word in words)


def directory_word(path: str) -> str:
    """`path` so that the command line takes it for a directory, which it knows by a slash (or `.` and `..`)."""
    if "/" in path or path in (".", ".."):
        return path
    return os.path.join(".", path)
