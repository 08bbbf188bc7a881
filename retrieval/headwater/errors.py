"""What can go wrong, split by what matters to a caller: can waiting help, and whose move is it.

HeadwaterError                    .code, and one sentence that says what to do
├── TransientError                the same call may work later: timeouts, a store that is away, throttling
├── PermanentError                it will not: unsupported format, revoked credential, corrupt file
├── ValidationError (ValueError)  an argument is malformed
│   └── RerankError               a reranker failed, or gave something other than the passages in another order. Whoever passes
│       │                         one on as a bad argument asks for it first: its server may have answered an error
│       └── RerankLimitError      it would read too much, is asked too often at once, is away, or did not answer in time; a LimitError too.
│                                 The one of both that asking again may help
├── LimitError (ValueError)       an argument is above its cap: caps are errors, never clamps
├── ScopeError (ValueError)       another tenant, or a scope that was not asked for
├── AccessError (PermissionError) a grant is missing
├── EmbedderMismatch              vectors of different spaces would be compared
└── StoreError                    Postgres refused, is away, or holds something malformed
"""

from typing import ClassVar


class HeadwaterError(Exception):
    """The root of all errors raised on purpose. ``str(error)`` is one sentence fit for a person."""

    code: ClassVar[str] = "ERR_HEADWATER"


class TransientError(HeadwaterError):
    """The same call may work later, and not before ``retry_after_s`` seconds if the other side said how long."""

    code = "ERR_HEADWATER_TRANSIENT"

    def __init__(self, *args: object, retry_after_s: float | None = None) -> None:
        super().__init__(*args)
        self.retry_after_s = retry_after_s


class PermanentError(HeadwaterError):
    """The same call will not work later either."""

    code = "ERR_HEADWATER_PERMANENT"


class ValidationError(HeadwaterError, ValueError):
    """An argument is malformed."""

    code = "ERR_HEADWATER_VALIDATION"


class LimitError(HeadwaterError, ValueError):
    """An argument is above its cap."""

    code = "ERR_HEADWATER_LIMIT"


class RerankError(ValidationError):
    """A reranker failed, or gave something other than the passages in another order."""

    code = "ERR_HEADWATER_RERANK"


class RerankLimitError(RerankError, LimitError):
    """A reranker would read too much, is asked too often at once, answered too much, or did not answer in time."""

    code = "ERR_HEADWATER_RERANK_LIMIT"


class ScopeError(HeadwaterError, ValueError):
    """A corpus of another tenant, or one that was not asked for."""

    code = "ERR_HEADWATER_SCOPE"


class AccessError(HeadwaterError, PermissionError):
    """A grant is missing."""

    code = "ERR_HEADWATER_ACCESS"


class EmbedderMismatch(HeadwaterError):
    """Vectors of different spaces would be compared."""

    code = "ERR_HEADWATER_EMBEDDER_MISMATCH"


class StoreError(HeadwaterError):
    """Postgres refused, is away, or holds something malformed."""

    code = "ERR_HEADWATER_STORE"
