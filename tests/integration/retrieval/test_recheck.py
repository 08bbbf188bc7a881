"""What changes between the search and the answer counts: a second statement looks again, and its word is final."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import psycopg
import pytest

from headwater import AccessDenied, AsyncRetriever, Hit, RetrievalResult, Scope, StoreError
from headwater.embedders.hashing import HashEmbedder
from headwater.prompts import LostInTheMiddle
from tests.integration.retrieval.conftest import ALICE, Ask, Asker
from tests.integration.retrieval.corpus_rows import CorpusRows, Source
from tests.integration.retrieval.wire import Act, Wire

KEPT_BACK, RECHECK = 2, 3  # after the search: what the store kept back, asked for a listener; the recheck
DEADLINE_S = 30


def answer_while(
    asker: Asker, wire: Wire, *changes: tuple[int, Callable[[], None]], **arguments: Any
) -> tuple[RetrievalResult, list[AccessDenied]]:
    """The answer to "text" when each change happens just before the statement of its number."""
    events: list[AccessDenied] = []
    asker.ask("text", on_access_denied=events.append, **arguments)  # prepares the statements
    events.clear()
    answer, passed = None, 0
    for statement, change in changes:
        wire.at(statement - passed, Act.HOLD)
        if answer is None:
            answer = asker.start("text", on_access_denied=events.append, **arguments)
        else:
            wire.release()
        assert wire.is_held.wait(DEADLINE_S)
        change()
        passed = statement
    wire.release()
    assert answer is not None
    return answer.result(DEADLINE_S), events


def test_a_source_revoked_after_the_search_is_withheld(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    source = corpus.add("taken", "text one", "text two", "text three")
    corpus.add("kept", "text")

    result, events = answer_while(asker, wire, (RECHECK, lambda: corpus.grant(source)))

    assert [hit.source_id for hit in result.hits] == ["kept"] and "taken" not in result.model_dump_json()
    assert result.hits[0].retrieval_rank == 1
    assert events == [AccessDenied(source_id="taken", scope=corpus.scope, reason="no_grant", hits=3)]


def test_a_grant_that_ends_after_the_search_is_over(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    source = corpus.add("lent", "text", readers=[])
    corpus.grant_until(source, "user:alice", datetime.now(UTC) + timedelta(hours=1))

    def end() -> None:
        corpus.execute("UPDATE {}.expiring_grant SET expires_at = now() WHERE source_pk = %s", source.source_pk)

    result, events = answer_while(asker, wire, (RECHECK, end))

    assert result.hits == () and [(event.reason, event.hits) for event in events] == [("no_grant", 1)]


def test_a_version_that_moves_on_from_a_pinned_one_is_withheld(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    source = corpus.add("one", "text", readers=["user:alice"], access_version=1)
    pinned = ALICE.model_copy(update={"access_version": 1})

    result, events = answer_while(
        asker, wire, (RECHECK, lambda: corpus.grant(source, "user:alice")), authorization=pinned
    )

    assert result.hits == () and [event.source_id for event in events] == ["one"]


@pytest.mark.parametrize(
    "remove",
    [
        lambda corpus, source: corpus.delete(source, gen=2),
        lambda corpus, source: corpus.tombstone("one", "forgotten"),
        lambda corpus, source: corpus.tombstone("parent", "corrected"),
        lambda corpus, source: corpus.label(source, "restricted"),
        lambda corpus, source: corpus.execute("DELETE FROM {}.span WHERE rev_id = %s", source.rev_id),
    ],
    ids=["deleted", "forgotten", "parent corrected", "restricted", "collected"],
)
def test_what_is_gone_after_the_search_is_withheld_without_a_word(
    corpus: CorpusRows, asker: Asker, wire: Wire, remove: Callable[[CorpusRows, Source], None]
) -> None:
    source = corpus.add("one", "text", parents=["parent"])

    result, events = answer_while(asker, wire, (RECHECK, lambda: remove(corpus, source)))

    assert (result.hits, result.text, events) == ((), "", [])


def test_a_source_replaced_after_the_search_is_answered_as_it_was(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    source = corpus.add("one", "old text")

    def replace() -> None:
        corpus.execute("UPDATE {}.span SET gen_to = 2 WHERE rev_id = %s", source.rev_id)
        corpus.add("one", "new text", gen_from=2)
        corpus.point(2)

    result, events = answer_while(asker, wire, (RECHECK, replace))

    assert ([hit.text for hit in result.hits], result.generation, events) == (["old text"], 1, [])


def test_a_source_granted_after_the_search_is_not_shown_before_the_next_one(
    corpus: CorpusRows, asker: Asker, wire: Wire
) -> None:
    source = corpus.add("one", "text", readers=[])

    result, events = answer_while(asker, wire, (KEPT_BACK, lambda: corpus.grant(source, "user:alice")))

    assert (result.hits, events) == ((), [])
    assert [hit.source_id for hit in asker.ask("text").hits] == ["one"]


def test_a_source_revoked_before_the_store_is_asked_what_it_kept_back_is_one_event(
    corpus: CorpusRows, asker: Asker, wire: Wire
) -> None:
    source = corpus.add("one", "text")

    result, events = answer_while(asker, wire, (KEPT_BACK, lambda: corpus.grant(source)))

    assert result.hits == () and [(event.source_id, event.hits) for event in events] == [("one", 1)]


def test_the_last_answer_wins_where_a_grant_comes_and_goes(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    source = corpus.add("one", "text")

    result, events = answer_while(
        asker,
        wire,
        (KEPT_BACK, lambda: corpus.grant(source)),
        (RECHECK, lambda: corpus.grant(source, "user:alice")),
    )

    assert [hit.source_id for hit in result.hits] == ["one"] and events == []


def test_withheld_passages_make_room_for_the_next_ones(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    taken = corpus.add("taken", *["text"] * 5)
    corpus.add("next", *["text and more"] * 5)

    result, _ = answer_while(asker, wire, (RECHECK, lambda: corpus.grant(taken)))

    assert [hit.source_id for hit in result.hits] == ["next"] * 5


def test_fifty_sources_are_looked_at_again_in_one_statement(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    for number in range(50):
        corpus.add(f"s{number}", "text", "text again")
    asker.ask("text", candidates=100)
    wire.at(3, Act.HOLD)  # after the search and the recheck, when nobody listens

    result = asker.ask("text", candidates=100)

    assert len(result.hits) == 5 and not wire.is_held.is_set()


# --- while code of a host's runs


class Meanwhile:
    """A host's redactor and post-processor, in whose time something happens once: the first time that it sees a passage."""

    def __init__(self, change: Callable[[], None]) -> None:
        self._change: Callable[[], None] | None = change

    def __call__(self, text: str) -> str:
        if text.startswith("text "):
            self._happen()
        return text

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self._happen()
        return hits

    def _happen(self) -> None:
        change, self._change = self._change, None
        if change is not None:
            change()


@pytest.mark.parametrize("code", ["redactor", "post_processors"])
def test_what_is_revoked_while_a_hosts_code_runs_is_withheld_told_once_and_made_up_for(
    corpus: CorpusRows, ask: Ask, code: str
) -> None:
    taken = corpus.add("taken", "text one", "text two")
    corpus.add("next", *["something else with little of a text"] * 3)
    events: list[AccessDenied] = []
    meanwhile: Any = Meanwhile(lambda: corpus.grant(taken))

    result = ask(
        "text",
        top_k=2,
        on_access_denied=events.append,
        **{code: meanwhile if code == "redactor" else (meanwhile, LostInTheMiddle())},
    )

    assert [hit.source_id for hit in result.hits] == ["next", "next"] and "taken" not in result.model_dump_json()
    assert result.text.count("[next#") == 2
    assert [(event.source_id, event.reason) for event in events] == [("taken", "no_grant")]


# --- a recheck that fails


def test_a_connection_lost_before_the_recheck_is_no_reason_to_withhold(
    corpus: CorpusRows, asker: Asker, wire: Wire
) -> None:
    corpus.add("one", "text", "text")
    events: list[AccessDenied] = []
    asker.ask("text", on_access_denied=events.append)
    wire.at(RECHECK, Act.CUT)

    result = asker.ask("text", on_access_denied=events.append)

    assert ([hit.source_id for hit in result.hits], events) == (["one", "one"], [])


def test_a_server_lost_before_the_recheck_is_an_error_and_not_an_empty_answer(
    corpus: CorpusRows, asker: Asker, wire: Wire
) -> None:
    corpus.add("one", "text")
    asker.ask("text", on_access_denied=print)
    wire.at(RECHECK, Act.HOLD)
    answer = asker.start("text", on_access_denied=print)
    assert wire.is_held.wait(DEADLINE_S)

    wire.refuse()
    wire.release()

    with pytest.raises(StoreError, match="refused"):
        answer.result(DEADLINE_S)
    wire.accept()
    assert len(asker.ask("text").hits) == 1


def test_a_recheck_that_fails_withholds_everything_it_covered_and_says_no_more(
    corpus: CorpusRows, asker: Asker, wire: Wire, reading: str
) -> None:
    corpus.add("one", "text", "text")
    corpus.add("two", "text")
    events: list[AccessDenied] = []
    asker.ask("text", on_access_denied=events.append)
    wire.at(RECHECK, Act.HOLD)
    answer = asker.start("text", on_access_denied=events.append)
    assert wire.is_held.wait(DEADLINE_S)

    with psycopg.connect(reading) as lock:
        lock.execute("LOCK TABLE headwater.span")
        wire.release()
        deadline = monotonic() + DEADLINE_S
        while corpus.connection.execute(CANCEL_BLOCKED).fetchone() is None:
            assert monotonic() < deadline
        result = answer.result(DEADLINE_S)

    assert (result.hits, result.citations, result.text, result.generation) == ((), (), "", 1)
    assert (result.check_error or "").startswith("Postgres did not say what may still be shown (QueryCanceled, 57014)")
    assert [(event.source_id, event.reason, event.hits, event.error) for event in events] == [
        ("one", "check_failed", 2, "QueryCanceled, 57014"),
        ("two", "check_failed", 1, "QueryCanceled, 57014"),
    ]
    assert len(asker.ask("text").hits) == 3  # and the next question is answered


CANCEL_BLOCKED = """
    SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"""


# --- an abort


async def test_a_cancelled_question_stays_cancelled_and_tells_nobody(
    corpus: CorpusRows, wire: Wire, scope: Scope, embedder: HashEmbedder
) -> None:
    corpus.add("one", "text")
    corpus.add("secret", "text", readers=[])
    events: list[AccessDenied] = []
    async with AsyncRetriever.connect(wire.dsn, embedder=embedder) as retriever:

        async def ask() -> RetrievalResult:
            return await retriever.retrieve("text", scope=scope, authorization=ALICE, on_access_denied=events.append)

        await ask()
        assert len(events) == 1
        wire.at(RECHECK, Act.HOLD)
        question = asyncio.create_task(ask())
        assert await asyncio.to_thread(wire.is_held.wait, DEADLINE_S)
        question.cancel()
        wire.release()
        with pytest.raises(asyncio.CancelledError):
            await question

        assert len(events) == 1
        assert len((await ask()).hits) == 1  # the retriever itself is as good as before
