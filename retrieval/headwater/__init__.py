"""Permission-aware retrieval from a Headwater corpus.

What is listed here is what most hosts need, and keeps its names. Public as well are the modules beside this file and the packages, each
for its own matter (README.md lists them), but for `headwater.answering` and `headwater.store`: those are how it is done, and may change
with any release. A name that begins with an underscore is nobody's but its module's.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.async_retriever import AsyncRetriever
    from headwater.chunking import Chunk, chunk_markdown, chunk_text
    from headwater.context import context_provider
    from headwater.embedders import Embedder, resolve_embedder
    from headwater.errors import (
        AccessError,
        EmbedderMismatch,
        HeadwaterError,
        LimitError,
        PermanentError,
        RerankError,
        RerankLimitError,
        ScopeError,
        StoreError,
        TransientError,
        ValidationError,
    )
    from headwater.evidence import evidence_from_citation
    from headwater.fusion import fuse_reciprocal_rank
    from headwater.models import (
        AccessDenied,
        Authorization,
        Citation,
        Hit,
        Provenance,
        RetrievalResult,
        Scope,
        Scores,
        Trust,
    )
    from headwater.rerankers import Reranker, resolve_reranker
    from headwater.retriever import Retriever

__all__ = [
    "AccessDenied",
    "AccessError",
    "AsyncRetriever",
    "Authorization",
    "Chunk",
    "Citation",
    "Embedder",
    "EmbedderMismatch",
    "HeadwaterError",
    "Hit",
    "LimitError",
    "PermanentError",
    "Provenance",
    "RerankError",
    "RerankLimitError",
    "Reranker",
    "RetrievalResult",
    "Retriever",
    "Scope",
    "ScopeError",
    "Scores",
    "StoreError",
    "TransientError",
    "Trust",
    "ValidationError",
    "chunk_markdown",
    "chunk_text",
    "context_provider",
    "evidence_from_citation",
    "fuse_reciprocal_rank",
    "resolve_embedder",
    "resolve_reranker",
]

if not TYPE_CHECKING:  # checkers would take any name for one that exists
    _MODULES = (
        "errors",
        "models",
        "chunking",
        "embedders",
        "fusion",
        "rerankers",
        "evidence",
        "context",
        "retriever",
        "async_retriever",
    )

    def __getattr__(name):
        """A public name, imported when it is first asked for: numpy and psycopg take 0.2 s, errors and models do not."""
        if name in __all__:
            for module in _MODULES:
                found = getattr(import_module(f"headwater.{module}"), name, None)
                if found is not None:
                    globals()[name] = found
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
