"""Runs that go on: retention of the libraries' own, ranks that save together, directories that hold our bookkeeping."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import ckptdeck
from ckptdeck.core.states import State
from ckptdeck.monitor.host import SystemClock
from tests.cli.deck import Deck
from tests.integrations.extra import require_extra
from tests.integrations.ranks import run_ranks
from tests.integrations.standing import states

require_extra()

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemClock, "sleep", lambda _self, _seconds: None)


def test_the_retention_of_hf_trainer_goes_on_as_it_did(deck: Deck) -> None:
    """What it removes was removed by somebody's retention; nothing is missing, and the newest is found."""
    from transformers.trainer_utils import get_last_checkpoint, rotate_checkpoints

    from tests.integrations.libraries.hf_trainer import PublishingTrainer, make_trainer

    class Rotating(PublishingTrainer):
        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            super()._save_checkpoint(model, trial)
            rotate_checkpoints(self.args.output_dir, save_total_limit=2)

    deck.init()
    trainer = make_trainer(deck.primary, Rotating, max_steps=8, save_steps=2)
    trainer.train()
    assert sorted(os.listdir(deck.primary)) == ["checkpoint-6", "checkpoint-8"]
    assert states(deck) == {
        "checkpoint-8": State.VERIFIED,
        "checkpoint-6": State.VERIFIED,
        "checkpoint-4": State.REMOVED,
        "checkpoint-2": State.REMOVED,
    }
    assert get_last_checkpoint(str(deck.primary)) == str(deck.primary / "checkpoint-8")


def test_the_files_that_lightning_keeps_are_all_known(deck: Deck) -> None:
    """The two best by a metric in their name, and a link to the last one."""
    from lightning.pytorch.callbacks import ModelCheckpoint

    from tests.integrations.libraries.lightning import Model, make_batches, make_trainer

    class Logging(Model):
        def training_step(self, batch: Any, number: int) -> Any:
            loss = super().training_step(batch, number)
            self.log("train_loss", loss)
            return loss

    deck.init()
    name = "{epoch}-{step}-{train_loss:.2f}"
    keeps = ModelCheckpoint(
        deck.primary, filename=name, monitor="train_loss", save_top_k=2, every_n_train_steps=2, save_last="link"
    )
    make_trainer(max_steps=8, callbacks=[keeps]).fit(Logging(), make_batches())
    found = states(deck)
    assert found.pop("last.ckpt") is State.FOREIGN  # shown, never followed
    assert list(found.values()) == [State.STRUCTURE_OK] * 2


@pytest.mark.parametrize("inside", [False, True], ids=["beside", "inside"])
def test_trainers_do_not_take_our_bookkeeping_for_theirs(deck: Deck, inside: bool) -> None:
    import orbax.checkpoint as ocp
    from transformers.trainer_utils import get_last_checkpoint

    assert deck.run("init", deck.primary, deck.mirror, *(["--inside"] if inside else [])).code == 0
    with ckptdeck.publish_directory(deck.primary, "checkpoint-500") as path:
        Path(path, "trainer_state.json").write_text("{}")
    with ckptdeck.publish_directory(deck.primary, "700") as path:
        Path(path, "_CHECKPOINT_METADATA").write_text("{}")
    assert get_last_checkpoint(str(deck.primary)) == str(deck.primary / "checkpoint-500")
    options = ocp.CheckpointManagerOptions(read_only=True)
    with ocp.CheckpointManager(deck.primary, options=options) as manager:
        assert manager.all_steps() == [700]


def test_the_manager_of_orbax_removes_what_we_recorded_and_copied(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    import jax.numpy as jnp
    import orbax.checkpoint as ocp

    monkeypatch.setattr(SystemClock, "now", lambda _self: time.time() + 3600)
    deck.init()
    options = ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=False)
    with ocp.CheckpointManager(deck.primary, options=options) as manager:
        for step in (1, 2, 3, 4):
            manager.save(step, args=ocp.args.StandardSave({"w": jnp.full((100,), step)}))
            assert deck.run("adopt", deck.primary, "--yes").code == 0
            assert deck.run("mirror", deck.primary, "--yes").code == 0
        assert manager.all_steps() == [3, 4]
    found = states(deck)
    assert (found["3"], found["4"]) == (State.VERIFIED, State.VERIFIED)
    assert {found["1"], found["2"]} == {State.REMOVED}
    with ocp.CheckpointManager(deck.mirror, options=ocp.CheckpointManagerOptions(read_only=True)) as copies:
        assert copies.all_steps() == [1, 2, 3, 4]
        assert float(copies.restore(1, args=ocp.args.StandardRestore())["w"][0]) == 1.0


def test_two_ranks_save_one_checkpoint(deck: Deck, tmp_path: Path) -> None:
    """One rank holds the block and tells the other the path; both write, and both load it from the mirror."""
    deck.init()
    run_ranks("two_ranks.py", "save", tmp_path / "to-save", deck.primary)
    assert states(deck) == {"step-40": State.VERIFIED}
    assert {path.name for path in (deck.primary / "step-40").iterdir()} == {".metadata", "__0_0.distcp", "__1_0.distcp"}
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    run_ranks("two_ranks.py", "load", tmp_path / "to-load", deck.mirror)
