"""What stands around a passage is read under the gates of the last look, and of the revision that was found."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headwater import Authorization
from headwater.chunking.headings import Heading
from headwater.prompts.expansion import Reach, Surroundings
from headwater.prompts.surroundings import LARGE_BYTES, read_surroundings, surroundings_statement
from headwater.store.db import connect
from headwater.store.question import Question
from headwater.store.rows import Candidate
from tests.integration.retrieval.conftest import ALICE
from tests.integration.retrieval.corpus_rows import CorpusRows, Source

BESIDE = Reach(1, 1_000)
Around = Callable[..., Mapping[str, Surroundings]]


@pytest.fixture
def around(corpus: CorpusRows) -> Around:
    """What stands around the passage of that number, by chunk id."""

    def read(source: Source, *numbers: int, reach: Reach = BESIDE, **asked: Any) -> Mapping[str, Surroundings]:
        question = Question.checked("q", **{"scope": corpus.scope, "authorization": ALICE, **asked})
        candidates = [candidate(corpus, source, number) for number in numbers]
        statement = surroundings_statement("headwater", question, candidates, reach)
        rows = corpus.connection.execute(statement.sql, statement.parameters).fetchall()
        return {key[-1]: found for key, found in read_surroundings(rows, candidates).items()}

    return read


def candidate(corpus: CorpusRows, source: Source, number: int) -> Candidate:
    (row,) = corpus.connection.execute(
        "SELECT start_cp, end_cp, body FROM headwater.chunk WHERE rev_id = %s AND chunk_no = %s",
        (source.rev_id, number),
    ).fetchall()
    return Candidate(
        scope=corpus.scope,
        rev_id=source.rev_id,
        chunk_no=number,
        chunk_id=f"{source.source_id}#{number:04d}",
        source_id=source.source_id,
        provider="host",
        revision=1,
        title=None,
        uri=None,
        locator=None,
        metadata={},
        start=row[0],
        end=row[1],
        text=row[2],
        sensitivity=1,
        similarity=0.5,
        vector_rank=1,
        lexical_score=None,
        lexical_rank=None,
    )


def show_as_markdown(corpus: CorpusRows, source: Source, *, headings: str | None = None) -> None:
    corpus.execute(
        "UPDATE {}.document_version SET is_markdown = true, headings = %s WHERE version_id = %s",
        headings,
        source.version_id,
    )


def test_the_text_and_the_neighbours_are_read(corpus: CorpusRows, around: Around) -> None:
    source = corpus.add("src", "one", "two 😀", "three", "four")
    found = around(source, 2, 4)

    assert found["src#0002"] == Surroundings(
        (4, 9), 0, "one\ntwo 😀\nthree\nfour", (), ((-1, 0, 3), (0, 4, 9), (1, 10, 15))
    )
    assert found["src#0004"].neighbours == ((-1, 10, 15), (0, 16, 20))


def test_only_as_much_is_read_as_is_wanted(corpus: CorpusRows, around: Around) -> None:
    source = corpus.add("src", "a" * 50, "two", "b" * 50)
    (found,) = around(source, 2, reach=Reach(0, 10)).values()

    assert (found.offset, found.text, found.neighbours) == (41, "a" * 9 + "\ntwo\n" + "b" * 9, ())


def test_headings_are_those_of_the_text_or_of_its_parser(corpus: CorpusRows, around: Around) -> None:
    source = corpus.add("src", "```\n# no heading\n```", "# Leave", "text")
    show_as_markdown(corpus, source)
    # From its beginning: a part that began within the fence would take what closes it for one that opens.
    (found,) = around(source, 3, reach=Reach(0, 20)).values()
    assert (found.offset, found.headings) == (0, (Heading(21, 1, "Leave"),))

    show_as_markdown(corpus, source, headings='[[0, 1, "Far"], [21, 2, "Near"], [999, 1, "Behind"]]')
    (found,) = around(source, 3, reach=Reach(0, 20)).values()
    assert (found.offset, found.headings) == (9, (Heading(21, 2, "Near"),))


def test_a_large_text_is_put_together_from_its_passages(corpus: CorpusRows, around: Around) -> None:
    before, behind = ["one", "two é", "three"], ["five", "six"]
    source = corpus.add("src", "a" * LARGE_BYTES, *before, "# Four", *behind)
    place = LARGE_BYTES + 1
    found = around(source, 4, reach=Reach(1, 12))["src#0004"]

    # Between passages stands whitespace, and of a single one nobody knows which.
    assert found.text.endswith(" one two é three\n# Four five") and found.offset == place - LARGE_BYTES - 1
    assert found.text[slice(*(at - found.offset for at in found.passage))] == "three"
    assert [far for far, _, _ in found.neighbours] == [-3, -2, -1, 0, 1, 2]

    (far,) = around(source, 7, reach=Reach(0, 5)).values()
    assert (far.text, far.neighbours[0][0]) == ("five six", -1)

    show_as_markdown(corpus, source, headings=f'[[{place + 16}, 1, "Four"]]')
    (parsed,) = around(source, 6, reach=Reach(0, 12)).values()
    assert [heading.title for heading in parsed.headings] == ["Four"]
    show_as_markdown(corpus, source)
    (shown,) = around(source, 5, reach=Reach(0, 5)).values()
    assert [heading.start for heading in shown.headings] == [place + 16]


def test_overlapping_passages_are_joined_without_repetition(corpus: CorpusRows, around: Around) -> None:
    source = corpus.add("src", "a" * LARGE_BYTES, "one two", "two three", "four")
    corpus.execute(
        "UPDATE {}.chunk SET start_cp = start_cp - 4, end_cp = end_cp - 4 WHERE rev_id = %s AND chunk_no > 2",
        source.rev_id,
    )
    (found,) = around(source, 3, reach=Reach(0, 4)).values()

    assert found.text == "one two three four" and found.offset == LARGE_BYTES + 1


@pytest.mark.parametrize(
    "change",
    [
        lambda corpus, source: corpus.grant(source),
        lambda corpus, source: corpus.grant(source, "user:bob"),
        lambda corpus, source: corpus.tombstone("src", "forgotten"),
        lambda corpus, source: corpus.label(source, "restricted"),
        lambda corpus, source: corpus.delete(source, gen=1),
    ],
    ids=["revoked", "another's", "forgotten", "restricted", "deleted"],
)
def test_what_may_not_be_read_by_now_gives_nothing(
    corpus: CorpusRows, around: Around, change: Callable[[CorpusRows, Source], None]
) -> None:
    source, other = corpus.add("src", "one", "two"), corpus.add("other", "one", "two")
    assert around(source, 1) and around(other, 1)
    change(corpus, source)

    assert not around(source, 1) and around(other, 1)


def test_it_is_read_for_who_asks_in_the_corpora_of_the_question(corpus: CorpusRows, around: Around) -> None:
    source = corpus.add("src", "one", "two")
    elsewhere = corpus.scope.model_copy(update={"corpus_id": "elsewhere"})

    assert not around(source, 1, authorization=Authorization(principal_id="bob", tenant_id="t1"))
    assert not around(source, 1, authorization=ALICE.model_copy(update={"access_version": 7}))
    assert not around(source, 1, scope=elsewhere)


def test_a_revision_that_was_replaced_meanwhile_is_still_the_one_that_was_found(
    corpus: CorpusRows, around: Around
) -> None:
    source = corpus.add("src", "old one", "old two", gen_to=2)
    corpus.add("src", "new one", "new two", gen_from=2)

    assert around(source, 1)["src#0001"].text == "old one\nold two"


def test_passages_of_a_partition_of_its_own_have_neighbours_too(corpus: CorpusRows, around: Around) -> None:
    corpus.begin_build(is_large=True)
    corpus.show_build()
    source = corpus.add("src", "one", "two")

    assert [number for number, _, _ in around(source, 1)["src#0001"].neighbours] == [0, 1]


def test_no_more_sources_are_looked_at_than_are_shown(corpus: CorpusRows, reading: str) -> None:
    shown = [corpus.add(f"source-{number}", "one", "two") for number in range(50)][:2]
    question = Question.checked("q", scope=corpus.scope, authorization=ALICE)
    statement = surroundings_statement(
        "headwater", question, [candidate(corpus, source, 1) for source in shown], Reach(1, 10)
    )
    with connect(reading) as connection:  # with the settings of a retriever
        plan = "\n".join(line for (line,) in connection.execute(b"EXPLAIN " + statement.sql, statement.parameters))

    assert "using source_pkey on source" in plan
    assert plan.count(" on source ") == 1 and "Seq Scan" not in plan
