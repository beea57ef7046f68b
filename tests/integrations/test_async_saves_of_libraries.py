"""Saves that go on after their call: supported while the block lasts, refused when it ends before them."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import ckptdeck
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import InUse
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.monitor.host import this_host
from tests.integrations.extra import require_extra

require_extra()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402
from torch.distributed.checkpoint import FileSystemWriter  # noqa: E402

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
NAME = "step-40"
STATE = {"weight": torch.arange(5000.0), "step": 40}


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None).pair.primary


@pytest.fixture(autouse=True)
def _process_group(tmp_path: Path) -> Any:
    """What async_save asks for, also of one process."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Held(FileSystemWriter):  # type: ignore[misc]
    """Writes the shards, and the metadata only when it is let."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.shards_are_there = threading.Event()
        self.go_on = threading.Event()

    def finish(self, *arguments: Any, **more: Any) -> None:
        self.shards_are_there.set()
        assert self.go_on.wait(60)
        super().finish(*arguments, **more)


def load(run_set: CheckpointSet) -> dict[str, Any]:
    state: dict[str, Any] = {"weight": torch.zeros(5000), "step": 0}
    dcp.load(state, checkpoint_id=os.path.join(run_set.root, NAME))
    return state


def is_whole(run_set: CheckpointSet) -> bool:
    loaded = load(run_set)
    record = Manifest(FileSystem(), run_set).record(NAME)
    left = os.listdir(run_set.control_path("staging"))
    return torch.equal(loaded["weight"], STATE["weight"]) and loaded["step"] == 40 and record is not None and not left


def test_waiting_in_the_block_names_the_whole(run_set: CheckpointSet) -> None:
    with ckptdeck.publish_directory(run_set.root, NAME) as path:
        future = dcp.async_save(STATE, checkpoint_id=path)
        assert not os.path.exists(os.path.join(run_set.root, NAME))
        future.result()
    assert is_whole(run_set)


def test_the_block_may_end_where_the_future_is_done(run_set: CheckpointSet) -> None:
    """The training goes on meanwhile; the thread that saved gives the name."""
    stack = contextlib.ExitStack()
    writer = Held(stack.enter_context(ckptdeck.publish_directory(run_set.root, NAME)))
    named = threading.Event()

    def end(saved: Future[Any]) -> None:
        error = saved.exception()
        stack.__exit__(None if error is None else type(error), error, None)
        named.set()

    dcp.async_save(STATE, storage_writer=writer).add_done_callback(end)
    assert writer.shards_are_there.wait(60)
    assert not os.path.exists(os.path.join(run_set.root, NAME))
    writer.go_on.set()
    assert named.wait(60)
    assert is_whole(run_set)


def test_a_block_that_ends_before_its_save_names_nothing(run_set: CheckpointSet) -> None:
    futures: list[Future[Any]] = []
    writers: list[Held] = []

    def save_and_leave() -> None:
        with ckptdeck.publish_directory(run_set.root, NAME) as path:
            writers.append(Held(path))
            futures.append(dcp.async_save(STATE, storage_writer=writers[0]))
            assert writers[0].shards_are_there.wait(60)

    with pytest.raises(InUse, match="holds shards and no"):
        save_and_leave()
    writers[0].go_on.set()
    assert futures[0].exception(60) is not None  # there is no directory any more to write it to
    assert os.listdir(run_set.root) == []
    assert Manifest(FileSystem(), run_set).next_record(NAME) is None
