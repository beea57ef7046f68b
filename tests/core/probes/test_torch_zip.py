from __future__ import annotations

import io
import struct
import zipfile

from ckptdeck.core.states import Structure
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes.looking import FIXTURES, PAGE, probe_bytes

TORCH = (FIXTURES / "one_save" / "torch_zip" / "model.pt").read_bytes()


def one_tensor(length: int) -> bytes:
    file = io.BytesIO()
    data = bytes(range(1, 251)) * (4 * length // 250)
    write_torch_file(file, [Tensor("w", (len(data) // 4,), data)], archive="model", step=1, loss=0.5)
    return file.getvalue()


def repacked(**changed: bytes | None) -> bytes:
    """The same archive with some members replaced, or left out for None; keys are written with _ for /."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(TORCH)) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            content = changed.get(name.replace("/", "_").replace(".", "_"), source.read(name))
            if content is not None:
                target.writestr(name, content)
    return file.getvalue()


def test_a_cut_file_says_how_much_its_pickle_asks_for() -> None:
    content = one_tensor(500_000)
    finding = probe_bytes(content[: len(content) * 3 // 4], "step_0810.pt")
    assert finding.structure is Structure.CUT
    assert f"{len(content) * 3 // 4:,}" in finding.text
    assert "2,000,000" in finding.text
    assert "central directory" in finding.loader_says


def test_a_missing_storage_is_named() -> None:
    finding = probe_bytes(repacked(model_data_3=None), "model.pt")
    assert finding.structure is Structure.BROKEN
    assert "model/data/3" in finding.text


def test_a_storage_of_another_length_is_named_with_both() -> None:
    finding = probe_bytes(repacked(model_data_3=bytes(76)), "model.pt")
    assert finding.structure is Structure.BROKEN
    assert "holds 76 bytes" in finding.text
    assert "80" in finding.text


def test_a_damaged_pickle_is_found_without_being_loaded() -> None:
    finding = probe_bytes(repacked(model_data_pkl=b"\x80\x02cos\nsystem\n(X\x04\0\0\0true"), "model.pt")
    assert finding.structure is Structure.BROKEN
    assert "data.pkl" in finding.text


def test_one_flipped_bit_in_the_pickle_shows_in_its_checksum() -> None:
    place = TORCH.index(b"param_groups")
    finding = probe_bytes(TORCH[:place] + b"q" + TORCH[place + 1 :], "model.pt")
    assert finding.structure is Structure.BROKEN
    assert "checksum" in finding.text


def test_bytes_lost_in_front_of_the_directory_are_counted() -> None:
    finding = probe_bytes(TORCH[:9000] + TORCH[9100:], "model.pt")
    assert finding.structure is Structure.BROKEN
    assert "100 bytes were lost" in finding.text


def test_bytes_added_in_front_of_the_directory_are_counted() -> None:
    finding = probe_bytes(TORCH[:9000] + b"x" * 100 + TORCH[9000:], "model.pt")
    assert finding.structure is Structure.BROKEN
    assert "100 bytes were added" in finding.text


def test_a_directory_that_claims_terabytes_sizes_no_buffer() -> None:
    place = TORCH.rindex(b"PK\x01\x02")
    claims = bytearray(TORCH)
    struct.pack_into("<LL", claims, place + 20, 0xFFFFFFF0, 0xFFFFFFF0)
    finding = probe_bytes(bytes(claims), "model.pt")
    assert finding.structure is Structure.BROKEN


def test_a_hole_inside_the_only_storage_is_suspect() -> None:
    content = one_tensor(200_000)
    start = 20 * PAGE
    lost = content[:start] + bytes(10 * PAGE) + content[start + 10 * PAGE :]
    finding = probe_bytes(lost, "model.pt", holes=((start, start + 10 * PAGE),))
    assert finding.structure is Structure.SUSPECT
    assert "model/data/0" in finding.text
    assert f"{10 * PAGE:,} bytes from byte {start:,}" in finding.text


def test_a_cut_npz_is_not_called_a_torch_file() -> None:
    content = (FIXTURES / "one_save" / "npz" / "weights.npz").read_bytes()
    finding = probe_bytes(content[:-100], "weights.npz")
    assert (finding.structure, finding.format) == (Structure.CUT, "npz")
    assert finding.loader_says.startswith("np.load")
