"""`ckptdeck COMMAND [PRIMARY] [MIRROR] [NAME...] [options]`: finds the command, runs it, answers with an exit code.

Only the module of the command that runs is imported, so that `resume` in a launch script starts in no time.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

from ckptdeck import __version__
from ckptdeck.cli.leaving import leave
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import CkptdeckError, UsageError, from_os_error
from ckptdeck.core.safe_text import visible

BUG = 70
CANCELLED = 130
DEBUG_VARIABLE = "CKPTDECK_DEBUG"


class Command(NamedTuple):
    """One command: its module has `add_arguments(parser)` and `run(arguments, terminal, interruption) -> int`."""

    module: str
    summary: str
    usage: str = "[PRIMARY] [MIRROR]"


COMMANDS = {
    "init": Command("init", "make directories sets: control directories, pairing, policy", "PRIMARY [MIRROR]"),
    "status": Command("status", "both sides, what is being written, space, the resume point"),
    "resume": Command("resume", "print the path of the newest whole checkpoint"),
    "verify": Command("verify", "hash against the records, newest first", "[PRIMARY] [MIRROR] [NAME...]"),
    "adopt": Command("adopt", "record checkpoints that have no record", "[PRIMARY] [MIRROR] [NAME...]"),
    "mirror": Command("mirror", "copy to the mirror what it lacks, proven", "[PRIMARY] [MIRROR] [NAME...]"),
    "repair": Command("repair", "replace a bad copy from the whole side", "[PRIMARY] [MIRROR] [NAME...]"),
    "restore": Command("restore", "copy from the mirror back to the primary", "[PRIMARY] [MIRROR] [NAME...]"),
    "prune": Command("prune", "delete what the retention does not keep, guarded"),
    "quarantine": Command("quarantine", "set bad copies aside by one rename", "[PRIMARY] [MIRROR] [NAME...]"),
    "quarantined": Command("quarantined", "list what was set aside"),
    "purge": Command("purge", "free what was set aside, for good", "[PRIMARY] [MIRROR] [ID...]"),
    "space": Command("space", "how long the disks will do, and what if"),
    "recover": Command("recover", "after a reboot or crash: one plan, one answer"),
    "publish": Command("publish", "give a file or directory its name atomically", "SOURCE [PRIMARY] [--as NAME]"),
    "pin": Command("pin", "protect a checkpoint on both sides", "NAME"),
    "unpin": Command("unpin", "take the protection back", "NAME"),
    "mark-bad": Command("mark_bad", "declare a content bad, and every copy of it", "NAME"),
    "unmark-bad": Command("unmark_bad", "take that back", "NAME"),
    "rollback": Command("rollback", "go back to a step: later ones are set aside", "[PRIMARY] [MIRROR] STEP"),
    "export": Command("export", "the manifest as an `xxhsum --check` file"),
    "watch": Command("watch", "follow both sides without a screen, act by policy"),
    "audit": Command("audit", "find code that writes straight to a final name", "PATH..."),
    "config": Command("config", "what is in force, and from where"),
    "console": Command("console", "the console (also: `ckptdeck DIR [DIR]`)"),
    "demo": Command("demo", "the console on a made-up live scene", ""),
}
_SELDOM = (1_000_000, 10, 10)
"""When garbage is looked for. A survey of a large set is some hundred thousand objects that hold no cycles, and looking
through them at the usual intervals takes as long as reading the set."""
LONG_LIVED = frozenset({"watch"})
"""What runs for weeks looks for garbage as usual: what is small for one survey adds up."""
OWN_SIGNALS = frozenset({"console", "demo"})
"""The console restores the terminal itself before it ends."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code (3-cli.md); never raises.

    That of this process, when no `argv` is given; then the process ends with it as soon as nobody has to be waited for.
    """
    if argv is None:
        _open_closed_streams()
    words = [_as_file_system_text(word) for word in (sys.argv[1:] if argv is None else argv)]
    options = words[: words.index("--")] if "--" in words else words
    terminal = Terminal(as_json="--json" in options, quiet="--quiet" in options)
    try:
        code = _run(words, terminal)
    except CkptdeckError as error:
        code = _fail(terminal, error)
    except KeyboardInterrupt:
        code = _fail(terminal, _interrupted())
    except BrokenPipeError:
        code = 141  # what a shell reports for a program that ended by SIGPIPE
    except OSError as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        code = _fail(terminal, from_os_error(error, _doing(error)))
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        code = _report_bug(terminal, error)
    terminal.flush()
    if argv is None:
        leave(code)
    return code


def _open_closed_streams() -> None:
    """Opens on nothing what the caller closed (`ckptdeck ... >&-`).

    The next file opened would else get its number, and that may be a checkpoint being written.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor != number:
            os.dup2(descriptor, number)
            os.close(descriptor)
        setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115 - lives as long as the process


def _run(words: list[str], terminal: Terminal) -> int:
    if words and words[0] in ("-h", "--help", "help"):
        return _help(words[1:], terminal)
    if words and words[0] in ("-V", "--version"):
        terminal.say(f"ckptdeck {__version__}")
        return 0
    name, rest = _command_of(words)
    command = COMMANDS[name]
    module = importlib.import_module(f"ckptdeck.cli.{command.module}")
    parser = _parser(name, command, module)
    try:
        arguments = parser.parse_intermixed_args(rest)
    except SystemExit as end:  # argparse ends the program after --help
        return int(end.code or 0)
    arguments.command = name
    from ckptdeck.cli.interruption import Interruption

    interruption = Interruption()
    with contextlib.ExitStack() as around:
        if name not in LONG_LIVED:
            around.enter_context(_garbage_seldom())
        if name not in OWN_SIGNALS:
            around.enter_context(interruption.installed())
        return int(module.run(arguments, terminal, interruption))


@contextlib.contextmanager
def _garbage_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _command_of(words: list[str]) -> tuple[str, list[str]]:
    """The command and what follows it; without one it is the console."""
    if words and words[0] in COMMANDS:
        return words[0], words[1:]
    if words and not words[0].startswith("-") and not _is_directory(words[0]):
        import difflib

        close = difflib.get_close_matches(words[0], COMMANDS, n=1)
        hint = f"Did you mean `ckptdeck {close[0]}`?" if close else f"Commands: {', '.join(COMMANDS)}"
        raise UsageError(
            f"There is no command `{visible(words[0])}`",
            why="A directory contains a slash" if os.path.isdir(words[0]) else "",
            next_step=f"Write `ckptdeck ./{visible(words[0])}`" if os.path.isdir(words[0]) else hint,
        )
    return "console", words


def _parser(name: str, command: Command, module: ModuleType) -> argparse.ArgumentParser:
    from ckptdeck.cli.arguments import Help, Parser, add_output_options

    parser = Parser(
        prog=f"ckptdeck {name}",
        usage=f"ckptdeck {name} {command.usage} [options]".replace("  ", " "),
        description=(module.__doc__ or command.summary).strip(),
        formatter_class=Help,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    add_output_options(parser)
    return parser


def _help(topic: list[str], terminal: Terminal) -> int:
    if topic and topic[0] in COMMANDS:
        return _run([topic[0], "--help"], terminal)
    width = max(map(len, COMMANDS))
    lines = [
        "usage: ckptdeck COMMAND [PRIMARY] [MIRROR] [NAME...] [options]",
        "       ckptdeck [PRIMARY [MIRROR]]          the console",
        "",
        "Keeps the checkpoints of a training run whole, proven and within their disks.",
        "A directory contains a slash (or is . or ..), the primary comes first; every other word is a name.",
        "",
        "commands:",
        *(f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()),
        "",
        "Every command takes --json, --quiet and --help. `ckptdeck COMMAND --help` shows the rest.",
        "exit codes: 0 well, 1 findings, 2 usage, 3 partly done, 4 refused or not confirmed, 5 lock held, 6 no space,",
        "            7 volume suspect, 8 nothing whole, 9 fresh run, 130 cancelled; any other is a failure",
        "            A guard that holds back what was named is 4. Without names what only has to become quiet waits: 0",
    ]
    for line in lines:
        terminal.say(line)
    return 0


def _fail(terminal: Terminal, error: CkptdeckError) -> int:
    from ckptdeck.cli.json_output import error_document

    terminal.document(error_document(error))
    terminal.complain(str(error))
    return error.exit_code


def _report_bug(terminal: Terminal, error: Exception) -> int:
    where = _where(error)
    text = (
        f"This is a bug in ckptdeck {__version__}, not a fault of your files: {type(error).__name__}"
        f"{f': {visible(str(error))}' if str(error) else ''} (at {where}). Nothing unfinished has a final name. "
        f"Please report it with the command line; {DEBUG_VARIABLE}=1 shows the whole traceback."
    )
    terminal.document(
        {"schema": "ckptdeck.error/1", "code": "bug", "exit_code": BUG, "guard": None, "what": text, "text": text}
    )
    terminal.complain(text)
    return BUG


def _where(error: Exception) -> str:
    trace = error.__traceback__
    if trace is None:
        return "an unknown place"
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return f"{os.path.basename(code.co_filename)}:{trace.tb_lineno} {code.co_name}"


def _interrupted() -> CkptdeckError:
    from ckptdeck.core.errors import Cancelled

    return Cancelled("Cancelled", next_step="What was unfinished has no final name; run the command again to go on")


def _doing(error: OSError) -> str:
    return f"Working on {visible(os.fsdecode(error.filename))}" if error.filename else "A file operation"


def _is_directory(word: str) -> bool:
    return "/" in word or word in (".", "..")


def _as_file_system_text(word: str) -> str:
    return os.fsdecode(os.fsencode(word))
