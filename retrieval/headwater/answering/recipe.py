"""How a question is answered: find, look again at what was found, put it into a better order, show what may be shown.

The recipe is a generator that yields what it waits for and gets the answer, so that it is written once: who runs it only
waits. Each step is a function, here or in the module that it is imported from.
"""

from asyncio import CancelledError
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import psycopg

from headwater.answering.arranging import laid_out
from headwater.answering.assembly import Answered, Passage, assemble
from headwater.answering.finding import look
from headwater.answering.gate import Gate, Supply, with_check_error
from headwater.answering.hooks import Hooks
from headwater.answering.host_code import failure
from headwater.answering.ranking import ranked
from headwater.answering.recheck import Audit, denied_statement
from headwater.answering.redaction import redacted_query
from headwater.embedders import Embedder
from headwater.errors import RerankError, ValidationError
from headwater.limits import DIMENSIONS_MAX
from headwater.models import RetrievalResult
from headwater.rerankers.bounded import Bounded
from headwater.rerankers.profiles import failure_of
from headwater.rewriting import variants
from headwater.sensitivity import RESTRICTED
from headwater.store.effects import Effect, Recipe, called, fetched
from headwater.store.question import Question
from headwater.store.routes import Routes
from headwater.store.search import Space, as_halfvec
from headwater.telemetry import OFF, Span
from headwater.vectors import check_vectors

UNASKED: Final = "The reranker was given none of these passages, which keep the order in which they were found: it {}."
OUTSIDE: Final = (
    "counts as outside the process, where hosted_sensitivities of connect lets none of their labels go; a reranker that "
    "runs inside says is_hosted = False"
)
CAREFUL: Final = "reads nothing that is restricted, and all of them are"


@dataclass(frozen=True, slots=True)
class Means:
    """What a retriever answers with, whatever is asked."""

    schema: str
    embedder: Embedder
    routes: Routes
    hosted_labels: tuple[int, ...] = ()  # levels of sensitivity that may leave for a reranker outside the process


def recipe(question: Question, means: Means, hooks: Hooks, audit: Audit, *, request: Span = OFF) -> Recipe[Answered]:
    """Yields each effect, and wants its answer or the error it met."""
    if not question.is_blank:
        question = yield from _in_words(question, hooks)
    if question.is_blank:  # or the redactor left nothing
        return Answered(assemble(question, (), layout=(), generation=None))
    with request.span("embedding.query", queries=len(question.queries)):
        space, vectors = yield from called(lambda: _embedded(question.queries, means.embedder))
    with _searching(question, request):
        finds = yield from look(question, space, vectors, schema=means.schema, routes=means.routes)
    yield from _hear_of_others(question, means, audit)
    with request.span("retrieval.fusion", fusion=question.fusion) as span:
        order = ranked(question, finds)
        span.set(hits=len(order))
    gate = Gate(question, means.schema, audit)
    supply = Supply((yield from gate.passed_ranked(order)), redactor=hooks.redactor, gate=gate)
    passages = yield from supply.filled((), question.top_k if hooks.reranker is None else len(order))
    rerank_error: str | None = None
    if hooks.reranker is not None and passages:
        with request.span("retrieval.rerank", hits=len(passages)) as span:
            passages, rerank_error = yield from _reranked(passages, hooks.reranker, question, means, hooks)
            span.set(failed=rerank_error is not None)
        passages = yield from gate.passed(passages)
    with request.span("prompt.assembly") as span:
        best, layout = yield from laid_out(passages, supply, gate, hooks)
        result = assemble(
            question,
            best,
            layout=layout,
            generation=finds.generation,
            lexical_is_exact=finds.lexical_is_exact,
            rerank_error=rerank_error,
        )
        result = with_check_error(result, audit)
        span.set(hits=len(result.hits), truncated=result.truncated)
    _tell(request, question, result, audit)
    return Answered(result, best)


def _in_words(question: Question, hooks: Hooks) -> Generator[Effect, Any, Question]:
    """The question without what must not leave, and in all the words that it is to be looked for in."""
    redactor = hooks.redactor
    if redactor is None and hooks.rewriter is None:
        return question

    def words() -> tuple[str, ...]:
        query = question.query if redactor is None else redacted_query(question.query, redactor)
        if not query.strip():
            return (query,)
        forms = variants(hooks.rewriter, query)
        return forms if redactor is None else (query, *(redacted_query(form, redactor) for form in forms[1:]))

    query, *others = yield from called(words)
    forms = (query, *(other for other in others if other.strip()))
    # A redactor may leave the same of two forms, which would count twice.
    return replace(question, queries=tuple(dict.fromkeys(forms)))


def _embedded(texts: Sequence[str], embedder: Embedder) -> tuple[Space, list[str]]:
    """The space that is searched, and where in it each of the texts lies."""
    try:
        space = Space(embedder.identity, embedder.dimensions)
        if not space.embedder_identity or not 1 <= space.dimensions <= DIMENSIONS_MAX:
            raise ValidationError(f"embedder must have an identity, and from 1 to {DIMENSIONS_MAX:,} dimensions.")
        vectors = check_vectors(embedder.embed(list(texts)), count=len(texts), dimensions=space.dimensions)
    except (
        psycopg.Error,
        CancelledError,
    ) as error:  # of a database or a task of its own: neither may pass for one of ours
        raise ValidationError(failure(error, "embedder")) from None
    return space, [as_halfvec(vector) for vector in vectors]


@contextmanager
def _searching(question: Question, request: Span) -> Iterator[None]:
    """Both legs are one statement, so their spans cover the same time."""
    with request.span("retrieval.vector_search", scopes=len(question.scopes)):
        if question.lexical == "off":
            yield
        else:
            with request.span("retrieval.lexical", lexical=question.lexical):
                yield


def _hear_of_others(question: Question, means: Means, audit: Audit) -> Generator[Effect, Any, None]:
    """Asks for the sources that the corpora hold and the store did not give, if somebody listens."""
    if audit.is_heard:
        statements = [denied_statement(means.schema, question, scope) for scope in question.scopes]
        for scope, rows in zip(question.scopes, (yield from fetched(*statements)), strict=True):
            audit.kept_back(scope, rows)


def _reranked(
    passages: Sequence[Passage], reranker: Bounded, question: Question, means: Means, hooks: Hooks
) -> Generator[Effect, Any, tuple[list[Passage], str | None]]:
    """The passages in the reranker's order, and why they are not if they are not."""
    try:
        ordered: tuple[list[Passage], str | None] = yield from called(
            lambda: _ordered(passages, reranker, question.query, means.hosted_labels)
        )
    except RerankError as error:
        if not hooks.keeps_order:
            raise
        return list(passages), str(error)
    return ordered


def _ordered(
    passages: Sequence[Passage], reranker: Bounded, query: str, hosted_labels: Sequence[int]
) -> tuple[list[Passage], str | None]:
    """What must not leave the process keeps its place among those that may."""
    is_hosted, reads_restricted = reranker.is_hosted, reranker.reads_restricted  # once: what it says next is too late
    ordered = list(passages)
    places = [
        place
        for place, one in enumerate(passages)
        if (not is_hosted or one.candidate.sensitivity in hosted_labels)
        and (one.candidate.sensitivity < RESTRICTED or reads_restricted)
    ]
    if not places:  # which a host that named a reranker would take for its order
        return ordered, UNASKED.format(OUTSIDE if is_hosted else CAREFUL)
    given = {id(passages[place].hit): passages[place] for place in places}
    answer = reranker.rerank(query, [passages[place].hit for place in places])
    for place, hit in zip(places, answer, strict=True):
        ordered[place] = given[id(hit)]
    return ordered, failure_of(answer)


def _tell(request: Span, question: Question, result: RetrievalResult, audit: Audit) -> None:
    """What a trace keeps of the answer: numbers and ids of what was shown, and how many sources were not."""
    if not request.is_recording:
        return
    request.set(hits=len(result.hits), truncated=result.truncated, generation=result.generation)
    for rank, hit in enumerate(result.hits, start=1):
        request.event("chunk_retrieved", chunk_id=hit.chunk_id, rank=rank, score=float(hit.score))
    if denied := audit.n_denied(question.scopes):
        request.event("rag.acl_denied", denied=denied)
