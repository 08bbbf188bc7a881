"""Looking in every corpus of a question for every form of its query: one statement each, all in one snapshot."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import StoreError
from headwater.lexical import has_tiers, is_known
from headwater.limits import MOVES
from headwater.models import Scope
from headwater.store.effects import Effect, Statement, called, fetched
from headwater.store.question import Question
from headwater.store.routes import USUAL, Route, Routes
from headwater.store.rows import Found, read_rows, unreadable
from headwater.store.search import Space, Terms, generations_statement, search_parameters, search_statement


@dataclass(frozen=True, slots=True)
class Finds:
    """What was found for each form of the query, in each corpus that exists."""

    generation: int | None  # of the only corpus
    by_query: tuple[tuple[Found, ...], ...]

    @property
    def lexical_is_exact(self) -> bool | None:
        """No lexical leg left out a passage that scores more than those it listed. None: there was no such leg."""
        return all_exact(found.lexical_is_exact for founds in self.by_query for found in founds)


def all_exact(said: Iterable[bool | None]) -> bool | None:
    """What several say together; None is one that was not asked."""
    known = [each for each in said if each is not None]
    return all(known) if known else None


def look(
    question: Question, space: Space, vectors: Sequence[str], *, schema: str, routes: Routes
) -> Generator[Effect, Any, Finds]:
    """What is found where the builds lie. If one is elsewhere by now, all are asked again: they share one snapshot."""
    pairs = [(scope, place) for scope in question.scopes for place in range(len(question.queries))]
    for _ in range(1 + MOVES):
        asked = {scope: _route(routes.of(scope, question.generation), question) for scope in question.scopes}
        terms = yield from _terms(question, asked)
        rows = yield from fetched(
            *(
                Statement(
                    search_statement(
                        schema, space, question, scope, asked[scope].slab, is_tiered=_is_tiered(asked[scope])
                    ),
                    search_parameters(question, scope, space, vectors[place], terms.get((asked[scope].lexicon, place))),
                )
                for scope, place in pairs
            )
        )
        found = [read_rows(each, question, scope, space) for each, (scope, _) in zip(rows, pairs, strict=True)]
        moved = False
        for one, (scope, _) in zip(found, pairs, strict=True):
            if one.is_unreadable:
                statement = Statement(generations_statement(schema), question.parameters(scope))
                raise unreadable(question, scope, (yield from fetched(statement))[0])
            moved |= _has_moved(one, scope, asked[scope], question, routes)
        if not moved:
            forms = range(len(question.queries))
            by_query = tuple(tuple(found[n] for n in range(len(found)) if pairs[n][1] == form) for form in forms)
            return Finds(found[0].generation if len(question.scopes) == 1 else None, by_query)
    raise StoreError(
        f"Corpus {' or '.join(map(str, question.scopes))} was moved or indexed anew {MOVES + 1} times while it was searched: "
        "ask again."
    )


def _route(route: Route, question: Question) -> Route:
    """Where to ask. A build without words, or with words that nobody here can look for, may have been followed by another one."""
    is_of_use = question.lexical == "off" or (route.lexicon is not None and is_known(route.lexicon))
    return route if is_of_use else Route(route.slab, USUAL.lexicon)


def _is_tiered(route: Route) -> bool:
    return route.lexicon is not None and has_tiers(route.lexicon)


def _has_moved(found: Found, scope: Scope, asked: Route, question: Question, routes: Routes) -> bool:
    """The build is not as it was asked for, and so gave nothing. What it is like is learnt."""
    if found.slab is None:  # there is no such corpus
        return False
    now = Route(found.slab, found.lexicon)
    if now != routes.of(scope, question.generation):
        routes.learn(scope, question.generation, now)
    return now.slab != asked.slab or (question.lexical != "off" and now.lexicon != asked.lexicon)


def _terms(
    question: Question, asked: Mapping[Scope, Route]
) -> Generator[Effect, Any, Mapping[tuple[str | None, int], Terms]]:
    """What each form of the query is looked for by, in the words of each language that a corpus was indexed in.

    A call, as a model's is: of a query that fills pages it takes a good part of a second, and so does the first one of a process.
    """
    if question.lexical == "off":
        return {}
    lexicons = {route.lexicon for route in asked.values() if route.lexicon is not None}

    def terms() -> dict[tuple[str | None, int], Terms]:
        return {
            (lexicon, place): Terms.of(query, lexicon)
            for lexicon in lexicons
            for place, query in enumerate(question.queries)
        }

    return (yield from called(terms)) if lexicons else {}
