"""How hosts bring rerankers. Type-checked and never run: what stands here keeps its types."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, assert_type

import httpx

from headwater import Embedder, Hit, Reranker, resolve_reranker
from headwater.rerankers.bounded import Bounded
from headwater.rerankers.openai_compatible import OpenAiCompatibleReranker
from headwater.rerankers.tei import TeiReranker
from headwater.rerankers.voyage import VoyageReranker
from headwater.testing import FakeReranker, check_reranker
from headwater.transport.http import PinnedTransport


class Mine:
    is_hosted: Literal[False] = False

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return sorted(hits, key=lambda hit: len(hit.text))


class Told:
    def __init__(self, is_hosted: bool) -> None:
        self.is_hosted = is_hosted

    def rerank(self, query: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return tuple(hits)


def resolves(embedder: Embedder, judge: Callable[[str], str], key: Path) -> None:
    assert_type(resolve_reranker("none"), Bounded | None)
    resolve_reranker(None)
    resolve_reranker("local", embedder=embedder)
    resolve_reranker("listwise", judge=judge)
    resolve_reranker(
        "tei:http://127.0.0.1:8080", allow_loopback=True, timeout_s=5, max_input_bytes=1_000, max_concurrent=1
    )
    resolve_reranker("voyage:https://rerank.example/v1#model", api_key=key.read_text, allow_private=True)


def brings(hits: Sequence[Hit], transport: httpx.BaseTransport, ours: PinnedTransport) -> None:
    rerankers: list[Reranker] = [
        Mine(),
        Told(is_hosted=True),
        FakeReranker(),
        TeiReranker("https://rerank.example", transport=transport),
        OpenAiCompatibleReranker("https://rerank.example", model="m", transport=ours),
        VoyageReranker("https://rerank.example", api_key="key"),
        Bounded(Mine()),
    ]
    for reranker in rerankers:
        assert_type(Bounded(reranker, timeout_s=1).rerank("query", hits), tuple[Hit, ...])
    check_reranker(Mine)
    check_reranker(Mine())
    check_reranker(lambda: Told(is_hosted=False))
