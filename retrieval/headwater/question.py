"""What a host asks, checked before anything is read."""

from dataclasses import dataclass

from headwater.errors import LimitError, ScopeError, ValidationError
from headwater.ids import UNSTORABLE
from headwater.limits import CANDIDATES, CONTEXT_TOKENS, GENERATION_MAX, QUERY_CHARACTERS, RESULT_BYTES, TOP_K
from headwater.models import Authorization, Scope


@dataclass(frozen=True, slots=True)
class Question:
    """What a host asks, with every argument within its limits."""

    query: str
    scope: Scope
    authorization: Authorization
    top_k: int
    candidates: int
    max_result_bytes: int
    max_context_tokens: int
    generation: int | None = None  # None: what the corpus shows
    exact: bool = False
    labels: tuple[int, ...] = (0, 1, 2)  # of sensitivity, that may be shown: all below "restricted"

    @classmethod
    def checked(
        cls,
        query: str,
        *,
        scope: Scope,
        authorization: Authorization,
        top_k: int,
        candidates: int | None,
        max_result_bytes: int,
        max_context_tokens: int,
        generation: int | None = None,
        exact: bool = False,
    ) -> "Question":
        """The question, or the error that names the argument to change."""
        if not isinstance(query, str) or UNSTORABLE.search(query):
            raise ValidationError("query must be a text without NUL or lone surrogates.")
        if len(query) > QUERY_CHARACTERS:
            raise LimitError(f"query has {len(query):,} characters: at most {QUERY_CHARACTERS:,} are read.")
        if not isinstance(scope, Scope):
            raise ValidationError("scope must be a headwater.Scope: every search names one corpus.")
        if not isinstance(authorization, Authorization):
            raise ValidationError("authorization must be a headwater.Authorization: every search names who asks.")
        if authorization.tenant_id != scope.tenant_id:
            raise ScopeError(
                f"{authorization.tenant_id!r} is the tenant of the authorization, but corpus {scope} is another's: "
                "ask with an authorization of the corpus's own tenant."
            )
        TOP_K.check(top_k)
        if candidates is None:
            candidates = max(CANDIDATES.default, top_k)
        if CANDIDATES.check(candidates) < top_k:
            raise LimitError(f"candidates must be at least top_k ({top_k}), not {candidates}.")
        if generation is not None and (type(generation) is not int or not 0 <= generation <= GENERATION_MAX):
            raise ValidationError(
                "generation must be a whole number from 0: `headwater generation list` names those of a corpus."
            )
        return cls(
            query=query,
            scope=scope,
            authorization=authorization,
            top_k=top_k,
            candidates=candidates,
            max_result_bytes=RESULT_BYTES.check(max_result_bytes),
            max_context_tokens=CONTEXT_TOKENS.check(max_context_tokens),
            generation=generation,
            exact=bool(exact),
        )

    @property
    def is_blank(self) -> bool:
        """There is nothing to look for: the answer is empty, and neither model nor store is asked."""
        return not self.query.strip()

    @property
    def pointer(self) -> str:
        """The block of SQL that says what is read."""
        return "pointer" if self.generation is None else "pointer_at"
