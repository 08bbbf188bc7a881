"""Corpora that lie in a partition of their own, and move there, and back, while somebody asks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from threading import Barrier

import psycopg
import pytest

from activities.store.migrate import migrate
from headwater import Authorization, RetrievalResult, Retriever, Scope
from headwater.embedders.hashing import HashEmbedder
from tests.integration.retrieval.conftest import ALICE, Ask
from tests.integration.retrieval.corpus_rows import CorpusRows


def move(corpus: CorpusRows, text: str, *, is_large: bool) -> None:
    """The corpus is copied into another build, which is shown from now on."""
    corpus.begin_build(is_large=is_large)
    corpus.add("one", text)
    corpus.show_build()


def texts(result: RetrievalResult) -> list[str]:
    return [hit.text for hit in result.hits]


def test_a_corpus_in_a_partition_of_its_own_is_found(corpus: CorpusRows, ask: Ask) -> None:
    move(corpus, "the text", is_large=True)

    assert [texts(ask("text", exact=exact)) for exact in (False, True)] == [["the text"]] * 2


def test_a_corpus_is_found_wherever_it_moves(corpus: CorpusRows, ask: Ask) -> None:
    for number, is_large in enumerate([False, True, True, False, True]):
        move(corpus, f"text {number}", is_large=is_large)
        corpus.make_graph() if is_large else None

        assert [texts(ask("text")) for _ in range(2)] == [[f"text {number}"]] * 2


def test_a_partition_that_is_gone_is_no_error(corpus: CorpusRows, ask: Ask) -> None:
    move(corpus, "old text", is_large=True)
    gone = corpus.slab
    assert texts(ask("text")) == ["old text"]
    move(corpus, "new text", is_large=True)
    corpus.execute("UPDATE {}.build SET state = 'dropping' WHERE slab = %s", gone)
    corpus.connection.execute(corpus.written(f"DROP TABLE {{}}.chunk_s{gone}").encode(), {}, prepare=False)

    assert texts(ask("text")) == ["new text"]


def test_readers_lose_nothing_while_a_corpus_moves_to_and_fro(
    corpus: CorpusRows, reading: str, scope: Scope, embedder: HashEmbedder
) -> None:
    builds = []
    for number, is_large in enumerate([False, True, True]):
        move(corpus, f"text {number}", is_large=is_large)
        builds.append(corpus.build_id)
    together = Barrier(4, timeout=30)

    def read(retriever: Retriever) -> list[str]:
        seen = []
        for _ in range(40):
            together.wait()
            seen += texts(retriever.retrieve("text", scope=scope, authorization=ALICE)) or ["nothing"]
        return seen

    with Retriever.connect(reading, embedder=embedder) as retriever, ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(read, retriever) for _ in range(3)]
        for build_id in islice(cycle(builds), 40):
            together.wait()
            corpus.show_build(build_id)
        seen = {text for reader in readers for text in reader.result(30)}

    assert seen <= {"text 0", "text 1", "text 2"} and len(seen) > 1


@pytest.fixture
def named(postgres: str) -> Iterator[str]:
    """A database whose schema has a name that must be quoted everywhere."""
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute("CREATE DATABASE odd_names")
        dsn = postgres.rpartition("/")[0] + "/odd_names"
        try:
            migrate(dsn, SCHEMA)
            yield dsn
        finally:
            admin.execute("DROP DATABASE odd_names WITH (FORCE)")


SCHEMA = 'We%ird "{slab}"'


def test_a_schema_of_any_name_has_partitions_and_a_past(named: str, scope: Scope, embedder: HashEmbedder) -> None:
    with psycopg.connect(named, autocommit=True) as connection:
        corpus = CorpusRows(connection, scope, embedder, schema=SCHEMA)
        corpus.log(1)
        corpus.add("one", "text 1")
        move(corpus, "text 2", is_large=True)
        corpus.make_graph()
        corpus.log(2, "flip")

        with Retriever.connect(named, embedder=embedder, schema=SCHEMA) as retriever:
            shown = [
                texts(retriever.retrieve("text", scope=scope, authorization=ALICE, generation=generation, exact=exact))
                for generation in (None, 1, 2)
                for exact in (False, True)
            ]
    assert shown == [["text 2"]] * 2 + [["text 1"]] * 2 + [["text 2"]] * 2


def test_a_stranger_to_a_large_corpus_finds_nothing_and_hears_nothing(corpus: CorpusRows, ask: Ask) -> None:
    move(corpus, "text", is_large=True)
    stranger = Authorization(principal_id="a stranger", tenant_id="t1")

    result = ask("text", authorization=stranger)

    assert (result.hits, result.text, result.generation) == ((), "", 1)
