"""The one check every vector passes before it is stored or searched with."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.errors import PermanentError

# Vectors are stored in half precision, which ends here.
LARGEST: Final = 65_504.0


def check_vectors(
    vectors: NDArray[np.floating] | Sequence[Sequence[float]], *, count: int, dimensions: int
) -> NDArray[np.float32]:
    """``vectors`` as an array of shape ``[count, dimensions]``.

    Raises `PermanentError` for another shape, and for a vector that is not finite, too large to store, or zero: it has
    no direction, and every comparison with it would be undefined.
    """
    if count == 0 and len(vectors) == 0:
        return np.empty((0, dimensions), dtype=np.float32)
    try:
        array = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise PermanentError(
            f"The embedder gave something else than {count} vectors of {dimensions} numbers: check its model."
        ) from error
    if array.shape != (count, dimensions):
        raise PermanentError(
            f"The embedder gave an array of shape {list(array.shape)} for {count} texts, "
            f"expected {[count, dimensions]}: check its model."
        )
    largest = np.abs(array).max(axis=1)
    wrong = np.flatnonzero(~(np.isfinite(largest) & (largest > 0) & (largest <= LARGEST)))
    if wrong.size:
        raise PermanentError(
            f"The embedder gave a vector (number {wrong[0] + 1} of {count}) that is zero, not finite or too large: "
            "check its model."
        )
    return array.astype(np.float32)
