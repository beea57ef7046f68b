"""Every damage of the fact table, on real files and on larger made ones, against the least a probe must say."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import pytest

from ckptdeck.core.states import Structure
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes import damage
from tests.core.probes.damage import Damaged, probe_damaged
from tests.core.probes.looking import FIXTURES, probe_bytes

PROVEN = {Structure.CUT, Structure.BROKEN}

TORCH = ("torch_zip/model.pt", "torch_zip_nocrc/model.pt", "lightning/epoch=0-step=4.ckpt", "torchscript/model.pt")
SAFETENSORS = ("safetensors/model.safetensors", "hf_trainer/model.safetensors")
MADE_TORCH, MADE_SAFETENSORS = "made/model.pt", "made/model.safetensors"


def made_tensors(seed: int) -> tuple[Tensor, ...]:
    """About 1.2 MB in tensors of 64 to 160 kB whose places are no multiple of a page."""
    values = random.Random(seed)
    lengths = [16_001 + 2_003 * index for index in range(12)]
    return tuple(
        Tensor(f"layer.{index}.weight", (length,), values.randbytes(4 * length)) for index, length in enumerate(lengths)
    )


def made(name: str, seed: int) -> bytes:
    file = io.BytesIO()
    if name == MADE_TORCH:
        write_torch_file(file, made_tensors(seed), archive="model", step=seed, loss=0.5)
    else:
        write_safetensors_file(file, made_tensors(seed))
    return file.getvalue()


@pytest.fixture(scope="module")
def saves() -> dict[str, tuple[bytes, bytes]]:
    """Two saves of each layout."""
    files = {
        name: ((FIXTURES / "one_save" / name).read_bytes(), (FIXTURES / "another_save" / name).read_bytes())
        for name in (*TORCH, *SAFETENSORS)
    }
    return files | {name: (made(name, 1), made(name, 2)) for name in (MADE_TORCH, MADE_SAFETENSORS)}


EVERY = (*TORCH, *SAFETENSORS, MADE_TORCH, MADE_SAFETENSORS)
LOST = damage.LOST_BYTES | damage.WHOLE_PAGES


@pytest.mark.parametrize("name", EVERY)
def test_whole_files_raise_no_alarm(saves: dict[str, tuple[bytes, bytes]], name: str) -> None:
    for content in saves[name]:
        finding = probe_bytes(content, name.rpartition("/")[2])
        assert finding.structure is Structure.OK, finding.text
        assert finding.expected_size == len(content)
        assert finding.proof == "exact-size"


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("kind", LOST)
def test_lost_bytes_are_proven(saves: dict[str, tuple[bytes, bytes]], name: str, kind: str) -> None:
    content = saves[name][0]
    finding = probe_damaged(LOST[kind](content), name)
    assert finding.structure in PROVEN, finding
    assert finding.text
    assert finding.loader_says


@pytest.mark.parametrize("name", [*TORCH, MADE_TORCH])
@pytest.mark.parametrize("kind", damage.ZERO_TAILS)
def test_torch_files_with_a_zero_tail_are_proven(saves: dict[str, tuple[bytes, bytes]], name: str, kind: str) -> None:
    finding = probe_damaged(damage.ZERO_TAILS[kind](saves[name][0]), name)
    assert finding.structure is Structure.BROKEN, finding
    assert "zeros" in finding.text


@pytest.mark.parametrize("name", [*SAFETENSORS, MADE_SAFETENSORS])
@pytest.mark.parametrize("kind", damage.ZERO_TAILS)
def test_safetensors_with_a_zero_tail_are_suspect(saves: dict[str, tuple[bytes, bytes]], name: str, kind: str) -> None:
    finding = probe_damaged(damage.ZERO_TAILS[kind](saves[name][0]), name)
    assert finding.structure is Structure.SUSPECT, finding
    assert finding.expected_size == len(saves[name][0])


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        *((name, damage.zero_gap) for name in ("torch_zip/model.pt", "lightning/epoch=0-step=4.ckpt", MADE_TORCH)),
        (MADE_TORCH, damage.hole_gap),
    ],
)
def test_gaps_over_headers_inside_a_torch_file_are_proven(
    saves: dict[str, tuple[bytes, bytes]], name: str, spoil: Callable[[bytes], Damaged]
) -> None:
    assert probe_damaged(spoil(saves[name][0]), name).structure is Structure.BROKEN


def test_a_hole_inside_safetensors_is_suspect(saves: dict[str, tuple[bytes, bytes]]) -> None:
    finding = probe_damaged(damage.hole_gap(saves[MADE_SAFETENSORS][0]), MADE_SAFETENSORS)
    assert finding.structure is Structure.SUSPECT
    assert "never stored" in finding.text
    assert "layer." in finding.text


@pytest.mark.parametrize("kind", damage.INSIDE_VALUES)
@pytest.mark.parametrize("name", [MADE_TORCH, MADE_SAFETENSORS])
def test_damage_inside_values_is_not_claimed_away(saves: dict[str, tuple[bytes, bytes]], name: str, kind: str) -> None:
    finding = probe_damaged(damage.INSIDE_VALUES[kind](saves[name][0]), name)
    assert finding.structure is Structure.OK
    assert "values not checked" in finding.text


@pytest.mark.parametrize("name", ["torch_zip/model.pt", "lightning/epoch=0-step=4.ckpt", MADE_TORCH])
def test_a_mix_of_two_saves_shows_at_the_headers(saves: dict[str, tuple[bytes, bytes]], name: str) -> None:
    one, another = saves[name]
    assert len(one) == len(another)
    assert probe_damaged(damage.torn_mix(one, another), name).structure is Structure.BROKEN


@pytest.mark.parametrize("name", [*TORCH, MADE_TORCH])
@pytest.mark.parametrize("kind", damage.TOO_LONG)
def test_bytes_after_a_torch_file_are_suspect(saves: dict[str, tuple[bytes, bytes]], name: str, kind: str) -> None:
    content = saves[name][0]
    finding = probe_damaged(damage.TOO_LONG[kind](content), name)
    assert finding.structure is Structure.SUSPECT
    assert finding.expected_size == len(content)
    assert "too many" in finding.text


@pytest.mark.parametrize("name", [*SAFETENSORS, MADE_SAFETENSORS])
@pytest.mark.parametrize("kind", damage.TOO_LONG)
def test_bytes_after_safetensors_break_it(saves: dict[str, tuple[bytes, bytes]], name: str, kind: str) -> None:
    content = saves[name][0]
    finding = probe_damaged(damage.TOO_LONG[kind](content), name)
    assert finding.structure is Structure.BROKEN
    assert finding.expected_size == len(content)
