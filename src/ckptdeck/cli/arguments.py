"""What the words of a command line mean: directories and names, and the options commands share.

An argument that contains a slash, or is `.` or `..`, is a directory; every other one is the name of a checkpoint.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.errors import UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.naming import NameRole, read_name
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.command_line import directory_word
from ckptdeck.monitor.user_config import read_user_config


class Help(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. Left alone it loads `shutil` and its compressors to find that out, whenever a command
    has an option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are errors like any other of ours, with exit code 2 and a JSON form."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            f"`{self.prog}` was not understood: {visible(message)}",
            next_step=f"`{self.prog} --help` shows what is possible",
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sets and which checkpoints a command is about. Directories as given, `mirror` None for the paired one."""

    primary: str
    mirror: str | None
    names: tuple[str, ...]


def _columns() -> int:
    """Of the terminal that help is read on, or of COLUMNS; 80 where neither says."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal, or nothing at all
        return 80


# --- options several commands share


def add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout, errors included")
    parser.add_argument("--quiet", action="store_true", help="no progress and no notes; answers and errors stay")


def add_selection(parser: argparse.ArgumentParser, *, names: str = "") -> None:
    """DIR arguments and, when `names` says what they are for, NAME arguments."""
    words = "[PRIMARY] [MIRROR] [NAME ...]" if names else "[PRIMARY] [MIRROR]"
    help_text = "directories contain a slash (or are . and ..), primary first"
    parser.add_argument("words", nargs="*", metavar=words, help=f"{help_text}; {names}" if names else help_text)
    add_directory_options(parser)
    parser.set_defaults(takes_names=bool(names))


def add_directory_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--primary", metavar="DIR", help="the set the trainer writes")
    parser.add_argument("--mirror", metavar="DIR", help="the second set; by default the one it was paired with")
    parser.add_argument("--config", metavar="FILE", help="read this instead of your own configuration file")


def add_action_options(parser: argparse.ArgumentParser) -> None:
    """What every command that works from a plan takes."""
    parser.epilog = (
        "Exit code 4 when a guard holds back what was named. Without names what only has to become quiet is left for\n"
        "the next time, which is 0; when there was nothing else to do it says when to come back."
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan and write nothing")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument(
        "--only-plan", metavar="FILE", help="apply a plan saved by `--dry-run --json`: may skip items, never add one"
    )


# --- words


def is_directory_word(word: str) -> bool:
    return "/" in word or word in (".", "..")


def select(
    arguments: argparse.Namespace, fs: FileSystem, environ: Mapping[str, str], *, look: bool = True
) -> Selection:
    """Turns the words and options of a command into a Selection. Raises UsageError, each with the right spelling.

    Without `look` nothing that was named is touched, and a checkpoint given as a directory is not told."""
    command: str = arguments.command
    words: Sequence[str] = arguments.words
    directories = [word for word in words if is_directory_word(word)]
    names = tuple(word for word in words if not is_directory_word(word))
    if len(directories) > 2:
        raise UsageError(
            f"{len(directories)} directories were given: {', '.join(map(visible, directories))}",
            why="A command is about one primary and one mirror; names of checkpoints are written without a directory",
            next_step=f"Write `ckptdeck {command} PRIMARY MIRROR NAME...`",
        )
    primary = _one(arguments.primary, directories, 0, "primary")
    mirror = _one(arguments.mirror, directories, 0 if arguments.primary else 1, "mirror")
    for directory in (primary, mirror):
        if directory is not None and look:
            _refuse_checkpoint(directory, arguments, fs)
    if names and not arguments.takes_names:
        raise UsageError(
            f"`ckptdeck {command}` takes no names, but {visible(names[0])} is one",
            why="A directory contains a slash",
            next_step=f"For a directory write `{shell_word(directory_word(names[0]))}`",
        )
    if primary is None:
        primary = _default_primary(arguments.config, command, names, fs, environ)
    return Selection(primary, mirror, tuple(dict.fromkeys(names)))


def _one(option: str | None, directories: list[str], position: int, role: str) -> str | None:
    positional = directories[position] if len(directories) > position else None
    if option is None:
        return positional
    if len(directories) > (1 if role == "primary" else position):
        raise UsageError(
            f"The {role} is given twice: {visible(option)} and {visible(directories[-1])}",
            next_step=f"Leave one of them out: either --{role} DIR or the directory by its place",
        )
    return option


def _default_primary(
    config: str | None, command: str, names: tuple[str, ...], fs: FileSystem, environ: Mapping[str, str]
) -> str:
    user = read_user_config(config, environ)
    if user.primary is not None:
        return user.primary
    if find_set(fs, ".", Role.PRIMARY).control is not None:
        return "."
    hint = " ".join(shell_word(name) for name in names) or ""
    raise UsageError(
        "No checkpoint set was named",
        why="The current directory is none (it has no control directory) and no configuration file names a primary",
        next_step=f"Write `ckptdeck {command} DIR {hint}".rstrip()
        + '` with a slash in DIR (./checkpoints, /data/ckpt), or put primary = "/data/ckpt" into your own file',
    )


def _refuse_checkpoint(path: str, arguments: argparse.Namespace, fs: FileSystem) -> None:
    """A checkpoint given as a directory gets the spelling that was meant."""
    try:
        status = os.stat(path)
    except OSError:
        return  # what is wrong with it is found, and said, by whoever opens the set
    parent, name = os.path.split(os.path.abspath(path))
    if stat.S_ISDIR(status.st_mode) and not _is_member(fs, path, parent, name):
        return
    kind = "a checkpoint" if stat.S_ISDIR(status.st_mode) else "a file"
    given = os.path.dirname(path.rstrip("/"))
    directory = directory_word(given) if given else "."
    meant = (directory, name) if arguments.takes_names else (directory,)
    raise UsageError(
        f"{visible(path)} is {kind}, not a checkpoint set",
        why="A set is a directory of checkpoints, and a checkpoint is named without its directory",
        next_step=f"Write `ckptdeck {arguments.command} {' '.join(map(shell_word, meant))}`",
    )


def _is_member(fs: FileSystem, path: str, parent: str, name: str) -> bool:
    if find_set(fs, path, Role.PRIMARY).control is not None:
        return False
    around = find_set(fs, parent, Role.PRIMARY)
    if around.condition is Condition.UNINITIALISED or around.control is None:
        return False
    return read_name(name, True, DEFAULT_POLICY).role in (NameRole.CHECKPOINT, NameRole.ROLLING)
