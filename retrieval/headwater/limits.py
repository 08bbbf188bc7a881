"""How much one call may ask for: a default and a cap each. Above a cap is an error, never less than was asked."""

from dataclasses import dataclass
from typing import Final

from headwater.errors import LimitError, ValidationError


@dataclass(frozen=True, slots=True)
class Limit:
    """A whole number from 1 to ``cap``."""

    name: str
    default: int
    cap: int

    def check(self, value: int) -> int:
        """``value`` unchanged, if it is within the limit."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValidationError(f"{self.name} must be a whole number, not {type(value).__name__}.")
        if not 1 <= value <= self.cap:
            raise LimitError(f"{self.name} must be from 1 to {self.cap:,}, not {value:,}.")
        return value


TOP_K: Final = Limit("top_k", default=5, cap=32)
CANDIDATES: Final = Limit("candidates", default=20, cap=128)
RESULT_BYTES: Final = Limit("max_result_bytes", default=64 * 1024, cap=512 * 1024)
CONTEXT_TOKENS: Final = Limit("max_context_tokens", default=2_000, cap=8_000)

CHARACTERS_PER_TOKEN: Final = 4  # how the context is measured: no tokenizer of a host's model is known here
DIMENSIONS_MAX: Final = 4_096
QUERY_CHARACTERS: Final = 16_384
DENIED_SOURCES: Final = 1_000  # ids reported to `on_access_denied` beyond those that were found
ERROR_CHARACTERS: Final = 256
