"""Choosing a reranker, the fake one, and what the suite finds in rerankers that break a rule."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from headwater.errors import LimitError, RerankError, ValidationError
from headwater.models import Hit
from headwater.rerankers import Reranker, is_hosted, resolve_reranker
from headwater.rerankers.bounded import Bounded
from headwater.testing import FakeReranker, check_reranker
from tests.unit.ranked_hits import ranked_hits, ranks

LIBRARY = Path(__file__).parents[2] / "retrieval"


@pytest.mark.parametrize("spec", ["none", None])
def test_none_is_no_reranker(spec: str | None) -> None:
    assert resolve_reranker(spec) is None


@pytest.mark.parametrize(
    "spec",
    ["", "None", "cohere", "tea:https://rerank.example", "no:ne", "fake:1", "local:x", "listwise:m", "cross-encoder:"],
)
def test_an_unknown_kind_is_an_error_that_lists_those_there_are(spec: str) -> None:
    with pytest.raises(ValidationError) as refused:
        resolve_reranker(spec)
    for kind in ("none", "local", "cross-encoder:PATH", "listwise", "tei:URL", "voyage:URL#MODEL", "fake"):
        assert kind in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "lacks"),
    [("tei", "URL"), ("tei:", "URL"), ("voyage:", "URL"), ("openai-compatible:", "URL"), ("cross-encoder:", "PATH")],
)
def test_a_kind_that_is_known_is_told_what_it_lacks(spec: str, lacks: str) -> None:
    with pytest.raises(ValidationError, match=f"is given without its {lacks}: use none, "):
        resolve_reranker(spec)


@pytest.mark.parametrize(("spec", "argument"), [("local", "embedder"), ("listwise", "judge")])
def test_what_a_kind_needs_is_named_when_it_is_missing(spec: str, argument: str) -> None:
    with pytest.raises(ValidationError, match=f"as {argument}"):
        resolve_reranker(spec)


def test_listwise_asks_the_judge_it_is_given() -> None:
    asked: list[str] = []

    def judge(prompt: str) -> str:
        asked.append(prompt)
        return "2, 1, 0"

    reranker = resolve_reranker("listwise", judge=judge)
    assert reranker is not None and reranker.is_hosted
    assert ranks(reranker.rerank("query", ranked_hits("a", "b", "c"))) == [3, 2, 1] and len(asked) == 1


def test_what_runs_here_may_read_and_take_as_much_as_any_may_unless_it_is_told() -> None:
    hits = ranked_hits("x" * 200_000)
    for spec, given in (("fake", {}), ("cross-encoder:/nowhere", {"timeout_s": 10.0})):
        reranker = resolve_reranker(spec, **given)  # type: ignore[arg-type]  # a plain dict
        assert reranker is not None and not reranker.is_hosted
    fake, told = resolve_reranker("fake"), resolve_reranker("fake", max_input_bytes=1_000)
    assert fake is not None and told is not None
    assert fake.rerank("query", hits) == tuple(hits)
    with pytest.raises(LimitError, match="may read 1,000"):
        told.rerank("query", hits)


def test_a_spec_is_a_text() -> None:
    with pytest.raises(ValidationError, match="spec"):
        resolve_reranker(3)  # type: ignore[arg-type]


def test_fake_puts_the_passages_first_that_hold_more_of_the_query() -> None:
    reranker = resolve_reranker("fake")
    assert isinstance(reranker, Bounded) and not reranker.is_hosted
    hits = ranked_hits("nothing", "a VISA", "Renew: visa!", "visas", "renew")
    assert ranks(reranker.rerank("renew a visa", hits)) == [2, 3, 5, 1, 4]


def test_fake_counts_a_word_once_however_often_it_is_said() -> None:
    hits = ranked_hits("visa visa visa", "visa renewal")
    assert FakeReranker().rerank("visa visa renewal", hits) == [hits[1], hits[0]]


def test_fake_reads_words_of_any_script_in_any_case_and_form() -> None:
    hits = ranked_hits("", "ÉTÉ", "été", "e\u0301te\u0301", "１２")
    assert ranks(FakeReranker().rerank("Été 12", hits)) == [2, 3, 4, 5, 1]


def test_a_reranker_that_does_not_say_so_counts_as_one_that_text_leaves_for() -> None:
    class Silent:
        def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
            return hits

    class Vague(Silent):
        is_hosted = 0

    assert is_hosted(Silent()) and is_hosted(Vague())
    assert is_hosted(FakeReranker(is_hosted=True)) and not is_hosted(FakeReranker())


def test_the_fake_passes_the_suite() -> None:
    check_reranker(FakeReranker)
    check_reranker(FakeReranker())
    check_reranker(lambda: Bounded(FakeReranker()))


class Reversing:
    """A reranker to break a rule with."""

    is_hosted: object = False

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return list(reversed(hits))


class WithoutAWord(Reversing):
    is_hosted = None


class Short(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits[:2]


class Twice(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [hits[0] for _ in hits]


class Copying(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [hit.model_copy() for hit in hits]


class SortingInPlace(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        assert isinstance(hits, list | tuple)
        if isinstance(hits, list):
            hits.sort(key=lambda hit: hit.text)
        return hits


class Writing(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        for hit in hits:
            hit.metadata["rank"] = 1
        return hits


class OneCorpus(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return list({hit.chunk_id: hit for hit in hits}.values())


class Turning(Reversing):
    def __init__(self) -> None:
        self.calls = 0

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.calls += 1
        turn = self.calls % (len(hits) or 1)
        return [*hits[turn:], *hits[:turn]]


class ByAddress(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return sorted(hits, key=lambda hit: hash((id(self), hit.retrieval_rank)))


class Refusing(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        if not query.isascii():
            raise RerankError("English only.")
        return hits


class Inventive(Reversing):
    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits or ranked_hits("from nowhere")


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (object, "is_hosted and rerank"),
        (WithoutAWord, "is_hosted is True or False"),
        (Inventive, "No passages"),
        (Short, "must come back as 3"),
        (Twice, "come back once"),
        (Copying, "same object"),
        (SortingInPlace, "left as they were"),
        (Writing, "left as they were"),
        (OneCorpus, "two corpora"),
        (Turning, "same order again"),
        (Refusing, "English only"),
        (3, "what makes a reranker"),
    ],
)
def test_the_suite_names_the_rule_that_is_broken(make: Callable[[], Reranker], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_reranker(make)


def test_the_suite_finds_an_order_that_is_of_one_object_only() -> None:
    made: list[ByAddress] = []

    def make() -> ByAddress:
        made.append(ByAddress())  # kept: addresses of objects that are gone are given out again
        return made[-1]

    with pytest.raises(AssertionError, match="made the same way"):
        check_reranker(make)  # type: ignore[arg-type]


def test_a_reranker_error_is_a_validation_error_with_a_code_of_its_own() -> None:
    assert issubclass(RerankError, ValidationError) and not issubclass(RerankError, LimitError)
    assert RerankError.code == "ERR_HEADWATER_RERANK"


def test_choosing_among_rerankers_loads_no_engine_and_no_client() -> None:
    program = f"""
import sys; sys.path.insert(0, {str(LIBRARY)!r})
from headwater.rerankers import resolve_reranker
assert resolve_reranker("none") is None
loaded = {{"numpy", "psycopg", "httpx", "httpcore", "onnxruntime", "tokenizers"}} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)
