"""transformers' save_pretrained in shards."""

from __future__ import annotations

from pathlib import Path

from transformers import BertForSequenceClassification

import ckptdeck
from tests.integrations.libraries.contract import Library
from tests.integrations.libraries.hf_trainer import make_model
from tests.integrations.values import Values, values_of

CHECKPOINT = "bert-500"


def fill(path: Path) -> Values:
    model = make_model()
    model.save_pretrained(path, max_shard_size="40KB")
    return values_of(model.state_dict())


def publish(root: Path) -> Values:
    with ckptdeck.publish_directory(root, CHECKPOINT, readback=True) as path:
        return fill(Path(path))


def save(root: Path) -> Values:
    return fill(root / CHECKPOINT)


def load(root: Path) -> Values:
    return values_of(BertForSequenceClassification.from_pretrained(root / CHECKPOINT).state_dict())


LIBRARY = Library(CHECKPOINT, publish, save, load, lost="model-00002-of-00003.safetensors", fill=fill)
