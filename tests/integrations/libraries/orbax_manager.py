"""orbax-checkpoint's CheckpointManager, which names its steps itself and keeps a list of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import orbax.checkpoint as ocp

import ckptdeck
from tests.integrations.libraries.contract import Library
from tests.integrations.libraries.orbax import make_state
from tests.integrations.values import Values, values_of

STEP = 900


def save(root: Path) -> Values:
    state = make_state()
    options = ocp.CheckpointManagerOptions(max_to_keep=3, enable_async_checkpointing=False)
    with ocp.CheckpointManager(root.absolute(), options=options) as manager:
        manager.save(
            STEP,
            args=ocp.args.Composite(state=ocp.args.StandardSave(state), data=ocp.args.JsonSave({"position": 7})),
            metrics={"loss": 0.5},
        )
    return values_of(state)


def fill(path: Path) -> Values:
    """The manager makes the step's directory itself, so it saves elsewhere and its files move in."""
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as elsewhere:
        values = save(Path(elsewhere))
        for made in (Path(elsewhere) / str(STEP)).iterdir():
            made.rename(path / made.name)
    return values


def publish(root: Path) -> Values:
    with ckptdeck.publish_directory(root, str(STEP), readback=True) as path:
        return fill(Path(path))


def load(root: Path) -> Values:
    """As the newest step of the directory, which is how a run resumes."""
    options = ocp.CheckpointManagerOptions(read_only=True)
    with ocp.CheckpointManager(root.absolute(), options=options) as manager:
        assert manager.all_steps() == [STEP]
        found = manager.restore(
            manager.latest_step(),
            args=ocp.args.Composite(state=ocp.args.StandardRestore(make_state()), data=ocp.args.JsonRestore()),
        )
    assert found["data"] == {"position": 7}
    return values_of(found["state"])


LIBRARY = Library(str(STEP), publish, save, load, lost="state/_METADATA", fill=fill)
