"""Several libraries: a router chooses, each is searched alone, and every passage says where it was found."""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from headwater import Authorization, Hit, LimitError, Scope, StoreError, ValidationError
from headwater.answering.asking import Asked
from headwater.answering.assembly import Answered
from headwater.libraries import AsyncLibraries, Libraries, LibrariesResult
from headwater.prompts import LostInTheMiddle
from headwater.rerankers.fake import FakeReranker
from headwater.store.db import POOL_SIZE
from tests.unit.found_libraries import AsyncStanding, Shelves, Standing
from tests.unit.passages import make_hit

ALICE = Authorization(principal_id="alice", tenant_id="t1")


def scope(corpus: str) -> Scope:
    return Scope(tenant_id="t1", resource_id="docs", corpus_id=corpus)


LIBRARIES = {"hr": scope("people"), "it": scope("machines"), "law": scope("law")}
FOUND = {
    "people": [make_hit(f"people {n}", chunk_id=f"p{n}#0001", corpus="people") for n in (1, 2, 3)],
    "machines": [make_hit(f"machines {n}", chunk_id=f"m{n}#0001", corpus="machines") for n in (1, 2)],
    "law": [],
}


def ask(router: Any = None, **arguments: Any) -> tuple[LibrariesResult, list[str]]:
    """The answer, and the corpora that were searched for it."""
    shelves = Shelves(FOUND)
    result = Libraries(Standing(shelves), LIBRARIES, router).retrieve("q", authorization=ALICE, **arguments)
    return result, [asked.question.scopes[0].corpus_id for asked in shelves.asked]


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
    two = [("one", scope("people")), ("two", scope("people"))]
    result = Libraries(Standing(Shelves({"people": [hit]})), two).retrieve("q", authorization=ALICE)

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

    shelves = Shelves(FOUND)
    libraries = Libraries(Standing(shelves), LIBRARIES, router)

    def hide(text: str) -> str:
        return text.replace("secret", "***")

    libraries.retrieve("a secret", authorization=ALICE, lexical="bm25", redactor=hide)
    assert heard == ["a ***"]
    (asked,) = shelves.asked
    assert (asked.question.query, asked.question.authorization, asked.question.scopes) == (
        "a secret",
        ALICE,
        (scope("law"),),
    )
    assert asked.question.lexical == "bm25" and asked.hooks.redactor is hide


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
            Libraries(Standing(Shelves({})), libraries)  # type: ignore[arg-type]  # what an untyped host may pass
    with pytest.raises(LimitError):
        Libraries(Standing(Shelves({})), {str(n): scope("x") for n in range(33)})


def test_each_kind_of_libraries_asks_through_its_own_kind_of_retriever() -> None:
    shelves = Shelves(FOUND)
    with pytest.raises(ValidationError, match=r"^Libraries asks through a headwater\.Retriever"):
        Libraries(AsyncStanding(shelves), LIBRARIES)  # type: ignore[arg-type]  # what an untyped host may pass
    with pytest.raises(ValidationError, match=r"^AsyncLibraries asks through a headwater\.AsyncRetriever"):
        AsyncLibraries(Standing(shelves), LIBRARIES)  # type: ignore[arg-type]  # the same


def test_a_blank_query_asks_no_router() -> None:
    libraries = Libraries(Standing(Shelves(FOUND)), LIBRARIES, fails_loudly)

    assert libraries.retrieve(" ", authorization=ALICE).hits == ()
    with pytest.raises(ValidationError, match="query"):
        libraries.retrieve(7, authorization=ALICE)  # type: ignore[arg-type]  # what an untyped host may pass


def fails_loudly(query: str, ids: Sequence[str]) -> list[str]:
    raise KeyboardInterrupt


async def test_an_async_retriever_is_awaited() -> None:
    libraries = AsyncLibraries(AsyncStanding(Shelves(FOUND)), LIBRARIES, lambda *_: ["hr"])

    assert [hit.text for hit in (await libraries.retrieve("q", authorization=ALICE, top_k=2)).hits] == [
        "people 1",
        "people 2",
    ]


class Meeting(AsyncStanding):
    """Answers when ``size`` searches are under way, and counts how many there were at once, and in all."""

    def __init__(self, size: int, fails: bool = False) -> None:
        super().__init__(Shelves(FOUND))
        self._size, self._fails = size, fails
        self._all_there = asyncio.Event()
        self.now = self.most = 0

    async def _answered(self, asked: Asked) -> Answered:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self._size:
            self._all_there.set()
        await asyncio.wait_for(self._all_there.wait(), 30)
        self.now -= 1
        answered = self.shelves.answered(asked)
        if self._fails:
            raise StoreError(f"{asked.question.scopes[0].corpus_id} is away.")
        return answered


async def test_async_libraries_are_searched_side_by_side_as_far_as_there_are_connections() -> None:
    libraries = {f"l{n}": scope("people") for n in range(POOL_SIZE + 2)}
    meeting = Meeting(POOL_SIZE)
    result = await AsyncLibraries(meeting, libraries).retrieve("q", authorization=ALICE)

    assert meeting.most == POOL_SIZE and len(meeting.shelves.asked) == len(libraries)
    assert [hit.provenance.library_id for hit in result.hits] == ["l0", "l1", "l2", "l3", "l4"]


async def test_a_reranker_is_asked_by_one_library_after_the_other() -> None:
    """Two calls at once is all that one may have unless its host says more."""
    meeting = Meeting(1)
    libraries = AsyncLibraries(meeting, LIBRARIES)
    await libraries.retrieve("q", authorization=ALICE, reranker=FakeReranker())

    assert meeting.most == 1 and len(meeting.shelves.asked) == 3


async def test_a_library_that_fails_lets_the_others_end_and_no_more_begin() -> None:
    libraries = {f"l{n}": scope("people") for n in range(POOL_SIZE + 2)}
    meeting = Meeting(POOL_SIZE, fails=True)
    with pytest.raises(StoreError, match="people is away"):
        await AsyncLibraries(meeting, libraries).retrieve("q", authorization=ALICE)

    assert len(meeting.shelves.asked) == POOL_SIZE and not meeting.now


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

    libraries = AsyncLibraries(AsyncStanding(Shelves(FOUND)), LIBRARIES, router)
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
        corpora = {f"c{n}": [make_hit(f"text {n}", chunk_id=f"s{n}#0001")] for n in range(len(errors))}
        shelves = Shelves(corpora, {f"c{n}": {name: error} for n, error in enumerate(errors)})
        libraries = Libraries(Standing(shelves), {f"l{n}": scope(f"c{n}") for n in range(len(errors))})
        error: str | None = getattr(libraries.retrieve("q", authorization=ALICE), name)
        return error

    assert said(None, None) is None
    assert said(None, "It is down.") == "It is down."
    assert said("It is down.", "It took too long.", "It is down.") == "It is down. It took too long."


@pytest.mark.parametrize(("length", "end"), [(8, 105), (30, 130), (3, 103)], ids=["whole", "shortened", "lengthened"])
def test_a_redacted_passage_that_is_cut_is_cited_as_the_library_cited_it(length: int, end: int) -> None:
    """ "people 1" has eight characters: only a passage of as many was not changed in length."""
    shelves = Shelves({"people": [make_hit("people 1")]}, starts=100, lengths=length)
    libraries = Libraries(Standing(shelves), {"hr": scope("people")})
    answer = libraries.retrieve("q", authorization=ALICE, max_result_bytes=len("[src#0001] ") + 5)

    assert answer.hits[0].text == "peopl" and answer.truncated
    assert (answer.citations[0].start, answer.citations[0].end) == (100, end)


def test_passages_of_two_libraries_with_one_id_are_cited_by_their_corpora() -> None:
    shelves = Shelves({"people": [make_hit("one", corpus="people")], "law": [make_hit("two", corpus="law")]})
    two = [("hr", scope("people")), ("law", scope("law"))]
    result = Libraries(Standing(shelves), two).retrieve("q", authorization=ALICE)

    names = ["docs/people/src#0001", "docs/law/src#0001"]
    assert result.text == f"[{names[0]}] one\n\n[{names[1]}] two"
    assert [one.citation_id for one in result.citations] == names
    assert [one.provenance for one in result.citations] == [hit.provenance for hit in result.hits]
    assert [hit.provenance.citation_id for hit in result.hits] == names


def test_one_corpus_in_two_libraries_is_cited_by_the_libraries() -> None:
    shelves = Shelves({"people": [make_hit("shared", corpus="people")]})
    two = [("one", scope("people")), ("two", scope("people"))]
    result = Libraries(Standing(shelves), two).retrieve("q", authorization=ALICE)

    assert [one.citation_id for one in result.citations] == ["one/docs/people/src#0001", "two/docs/people/src#0001"]
