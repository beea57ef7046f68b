"""Hugging Face Trainer: a checkpoint it saved in place is recorded with its hash once all of it is there.

    Trainer(..., callbacks=[RecordCheckpoints()])

Until then it has no record, so that `ckptdeck resume` never gives a half-written one.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import torch.distributed as dist
from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ckptdeck.core.naming import read_name
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.safe_text import visible
from ckptdeck.trainers.recording import InPlaceRecorder

log = logging.getLogger("ckptdeck")
_FAMILY = "hf-trainer"


class RecordCheckpoints(TrainerCallback):  # type: ignore[misc]
    """Records `checkpoint-N` in `output_dir`, an initialised set (`ckptdeck init`), when Trainer has saved it.

    The training waits while it is read and hashed. With several ranks all wait for each other first, since the others
    write their part on their own. `save_total_limit` is respected. What cannot be recorded is logged on the logger
    "ckptdeck" and never ends the training. Trials of a hyperparameter search are not recorded.
    """

    def __init__(self) -> None:
        self._recorder: InPlaceRecorder | None = None
        self._said = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
        self._said = False
        self._recorder = InPlaceRecorder(os.path.abspath(args.output_dir)) if args.should_save else None
        if self._recorder is not None:
            self._recorder.look(_checkpoints_in(args.output_dir) or {})

    def on_save(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
        if dist.is_available() and dist.is_initialized():
            dist.barrier()
        if self._recorder is None:
            return
        if state.is_hyper_param_search:
            self._say_once(args.output_dir)
            return
        name = f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
        metrics = metrics_at(state.log_history, state.global_step)
        self._recorder.record(name, state.global_step, metrics)
        self._look_for_removed(args)

    def on_train_end(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
        """With `save_total_limit=1` Trainer removes the last checkpoint here when an earlier one was better."""
        if self._recorder is not None and not state.is_hyper_param_search:
            self._look_for_removed(args)

    def _look_for_removed(self, args: Any) -> None:
        assert self._recorder is not None  # the caller has looked
        present = _checkpoints_in(args.output_dir)
        if not present:
            return  # no retention removes everything: the volume is in trouble
        if args.save_total_limit:
            self._recorder.forget_removed(present)
        else:
            self._recorder.look(present)

    def _say_once(self, output_dir: str) -> None:
        if not self._said:
            log.warning(
                "%s: each trial of a hyperparameter search has a directory of its own; their checkpoints are not "
                "recorded. `ckptdeck adopt` records those of one trial",
                visible(output_dir),
            )
        self._said = True


def metrics_at(log_history: Iterable[Mapping[str, Any]], step: int) -> dict[str, float]:
    """Every finite number that Trainer logged at `step`, the last of each name."""
    found: dict[str, float] = {}
    for entry in log_history:
        if entry.get("step") == step:
            numbers = {key: float(value) for key, value in entry.items() if isinstance(value, int | float)}
            found |= {key: value for key, value in numbers.items() if key != "step" and math.isfinite(value)}
    return found


def _checkpoints_in(directory: str) -> dict[str, int] | None:
    """Trainer's checkpoints that are there, with their steps; None when the directory cannot be listed."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return None
    readings = {name: read_name(name, True, DEFAULT_POLICY) for name in names}
    return {name: read.step for name, read in readings.items() if read.family == _FAMILY and read.step is not None}
