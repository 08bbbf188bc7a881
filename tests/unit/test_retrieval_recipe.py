"""The recipe without a database: what it asks for, and what it makes of rows that must not be."""

from typing import Any

import psycopg
import pytest

from headwater import (
    AccessDenied,
    EmbedderMismatch,
    HeadwaterError,
    LimitError,
    RetrievalResult,
    Scope,
    ScopeError,
    StoreError,
    ValidationError,
)
from headwater.answering.finding import Finds, look
from headwater.answering.recheck import Audit
from headwater.limits import QUERY_TERMS, ROUTES
from headwater.store.effects import Batch, Call, Steps
from headwater.store.question import Lexical, Question
from headwater.store.routes import USUAL, Route, Routes
from headwater.store.search import Space
from tests.unit.recipe_steps import ALICE, SCOPE, make_row, verdict, walk


def answer(*rows: tuple[Any, ...], verdicts: list[tuple[Any, ...]] | psycopg.Error) -> RetrievalResult:
    steps = walk()
    steps.feed(rows)
    if isinstance(verdicts, psycopg.Error):
        steps.fail(verdicts)
    else:
        steps.feed(verdicts)
    assert steps.next() is None
    return steps.result


def test_a_question_takes_two_statements() -> None:
    steps = walk()
    search = steps.next()
    steps.feed([make_row(), make_row(chunk_no=2), make_row(rev_id=2, source_id="other")])
    recheck = steps.next()
    steps.feed([verdict(1), verdict(2)])

    assert search is not None and search.parameters["identity"] == "hash/1" and search.parameters["groups"] == ["eng"]
    assert recheck is not None and recheck.parameters["revisions"] == [1, 2]
    assert steps.next() is None and len(steps.result.hits) == 3


def test_where_nothing_was_found_nothing_is_looked_at_again() -> None:
    steps = walk()
    steps.feed([make_row(rev_id=None)])

    assert steps.next() is None and steps.result.generation == 7


def test_a_listener_makes_it_three() -> None:
    steps = walk(listener=print)
    statements = [steps.next()]
    for rows in ([make_row()], [("kept back",)], [verdict(1)]):
        steps.feed(rows)
        statements.append(steps.next())

    assert statements.count(None) == 1 and len({statement.sql for statement in statements if statement}) == 3


def test_a_corpus_that_lies_elsewhere_is_asked_for_there_and_next_time_at_once() -> None:
    routes = Routes()
    asked = []
    for answers in ([make_row(rev_id=None, slab=7), make_row(slab=7)], [make_row(slab=7)]):
        steps = walk(routes=routes)
        for row in answers:
            statement = steps.next()
            assert statement is not None
            asked.append(statement.sql)
            steps.feed([row])
        steps.feed([verdict(1)])
        assert len(steps.result.hits) == 1

    assert [b"slab = 7" in sql for sql in asked] == [False, True, True]
    assert asked[1] == asked[2] and b"slab = 0" in asked[0]


def test_a_corpus_that_is_on_the_move_all_the_time_is_an_error_after_the_fourth_attempt() -> None:
    steps = walk()
    for slab in (1, 2, 3):
        steps.feed([make_row(rev_id=None, slab=slab)])
        assert steps.next() is not None

    with pytest.raises(StoreError, match=r"t1/docs/handbook was moved or indexed anew 4 times .* ask again"):
        steps.feed([make_row(rev_id=None, slab=4)])


def looking(*, lexical: Lexical) -> Steps[Finds]:
    """A question with more words than are looked for."""
    pages = "".join(
        chr(0x4E00 + number) for number in range(QUERY_TERMS)
    )  # of which each letter is a term, and each pair
    question = Question.checked(pages, authorization=ALICE, scope=SCOPE, lexical=lexical)
    return Steps(look(question, Space("hash/1", 3), ["[1,0,0]"], schema="headwater", routes=Routes()))


def test_a_query_is_cut_into_words_in_a_call_for_which_no_event_loop_waits() -> None:
    steps = looking(lexical="bm25")
    call = steps.next()

    assert isinstance(call, Call)
    with pytest.raises(LimitError, match="different terms"):
        call.function()
    steps.feed({})
    assert isinstance(steps.next(), Batch)


def test_a_query_whose_words_are_not_looked_for_is_not_cut() -> None:
    assert isinstance(looking(lexical="off").next(), Batch)


def test_a_corpus_that_comes_to_rest_is_answered() -> None:
    steps = walk()
    for slab in (1, 2, 3):
        steps.feed([make_row(rev_id=None, slab=slab)])
    steps.feed([make_row(slab=3)])
    steps.feed([verdict(1)])

    assert [hit.source_id for hit in steps.result.hits] == ["src"]


def test_an_exact_question_never_walks_a_graph() -> None:
    routes = Routes()
    routes.learn(SCOPE, None, Route(7))
    walked, exact = (walk(routes=routes, exact=exact).next() for exact in (False, True))

    assert walked is not None and b"WITH" in walked.sql and b"walked" in walked.sql
    assert exact is not None and b"slab = 7" in exact.sql and b"walked" not in exact.sql


def test_a_generation_that_cannot_be_read_costs_one_more_statement_and_names_those_that_can() -> None:
    steps = walk(listener=print, generation=3)
    steps.feed([make_row(generation=None, embedder_identity=None, dimensions=None, slab=None, rev_id=None)])

    with pytest.raises(
        ValidationError, match=r"^Generation 3 of corpus t1/docs/handbook was collected: choose one from 4 to 9,"
    ):
        steps.feed([(4, 9)])


def test_a_retriever_remembers_so_many_routes_and_no_more() -> None:
    routes = Routes()
    scopes = [Scope(tenant_id="t1", resource_id="docs", corpus_id=f"c{number}") for number in range(ROUTES + 1)]
    for number, scope in enumerate(scopes):
        routes.learn(scope, None, Route(number + 1))

    assert routes.of(scopes[-1], None) == Route(ROUTES + 1)
    assert sum(routes.of(scope, None) != USUAL for scope in scopes) <= ROUTES


def test_a_route_is_that_of_one_generation() -> None:
    routes, scope = Routes(), Scope(tenant_id="t1", resource_id="docs", corpus_id="c")
    routes.learn(scope, None, Route(3))
    routes.learn(scope, 7, Route(2))
    assert [routes.of(scope, generation).slab for generation in (None, 7, 8)] == [3, 2, 0]

    routes.learn(scope, None, USUAL)
    assert [routes.of(scope, generation).slab for generation in (None, 7)] == [0, 2]


@pytest.mark.parametrize("column", ["tenant_id", "resource_id", "corpus_id"])
def test_a_row_of_another_corpus_fails_the_question(column: str) -> None:
    steps = walk()

    with pytest.raises(ScopeError, match="another corpus than t1/docs/handbook"):
        steps.feed([make_row(), make_row(**{column: "else"})])


@pytest.mark.parametrize("changes", [{"embedder_identity": "hash/2"}, {"dimensions": 4}])
def test_a_row_of_another_space_fails_the_question(changes: dict[str, Any]) -> None:
    steps = walk()

    with pytest.raises(EmbedderMismatch, match="t1/docs/handbook"):
        steps.feed([make_row(rev_id=None, **changes)])


@pytest.mark.parametrize(
    "changes",
    [
        {"start": -1, "end": 3},
        {"end": 5},
        {"end": 3},
        {"start": 4, "end": 4},
        {"text": "", "end": 0},
        {"chunk_no": 0},
        {"revision": 0},
        {"revision": None},
        {"distance": float("nan")},
        {"distance": None},
        {"document_metadata": []},
        {"chunk_metadata": None},
    ],
)
def test_a_malformed_row_fails_the_question_without_its_text(changes: dict[str, Any]) -> None:
    steps = walk()

    with pytest.raises(StoreError, match="is malformed") as caught:
        steps.feed([make_row(**{"text": "text", **changes})])
    assert "text" not in str(caught.value)


def test_verdicts_decide_what_is_shown() -> None:
    rows = [make_row(rev_id=n, source_id=f"s{n}") for n in range(1, 6)]

    result = answer(
        *rows,
        verdicts=[
            verdict(1),
            verdict(2, is_granted=False),
            verdict(3, is_alive=False),
            verdict(4, is_granted=False, is_alive=False),
        ],
    )

    assert [hit.source_id for hit in result.hits] == ["s1"]


def test_no_verdicts_at_all_show_nothing() -> None:
    assert answer(make_row(), verdicts=[]).hits == ()


def test_a_failed_recheck_shows_nothing_and_repeats_no_words() -> None:
    events: list[AccessDenied] = []
    steps = walk(listener=events.append)
    with steps.audit:
        steps.feed([make_row(), make_row(chunk_no=2)])
        steps.feed([])
        steps.fail(psycopg.errors.RaiseException("token sk-secret is not valid"))

    assert steps.result.hits == ()
    assert [(event.reason, event.hits) for event in events] == [("check_failed", 2)]
    assert events[0].error is not None and "secret" not in events[0].error


def test_a_failed_search_is_an_error() -> None:
    steps = walk()

    with pytest.raises(psycopg.OperationalError):
        steps.fail(psycopg.OperationalError("gone"))


def test_denials_are_told_also_when_the_question_fails_but_not_when_it_is_aborted() -> None:
    told: dict[type[BaseException], int] = {}
    for error in (StoreError, ValueError, KeyboardInterrupt, GeneratorExit):
        events: list[AccessDenied] = []
        audit = Audit(events.append)
        with pytest.raises(error), audit:
            audit.kept_back(SCOPE, [("secret",)])
            raise error()
        told[error] = len(events)

    assert told == {StoreError: 1, ValueError: 1, KeyboardInterrupt: 0, GeneratorExit: 0}


def test_every_kind_of_error_has_a_code_of_its_own() -> None:
    library = [kind for kind in HeadwaterError.__subclasses__() if kind.__module__ == "headwater.errors"]
    assert len({kind.code for kind in library} | {HeadwaterError.code}) == len(library) + 1
    assert all(kind.code.startswith("ERR_HEADWATER_") for kind in library)
