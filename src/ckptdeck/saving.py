"""The trainer's side: the core's publish, bound to this machine.

    with publish("/data/ckpt", "step_0810.pt", step=810, metrics={"loss": 1.93}) as fh:
        torch.save(state, fh)

Needs no initialised set and no running console: without `ckptdeck init` the file is named just as safely, only not
recorded. Importing this module imports neither textual, rich, watchfiles nor psutil.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import BinaryIO, Literal

from ckptdeck.core.checkpoint_set import CheckpointSet, find_set
from ckptdeck.core.errors import UsageError, from_os_error
from ckptdeck.core.host import Host
from ckptdeck.core.naming import read_name
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.publish import Intent, Published
from ckptdeck.core.publish import publish as publish_in
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.record_format import is_metric
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Condition, Role
from ckptdeck.monitor.host import this_host

log = logging.getLogger("ckptdeck")
_COPY_CHUNK = 1 << 20


@contextlib.contextmanager
def publish(
    directory: str | os.PathLike[str],
    name: str,
    *,
    step: int | None = None,
    metrics: Mapping[str, float] | None = None,
    exists: Literal["replace", "refuse"] = "replace",
    readback: bool = False,
) -> Iterator[io.BufferedRandom]:
    """Yields a binary file; when the block has ended, `directory`/`name` exists, whole and durable, or not at all.

    `step` is read from the name when left out. `metrics` (finite numbers; others are left
    out with a warning) are kept in the record. `exists` decides
    what happens to a checkpoint of that name: replaced by default, since a restarted run saves its step again.
    `readback` reads the bytes back from the device before they get their name.

    An exception inside the block leaves no final name and is passed on. Raises `ckptdeck.CkptdeckError` (NoSpace,
    VolumeSuspect, Refused, ...) when the save could not be made durable; failures of the bookkeeping alone are
    logged on the logger "ckptdeck" and never fail a save.
    """
    with publish_in(*_ready(directory, name, False, step, metrics, exists, readback)) as (stream, _result):
        yield stream


@contextlib.contextmanager
def publish_directory(
    directory: str | os.PathLike[str],
    name: str,
    *,
    step: int | None = None,
    metrics: Mapping[str, float] | None = None,
    exists: Literal["replace", "refuse"] = "replace",
    readback: bool = False,
) -> Iterator[str]:
    """Yields the path of an empty directory to save into; when the block has ended, `directory`/`name` exists with all
    that was written there, whole and durable, or not at all.

        with publish_directory("/data/ckpt", "checkpoint-500") as path:
            trainer.save_model(path)

    Any library may write there, in any order. With several ranks on one file system, one of them holds the block and
    tells the others the path; all must have closed their files, behind a barrier, before it ends:

        with contextlib.ExitStack() as stack:
            told = [stack.enter_context(publish_directory(root, "step-40"))] if rank == 0 else [None]
            dist.broadcast_object_list(told)
            dcp.save(state, checkpoint_id=told[0])
            dist.barrier()

    A save that goes on after its call, such as `dcp.async_save`, must have ended before the block does: wait for its
    future there, or leave the block where the future is done. Else as `publish`. Raises InUse, with nothing named,
    when it is seen that somebody still writes.
    """
    with publish_tree(*_ready(directory, name, True, step, metrics, exists, readback)) as (path, _result):
        yield path


def _ready(
    directory: str | os.PathLike[str],
    name: str,
    is_directory: bool,
    step: int | None,
    metrics: Mapping[str, float] | None,
    exists: str,
    readback: bool,
) -> tuple[Host, CheckpointSet, Intent]:
    """This machine, the set, and what is to be done. Raises UsageError for an `exists` that is not known."""
    if exists not in ("replace", "refuse"):
        raise UsageError(f"exists={exists!r} is not known", next_step='Use "replace" or "refuse"')
    host = this_host()
    target = find_own_set(host, directory)
    if not target.condition.readable and os.path.isdir(target.root):
        # Our bookkeeping is damaged or closed to this user. That must not cost a save: it is named, not recorded.
        target = replace(target, control=None, document=None, condition=Condition.UNINITIALISED)
    intent = Intent(
        name=name,
        step=step if step is not None else read_name(name, is_directory, DEFAULT_POLICY).step,
        metrics=_usable(metrics or {}, name),
        replace=exists == "replace",
        readback=readback,
    )
    return host, target, intent


def find_own_set(host: Host, directory: str | os.PathLike[str]) -> CheckpointSet:
    """The set a trainer saves into. It may well be what another pair calls its mirror; saving is safe in either."""
    target = find_set(host.fs, os.fspath(directory), Role.PRIMARY)
    if target.condition is Condition.WRONG_SET and target.document is not None:
        return find_set(host.fs, os.fspath(directory), target.document.role)
    return target


def _usable(metrics: Mapping[str, float], name: str) -> dict[str, float]:
    """A loss that became NaN must not cost the save: what no record can hold is left out, and said."""
    usable = {key: value for key, value in metrics.items() if is_metric(value) and key.isprintable()}
    if len(usable) < len(metrics):
        left = ", ".join(sorted(visible(key) for key in metrics if key not in usable))
        log.warning("%s: recorded without %s, which is no finite number or has no printable name", visible(name), left)
    return usable


def publish_file(
    source: str | os.PathLike[str] | BinaryIO,
    directory: str | os.PathLike[str],
    name: str | None = None,
    *,
    step: int | None = None,
    metrics: Mapping[str, float] | None = None,
    exists: Literal["replace", "refuse"] = "replace",
    readback: bool = True,
) -> str:
    """Publishes a copy of a finished file, or of a binary stream (then `name` is needed). Returns the final path."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        name = name or os.path.basename(path)
        with contextlib.ExitStack() as stack:
            try:
                stream = stack.enter_context(open(path, "rb"))
            except OSError as error:
                raise from_os_error(error, f"Opening {visible(path)}") from error
            return publish_file(stream, directory, name, step=step, metrics=metrics, exists=exists, readback=readback)
    if name is None:
        raise UsageError("A stream has no name", next_step="Pass name=...")
    with publish(directory, name, step=step, metrics=metrics, exists=exists, readback=readback) as target:
        shutil.copyfileobj(source, target, _COPY_CHUNK)
    return os.path.join(os.fspath(directory), name)


__all__ = ["Published", "publish", "publish_directory", "publish_file"]
