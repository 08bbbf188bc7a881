"""The profile's own rules: its words, its predicates, its modes, what it drops, and when it refuses."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headwater import Authorization, LimitError, RetrievalResult, Scope, ValidationError
from headwater.embedders import Embedder
from headwater.embedders.hashing import HashEmbedder
from headwater.limits import CONTEXT_TOKENS, RESULT_BYTES
from headwater.models import Scores
from headwater.ragspine import (
    ChunkIndex,
    CorpusIndex,
    CorrectiveRetriever,
    NarrativeChunk,
    NarrativeRetriever,
    Predicate,
    PredicateSet,
    Snippet,
    bm25_scores,
    build_chunk_retriever,
    build_narrative_retriever,
    grade,
    legs_of,
    parse_predicates,
    snippets_of,
    text_for_prompt,
    tokenize,
)
from headwater.rewriting import Glossary
from tests.unit.passages import Found, make_hit, make_hits

ALICE = Authorization(principal_id="alice", tenant_id="t1")
SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="reports")


def test_words_are_ascii_runs_and_chinese_characters_one_by_one_and_in_pairs() -> None:
    assert tokenize("MPFA新规") == ["mpfa", "新", "规", "新规"]
    assert tokenize("Q3-2024, ok? 营收下滑") == ["q3", "2024", "ok", "营", "收", "下", "滑", "营收", "收下", "下滑"]
    assert tokenize("") == tokenize("…!") == []


def test_bm25_has_its_hand_value() -> None:
    one, other = bm25_scores(["x"], [["x", "x", "y"], ["y", "z"]])

    assert (round(one, 6), other) == (0.930399, 0.0)
    assert bm25_scores(["x", "x"], [["x", "x", "y"], ["y", "z"]])[0] == pytest.approx(2 * one)
    assert bm25_scores(["x"], []) == [] and bm25_scores(["x"], [[], []]) == [0.0, 0.0]
    with pytest.raises(ValidationError):
        bm25_scores(["x"], [["x"]], k1=math.inf)


@pytest.mark.parametrize(
    ("operator", "value", "found", "holds"),
    [
        ("lt", "9", "10", True),  # as texts
        ("gt", 9, 10, False),
        ("eq", 1, "1", True),
        ("eq", None, "", True),
        ("ne", "a", None, True),
        ("in", ["a", 1], "1", True),
        ("nin", ["a"], "b", True),
        ("gte", "b", "b", True),
        ("lte", "b", "c", False),
        ("between", ["10", "9"], "5", True),
        ("between", ("a", "c"), "c", True),
        ("between", ("a", "c"), "d", False),
    ],
)
def test_predicates_compare_texts(operator: Any, value: Any, found: Any, holds: bool) -> None:
    assert Predicate("field", operator, value).matches({"field": found}) is holds


@pytest.mark.parametrize("operator", ["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "between"])
def test_a_missing_field_satisfies_nothing(operator: Any) -> None:
    value: Any = {"in": [], "nin": ["x"], "between": ["", "~"]}.get(operator, "")

    assert not Predicate("field", operator, value).matches({"other": "x"})


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("between", ["a"]),
        ("between", ["b", "a"]),
        ("between", "ab"),
        ("between", None),
        ("in", "a"),
        ("eq", ["a"]),
        ("like", "a"),
        ("nin", {"a": 1}),
    ],
)
def test_a_predicate_that_cannot_be_meant_is_refused_when_it_is_made(operator: Any, value: Any) -> None:
    with pytest.raises(ValidationError, match="redicate"):
        Predicate("field", operator, value)


def test_sets_narrow_and_keep_the_order() -> None:
    records = [{"year": "2023"}, {"year": "2021"}, {"year": "2022", "kind": "draft"}, {}]
    late, draft = Predicate("year", "gte", "2022"), Predicate("kind", "eq", "draft")

    assert PredicateSet().apply(records) == records
    assert PredicateSet((late,)).apply(records) == [records[0], records[2]]
    assert PredicateSet((late, draft)).apply(records) == [records[2]]
    assert PredicateSet((draft, Predicate("year", "eq", 2021)), mode="or").apply(records) == records[1:3]
    assert PredicateSet((PredicateSet((late,)), draft)).apply(records) == [records[2]]
    assert parse_predicates({"year": {"gt": "2021", "lt": "2023"}}).apply(records) == [records[2]]
    hits = [make_hit(metadata={"year": "2023"}), make_hit(metadata={})]
    assert PredicateSet((late,)).apply(hits) == hits[:1]
    assert PredicateSet((late,)).apply([7], metadata=lambda year: {"year": 2000 + year * 10}) == [7]
    with pytest.raises(ValidationError):
        PredicateSet(("year",))  # type: ignore[arg-type]  # what an untyped host may pass
    with pytest.raises(ValidationError):
        PredicateSet((late,)).apply([7])


def test_modes_say_which_legs_there_are() -> None:
    assert {mode: legs_of(mode) for mode in ("auto", "Hybrid", "vector")} == dict.fromkeys(
        ("auto", "Hybrid", "vector"), ("vector", "bm25")
    )
    assert {legs_of(mode) for mode in ("economy", "bm25", "lexical")} == {("bm25",)}
    with pytest.raises(ValidationError, match="economy"):
        legs_of("cheap")


CHUNKS = [
    NarrativeChunk("d1#c0", "d1", "revenue fell in China", "Report", "p1#para1", {"entity": "ACME_CN", "year": 2024}),
    NarrativeChunk("d1#c1", "d1", "parking is free", metadata={"entity": "ACME_CN"}),
    NarrativeChunk("d2#c0", "d2", "revenue rose in France", metadata={"entity": "ACME_FR"}),
    NarrativeChunk(
        "d3#c0", "d3", "revenue of a secret kind", metadata={"entity": "ACME_CN"}, sensitivity=" Restricted "
    ),
]


def never() -> Embedder:
    raise AssertionError("no embedding backend is made")


@pytest.mark.parametrize("mode", ["economy", "bm25", "lexical"])
def test_with_words_alone_no_embedder_is_made(mode: str) -> None:
    found = ChunkIndex(CHUNKS, embedder=never, mode=mode).search("revenue")

    assert [snippet["chunk_id"] for snippet in found] == ["d1#c0", "d2#c0"]
    assert all(snippet["scores"]["vector"] is None for snippet in found)


class Counting(HashEmbedder):
    """Keeps what it embedded."""

    def __init__(self) -> None:
        super().__init__(64)
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        return super().embed(texts)


def test_vectors_are_made_once_and_only_of_what_the_filters_leave() -> None:
    embedder = Counting()
    index = ChunkIndex(CHUNKS, embedder=lambda: embedder)
    first = index.search("revenue", filters={"entity": "ACME_CN"})
    index.search("revenue")

    assert [snippet["chunk_id"] for snippet in first] == ["d1#c0", "d1#c1"]  # one that shares no word ranks too
    assert first[1]["scores"]["bm25"] is None and first[1]["scores"]["vector"] is not None
    assert embedder.embedded == [
        "revenue", CHUNKS[0].text, CHUNKS[1].text, "revenue", CHUNKS[2].text
    ]  # fmt: skip


def test_equal_chunks_come_by_id_and_every_variant_counts() -> None:
    twins = [NarrativeChunk(name, "d", "revenue") for name in ("b", "a", "c")]
    assert [s["chunk_id"] for s in ChunkIndex(twins).search("revenue", top_k=2)] == ["a", "b"]

    glossary = Glossary({"turnover": ["revenue"]})
    assert ChunkIndex(twins).search("turnover") == []
    assert len(ChunkIndex(twins, rewriter=glossary).search("turnover")) == 3


def test_an_index_holds_what_can_be_told_apart() -> None:
    with pytest.raises(ValidationError):
        ChunkIndex([CHUNKS[0], CHUNKS[0]])
    with pytest.raises(LimitError):
        ChunkIndex(CHUNKS).search("revenue", top_k=0)
    assert ChunkIndex(CHUNKS).search(" ") == ChunkIndex([]).search("revenue") == []


def test_a_snippet_has_its_lineage() -> None:
    hit = make_hit(
        "text",
        chunk_id="drive:1#0002",
        title="Report",
        locator="page 3",
        metadata={"entity": "ACME_CN"},
        sensitivity="confidential",
        prompt_text="more text",
        scores=Scores(vector=0.5, lexical=2.0, fused=0.03),
    )
    (snippet,) = snippets_of([hit])

    assert snippet == {
        "text": "text",
        "doc_id": "drive:1",
        "title": "Report",
        "source_locator": "page 3",
        "chunk_id": "drive:1#0002",
        "metadata": {"entity": "ACME_CN"},
        "sensitivity": "confidential",
        "scores": {"bm25": 2.0, "vector": 0.5, "fused": 0.03},
        "prompt_text": "more text",
    }
    assert text_for_prompt(snippet) == "more text" and text_for_prompt({"text": "text"}) == "text"
    assert "prompt_text" not in snippets_of([make_hit()])[0]


def test_what_is_restricted_becomes_no_snippet() -> None:
    assert snippets_of([make_hit("secret", sensitivity="restricted")]) == []
    found = build_chunk_retriever(CHUNKS).retrieve("secret revenue")
    assert [snippet["chunk_id"] for snippet in found] == ["d1#c0", "d2#c0"]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (None, None),
        (["internal", "Restricted "], ["internal"]),
        (("public", "confidential"), ["public", "confidential"]),
        (["restricted"], []),
    ],
)
def test_what_is_restricted_takes_nobodys_place_and_reaches_no_reranker(
    given: Sequence[str] | None, asked: list[str] | None
) -> None:
    """A label that may be shown elsewhere is not asked for here, where nothing of it would be."""
    found = Found(make_hits("text"))
    narrated(found, sensitivities=given).retrieve("q")

    assert found.asked[0][1]["sensitivities"] == asked


def test_only_filters_that_are_known_narrow() -> None:
    found = build_chunk_retriever(CHUNKS).narrative(
        "revenue", filters={"entity": "ACME_FR", "colour": "red", "topic": None}
    )

    assert [snippet["chunk_id"] for snippet in found.snippets] == ["d2#c0"] and not found.dropped_filters
    assert found.ignored_filters == ("colour",)


def test_filters_that_leave_nothing_are_dropped_once_and_only_if_the_host_says_so() -> None:
    filters = {"entity": "ACME_US"}
    assert build_chunk_retriever(CHUNKS).retrieve("revenue", filters=filters) == []

    found = build_chunk_retriever(CHUNKS, retry_without_filters=True).narrative("revenue", filters=filters)
    assert found.dropped_filters and [snippet["chunk_id"] for snippet in found.snippets] == ["d1#c0", "d2#c0"]


def test_a_corpus_is_asked_in_the_readers_name_however_often() -> None:
    retriever = Found([])
    narrative = build_narrative_retriever(
        retriever,  # type: ignore[arg-type]  # a stand-in
        scope=SCOPE,
        authorization=ALICE,
        glossary={"REV": ["revenue"]},
        retry_without_filters=True,
        sensitivities=["public"],
    )

    assert narrative.retrieve("revenue", filters={"entity": "ACME_CN", "unknown": 1}, top_k=7) == []
    (first, narrowed), (second, freed) = retriever.asked
    assert first == second == "revenue" and (narrowed.pop("filter"), freed.pop("filter")) == (
        {"entity": "ACME_CN"},
        None,
    )
    assert narrowed.pop("rewriter")("revenue") == ("revenue", "REV")
    freed.pop("rewriter")
    assert narrowed == freed == {
        "scope": SCOPE, "authorization": ALICE, "lexical": "bm25", "top_k": 7, "sensitivities": ["public"],
        "max_result_bytes": 512 * 1024, "max_context_tokens": 8_000,
    }  # fmt: skip


def test_a_failing_reranker_keeps_the_order_in_this_profile() -> None:
    retriever, reranker = Found(make_hits("text")), object()
    narrative = build_narrative_retriever(retriever, scope=SCOPE, authorization=ALICE, reranker=reranker)  # type: ignore[arg-type]  # stand-ins

    assert [snippet["text"] for snippet in narrative.retrieve("q")] == ["text"]
    assert retriever.asked[0][1]["reranker"] is reranker and retriever.asked[0][1]["on_rerank_error"] == "keep"


def narrated(retriever: Found, **arguments: Any) -> NarrativeRetriever:
    return build_narrative_retriever(retriever, scope=SCOPE, authorization=ALICE, **arguments)  # type: ignore[arg-type]  # a stand-in


def test_a_corpus_gives_as_many_as_its_limits_allow_or_a_host_says_less() -> None:
    retriever = Found(make_hits("text"))
    narrated(retriever).retrieve("q")
    narrated(retriever, max_context_tokens=100, max_result_bytes=200).retrieve("q")

    (_, wide), (_, narrow) = retriever.asked
    assert (wide["max_context_tokens"], wide["max_result_bytes"]) == (CONTEXT_TOKENS.cap, RESULT_BYTES.cap)
    assert (narrow["max_context_tokens"], narrow["max_result_bytes"]) == (100, 200)


@pytest.mark.parametrize("filters", [{}, {"topic": "hr"}])
def test_what_a_search_says_of_all_its_snippets_is_not_lost(filters: dict[str, Any]) -> None:
    narrative = narrated(Found(make_hits("text"), {"truncated": True, "rerank_error": "It is down."}))
    plain, told = narrative.retrieve("text", filters=filters), narrative.narrative("text", filters=filters)
    corrected = CorrectiveRetriever(narrative).corrected("text", filters=filters)

    assert [(one.truncated, one.rerank_error) for one in (plain, told, corrected)] == [(True, "It is down.")] * 3
    assert list(plain) == list(told.snippets) == list(corrected.snippets) == snippets_of(make_hits("text"))


def test_a_search_that_failed_is_not_taken_for_one_that_found_nothing() -> None:
    retriever = Found([], {"check_error": "Ask again."})
    narrative = narrated(retriever, retry_without_filters=True)
    told = narrative.narrative("q", filters={"topic": "hr"})
    corrected = CorrectiveRetriever(narrative, rewrite=str.upper, drop_filters=True).corrected(
        "q", filters={"topic": "hr"}
    )

    assert (told.dropped_filters, told.check_error) == (False, "Ask again.")
    assert (corrected.actions, corrected.check_error) == (("refuse",), "Ask again.")
    assert len(retriever.asked) == 2


def test_without_filters_it_says_what_the_second_search_said() -> None:
    class Second(Found):
        def retrieve(self, query: str, **arguments: Any) -> RetrievalResult:
            self.said = {} if arguments["filter"] else {"truncated": True}
            self.hits = [] if arguments["filter"] else make_hits("text")
            return super().retrieve(query, **arguments)

    told = narrated(Second([]), retry_without_filters=True).narrative("q", filters={"topic": "hr"})
    assert told.dropped_filters and told.truncated and len(told.snippets) == 1


def test_a_corpus_has_no_mode_of_words_alone() -> None:
    with pytest.raises(ValidationError, match="ChunkIndex"):
        CorpusIndex(Found([]), SCOPE, ALICE, mode="economy")  # type: ignore[arg-type]  # a stand-in


async def rewrites_later(query: str) -> str:
    return query


class Scripted:
    """A retriever that finds what a test says for a query, with filters and without."""

    def __init__(self, found: Mapping[tuple[str, bool], str]) -> None:
        self._found = found
        self.asked: list[tuple[str, bool]] = []

    def retrieve(self, query: str, *, filters: Mapping[str, Any] | None = None, top_k: int = 32) -> list[Snippet]:
        self.asked.append((query, bool(filters)))
        text = self._found.get(self.asked[-1])
        return [] if text is None else snippets_of([make_hit(text)])


def test_what_speaks_of_the_question_is_given_at_once() -> None:
    scripted = Scripted({("annual leave", True): "annual leave is long"})
    corrected = CorrectiveRetriever(scripted, rewrite=str.upper).corrected("annual leave", filters={"topic": "hr"})

    assert corrected.actions == () and corrected.grade == 1.0 and len(corrected.snippets) == 1


def test_filters_are_dropped_once_and_then_the_query_is_rewritten() -> None:
    scripted = Scripted({("annual leave", False): "parking", ("ANNUAL LEAVE", False): "leave is annual"})
    retriever = CorrectiveRetriever(scripted, rewrite=str.upper, drop_filters=True)
    corrected = retriever.corrected("annual leave", filters={"topic": "hr"})

    assert scripted.asked == [("annual leave", True), ("annual leave", False), ("ANNUAL LEAVE", False)]
    assert corrected.actions == ("drop_filters", "rewrite_query") and corrected.snippets[0]["text"] == "leave is annual"


def test_filters_are_kept_unless_a_host_lets_them_be_dropped() -> None:
    scripted = Scripted({("annual leave", False): "annual leave"})
    kept = CorrectiveRetriever(scripted, rewrite=str.upper).corrected("annual leave", filters={"topic": "hr"})

    assert scripted.asked == [("annual leave", True), ("ANNUAL LEAVE", True)]
    assert (kept.actions, kept.snippets) == (("rewrite_query", "refuse"), ())
    assert CorrectiveRetriever(scripted).corrected("annual leave", filters={"topic": "hr"}).actions == ("refuse",)


def test_every_attempt_is_graded_by_the_question_as_it_was_asked() -> None:
    scripted = Scripted({("parking", False): "parking is free"})
    corrected = CorrectiveRetriever(scripted, rewrite=lambda _: "parking").corrected("annual leave")

    assert corrected == type(corrected)((), ("rewrite_query", "refuse"), 0.0)
    assert CorrectiveRetriever(scripted, rewrite=lambda _: "parking").retrieve("annual leave") == []


@pytest.mark.parametrize(("cap", "attempts"), [(-1, 1), (0, 1), (1, 2), (2, 3), (9, 3)])
def test_there_are_at_most_two_corrections(cap: int, attempts: int) -> None:
    scripted = Scripted({})
    retriever = CorrectiveRetriever(scripted, rewrite=str.upper, drop_filters=True, max_corrections=cap)
    refused = retriever.corrected("a", filters={"topic": "hr"})

    assert len(scripted.asked) == attempts and refused.actions[-1] == "refuse" and refused.snippets == ()


def test_without_filters_or_a_rewriter_there_is_nothing_to_correct() -> None:
    scripted = Scripted({})
    assert CorrectiveRetriever(scripted).corrected("a").actions == ("refuse",) and len(scripted.asked) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"minimum": 1.1}, "minimum must be a number from 0 to 1, not 1.1"),
        ({"minimum": "half"}, "minimum must be a number"),
        ({"minimum": float("nan")}, "minimum must be a number"),
        ({"max_corrections": "2"}, "max_corrections must be a whole number, not str"),
        ({"rewrite": rewrites_later}, "rewrite is async"),
    ],
)
def test_what_cannot_correct_is_refused_when_it_is_given(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CorrectiveRetriever(Scripted({}), **wrong)


def test_what_a_rewrite_fails_with_is_told_without_its_words() -> None:
    def rewrite(query: str) -> str:
        raise RuntimeError(query)

    with pytest.raises(ValidationError, match=r"^rewrite failed with RuntimeError at test_ragspine\.py:\d+\.$"):
        CorrectiveRetriever(Scripted({}), rewrite=rewrite).retrieve("a secret")


def test_a_grade_is_the_share_of_the_questions_words() -> None:
    assert grade("annual leave days?", ["Leave of days", "parking"]) == pytest.approx(2 / 3)
    assert grade("", ["x"]) == grade("x", []) == 0.0


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        ("Какой отпуск?", "ОТПУСК длится месяц", 1 / 2),
        ("άδεια", "Η άδεια είναι μεγάλη", 1),
        ("カード", "クレジットカード", 1),
        ("MPF отпуск", "mpf", 1 / 2),
        ("营收 REV", "营收 rev", 1),
    ],
)
def test_questions_in_other_scripts_have_words_too(question: str, text: str, share: float) -> None:
    assert grade(question, [text]) == pytest.approx(share) and grade(question, ["parking"]) == 0.0


def test_a_narrative_retriever_takes_any_index() -> None:
    assert NarrativeRetriever(ChunkIndex(CHUNKS)).retrieve("parking")[0]["chunk_id"] == "d1#c1"
