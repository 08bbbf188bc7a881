"""A source that alice may not read, for one reason or another, among others that she may: what a search of hers must not say.

It has words of its own in its id, title, text, address and metadata, and else the same words as what may be read, so that each
leg would put it first.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater import Authorization
from tests.integration.retrieval.corpus_rows import CorpusRows, Source
from tests.integration.retrieval.everything_said import ID, NOTE, PLACE, TEXT, TITLE

ALICE = Authorization(principal_id="alice", tenant_id="t1", group_ids=("staff",))
BOB = Authorization(principal_id="bob", tenant_id="t1")
QUERY = "apples pears plums"


def hidden(corpus: CorpusRows, readers: Sequence[str] = ("user:bob",), *, source_id: str = ID, **fields: Any) -> Source:
    return corpus.add(
        source_id,
        *(f"apples pears plums {TEXT}{number}" for number in range(3)),
        readers=readers,
        title=f"Apples {TITLE}",
        uri=f"https://files.test/{PLACE}",
        metadata={"note": NOTE, "kind": "fruit"},
        **fields,
    )


# Why alice may not read it: what is done to make it so.
def not_granted(corpus: CorpusRows, source_id: str = ID) -> None:
    hidden(corpus, source_id=source_id)


def revoked(corpus: CorpusRows, source_id: str = ID) -> None:
    corpus.grant(hidden(corpus, ("user:alice",), source_id=source_id), "user:bob")


def expired(corpus: CorpusRows, source_id: str = ID) -> None:
    corpus.grant_until(hidden(corpus, source_id=source_id), "user:alice", datetime.now(UTC) - timedelta(minutes=1))


def restricted(corpus: CorpusRows, source_id: str = ID) -> None:
    hidden(corpus, ("user:alice",), source_id=source_id, sensitivity="restricted")


def deleted(corpus: CorpusRows, source_id: str = ID) -> None:
    corpus.delete(hidden(corpus, ("user:alice",), source_id=source_id), gen=1)


def tombstoned(corpus: CorpusRows, source_id: str = ID) -> None:
    hidden(corpus, ("user:alice",), source_id=source_id)
    corpus.tombstone(source_id, "revoked")


def resting_on_what_is_tombstoned(corpus: CorpusRows, source_id: str = ID) -> None:
    hidden(corpus, ("user:alice",), source_id=source_id, parents=("gone",))
    corpus.tombstone("gone", "forgotten")


REASONS = [not_granted, revoked, expired, restricted, deleted, tombstoned, resting_on_what_is_tombstoned]
TELLING = {not_granted, revoked, expired}  # the audit names the source


def fill_open(corpus: CorpusRows) -> None:
    """Six sources for alice, and generation 1 of them to ask for."""
    for number in range(6):
        corpus.add(f"open-{number}", f"apples number {number}", metadata={"kind": "fruit"}, title=f"Open {number}")
    corpus.log(1)


def hide_all(corpus: CorpusRows) -> set[str]:
    """A source for each reason. Gives the ids of those that the audit names."""
    for reason in REASONS:
        reason(corpus, f"{ID}-{reason.__name__}")
    return {f"{ID}-{reason.__name__}" for reason in TELLING}
