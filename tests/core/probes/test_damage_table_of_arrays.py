"""Every damage of the fact table on the formats of arrays and pickles, against the least a probe must say."""

from __future__ import annotations

import pickle
import random
import struct

import numpy as np
import pytest

from ckptdeck.core.states import Structure
from tests.core.probes import damage
from tests.core.probes.damage import Damaged, probe_damaged
from tests.core.probes.looking import probe_bytes, save

LEGACY = "torch_legacy/model.pth"
NPY = "npy/weights.npy"
NPZ = "npz/weights.npz"
NPZ_COMPRESSED = "npz_compressed/weights.npz"
FLAX = "flax_msgpack/checkpoint_100"
PICKLE2, PICKLE4 = "pickle2/model.pkl", "pickle4/model.pkl"
JOBLIB = "joblib/model.joblib"
JOBLIB_Z = "joblib_z/model.joblib"

FORMATS = {
    LEGACY: "torch-legacy",
    NPY: "npy",
    NPZ: "npz",
    NPZ_COMPRESSED: "npz",
    FLAX: "flax-msgpack",
    PICKLE2: "pickle",
    PICKLE4: "pickle",
    JOBLIB: "joblib",
}
DAMAGES = (
    damage.LOST_BYTES
    | damage.ZERO_TAILS
    | damage.INSIDE_VALUES
    | damage.WHOLE_PAGES
    | damage.TOO_LONG
    | {"zero_gap": damage.zero_gap, "hole_gap": damage.hole_gap}
)
CUTS = tuple(kind for kind in damage.LOST_BYTES if kind not in ("trunc_0", "trunc_1B"))

PROVEN = frozenset({Structure.CUT, Structure.BROKEN})
SUSPECT = PROVEN | {Structure.SUSPECT}
ANYTHING = frozenset(Structure)
GONE = dict.fromkeys((*damage.LOST_BYTES, *damage.WHOLE_PAGES), PROVEN)
NO_TAIL = dict.fromkeys(damage.ZERO_TAILS, PROVEN)
LOADS_TOO_LONG = dict.fromkeys(damage.TOO_LONG, frozenset({Structure.SUSPECT}))

FLOORS: dict[str, dict[str, frozenset[Structure]]] = {
    LEGACY: GONE | NO_TAIL | LOADS_TOO_LONG | dict.fromkeys(("zero_gap", "hole_gap", "zero_page_mid"), PROVEN),
    NPY: GONE | dict.fromkeys(damage.ZERO_TAILS, SUSPECT) | LOADS_TOO_LONG,
    NPZ: GONE | NO_TAIL | LOADS_TOO_LONG | {"zero_page_mid": PROVEN},
    NPZ_COMPRESSED: GONE | NO_TAIL | LOADS_TOO_LONG,
    FLAX: GONE
    | NO_TAIL
    | dict.fromkeys(damage.WHOLE_PAGES, SUSPECT)
    | dict.fromkeys(damage.TOO_LONG, frozenset({Structure.BROKEN})),
    PICKLE2: GONE | NO_TAIL | LOADS_TOO_LONG,
    PICKLE4: GONE | NO_TAIL | LOADS_TOO_LONG | {"zero_page_mid": PROVEN},
    JOBLIB: GONE | NO_TAIL | LOADS_TOO_LONG,
    JOBLIB_Z: dict.fromkeys(("trunc_0", "trunc_1B", *damage.WHOLE_PAGES), PROVEN)
    | dict.fromkeys(damage.ZERO_TAILS, SUSPECT),
}
"""What is not listed may have any finding: there headers cannot know."""


@pytest.mark.parametrize("which", ["one_save", "another_save"])
@pytest.mark.parametrize("name", FORMATS)
def test_whole_files_raise_no_alarm(name: str, which: str) -> None:
    content = save(name, which)
    finding = probe_bytes(content, name.rpartition("/")[2])
    assert (finding.structure, finding.format) == (Structure.OK, FORMATS[name]), finding.text
    assert (finding.expected_size, finding.proof, finding.loader_says) == (len(content), "exact-size", "")
    assert "values not checked" in finding.text


@pytest.mark.parametrize("which", ["one_save", "another_save"])
def test_a_compressed_whole_is_never_said_to_be_proven(which: str) -> None:
    finding = probe_bytes(save(JOBLIB_Z, which), "model.joblib")
    assert (finding.structure, finding.format, finding.proof) == (Structure.UNKNOWN, "zlib", "magic")


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("name", FLOORS)
def test_damage_is_judged_at_least_as_the_table_says(name: str, kind: str) -> None:
    finding = probe_damaged(DAMAGES[kind](save(name)), name)
    assert finding.structure in FLOORS[name].get(kind, ANYTHING), finding
    assert finding.text
    if finding.structure in SUSPECT:
        assert finding.loader_says, finding


@pytest.mark.parametrize("kind", CUTS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_cut_is_called_a_cut(name: str, kind: str) -> None:
    content = save(name)
    finding = probe_damaged(DAMAGES[kind](content), name)
    assert (finding.structure, finding.format) == (Structure.CUT, FORMATS[name]), finding
    assert finding.expected_size in (None, len(content))


def test_a_mix_of_two_saves_shows_at_the_lengths_of_a_legacy_file() -> None:
    mixed = damage.torn_mix(save(LEGACY), save(LEGACY, "another_save"))
    assert probe_damaged(mixed, LEGACY).structure is Structure.BROKEN


@pytest.mark.parametrize("name", FORMATS)
def test_a_flipped_bit_inside_values_is_not_claimed_away(name: str) -> None:
    finding = probe_damaged(damage.flip_bit_in_the_middle(save(name)), name)
    assert finding.structure is Structure.OK
    assert "values not checked" in finding.text


# --- larger files, in which whole pages of one array can be lost


def values(count: int) -> bytes:
    return random.Random(count).randbytes(count)


def made_npy() -> bytes:
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (600000,), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values(600_000)


def made_pickle() -> bytes:
    return pickle.dumps({"first": values(1_001), "large": values(600_000), "last": 1}, 4)


def made_flax() -> bytes:
    data = values(600_000)
    array = (
        b"\x93\x91\xce" + struct.pack(">I", len(data)) + b"\xa5uint8" + b"\xc6" + struct.pack(">I", len(data)) + data
    )
    extension = b"\xc9" + struct.pack(">I", len(array)) + b"\x01" + array
    return b"\x82" + b"\xa5large" + extension + b"\xa4last" + b"\x01"


MADE = {"weights.npy": made_npy, "model.pkl": made_pickle, "model.msgpack": made_flax}


@pytest.mark.parametrize("name", MADE)
def test_a_hole_inside_one_array_is_suspect(name: str) -> None:
    content = MADE[name]()
    assert probe_damaged(Damaged(content), name).structure is Structure.OK
    finding = probe_damaged(damage.hole_gap(content), name)
    assert finding.structure is Structure.SUSPECT
    assert "never stored" in finding.text
    assert "loads the zeros" in finding.loader_says


@pytest.mark.parametrize("kind", damage.INSIDE_VALUES)
@pytest.mark.parametrize("name", MADE)
def test_what_only_a_hash_can_tell_is_no_finding(name: str, kind: str) -> None:
    assert probe_damaged(damage.INSIDE_VALUES[kind](MADE[name]()), name).structure is Structure.OK


def test_a_hole_in_a_compressed_file_is_suspect() -> None:
    content = b"\x1f\x8b\x08" + values(100_000)
    finding = probe_damaged(damage.hole_gap(content), "model.joblib")
    assert (finding.structure, finding.format) == (Structure.SUSPECT, "gzip")


def test_numpy_and_this_walk_agree_on_the_end_of_an_array_of_objects() -> None:
    content = pickle.dumps(np.array([1, None, "text"], dtype=object), 4)
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }".ljust(117) + b"\n"
    whole = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content
    assert probe_bytes(whole, "names.npy").structure is Structure.OK
    assert probe_bytes(whole[:-1], "names.npy").structure is Structure.CUT
