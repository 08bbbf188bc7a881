"""Permission-aware retrieval from a Headwater corpus. What is listed here is the whole public surface."""

from headwater.chunking import Chunk, chunk_markdown, chunk_text
from headwater.embedders import Embedder, resolve_embedder
from headwater.errors import (
    AccessError,
    EmbedderMismatch,
    HeadwaterError,
    LimitError,
    PermanentError,
    ScopeError,
    StoreError,
    TransientError,
    ValidationError,
)
from headwater.models import (
    AccessDenied,
    Authorization,
    Citation,
    Hit,
    Provenance,
    RetrievalResult,
    Scope,
    Trust,
)
from headwater.retriever import AsyncRetriever, Retriever

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
    "RetrievalResult",
    "Retriever",
    "Scope",
    "ScopeError",
    "StoreError",
    "TransientError",
    "Trust",
    "ValidationError",
    "chunk_markdown",
    "chunk_text",
    "resolve_embedder",
]
