"""A redactor goes over everything before anything else sees it: query, passages, what rerankers get and results show."""

import json
from typing import Any

import pytest

from headwater import LimitError, ValidationError
from headwater.answering.hooks import Hooks
from headwater.prompts import Window
from headwater.rerankers.bounded import Bounded
from headwater.store.effects import Batch, Call
from tests.unit.recipe_steps import SmallEmbedder, make_row, verdict, walk
from tests.unit.test_reranking_step import Reranker

SECRET = "sk-1234"


def redact(text: str) -> str:
    return text.replace(SECRET, "[gone]")


def row(text: str, **changes: Any) -> tuple[Any, ...]:
    return make_row(text=text, start=100, end=100 + len(text), **changes)


def test_the_query_is_redacted_before_it_is_embedded_or_looked_for_and_in_the_answer() -> None:
    embedder = SmallEmbedder()
    steps = walk(f"who has {SECRET}", embedder=embedder, lexical="bm25", hooks=Hooks(redactor=redact))

    assert embedder.read == [["who has [gone]"]]
    (statement,) = steps.batch()
    assert SECRET not in str(statement.parameters) and "1234" not in str(statement.parameters)
    steps.feed([])
    assert steps.result.query == "who has [gone]"


def test_a_query_of_which_nothing_is_left_asks_nothing() -> None:
    embedder = SmallEmbedder()
    steps = walk(SECRET, embedder=embedder, hooks=Hooks(redactor=lambda text: text.replace(SECRET, " ")))

    assert steps.next() is None and embedder.read == [] and steps.result.query == " "


def test_other_words_are_made_of_the_redacted_query_and_redacted_too() -> None:
    seen: list[str] = []
    embedder = SmallEmbedder()

    def rewrite(query: str) -> list[str]:
        seen.append(query)
        return [f"{SECRET} again"]

    hooks = Hooks(redactor=redact, rewriter=rewrite)
    walk(f"the {SECRET}", embedder=embedder, hooks=hooks)

    assert seen == ["the [gone]"]
    assert embedder.read == [["the [gone]", "[gone] again"]]


def test_forms_of_which_the_redactor_leaves_the_same_count_once() -> None:
    embedder = SmallEmbedder()
    hooks = Hooks(
        redactor=redact, rewriter=lambda query: ["the [gone] again", f"the {SECRET} again", f"{SECRET}", "[gone]"]
    )
    walk(f"the {SECRET}", embedder=embedder, hooks=hooks)

    assert embedder.read == [["the [gone]", "the [gone] again", "[gone]"]]


def test_nothing_of_it_is_left_in_what_a_reranker_gets_or_the_result_shows() -> None:
    reranker = Reranker(is_hosted=True)
    steps = walk(hooks=Hooks(redactor=redact, reranker=Bounded(reranker)), hosted_labels=(1,))
    changes = {
        "title": f"Of {SECRET}",
        "uri": f"https://example.org/?key={SECRET}",
        "document_metadata": {"note": SECRET, SECRET: [1, {"deep": f"<{SECRET}>"}], "n": 7},
        "chunk_metadata": {"heading": [f"On {SECRET}"]},
    }
    steps.feed([row(f"before {SECRET} after", **changes)])
    for _ in ("found", "redacted", "reranked"):
        steps.feed([verdict(1)])

    result = steps.result
    assert reranker.seen == [("text", ["before [gone] after"])]
    assert SECRET not in result.model_dump_json()
    assert result.hits[0].metadata["n"] == 7 and json.dumps(result.hits[0].metadata).count("[gone]") == 4
    assert result.hits[0].locator == "On [gone]"


def test_a_redacted_passage_is_cited_as_a_whole_and_one_of_the_same_length_where_it_is_cut() -> None:
    def cited(redactor: Any) -> tuple[str, tuple[int, int]]:
        steps = walk(hooks=Hooks(redactor=redactor), max_result_bytes=len("[src#0001] ") + 10)
        steps.feed([row(f"{SECRET} and a long rest")])
        steps.feed([verdict(1)])
        steps.feed([verdict(1)])
        (hit,), (citation,) = steps.result.hits, steps.result.citations
        assert steps.result.truncated
        return hit.text, (citation.start, citation.end)

    assert cited(redact) == ("[gone] and", (100, 100 + len(f"{SECRET} and a long rest")))
    assert cited(lambda text: text.replace(SECRET, "*" * len(SECRET))) == ("******* an", (100, 110))


@pytest.mark.parametrize("steps", [(), (Window(passages=1),)], ids=["found", "with a window"])
def test_a_passage_of_which_nothing_is_left_is_not_shown_and_the_next_ones_move_up(steps: Any) -> None:
    hidden: Any = lambda text: " " if "secret" in text else text
    walked = walk(hooks=Hooks(redactor=hidden, post_processors=steps), top_k=2)
    walked.feed(
        [
            make_row(
                rev_id=n, source_id=f"s{n}", uri=f"https://example.org/{n}", text=text, start=n * 100, end=n * 100 + len(text),
                vector_rank=n, distance=n / 10,
            )
            for n, text in enumerate(("all secret", "second", "third one", "fourth"), start=1)
        ]
    )  # fmt: skip
    walked.feed([verdict(n) for n in (1, 2, 3, 4)])
    walked.feed([verdict(2), verdict(3)])
    if steps:
        walked.feed([])  # nothing stands around them
        walked.feed([verdict(2), verdict(3)])

    result = walked.result
    assert [(hit.text, hit.retrieval_rank) for hit in result.hits] == [("second", 1), ("third one", 2)]
    assert result.text == "[s2#0001] second\n\n[s3#0001] third one" and not result.truncated
    assert [(one.citation_id, one.uri, one.start, one.end) for one in result.citations] == [
        ("s2#0001", "https://example.org/2", 200, 206),
        ("s3#0001", "https://example.org/3", 300, 309),
    ]


def test_a_reranker_gets_no_passage_of_which_nothing_is_left() -> None:
    reranker = Reranker()
    steps = walk(hooks=Hooks(redactor=lambda text: text.replace(SECRET, ""), reranker=Bounded(reranker)))
    steps.feed([row(SECRET), row("rest", rev_id=2, source_id="s2", vector_rank=2)])
    steps.feed([verdict(1), verdict(2)])
    steps.feed([verdict(2)])
    steps.feed([verdict(2)])

    assert reranker.seen == [("text", ["rest"])] and [hit.text for hit in steps.result.hits] == ["rest"]


@pytest.mark.parametrize("size", range(1, 57))
def test_no_cut_shows_what_was_redacted(size: int) -> None:
    steps = walk(hooks=Hooks(redactor=redact), max_result_bytes=size)
    steps.feed([row(f"😀 {SECRET} é {SECRET} and a long rest after it")])
    steps.feed([verdict(1)])
    steps.feed([verdict(1)])

    assert len(steps.result.text.encode()) <= size and steps.result.truncated
    assert SECRET not in steps.result.model_dump_json()


def quotes(text: str) -> str:
    raise RuntimeError(f"cannot redact {text}")


@pytest.mark.parametrize("redactor", [quotes, lambda text: None, lambda text: text + "\x00"])
def test_a_redactor_that_fails_shows_nothing_and_is_not_quoted(redactor: Any) -> None:
    with pytest.raises(ValidationError, match="redactor") as caught:
        walk(f"who has {SECRET}", hooks=Hooks(redactor=redactor))

    assert SECRET not in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize("size", [16_385, 200_000])
def test_a_redactor_that_makes_a_query_longer_than_any_may_be_is_a_limit(size: int) -> None:
    with pytest.raises(LimitError, match=f"redactor made .*{size:,}"):
        walk("text", hooks=Hooks(redactor=lambda text: "x" * size))


def test_so_is_one_that_makes_a_text_of_which_nobody_could_show_much() -> None:
    steps = walk("text", hooks=Hooks(redactor=lambda text: text.replace("big", "x" * 131_073)))
    steps.feed([row("big")])

    with pytest.raises(LimitError, match="131,073 characters of 3"):
        steps.feed([verdict(1)])


def test_it_is_one_for_other_words_too() -> None:
    hooks = Hooks(redactor=lambda text: text.replace("big", "x" * 16_385), rewriter=lambda query: ["big"])
    with pytest.raises(LimitError, match="16,385"):
        walk("text", hooks=hooks)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"redactor": "secret"}, "redactor must be a function"),
        ({"rewriter": 3}, "rewriter must be a function"),
        ({"on_rerank_error": "ignore"}, "on_rerank_error must be raise or keep"),
        ({"post_processors": "shuffle"}, "shuffle"),
    ],
)
def test_a_hook_that_is_none_is_an_error_that_names_it(arguments: dict[str, Any], words: str) -> None:
    usual: dict[str, Any] = {"redactor": None, "rewriter": None, "on_rerank_error": "raise", "post_processors": ()}
    with pytest.raises(ValidationError, match=words):
        Hooks.checked(reranker=None, **{**usual, **arguments})


def test_it_runs_where_it_holds_up_nobody() -> None:
    """As a model does: the recipe never calls it itself, but asks for it to be called."""
    called: list[str] = []

    def listen(text: str) -> str:
        called.append(text)
        return text

    steps = walk(hooks=Hooks(redactor=listen)).steps
    assert called == ["text"]  # the query, by the walk
    called.clear()
    assert isinstance(steps.next(), Batch)
    steps.feed([[row("text")]])
    steps.feed([[verdict(1)]])

    assert called == [] and isinstance(steps.next(), Call)
