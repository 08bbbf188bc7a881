"""Voyage AI's reranker."""

from typing import Any

from headwater.rerankers.wire import WireReranker


class VoyageReranker(WireReranker):
    """Asked as ``{model, query, documents}``, with a key. Answers ``{data: [{index, relevance_score}]}``."""

    needs_key = True

    def _items(self, answer: Any) -> object:
        return answer.get("data") if isinstance(answer, dict) else None


__all__ = ["VoyageReranker"]
