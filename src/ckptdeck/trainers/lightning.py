"""Lightning: a checkpoint has its name only when it is whole.

    Trainer(plugins=[PublishingCheckpointIO()], callbacks=[ModelCheckpoint("/data/ckpt", ...)])

For strategies that save through a CheckpointIO: one device, DDP (rank 0 saves), FSDP and ModelParallel with a full
state. FSDP with `state_dict_type="sharded"`, ModelParallel with a distributed state and DeepSpeed write their
directories past any CheckpointIO, in place: `ckptdeck adopt` records those.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch.plugins.io import AsyncCheckpointIO

from ckptdeck.core.errors import CkptdeckError, Refused, UsageError
from ckptdeck.core.naming import read_name
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.safe_text import visible
from ckptdeck.saving import publish
from ckptdeck.trainers.removing import remove_checkpoint


class PublishingCheckpointIO(TorchCheckpointIO):  # type: ignore[misc]
    """Saves through `ckptdeck.publish`, loads as Lightning does, and un-names what ModelCheckpoint removes.

    Where the directory is an initialised set (`ckptdeck init`), each checkpoint is recorded with its step and the
    metric that ModelCheckpoint monitors. `readback` reads each one back from the device before it gets its name.
    """

    def __init__(self, *, readback: bool = False) -> None:
        super().__init__()
        self._readback = readback
        self._saved_by: int | None = None
        """The thread of the last save."""

    def __getstate__(self) -> dict[str, Any]:
        """Launchers that spawn their ranks send us there, where threads have other numbers."""
        return self.__dict__ | {"_saved_by": None}

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Publishes `checkpoint` as the file `path`, whose directory is made if need be.

        Raises UsageError for `storage_options` and remote paths, else as `ckptdeck.publish`.
        """
        if storage_options is not None:
            raise UsageError(
                "storage_options mean nothing to a local file", next_step="Leave them out, or use TorchCheckpointIO"
            )
        place = _local(path)
        directory, name = os.path.split(place)
        os.makedirs(directory, exist_ok=True)
        if os.path.islink(place):
            os.unlink(place)  # `last.ckpt` of a run with save_last="link": a pointer makes way, as it does in Lightning
        self._saved_by = threading.get_ident()
        step, metrics = _step_of(checkpoint, name), _metrics_of(checkpoint, place)
        with publish(directory, name, step=step, metrics=metrics, readback=self._readback) as stream:
            torch.save(checkpoint, stream)

    def remove_checkpoint(self, path: Any) -> None:
        """What ModelCheckpoint no longer keeps: the name goes first, then the data, and the record with them.

        What cannot be removed stays and is logged. Raises Refused where saves run in another thread.
        """
        if self._saved_by not in (None, threading.get_ident()):
            raise Refused(
                f"{visible(str(path))} was to be removed while newer checkpoints are still being saved",
                guard="live-writer",
                why="AsyncCheckpointIO removes the old one at once, and the new one may never become whole",
                next_step="Use AsyncPublishingCheckpointIO(), which keeps the order, in its place",
            )
        remove_checkpoint(_local(path))


class AsyncPublishingCheckpointIO(AsyncCheckpointIO):  # type: ignore[misc]
    """PublishingCheckpointIO in a thread: the training goes on while a checkpoint is written.

    What ModelCheckpoint removes waits for the saves before it, and stays when one of them failed. An error is raised
    at the next save or at the end, as by AsyncCheckpointIO.
    """

    _executor: ThreadPoolExecutor | None
    _error: BaseException | None

    def __init__(self, *, readback: bool = False) -> None:
        super().__init__(PublishingCheckpointIO(readback=readback))

    def remove_checkpoint(self, path: Any) -> None:
        self._ensure_setup()
        assert self._executor is not None  # set up just now
        self._executor.submit(self._remove_after_saves, path)

    def _remove_after_saves(self, path: Any) -> None:
        if self._error is not None:
            return
        try:
            super().remove_checkpoint(path)
        except CkptdeckError as error:
            self._error = error


def _local(path: Any) -> str:
    """The absolute path. Raises UsageError for what is no local file."""
    text: str = os.fspath(path)
    if "://" in text or "::" in text:
        raise UsageError(
            f"{visible(text)} is no local path",
            why="A name that appears in one step, and is durable then, is what local and mounted file systems offer",
            next_step="Save to a local directory and let `ckptdeck mirror` copy it, or leave this plugin out",
        )
    return os.path.abspath(text)


def _step_of(checkpoint: Mapping[str, Any], name: str) -> int | None:
    """None for a rolling name (`last.ckpt`), which stands for another step each time."""
    if read_name(name, False, DEFAULT_POLICY).step is None:
        return None
    step = checkpoint.get("global_step")
    return step if isinstance(step, int) else None


def _metrics_of(checkpoint: Mapping[str, Any], path: str) -> dict[str, float]:
    """What each ModelCheckpoint's own state says about this very file."""
    return dict(_scores(checkpoint.get("callbacks") or {}, path))


def _scores(callbacks: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    for state in callbacks.values():
        match state:
            case {"monitor": str() as monitor, "best_k_models": dict() as scores}:
                for each, score in scores.items():
                    with contextlib.suppress(TypeError, ValueError):  # a score that is no number
                        if os.path.abspath(each) == path and math.isfinite(value := float(score)):
                            yield monitor, value
