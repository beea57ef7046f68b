"""Gives a finished file or directory its name in a set, atomically: staged, made durable, read back, then renamed.

SOURCE comes first; `-` is stdin and needs --as. A name that exists is refused unless --replace is given.

    torch-export | ckptdeck publish - /data/ckpt --as step_0810.pt --metric loss=1.93
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from ckptdeck.cli.arguments import add_directory_options
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.json_output import warnings_list
from ckptdeck.cli.session import Session, open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.amounts import size_text
from ckptdeck.core.errors import Refused, SourceChanged, UsageError, describe_os_error, from_os_error
from ckptdeck.core.naming import read_name
from ckptdeck.core.progress import Progress
from ckptdeck.core.publish import Intent, Published, publish
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.core.states import Role
from ckptdeck.core.transfer_tree import publish_copy
from ckptdeck.monitor import log

STDIN = "-"
_CHUNK = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="the finished file or directory, or - for stdin")
    parser.add_argument("words", nargs="*", metavar="PRIMARY", help="the set; a directory contains a slash")
    parser.add_argument("--as", dest="name", metavar="NAME", help="its name in the set; by default that of SOURCE")
    parser.add_argument("--step", type=int, metavar="N", help="its step; by default the one in its name")
    parser.add_argument("--metric", action="append", default=[], metavar="KEY=NUMBER", help="kept in its record")
    parser.add_argument("--replace", action="store_true", help="replace a checkpoint of that name")
    add_directory_options(parser)
    parser.set_defaults(takes_names=False)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    source = arguments.source if arguments.source == STDIN else os.path.realpath(arguments.source)
    name = arguments.name or os.path.basename(os.path.normpath(arguments.source))
    if arguments.name is None and arguments.source == STDIN:
        raise UsageError("What comes from stdin has no name", next_step="Add --as NAME")
    metrics = _metrics(arguments.metric)
    if arguments.step is not None and arguments.step < 0:
        raise UsageError(f"A step is not negative: {arguments.step}")
    session = open_session(arguments, terminal, interruption)
    is_directory = source != STDIN and os.path.isdir(source)
    step = arguments.step if arguments.step is not None else read_name(name, is_directory, session.policy).step
    intent = Intent(name=name, step=step, metrics=metrics, replace=arguments.replace, readback=True)
    if is_directory:
        published = _publish_directory(session, source, intent)
    else:
        with _opened(arguments.source, terminal) as stream:
            status = os.fstat(stream.fileno())
            mode = stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None
            published = _publish(session, stream, status, arguments.source, replace(intent, mode=mode))
    _report(session, published, intent)
    return 0


def _publish_directory(session: Session, source: str, intent: Intent) -> Published:
    with session.working() as (effort, _bar):
        try:
            return publish_copy(session.host, source, session.pair.primary, intent, effort)
        except OSError as error:
            raise from_os_error(error, f"Publishing {visible(intent.name)}") from error


def _publish(session: Session, source: BinaryIO, status: os.stat_result, path: str, intent: Intent) -> Published:
    with session.working() as (effort, _bar):
        with publish(session.host, session.pair.primary, intent, effort) as (target, result):
            done = 0
            while chunk := _read(source, path):
                effort.check()
                target.write(chunk)
                done += len(chunk)
                effort.report(Progress("copy", intent.name, Role.PRIMARY, done, max(done, status.st_size)))
            _require_still(source, path, status, done)
            if done == 0:
                raise Refused(
                    f"Nothing came from {'stdin' if path == STDIN else visible(path)}",
                    guard="empty",
                    why="0 bytes are no checkpoint; the command before the pipe has probably failed",
                    next_step=f"Nothing was given the name {visible(intent.name)}",
                )
    return result


def _read(source: BinaryIO, path: str) -> bytes:
    try:
        return source.read(_CHUNK)
    except OSError as error:
        raise from_os_error(error, f"Reading {visible(path)}") from error


def _require_still(source: BinaryIO, path: str, before: os.stat_result, done: int) -> None:
    """A regular source is copied whole or not at all (R3)."""
    after = os.fstat(source.fileno())
    if stat.S_ISREG(before.st_mode) and (before.st_size, before.st_mtime_ns, done) != (
        after.st_size,
        after.st_mtime_ns,
        after.st_size,
    ):
        raise SourceChanged(
            f"{visible(path)} changed while it was copied",
            why="Somebody still writes it",
            next_step="Publish it once its writer is done; nothing was given a name",
        )


@contextlib.contextmanager
def _opened(path: str, terminal: Terminal) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield terminal.stdin.buffer
        return
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except OSError as error:
            raise UsageError(
                f"SOURCE cannot be opened: {describe_os_error(error, path)}",
                next_step="Check the path; SOURCE comes first, then the set",
            ) from error
        yield file


def _report(session: Session, published: Published, intent: Intent) -> None:
    record, receipt = published.record, published.receipt
    session.terminal.document(
        {
            "schema": "ckptdeck.publish/1",
            **json_name(intent.name),
            **json_name(published.path, "path"),
            "step": intent.step,
            "recorded": record is not None,
            "size": None if record is None else record.size,
            "digest": None if record is None else record.digest,
            "evidence": None if receipt is None else receipt.evidence.value,
            "warnings": warnings_list(published.warnings),
        }
    )
    details = ""
    if record is not None:
        details = f"  {size_text(record.size)}  xxh3_128 {record.digest}"
    if receipt is not None:
        details += f"  read back ({receipt.evidence})"
    session.terminal.say(f"published {visible(published.path)}{details}")
    log.append(session.host, session.pair.primary.control, text=f"publish {visible(intent.name)}", outcome="done")


def _metrics(pairs: list[str]) -> dict[str, float]:
    metrics = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not key or not equals or not math.isfinite(number):
            raise UsageError(
                f"--metric {visible(pair)} is not a name and a finite number", next_step="Write --metric loss=1.93"
            )
        metrics[key] = number
    return metrics
