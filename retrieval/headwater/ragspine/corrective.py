"""Looking again when what was found does not speak of what was asked, and refusing when that does not help."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from headwater.answering.host_code import answered, check_not_async
from headwater.errors import ValidationError
from headwater.lexical import analyse
from headwater.ragspine.bm25 import tokenize
from headwater.ragspine.snippets import Snippet, as_snippets

CORRECTIONS_MAX: Final = 2
Action = Literal["drop_filters", "rewrite_query", "refuse"]


class Narrating(Protocol):
    def retrieve(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = 32) -> list[Snippet]: ...


@dataclass(frozen=True, slots=True)
class Corrected:
    """``snippets`` are empty if what was found was refused. ``grade`` is that of what was found last."""

    snippets: tuple[Snippet, ...]
    actions: tuple[Action, ...]
    grade: float
    truncated: bool = False  # of the snippets that are given, as their search said
    rerank_error: str | None = None
    check_error: str | None = None  # the search failed when it was asked, at last, what may be shown: ask again


class CorrectiveRetriever:
    """Grades what a retriever finds by the query's words; below ``minimum`` it corrects, at most twice, and then refuses.

    First the filters are dropped, if there are any and ``drop_filters`` allows it: those that narrow, for grants, tenant and
    labels are the retriever's own. Then the query is rewritten. Every attempt is graded by the question as it was asked.
    """

    def __init__(
        self,
        retriever: Narrating,
        *,
        rewrite: Callable[[str], str] | None = None,
        drop_filters: bool = False,
        minimum: float = 0.5,
        max_corrections: int = CORRECTIONS_MAX,
    ) -> None:
        if isinstance(minimum, bool) or not isinstance(minimum, int | float) or not 0 <= minimum <= 1:
            raise ValidationError(f"minimum must be a number from 0 to 1, not {minimum!r:.40}.")
        if type(max_corrections) is not int:
            raise ValidationError(f"max_corrections must be a whole number, not {type(max_corrections).__name__}.")
        check_not_async(rewrite, "rewrite")
        self._retriever = retriever
        self._rewrite = rewrite
        self._drops = drop_filters
        self._minimum = minimum
        self._max_corrections = max(0, min(CORRECTIONS_MAX, max_corrections))  # this profile's rule: the nearer of both

    def retrieve(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = 32) -> list[Snippet]:
        """The snippets alone; none if they were refused."""
        return list(self.corrected(query, filters=filters, top_k=top_k).snippets)

    def corrected(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = 32) -> Corrected:
        """The snippets, and what was done to get them."""
        asked, narrowed, done = query, dict(filters or {}), list[Action]()
        left: list[Action] = [
            *(("drop_filters",) if narrowed and self._drops else ()),
            *(("rewrite_query",) if self._rewrite else ()),
        ]
        while True:
            snippets = as_snippets(self._retriever.retrieve(asked, filters=narrowed or None, top_k=top_k))
            found = grade(query, [snippet["text"] for snippet in snippets])
            if found >= self._minimum and snippets:
                return Corrected(tuple(snippets), tuple(done), found, snippets.truncated, snippets.rerank_error)
            if snippets.check_error is not None:  # other words or fewer filters would mend nothing
                return Corrected((), (*done, "refuse"), found, check_error=snippets.check_error)
            if not left or len(done) >= self._max_corrections:
                return Corrected((), (*done, "refuse"), found)
            done.append(left.pop(0))
            if done[-1] == "drop_filters":
                narrowed = {}
            elif self._rewrite is not None:
                asked = answered(self._rewrite, query, name="rewrite")


def grade(query: str, texts: Sequence[str]) -> float:
    """The share of the query's words that stand in the texts, 0 to 1. A query without words asks for nothing: 0."""
    asked = _words(query)
    if not asked:
        return 0.0
    return len(asked.intersection(word for text in texts for word in _words(text))) / len(asked)


def _words(text: str) -> set[str]:
    """The profile's tokens; and the words of all the scripts that it does not know, or no question in one could ever pass."""
    others = (token.term for token in analyse(text, "none"))
    return {*tokenize(text), *(term for term in others if not term.isascii() and not tokenize(term))}
