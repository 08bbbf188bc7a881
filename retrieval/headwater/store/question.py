"""What a host asks, checked before anything is read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from headwater.errors import LimitError, ScopeError, ValidationError
from headwater.filters import Filter, parse_filter
from headwater.fusion import FUSIONS, Fusion
from headwater.ids import UNSTORABLE
from headwater.limits import (
    CANDIDATES,
    CONTEXT_TOKENS,
    GENERATION_MAX,
    QUERY_CHARACTERS,
    RESULT_BYTES,
    RRF_K,
    SCOPES,
    TOP_K,
)
from headwater.models import Authorization, Scope
from headwater.sensitivity import UNRESTRICTED, allowed_levels

Lexical = Literal["off", "fts", "bm25"]
LEXICALS: Final = get_args(Lexical)


@dataclass(frozen=True, slots=True)
class Question:
    """What a host asks, with every argument within its limits."""

    queries: tuple[str, ...]  # the first as it was asked, then other words for it: all of them are looked for
    scopes: tuple[Scope, ...]  # each once
    authorization: Authorization
    top_k: int
    candidates: int
    max_result_bytes: int
    max_context_tokens: int
    lexical: Lexical = "off"
    fusion: Fusion = "rrf"
    rrf_k: int = RRF_K.default
    filter: Filter | None = None
    labels: tuple[int, ...] = UNRESTRICTED  # levels of sensitivity that may be shown
    generation: int | None = None  # None: what the corpus shows
    exact: bool = False

    @classmethod
    def checked(
        cls,
        query: str,
        *,
        authorization: Authorization,
        scope: Scope | None = None,
        scopes: Iterable[Scope] | None = None,
        top_k: int = TOP_K.default,
        candidates: int | None = None,
        lexical: Lexical = "off",
        fusion: Fusion = "rrf",
        rrf_k: int = RRF_K.default,
        filter: Mapping[str, Any] | None = None,
        sensitivities: Iterable[str] | None = None,
        generation: int | None = None,
        exact: bool = False,
        max_result_bytes: int = RESULT_BYTES.default,
        max_context_tokens: int = CONTEXT_TOKENS.default,
    ) -> "Question":
        """The question, or the error that names the argument to change."""
        asked = _corpora(scope, scopes)
        if not isinstance(authorization, Authorization):
            raise ValidationError("authorization must be a headwater.Authorization: every search names who asks.")
        for each in asked:
            if authorization.tenant_id != each.tenant_id:
                raise ScopeError(
                    f"{authorization.tenant_id!r} is the tenant of the authorization, but corpus {each} is another's: "
                    "ask with an authorization of the corpus's own tenant."
                )
        TOP_K.check(top_k)
        if candidates is None:
            candidates = max(CANDIDATES.default, top_k)
        if CANDIDATES.check(candidates) < top_k:
            raise LimitError(f"candidates must be at least top_k ({top_k}), not {candidates}.")
        return cls(
            queries=(_query(query),),
            scopes=asked,
            authorization=authorization,
            top_k=top_k,
            candidates=candidates,
            max_result_bytes=RESULT_BYTES.check(max_result_bytes),
            max_context_tokens=CONTEXT_TOKENS.check(max_context_tokens),
            lexical=_one_of(LEXICALS, lexical, "lexical"),
            fusion=_one_of(FUSIONS, fusion, "fusion"),
            rrf_k=RRF_K.check(rrf_k),
            filter=parse_filter(filter),
            labels=UNRESTRICTED if sensitivities is None else allowed_levels(sensitivities, "sensitivities"),
            generation=_generation(generation, asked),
            exact=bool(exact),
        )

    @property
    def query(self) -> str:
        """As it was asked, or what a redactor left of that."""
        return self.queries[0]

    @property
    def is_blank(self) -> bool:
        """There is nothing to look for, or nowhere: the answer is empty, and neither model nor store is asked."""
        return not self.scopes or not self.query.strip()

    @property
    def pointer(self) -> str:
        """The block of SQL that says what is read."""
        return "pointer_now" if self.generation is None else "pointer_at"

    def parameters(self, scope: Scope) -> dict[str, Any]:
        """What is bound in every statement about one corpus: which, as of when, who asks, and which labels may be shown."""
        return {
            "tenant": scope.tenant_id,
            "resource": scope.resource_id,
            "corpus": scope.corpus_id,
            "generation": self.generation,
            **self._gate_parameters(),
        }

    def parameters_of_all(self) -> dict[str, Any]:
        """The same for the statements that look at all corpora of a question at once, whatever generation they show."""
        return {
            "tenant": self.authorization.tenant_id,  # of every corpus of a question
            "resources": [scope.resource_id for scope in self.scopes],
            "corpora": [scope.corpus_id for scope in self.scopes],
            **self._gate_parameters(),
        }

    def _gate_parameters(self) -> dict[str, Any]:
        """What the gates ask for beside the tenant."""
        who = self.authorization
        return {
            "principal": who.principal_id,
            "groups": list(who.group_ids),
            "access_version": who.access_version,
            "labels": list(self.labels),
        }


def _query(query: object) -> str:
    if not isinstance(query, str) or UNSTORABLE.search(query):
        raise ValidationError("query must be a text without NUL or lone surrogates.")
    if len(query) > QUERY_CHARACTERS:
        raise LimitError(f"query has {len(query):,} characters: at most {QUERY_CHARACTERS:,} are read.")
    return query


def _corpora(scope: object, scopes: object) -> tuple[Scope, ...]:
    if (scope is None) == (scopes is None):
        raise ValidationError("A search needs either scope, one headwater.Scope, or scopes, several of them.")
    if scopes is not None and (isinstance(scopes, Scope) or not isinstance(scopes, Iterable)):
        raise ValidationError("scopes must be a list of headwater.Scope: for one corpus give scope.")
    asked = [scope] if scopes is None else list(scopes)
    distinct: list[Scope] = []
    for each in asked:
        if not isinstance(each, Scope):
            raise ValidationError("scope must be a headwater.Scope: every search names its corpora.")
        if each not in distinct:
            distinct.append(each)
        if len(distinct) > SCOPES:
            raise LimitError(f"scopes names more than {SCOPES} corpora, which is as many as are searched at once.")
    return tuple(distinct)


def _one_of(choices: tuple[Any, ...], value: Any, name: str) -> Any:
    if value not in choices:
        raise ValidationError(f"{name} must be one of {', '.join(choices)}, not {str(value)[:40]!r}.")
    return value


def _generation(generation: int | None, scopes: tuple[Scope, ...]) -> int | None:
    if generation is None:
        return None
    if type(generation) is not int or not 0 <= generation <= GENERATION_MAX:
        raise ValidationError(
            "generation must be a whole number from 0: `headwater generation list` names those of a corpus."
        )
    if len(scopes) > 1:
        raise ValidationError("generation goes with one corpus: each of several counts its own.")
    return generation
