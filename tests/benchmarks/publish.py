"""(h) Publishing under 1, 4 and 8 writers of one corpus, and a page of a hundred, next to the rows that it writes."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median
from time import perf_counter
from typing import Final

import numpy as np

from activities.store import Store
from activities.store.migrate import migrate
from activities.store.pages.publish import publish_page
from tests.benchmarks.bare_publish import BarePublisher
from tests.benchmarks.measuring import Figure, Reading, cpu_s
from tests.benchmarks.options import Options
from tests.benchmarks.site import SCHEMA, running_servers
from tests.integration.staging_factory import EVERYONE, Corpus, Document, make_corpus, publish, stage

SOURCES: Final = 1_000
CHUNKS: Final = 3  # of each
WRITERS: Final = (1, 4, 8)
SINGLES: Final = 96  # pages of one document, of one writer and of all writers of a round
ONE_MS, HUNDRED_MS = 3.0, 30.0
STARTING_S: Final = 1.5  # until all writers have a connection


async def measure(options: Options) -> Figure:
    async with running_servers() as servers:
        return await asyncio.to_thread(_measure, servers.services.database_url, max(options.pairs, 5))


@dataclass(frozen=True, slots=True)
class _Shift:
    """What one writer publishes, from a moment on that is the same for all."""

    url: str
    fence: int
    page_ids: Sequence[int]
    begins: float


def _measure(url: str, rounds: int) -> Figure:
    migrate(url, SCHEMA)
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.benchmarks.publish"])
    with Store.open(url, schema=SCHEMA) as store, ProcessPoolExecutor(max(WRITERS), mp_context=context) as processes:
        corpus, beside = _filled(store, "acme/bench/publish"), _filled(store, "acme/bench/bare")
        bare = BarePublisher(store, beside.build)
        one, bare_one, cpu = _alone(store, corpus, beside, bare, rounds=rounds, size=1)
        hundred, bare_hundred, _ = _alone(store, corpus, beside, bare, rounds=rounds, size=100)
        rates: dict[int, list[float]] = {writers: [] for writers in WRITERS}
        for _ in range(rounds):
            for writers in WRITERS:
                rates[writers].append(_together(store, corpus, url, processes, writers))
    readings = [
        Reading("one document, one writer, p50", one * 1e3, "ms", at_most=ONE_MS),
        Reading("  to the bare rows of it", one / bare_one, "times its time"),
        Reading("  the bare rows", bare_one * 1e3, "ms"),
        Reading("  CPU of the client", cpu[0] * 1e3, "ms"),
        Reading("  CPU of Postgres", cpu[1] * 1e3, "ms"),
        Reading("a page of 100 replaced documents, p50", hundred * 1e3, "ms", at_most=HUNDRED_MS),
        Reading("  to the bare rows of it", hundred / bare_hundred, "times its time"),
        Reading("  the bare rows", bare_hundred * 1e3, "ms"),
        Reading("documents a second, 1 writer", median(rates[1]), ""),
    ]
    for writers in WRITERS[1:]:
        ratio = median(many / single for many, single in zip(rates[writers], rates[1], strict=True))
        readings.append(Reading(f"  {writers} writers, to one", ratio, "times its rate", at_least=1.0))
    return Figure(f"(h) Publishing into a corpus of {SOURCES:,} sources, {rounds} rounds", readings)


def _filled(store: Store, scope: str) -> Corpus:
    corpus = make_corpus(store, scope)
    for first in range(0, SOURCES, 100):
        publish(store, corpus, *[_document(number, grants=True) for number in range(first, first + 100)])
    return corpus


def _document(number: int, *, grants: bool = False) -> Document:
    return Document(
        f"folder:bench/{number:05d}.md",
        [f"passage {chunk}" for chunk in range(CHUNKS)],
        vectors=np.ones((CHUNKS, 8), dtype=np.float32),
        grants=EVERYONE if grants else None,
    )


def _alone(
    store: Store, corpus: Corpus, beside: Corpus, bare: BarePublisher, *, rounds: int, size: int
) -> tuple[float, float, tuple[float, float]]:
    """Seconds of a page of `size` and of its bare rows, p50, in turn; and CPU seconds of the client and of Postgres."""
    pages = max(rounds, SINGLES // size)
    ours = list(_staged(store, corpus, pages, size))
    theirs = [bare.revisions(page_id) for page_id in _staged(store, beside, pages, size)]
    took: list[float] = []
    took_bare: list[float] = []
    spent = [0.0, 0.0]
    with store.connection() as connection:
        connection.execute("CHECKPOINT")
        backend = connection.info.backend_pid  # the pool hands out the one that was given back last
    for page_id, revisions in zip(ours, theirs, strict=True):
        server = cpu_s(backend)  # first: looking through /proc takes longer than publishing
        client, before = time.process_time(), perf_counter()
        publish_page(store, page_id, fence=corpus.fence)
        took.append(perf_counter() - before)
        spent = [spent[0] + time.process_time() - client, spent[1] + cpu_s(backend) - server]
        before = perf_counter()
        bare.publish(revisions)
        took_bare.append(perf_counter() - before)
    return median(took), median(took_bare), (spent[0] / pages, spent[1] / pages)


def _staged(store: Store, corpus: Corpus, pages: int, size: int) -> Iterator[int]:
    for number in range(pages):
        yield stage(store, corpus, *[_document((number * size + each) % SOURCES) for each in range(size)])


def _together(store: Store, corpus: Corpus, url: str, processes: ProcessPoolExecutor, writers: int) -> float:
    """Documents a second, by so many writers of the corpus at once."""
    page_ids = list(_staged(store, corpus, SINGLES, 1))
    with store.connection() as connection:
        connection.execute("CHECKPOINT")
    begins = time.time() + STARTING_S
    shifts = [_Shift(url, corpus.fence, page_ids[number::writers], begins) for number in range(writers)]
    ends = [future.result() for future in [processes.submit(_work, shift) for shift in shifts]]
    return len(page_ids) / (max(ends) - begins)


def _work(shift: _Shift) -> float:
    """When the writer's last page was published."""
    with Store.open(shift.url, schema=SCHEMA, max_size=1) as store:
        publish_page(store, shift.page_ids[0], fence=shift.fence)  # planned and connected: those are not counted
        while time.time() < shift.begins:
            pass
        for page_id in shift.page_ids[1:]:
            publish_page(store, page_id, fence=shift.fence)
    return time.time()
