"""Judgements name documents as their collection does, and a corpus as its connectors do."""

import pytest

from workers.cli.judged_documents import JudgedDocuments


@pytest.mark.parametrize(
    ("judged", "source_id"),
    [
        ("doc-7", "doc-7"),
        ("folder:docs/a.md", "folder:docs/a.md"),
        ("a.md", "folder:docs/a.md"),
        ("a", "folder:docs/a.md"),
        ("a.tar", "folder:docs/a.tar.gz"),
        ("sub/a b", "folder:docs/sub/a%20b.md"),
        ("ä/1", "folder:docs/%C3%A4/1.txt"),
        (".profile", "folder:docs/.profile"),
        ("v1.2/notes", "folder:docs/v1.2/notes"),
        ("1AbC", "drive:1AbC"),
        ("host:1", "host:1"),
    ],
)
def test_a_source_goes_by_its_id_its_path_or_its_file_id(judged: str, source_id: str) -> None:
    assert JudgedDocuments([judged, "other"]).of(source_id) == judged


@pytest.mark.parametrize(
    ("judged", "source_id"),
    [("a", "folder:docs/sub/a.md"), ("1", "host:1"), ("v1", "folder:docs/v1.2/notes"), ("", "folder:docs/.profile")],
)
def test_no_other_name_is_taken_for_it(judged: str, source_id: str) -> None:
    assert JudgedDocuments([judged]).of(source_id) == source_id


def test_the_most_exact_name_counts() -> None:
    assert JudgedDocuments(["a", "a.md", "folder:docs/a.md"]).of("folder:docs/a.md") == "folder:docs/a.md"
    assert JudgedDocuments(["a", "a.md"]).of("folder:docs/a.md") == "a.md"


def test_what_is_judged_and_not_there_is_named() -> None:
    documents = JudgedDocuments(["a", "b", "c"])

    assert documents.missing(["folder:x/a.md", "folder:x/b.md", "folder:y/b.md", "z"]) == ["c"]
    assert documents.missing([]) == ["a", "b", "c"]
