"""The library's SQL, put together from blocks: a name is one thing, and every place is filled."""

from collections.abc import Callable
from typing import Any

import pytest

from headwater.store.question import Lexical, Question
from headwater.store.search import Space, search_statement
from headwater.store.statements import Blocks, statement
from tests.unit.recipe_steps import ALICE, SCOPE


def test_a_block_holds_other_blocks_and_what_is_given_for_its_places() -> None:
    blocks = Blocks.of(
        {
            "a.sql": "-- What this file is for.\n-- places: slab what\n\n-- whole --\n-- Why.\nSELECT {what}\n"
            "  FROM {schema}.t\n  -- and why this\n  WHERE {gate};\n",
            "b.sql": "-- gate --\nslab = {slab}\n\n-- all --\n*\n",
        }
    )
    assert blocks.statement("whole", written={"slab": "7", "schema": '"s"'}, chosen={"what": "all"}) == (
        'SELECT * FROM "s".t WHERE slab = 7'
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.sql": "-- one --\n1\n", "b.sql": "-- one --\n2\n"}, r"b\.sql: one names two things"),
        ({"a.sql": "-- one --\n1\n-- one --\n2\n"}, r"a\.sql: one names two things"),
        ({"a.sql": "-- places: one\n-- one --\n{one}\n"}, r"a\.sql: one names two things"),
        ({"a.sql": "-- one --\n{other}\n"}, "other: neither a block nor said to be a place"),
        ({"a.sql": "-- places: other\n-- one --\n1\n"}, "other: said to be a place, and in no block"),
        ({"a.sql": "-- one --\nSELECT 1 -- why\nFROM t\n"}, r"a\.sql: in one a comment stands behind code"),
    ],
)
def test_what_would_go_wrong_without_a_word_is_refused_when_it_is_read(files: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Blocks.of(files)


def test_a_place_that_nobody_fills_is_no_block_of_some_name() -> None:
    blocks = Blocks.of({"a.sql": "-- places: what\n-- one --\n{what}\n"})
    with pytest.raises(ValueError, match="one has the place what"):
        blocks.statement("one", written={}, chosen={})


@pytest.mark.parametrize("surplus", [{"more": "one"}, {"more": 1}])
def test_a_place_that_is_not_there_is_not_chosen_for(surplus: dict[str, int | str]) -> None:
    blocks = Blocks.of({"a.sql": "-- places: what more\n-- one --\n{what}\n-- two --\n{more}\n"})
    with pytest.raises(ValueError, match="one has no place more"):
        blocks.statement("one", written={"what": "1"}, chosen=surplus)


@pytest.mark.parametrize("lexical", ["off", "bm25", "fts"])
@pytest.mark.parametrize("slab", [0, 7])
@pytest.mark.parametrize("is_tiered", [True, False])
@pytest.mark.parametrize("filter_", [None, {"kind": "memo"}])
@pytest.mark.parametrize("exact", [True, False])
def test_every_search_has_all_of_its_places_filled_and_no_others(
    lexical: Lexical, slab: int, is_tiered: bool, filter_: dict[str, Any] | None, exact: bool
) -> None:
    question = Question.checked("x", authorization=ALICE, scope=SCOPE, lexical=lexical, filter=filter_, exact=exact)

    assert search_statement("headwater", Space("hash/1", 3), question, SCOPE, slab, is_tiered=is_tiered)


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (lambda: statement("denied", "s", pointer="pointer_now"), "most"),
        (lambda: statement("denied", "s", most=1), "pointer"),
        (lambda: statement("search", "s"), "pointer"),
    ],
)
def test_the_statements_say_what_they_need(wanted: Callable[[], Any], missing: str) -> None:
    with pytest.raises(ValueError, match=f"has the place {missing}"):
        wanted()


def test_the_name_of_a_schema_is_quoted_once() -> None:
    assert statement("ready", 'a"%{most}') == b'SELECT live_build FROM "a""%%{most}".scope LIMIT 0'
