"""A reranker that somebody runs, asked as it is. Skipped unless ``HEADWATER_TEST_RERANK`` holds its spec.

``HEADWATER_TEST_RERANK=voyage:https://api.voyageai.com/v1#rerank-2.5 HEADWATER_TEST_RERANK_KEY=… pytest tests/integration/test_rerank_live.py``
"""

import os
from collections.abc import Mapping
from typing import Final

import pytest

from headwater.errors import HeadwaterError, RerankError
from headwater.rerankers import resolve_reranker
from headwater.rerankers.bounded import Bounded
from headwater.rerankers.openai_compatible import OpenAiCompatibleReranker
from headwater.rerankers.tei import TeiReranker
from headwater.rerankers.voyage import VoyageReranker
from headwater.rerankers.wire import WireReranker
from headwater.testing import check_reranker
from tests.unit.ranked_hits import ranked_hits

SPEC: Final = os.environ.get("HEADWATER_TEST_RERANK", "")
KEY: Final = os.environ.get("HEADWATER_TEST_RERANK_KEY") or None

ADAPTERS: Final[Mapping[str, type[WireReranker]]] = {
    "tei": TeiReranker,
    "openai-compatible": OpenAiCompatibleReranker,
    "voyage": VoyageReranker,
}

pytestmark = pytest.mark.skipif(not SPEC, reason="HEADWATER_TEST_RERANK holds no spec of a reranker")

QUERY: Final = "How do I renew a visa?"
TEXTS: Final = (
    "Bananas ripen faster in a paper bag.",
    "The committee meets on the first Monday of each month.",
    "To renew a visa, bring your passport and two photographs to the consulate.",
    "The passport office is closed on public holidays.",
)


def live(key: str | None = KEY) -> Bounded:
    reranker = resolve_reranker(SPEC, api_key=key, allow_loopback=True, allow_private=True, timeout_s=10)
    assert reranker is not None
    return reranker


def test_it_passes_the_suite() -> None:
    check_reranker(live)


def test_it_finds_the_passage_that_answers() -> None:
    hits = ranked_hits(*TEXTS)
    assert live().rerank(QUERY, hits)[0] is hits[2]


def test_its_scores_do_not_rise_along_its_order() -> None:
    kind, _, rest = SPEC.partition(":")
    if kind not in ADAPTERS:
        pytest.skip(f"{kind} gives an order, and no scores")  # by its protocol: nothing is missing
    url, _, model = rest.partition("#")
    reranker = ADAPTERS[kind](
        url, model=model or None, api_key=KEY, allow_loopback=True, allow_private=True, timeout_s=10
    )
    hits = ranked_hits(*TEXTS)
    scores = dict(zip((hit.chunk_id for hit in hits), reranker.scores(QUERY, [hit.text for hit in hits]), strict=True))
    ordered = [scores[hit.chunk_id] for hit in reranker.rerank(QUERY, hits)]
    assert ordered == sorted(ordered, reverse=True)


def test_a_wrong_key_is_not_repeated() -> None:
    if KEY is None:
        pytest.skip("HEADWATER_TEST_RERANK_KEY holds no key")
    wrong = f"{KEY[::-1]}wrong"
    with pytest.raises(HeadwaterError) as refused:
        live(wrong).rerank(QUERY, ranked_hits(*TEXTS))
    assert isinstance(refused.value, RerankError)
    assert wrong not in repr(refused.value) and KEY not in repr(refused.value)
