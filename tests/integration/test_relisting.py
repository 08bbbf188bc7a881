"""A pass over a feed lists everything where its connector holds what the feed may never name again, and only there."""

from typing import Final, LiteralString

import pytest

from activities.store import Store
from activities.store.connectors import ConnectorRow, ensure_connector
from activities.store.pages.relisting import must_list_all
from headwater.states import HEALTHY, SourceState
from tests.integration.seen import of_schema, table
from tests.integration.staging_factory import Corpus, Document, publish

PARSERS: Final = frozenset({"text/1", "pdf/2"})
STATES: Final[dict[str, tuple[LiteralString, bool]]] = {
    "read": ("UPDATE {schema}.ingestion SET reason = NULL", False),
    "listed and never read": ("UPDATE {schema}.ingestion SET state = 'pending'", True),
    "rolled back": ("UPDATE {schema}.ingestion SET source_version = NULL", True),
    "failed without a version": ("UPDATE {schema}.ingestion SET state = 'failed', source_version = NULL", False),
    "to be granted anew": ("UPDATE {schema}.membership SET access = ''", True),
    "denied": ("UPDATE {schema}.ingestion SET state = 'denied', source_version = NULL", False),
    "unavailable": ("UPDATE {schema}.ingestion SET freshness = 'unavailable', source_version = NULL", False),
    "denied, to be granted anew": (
        "WITH m AS (UPDATE {schema}.membership SET access = '') UPDATE {schema}.ingestion SET state = 'denied'",
        False,
    ),
    "forgotten": (
        """WITH m AS (UPDATE {schema}.membership SET access = ''), i AS (UPDATE {schema}.ingestion SET source_version = NULL)
           INSERT INTO {schema}.tombstone (scope_id, id, reason, gen) SELECT scope_id, source_id, 'forgotten', 9 FROM {schema}.source""",
        False,
    ),
    "corrected": (
        """WITH i AS (UPDATE {schema}.ingestion SET source_version = NULL)
           INSERT INTO {schema}.tombstone (scope_id, id, reason, gen) SELECT scope_id, source_id, 'corrected', 9 FROM {schema}.source""",
        True,
    ),
    "another connector's": (
        "WITH m AS (DELETE FROM {schema}.membership) UPDATE {schema}.ingestion SET source_version = NULL",
        False,
    ),
}


@pytest.fixture
def drive(store: Store, corpus: Corpus) -> ConnectorRow:
    """A connector whose origin says who may read, and which holds one document."""
    publish(store, corpus, Document("drive:a"))
    row = ensure_connector(store, corpus.build.scope_id, "drive", "drive", {}, new_rule=False)
    run(
        store,
        "UPDATE {schema}.membership SET connector_id = %(drive)s, access = 'a', rule_version = 0",
        drive=row.connector_id,
    )
    return row


def run(store: Store, statement: LiteralString, **parameters: object) -> None:
    with store.connection() as connection:
        connection.execute(of_schema(store, statement), parameters)


def asked(store: Store, drive: ConnectorRow, parsers: frozenset[str] = PARSERS, rule_version: int = 0) -> bool:
    return must_list_all(store, drive.connector_id, rule_version=rule_version, parsers=parsers)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("state", STATES)
def test_what_a_feed_may_never_name_again_is_found_the_first_time_and_later(
    store: Store, drive: ConnectorRow, state: str, is_known: bool
) -> None:
    statement, is_lost = STATES[state]
    if is_known:
        assert not asked(store, drive)
    run(store, statement)
    assert [asked(store, drive), asked(store, drive)] == [is_lost, is_lost]


@pytest.mark.parametrize("state", sorted(SourceState))
def test_of_what_has_no_version_only_a_healthy_text_was_lost(store: Store, drive: ConnectorRow, state: str) -> None:
    assert not asked(store, drive)
    run(store, "UPDATE {schema}.ingestion SET source_version = NULL, state = %(state)s", state=state)
    assert asked(store, drive) == (state in HEALTHY or state == "pending")


def test_each_document_is_looked_at_once_for_the_parsers_that_there_are(store: Store, drive: ConnectorRow) -> None:
    assert not asked(store, drive)
    run(
        store, "UPDATE {schema}.ingestion SET parser = 'text/0'"
    )  # seen by nobody who knows that all were read by these
    assert not asked(store, drive)
    newer = PARSERS | {"html/3"}
    assert asked(store, drive, newer) and asked(store, drive, newer)
    run(store, "UPDATE {schema}.ingestion SET parser = 'html/3'")
    assert not asked(store, drive, newer)
    assert asked(store, drive, PARSERS), "a worker of an older release"


def test_of_a_connector_with_a_rule_each_document_is_looked_at(store: Store, drive: ConnectorRow) -> None:
    run(store, "UPDATE {schema}.membership SET rule_version = 1")
    assert not asked(store, drive, rule_version=1)
    assert [row["read_with"] for row in table(store, "checkpoint")] == [None, None]
    assert asked(store, drive, rule_version=2)
