"""One order out of several: ranks are summed exactly, scores between worst and best, and ties have an order."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import LimitError, ValidationError, fuse_reciprocal_rank
from headwater.fusion import Leg, fuse
from tests.unit.passages import make_hit


def test_ranks_are_summed() -> None:
    fused = fuse_reciprocal_rank([["A", "B"], ["A", "C", "B"]])

    assert fused == [("A", 2 / 61), ("B", 1 / 62 + 1 / 63), ("C", 1 / 62)]
    assert [round(score, 9) for _, score in fuse_reciprocal_rank([["a", "b", "c"], ["b", "d"]], k=2)] == [
        round(score, 9) for score in (1 / 3 + 1 / 4, 1 / 3, 1 / 4, 1 / 5)
    ]
    assert [item for item, _ in fuse_reciprocal_rank([["a", "b", "c"], ["b", "d"]], k=2)] == ["b", "a", "d", "c"]


def test_only_the_first_place_in_a_leg_counts_and_what_follows_moves_up() -> None:
    assert fuse_reciprocal_rank([["a", "a", "b"]]) == fuse_reciprocal_rank([["a", "b"]])


def test_equal_sums_come_by_the_best_rank_and_then_in_the_order_of_the_items() -> None:
    # 1/3 + 1/6 = 1/2: "b" and "a" have the same sum, and "a" stood first once.
    legs = [["p", "b", "q", "r", "s"], ["a", "t", "u", "v", "b"]]
    fused = fuse_reciprocal_rank(legs, k=1)

    assert dict(fused)["a"] == dict(fused)["b"] == 0.5
    assert [item for item, _ in fused][:3] == ["a", "p", "b"]
    assert [item for item, _ in fuse_reciprocal_rank([["src#0003"], ["src#0002"]])] == ["src#0002", "src#0003"]


@given(legs=st.lists(st.lists(st.integers(0, 30), unique=True, max_size=20), max_size=6), k=st.integers(1, 1_000))
def test_the_order_is_that_of_the_exact_sums(legs: list[list[int]], k: int) -> None:
    sums: dict[int, Fraction] = {}
    best: dict[int, int] = {}
    for leg in legs:
        for rank, item in enumerate(leg, start=1):
            sums[item] = sums.get(item, Fraction(0)) + Fraction(1, k + rank)
            best[item] = min(rank, best.get(item, rank))
    expected = sorted(sums, key=lambda item: (-sums[item], best[item], item))

    fused = fuse_reciprocal_rank(legs, k)

    assert [item for item, _ in fused] == expected
    assert [score for _, score in fused] == [float(sums[item]) for item in expected]


def test_sums_that_are_equal_are_equal_however_they_came_about() -> None:
    """All pairs of places in two legs of forty whose sums are one number, and two if they are summed as floats."""
    pairs = [
        ((a, b), (c, d))
        for a in range(1, 40)
        for b in range(a, 40)
        for c in range(a + 1, 40)
        for d in range(c, 40)
        if Fraction(1, 60 + a) + Fraction(1, 60 + b) == Fraction(1, 60 + c) + Fraction(1, 60 + d)
        and 1 / (60 + a) + 1 / (60 + b) != 1 / (60 + c) + 1 / (60 + d)
    ]
    assert pairs
    for (a, b), (c, d) in pairs:
        legs = [[f"l{n}" for n in range(1, 41)], [f"r{n}" for n in range(1, 41)]]
        legs[0][a - 1] = legs[1][b - 1] = "one"
        legs[0][c - 1] = legs[1][d - 1] = "other"
        fused = dict(fuse_reciprocal_rank(legs))
        assert fused["one"] == fused["other"]


def test_hits_are_the_same_if_corpus_and_chunk_id_are() -> None:
    ours, theirs, again = make_hit("ours"), make_hit("theirs", corpus="another"), make_hit("again")

    fused = fuse_reciprocal_rank([[ours, theirs], [again]])

    assert [item for item, _ in fused] == [ours, theirs]  # of the same hit, the first leg's is given
    assert fused[0].item is ours


def test_hits_of_equal_sums_come_in_the_order_of_their_numbers() -> None:
    ninth, tenth = make_hit(chunk_id="src#9999"), make_hit(chunk_id="src#10000")

    assert [item for item, _ in fuse_reciprocal_rank([[tenth], [ninth]])] == [ninth, tenth]


@pytest.mark.parametrize("k", [0, 1_001, -1])
def test_k_has_its_limits(k: int) -> None:
    with pytest.raises(LimitError, match="rrf_k"):
        fuse_reciprocal_rank([["a"]], k)


@pytest.mark.parametrize("legs", [[["a"], [1]], [[{}]], [[["a"]]]])
def test_what_cannot_be_told_apart_or_ordered_is_an_error(legs: list[list[Any]]) -> None:
    with pytest.raises(ValidationError, match="items of the legs"):
        fuse_reciprocal_rank(legs)


def test_nothing_fuses_to_nothing() -> None:
    assert fuse_reciprocal_rank([]) == fuse_reciprocal_rank([[], []]) == []


def weighted(*legs: Leg[str]) -> dict[str, float]:
    return dict(fuse(legs, fusion="weighted", k=60, key=str))


def test_scores_lie_between_the_worst_and_the_best_of_their_leg() -> None:
    assert weighted(Leg(["a", "b", "c"], [0.9, 0.5, 0.1]), Leg(["b", "d"], [12.0, 2.0])) == {
        "b": 0.5 * 0.5 + 0.5 * 1.0,
        "a": 0.5,
        "c": 0.0,
        "d": 0.0,
    }


def test_where_all_scores_of_a_leg_are_equal_all_are_best() -> None:
    assert weighted(Leg(["a", "b"], [0.3, 0.3]), Leg(["b"], [4.0])) == {"b": 1.0, "a": 0.5}


def test_one_leg_by_itself_keeps_its_order_either_way() -> None:
    leg = Leg(["c", "a", "b"], [0.9, 0.5, 0.5])

    assert [item for item, _ in fuse([leg], fusion="weighted", k=60, key=str)] == ["c", "a", "b"]
    assert [item for item, _ in fuse([leg], fusion="rrf", k=60, key=str)] == ["c", "a", "b"]
