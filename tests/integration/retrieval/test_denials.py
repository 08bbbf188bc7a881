"""What the host is told of sources that were kept from somebody: each once, and no more of them than may be known."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headwater import AccessDenied, RetrievalResult
from tests.integration.retrieval.conftest import ALICE, Ask
from tests.integration.retrieval.corpus_rows import CorpusRows


def found(result: RetrievalResult) -> list[str]:
    return [hit.source_id for hit in result.hits]


def heard(ask: Ask, query: str, **arguments: Any) -> tuple[RetrievalResult, list[AccessDenied]]:
    events: list[AccessDenied] = []
    return ask(query, on_access_denied=events.append, **arguments), events


def test_a_source_without_a_grant_is_one_event(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("secret", *[f"secret passage {n}" for n in range(20)], readers=["user:bob"])

    result, events = heard(ask, "secret")

    assert result.hits == ()
    assert events == [AccessDenied(source_id="secret", scope=corpus.scope, reason="no_grant", hits=0)]


def test_events_name_sources_that_lack_a_grant_and_no_others(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("mine", "text")
    corpus.add("bobs", "text", readers=["user:bob"])
    corpus.add("nobodys", "text", readers=[])
    corpus.grant_until(corpus.add("ended", "text", readers=[]), "user:alice", datetime.now(UTC) - timedelta(days=1))
    corpus.delete(corpus.add("deleted", "text", readers=["user:bob"]), gen=1)
    corpus.add("forgotten", "text", readers=["user:bob"])
    corpus.tombstone("forgotten", "forgotten")

    result, events = heard(ask, "text")

    assert found(result) == ["mine"]
    assert [event.source_id for event in events] == ["bobs", "ended", "nobodys"]


def test_a_pinned_version_that_does_not_fit_is_no_grant(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("one", "text", access_version=1)

    result, events = heard(ask, "text", authorization=ALICE.model_copy(update={"access_version": 9}))

    assert result.hits == () and [(event.source_id, event.reason) for event in events] == [("one", "no_grant")]


def test_nothing_is_told_where_nothing_was_withheld(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("mine", "text")

    assert heard(ask, "text")[1] == []
    assert heard(ask, " ")[1] == []


def test_a_listener_that_fails_fails_the_query(corpus: CorpusRows, ask: Ask) -> None:
    def audit_is_full(event: AccessDenied) -> None:
        raise OSError("no room for the audit")

    corpus.add("secret", "text", readers=[])

    with pytest.raises(OSError, match="no room"):
        ask("text", on_access_denied=audit_is_full)


@pytest.mark.parametrize("sensitivities", [None, ["public", "internal"]])
def test_a_source_that_a_call_could_not_show_anyway_is_not_named(
    corpus: CorpusRows, ask: Ask, sensitivities: list[str] | None
) -> None:
    """Restricted is it by its revision, or by itself: the higher label counts."""
    corpus.add("bobs", "text", readers=["user:bob"])
    corpus.add("bobs-restricted", "text", readers=["user:bob"], sensitivity="restricted")
    corpus.label(corpus.add("bobs-labelled", "text", readers=["user:bob"]), "restricted")

    assert [event.source_id for event in heard(ask, "text", sensitivities=sensitivities)[1]] == ["bobs"]
    everything = ["public", "internal", "confidential", "restricted"]
    told = [event.source_id for event in heard(ask, "text", sensitivities=everything)[1]]
    assert told == ["bobs", "bobs-labelled", "bobs-restricted"]
