"""Takes the protection of `pin` back, on both sides."""

from __future__ import annotations

import argparse

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.pin import change_pins
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.manifest import Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="the NAMEs to protect no longer")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    change_pins(open_session(arguments, terminal, interruption), Manifest.drop_pin, action="unpin", done="unpinned")
    return 0
