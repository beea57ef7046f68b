"""The pretended training run as a process of its own: `python -m ckptdeck.demo.trainer DIR`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from ckptdeck.demo.training import Stopped, Training, train


def main(arguments: Sequence[str] | None = None) -> int:
    options = vars(_parser().parse_args(arguments))
    until_eof = options.pop("until_eof")
    stop = threading.Event()

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ask_to_stop)
    if until_eof:
        threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()
    with contextlib.suppress(Stopped):
        train(Training(**options), stop)
    return 0


def _stop_at_end_of_input(stop: threading.Event) -> None:
    """The kernel closes the other end of the pipe whatever ended the parent, SIGKILL included."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop.set()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ckptdeck.demo.trainer",
        description="A pretended training run that keeps saving real checkpoints of made-up weights into DIR.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    usual = Training(directory="")
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--first-step", type=int, default=usual.first_step, metavar="STEP", help="step of the first")
    parser.add_argument("--step-interval", type=int, default=usual.step_interval, metavar="N", help="steps between two")
    parser.add_argument("--saves", type=int, default=usual.saves, metavar="N", help="how many, then end")
    parser.add_argument("--interval", type=float, default=usual.interval, metavar="S", help="seconds between two")
    parser.add_argument("--size", type=int, default=usual.size, metavar="BYTES", help="of one checkpoint, about")
    parser.add_argument("--seed", default=usual.seed, help="other weights for another one")
    parser.add_argument(
        "--direct-every",
        type=int,
        default=usual.direct_every,
        metavar="N",
        help="every so many, one goes straight to its final name (unsafe); 0: never",
    )
    parser.add_argument("--until-eof", action="store_true", help="also end when standard input is closed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
