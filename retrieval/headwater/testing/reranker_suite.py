"""What every reranker must do, as a test that a host can run on its own.

```python
check_reranker(lambda: MyReranker("http://127.0.0.1:8080"))
```
"""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final

from headwater.errors import HeadwaterError
from headwater.models import Hit, Provenance, Scores
from headwater.rerankers import Reranker

_QUERY: Final = "How do I renew a visa?"
_TEXTS: Final = (
    "The committee approves requests within ten working days.",
    "To renew a visa, bring the passport and two photographs.",
    "年假为每年十五个工作日。",
    "Emoji 🙂, accents é è ü, and a ligature ﬁ",
    "!",
    "Quotes \"'` and a backslash \\, a tab\t, a line\nand a control \x01 character",
    "word " * 200,
)
_COUNTS: Final = (1, 2, 3, len(_TEXTS))
_CORPORA: Final = ("one", "other")


def check_reranker(make_reranker: Callable[[], Reranker] | Reranker) -> None:
    """Raises an `AssertionError` with one sentence for the first rule that the reranker breaks.

    ``make_reranker`` gives a new one each time it is called; a reranker itself will do where there is only one.
    """
    make = _maker(make_reranker)
    reranker = make()
    _require(isinstance(reranker, Reranker), "A reranker has is_hosted and rerank.")
    _require(
        reranker.is_hosted is True or reranker.is_hosted is False,
        "is_hosted is True or False: whether text leaves the process.",
    )
    _require(len(_order(make(), ())) == 0, "No passages give no passages.")
    for count in _COUNTS:
        _check_permutation(reranker, _hits(_TEXTS[:count]))
    _check_corpora(reranker)
    _check_repetition(make)
    _check_threads(make)
    _check_queries(reranker)


def _check_permutation(reranker: Reranker, hits: Sequence[Hit]) -> None:
    given, before = list(hits), copy.deepcopy(list(hits))
    found = _order(reranker, given)
    _require(len(found) == len(hits), f"{len(hits)} passages must come back as {len(hits)}, not {len(found)}.")
    _require(
        {id(hit) for hit in found} == {id(hit) for hit in hits},
        "Each passage must come back once, as the same object.",
    )
    _require(
        [id(hit) for hit in given] == [id(hit) for hit in hits] and before == given,
        "The passages and the list that holds them must be left as they were.",
    )


def _check_corpora(reranker: Reranker) -> None:
    both = [hit for corpus in _CORPORA for hit in _hits(_TEXTS[:2], corpus=corpus)]
    found = _order(reranker, both)
    _require(
        {id(hit) for hit in found} == {id(hit) for hit in both} and len(found) == len(both),
        "The same chunk id in two corpora is two passages.",
    )


def _check_repetition(make: Callable[[], Reranker]) -> None:
    hits = _hits(_TEXTS)
    reranker = make()
    found = _places(reranker, hits)
    _require(_places(reranker, hits) == found, "The same passages must come in the same order again.")
    _require(_places(make(), hits) == found, "Another reranker made the same way must give the same order.")
    _require(_places(make(), _hits(_TEXTS)) == found, "Passages that say the same must come in the same order.")


def _check_threads(make: Callable[[], Reranker]) -> None:
    reranker, hits = make(), _hits(_TEXTS)
    expected = _places(reranker, hits)
    with ThreadPoolExecutor(2) as threads:
        for found in threads.map(lambda _: _places(reranker, hits), range(4)):
            _require(found == expected, "Two threads that share a reranker must get the same order.")


def _check_queries(reranker: Reranker) -> None:
    for query in ("!", "签证", _QUERY * 20):
        found = _order(reranker, hits := _hits(_TEXTS), query)
        _require({id(hit) for hit in found} == {id(hit) for hit in hits}, f"{query[:8]!r} must be a query like others.")


def _order(reranker: Reranker, hits: Sequence[Hit], query: str = _QUERY) -> list[Hit]:
    try:
        return list(reranker.rerank(query, hits))
    except HeadwaterError as error:
        raise AssertionError(f"These passages must be read, not refused: {error}") from error


def _places(reranker: Reranker, hits: Sequence[Hit]) -> list[int]:
    places = {id(hit): place for place, hit in enumerate(hits)}
    return [places[id(hit)] for hit in _order(reranker, hits)]


def _hits(texts: Sequence[str], corpus: str = "one") -> list[Hit]:
    return [_hit(number, text, corpus) for number, text in enumerate(texts, start=1)]


def _hit(number: int, text: str, corpus: str) -> Hit:
    source, chunk = f"source-{number}", f"source-{number}#0001"
    provenance = Provenance(
        source_id=source,
        chunk_id=chunk,
        citation_id=chunk,
        provider="host",
        tenant_id="tenant",
        resource_id="resource",
        corpus_id=corpus,
        retrieved_at=datetime(2031, 6, 30, tzinfo=UTC),
        revision=1,
    )
    score = 1 - number / 100
    return Hit(
        chunk_id=chunk,
        source_id=source,
        text=text,
        score=score,
        scores=Scores(vector=score, fused=score, vector_rank=number),
        title=None if number % 2 else f"Title {number}",
        metadata={"path": f"{number}.md"},
        provenance=provenance,
        retrieval_rank=number,
    )


def _maker(make_reranker: Callable[[], Reranker] | Reranker) -> Callable[[], Reranker]:
    if isinstance(make_reranker, type) or not callable(getattr(make_reranker, "rerank", None)):
        _require(callable(make_reranker), "check_reranker is given what makes a reranker, or one.")
        return make_reranker  # type: ignore[return-value]  # it was just asked
    return lambda: make_reranker  # type: ignore[return-value]


def _require(holds: bool, rule: str) -> None:
    # Not `assert`: a host's test run may be optimised.
    if not holds:
        raise AssertionError(rule)
