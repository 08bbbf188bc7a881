"""The names of this profile for how passages are looked for."""

from typing import Final, Literal

from headwater.errors import ValidationError

Leg = Literal["vector", "bm25"]

_VECTOR_AND_WORDS: Final = ("vector", "bm25")
MODES: Final[dict[str, tuple[Leg, ...]]] = {
    "auto": _VECTOR_AND_WORDS,
    "hybrid": _VECTOR_AND_WORDS,
    "vector": _VECTOR_AND_WORDS,  # this profile's name for "the vector leg may be used", not for "no words"
    "economy": ("bm25",),
    "bm25": ("bm25",),
    "lexical": ("bm25",),
}


def legs_of(mode: str) -> tuple[Leg, ...]:
    """The legs that ``mode`` allows. With words alone no embedding backend is ever made."""
    legs = MODES.get(mode.strip().casefold()) if isinstance(mode, str) else None
    if legs is None:
        raise ValidationError(f"Retrieval mode {str(mode)[:80]!r} is not known: choose from {', '.join(MODES)}.")
    return legs
