from __future__ import annotations

import struct

from ckptdeck.demo.weights import make_weights


def test_the_same_seed_makes_the_same_weights_and_another_one_does_not() -> None:
    assert make_weights(200_000, "a") == make_weights(200_000, "a")
    assert make_weights(200_000, "a")[0].data != make_weights(200_000, "b")[0].data


def test_the_size_is_about_what_was_asked_for() -> None:
    for size in (200_000, 3_500_000):
        total = sum(len(tensor.data) for tensor in make_weights(size, "a"))
        assert 0.85 * size < total <= size * 1.05


def test_the_values_look_like_weights() -> None:
    tensor = make_weights(200_000, "a")[0]
    assert len(tensor.data) == 4 * tensor.elements
    values = struct.unpack(f"<{tensor.elements}f", tensor.data)
    assert all(0.001 < abs(value) < 0.04 for value in values)
    assert min(values) < 0 < max(values)
