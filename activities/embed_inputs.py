"""Vectors for some texts, and what an embedder says of those that it cannot take: somebody else's code, contained."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.embedders import Embedder
from headwater.errors import TransientError
from headwater.vectors import check_vectors

ATTEMPTS: Final = 3
PROBE: Final = "a"

Vector = NDArray[np.float32]


def embed_inputs(embedder: Embedder, texts: Sequence[str]) -> list[Vector | Exception]:
    """A vector for each text, or what the embedder said of it.

    Inputs that fail together are halved until the culprit is alone; alone it gets three attempts. An outage, which is
    no input's fault, is raised; so is what an embedder says that fails on any other text too.
    """
    try:
        vectors = check_vectors(embedder.embed(texts), count=len(texts), dimensions=embedder.dimensions)
        return list(vectors)
    except TransientError:
        raise
    except Exception as error:  # noqa: BLE001 an embedder is somebody else's code: what it raises belongs to these inputs
        if len(texts) > 1:
            half = len(texts) // 2
            return embed_inputs(embedder, texts[:half]) + embed_inputs(embedder, texts[half:])
        return [_embed_alone(embedder, texts[0], error)]


def _embed_alone(embedder: Embedder, text: str, error: Exception) -> Vector | Exception:
    for _ in range(ATTEMPTS - 1):
        try:
            vector: Vector = check_vectors(embedder.embed([text]), count=1, dimensions=embedder.dimensions)[0]
            return vector
        except TransientError:
            raise
        except Exception as again:  # noqa: BLE001 as above
            error = again
    _check_working(embedder)
    return error


def _check_working(embedder: Embedder) -> None:
    """Raises what the embedder raises for a text that is nobody's: before a document is blamed, and set aside for good."""
    check_vectors(embedder.embed([PROBE]), count=1, dimensions=embedder.dimensions)
