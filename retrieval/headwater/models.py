"""The nouns that hosts handle: frozen pydantic models, compared by value, safe to share between threads."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, WithJsonSchema

from headwater.errors import HeadwaterError, LimitError, ValidationError
from headwater.ids import SCOPE_PART, UNSTORABLE, check_scope_part, schema_pattern

GROUPS_MAX: Final = 32
# What any JSON reader can hold, and far from the end of Postgres's bigint: every deletion still raises it by one.
ACCESS_VERSION_END: Final = 2**53

Text = Annotated[str, Strict()]  # bytes that pass for a name would be somebody's


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Argument(Frozen):
    """A model that hosts build themselves: a bad value is a headwater error of one sentence that names the field.

    Inside another model it stays what pydantic expects, a `ValueError` at its place in that model's error.
    """

    def __init__(self, /, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            raise _one_sentence(type(self).__name__, error) from None


def _one_sentence(model: str, error: pydantic.ValidationError) -> HeadwaterError:
    first = error.errors(include_url=False, include_input=False)[0]  # the value stays out: it may be a secret
    raised = first.get("ctx", {}).get("error")
    if isinstance(raised, HeadwaterError):
        return raised
    return ValidationError(f"{model}: {'.'.join(map(str, first['loc']))} is not valid: {first['msg']}.")


_PART_SCHEMA: Final = WithJsonSchema({"type": "string", "pattern": schema_pattern(SCOPE_PART)})


def _part(field: str) -> AfterValidator:
    return AfterValidator(lambda value: check_scope_part(value, field))


def _identity(field: str) -> AfterValidator:
    def check(value: str) -> str:
        if not 1 <= len(value) <= 256 or UNSTORABLE.search(value):
            raise ValidationError(f"{field} must be 1 to 256 characters without NUL or lone surrogates.")
        return value

    return AfterValidator(check)


def _check_groups(groups: tuple[str, ...]) -> tuple[str, ...]:
    if len(groups) > GROUPS_MAX:
        raise LimitError(f"group_ids holds {len(groups)} groups: at most {GROUPS_MAX} may be asserted at once.")
    return groups


class Scope(Argument):
    """Exactly one corpus. Written ``tenant/resource/corpus``."""

    tenant_id: Annotated[Text, _part("tenant_id"), _PART_SCHEMA]
    resource_id: Annotated[Text, _part("resource_id"), _PART_SCHEMA]
    corpus_id: Annotated[Text, _part("corpus_id"), _PART_SCHEMA]

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.resource_id}/{self.corpus_id}"

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """The scope written as ``tenant/resource/corpus``."""
        parts = text.split("/")
        if len(parts) != 3:
            raise ValidationError(f"Corpus {text[:200]!r} must be written TENANT/RESOURCE/CORPUS.")
        return cls(
            tenant_id=check_scope_part(parts[0], "tenant"),
            resource_id=check_scope_part(parts[1], "resource"),
            corpus_id=check_scope_part(parts[2], "corpus"),
        )


class Authorization(Argument):
    """Who asks, as the host asserts it. Names compare exactly. A pinned ``access_version`` must equal a source's."""

    principal_id: Annotated[Text, _identity("principal_id")]
    tenant_id: Annotated[Text, _part("tenant_id"), _PART_SCHEMA]
    group_ids: Annotated[tuple[Annotated[Text, _identity("group_ids")], ...], AfterValidator(_check_groups)] = ()
    access_version: Annotated[int, Field(ge=1, lt=ACCESS_VERSION_END, strict=True)] | None = None


class Trust(Frozen):
    """Retrieved text is data. It never activates a tool, a skill or a credential."""

    untrusted: Literal[True] = True
    inert: Literal[True] = True
    injection_capable: Literal[True] = True


class Provenance(Frozen):
    """Where a passage comes from, and how and when it was found. ``library_id`` is there if `Libraries` were searched.

    ``citation_id`` names one passage of its result: the ``chunk_id``, or with its corpus before it where two would share that.
    """

    source_id: str
    chunk_id: str
    citation_id: str
    provider: str
    tenant_id: str
    resource_id: str
    corpus_id: str
    retrieval: Literal["vector", "lexical", "hybrid"] = "vector"
    retrieved_at: datetime
    revision: int
    library_id: str | None = None


class Scores(Frozen):
    """What each leg said of a passage: the cosine similarity, how well the words match, and its rank among what was found."""

    vector: float | None = None
    lexical: float | None = None
    fused: float = 0.0  # by which the passages were put in order, before a reranker
    vector_rank: int | None = None
    lexical_rank: int | None = None


class Hit(Frozen):
    """One passage. ``score`` is the cosine similarity, -1 to 1; ``retrieval_rank`` counts from 1, before a reranker.

    ``prompt_text`` is what a post-processor made of it for the prompt, where one did; citations speak of ``text``.
    """

    chunk_id: str
    source_id: str
    text: str
    score: float
    scores: Scores = Scores()
    title: str | None = None
    locator: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    sensitivity: Literal["public", "internal", "confidential", "restricted"] = "internal"
    prompt_text: str | None = None
    provenance: Provenance
    retrieval_rank: int
    trust: Trust = Trust()


class Citation(Frozen):
    """Where a passage stands: ``start`` and ``end`` are code points of the revision's normalised text."""

    citation_id: str
    source_id: str
    title: str | None = None
    uri: str | None = None
    locator: str | None = None
    start: int
    end: int
    revision: int
    provenance: Provenance
    trust: Trust = Trust()


class RetrievalResult(Frozen):
    """What one query gives. ``text`` is the passages as ``[citation-id] text`` blocks with a blank line between.

    ``generation`` is None for several corpora. ``lexical_is_exact``: no passage that the lexical leg left out matches the
    words better than those it listed; None if words were not looked for. ``rerank_error`` says why the passages are not in
    a reranker's order: it failed where the question allowed that, or was given none of them, for none may leave the process
    for it. ``check_error`` says that there are no hits because Postgres failed when it was asked, at last, what may still be
    shown.
    """

    query: str
    text: str
    hits: tuple[Hit, ...]
    citations: tuple[Citation, ...]
    truncated: bool
    generation: int | None
    lexical_is_exact: bool | None = None
    rerank_error: str | None = None
    check_error: str | None = None
    trust: Trust = Trust()


class AccessDenied(Frozen):
    """What `on_access_denied` gets, once for each withheld source of a query."""

    source_id: str
    scope: Scope
    reason: Literal["no_grant", "check_failed"]
    hits: int
    error: str | None = None
