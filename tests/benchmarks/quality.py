"""`make bench-quality`, or `python -m tests.benchmarks.quality`: how well three collections are answered, beside the goals.

Each collection becomes a corpus of a real store, and is asked through the library alone. Ends with 1 below a goal.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headwater import Retriever
from headwater.evaluation import evaluate_retrieval
from headwater.rerankers.local import LocalReranker
from tests.benchmarks.judged import Collection
from tests.benchmarks.kept_vectors import KeptEmbedder
from tests.benchmarks.quality_corpus import push
from tests.benchmarks.quality_runs import RUNS, Run, rankings
from tests.benchmarks.site import Site, running_servers

DATA: Final = Path(os.environ.get("HEADWATER_TEST_DATA", Path(__file__).parents[3] / "shared" / "data")) / "retrieval"
AT: Final = 10
RECALL_AT: Final = 100
TOKENS_BYTES: Final = 512 * 1024 * 1024  # of passages: each collection is read once, for all queries

# nDCG@10, of the best run of a kind: which fusion it takes is ours to choose.
GOALS: Final[Mapping[str, Mapping[str, float]]] = {
    "cranfield": {"bm25, weighted": 0.55, "weighted, local": 0.56},
    "xquad_en": {"dense": 0.94, "bm25, weighted": 0.97, "weighted, local": 0.98},
    "cmrc2018": {"bm25 alone": 0.98},
}
# The model knows no Chinese.
LEXICAL_ONLY: Final = ("fts alone", "bm25 alone")


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table."""

    collection: str
    run: str
    ndcg: float
    recall: float
    took_s: float

    @property
    def goal(self) -> float | None:
        return GOALS.get(self.collection, {}).get(self.run)

    @property
    def is_met(self) -> bool:
        return self.goal is None or self.ndcg >= self.goal

    def __str__(self) -> str:
        line = f"    {self.run:<16} {self.ndcg:>8.3f} {self.recall:>11.3f} {self.took_s * 1e3:>9.0f} ms"
        return line if self.goal is None else f"{line}   goal ≥ {self.goal:g}: {'met' if self.is_met else 'MISSED'}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.quality", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="collections of your own in that form")
    parser.add_argument("--run", action="append", choices=[*RUNS], help="only this run; may be repeated")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="ask only every Nth query (%(default)s)")
    asked = parser.parse_args()
    folders: Sequence[Path] = asked.folders or [DATA / name for name in GOALS]
    missing = [folder for folder in folders if not (folder / "qrels.jsonl").is_file()]
    if missing:
        print(f"{missing[0]} holds no collection: set HEADWATER_TEST_DATA to where the test data are.", file=sys.stderr)
        return 2
    collections = [Collection.read(folder) for folder in folders]
    measured = asyncio.run(measure(collections, asked.run, every=asked.every))
    missed = [f"{each.collection} {each.run}" for each in measured if not each.is_met]
    print(f"Goals missed: {'; '.join(missed) or 'none'}.")
    return 1 if missed else 0


async def measure(collections: Sequence[Collection], chosen: Sequence[str] | None, *, every: int) -> list[Measured]:
    """Every run over every collection, printed as it ends."""
    measured: list[Measured] = []
    embedder = KeptEmbedder()
    async with running_servers() as servers:
        with servers.site() as site:
            for collection in collections:
                measured += await _measure(site, collection.thinned(every), embedder, _runs(collection, chosen))
    return measured


def _runs(collection: Collection, chosen: Sequence[str] | None) -> list[Run]:
    if chosen:
        return [RUNS[name] for name in chosen]
    return [run for name, run in RUNS.items() if collection.language == "en" or name in LEXICAL_ONLY]


async def _measure(site: Site, collection: Collection, embedder: KeptEmbedder, runs: Sequence[Run]) -> list[Measured]:
    corpus = await push(site, collection, embedder)
    print(
        f"{collection.name}: {len(collection.documents):,} documents, {corpus.chunks:,} passages, "
        f"{len(collection.judgements):,} queries\n    {'run':<16} {f'nDCG@{AT}':>8} {f'recall@{RECALL_AT}':>11} {'a query':>12}",
        flush=True,
    )

    local = LocalReranker(embedder.model, cache_bytes=TOKENS_BYTES)
    measured = []
    with Retriever.connect(site.database_url, embedder=embedder) as retriever:
        for run in runs:
            began = time.perf_counter()
            found = await asyncio.to_thread(rankings, run, retriever, corpus, collection, local)
            took_s = (time.perf_counter() - began) / len(found)
            shallow = evaluate_retrieval(found, collection.judgements, k=AT)
            deep = evaluate_retrieval(found, collection.judgements, k=RECALL_AT)
            measured.append(Measured(collection.name, run.name, shallow.mean.ndcg, deep.mean.recall, took_s))
            print(measured[-1], flush=True)
    return measured


if __name__ == "__main__":
    sys.exit(main())
