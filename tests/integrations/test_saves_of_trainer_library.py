"""Hugging Face Trainer saves in place as it does; our callback records what it has finished."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Role, State
from tests.cli.deck import Deck
from tests.integrations.extra import require_extra
from tests.integrations.ranks import free_port, run_ranks
from tests.integrations.standing import states

require_extra()

from transformers import TrainerCallback  # noqa: E402

from ckptdeck.trainers.transformers import RecordCheckpoints, metrics_at  # noqa: E402
from tests.integrations.libraries.hf_trainer import make_trainer  # noqa: E402

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


def record_of(deck: Deck, name: str) -> Record | None:
    return Manifest(FileSystem(), find_set(FileSystem(), str(deck.primary), Role.PRIMARY)).record(name)


def train(deck: Deck, *callbacks: TrainerCallback, resume: str | None = None, **arguments: Any) -> Any:
    trainer = make_trainer(deck.primary, **({"max_steps": 6, "save_steps": 2, "logging_steps": 2} | arguments))
    for callback in callbacks or (RecordCheckpoints(),):
        trainer.add_callback(callback)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def scripted(losses: list[float]) -> Any:
    """Evaluations that give these losses, one after the other."""
    left = iter(losses)

    def evaluate(trainer: Any, *_args: Any, **_more: Any) -> dict[str, float]:
        metrics = {"eval_loss": next(left)}
        trainer.log(metrics)
        return metrics

    return evaluate


def test_each_save_is_verified_with_what_was_logged_then(deck: Deck) -> None:
    deck.init()
    trainer = train(deck)
    assert states(deck) == {f"checkpoint-{step}": State.VERIFIED for step in (6, 4, 2)}
    for step in (2, 4, 6):
        record = record_of(deck, f"checkpoint-{step}")
        assert record is not None
        assert record.step == step
        assert record.metrics == metrics_at(trainer.state.log_history[: step // 2], step)
        assert {"loss", "grad_norm", "learning_rate", "epoch"} <= set(record.metrics)


def test_it_is_recorded_the_moment_it_is_complete_and_not_before(deck: Deck) -> None:
    """Seen by a callback that Trainer asks before ours, and one that it asks after."""
    deck.init()
    seen: list[tuple[str, bool, bool]] = []

    class Look(TrainerCallback):  # type: ignore[misc]
        def __init__(self, when: str) -> None:
            self.when = when

        def on_save(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
            name = f"checkpoint-{state.global_step}"
            complete = (deck.primary / name / "trainer_state.json").exists()
            seen.append((self.when, complete, record_of(deck, name) is not None))

    train(deck, Look("before"), RecordCheckpoints(), Look("after"), max_steps=2)
    assert seen == [("before", True, False), ("after", True, True)]


def test_trainers_own_retention_is_respected(deck: Deck) -> None:
    deck.init()
    train(deck, max_steps=8, save_total_limit=2)
    assert sorted(os.listdir(deck.primary)) == ["checkpoint-6", "checkpoint-8"]
    assert states(deck) == {
        "checkpoint-8": State.VERIFIED,
        "checkpoint-6": State.VERIFIED,
        "checkpoint-4": State.REMOVED,
        "checkpoint-2": State.REMOVED,
    }
    assert deck.run("status", deck.primary).code == 0


def test_the_last_that_was_not_the_best_is_removed_and_not_missed(
    deck: Deck, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from transformers import Trainer

    deck.init()
    monkeypatch.setattr(Trainer, "evaluate", scripted([3.0, 1.0, 2.0, 2.0]))
    best: dict[str, Any] = {
        "eval_strategy": "steps",
        "eval_steps": 2,
        "load_best_model_at_end": True,
        "save_total_limit": 1,
    }
    with caplog.at_level(logging.INFO, "ckptdeck"):
        train(deck, **best)
    assert os.listdir(deck.primary) == ["checkpoint-4"]
    record = record_of(deck, "checkpoint-4")
    assert record is not None
    assert record.metrics["eval_loss"] == 1.0
    assert states(deck) == {
        "checkpoint-6": State.REMOVED,
        "checkpoint-4": State.VERIFIED,
        "checkpoint-2": State.REMOVED,
    }
    assert f"{deck.primary}/checkpoint-6: removed by the trainer's own retention" in caplog.text
    assert deck.run("status", deck.primary).code == 0


def test_a_resumed_run_that_saves_a_step_again_records_it_again(deck: Deck) -> None:
    deck.init()
    train(deck)
    before = record_of(deck, "checkpoint-6")
    trainer = train(deck, resume=str(deck.primary / "checkpoint-4"), max_steps=6, learning_rate=5e-3)
    after = record_of(deck, "checkpoint-6")
    assert before is not None
    assert after is not None
    assert before.digest != after.digest
    assert trainer.state.global_step == 6
    assert set(states(deck).values()) == {State.VERIFIED}


def test_weights_alone_are_recorded_too(deck: Deck) -> None:
    deck.init()
    train(deck, max_steps=2, save_only_model=True)
    assert states(deck) == {"checkpoint-2": State.VERIFIED}


def test_without_init_the_training_goes_on_and_one_warning_is_given(
    deck: Deck, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = train(deck)
    assert trainer.state.global_step == 6
    told = [one.getMessage() for one in caplog.records if one.name == "ckptdeck" and one.levelno == logging.WARNING]
    assert len(told) == 1
    assert "is no initialised set" in told[0]


def test_a_volume_in_trouble_never_ends_the_training(
    deck: Deck, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    deck.init()
    broken = OSError(5, os.strerror(5))

    def fsync(_fs: FileSystem, _fd: int) -> None:
        raise broken

    monkeypatch.setattr(FileSystem, "fsync", fsync)
    trainer = train(deck)
    assert trainer.state.global_step == 6
    assert caplog.text.count("is saved and not recorded") == 3
    assert os.strerror(5) in caplog.text
    assert record_of(deck, "checkpoint-6") is None


def test_trials_of_a_search_are_not_recorded_and_that_is_said(deck: Deck, caplog: pytest.LogCaptureFixture) -> None:
    deck.init()

    class Search(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
            state.is_hyper_param_search = True

    train(deck, Search(), RecordCheckpoints())
    assert set(states(deck).values()) == {State.STRUCTURE_OK}
    assert caplog.text.count("each trial of a hyperparameter search") == 1


def test_two_ranks_save_and_one_records_all_of_it(deck: Deck) -> None:
    """The second rank is held up before its part: unless the first waits for it, half would be recorded."""
    deck.init()
    run_ranks("hf_trainer_ranks.py", free_port(), deck.primary)
    assert states(deck) == {"checkpoint-4": State.VERIFIED, "checkpoint-2": State.VERIFIED}
    record = record_of(deck, "checkpoint-4")
    assert record is not None
    assert {"rng_state_0.pth", "rng_state_1.pth"} <= {member.path for member in record.members}
