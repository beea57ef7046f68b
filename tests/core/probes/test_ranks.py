"""What is missing of a series of ranks, or of a grid of them."""

from __future__ import annotations

import pytest

from ckptdeck.core.probes.rank_grid import missing_places
from ckptdeck.core.probes.ranks import Gap, find_gap


@pytest.mark.parametrize(
    "numbers", [[], [0], [0, 1, 2, 3], range(8, 16), [4, 5, 6, 7], [2], [0, 20_261_130], range(96, 104)]
)
def test_whole_series_and_those_of_one_node_have_no_gap(numbers: list[int]) -> None:
    assert find_gap(numbers) is None


@pytest.mark.parametrize(
    ("numbers", "gap"),
    [
        ([1], Gap(1, (0,))),
        ([1, 2, 3, 4, 5, 6, 7], Gap(1, (0,))),
        ([0, 2, 3], Gap(1, (1,))),
        ([0, 10], Gap(9, (1, 2, 3))),
        ([8, 9, 10, 12, 13, 14, 15], Gap(1, (11,))),
        ([3, 4], Gap(3, (0, 1, 2))),
    ],
)
def test_gaps_are_counted_and_the_first_named(numbers: list[int], gap: Gap) -> None:
    assert find_gap(numbers) == gap


def test_a_stated_number_needs_every_rank() -> None:
    assert find_gap({0, 1, 2}, 3) is None
    assert find_gap({0, 1, 2}, 4) == Gap(1, (3,))
    assert find_gap({4, 5, 6, 7}, 8) == Gap(4, (0, 1, 2))


def test_the_missing_are_named_three_at_most() -> None:
    assert Gap(1, (0,)).names("rank {}".format) == "rank 0"
    assert Gap(9, (1, 2, 3)).names("rank {}".format) == "rank 1, rank 2, rank 3 and 6 more"


def test_a_whole_grid_lacks_nothing() -> None:
    assert missing_places([]) == (0, [])
    assert missing_places([(0, 0)]) == (0, [])
    assert missing_places([(one, other) for one in range(4) for other in range(3)]) == (0, [])
    assert missing_places([(one, other) for one in range(4) for other in range(4, 8)]) == (0, [])


def test_empty_places_of_a_grid_are_counted() -> None:
    places = [(one, other) for one in range(4) for other in range(3)]
    places.remove((2, 1))
    assert missing_places(places) == (1, [(2, 1)])
    assert missing_places([(0, 0), (0, 1), (1, 3)]) == (5, [(0, 2), (0, 3), (1, 0)])
    assert missing_places([(1, 0), (1, 1)]) == (2, [(0, 0), (0, 1)])


def test_absurd_ranks_cost_nothing() -> None:
    assert missing_places([(0, 0), (999_999, 999_999)]) == (0, [])
    assert missing_places([(0,), (999_999_999,)]) == (0, [])
