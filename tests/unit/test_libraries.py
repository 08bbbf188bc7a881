"""Several libraries: a router chooses, each is searched alone, and every passage says where it was found."""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from headwater import Authorization, LimitError, Scope, ValidationError
from headwater.libraries import AsyncLibraries, Libraries, LibrariesResult
from headwater.prompts import LostInTheMiddle
from tests.unit.passages import AsyncFound, Found, make_hit, make_result

ALICE = Authorization(principal_id="alice", tenant_id="t1")


def scope(corpus: str) -> Scope:
    return Scope(tenant_id="t1", resource_id="docs", corpus_id=corpus)


SHELVES = {"hr": scope("people"), "it": scope("machines"), "law": scope("law")}
FOUND = {
    "t1/docs/people": [make_hit(f"people {n}", chunk_id=f"p{n}#0001", corpus="people") for n in (1, 2, 3)],
    "t1/docs/machines": [make_hit(f"machines {n}", chunk_id=f"m{n}#0001", corpus="machines") for n in (1, 2)],
    "t1/docs/law": [],
}


def ask(router: Any = None, **arguments: Any) -> tuple[LibrariesResult, list[str]]:
    """The answer, and the corpora that were searched for it."""
    found = Found(FOUND)
    libraries = Libraries(found, SHELVES, router)  # type: ignore[arg-type]  # a stand-in for a retriever
    result = libraries.retrieve("q", authorization=ALICE, **arguments)
    return result, [given["scope"].corpus_id for _, given in found.asked]


def test_the_router_says_where_to_look() -> None:
    def router(query: str, ids: Sequence[str]) -> list[str]:
        assert (query, tuple(ids)) == ("q", ("hr", "it", "law"))
        return ["it", "unknown"]

    result, searched = ask(router)

    assert searched == ["machines"] and (result.searched, result.is_routed) == (("it",), True)
    assert [hit.provenance.library_id for hit in result.hits] == ["it", "it"]
    assert [citation.provenance.library_id for citation in result.citations] == ["it", "it"]


def fails(query: str, ids: Sequence[str]) -> list[str]:
    raise RuntimeError("down")


@pytest.mark.parametrize(
    "router", [None, fails, lambda *_: [], lambda *_: ["unknown"], lambda *_: None, lambda *_: [[]]]
)
def test_without_a_route_all_are_searched(router: Any) -> None:
    result, searched = ask(router)

    assert searched == ["people", "machines", "law"] and not result.is_routed
    assert result.searched == ("hr", "it", "law")


def test_an_interrupt_is_no_failure_of_the_router() -> None:
    def interrupted(query: str, ids: Sequence[str]) -> Iterable[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(interrupted)


def test_the_first_of_each_come_before_the_second_of_any() -> None:
    result, _ = ask(top_k=4)

    assert [hit.text for hit in result.hits] == ["people 1", "machines 1", "people 2", "machines 2"]
    assert [hit.provenance.library_id for hit in result.hits] == ["hr", "it", "hr", "it"]
    assert [citation.citation_id for citation in result.citations] == [hit.chunk_id for hit in result.hits]
    assert result.text.startswith("[p1#0001] people 1\n\n[m1#0001] machines 1\n\n") and result.generation is None


def test_the_same_passage_in_two_libraries_is_two() -> None:
    hit = make_hit("shared", corpus="people")
    found = Found({"t1/docs/people": [hit]})
    two = [("one", scope("people")), ("two", scope("people"))]
    result = Libraries(found, two).retrieve("q", authorization=ALICE)  # type: ignore[arg-type]  # a stand-in

    assert [(hit.text, hit.provenance.library_id) for hit in result.hits] == [("shared", "one"), ("shared", "two")]


def test_the_limits_hold_for_the_whole() -> None:
    result, _ = ask(max_result_bytes=35)

    assert len(result.text.encode()) <= 35 and result.truncated
    assert [hit.text for hit in result.hits] == ["people 1", "machi"]
    assert result.citations[1].end - result.citations[1].start == 5


def test_a_layout_is_of_the_whole_too() -> None:
    result, _ = ask(post_processors=(LostInTheMiddle(),), top_k=3)

    assert [block.split("] ")[1] for block in result.text.split("\n\n")] == ["people 1", "people 2", "machines 1"]
    assert [hit.text for hit in result.hits] == ["people 1", "machines 1", "people 2"]


def test_the_other_arguments_are_those_of_a_search_and_the_router_hears_what_the_redactor_left() -> None:
    heard = []

    def router(query: str, ids: Sequence[str]) -> list[str]:
        heard.append(query)
        return ["law"]

    found = Found(FOUND)
    libraries = Libraries(found, SHELVES, router)  # type: ignore[arg-type]  # a stand-in for a retriever

    def hide(text: str) -> str:
        return text.replace("secret", "***")

    libraries.retrieve("a secret", authorization=ALICE, lexical="bm25", redactor=hide)
    assert heard == ["a ***"]
    assert found.asked == [
        ("a secret", {"authorization": ALICE, "scope": scope("law"), "lexical": "bm25", "redactor": hide})
    ]


@pytest.mark.parametrize("argument", [{"scope": scope("law")}, {"scopes": ()}, {"generation": 3}])
def test_each_library_has_its_own_corpus(argument: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(argument))):
        ask(**argument)


def test_ids_are_one_each() -> None:
    for libraries in (
        [("a", scope("x")), ("a", scope("y"))],
        {},
        {"": scope("x")},
        {"a": "t1/docs/x"},
        {"a b": scope("x")},
    ):
        with pytest.raises(ValidationError):
            Libraries(Found([]), libraries)  # type: ignore[arg-type]  # what an untyped host may pass
    with pytest.raises(LimitError):
        Libraries(Found([]), {str(n): scope("x") for n in range(33)})  # type: ignore[arg-type]  # a stand-in


def test_a_blank_query_asks_no_router() -> None:
    libraries = Libraries(Found(FOUND), SHELVES, fails_loudly)  # type: ignore[arg-type]  # a stand-in for a retriever

    assert libraries.retrieve(" ", authorization=ALICE).hits == ()
    with pytest.raises(ValidationError, match="query"):
        libraries.retrieve(7, authorization=ALICE)  # type: ignore[arg-type]  # what an untyped host may pass


def fails_loudly(query: str, ids: Sequence[str]) -> list[str]:
    raise KeyboardInterrupt


async def test_an_async_retriever_is_awaited() -> None:
    libraries = AsyncLibraries(AsyncFound(FOUND), SHELVES, lambda *_: ["hr"])  # type: ignore[arg-type]  # a stand-in

    assert [hit.text for hit in (await libraries.retrieve("q", authorization=ALICE, top_k=2)).hits] == [
        "people 1",
        "people 2",
    ]


@pytest.mark.parametrize("name", ["rerank_error", "check_error"])
def test_what_went_wrong_in_some_library_is_said_once_for_all(name: str) -> None:
    def said(*errors: str | None) -> str | None:
        results = [make_result(make_hit(f"text {n}")).model_copy(update={name: e}) for n, e in enumerate(errors)]
        answers = iter(results)
        found = SimpleNamespace(retrieve=lambda query, **_: next(answers))
        shelves = {f"l{n}": scope(f"c{n}") for n in range(len(errors))}
        libraries = Libraries(found, shelves)  # type: ignore[arg-type]  # a stand-in for a retriever
        error: str | None = getattr(libraries.retrieve("q", authorization=ALICE), name)
        return error

    assert said(None, None) is None
    assert said(None, "It is down.") == "It is down."
    assert said("It is down.", "It took too long.", "It is down.") == "It is down. It took too long."


@pytest.mark.parametrize(("length", "end"), [(8, 105), (30, 130), (3, 103)], ids=["whole", "shortened", "lengthened"])
def test_a_redacted_passage_that_is_cut_is_cited_as_the_library_cited_it(length: int, end: int) -> None:
    """ "people 1" has eight characters: only a passage of as many was not changed in length."""
    result = make_result(make_hit("people 1"))
    (citation,) = result.citations
    cited = citation.model_copy(update={"start": 100, "end": 100 + length})
    found = SimpleNamespace(retrieve=lambda query, **_: result.model_copy(update={"citations": (cited,)}))
    libraries = Libraries(found, {"hr": scope("people")})  # type: ignore[arg-type]  # a stand-in for a retriever
    answer = libraries.retrieve("q", authorization=ALICE, max_result_bytes=len("[src#0001] ") + 5)

    assert answer.hits[0].text == "peopl" and answer.truncated
    assert (answer.citations[0].start, answer.citations[0].end) == (100, end)


def test_passages_of_two_libraries_with_one_id_are_cited_by_their_corpora() -> None:
    found = Found(
        {"t1/docs/people": [make_hit("one", corpus="people")], "t1/docs/law": [make_hit("two", corpus="law")]}
    )
    shelves = [("hr", scope("people")), ("law", scope("law"))]
    result = Libraries(found, shelves).retrieve("q", authorization=ALICE)  # type: ignore[arg-type]  # a stand-in

    names = ["docs/people/src#0001", "docs/law/src#0001"]
    assert result.text == f"[{names[0]}] one\n\n[{names[1]}] two"
    assert [one.citation_id for one in result.citations] == names
    assert [one.provenance for one in result.citations] == [hit.provenance for hit in result.hits]
    assert [hit.provenance.citation_id for hit in result.hits] == names


def test_one_corpus_in_two_libraries_is_cited_by_the_libraries() -> None:
    found = Found({"t1/docs/people": [make_hit("shared", corpus="people")]})
    result = Libraries(found, [("one", scope("people")), ("two", scope("people"))]).retrieve("q", authorization=ALICE)  # type: ignore[arg-type]  # a stand-in

    assert [one.citation_id for one in result.citations] == ["one/docs/people/src#0001", "two/docs/people/src#0001"]
