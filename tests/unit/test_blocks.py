"""What stands in a prompt when passages have a text for it: within the limits, and never at another passage's cost."""

from hypothesis import given
from hypothesis import strategies as st

from headwater import Hit
from headwater.answering.blocks import Blocks, Room, fill
from headwater.evaluation import cited_in
from tests.unit.passages import make_hit, make_hits


def filled(hits: list[Hit], *, layout: list[int] | None = None, size: int = 10_000) -> Blocks:
    return fill(hits, layout=layout, room=Room(size, size))


def with_prompts(*pairs: tuple[str, str | None]) -> list[Hit]:
    hits = make_hits(*(text for text, _ in pairs))
    return [hit.model_copy(update={"prompt_text": prompt}) for hit, (_, prompt) in zip(hits, pairs, strict=True)]


def test_blocks_stand_as_they_are_laid_out_and_hits_as_they_were_given() -> None:
    hits = make_hits("a", "b", "c")
    blocks = filled(hits, layout=[0, 2, 1])

    assert blocks.text == "[src#0001] a\n\n[src#0003] c\n\n[src#0002] b"
    assert blocks.hits == tuple(hits) and not blocks.truncated


def test_what_does_not_fit_is_the_least_important_wherever_it_would_stand() -> None:
    blocks = filled(make_hits("aaaa", "bbbb", "cccc"), layout=[2, 1, 0], size=35)

    assert blocks.text == "[src#0002] bbbb\n\n[src#0001] aaaa" and blocks.truncated
    assert [hit.text for hit in blocks.hits] == ["aaaa", "bbbb"]


def test_a_shorter_prompt_text_makes_room_for_more_passages() -> None:
    hits = with_prompts(("long " * 10, "short"), ("second", None))
    blocks = filled(hits, size=40)

    assert blocks.text == "[src#0001] short\n\n[src#0002] second" and blocks.hits == tuple(hits)


def test_a_longer_prompt_text_is_shown_where_it_fits_and_costs_no_passage() -> None:
    hits = with_prompts(("one", "before one after"), ("two", "before two after"), ("three", None))

    assert filled(hits).text == "[src#0001] before one after\n\n[src#0002] before two after\n\n[src#0003] three"
    room_for_one = filled(hits, size=len(filled(hits).text) - 1)
    assert room_for_one.text == "[src#0001] before one after\n\n[src#0002] two\n\n[src#0003] three"
    assert [hit.prompt_text for hit in room_for_one.hits] == ["before one after", None, None]
    assert not room_for_one.truncated  # every passage is whole


def test_a_prompt_text_that_is_cut_leaves_the_passage_whole() -> None:
    blocks = filled(with_prompts(("a whole passage", "a passage")), size=15)

    assert blocks.text == "[src#0001] a pa" and blocks.truncated
    assert (blocks.hits[0].text, blocks.hits[0].prompt_text) == ("a whole passage", "a pa")


def test_a_passage_that_is_cut_says_so_itself() -> None:
    (hit,) = filled(with_prompts(("a whole passage", "and much more than a whole passage")), size=15).hits

    assert (hit.text, hit.prompt_text) == ("a wh", None)


TEXT = st.text(alphabet="aé营😀", min_size=1, max_size=8)


@given(st.lists(st.tuples(TEXT, st.none() | TEXT), max_size=5), st.integers(1, 120), st.integers(1, 40), st.randoms())
def test_no_limit_is_passed_and_no_character_split(pairs, size, tokens, random) -> None:  # type: ignore[no-untyped-def]  # given's
    hits = with_prompts(*pairs)
    layout = list(range(len(hits)))
    random.shuffle(layout)
    blocks = fill(hits, layout=layout, room=Room.within(max_result_bytes=size, max_context_tokens=tokens))
    plain = fill(
        make_hits(*(text for text, _ in pairs)), room=Room.within(max_result_bytes=size, max_context_tokens=tokens)
    )

    assert len(blocks.text.encode()) <= size and len(blocks.text) <= tokens * 4
    assert blocks.text.count("[src#") == len(blocks.hits) >= len(plain.hits) - plain.truncated
    assert blocks.truncated or len(blocks.hits) == len(hits)


EMPTIED = st.lists(st.sampled_from(["", "one", "another"]), max_size=6)


@given(EMPTIED, st.booleans(), st.integers(1, 200))
def test_a_passage_with_nothing_to_show_takes_no_place_and_moves_no_other(
    texts: list[str], is_longer: bool, size: int
) -> None:
    hits = with_prompts(*((text, f"before {text} after" if is_longer else None) for text in texts))
    blocks = filled(hits, size=size)

    assert [hit.chunk_id for hit in blocks.hits] == [hits[place].chunk_id for place in blocks.places]
    assert all(hits[place].text.startswith(hit.text) for place, hit in zip(blocks.places, blocks.hits, strict=True))
    whole = blocks.hits[: -1 if blocks.truncated else None]
    assert [hit.text for hit in whole] == [text for text in texts if text][: len(whole)]
    assert blocks.text == "\n\n".join(f"[{hit.chunk_id}] {hit.prompt_text or hit.text}" for hit in blocks.hits)
    backwards = filled(hits, size=size, layout=list(reversed(range(len(hits)))))
    assert backwards.text.split("\n\n") == blocks.text.split("\n\n")[::-1]


# --- ids that would name two


def of_corpora(*corpora: str, text: str = "text") -> list[Hit]:
    return [make_hit(text, corpus=corpus) for corpus in corpora]


def test_passages_that_would_share_an_id_are_cited_by_their_corpora_and_no_others() -> None:
    blocks = filled([*of_corpora("a", "b"), make_hit("other", chunk_id="other#0001", corpus="a")])

    assert blocks.text == "[docs/a/src#0001] text\n\n[docs/b/src#0001] text\n\n[other#0001] other"
    assert [hit.provenance.citation_id for hit in blocks.hits] == cited_in(blocks.text)
    assert {hit.chunk_id for hit in blocks.hits[:2]} == {"src#0001"}


def test_only_what_is_shown_can_share_an_id() -> None:
    one, two = "[docs/a/src#0001] text", "[docs/b/src#0001] text"
    for size in range(1, len(one) + 2 + len(two) + 1):
        blocks = filled(of_corpora("a", "b"), size=size)

        assert len(blocks.text) <= size and blocks.truncated is (size < len(one) + 2 + len(two))
        names = [hit.provenance.citation_id for hit in blocks.hits]
        assert names in ([], ["src#0001"], ["docs/a/src#0001", "docs/b/src#0001"])


def test_an_id_that_names_a_corpus_is_no_other_passage_s() -> None:
    named_so = make_hit("text", chunk_id="docs/a/src#0001", corpus="c")
    ids = [hit.provenance.citation_id for hit in filled([*of_corpora("a", "b"), named_so]).hits]

    assert ids == ["t1/docs/a/src#0001", "docs/b/src#0001", "docs/c/docs/a/src#0001"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "docs/a/x", "t1/docs/a/x"])), unique=True))
def test_no_two_passages_of_an_answer_have_one_id(passages: list[tuple[str, str]]) -> None:
    hits = [make_hit("text", chunk_id=f"{name}#0001", corpus=corpus) for corpus, name in passages]
    ids = [hit.provenance.citation_id for hit in filled(hits).hits]

    assert len(set(ids)) == len(hits)
