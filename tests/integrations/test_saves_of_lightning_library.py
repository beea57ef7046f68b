"""Lightning's own Trainer and ModelCheckpoint with our CheckpointIO in its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.errors import CkptdeckError, Refused, UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Role, State
from tests.cli.deck import Deck
from tests.integrations.extra import require_extra
from tests.integrations.ranks import free_port, run_ranks
from tests.integrations.standing import states

require_extra()

import torch  # noqa: E402
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from lightning.pytorch.plugins.io import AsyncCheckpointIO  # noqa: E402

from ckptdeck.trainers.lightning import AsyncPublishingCheckpointIO, PublishingCheckpointIO  # noqa: E402
from tests.integrations.libraries.lightning import Model, make_batches, make_trainer  # noqa: E402

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
WHOLE = {State.SIZE_ONLY, State.VERIFIED}


class Scored(Model):
    """Logs a loss that goes down and up again, by step."""

    LOSSES = (9.0, 5.0, 7.0, 1.0, 3.0, 2.0, 8.0, 4.0)

    def training_step(self, batch: Any, number: int) -> Any:
        loss = super().training_step(batch, number)
        self.log("score", torch.tensor(self.LOSSES[self.global_step % len(self.LOSSES)]))
        return loss


@pytest.fixture
def deck(deck: Deck) -> Deck:
    deck.init()
    return deck


def record_of(deck: Deck, name: str) -> Record:
    record = Manifest(FileSystem(), find_set(FileSystem(), str(deck.primary), Role.PRIMARY)).record(name)
    assert record is not None
    return record


def left_over(deck: Deck) -> dict[str, list[str]]:
    places = ("staging", "removing", "quarantine")
    return {place: found for place in places if (found := os.listdir(deck.control / place))}


def train(deck: Deck, plugin: Any, steps: int = 8, resume: Path | None = None, **kept: Any) -> Any:
    callbacks = [ModelCheckpoint(deck.primary, **({"every_n_train_steps": 1} | kept))]
    trainer = make_trainer(max_steps=steps, callbacks=callbacks, plugins=[plugin])
    model = Scored()
    trainer.fit(model, make_batches(), ckpt_path=resume)
    return trainer


PLUGINS = [
    pytest.param(PublishingCheckpointIO, id="sync"),
    pytest.param(AsyncPublishingCheckpointIO, id="async"),
]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_best_are_kept_with_step_and_metric_and_nothing_else(deck: Deck, plugin: Any) -> None:
    train(deck, plugin(readback=True), monitor="score", save_top_k=3, filename="{epoch}-{step}-{score:.1f}")
    best = {"epoch=0-step=4-score=1.0.ckpt": 4, "epoch=1-step=5-score=3.0.ckpt": 5, "epoch=1-step=6-score=2.0.ckpt": 6}
    assert states(deck) == dict.fromkeys(best, State.VERIFIED)
    assert {name: record_of(deck, name).step for name in best} == best
    assert [record_of(deck, name).metrics["score"] for name in best] == [1.0, 3.0, 2.0]
    assert sorted(os.listdir(deck.primary)) == sorted(best)
    assert left_over(deck) == {}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_step_is_the_runs_and_not_a_number_in_the_name(deck: Deck, plugin: Any) -> None:
    train(deck, plugin(), steps=8, every_n_train_steps=4, filename="{epoch}", save_top_k=-1)
    assert {name: record_of(deck, name).step for name in os.listdir(deck.primary)} == {
        "epoch=0.ckpt": 4,
        "epoch=1.ckpt": 8,
    }


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_last_one_of_its_own_rolls_on(deck: Deck, plugin: Any) -> None:
    train(deck, plugin(), save_last=True)
    assert sorted(os.listdir(deck.primary)) == ["epoch=1-step=8.ckpt", "last.ckpt"]
    assert set(states(deck).values()) <= WHOLE
    assert record_of(deck, "last.ckpt").step is None
    assert torch.load(deck.primary / "last.ckpt", weights_only=False)["global_step"] == 8
    assert left_over(deck) == {}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_last_one_that_is_a_link_leads_to_the_newest(deck: Deck, plugin: Any) -> None:
    train(deck, plugin(), save_last="link")
    assert os.readlink(deck.primary / "last.ckpt") == "epoch=1-step=8.ckpt"
    found = states(deck)
    assert found.pop("last.ckpt") is State.FOREIGN
    assert set(found) == {"epoch=1-step=8.ckpt"}
    train(deck, plugin(), steps=10, resume=deck.primary / "last.ckpt", save_last=True)
    assert {path.name: path.is_symlink() for path in deck.primary.glob("last*")} == {"last.ckpt": False}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_run_goes_on_from_what_was_saved(deck: Deck, plugin: Any) -> None:
    first = train(deck, plugin(), steps=5)
    weights = first.lightning_module.state_dict()
    name = "epoch=1-step=5.ckpt"
    loaded = torch.load(deck.primary / name, weights_only=False)
    assert all(torch.equal(loaded["state_dict"][key], weights[key]) for key in weights)
    second = train(deck, plugin(), steps=7, resume=deck.primary / name, save_top_k=-1)
    assert second.global_step == 7
    assert {record_of(deck, each).step for each in os.listdir(deck.primary)} == {5, 6, 7}


def test_a_directory_that_is_no_set_is_made_and_only_not_recorded(
    deck: Deck, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "elsewhere" / "deeper"
    keeps = ModelCheckpoint(place, every_n_train_steps=1, save_top_k=1)
    trainer = make_trainer(max_steps=3, callbacks=[keeps], plugins=[PublishingCheckpointIO()])
    trainer.fit(Model(), make_batches())
    assert os.listdir(place) == ["epoch=0-step=3.ckpt"]
    assert "no initialised set: named, not recorded" in caplog.text


def test_what_was_removed_stays_on_the_mirror_and_is_no_finding(deck: Deck) -> None:
    train(deck, PublishingCheckpointIO(readback=True), steps=2)
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    trainer = train(deck, PublishingCheckpointIO(readback=True), steps=3, resume=deck.primary / "epoch=0-step=2.ckpt")
    assert trainer.global_step == 3
    trainer.strategy.remove_checkpoint(deck.primary / "epoch=0-step=2.ckpt")
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    ran = deck.run("status", deck.primary, "--json")
    assert ran.code == 0
    assert sorted(os.listdir(deck.mirror)) == [".ckptdeck", "epoch=0-step=2.ckpt", "epoch=0-step=3.ckpt"]


def test_saves_that_fail_in_the_thread_keep_what_was_to_be_removed(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new one replaces the old one in ModelCheckpoint's books before it is written."""
    train(deck, AsyncPublishingCheckpointIO(), steps=2)
    plugin = AsyncPublishingCheckpointIO()

    def fail(_checkpoint: Any, _stream: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        train(deck, plugin, steps=5, resume=deck.primary / "epoch=0-step=2.ckpt")
    assert os.listdir(deck.primary) == ["epoch=0-step=2.ckpt"]


def test_lightnings_own_thread_is_refused_once_it_would_remove_too_early(deck: Deck) -> None:
    with pytest.raises(Refused, match="Use AsyncPublishingCheckpointIO"):
        train(deck, AsyncCheckpointIO(PublishingCheckpointIO()))
    assert len(os.listdir(deck.primary)) >= 2
    assert set(states(deck).values()) <= WHOLE


def test_lightnings_own_thread_may_save_where_nothing_is_removed(deck: Deck) -> None:
    train(deck, AsyncCheckpointIO(PublishingCheckpointIO()), steps=4, save_top_k=-1)
    assert {record_of(deck, name).step for name in os.listdir(deck.primary)} == {1, 2, 3, 4}
    assert set(states(deck).values()) <= WHOLE


@pytest.mark.parametrize("path", ["s3://bucket/run/last.ckpt", "memory://run/last.ckpt", "simplecache::file:///x.ckpt"])
def test_what_is_not_local_is_refused_with_a_sentence(path: str) -> None:
    with pytest.raises(UsageError, match="no local path"):
        PublishingCheckpointIO().save_checkpoint({}, path)
    with pytest.raises(UsageError, match="no local path"):
        PublishingCheckpointIO().remove_checkpoint(path)


def test_storage_options_are_refused_with_a_sentence(deck: Deck) -> None:
    with pytest.raises(UsageError, match="storage_options"):
        PublishingCheckpointIO().save_checkpoint({}, deck.primary / "last.ckpt", storage_options={"key": 1})


def test_a_directory_in_the_way_is_refused_and_stays(deck: Deck) -> None:
    (deck.primary / "last.ckpt").mkdir()
    with pytest.raises(CkptdeckError, match="is not a regular file"):
        PublishingCheckpointIO().save_checkpoint({}, deck.primary / "last.ckpt")


def test_what_a_sharded_strategy_saved_past_us_is_removed_whole(deck: Deck) -> None:
    place = deck.primary / "epoch=0-step=4.ckpt"
    place.mkdir()
    (place / "__0_0.distcp").write_bytes(b"shard")
    PublishingCheckpointIO().remove_checkpoint(place)
    assert (os.listdir(deck.primary), left_over(deck)) == ([], {})


def test_two_ranks_save_once(deck: Deck) -> None:
    run_ranks("lightning_ranks.py", free_port(), deck.primary)
    assert sorted(os.listdir(deck.primary)) == ["epoch=0-step=2.ckpt", "epoch=0-step=4.ckpt"]
    assert [record_of(deck, name).step for name in sorted(os.listdir(deck.primary))] == [2, 4]
    assert left_over(deck) == {}
