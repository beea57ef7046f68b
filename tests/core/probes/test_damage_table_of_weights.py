"""Every damage of the fact table on GGUF, HDF5 and Keras files, against the least a probe must say."""

from __future__ import annotations

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes import damage
from tests.core.probes.damage import probe_damaged
from tests.core.probes.looking import probe_bytes, save

GGUF = "gguf/model.gguf"
HDF5_V0, HDF5_V3, HDF5_GZIP = "hdf5_v0/weights.h5", "hdf5_v3/weights.h5", "hdf5_gzip/weights.h5"
KERAS, KERAS_WEIGHTS = "keras/model.keras", "keras_weights_h5/model.weights.h5"
FORMATS = {
    GGUF: "gguf",
    HDF5_V0: "hdf5",
    HDF5_V3: "hdf5",
    HDF5_GZIP: "hdf5",
    KERAS: "keras",
    KERAS_WEIGHTS: "hdf5",
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
LOADS_TOO_LONG = dict.fromkeys(damage.TOO_LONG, frozenset({Structure.SUSPECT}))
LOST_TAIL = dict.fromkeys(damage.ZERO_TAILS, SUSPECT)
LOST_OBJECTS = dict.fromkeys(damage.ZERO_TAILS, PROVEN)

FLOORS: dict[str, dict[str, frozenset[Structure]]] = {
    GGUF: GONE | LOST_TAIL | LOADS_TOO_LONG | {"trunc_m1": SUSPECT},
    HDF5_V0: GONE | LOST_OBJECTS | LOADS_TOO_LONG,
    HDF5_V3: GONE | LOST_TAIL | LOADS_TOO_LONG,
    HDF5_GZIP: GONE | LOST_OBJECTS | LOADS_TOO_LONG | {"zero_tail_4k": ANYTHING},
    KERAS: GONE | LOST_OBJECTS | LOADS_TOO_LONG,
    KERAS_WEIGHTS: GONE | LOST_OBJECTS | LOADS_TOO_LONG,
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


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("name", FLOORS)
def test_damage_is_judged_at_least_as_the_table_says(name: str, kind: str) -> None:
    finding = probe_damaged(DAMAGES[kind](save(name)), name)
    assert finding.structure in FLOORS[name].get(kind, ANYTHING), finding
    assert finding.text
    if finding.structure in SUSPECT:
        assert finding.loader_says, finding


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in FORMATS for kind in CUTS if (name, kind) != (GGUF, "trunc_m1")]
)
def test_a_cut_is_called_a_cut(name: str, kind: str) -> None:
    content = save(name)
    finding = probe_damaged(DAMAGES[kind](content), name)
    assert (finding.structure, finding.format) == (Structure.CUT, FORMATS[name]), finding
    assert finding.expected_size is None or finding.expected_size <= len(content)


@pytest.mark.parametrize("name", FORMATS)
def test_a_flipped_bit_inside_values_is_not_claimed_away(name: str) -> None:
    finding = probe_damaged(damage.flip_bit_in_the_middle(save(name)), name)
    assert finding.structure is Structure.OK
    assert "values not checked" in finding.text


def test_a_mix_of_two_saves_shows_at_the_headers_of_a_keras_file() -> None:
    assert probe_damaged(damage.torn_mix(save(KERAS), save(KERAS, "another_save")), KERAS).structure is Structure.BROKEN


@pytest.mark.parametrize("kind", ["zero_page_mid", "zero_gap", "hole_gap"])
def test_a_gap_over_the_groups_of_an_old_file_is_proven(kind: str) -> None:
    finding = probe_damaged(DAMAGES[kind](save(KERAS_WEIGHTS)), KERAS_WEIGHTS)
    assert finding.structure is Structure.BROKEN
    assert "found zeros" in finding.text


@pytest.mark.parametrize(("name", "says"), [(HDF5_V3, "stored_eof = 9848"), (KERAS, "the file is there")])
def test_what_the_loader_makes_of_a_cut_is_put_right(name: str, says: str) -> None:
    assert says in probe_damaged(damage.cut_to(0.73)(save(name)), name).loader_says
