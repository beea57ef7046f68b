from __future__ import annotations

import struct

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, PAGE, probe_bytes

FLAX = (FIXTURES / "one_save" / "flax_msgpack" / "checkpoint_100").read_bytes()


def text(value: str) -> bytes:
    return bytes([0xD9, len(value)]) + value.encode()


def array(values: bytes, kind: str = "uint8", shape: bytes | None = None, extension: int = 1) -> bytes:
    shape = b"\x91\xce" + struct.pack(">I", len(values)) if shape is None else shape
    packed = b"\x93" + shape + text(kind) + b"\xc6" + struct.pack(">I", len(values)) + values
    return b"\xc9" + struct.pack(">IB", len(packed), extension) + packed


def table(**entries: bytes) -> bytes:
    return bytes([0x80 + len(entries)]) + b"".join(text(key) + value for key, value in entries.items())


WHOLE = {
    "array": table(w=array(b"12345678")),
    "scalar": table(w=array(b"12345678", "float64", b"\x90", extension=3)),
    "half": table(w=array(b"12345678", "bfloat16", b"\x92\x02\x02")),
    "eighths": table(w=array(b"1234", "float8_e4m3fn", b"\x91\x04"), v=array(b"1234", "int4", b"\x91\x04")),
    "text": table(w=array(b"1234" * 2, "str32", b"\x91\x02")),
    "unheard": table(w=array(b"1234", "posit", b"\x91\x09")),
    "zero": table(w=array(b"", shape=b"\x92\x00\x07")),
    "values": table(
        a=b"\xc0", b=b"\xcb" + bytes(8), c=b"\xd3" + bytes(8), d=b"\x93\xc2\xc3\xff", e=table(), f=b"\xd6\x021234"
    ),
    "long": table(
        w=b"\xdf" + struct.pack(">I", 2) + text("a") + array(b"1") + text("b") + b"\xdd" + struct.pack(">I", 0)
    ),
}


@pytest.mark.parametrize("name", ["model.msgpack", "checkpoint_5", "weights"])
@pytest.mark.parametrize("which", WHOLE)
def test_tables_are_whole_under_any_name(which: str, name: str) -> None:
    finding = probe_bytes(WHOLE[which], name)
    assert (finding.structure, finding.format) == (Structure.OK, "flax-msgpack"), finding
    assert finding.expected_size == len(WHOLE[which])


@pytest.mark.parametrize("which", WHOLE)
def test_a_named_file_cut_anywhere_is_cut(which: str) -> None:
    content = WHOLE[which]
    for length in range(2, len(content)):
        assert probe_bytes(content[:length], "model.msgpack").structure is Structure.CUT, length


def test_without_the_name_a_whole_array_is_needed_before_anything_is_claimed() -> None:
    assert probe_bytes(FLAX[:3000], "weights").structure is Structure.UNKNOWN
    assert probe_bytes(FLAX[:7000], "weights").structure is Structure.CUT


@pytest.mark.parametrize("content", [b"\x85" + b"\xa5prose" * 40, b"\xde\xad\xbe\xef" * 40, b"\x81\x01\x02" * 40])
def test_other_content_is_no_finding(content: bytes) -> None:
    assert probe_bytes(content, "weights").structure is Structure.UNKNOWN


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (table(w=array(b"1234", "float32", b"\x91\x02")), "2 values of 'float32', and holds 4 bytes"),
        (table(w=array(b"1234", shape=b"\x91\xff")), "holds 4 bytes"),
        (table(w=array(b"1234", shape=b"\xa1x")), "no shape and type"),
        (b"\x82" + text("a") + b"\xc1", "begins no value"),
        (b"\x82" + text("a") + b"\x01" + b"\x02\x03", "name of a value"),
        (table(w=array(b"1234")) + b"\0" * 16, "16 bytes too many"),
    ],
)
def test_what_contradicts_itself_is_broken(content: bytes, says: str) -> None:
    finding = probe_bytes(content, "model.msgpack")
    assert finding.structure is Structure.BROKEN
    assert says in finding.text
    assert finding.loader_says.startswith("flax")


def test_nesting_costs_no_stack() -> None:
    assert probe_bytes(table(w=b"\x91" * 200_000 + b"\xc0"), "model.msgpack").structure is Structure.OK


@pytest.mark.parametrize(
    "header", [b"\xdf\xff\xff\xff\xff", b"\x81\xa1a\xdd\xff\xff\xff\xff", b"\x81\xa1a\xc6\xff\xff\xff\xff"]
)
def test_a_length_of_gigabytes_sizes_no_buffer(header: bytes) -> None:
    assert probe_bytes(header + b"\xa1a\x01" * 10, "model.msgpack").structure is Structure.CUT


def test_a_pickle_is_a_pickle_whatever_its_first_byte_might_mean() -> None:
    assert probe_bytes(b"\x80\x02}.", "model.msgpack").format == "pickle"


@pytest.mark.parametrize(
    ("name", "structure"),
    [("model.msgpack", Structure.BROKEN), ("checkpoint_100", Structure.SUSPECT), ("weights", Structure.UNKNOWN)],
)
def test_a_lost_first_page_is_told_by_the_name(name: str, structure: Structure) -> None:
    assert probe_bytes(bytes(PAGE) + FLAX[PAGE:], name).structure is structure
