"""Files of queries and judgements: what is read, and what a bad line says."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from workers.cli.errors import WrongUsage
from workers.cli.judgements import read_answers, read_judgements, read_queries

Reader = Callable[[Path], object]

DATA = Path(os.environ.get("HEADWATER_TEST_DATA", Path(__file__).parents[3] / "shared" / "data")) / "retrieval"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "lines.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_queries_are_read_in_order(file: Callable[[str | bytes], Path]) -> None:
    lines = '\ufeff{"id": "b", "text": "Wie?"}\r\n\n{"text": "怎么", "id": 7, "more": [1]}'

    assert list(read_queries(file(lines)).items()) == [("b", "Wie?"), ("7", "怎么")]


def test_judgements_are_read_by_query(file: Callable[[str | bytes], Path]) -> None:
    lines = '{"qid": 1, "docid": "a", "rel": 1}\n{"qid": "1", "docid": 2, "rel": -1}\n{"qid": 2, "docid": "a", "rel": 0.5}\n'

    assert read_judgements(file(lines * 2)) == {"1": {"a": 1, "2": -1}, "2": {"a": 0.5}}


def test_answers_are_read_by_query_and_may_be_none(file: Callable[[str | bytes], Path]) -> None:
    assert read_answers(file('{"qid": "1", "text": "Two [s#0001]."}')) == {"1": "Two [s#0001]."}
    assert read_answers(file("")) == {}


GOOD: Mapping[Reader, str] = {
    read_queries: '{"id": "a", "text": "?"}\n',
    read_answers: '{"qid": "a", "text": "?"}\n',
    read_judgements: '{"qid": "a", "docid": "b", "rel": 1}\n',
}


@pytest.mark.parametrize("reader", GOOD)
@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b'{"id": "\xff"}', "is not UTF-8"),
        (b"{}", "has no `"),
    ],
)
def test_a_bad_line_is_named(file: Callable[[str | bytes], Path], reader: Reader, line: bytes, says: str) -> None:
    path = file(GOOD[reader].encode() + b"\n" + line + b"\n")

    with pytest.raises(WrongUsage, match=f"lines.jsonl line 3 {says}"):
        reader(path)


@pytest.mark.parametrize(
    ("reader", "line", "says"),
    [
        (read_queries, '{"id": "a", "text": "again"}', "line 2 has query 'a' once more"),
        (read_queries, '{"id": "b", "text": 1}', "line 2 has no `text`"),
        (read_queries, '{"id": "b", "text": " "}', "line 2 has a blank `text`"),
        (read_queries, r'{"id": "b", "text": "a\u0000"}', "line 2 has a `text` with NUL"),
        (read_queries, '{"id": true, "text": ""}', "line 2 has no `id`"),
        (read_queries, '{"id": "", "text": ""}', "line 2 has no `id`"),
        (read_answers, '{"qid": "a", "text": "again"}', "line 2 has answer to query 'a' once more"),
        (read_judgements, '{"qid": "a", "docid": "b", "rel": 2}', "line 2 judges document 'b' of query 'a' once more"),
        (read_judgements, '{"qid": "a", "rel": 2}', "line 2 has no `docid`"),
        *(
            (read_judgements, f'{{"qid": "a", "docid": "c", "rel": {rel}}}', "line 2 has no `rel`")
            for rel in ('"1"', "true", "null", "NaN", "Infinity", "1" + "0" * 400)
        ),
    ],
)
def test_a_line_that_says_nothing_clear_is_named(
    file: Callable[[str | bytes], Path], reader: Reader, line: str, says: str
) -> None:
    with pytest.raises(WrongUsage, match=says):
        reader(file(GOOD[reader] + line))


@pytest.mark.parametrize(
    ("reader", "content", "says"),
    [
        (read_queries, "\n\n", "holds no query"),
        (read_judgements, "", "judges no document relevant"),
        (read_judgements, '{"qid": 1, "docid": 1, "rel": 0}', "judges no document relevant"),
    ],
)
def test_a_file_without_anything_to_measure_is_refused(
    file: Callable[[str | bytes], Path], reader: Reader, content: str, says: str
) -> None:
    with pytest.raises(WrongUsage, match=says):
        reader(file(content))


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADWATER_TEST_DATA holds no collections")
@pytest.mark.parametrize(("name", "queries", "judged"), [("cranfield", 225, 1837), ("xquad_en", 1190, 1190)])
def test_the_collections_can_be_read(name: str, queries: int, judged: int) -> None:
    assert len(read_queries(DATA / name / "queries.jsonl")) == queries
    judgements = read_judgements(DATA / name / "qrels.jsonl")
    assert sum(map(len, judgements.values())) == judged
