"""Counting by words gives what the tokenizer gives, whatever the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.embedders import word_pieces
from headwater.embedders.onnx import OnnxEmbedder, _offsets
from headwater.errors import ValidationError

MINILM = OnnxEmbedder.from_spec("minilm")
# What BERT strips, splits, folds or takes for a space, beside plain letters.
ODD = "ae \t\n\r\v\f\x1c\x85\xa0\u3000\u200b\u00ad\u0301é年Σİﬁ\ufffd.-_🙂\u2028"


def from_the_tokenizer(text: str) -> list[int]:
    return [end for _, end in _offsets(MINILM._model().tokenizer, text)]


@given(
    st.one_of(
        st.text(), st.text(alphabet=ODD), st.lists(st.sampled_from(["unbelievably", "x-1", "😀", "á"])).map(" ".join)
    )
)
@settings(deadline=None)  # the first example loads the model
def test_the_ends_are_those_of_the_whole_text(text: str) -> None:
    expected = from_the_tokenizer(text)
    assert MINILM.token_ends(text) == expected
    assert MINILM.token_ends(text) == expected, "the second time, from memory"


def test_the_ends_stay_right_when_the_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_pieces, "_WORDS", 3)
    for number in range(20):
        text = f"unbelievably {number} unbelievably word{number % 4}"
        assert MINILM.token_ends(text) == from_the_tokenizer(text)


def test_a_word_too_long_to_be_remembered_is_counted() -> None:
    text = "start " + "unbelievably" * 20 + " end"
    assert MINILM.token_ends(text) == from_the_tokenizer(text)


def test_half_a_surrogate_pair_is_refused_here_too() -> None:
    with pytest.raises(ValidationError, match="surrogate"):
        MINILM.token_ends("a \ud800")
