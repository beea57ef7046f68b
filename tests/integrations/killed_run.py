"""A real training of a tiny model that stops, for good, in the middle of writing one checkpoint.

    killed_run.py LIBRARY HOW SET STOP_AT [RESUME_FROM]

LIBRARY is "lightning" or "trainer", HOW "ours" or "bare". It saves every second step up to the eighth. While the
checkpoint of step STOP_AT (0: none) is written it says "in the middle" on stdout and waits to be killed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

import torch

STEPS, EVERY = 8, 2
RECORDS_WRITTEN = 6
"""Of the archive that torch writes, before it stops: four small ones, then tensors."""
ARGUMENTS = "training_args.bin"
"""What Trainer writes before anything that matters; it is not stopped in there."""
BYTES_COPIED = 1 << 20


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def stop_for_good() -> NoReturn:
    say("in the middle")
    while True:
        signal.pause()


class StoppingWriter:
    """torch's archive writer, which stops once a few records of the checkpoint are written."""

    def __init__(self, *arguments: Any) -> None:
        self._writer = WRITER(*arguments)
        self._stops = not str(arguments[0]).endswith(ARGUMENTS)
        self._written = 0

    def write_record(self, *arguments: Any) -> None:
        self._writer.write_record(*arguments)
        self._written += 1
        if self._stops and self._written == RECORDS_WRITTEN and stopping.now:
            stop_for_good()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)


WRITER = torch._C.PyTorchFileWriter


class Stopping:
    """Whether the checkpoint that is being saved is the one to stop in."""

    def __init__(self) -> None:
        self.at = 0
        self.step = 0

    @property
    def now(self) -> bool:
        return self.at == self.step > 0


stopping = Stopping()


def run_lightning(how: str, root: str, resume: str | None) -> int:
    from lightning.pytorch import Callback
    from lightning.pytorch.callbacks import ModelCheckpoint

    from ckptdeck.trainers.lightning import PublishingCheckpointIO
    from tests.integrations.libraries.lightning import Model, make_batches, make_trainer

    class Watch(Callback):  # type: ignore[misc]
        def on_train_start(self, trainer: Any, _module: Any) -> None:
            say("begins at", trainer.global_step)

        def on_train_batch_end(self, trainer: Any, *_more: Any) -> None:
            stopping.step = trainer.global_step

    class Large(Model):
        """Some megabytes, so that half a checkpoint is no empty file."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(200, 4000)

    keeps = ModelCheckpoint(root, every_n_train_steps=EVERY, save_top_k=-1)
    plugins = [PublishingCheckpointIO()] if how == "ours" else []
    trainer = make_trainer(max_steps=STEPS, callbacks=[Watch(), keeps], plugins=plugins)
    trainer.fit(Large(), make_batches(), ckpt_path=resume)
    return int(trainer.global_step)


def run_trainer(how: str, root: str, resume: str | None) -> int:
    from transformers import TrainerCallback

    from ckptdeck.trainers.transformers import RecordCheckpoints
    from tests.integrations.libraries.hf_trainer import make_trainer

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
            say("begins at", state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
            stopping.step = state.global_step

    trainer = make_trainer(Path(root), max_steps=STEPS, save_steps=EVERY)
    trainer.add_callback(Watch())
    if how == "ours":
        trainer.add_callback(RecordCheckpoints())
    trainer.train(resume_from_checkpoint=resume)
    return int(trainer.state.global_step)


def copy_half(out_fd: int, in_fd: int, offset: int | None, count: int) -> int:
    """What shutil copies with: where a temporary file lies on another disk, a move is a copy to the final name."""
    if stopping.now:
        os.write(out_fd, os.pread(in_fd, BYTES_COPIED, offset or 0))
        stop_for_good()
    return SENDFILE(out_fd, in_fd, offset, count)


SENDFILE = os.sendfile


def main(library: str, how: str, root: str, stop_at: str, resume: str | None = None) -> None:
    stopping.at = int(stop_at)
    if (library, how) == ("lightning", "bare"):
        os.sendfile = copy_half
    else:
        torch._C.PyTorchFileWriter = StoppingWriter
    end = (run_lightning if library == "lightning" else run_trainer)(how, root, resume)
    say("ends at", end)


if __name__ == "__main__":
    main(*sys.argv[1:])
