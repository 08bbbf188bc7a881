"""Vectors are checked before they are stored or searched with."""

from typing import Any

import numpy as np
import pytest

from headwater.errors import PermanentError
from headwater.vectors import check_vectors


def test_lists_and_arrays_become_single_precision() -> None:
    numbers: list[list[float]] = [[1, 0.5], [0, -1]]
    for checked in (
        check_vectors(numbers, count=2, dimensions=2),
        check_vectors(np.array(numbers, dtype=np.float16), count=2, dimensions=2),
    ):
        assert checked.dtype == np.float32
        assert checked.tolist() == [[1.0, 0.5], [0.0, -1.0]]


def test_no_texts_have_no_vectors() -> None:
    assert check_vectors([], count=0, dimensions=3).shape == (0, 3)


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [[1.0, 0.0]],
        [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]],
        [[1.0], [1.0]],
        [[1.0, 0.0], [1.0]],
        [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
        [1.0, 0.0],
        [["a", "b"], ["c", "d"]],
        None,
    ],
)
def test_another_shape_is_refused(vectors: Any) -> None:
    with pytest.raises(PermanentError, match="check its model"):
        check_vectors(vectors, count=2, dimensions=2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), 1e300, 65_505.0, 0.0])
def test_a_vector_without_a_storable_direction_is_refused(bad: float) -> None:
    with pytest.raises(PermanentError, match="number 2 of 2"):
        check_vectors([[1.0, 0.0], [bad, 0.0]], count=2, dimensions=2)
