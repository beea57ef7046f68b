from __future__ import annotations

import io

import numpy as np
import pytest

from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.weights import make_weights


def test_the_library_reads_what_was_written() -> None:
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    weights = make_weights(100_000, "test")
    stream = io.BytesIO()
    write_safetensors_file(stream, weights)
    loaded = safetensors.load(stream.getvalue())
    assert set(loaded) == {tensor.name for tensor in weights}
    for tensor in weights:
        expected = np.frombuffer(tensor.data, dtype="<f4").reshape(tensor.shape)
        assert np.array_equal(loaded[tensor.name], expected)


def test_the_tensors_start_at_a_multiple_of_eight() -> None:
    stream = io.BytesIO()
    write_safetensors_file(stream, make_weights(20_000, "test"))
    assert int.from_bytes(stream.getvalue()[:8], "little") % 8 == 0
