"""Of each passage only the sentences that speak of what was asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import ValidationError
from headwater.models import Hit
from headwater.prompts.distinct_terms import distinct_terms
from headwater.prompts.sentences import sentences


@dataclass(frozen=True, slots=True)
class Compression:
    """Keeps the sentences that hold at least ``coverage`` of the query's words; where none does, the best one.

    Of a query that was asked in other words too, a sentence may hold those of any form.
    """

    coverage: float = 0.3

    def __post_init__(self) -> None:
        if not 0 <= self.coverage <= 1:
            raise ValidationError(f"coverage must be from 0 to 1, not {self.coverage}.")

    def process(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """The hits in their order, each with what is left of its text. Nothing is ever left empty."""
        return self.process_forms((query,), hits)

    def process_forms(self, queries: Sequence[str], hits: Sequence[Hit]) -> list[Hit]:
        """The same, for all forms of a query."""
        kept = []
        for hit in hits:
            whole = hit.text if hit.prompt_text is None else hit.prompt_text
            short = compressed(whole, *queries, coverage=self.coverage)
            kept.append(hit if short == whole else hit.model_copy(update={"prompt_text": short}))
        return kept


def compressed(text: str, *queries: str, coverage: float = 0.3) -> str:
    """The sentences of ``text`` that are kept, in their order."""
    forms = [asked for asked in map(distinct_terms, queries) if asked]
    parts = sentences(text)
    if not forms or len(parts) < 2:
        return text
    covered = [max(len(asked & found) / len(asked) for asked in forms) for found in map(distinct_terms, parts)]
    kept = [part for part, share in zip(parts, covered, strict=True) if share >= coverage]
    if len(kept) == len(parts):
        return text
    return "".join(kept or [parts[covered.index(max(covered))]]).rstrip()
