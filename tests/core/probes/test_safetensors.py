from __future__ import annotations

import json
import struct

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, PAGE, probe_bytes

MODEL = (FIXTURES / "one_save" / "safetensors" / "model.safetensors").read_bytes()


def file_of(header: object, data: bytes = b"") -> bytes:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + data


def tensor(begin: int, end: int, dtype: str = "U8", shape: list[object] | None = None) -> dict[str, object]:
    return {"dtype": dtype, "shape": [end - begin] if shape is None else shape, "data_offsets": [begin, end]}


def test_a_cut_file_says_what_is_there_and_what_is_missing() -> None:
    finding = probe_bytes(MODEL[:3000], "model.safetensors")
    assert finding.structure is Structure.CUT
    assert finding.expected_size == len(MODEL)
    assert "3,000 of 4,656 bytes, 1,656 missing" in finding.text
    assert "not fully covered" in finding.loader_says


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"a": tensor(0, 4), "b": tensor(8, 12)}, "begins at byte"),
        ({"a": tensor(0, 8), "b": tensor(4, 12)}, "begins at byte"),
        ({"a": tensor(0, 12, "F32", [4])}, "4 values of F32, its place has 12 bytes"),
        ({"a": tensor(0, 12, "F32", [-1])}, "impossible shape"),
        ({"a": tensor(0, 12, "F32", [2**62] * 1000)}, "impossible shape"),
        ({"a": tensor(12, 0)}, "impossible place"),
        ({"a": {"dtype": "F32"}}, "no type, shape and place"),
        (b"{" + b'"a":' * 3, "not JSON"),
        (b'{"a":' + b"[" * 100_000, "not JSON"),
        (b'{"a":' + b"9" * 10_000 + b"}", "not JSON"),
    ],
)
def test_a_header_that_contradicts_itself_is_broken(header: object, says: str) -> None:
    finding = probe_bytes(file_of(header, bytes(range(1, 13))), "model.safetensors")
    assert finding.structure is Structure.BROKEN
    assert says in finding.text


def test_tensors_may_be_listed_in_any_order_and_have_types_of_the_future() -> None:
    header = {"b": tensor(4, 12, "F7_NEW", [9]), "a": tensor(0, 4), "__metadata__": {"format": "pt"}}
    assert probe_bytes(file_of(header, bytes(range(1, 13))), "model.safetensors").structure is Structure.OK


def test_four_bit_values_fill_half_a_byte() -> None:
    assert probe_bytes(file_of({"a": tensor(0, 4, "F4", [8])}, b"abcd"), "x.bin").structure is Structure.OK


def test_a_header_of_an_impossible_length_is_no_safetensors() -> None:
    content = struct.pack("<Q", 1 << 40) + b'{"a": 1}' * 100
    assert probe_bytes(content, "model.safetensors").structure is Structure.UNKNOWN


# --- a file that got its full size first and was never filled


def many_tensors(filled: int, total: int, length: int = 5003) -> bytes:
    """`total` tensors of `length` bytes; the data end after `filled` bytes of them."""
    header = {f"t{index:02}": tensor(index * length, (index + 1) * length) for index in range(total)}
    return file_of(header, b"v" * filled + bytes(total * length - filled))


def unstored_tail(content: bytes, filled: int) -> tuple[tuple[int, int], ...]:
    data = len(content) - 20 * 5003
    return ((-(-(data + filled) // PAGE) * PAGE, len(content)),)


@pytest.mark.parametrize("filled", [5003 * 3 + 1234, 5003 * 3])
def test_many_tensors_that_were_never_stored_are_suspect(filled: int) -> None:
    content = many_tensors(filled, 20)
    finding = probe_bytes(content, "model.safetensors", holes=unstored_tail(content, filled))
    assert finding.structure is Structure.SUSPECT
    assert "of 20 tensors" in finding.text


def test_many_tensors_of_stored_zeros_that_begin_inside_another_are_suspect() -> None:
    assert probe_bytes(many_tensors(5003 * 3 + 1234, 20), "model.safetensors").structure is Structure.SUSPECT


@pytest.mark.parametrize("filled", [5003 * 3, 5003 * 17 + 1234])
def test_tensors_of_zeros_that_were_stored_are_left_alone(filled: int) -> None:
    assert probe_bytes(many_tensors(filled, 20), "model.safetensors").structure is Structure.OK
