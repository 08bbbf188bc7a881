"""More of a document around a passage: neighbours or its section, never the same text twice, never more than was allowed."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import Hit, LimitError, ValidationError
from headwater.chunking.headings import atx_headings
from headwater.prompts import Compression, Parent, Window, arrange, reach
from headwater.prompts.expansion import Reach, Surroundings
from headwater.prompts.keys import Key, key_of
from tests.unit.passages import make_hit

TEXT = "# Leave\n\nTwenty-five days.\n\nAsk early.\n\n# Parking\n\nParking is free.\n\n## Bicycles\n\nIn the yard."
PASSAGES = [match.span() for match in re.finditer(r"[^\n#].*", TEXT)]


def stored(
    text: str, spans: Sequence[tuple[int, int]], *places: int, revision: int = 1, source: str = "src"
) -> tuple[list[Hit], dict[Key, Surroundings]]:
    """Hits for the passages at ``places``, and what is stored around them."""
    hits, surroundings = [], {}
    for place in places:
        start, end = spans[place]
        hit = make_hit(text[start:end], chunk_id=f"{source}#{place + 1:04d}", revision=revision)
        hits.append(hit)
        surroundings[key_of(hit)] = Surroundings(
            passage=(start, end),
            offset=0,
            text=text,
            headings=tuple(atx_headings(text)),
            neighbours=tuple((other - place, *span) for other, span in enumerate(spans) if abs(other - place) <= 8),
        )
    return hits, surroundings


def prompts(step: Window | Parent, hits: Sequence[Hit], around: Mapping[Key, Surroundings]) -> list[str]:
    return [hit.prompt_text or hit.text for hit in arrange((step,), "q", hits, around).hits]


def test_a_passage_is_shown_with_its_neighbours() -> None:
    hits, around = stored("one. two. three. four. five.", [(0, 4), (5, 9), (10, 16), (17, 22), (23, 28)], 2)

    assert prompts(Window(), hits, around) == ["two. three. four."]
    assert prompts(Window(passages=2), hits, around) == ["one. two. three. four. five."]


def test_a_passage_is_shown_with_its_section() -> None:
    hits, around = stored(TEXT, PASSAGES, 1)
    assert TEXT[slice(*PASSAGES[1])] == "Twenty-five days."

    assert prompts(Parent(), hits, around) == ["# Leave\n\nTwenty-five days.\n\nAsk early."]


def test_a_section_ends_at_the_next_heading_of_any_level() -> None:
    hits, around = stored(TEXT, PASSAGES, 4)

    assert prompts(Parent(), hits, around) == ["# Parking\n\nParking is free."]


def test_a_text_without_headings_is_one_section() -> None:
    hits, around = stored("one. two. three.", [(0, 4), (5, 9), (10, 16)], 1)

    assert prompts(Parent(), hits, around) == ["one. two. three."]


def test_what_another_passage_shows_is_not_shown_again() -> None:
    hits, around = stored("one. two. three. four. five.", [(0, 4), (5, 9), (10, 16), (17, 22), (23, 28)], 2, 3)

    assert prompts(Window(passages=2), hits, around) == ["one. two. three.", "four. five."]
    hits.reverse()
    assert prompts(Window(passages=2), hits, around) == ["four. five.", "one. two. three."]


def test_the_same_places_of_another_document_are_another_text() -> None:
    hits, around = stored("one. two. three.", [(0, 4), (5, 9), (10, 16)], 1)
    others, more = stored("one. two. three.", [(0, 4), (5, 9), (10, 16)], 1, source="other")

    assert prompts(Window(), [*hits, *others], {**around, **more}) == ["one. two. three."] * 2


def test_of_a_long_section_the_part_around_the_passage_is_shown_and_no_word_is_cut() -> None:
    text = " ".join(f"word{number:03d}" for number in range(200))
    hits, around = stored(text, [(800, 807)], 0)
    (shown,) = prompts(Parent(max_characters=100), hits, around)

    assert len(shown) <= 100 and all(re.fullmatch(r"word\d{3}", word) for word in shown.split())
    assert shown in text and hits[0].text in shown and 25 < shown.index(hits[0].text) < 65


def test_where_nothing_is_read_around_a_passage_it_stays_what_it_is() -> None:
    hits, around = stored("one. two. three.", [(0, 4), (5, 9), (10, 16)], 1)

    assert arrange((Window(),), "q", hits, {}).hits == tuple(hits)
    erased = {key: Surroundings(known.passage, 0, "", (), ()) for key, known in around.items()}
    assert arrange((Window(), Parent()), "q", hits, erased).hits == tuple(hits)
    assert tuple(Window().process("q", hits)) == tuple(Parent().process("q", hits)) == tuple(hits)


def test_what_is_read_goes_through_the_redactor() -> None:
    hits, around = stored("a secret. two. three.", [(0, 9), (10, 14), (15, 21)], 1)
    (hit,) = arrange((Window(),), "q", hits, around, redact=lambda text: text.replace("secret", "***")).hits

    assert hit.prompt_text == "a ***. two. three."


@pytest.mark.parametrize("step", [Window(), Parent()])
def test_what_is_shown_around_a_passage_takes_the_place_of_what_a_step_before_made_of_it(step: Window | Parent) -> None:
    hits, around = stored(TEXT, PASSAGES, 1)
    whole, query = prompts(step, hits, around), "days"
    [behind] = arrange((step, Compression()), query, hits, around).hits

    assert [hit.prompt_text for hit in arrange((Compression(), step), query, hits, around).hits] == whole
    assert behind.prompt_text is None or len(behind.prompt_text) < len(whole[0])


def test_steps_say_how_far_they_reach() -> None:
    assert reach(()) is None
    assert reach((Window(passages=3, max_characters=100), Parent(max_characters=200))) == Reach(3, 200)
    for make in (lambda: Window(passages=9), lambda: Window(max_characters=32_769), lambda: Parent(max_characters=0)):
        with pytest.raises(LimitError):
            make()
    with pytest.raises(ValidationError):
        Window(passages="2")  # type: ignore[arg-type]  # what an untyped host may pass


@given(
    st.lists(st.text(alphabet="ab c營\n#", min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=8),
    st.lists(st.integers(0, 7), max_size=8, unique=True),
    st.integers(1, 60),
    st.sampled_from(["window", "parent"]),
)
def test_what_is_shown_holds_the_passage_and_is_read_only_once(
    texts: list[str], places: list[int], most: int, kind: str
) -> None:
    spans, at = [], 0
    for text in texts:
        lead = len(text) - len(text.lstrip())
        spans.append((at + lead, at + len(text.rstrip())))
        at += len(text)
    whole = "".join(texts)
    hits, around = stored(whole, spans, *(place for place in places if place < len(texts)))
    step = Window(passages=2, max_characters=most) if kind == "window" else Parent(max_characters=most)
    shown = prompts(step, hits, around)

    for text, hit in zip(shown, hits, strict=True):
        assert hit.text in text and text in whole and (text == hit.text or len(text) <= most)
    assert sum(len(text) for text in shown) <= len(whole)  # no character twice: these passages do not overlap
