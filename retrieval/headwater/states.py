"""The states of a source: what its last reading gave, and whether what readers see of it is up to date."""

from enum import StrEnum
from typing import Final


class SourceState(StrEnum):
    """What became of a source when it was last read."""

    PENDING = "pending"  # listed, and not read yet
    INDEXED = "indexed"
    PARTIAL = "partial"  # part of it could not be read; its reason names what is missing
    EMPTY = "empty"  # read whole, and there is no text in it
    NO_TEXT = "no_text"  # it has pages and no text on them: pictures
    ENCRYPTED = "encrypted"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    DENIED = "denied"  # withheld by its origin since it was first seen
    FAILED = "failed"
    QUARANTINED = "quarantined"  # reading it harmed the worker, or it cannot be embedded


class Freshness(StrEnum):
    """Whether what readers see of a source is what its origin holds. It hides nothing by itself."""

    CURRENT = "current"
    STALE = "stale"  # an older text is still readable
    UNAVAILABLE = "unavailable"  # its origin withholds it


# Readable as it is. A sync leaves such a source alone until its version, its parser or its space changes.
HEALTHY: Final = frozenset({SourceState.INDEXED, SourceState.PARTIAL, SourceState.EMPTY})
# Counted as failed on every run, and read again only when the version or the parser changes.
FAILED: Final = frozenset(
    {
        SourceState.NO_TEXT,
        SourceState.ENCRYPTED,
        SourceState.TOO_LARGE,
        SourceState.UNSUPPORTED,
        SourceState.FAILED,
        SourceState.QUARANTINED,
    }
)
