"""What a retriever does when the server is away, comes back, or is not what it should be."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from activities.store.migrate import migrate
from headwater import AsyncRetriever, LimitError, Retriever, Scope, StoreError, ValidationError
from headwater.embedders.hashing import HashEmbedder
from headwater.store import db
from tests.integration.retrieval.conftest import ALICE, Ask, Asker
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.wire import Wire


def test_connections_that_died_while_idle_are_no_error(corpus: CorpusRows, asker: Asker, wire: Wire) -> None:
    corpus.add("one", "text")
    assert asker.ask("text").hits

    wire.cut()

    assert asker.ask("text").hits


def test_a_server_that_is_gone_is_one_sentence_and_found_again_when_it_is_back(
    corpus: CorpusRows, asker: Asker, wire: Wire
) -> None:
    corpus.add("one", "text")
    assert asker.ask("text").hits

    wire.refuse()
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(StoreError, match=r"^Postgres gave no answer \(.+ refused\b.*\): see") as caught:
            asker.ask("text")
        assert time.monotonic() - began < 5  # a glance at the pool, not the whole wait
        assert "test" not in str(caught.value).replace("latest", "")  # the password of the tests' server
    wire.accept()

    assert asker.ask("text").hits


def test_many_who_ask_at_once_are_all_told_why_the_server_is_gone(
    wire: Wire, scope: Scope, embedder: HashEmbedder
) -> None:
    with Retriever.connect(wire.dsn, embedder=embedder) as retriever, ThreadPoolExecutor(40) as threads:
        wire.refuse()
        began = time.monotonic()
        asked = [threads.submit(retriever.retrieve, "text", scope=scope, authorization=ALICE) for _ in range(40)]
        told = {str(each.exception()) for each in asked}
        assert time.monotonic() - began < 5
        wire.accept()
    assert len(told) == 1 and "refused" in told.pop()


def test_a_retriever_serves_more_threads_than_it_has_connections(
    corpus: CorpusRows, reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    for number in range(8):
        corpus.add(f"s{number}", f"number{number}")

    with Retriever.connect(reading, embedder=embedder) as retriever, ThreadPoolExecutor(16) as threads:

        def ask(number: int) -> str:
            return retriever.retrieve(f"number{number % 8}", scope=scope, authorization=ALICE).hits[0].source_id

        assert list(threads.map(ask, range(64))) == [f"s{number % 8}" for number in range(64)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"password": "wrong-secret"}, "password authentication failed"),
        ({"dbname": "nowhere"}, 'database "nowhere" does not exist'),
        ({"host": "127.0.0.1", "port": 1}, "refused"),
    ],
)
def test_a_server_that_refuses_is_quoted_without_the_password(
    ask: Ask, reading: str, change: dict[str, str | int], says: str
) -> None:
    with pytest.raises(StoreError, match=says) as caught:
        ask("text", dsn=make_conninfo(reading, **change))
    assert "wrong-secret" not in str(caught.value)


@pytest.mark.parametrize("password", ["hun@ter2", "hun/ter2", "5432/ter2", "hun?ter2", "hun@ter..2", "%zzter2"])
def test_a_password_that_ends_early_is_not_quoted(ask: Ask, password: str) -> None:
    with pytest.raises(StoreError) as caught:
        ask("text", dsn=f"postgresql://u:{password}@127.0.0.1:1/db")
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


async def test_what_a_pool_would_say_of_a_password_is_never_logged(
    scope: Scope, embedder: HashEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    for dsn in ("postgresql://u:hun@ter2@127.0.0.1:1/db", "postgres and ter2"):
        retriever = AsyncRetriever.connect(dsn, embedder=embedder)
        with pytest.raises(StoreError):
            await retriever.retrieve("text", scope=scope, authorization=ALICE)
        await retriever.close()
    assert "ter2" not in caplog.text


def test_a_dsn_that_is_none_is_not_repeated(ask: Ask) -> None:
    with pytest.raises(StoreError, match=r"^dsn is not one") as caught:
        ask("text", dsn="postgres and secret")
    assert "secret" not in str(caught.value)


def test_a_statement_that_ran_out_of_time_is_one_sentence(
    corpus: CorpusRows, ask: Ask, reading: str, embedder: HashEmbedder
) -> None:
    corpus.add("one", "text")
    hurried = make_conninfo(reading, options="-c statement_timeout=300ms")
    with psycopg.connect(reading) as lock:
        lock.execute("LOCK TABLE headwater.span")
        with pytest.raises(StoreError, match=r"^Postgres stopped the question \(QueryCanceled, 57014\)") as caught:
            ask("text", dsn=hurried)

    assert caught.value.__cause__ is None and caught.value.__suppress_context__  # a logger would print Postgres's words
    assert ask("text", dsn=hurried).hits


def test_a_session_has_an_end_for_everything_and_the_connection_string_may_say_another(reading: str) -> None:
    show = "SELECT current_setting('statement_timeout'), current_setting('application_name')"
    patient = make_conninfo(
        reading, options="-c statement_timeout=2min", application_name="mine", keepalives_idle=7, tcp_user_timeout=5_000
    )
    told = []
    for dsn in (reading, patient):
        with db.connect(dsn) as connection:
            told.append((connection.execute(show).fetchone(), connection.info.get_parameters()))
    (usual, probed), (own, probed_otherwise) = told

    assert (usual, own) == (("30s", "headwater-retriever"), ("2min", "mine"))
    assert (probed["keepalives_idle"], probed["keepalives_interval"], probed["tcp_user_timeout"]) == (
        "30",
        "10",
        "60000",
    )
    assert (probed_otherwise["keepalives_idle"], probed_otherwise["tcp_user_timeout"]) == ("7", "5000")


def test_a_database_that_was_not_migrated_says_what_to_run(ask: Ask, postgres: str) -> None:
    with pytest.raises(StoreError, match="headwater migrate"):
        ask("text", dsn=postgres)


@pytest.mark.parametrize("schema", ["", "x" * 57, "a\0b", "pg_mine"])
def test_a_schema_that_cannot_be_is_refused(schema: str, embedder: HashEmbedder) -> None:
    for connect in (Retriever.connect, AsyncRetriever.connect):
        with pytest.raises(ValidationError, match=r"^schema"):
            connect("", embedder=embedder, schema=schema)


def test_something_that_embeds_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"^embedder"):
        Retriever.connect("", embedder=object())  # type: ignore[arg-type]  # that it is none is the point


def test_a_closed_retriever_says_so(reading: str, scope: Scope, embedder: HashEmbedder) -> None:
    retriever = Retriever.connect(reading, embedder=embedder)
    retriever.close()

    with pytest.raises(StoreError, match="closed"):
        retriever.retrieve("text", scope=scope, authorization=ALICE)


def test_a_retriever_that_was_not_connected_opens_with_the_first_question_and_closes_for_good(
    reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    retriever = Retriever(reading, embedder=embedder)
    with ThreadPoolExecutor(8) as asking:
        asked = [asking.submit(retriever.retrieve, "text", scope=scope, authorization=ALICE) for _ in range(8)]
        assert [each.result().hits for each in asked] == [()] * 8
    retriever.close()
    with pytest.raises(StoreError, match="closed"):
        retriever.retrieve("text", scope=scope, authorization=ALICE)


def test_a_retriever_that_was_never_used_can_be_closed(reading: str, scope: Scope, embedder: HashEmbedder) -> None:
    retriever = Retriever(reading, embedder=embedder)
    retriever.close()
    with pytest.raises(StoreError, match="closed"):
        retriever.retrieve("text", scope=scope, authorization=ALICE)


async def test_a_retriever_connects_where_it_is_connected_awaited_or_entered(
    reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    nothing = "There is nothing where this one would be."
    with pytest.raises(StoreError, match="headwater migrate"):
        Retriever.connect(reading, embedder=embedder, schema=nothing)
    with pytest.raises(StoreError, match="headwater migrate"), Retriever(reading, embedder=embedder, schema=nothing):
        pass
    with pytest.raises(StoreError, match="headwater migrate"):
        await AsyncRetriever.connect(reading, embedder=embedder, schema=nothing)

    retriever = await AsyncRetriever.connect(reading, embedder=embedder)
    async with retriever:
        assert (await retriever.retrieve("text", scope=scope, authorization=ALICE)).hits == ()


async def test_what_is_wrong_with_a_question_is_told_where_its_answer_is_awaited(
    reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    async with AsyncRetriever.connect(reading, embedder=embedder) as retriever:
        asked = retriever.retrieve("text", scope=scope, authorization=ALICE, top_k=0)
        with pytest.raises(LimitError, match="top_k"):
            await asked


async def test_an_async_retriever_opens_with_the_first_question_and_closes_for_good(
    reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    retriever = AsyncRetriever.connect(reading, embedder=embedder)
    await asyncio.gather(*(retriever.retrieve("text", scope=scope, authorization=ALICE) for _ in range(8)))
    await retriever.close()
    with pytest.raises(StoreError, match="closed"):
        await retriever.retrieve("text", scope=scope, authorization=ALICE)


async def test_an_async_retriever_that_was_never_used_can_be_closed(
    reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    retriever = AsyncRetriever.connect(reading, embedder=embedder)
    await retriever.close()
    with pytest.raises(StoreError, match="closed"):
        await retriever.retrieve("text", scope=scope, authorization=ALICE)


@pytest.mark.parametrize("schema", ['Head "water" {schema}', "100%s", "übersicht"])
def test_a_schema_may_have_any_name(database: str, scope: Scope, embedder: HashEmbedder, ask: Ask, schema: str) -> None:
    migrate(database, schema)
    with psycopg.connect(database, autocommit=True) as connection:
        CorpusRows(connection, scope, embedder, schema=schema).add("one", "text")

    assert ask("text", dsn=database, schema=schema).hits


# --- the reader role


@pytest.fixture
def reader(database: str) -> Iterator[str]:
    """A login that was granted `headwater_reader` and nothing else."""
    name = "reading_host"
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'r' IN ROLE headwater_reader").format(sql.Identifier(name))
        )
        yield make_conninfo(database, user=name, password="r")
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_the_reader_role_is_enough_and_writes_nothing(
    database: str, reader: str, scope: Scope, embedder: HashEmbedder, ask: Ask
) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        corpus = CorpusRows(admin, scope, embedder)
        corpus.log(1)
        corpus.add("one", "text")
        assert ask("text", dsn=reader, on_access_denied=lambda event: None).hits
        corpus.begin_build(is_large=True)
        corpus.add("one", "text")
        corpus.make_graph()
        corpus.show_build()

    assert ask("text", dsn=reader, on_access_denied=lambda event: None).hits
    assert ask("text", dsn=reader, generation=1).hits
    with pytest.raises(ValidationError, match="choose one from 1 to 1"):
        ask("text", dsn=reader, generation=2)
    with psycopg.connect(reader, autocommit=True) as connection:
        rights = connection.execute(
            "SELECT c.relname, bool_or(has_table_privilege(c.oid, privilege))"
            " FROM pg_class c, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) privilege"
            " WHERE c.relnamespace = 'headwater'::regnamespace AND c.relkind IN ('r', 'p') GROUP BY c.relname"
        ).fetchall()
        assert len(rights) > 10 and not any(may_write for _, may_write in rights)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM headwater.tombstone")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE headwater.mine ()")


def test_a_login_without_the_role_is_told_which_one_it_needs(database: str, ask: Ask) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("CREATE ROLE stranger LOGIN PASSWORD 's'")
        try:
            with pytest.raises(StoreError, match="grant it the role 'headwater_reader'"):
                ask("text", dsn=make_conninfo(database, user="stranger", password="s"))
        finally:
            admin.execute("DROP ROLE stranger")


def test_the_library_s_own_session_is_read_only(database: str, embedder: HashEmbedder) -> None:
    with Retriever.connect(database, embedder=embedder) as retriever, retriever._pool.connection() as connection:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("DELETE FROM headwater.tombstone")
        settings = connection.execute("SELECT current_setting('plan_cache_mode'), current_setting('jit')").fetchone()

    assert settings == ("force_generic_plan", "off")


def test_a_graph_is_walked_as_the_library_wants_whatever_the_database_says(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        for change in (
            "hnsw.ef_search = 7",
            "hnsw.iterative_scan = off",
            "hnsw.max_scan_tuples = 8",
            "enable_sort = on",
        ):
            name = sql.Identifier(admin.info.dbname).as_string(admin)
            admin.execute(f"ALTER DATABASE {name} SET {change}".encode())

    with db.connect(database) as connection:
        rows = connection.execute("SELECT name, setting FROM pg_settings WHERE name ~ '^hnsw|^enable_sort'").fetchall()

    assert dict(rows) == {
        "hnsw.ef_search": "200",
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.max_scan_tuples": "40000",
        "hnsw.scan_mem_multiplier": "8",
        "enable_sort": "off",
    }


@pytest.mark.parametrize("row", [None, (False,), (None,)])
def test_a_pgvector_that_took_a_setting_without_knowing_it_is_refused(row: tuple[bool | None] | None) -> None:
    with pytest.raises(StoreError, match=r"install 0\.8\.4 or later"):
        db._check_settings(row)
