"""(d) A question to the library, next to the bare statement that finds its passages."""

from itertools import cycle, islice
from statistics import median
from time import perf_counter

from headwater import Authorization, Retriever
from headwater.embedders.onnx import OnnxEmbedder
from headwater.models import Scope
from headwater.store.question import Question
from headwater.store.routes import SHARED
from headwater.store.search import Space, as_halfvec, search_parameters, search_statement
from tests.benchmarks.documents import documents
from tests.benchmarks.measuring import Figure, Reading
from tests.benchmarks.options import Options
from tests.benchmarks.site import SCHEMA, Site, running_servers, scratch_folder
from tests.benchmarks.table_embedder import TABLE, TableEmbedder

TIMES_STATEMENT = 1.5
QUERIES = 200
EMBEDDED = 50

SCOPE = Scope(tenant_id="t1", resource_id="bench", corpus_id="d")
ANYBODY = Authorization(principal_id="anybody", tenant_id="t1")


async def measure(options: Options) -> Figure:
    with scratch_folder() as scratch:
        synced = documents(scratch)
        async with running_servers() as servers:
            with servers.site() as site:
                site.register(synced.folder, SCOPE, embedder=TABLE)
                await site.sync(SCOPE)
                queries = _queries(site)
                with Retriever.connect(site.database_url, embedder=TableEmbedder()) as retriever:
                    _round(retriever, queries)
                    rounds = [_round(retriever, queries) for _ in range(options.pairs)]
    return Figure(
        f"(d) Retrieval: {synced.said}, {len(queries)} queries, {options.pairs} pairs, p50",
        [
            Reading(
                "retrieve with a ready vector, to the bare statement",
                median(retrieve / bare for retrieve, bare in rounds),
                "times its time",
                at_most=TIMES_STATEMENT,
            ),
            Reading("  retrieve", median(retrieve for retrieve, _ in rounds) * 1e3, "ms"),
            Reading("  bare statement", median(bare for _, bare in rounds) * 1e3, "ms"),
            Reading("  the query's embedding adds", _embedding_s(queries) * 1e3, "ms"),
        ],
    )


def _queries(site: Site) -> list[str]:
    """Beginnings of passages: as long as questions are."""
    with site.store.connection() as connection:
        rows = connection.execute("SELECT DISTINCT left(body, 60) FROM headwater.chunk ORDER BY 1").fetchall()
    texts = [text for (text,) in rows if text.strip()]
    return list(islice(cycle(texts[:: max(1, len(texts) // QUERIES)]), QUERIES))


def _round(retriever: Retriever, queries: list[str]) -> tuple[float, float]:
    """Median seconds of both, query by query in turn and on the same connection."""
    embedder = TableEmbedder()
    space = Space(embedder.identity, embedder.dimensions)
    retrieves: list[float] = []
    statements: list[float] = []
    for query in queries:
        began = perf_counter()
        result = retriever.retrieve(query, scope=SCOPE, authorization=ANYBODY)
        retrieves.append(perf_counter() - began)
        assert result.hits
        question = Question.checked(query, scope=SCOPE, authorization=ANYBODY)
        sql = search_statement(SCHEMA, space, question, SCOPE, SHARED)
        vector = as_halfvec(embedder.embed([query])[0])
        parameters = search_parameters(question, SCOPE, space, vector)
        with retriever._pool.connection() as connection:
            began = perf_counter()
            rows = connection.execute(sql, parameters).fetchall()
            statements.append(perf_counter() - began)
        assert len(rows) == question.candidates
    return median(retrieves), median(statements)


def _embedding_s(queries: list[str]) -> float:
    model = OnnxEmbedder.from_spec("minilm")
    model.embed(queries[:1])
    took: list[float] = []
    for query in queries[:EMBEDDED]:
        began = perf_counter()
        model.embed([query])
        took.append(perf_counter() - began)
    return median(took)
