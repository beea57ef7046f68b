"""README's blocks for trainers, word for word, with the libraries that they are about."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.monitor.host import this_host
from tests import readme
from tests.integrations.extra import require_extra

require_extra()

import torch  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from transformers import Trainer, TrainingArguments  # noqa: E402

from tests.integrations.libraries.hf_trainer import make_model  # noqa: E402
from tests.integrations.libraries.lightning import Model, make_batches, make_trainer  # noqa: E402

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None).pair.primary


def run(run_set: CheckpointSet, begins_with: str, names: dict[str, object]) -> dict[str, Any]:
    return readme.run(readme.python_block(begins_with), Path(run_set.root), names)


def recorded(run_set: CheckpointSet) -> list[str]:
    manifest = Manifest(FileSystem(), run_set)
    return sorted(name for name in os.listdir(run_set.root) if manifest.record(name) is not None)


def test_a_plain_loop(run_set: CheckpointSet) -> None:
    state = {"weight": torch.arange(1000.0)}
    run(run_set, "from ckptdeck import publish", {"torch": torch, "dcp": dcp, "state": state})
    assert recorded(run_set) == ["checkpoint-810", "step_0810.pt"]
    assert torch.equal(torch.load(Path(run_set.root, "step_0810.pt"))["weight"], state["weight"])
    loaded = {"weight": torch.zeros(1000)}
    dcp.load(loaded, checkpoint_id=os.path.join(run_set.root, "checkpoint-810"))
    assert torch.equal(loaded["weight"], state["weight"])


def test_lightning(run_set: CheckpointSet) -> None:
    class Logging(Model):
        def training_step(self, batch: Any, number: int) -> Any:
            loss = super().training_step(batch, number)
            self.log("loss", loss)
            return loss

    names = {"ModelCheckpoint": ModelCheckpoint, "Trainer": partial(make_trainer, max_steps=8)}
    trainer = run(run_set, "from ckptdeck.trainers.lightning", names)["trainer"]
    trainer.fit(Logging(), make_batches())
    assert recorded(run_set) == ["epoch=0-step=4.ckpt", "epoch=1-step=8.ckpt", "last.ckpt"]


def test_hugging_face_trainer(run_set: CheckpointSet) -> None:
    examples = [{"input_ids": torch.randint(0, 300, (16,)), "labels": torch.tensor(i % 2)} for i in range(8)]
    small = partial(TrainingArguments, use_cpu=True, max_steps=500, report_to=[], disable_tqdm=True)
    names = {"TrainingArguments": small, "Trainer": Trainer, "model": make_model(), "data": examples}
    trainer = run(run_set, "from ckptdeck.trainers.transformers", names)["trainer"]
    trainer.args.save_steps = trainer.state.save_steps = 2
    trainer.args.max_steps = 8
    trainer.train()
    assert recorded(run_set) == ["checkpoint-4", "checkpoint-6", "checkpoint-8"]
