"""Looking in every corpus of a question, in every way, and putting what was found into one order.

One statement for each corpus and form of the query, all in one snapshot. What two corpora hold is compared as if one held
both: their vectors lie in one space, so there is one vector leg and one lexical leg for each form of the query.
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.effects import Effect, Statement, fetched
from headwater.errors import StoreError, ValidationError
from headwater.fusion import Leg, fuse
from headwater.lexical import analyse, language_of, term_id
from headwater.limits import MOVES
from headwater.models import Scope, Scores
from headwater.question import Question
from headwater.routes import Route, Routes
from headwater.rows import Candidate, Found, read_rows, unreadable
from headwater.search import Space, Term, Terms, asker, generations_statement, search_parameters, search_statement

Retrieval = Literal["vector", "lexical", "hybrid"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate at its place in the common order, and how it came there."""

    candidate: Candidate
    scores: Scores
    retrieval: Retrieval


@dataclass(frozen=True, slots=True)
class Finds:
    """What was found for each form of the query, in each corpus that exists."""

    generation: int | None  # of the only corpus
    by_query: tuple[tuple[Found, ...], ...]


def look(
    question: Question, space: Space, vectors: Sequence[str], *, schema: str, routes: Routes
) -> Generator[Effect, Any, Finds]:
    """What is found where the builds lie. If one is elsewhere by now, all are asked again: they share one snapshot."""
    pairs = [(scope, place) for scope in question.scopes for place in range(len(question.queries))]
    for _ in range(1 + MOVES):
        asked = {scope: routes.of(scope, question.generation) for scope in question.scopes}
        terms = _terms(question, asked)
        rows = yield from fetched(
            *(
                Statement(
                    search_statement(schema, space, question, scope, asked[scope].slab),
                    search_parameters(question, scope, space, vectors[place], terms(scope, place)),
                )
                for scope, place in pairs
            )
        )
        found = [read_rows(each, question, scope, space) for each, (scope, _) in zip(rows, pairs, strict=True)]
        moved = False
        for one, (scope, _) in zip(found, pairs, strict=True):
            if one.is_unreadable:
                statement = Statement(generations_statement(schema), asker(question, scope))
                raise unreadable(question, scope, (yield from fetched(statement))[0])
            moved |= _has_moved(one, scope, asked[scope], question, routes)
        if not moved:
            forms = range(len(question.queries))
            by_query = tuple(tuple(found[n] for n in range(len(found)) if pairs[n][1] == form) for form in forms)
            return Finds(found[0].generation if len(question.scopes) == 1 else None, by_query)
    raise StoreError(
        f"Corpus {' or '.join(map(str, question.scopes))} moved to another partition {MOVES + 1} times while it was searched: "
        "ask again."
    )


def _has_moved(found: Found, scope: Scope, asked: Route, question: Question, routes: Routes) -> bool:
    """The build is not as it was asked for, and so gave nothing. What it is like is learnt."""
    if found.slab is None:  # there is no such corpus
        return False
    now = Route(found.slab, found.lexicon)
    if now != asked:
        routes.learn(scope, question.generation, now)
    if question.lexical == "off":
        return now.slab != asked.slab
    if now.lexicon is None:
        raise ValidationError(
            f"Corpus {scope} was indexed by a release that kept no words, so lexical={question.lexical!r} cannot be searched: "
            f"run `headwater reindex --corpus {scope}`, or ask with lexical='off'."
        )
    return now != asked


def _terms(question: Question, asked: Mapping[Scope, Route]) -> Callable[[Scope, int], Terms | None]:
    """What each form of the query is looked for by in each corpus: the words of the language that it was indexed in."""
    known: dict[tuple[str, int], Terms] = {}

    def of(scope: Scope, place: int) -> Terms | None:
        lexicon = asked[scope].lexicon
        if question.lexical == "off" or lexicon is None:
            return None
        if (lexicon, place) not in known:
            said = Counter(token.term for token in analyse(question.queries[place], language_of(lexicon)))
            known[lexicon, place] = Terms(lexicon, tuple(Term(term, term_id(term), n) for term, n in said.items()))
        return known[lexicon, place]

    return of


def ranked(question: Question, finds: Finds) -> list[Ranked]:
    """The candidates in one order, as many as were asked for."""
    vector = [_vector_leg(found, question.candidates) for found in finds.by_query]
    lexical = [_lexical_leg(found, question.candidates) for found in finds.by_query]
    if question.lexical == "off":
        lexical = []
    # The vector legs come first: of a passage that both found, their similarity is told.
    fused = fuse([*vector, *lexical], fusion=question.fusion, k=question.rrf_k, key=_key)
    by_vector, by_words = _best_ranks(vector), _best_ranks(lexical)
    words = _best_scores(lexical)
    order: list[Ranked] = []
    for candidate, score in fused[: question.candidates]:
        key = _key(candidate)
        scores = Scores.model_construct(
            vector=candidate.similarity,
            lexical=words.get(key),
            fused=score,
            vector_rank=by_vector.get(key),
            lexical_rank=by_words.get(key),
        )
        retrieval: Retrieval = (
            "hybrid" if key in by_vector and key in by_words else "vector" if key in by_vector else "lexical"
        )
        order.append(Ranked(candidate, scores, retrieval))
    return order


# A passage that one way found is best where it stood highest; both ways weigh the same, however many forms the query has.


def _vector_leg(founds: Sequence[Found], most: int) -> Leg[Candidate]:
    listed = [
        (one.similarity or 0.0, one.vector_rank, one) for found in founds for one in found.candidates if one.vector_rank
    ]
    return _leg(listed, most)


def _lexical_leg(founds: Sequence[Found], most: int) -> Leg[Candidate]:
    listed = [
        (one.lexical_score or 0.0, one.lexical_rank, one)
        for found in founds
        for one in found.candidates
        if one.lexical_rank
    ]
    return _leg(listed, most)


def _leg(listed: list[tuple[float, int, Candidate]], most: int) -> Leg[Candidate]:
    """Best first. Within a corpus the store's own order holds: it knows more digits than are told."""
    listed.sort(key=lambda each: (-each[0], _scope_key(each[2].scope), each[1]))
    best = listed[:most]
    return Leg([candidate for _, _, candidate in best], [score for score, _, _ in best])


def _best_ranks(legs: Sequence[Leg[Candidate]]) -> dict[Any, int]:
    best: dict[Any, int] = {}
    for leg in legs:
        for rank, candidate in enumerate(leg.items, start=1):
            key = _key(candidate)
            best[key] = min(rank, best.get(key, rank))
    return best


def _best_scores(legs: Sequence[Leg[Candidate]]) -> dict[Any, float]:
    best: dict[Any, float] = {}
    for leg in legs:
        for score, candidate in zip(leg.scores, leg.items, strict=True):
            key = _key(candidate)
            best[key] = max(score, best.get(key, score))
    return best


def _key(candidate: Candidate) -> tuple[str, str, str, str, int]:
    return (*_scope_key(candidate.scope), candidate.source_id, candidate.chunk_no)


def _scope_key(scope: Scope) -> tuple[str, str, str]:
    return scope.tenant_id, scope.resource_id, scope.corpus_id
