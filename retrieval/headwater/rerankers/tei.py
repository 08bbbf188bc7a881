"""Hugging Face's text-embeddings-inference, and what follows it."""

from typing import Any

from headwater.rerankers.wire import WireReranker


class TeiReranker(WireReranker):
    """Asked as ``{query, texts, raw_scores}``. Answers a bare list, or one in ``results``."""

    texts_key = "texts"
    score_key = "score"
    more = {"raw_scores": False}  # noqa: RUF012 - never written to

    def _items(self, answer: Any) -> object:
        return answer.get("results") if isinstance(answer, dict) else answer


__all__ = ["TeiReranker"]
