"""The console on a made-up run in a temporary place: a trainer saves, things go wrong, and all of it is real files.

Nothing is left behind. Without a terminal the run saves once and its status is printed.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.notation import parse_age, parse_size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--interval", metavar="TIME", help="between two saves of the pretended run: 8s")
    parser.add_argument("--size", metavar="SIZE", help="of one checkpoint: 3.5MB")
    parser.add_argument("--keep", action="store_true", help="leave the files and print where they are")


def run(arguments: argparse.Namespace, terminal: Terminal, _interruption: Interruption) -> int:
    from ckptdeck.demo.run import DemoOptions
    from ckptdeck.demo.run import run as run_demo

    options = DemoOptions(keep=arguments.keep, as_json=terminal.as_json)
    if arguments.interval is not None:
        options = replace(options, interval=parse_age(arguments.interval))
    if arguments.size is not None:
        options = replace(options, size=parse_size(arguments.size))
    return run_demo(options)
