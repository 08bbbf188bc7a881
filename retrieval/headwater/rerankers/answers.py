"""What a reranker answered over the wire, read strictly: one finite score for each passage, or an error."""

import json
import math
from typing import Any

from headwater.errors import RerankError


def read_json(body: bytes, source: str) -> Any:
    """The JSON of ``body``. What JSON does not know (``NaN``, a key that stands twice) is an error."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):  # the first also of bytes that are no UTF-8, and of numbers of 5,000 digits
        raise RerankError(f"{source} answered what is not JSON.") from None


def read_scores(items: object, count: int, *, score_key: str, source: str) -> list[float]:
    """The score of each of ``count`` passages, in their order, from ``[{"index": 1, score_key: 0.5}, …]``."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise RerankError(f"{source} answered in another form: is it a reranker of this kind?")
    if len(items) != count:
        raise RerankError(f"{source} answered with {len(items):,} scores for {count:,} passages.")
    scores: dict[int, float] = {}
    for item in items:
        index, score = item.get("index"), _finite(item.get(score_key))
        if type(index) is not int or not 0 <= index < count or index in scores:
            raise RerankError(f"{source} answered with an index that is missing, repeated or no passage's.")
        if score is None:
            raise RerankError(f"{source} answered with a {score_key} that is not a finite number.")
        scores[index] = score
    return [scores[index] for index in range(count)]


def _finite(value: object) -> float | None:
    if type(value) is not int and type(value) is not float:  # `True` is an int to Python, and no number to JSON
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refuse(constant: str) -> Any:
    raise ValueError


__all__ = ["read_json", "read_scores"]
