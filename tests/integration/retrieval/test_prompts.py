"""Post-processors in a whole answer: what is cited stays what was found, and what is read around it is checked as it is."""

from typing import Any

import pytest

from headwater import AsyncRetriever, RetrievalResult, Retriever
from headwater.embedders.hashing import HashEmbedder
from headwater.libraries import AsyncLibraries, Libraries
from headwater.prompts import Compression, Diversity, LostInTheMiddle, Parent, Window
from headwater.rewriting import Glossary
from tests.integration.retrieval.conftest import ALICE, Ask, Asker
from tests.integration.retrieval.corpus_rows import CorpusRows
from tests.integration.retrieval.wire import Act, Wire

EARLY = "Ask for annual leave early. Parking is free."
LONG = ["Leave is granted.", "Annual leave is 25 days.", "It ends in March."]


@pytest.fixture
def handbook(corpus: CorpusRows) -> CorpusRows:
    corpus.add("leave", *LONG)
    corpus.add("early", EARLY)
    corpus.add("secret", "annual leave of the board", readers=["user:bob"])
    return corpus


def facts(result: RetrievalResult) -> list[dict[str, Any]]:
    """All of a result but its prompt: what was found, and what is cited."""
    hits = sorted(result.hits, key=lambda hit: hit.retrieval_rank)
    citations = {citation.citation_id: citation for citation in result.citations}
    found = [hit.model_dump(exclude={"prompt_text": True, "provenance": {"retrieved_at"}}) for hit in hits]
    cited = [citations[hit.provenance.citation_id] for hit in hits]
    return found + [citation.model_dump(exclude={"provenance": {"retrieved_at"}}) for citation in cited]


def test_what_a_passage_says_in_the_words_of_a_rewriter_is_kept(corpus: CorpusRows, ask: Ask) -> None:
    corpus.add("leave", "Parking is free. Annual leave is 25 days.")
    glossary = Glossary({"PTO": ["annual leave"]})

    assert ask("PTO", rewriter=glossary, post_processors="compress").text == "[leave#0001] Annual leave is 25 days."


@pytest.mark.parametrize("steps", [(), "", "none", []])
def test_off_is_the_same_answer_to_the_byte(handbook: CorpusRows, ask: Ask, steps: Any) -> None:
    plain, off = ask("annual leave", top_k=4), ask("annual leave", top_k=4, post_processors=steps)

    assert off.text == plain.text and facts(off) == facts(plain)
    assert off.text == "\n\n".join(f"[{hit.chunk_id}] {hit.text}" for hit in off.hits)
    assert [hit.prompt_text for hit in off.hits] == [None] * len(off.hits)


@pytest.mark.parametrize(
    "steps",
    [
        (Diversity(),),
        (LostInTheMiddle(),),
        (Compression(),),
        (Window(),),
        (Parent(),),
        "parent,compress,mmr,lost_in_middle",
    ],
)
def test_no_step_changes_what_is_found_and_cited(handbook: CorpusRows, ask: Ask, steps: Any) -> None:
    plain, arranged = ask("annual leave", top_k=3), ask("annual leave", top_k=3, post_processors=steps)

    assert facts(arranged) == facts(plain) and "board" not in arranged.model_dump_json()
    assert arranged.text != plain.text or steps == (Diversity(),)  # which finds all of them different enough
    assert sorted(arranged.text.split("\n\n")) == sorted(
        f"[{hit.chunk_id}] {hit.prompt_text or hit.text}" for hit in arranged.hits
    )


def test_a_window_and_a_section_are_read_from_the_store(handbook: CorpusRows, ask: Ask) -> None:
    (hit,) = ask("Annual leave is 25 days.", top_k=1, post_processors=(Window(),)).hits
    assert (hit.text, hit.prompt_text) == (LONG[1], "\n".join(LONG))

    (hit,) = ask("Ask for annual leave early.", top_k=1, post_processors=(Window(), Compression())).hits
    assert hit.prompt_text == "Ask for annual leave early."

    result = ask("Annual leave is 25 days.", top_k=1, post_processors="parent", max_result_bytes=40)
    assert result.text == f"[leave#0002] {LONG[1]}" and not result.truncated  # there is no room for the section


def test_what_is_read_around_a_passage_is_redacted(handbook: CorpusRows, ask: Ask) -> None:
    result = ask(
        "Annual leave is 25 days.",
        top_k=1,
        post_processors=(Window(),),
        redactor=lambda text: text.replace("March", "***"),
    )

    assert "March" not in result.model_dump_json() and result.text.endswith("It ends in ***.")


SURROUNDINGS = 3  # after the search and the last look


def test_a_source_revoked_before_its_surroundings_are_read_keeps_them(
    corpus: CorpusRows, asker: Asker, wire: Wire
) -> None:
    source = corpus.add("leave", *LONG)
    question = {"top_k": 1, "post_processors": (Window(),)}
    assert asker.ask(LONG[1], **question).hits[0].prompt_text is not None  # prepares the statements

    wire.at(SURROUNDINGS, Act.HOLD)
    answer = asker.start(LONG[1], **question)
    assert wire.is_held.wait(30)
    corpus.grant(source)
    wire.release()
    (hit,) = answer.result(30).hits

    assert (hit.text, hit.prompt_text) == (LONG[1], None)


async def test_libraries_are_searched_through_real_retrievers(
    handbook: CorpusRows, reading: str, embedder: HashEmbedder
) -> None:
    two = {"one": handbook.scope, "two": handbook.scope}
    asked: dict[str, Any] = {"authorization": ALICE, "top_k": 3, "post_processors": (Window(), LostInTheMiddle())}
    with Retriever.connect(reading, embedder=embedder) as retriever:
        result = Libraries(retriever, two).retrieve(LONG[1], **asked)
    async with AsyncRetriever.connect(reading, embedder=embedder) as awaited:
        again = await AsyncLibraries(awaited, two).retrieve(LONG[1], **asked)

    assert again.text == result.text and facts(again) == facts(result)
    assert [hit.provenance.library_id for hit in result.hits] == ["one", "two", "one"]
    assert [hit.chunk_id for hit in result.hits[:2]] == ["leave#0002", "leave#0002"]
    assert result.hits[0].prompt_text is not None and f"{LONG[1]}\n" in f"{result.hits[0].prompt_text}\n"
    blocks = [block.partition("] ")[0] for block in result.text.split("\n\n")]
    corpus = f"{handbook.scope.resource_id}/{handbook.scope.corpus_id}"
    third = result.hits[2].chunk_id
    assert blocks == [f"[one/{corpus}/leave#0002", f"[{third}", f"[two/{corpus}/leave#0002"]
