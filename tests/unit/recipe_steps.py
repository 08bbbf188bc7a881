"""A recipe under the test's own hands: models are run, and the test says what the store answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from headwater import AccessDenied, Authorization, RetrievalResult, Scope
from headwater.answering.assembly import Answered
from headwater.answering.hooks import Hooks
from headwater.answering.recheck import Audit
from headwater.answering.recipe import Means, recipe
from headwater.embedders import Embedder
from headwater.store.effects import Batch, Call, Rows, Statement, Steps
from headwater.store.question import Question
from headwater.store.routes import Routes

SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
ALICE = Authorization(principal_id="alice", tenant_id="t1", group_ids=("eng",))


class SmallEmbedder:
    identity = "hash/1"
    dimensions = 3
    max_tokens = 512

    def __init__(self) -> None:
        self.read: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.read.append(list(texts))
        return [[1.0, 0.0, 0.0]] * len(texts)


def make_row(**changes: Any) -> tuple[Any, ...]:
    values = {
        "generation": 7,
        "embedder_identity": "hash/1",
        "dimensions": 3,
        "slab": 0,
        "lexicon": "words-2:english",
        "lexical_is_exact": None,
        "rev_id": 1,
        "chunk_no": 1,
        "distance": 0.25,
        "vector_rank": 1,
        "lexical_score": None,
        "lexical_rank": None,
        "sensitivity": 1,
        "tenant_id": "t1",
        "resource_id": "docs",
        "corpus_id": "handbook",
        "source_id": "src",
        "provider": "folder",
        "revision": 1,
        "title": None,
        "uri": None,
        "document_metadata": {},
        "chunk_metadata": {},
        "start": 0,
        "end": len(changes.get("text", "text")),
        "text": "text",
    }
    assert changes.keys() <= values.keys()
    return tuple({**values, **changes}.values())


def verdict(rev_id: int, *, is_granted: bool = True, is_alive: bool = True, sensitivity: int = 1) -> tuple[Any, ...]:
    return (rev_id, is_granted, is_alive, sensitivity)


@dataclass
class Walk:
    """Runs what the recipe calls, and stops at each batch of statements."""

    steps: Steps[Answered]
    audit: Audit

    def __post_init__(self) -> None:
        self._run_calls()

    def batch(self) -> tuple[Statement, ...]:
        """What the store is asked next, or nothing at the end."""
        effect = self.steps.next()
        return effect.statements if isinstance(effect, Batch) else ()

    def next(self) -> Statement | None:
        """The same where it is one statement."""
        batch = self.batch()
        assert len(batch) < 2
        return batch[0] if batch else None

    def feed(self, *rows: Rows) -> None:
        """What each statement of the batch gives."""
        self.steps.feed(list(rows))
        self._run_calls()

    def fail(self, error: psycopg.Error) -> None:
        self.steps.fail(error)
        self._run_calls()

    @property
    def result(self) -> RetrievalResult:
        return self.steps.result.result

    def _run_calls(self) -> None:
        while isinstance(effect := self.steps.next(), Call):
            try:
                answer = effect.function()
            except Exception as error:  # noqa: BLE001 - the recipe decides what to do about it
                self.steps.fail(error)
            else:
                self.steps.feed(answer)


def walk(
    query: str = "text",
    *,
    listener: Callable[[AccessDenied], object] | None = None,
    routes: Routes | None = None,
    embedder: Embedder | None = None,
    hosted_labels: tuple[int, ...] = (),
    hooks: Hooks | None = None,
    **asked: Any,
) -> Walk:
    usual: dict[str, Any] = {"authorization": ALICE} | ({} if "scopes" in asked else {"scope": SCOPE})
    means = Means("headwater", embedder or SmallEmbedder(), routes or Routes(), hosted_labels)
    audit = Audit(listener)
    question = Question.checked(query, **{**usual, **asked})
    return Walk(Steps(recipe(question, means, hooks or Hooks(), audit)), audit)
