"""What a prompt shows of passages: their order and their prompt texts change, and nothing else ever does."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import Hit, LimitError, ValidationError
from headwater.prompts import (
    Compression,
    Diversity,
    LostInTheMiddle,
    PostProcessor,
    arrange,
    check_post_processors,
    reach,
)
from headwater.prompts.compression import compressed
from headwater.prompts.diversity import diverse
from headwater.prompts.middle import outside_in
from headwater.prompts.sentences import sentences
from tests.unit.passages import make_hit, make_hits


def shown(*steps: PostProcessor, texts: Sequence[str], query: str = "q") -> list[str]:
    """The blocks of a prompt, in their order."""
    arranged = arrange(steps, query, make_hits(*texts))
    return [arranged.hits[place].prompt_text or arranged.hits[place].text for place in arranged.layout]


def test_a_repetition_comes_after_what_says_something_new() -> None:
    same, other = "the leave policy of the company", "parking is free"

    assert shown(Diversity(), texts=[same, same + " ", other]) == [same, other, same + " "]
    assert diverse(["a b", "a b", "c d"]) == [0, 2, 1]


def test_the_most_relevant_stays_first_and_equal_ones_keep_their_order() -> None:
    assert diverse(["a", "b", "c", "d"]) == [0, 1, 2, 3]
    assert diverse(["same", "same", "same"]) == [0, 1, 2]
    assert diverse(["a b", "a b", "c"], relevance=1.0) == [0, 1, 2]
    assert diverse([]) == [] and diverse(["", ""]) == [0, 1]


def test_words_of_scripts_without_spaces_are_compared_too() -> None:
    assert diverse(["休假政策规定", "休假政策规定。", "停车免费"]) == [0, 2, 1]


def test_the_best_stand_at_both_ends() -> None:
    assert outside_in(["d0", "d1", "d2", "d3", "d4"]) == ["d0", "d2", "d4", "d3", "d1"]
    assert outside_in(["d0", "d1"]) == ["d0", "d1"] and outside_in([]) == []
    assert shown(LostInTheMiddle(), texts=["a", "b", "c", "d"]) == ["a", "c", "d", "b"]


def test_a_layout_leaves_what_matters_more_as_it_was() -> None:
    arranged = arrange((LostInTheMiddle(),), "q", make_hits("a", "b", "c", "d", "e"))

    assert [hit.text for hit in arranged.hits] == ["a", "b", "c", "d", "e"]
    assert arranged.layout == (0, 2, 4, 3, 1)


def test_an_order_of_relevance_counts_and_the_steps_run_in_turn() -> None:
    texts = ["x y", "x y", "z", "w"]
    arranged = arrange((Diversity(), LostInTheMiddle()), "q", make_hits(*texts))

    assert [hit.chunk_id[-1] for hit in arranged.hits] == ["1", "3", "4", "2"]
    assert [arranged.hits[place].chunk_id[-1] for place in arranged.layout] == ["1", "4", "2", "3"]


QUERY = "annual leave days"
PASSAGE = "Annual leave is 25 days. Parking is free. Ask for leave of more than ten days early."


def test_only_sentences_that_speak_of_the_query_are_kept() -> None:
    hits = make_hits(PASSAGE)
    (hit,) = arrange((Compression(),), QUERY, hits).hits

    assert hit.prompt_text == "Annual leave is 25 days. Ask for leave of more than ten days early."
    assert hit.model_copy(update={"prompt_text": None}) == hits[0]


@pytest.mark.parametrize(
    ("text", "query", "kept"),
    [
        ("休假有二十五天。停车免费。请早点申请休假！", "休假", "休假有二十五天。请早点申请休假！"),
        ("One. Two. Three.", "nothing of it", "One."),  # never empty: the best, and of equals the first
        ("One. Two leave. Three.", "leave days of the whole company", "Two leave."),
        ("Version 3.5 of v1.2 is at example.org. Other.", "version 3.5", "Version 3.5 of v1.2 is at example.org."),
        ("Leave policy", "leave", "Leave policy"),
        ("A. B.", "…", "A. B."),  # no words are asked for
        ("- leave\n- parking\n- sick leave", "leave", "- leave\n- sick leave"),
        ("Leave is\n25 days.\n\nParking.", "leave", "Leave is\n25 days."),
        ("", "leave", ""),
        ("a b c. a b.", "a b c d e f g h i j", "a b c."),  # three of ten words are enough, and two are not
    ],
)
def test_sentences_end_where_they_end(text: str, query: str, kept: str) -> None:
    assert compressed(text, query) == kept


@given(st.text(alphabet="ab .!?。！\n\t-\"'」1)", max_size=60), st.text(max_size=10))
def test_sentences_are_the_text_and_what_is_kept_is_never_blank(text: str, query: str) -> None:
    parts = sentences(text)

    assert "".join(parts) == text and (len(parts) == 1 or all(part.strip() for part in parts))
    assert bool(compressed(text, query).strip()) == bool(text.strip())


@pytest.mark.parametrize(
    "text", ["." * 30_000 + "a", " " * 30_000, "\n" * 30_000 + "a", " \n\t" * 10_000 + "a", '?"' * 15_000]
)
def test_no_text_takes_long_to_split(text: str) -> None:
    began = time.perf_counter()
    sentences("a" + text)

    assert time.perf_counter() - began < 1


def test_a_sentence_may_speak_of_the_query_in_the_words_of_a_rewriter() -> None:
    [hit] = make_hits("# Leave\n\nYou have 28 days of annual leave. Parking is free.")
    forms = ("how much PTO", "how much annual leave")
    [kept] = arrange((Compression(),), forms[0], [hit], forms=forms).hits

    assert kept.prompt_text is not None and "28 days" in kept.prompt_text and "Parking" not in kept.prompt_text


def test_steps_are_named_in_a_list() -> None:
    assert check_post_processors("mmr, Lost_in_middle,compress") == (Diversity(), LostInTheMiddle(), Compression())
    assert check_post_processors("") == check_post_processors("none") == check_post_processors(()) == ()
    assert check_post_processors([Diversity()]) == (Diversity(),)


@pytest.mark.parametrize("steps", ["mmr;compress", 7, [Diversity], ["mmr"], None])
def test_what_is_no_step_is_refused(steps: object) -> None:
    with pytest.raises(ValidationError, match=r"(?i)^post.processor"):
        check_post_processors(steps)  # type: ignore[arg-type]  # what an untyped host may pass


def test_steps_have_limits() -> None:
    with pytest.raises(LimitError):
        check_post_processors([Diversity()] * 9)
    with pytest.raises(ValidationError):
        Diversity(relevance=1.5)
    with pytest.raises(ValidationError):
        Compression(coverage=-0.1)


@dataclass(frozen=True)
class Answers:
    """A host's step that gives what a test says."""

    hits: Sequence[Hit]

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return self.hits


def test_a_hosts_step_changes_nothing_but_order_and_prompt_text() -> None:
    one, two = make_hits("one", "two")
    forged = two.model_copy(update={"text": "forged", "title": "forged", "score": 9.0, "prompt_text": "short"})

    arranged = arrange((Answers([forged, one]),), "q", [one, two])

    assert arranged.hits == (two.model_copy(update={"prompt_text": "short"}), one) and arranged.layout == (0, 1)


@pytest.mark.parametrize("blank", ["", " \n"])
def test_what_is_emptied_is_shown_as_it_was_found(blank: str) -> None:
    (one,) = make_hits("one")

    assert arrange((Answers([one.model_copy(update={"prompt_text": blank})]),), "q", [one]).hits == (one,)


def test_a_step_must_give_back_each_hit_once() -> None:
    one, two = make_hits("one", "two")
    foreign = make_hit("one", chunk_id=one.chunk_id, corpus="another")

    for answer in ([one], [one, one], [one, two, two], [one, foreign], [one, "two"], None):
        with pytest.raises(ValidationError, match="Answers"):
            arrange((Answers(answer),), "q", [one, two])  # type: ignore[arg-type]  # what an untyped host may give


@pytest.mark.parametrize("text", ["\x00", "\ud800", 7])
def test_a_prompt_text_must_be_a_text(text: object) -> None:
    (one,) = make_hits("one")

    with pytest.raises(ValidationError, match="Answers"):
        arrange((Answers([one.model_copy(update={"prompt_text": text})]),), "q", [one])


def test_the_same_id_in_two_corpora_is_two_passages() -> None:
    here, there = make_hit("here"), make_hit("there", corpus="another")

    arranged = arrange((Answers([there, here]),), "q", [here, there])

    assert [hit.text for hit in arranged.hits] == ["there", "here"]


class Far:
    """A host's step whose attributes are called as those of ours that read the store."""

    reach = 3

    def expand(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        raise AssertionError("it is never asked")

    def process(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return list(reversed(hits))


def test_a_hosts_step_is_asked_for_its_order_whatever_else_it_has() -> None:
    assert reach((Far(),)) is None
    assert shown(Far(), texts=["a", "b"]) == ["b", "a"]
