"""What `search` does where a corpus has no words, or a reranker may be sent nothing: it says so."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from headwater.models import Authorization, Scope
from workers.cli.search import Asked, _lexical

OLD = Scope(tenant_id="t1", resource_id="docs", corpus_id="old")
NEW = Scope(tenant_id="t1", resource_id="docs", corpus_id="new")


def lexical(asked: str, *, is_asked: bool, old: bool = True) -> tuple[str, list[str]]:
    """How words are looked for, and what is said of it."""
    said: list[str] = []
    invocation = SimpleNamespace(output=SimpleNamespace(note=said.append))
    lexicons = [(NEW, "words-2:english"), *([(OLD, None)] if old else [])]
    builds = {scope: SimpleNamespace(lexicon=lexicon) for scope, lexicon in lexicons}
    question = Asked(
        query="q",
        scopes=tuple(builds),
        who=Authorization(principal_id="alice", tenant_id="t1"),
        top_k=5,
        lexical=cast(Any, asked),
        is_lexical_asked=is_asked,
        fusion="rrf",
        rerank=None,
        exact=False,
        filter=None,
        generation=None,
    )
    return _lexical(cast(Any, invocation), question, cast(Any, builds)), said


def test_a_corpus_without_words_is_searched_by_meaning_where_nobody_asked_for_words() -> None:
    way, (said,) = lexical("bm25", is_asked=False)

    assert way == "off"
    assert "t1/docs/old" in said and "headwater reindex --corpus t1/docs/old" in said


@pytest.mark.parametrize(
    ("asked", "is_asked", "old"), [("bm25", True, True), ("off", True, True), ("bm25", False, False)]
)
def test_else_words_are_looked_for_as_asked_and_nothing_is_said(asked: str, is_asked: bool, old: bool) -> None:
    """The library says of a corpus without words what is to be done."""
    assert lexical(asked, is_asked=is_asked, old=old) == (asked, [])
