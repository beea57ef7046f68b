"""A pretended training run that saves one checkpoint after the other into a directory.

It saves as a user of the library does, through `ckptdeck.publish`. Now and then it saves the way many trainers
still do, straight to the final name, so that there is something to see for a console that watches.
"""

from __future__ import annotations

import math
import os
import threading
from typing import BinaryIO

from ckptdeck import publish
from ckptdeck.core.values import dataclass
from ckptdeck.demo.torch_file import Sink, write_torch_file
from ckptdeck.demo.weights import Tensor, make_weights

ROLLING_NAME = "last.pt"
_CHUNK = 128 * 1024
_SAVING_SHARE = 0.6  # of the time between two saves; long enough to be watched


@dataclass(frozen=True, slots=True)
class Training:
    """What a pretended run does. Sizes in bytes, times in seconds."""

    directory: str
    first_step: int = 50
    step_interval: int = 50
    saves: int = 200
    """Ends after that many, so that a forgotten run does not fill a disk."""
    interval: float = 8.0
    size: int = 3_500_000
    seed: str = "demo"
    direct_every: int = 4
    """Every so many saves one goes straight to its final name, the second one first; 0: none does."""

    @property
    def steps(self) -> range:
        return range(self.first_step, self.first_step + self.saves * self.step_interval, self.step_interval)

    def saves_directly(self, save: int) -> bool:
        """Whether the save with this number, counted from 0, is an unsafe one."""
        return self.direct_every > 0 and save % self.direct_every == 1 % self.direct_every


class Stopped(Exception):
    """The run was told to end, maybe in the middle of a save."""


def checkpoint_name(step: int) -> str:
    return f"step_{step:04}.pt"


def loss_at(step: int) -> float:
    """A curve that falls like a real one and is the same every time."""
    return round(1.6 + 2.4 * math.exp(-step / 420) + 0.03 * math.sin(step / 37), 4)


def train(training: Training, stop: threading.Event) -> None:
    """Makes all saves, or raises Stopped once `stop` is set; a published save that is cut short has no name."""
    for save, step in enumerate(training.steps):
        weights = make_weights(training.size, f"{training.seed}/{step}")
        if training.saves_directly(save):
            _save_directly(training, step, weights, stop)
        else:
            _save(training, step, weights, stop)
        print(f"step {step} saved, loss {loss_at(step)}", flush=True)
        _pause(stop, training.interval * (1 - _SAVING_SHARE))


def _save(training: Training, step: int, weights: tuple[Tensor, ...], stop: threading.Event) -> None:
    loss = loss_at(step)
    name = checkpoint_name(step)
    with publish(training.directory, name, step=step, metrics={"loss": loss}) as stream:
        write_torch_file(_paced(stream, training, stop), weights, archive=_stem(name), step=step, loss=loss)
    with publish(training.directory, ROLLING_NAME, metrics={"loss": loss}) as stream:
        write_torch_file(stream, weights, archive=_stem(ROLLING_NAME), step=step, loss=loss)


def _save_directly(training: Training, step: int, weights: tuple[Tensor, ...], stop: threading.Event) -> None:
    name = checkpoint_name(step)
    # ckptdeck: ok (this is the trainer that does it wrong, for the console to show)
    with open(os.path.join(training.directory, name), "wb") as stream:
        paced = _paced(stream, training, stop)
        write_torch_file(paced, weights, archive=_stem(name), step=step, loss=loss_at(step))


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]


def _paced(stream: BinaryIO, training: Training, stop: threading.Event) -> Sink:
    return _PacedSink(stream, training.size / (training.interval * _SAVING_SHARE), stop)


class _PacedSink:
    """Passes bytes on at `bytes_per_second`, and raises Stopped in the middle when told to."""

    def __init__(self, stream: BinaryIO, bytes_per_second: float, stop: threading.Event) -> None:
        self._stream = stream
        self._rate = bytes_per_second
        self._stop = stop

    def write(self, data: bytes, /) -> int:
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            self._stream.write(chunk)
            self._stream.flush()  # let it be seen growing
            _pause(self._stop, len(chunk) / self._rate)
        return len(data)


def _pause(stop: threading.Event, seconds: float) -> None:
    if stop.wait(seconds):
        raise Stopped
