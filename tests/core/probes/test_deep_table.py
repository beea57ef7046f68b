"""The cells of the fact table that only the checksums inside a file can fill, and the rows of the expectations."""

from __future__ import annotations

import json

import pytest

from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure
from tests.core.probes import damage
from tests.core.probes.damage import probe_damaged
from tests.core.probes.deep_looking import deep_bytes, deep_damaged
from tests.core.probes.looking import FIXTURES, save
from tests.core.probes.trees import BY_CONTENT, PROVEN, at_least

SUSPECT = PROVEN | {Structure.SUSPECT}
RANK = (Structure.UNKNOWN, Structure.OK, Structure.SUSPECT, Structure.INCOMPLETE, Structure.CUT, Structure.BROKEN)

TORCH, LIGHTNING, SCRIPT = "torch_zip/model.pt", "lightning/epoch=0-step=4.ckpt", "torchscript/model.pt"
NO_CHECKSUMS = "torch_zip_nocrc/model.pt"
NPZ, NPZ_COMPRESSED, KERAS = "npz/weights.npz", "npz_compressed/weights.npz", "keras/model.keras"
PACKED = "joblib_z/model.joblib"
WITH_CHECKSUMS = (TORCH, LIGHTNING, SCRIPT, NPZ, NPZ_COMPRESSED, KERAS, PACKED)
WITHOUT_CHECKSUMS = {
    NO_CHECKSUMS: "torch-zip",
    "torch_legacy/model.pth": "torch-legacy",
    "safetensors/model.safetensors": "safetensors",
    "gguf/model.gguf": "gguf",
    "npy/weights.npy": "npy",
    "hdf5_v0/weights.h5": "hdf5",
    "hdf5_v3/weights.h5": "hdf5",
    "hdf5_gzip/weights.h5": "hdf5",
    "keras_weights_h5/model.weights.h5": "hdf5",
    "flax_msgpack/checkpoint_100": "flax-msgpack",
    "pickle4/model.pkl": "pickle",
    "pickle2/model.pkl": "pickle",
    "joblib/model.joblib": "joblib",
}
EVERY = (*WITH_CHECKSUMS, *WITHOUT_CHECKSUMS)

INSIDE = ("zero_gap", "zero_page_mid", "bitflip_mid")
FOUND_BY_CHECKSUMS = (
    *((name, kind) for name in (TORCH, LIGHTNING, SCRIPT, KERAS) for kind in INSIDE),
    *((name, kind) for name in (NPZ, NPZ_COMPRESSED, PACKED) for kind in INSIDE),
    *((PACKED, kind) for kind in (*damage.LOST_BYTES, *damage.ZERO_TAILS, *damage.TOO_LONG)),
)


def spoilt(name: str, kind: str) -> damage.Damaged:
    if kind == "torn_mix":
        return damage.torn_mix(save(name), save(name, "another_save"))
    return BY_CONTENT[kind](save(name))


@pytest.mark.parametrize("which", ["one_save", "another_save"])
@pytest.mark.parametrize("name", WITH_CHECKSUMS)
def test_checksums_prove_a_whole_file(name: str, which: str) -> None:
    content = save(name, which)
    finding = deep_bytes(content, name.rpartition("/")[2])
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums"), finding
    assert f"{len(content):,} bytes read" in finding.text
    assert (finding.expected_size, finding.loader_says) == (len(content), "")
    assert "not checked" not in finding.text


@pytest.mark.parametrize("which", ["one_save", "another_save"])
@pytest.mark.parametrize("name", WITHOUT_CHECKSUMS)
def test_without_checksums_nothing_is_proven_and_nothing_wrong(name: str, which: str) -> None:
    content = save(name, which)
    finding = deep_bytes(content, name.rpartition("/")[2])
    assert (finding.structure, finding.proof) == (Structure.OK, "exact-size"), finding
    assert finding.format == WITHOUT_CHECKSUMS[name]
    assert "cannot be proven" in finding.text
    assert "checksum" in finding.text
    assert "agree" not in finding.text


@pytest.mark.parametrize(("name", "kind"), FOUND_BY_CHECKSUMS)
def test_what_only_checksums_can_find_is_found(name: str, kind: str) -> None:
    finding = deep_damaged(spoilt(name, kind), name)
    assert finding.structure in PROVEN, finding
    assert finding.loader_says


@pytest.mark.parametrize("name", [NPZ, TORCH, LIGHTNING])
def test_a_mix_of_two_saves_is_found(name: str) -> None:
    assert deep_damaged(spoilt(name, "torn_mix"), name).structure is Structure.BROKEN


@pytest.mark.parametrize("kind", BY_CONTENT)
@pytest.mark.parametrize("name", EVERY)
def test_a_full_read_says_no_less_than_a_quick_look(name: str, kind: str) -> None:
    damaged = spoilt(name, kind)
    quick, deep = probe_damaged(damaged, name), deep_damaged(damaged, name)
    if quick.structure is Structure.SUSPECT and deep.structure is Structure.OK:
        assert deep.proof == "checksums"
        assert damaged.content == save(name)
    else:
        assert RANK.index(deep.structure) >= RANK.index(quick.structure), (quick, deep)


def deep_rows() -> list[tuple[str, str, str]]:
    """(file, damage, the least to be said) of every row about a file that is judged by itself."""
    table = json.loads((FIXTURES / "expectations.json").read_text())
    files = {name.partition("/")[0]: name for name in EVERY}
    found = []
    for key, row in table.items():
        layout, _, rest = key.partition("/")
        member, _, kind = rest.rpartition("__")
        if layout in files and not member:
            found.append((files[layout], kind, row["deep"]))
        elif member.endswith((".pt", ".safetensors")) and kind in BY_CONTENT:
            found.append((f"{layout}/{member}", kind, row["deep"]))
    return found


@pytest.mark.parametrize(("name", "kind", "word"), deep_rows())
def test_every_row_of_the_expectations_is_met(name: str, kind: str, word: str) -> None:
    assert deep_damaged(spoilt(name, kind), name).structure in at_least(word)


def test_a_cut_compressed_file_is_called_a_cut() -> None:
    for kind in ("trunc_50", "trunc_m1"):
        assert deep_damaged(spoilt(PACKED, kind), PACKED).structure is Structure.CUT


@pytest.mark.parametrize("kind", damage.TOO_LONG)
def test_bytes_that_joblib_would_never_get_over_are_proven(kind: str) -> None:
    finding: StructureFinding = deep_damaged(spoilt(PACKED, kind), PACKED)
    assert (finding.structure, finding.expected_size) == (Structure.BROKEN, len(save(PACKED)))
    assert "never load it" in finding.loader_says


@pytest.mark.parametrize("kind", damage.TOO_LONG)
@pytest.mark.parametrize("name", [TORCH, NPZ, KERAS])
def test_bytes_after_a_proven_archive_stay_suspect(name: str, kind: str) -> None:
    finding = deep_damaged(spoilt(name, kind), name)
    assert (finding.structure, finding.proof, finding.expected_size) == (
        Structure.SUSPECT,
        "checksums",
        len(save(name)),
    )
    assert "too many" in finding.text
    assert "agree" in finding.text
