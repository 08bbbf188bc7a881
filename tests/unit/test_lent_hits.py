"""What code of a host's is given of passages are copies: an order and prompt texts are all that comes of them."""

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headwater import AccessDenied, Hit
from headwater.answering.hooks import Hooks
from headwater.answering.recheck import Audit
from headwater.prompts import Window
from headwater.rerankers.bounded import Bounded
from tests.unit.recipe_steps import SCOPE, Walk, make_row, verdict, walk

META = {"path": "handbook/leave.md", "tags": ["a", {"deep": "b"}]}


def forge(hits: Sequence[Hit]) -> None:
    """Whatever of a frozen model can be changed."""
    for hit in hits:
        hit.metadata["tags"][1]["deep"] = "hr"
        hit.metadata["tags"].append("hr")
        hit.metadata["path"] = "hr/pay.md"
        _set(hit.provenance, source_id="hr", citation_id="hr#0001")
        _set(hit.scores, vector=9.0)
        _set(hit.trust, untrusted=False)
        _set(hit, text="forged", title="forged", score=9.0, sensitivity="public")


def _set(frozen: Any, **values: Any) -> None:
    frozen.__dict__.update(values)


class Forger:
    """Reorders nothing, and forges all that it is given."""

    is_hosted = False

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        forge(hits)
        return hits

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        forge(hits)
        return hits


class LateForger(Forger):
    """Has not answered when it is given up, and goes on."""

    def __init__(self) -> None:
        self.may_go_on, self.has_ended = threading.Event(), threading.Event()

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        assert self.may_go_on.wait(60)
        forge(hits)
        self.has_ended.set()
        return hits


def answered(hooks: Hooks) -> Walk:
    steps = walk(hooks=hooks)
    steps.feed([make_row(document_metadata=copy.deepcopy(META), title="Leave")])
    while (statement := steps.next()) is not None:
        is_gate = "characters" not in statement.parameters
        steps.feed([verdict(1)] if is_gate else [])
    return steps


def told(steps: Walk) -> dict[str, Any]:
    said = steps.result.model_dump(exclude={"hits": {0: {"provenance": {"retrieved_at"}}}})
    said["citations"] = [{**each, "provenance": None} for each in said["citations"]]
    return said


UNTOUCHED = told(answered(Hooks()))


@pytest.mark.parametrize(
    "hooks",
    [
        lambda: Hooks(reranker=Bounded(Forger())),
        lambda: Hooks(post_processors=(Forger(),)),
        lambda: Hooks(post_processors=(Forger(), Window(), Forger())),
    ],
    ids=["reranker", "post-processor", "around a window"],
)
def test_what_a_host_does_to_passages_changes_nothing_that_is_shown(hooks: Callable[[], Hooks]) -> None:
    assert told(answered(hooks())) == UNTOUCHED
    assert UNTOUCHED["hits"][0]["metadata"] == META and UNTOUCHED["trust"]["untrusted"] is True


def test_nor_does_what_it_does_to_them_when_it_was_given_up() -> None:
    late = LateForger()
    steps = answered(Hooks(reranker=Bounded(late, timeout_s=0.01), keeps_order=True))
    late.may_go_on.set()
    assert late.has_ended.wait(60)

    assert told(steps) == UNTOUCHED | {"rerank_error": steps.result.rerank_error}
    assert "longer than" in (steps.result.rerank_error or "")


class Emptying:
    """Changes what it gave back while it is read: each look says something else."""

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        class Changing(list[Hit]):
            def __iter__(self) -> Any:
                yield from hits
                forge(hits)

        return Changing(hits)


def test_nor_does_one_that_changes_its_answer_while_it_is_read() -> None:
    assert told(answered(Hooks(post_processors=(Emptying(),)))) == UNTOUCHED


def test_a_listener_gets_a_corpus_of_its_own() -> None:
    def listen(denial: AccessDenied) -> None:
        _set(denial.scope, corpus_id="hr")

    scope = SCOPE.model_copy()
    with Audit(listen) as audit:
        audit.kept_back(scope, [("one",)])

    assert scope == SCOPE
