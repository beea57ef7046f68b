"""Seeded damage of every kind: a probe answers with a finding, whatever the bytes are, and reads a bounded amount."""

from __future__ import annotations

import random

import pytest

from ckptdeck.core.probes import probe_file
from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, CountingFileSystem, memory_file

ONE = FIXTURES / "one_save"
SEEDS = (
    "torch_zip/model.pt",
    "torchscript/model.pt",
    "lightning/epoch=0-step=4.ckpt",
    "safetensors/model.safetensors",
    "hf_trainer/model.safetensors",
    "dcp/__0_0.distcp",
    "torch_legacy/model.pth",
    "npy/weights.npy",
    "npz/weights.npz",
    "npz_compressed/weights.npz",
    "pickle2/model.pkl",
    "pickle4/model.pkl",
    "joblib/model.joblib",
    "joblib_z/model.joblib",
    "flax_msgpack/checkpoint_100",
    "gguf/model.gguf",
    "hdf5_v0/weights.h5",
    "hdf5_v3/weights.h5",
    "hdf5_gzip/weights.h5",
    "keras/model.keras",
    "keras_weights_h5/model.weights.h5",
)
MUTANTS_EACH = 2000
LARGE_NUMBERS = (b"\xff" * 4, b"\xff" * 8, b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"\0" * 8)


def mutate(content: bytes, values: random.Random) -> bytes:
    mutant = bytearray(content)
    for _ in range(values.randrange(1, 5)):
        if not mutant:
            break
        place = _place(mutant, values)
        match values.randrange(6):
            case 0:
                mutant[place] ^= 1 << values.randrange(8)
            case 1:
                mutant[place : place + 8] = values.choice(LARGE_NUMBERS)
            case 2:
                del mutant[place:]
            case 3:
                del mutant[place : place + values.randrange(1, 300)]
            case 4:
                mutant[place:place] = values.randbytes(values.randrange(1, 300))
            case _:
                length = values.randrange(1, 5000)
                mutant[place : place + length] = bytes(min(length, len(mutant) - place))
    return bytes(mutant)


def _place(mutant: bytearray, values: random.Random) -> int:
    """Anywhere, but more often in the first or last hundred bytes, where the tables are."""
    match values.randrange(3):
        case 0:
            return values.randrange(min(100, len(mutant)))
        case 1:
            return len(mutant) - 1 - values.randrange(min(100, len(mutant)))
        case _:
            return values.randrange(len(mutant))


@pytest.mark.parametrize("name", SEEDS)
def test_mutants_give_findings(name: str) -> None:
    content = (ONE / name).read_bytes()
    values = random.Random(name)
    for number in range(MUTANTS_EACH):
        mutant = mutate(content, values)
        fs = CountingFileSystem()
        with memory_file(mutant) as fd:
            finding = probe_file(fs, fd, len(mutant), name.rpartition("/")[2])
        assert isinstance(finding.structure, Structure), number
        assert finding.text, number
        assert fs.bytes_read < 20 * len(content) + 1_000_000, number
