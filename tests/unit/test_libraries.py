"""Several libraries: a router chooses, each is searched alone, and every passage says where it was found."""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from headwater import Authorization, Hit, LimitError, RetrievalResult, Scope, StoreError, ValidationError
from headwater.libraries import AsyncLibraries, Libraries, LibrariesResult
from headwater.prompts import LostInTheMiddle
from headwater.rerankers.fake import FakeReranker
from headwater.store.db import POOL_SIZE
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


class Meeting(AsyncFound):
    """Answers when ``size`` searches are under way, and counts how many there were at once, and in all."""

    def __init__(self, size: int, fails: bool = False) -> None:
        super().__init__(FOUND)
        self._size, self._fails = size, fails
        self._all_there = asyncio.Event()
        self.now = self.most = 0

    async def retrieve(self, query: str, **arguments: Any) -> RetrievalResult:  # type: ignore[override]  # the same, awaited
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self._size:
            self._all_there.set()
        await asyncio.wait_for(self._all_there.wait(), 30)
        self.now -= 1
        result = Found.retrieve(self, query, **arguments)
        if self._fails:
            raise StoreError(f"{arguments['scope'].corpus_id} is away.")
        return result


async def test_async_libraries_are_searched_side_by_side_as_far_as_there_are_connections() -> None:
    shelves = {f"l{n}": scope("people") for n in range(POOL_SIZE + 2)}
    meeting = Meeting(POOL_SIZE)
    result = await AsyncLibraries(meeting, shelves).retrieve("q", authorization=ALICE)  # type: ignore[arg-type]  # a stand-in

    assert meeting.most == POOL_SIZE and len(meeting.asked) == len(shelves)
    assert [hit.provenance.library_id for hit in result.hits] == ["l0", "l1", "l2", "l3", "l4"]


async def test_a_reranker_is_asked_by_one_library_after_the_other() -> None:
    """Two calls at once is all that one may have unless its host says more."""
    meeting = Meeting(1)
    libraries = AsyncLibraries(meeting, SHELVES)  # type: ignore[arg-type]  # a stand-in
    await libraries.retrieve("q", authorization=ALICE, reranker=FakeReranker())

    assert meeting.most == 1 and len(meeting.asked) == 3


async def test_a_library_that_fails_lets_the_others_end_and_no_more_begin() -> None:
    shelves = {f"l{n}": scope("people") for n in range(POOL_SIZE + 2)}
    meeting = Meeting(POOL_SIZE, fails=True)
    with pytest.raises(StoreError, match="people is away"):
        await AsyncLibraries(meeting, shelves).retrieve("q", authorization=ALICE)  # type: ignore[arg-type]  # a stand-in

    assert len(meeting.asked) == POOL_SIZE and not meeting.now


async def test_what_a_host_gives_runs_beside_the_event_loop() -> None:
    ran_in = set()

    def router(query: str, ids: Sequence[str]) -> Sequence[str]:
        ran_in.add(threading.current_thread())
        return ids

    class Step:
        def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
            ran_in.add(threading.current_thread())
            return hits

    def redactor(text: str) -> str:
        ran_in.add(threading.current_thread())
        return text

    libraries = AsyncLibraries(AsyncFound(FOUND), SHELVES, router)  # type: ignore[arg-type]  # a stand-in
    await libraries.retrieve("q", authorization=ALICE, post_processors=(Step(),), redactor=redactor)

    assert ran_in and threading.current_thread() not in ran_in


async def nowhere(query: str, ids: Sequence[str]) -> Sequence[str]:
    return ids


def test_a_router_that_nobody_would_await_is_refused() -> None:
    with pytest.raises(ValidationError, match="router is async"):
        ask(nowhere)
    with pytest.raises(ValidationError, match="router is async"):
        ask(lambda query, ids: nowhere(query, ids))


@pytest.mark.parametrize("steps", ["lost_in_middle,window", "lost_in_middle,mmr,parent"])
def test_a_layout_before_what_each_library_reads_alone_is_refused(steps: str) -> None:
    with pytest.raises(ValidationError, match="behind window and parent"):
        ask(post_processors=steps)
    result, _ = ask(post_processors="window,lost_in_middle", top_k=3)
    assert result.text.endswith("machines 1")


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
