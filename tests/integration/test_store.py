"""The store's connections: what a host is told when Postgres is away, and that a restart costs no error."""

from dataclasses import replace

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from activities.store import DuplicateRow, Store, StoreUnavailable
from activities.store.connectors import connectors_of, ensure_connector
from activities.store.scopes import SpaceSpec, build_of, ensure_scope, live_build, live_build_of
from headwater.errors import PermanentError, StoreError, TransientError, ValidationError
from headwater.models import Scope
from tests.integration.seen import table
from tests.integration.staging_factory import Corpus, make_corpus


def test_a_server_that_is_away_is_a_transient_error_that_says_so() -> None:
    with pytest.raises(StoreUnavailable, match=r"not reachable.*HEADWATER_DATABASE_URL") as caught:
        Store.open("postgresql://someone:secret@127.0.0.1:1/nowhere")
    assert isinstance(caught.value, TransientError) and "secret" not in str(caught.value)


def test_an_address_that_is_none_is_refused_without_repeating_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Store.open("postgres//someone secret")
    assert "secret" not in str(caught.value)


def test_a_database_without_pgvector_is_to_be_migrated(postgres: str) -> None:
    with pytest.raises(StoreError, match="headwater migrate"):
        Store.open(make_conninfo(postgres, dbname="template1"))


def test_a_database_without_the_schema_is_to_be_migrated(database: str) -> None:
    with Store.open(database, schema="another") as store, pytest.raises(StoreError, match="headwater migrate"):
        live_build(store, Scope.parse("a/b/c"))


def test_connections_that_died_are_replaced(store: Store, database: str, corpus: Corpus) -> None:
    with psycopg.connect(database, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"  # waits for their end
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert live_build(store, corpus.scope) == corpus.build


def test_an_error_names_the_rule_and_never_the_values(store: Store, corpus: Corpus) -> None:
    insert = "INSERT INTO headwater.scope (tenant_id, resource_id, corpus_id, live_gen) VALUES (%s, %s, %s, %s)"
    with pytest.raises(DuplicateRow, match="scope_tenant_id") as duplicate, store.connection() as connection:
        connection.execute(insert, ("acme", "library", "handbook", 0))
    with pytest.raises(StoreError, match="InvalidTextRepresentation") as refused, store.connection() as connection:
        connection.execute(insert, ("acme", "library", "other", "secret"))
    assert "handbook" not in str(duplicate.value) and "secret" not in str(refused.value)


def test_a_text_of_any_language_comes_back_whatever_the_environment_says(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with Store.open(database) as store, store.connection() as connection:
        assert connection.execute("SELECT %s::text", ("名前 €",)).fetchone() == ("名前 €",)


def test_a_scope_keeps_the_space_it_was_made_with(store: Store) -> None:
    first = make_corpus(store, dimensions=8)
    assert make_corpus(store, dimensions=16).build == first.build
    assert make_corpus(store, "other/r/c", dimensions=16).build.dimensions == 16
    assert live_build(store, Scope.parse("no/such/corpus")) is None
    assert live_build_of(store, first.build.scope_id) == build_of(store, first.build.build_id) == first.build
    with pytest.raises(PermanentError):
        build_of(store, 999)


def test_two_corpora_of_one_space_share_its_row(store: Store) -> None:
    assert make_corpus(store, "a/r/c").build.space_id == make_corpus(store, "b/r/c").build.space_id
    assert len(table(store, "space")) == 1


def test_a_connector_keeps_its_kind_and_counts_its_rules(store: Store, corpus: Corpus) -> None:
    scope_id = corpus.build.scope_id
    first = ensure_connector(store, scope_id, "b", "folder", {"root": "/a"}, new_rule=False)
    assert (first.rule_version, first.config) == (0, {"root": "/a"})
    ruled = {"root": "/b", "access": {"rules": ["everyone"]}}
    again = ensure_connector(store, scope_id, "b", "folder", ruled, new_rule=True)
    assert (again.connector_id, again.rule_version, again.config) == (first.connector_id, 1, ruled)
    assert ensure_connector(store, scope_id, "b", "folder", ruled, new_rule=False) == again
    with pytest.raises(ValidationError, match="is no drive"):
        ensure_connector(store, scope_id, "b", "drive", {}, new_rule=False)
    assert [row.name for row in connectors_of(store, corpus.scope)] == ["b", "folder-a"]


def test_a_rule_that_is_given_again_is_no_new_one(store: Store, corpus: Corpus) -> None:
    def given(*names: str, root: str = "/a") -> int:
        config = {"root": root, "access": {"rules": [{"grant": list(names)}], "default": None}}
        return ensure_connector(store, corpus.build.scope_id, "b", "folder", config, new_rule=True).rule_version

    assert [given("everyone"), given("everyone"), given("everyone", root="/b")] == [1, 1, 1]
    assert [given("alice"), given("alice"), given("everyone")] == [2, 2, 3]


def test_a_model_that_moved_is_found_where_it_was_given_last(store: Store) -> None:
    moved = SpaceSpec("onnx:/old", "onnx/1 model=a", 8, 256, "chars/1 size=1000")
    first = ensure_scope(store, Scope.parse("a/r/c"), moved)
    other = ensure_scope(store, Scope.parse("b/r/c"), replace(moved, chunker="chars/1 size=500"))
    another_model = replace(moved, embedder_spec="onnx:/new", embedder_identity="onnx/1 model=b")

    assert ensure_scope(store, Scope.parse("a/r/c"), another_model) == first
    again = ensure_scope(store, Scope.parse("a/r/c"), replace(moved, embedder_spec="onnx:/new"))
    assert again == replace(first, embedder_spec="onnx:/new")
    assert build_of(store, other.build_id).embedder_spec == "onnx:/new"
    newest = ensure_scope(store, Scope.parse("c/r/c"), replace(moved, embedder_spec="onnx:/newest"))
    assert (newest.space_id, newest.embedder_spec) == (first.space_id, "onnx:/newest")
    assert {row["embedder_spec"] for row in table(store, "space")} == {"onnx:/newest"}


def test_a_server_that_became_a_standby_is_waited_for(store: Store) -> None:
    refused = pytest.raises(StoreUnavailable, match="ReadOnlySqlTransaction")
    with refused, store.connection() as connection, connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        connection.execute("INSERT INTO headwater.scope (tenant_id, resource_id, corpus_id) VALUES ('t', 'r', 'c')")
