"""The format of Cohere and Jina, which vLLM, LiteLLM and others took up."""

from typing import Any

from headwater.rerankers.wire import WireReranker


class OpenAiCompatibleReranker(WireReranker):
    """Asked as ``{model, query, documents}``. Answers ``{results: [{index, relevance_score}]}``."""

    def _items(self, answer: Any) -> object:
        return answer.get("results") if isinstance(answer, dict) else None


__all__ = ["OpenAiCompatibleReranker"]
