"""`ChunkingProfile`: what the pipeline adds to `chunk_text`: the token limit, pages, and the caps of a document."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.chunking import Heading, chunk_markdown, chunk_text
from headwater.chunking.profile import ChunkingProfile, Cut, TokenEnds
from headwater.errors import LimitError, ValidationError
from headwater.testing import HashEmbedder


def words(text: str) -> list[int]:
    return [word.end() for word in re.finditer(r"\S+", text)]


def characters(text: str) -> list[int]:
    """As for CJK: each visible character is a token."""
    return [at + 1 for at, character in enumerate(text) if not character.isspace()]


def pairs_of_a_word(text: str) -> list[int]:
    """Tokens that depend on where a word begins: cutting inside a word gives its rest other tokens."""
    return [
        pair.end()
        for word in re.finditer(r"\S+", text)
        for pair in re.finditer(r"..?", text[: word.end()])
        if pair.start() >= word.start()
    ]


def bytes_of(text: str) -> list[int]:
    """Many tokens that end at the same character."""
    return [at + 1 for at, character in enumerate(text) for _ in character.encode()]


def cut(
    profile: ChunkingProfile,
    text: str,
    *,
    markdown: bool = False,
    headings: Sequence[Heading] | None = None,
    page_starts: Sequence[int] = (),
    token_ends: TokenEnds | None = words,
) -> list[Cut]:
    return profile.cut(
        text, source_id="s", markdown=markdown, headings=headings, page_starts=page_starts, token_ends=token_ends
    )


def test_without_a_token_limit_the_passages_are_those_of_chunk_text() -> None:
    text = "word " * 500
    expected = [(chunk.start, chunk.end) for chunk in chunk_text(text, source_id="s")]
    assert [(piece.start, piece.end) for piece in cut(ChunkingProfile(), text)] == expected


def test_passages_that_the_model_reads_whole_stay_as_they_are() -> None:
    text = "word " * 500
    assert cut(ChunkingProfile(max_tokens=200), text) == cut(ChunkingProfile(), text)


def test_a_passage_of_too_many_tokens_is_cut_at_the_last_separator_that_fits() -> None:
    text = "a b c d e f g"
    pieces = cut(ChunkingProfile(size=100, overlap=10, max_tokens=3), text)
    assert [text[piece.start : piece.end] for piece in pieces] == ["a b c", "d e f", "g"]


def test_a_paragraph_is_a_better_place_than_a_later_word() -> None:
    text = "a b c\n\nd e f g"
    pieces = cut(ChunkingProfile(size=100, overlap=10, max_tokens=5), text)
    assert [text[piece.start : piece.end] for piece in pieces] == ["a b c", "d e f g"]


def test_an_early_separator_is_better_than_a_cut_inside_a_word() -> None:
    text = "ab cdefghijkl"
    pieces = cut(ChunkingProfile(size=100, overlap=10, max_tokens=8), text, token_ends=characters)
    assert [text[piece.start : piece.end] for piece in pieces] == ["ab", "cdefghij", "kl"]


def test_text_without_separators_is_cut_between_tokens() -> None:
    text = "年假为每年十五个工作日" * 60
    pieces = cut(ChunkingProfile(size=1_000, overlap=100, max_tokens=254), text, token_ends=characters)
    assert [(piece.start, piece.end) for piece in pieces] == [(0, 254), (254, 508), (508, 660)]


def test_markdown_pieces_are_cut_before_headings_and_stand_under_their_own() -> None:
    text = "# A\none two\n# B\nthree four"
    pieces = cut(ChunkingProfile(size=100, overlap=10, max_tokens=6), text, markdown=True)
    assert [(text[piece.start : piece.end], piece.metadata) for piece in pieces] == [
        ("# A\none two", {"heading": ["A"]}),
        ("# B\nthree four", {"heading": ["B"]}),
    ]


@pytest.mark.parametrize("token_ends", [words, characters, pairs_of_a_word, bytes_of])
@given(
    text=st.text(alphabet="ab#\n  字🙂é", max_size=200),
    size=st.integers(2, 60),
    max_tokens=st.integers(4, 12),
    markdown=st.booleans(),
)
def test_every_piece_is_read_whole_and_nothing_visible_is_lost(
    token_ends: TokenEnds, text: str, size: int, max_tokens: int, markdown: bool
) -> None:
    profile = ChunkingProfile(size=size, overlap=1, max_tokens=max_tokens)
    pieces = cut(profile, text, markdown=markdown, token_ends=token_ends)
    covered: set[int] = set()
    for piece in pieces:
        passage = text[piece.start : piece.end]
        assert passage and passage == passage.strip()
        assert len(passage) <= size
        assert len(token_ends(passage)) <= max_tokens
        covered.update(range(piece.start, piece.end))
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())


def test_a_character_that_the_model_cannot_read_is_an_error() -> None:
    with pytest.raises(LimitError, match="One character has 4 tokens, and the model reads 3"):
        cut(ChunkingProfile(max_tokens=3), "🙂", token_ends=bytes_of)


def test_a_token_limit_needs_someone_who_counts() -> None:
    with pytest.raises(ValidationError, match="needs the token ends"):
        cut(ChunkingProfile(max_tokens=3), "text", token_ends=None)


def test_a_passage_is_on_the_page_on_which_it_starts() -> None:
    text = "aaaa bbbb cccc"
    pieces = cut(ChunkingProfile(size=4, overlap=0), text, page_starts=[0, 3, 5, 5, 10])
    assert [piece.metadata["page"] for piece in pieces] == [1, 4, 5]


def test_headings_of_the_parser_win_over_those_in_the_text() -> None:
    [piece] = cut(ChunkingProfile(), "# Not this\n\ntext", markdown=True, headings=[Heading(0, 1, "This")])
    assert piece.metadata == {"heading": ["This"]}
    [piece] = cut(ChunkingProfile(), "# Not this\n\ntext", markdown=True, headings=[])
    assert piece.metadata == {}


def test_markdown_without_given_headings_has_its_own_and_text_has_none() -> None:
    text = "# Title\n\ntext"
    [chunk] = chunk_markdown(text, source_id="s")
    [piece] = cut(ChunkingProfile(), text, markdown=True)
    assert piece.metadata == chunk.metadata == {"heading": ["Title"]}
    [piece] = cut(ChunkingProfile(), text)
    assert piece.metadata == {}


def test_a_document_of_more_than_8_mi_characters_is_too_large() -> None:
    with pytest.raises(LimitError, match=r"Document s has 8,388,609 characters"):
        cut(ChunkingProfile(), " " * 8_388_609)


def test_a_document_of_more_than_8192_passages_is_too_large() -> None:
    profile = ChunkingProfile(size=1, overlap=0)
    assert len(cut(profile, "a " * 8_192)) == 8_192
    with pytest.raises(LimitError, match=r"Document s gives more than the 8,192 chunks"):
        cut(profile, "a " * 8_193)


def test_pieces_count_as_passages() -> None:
    with pytest.raises(LimitError, match="8,192 chunks"):
        cut(ChunkingProfile(size=16_384, overlap=0, max_tokens=1), "a " * 8_193)


def test_a_fingerprint_says_all_that_decides_the_cuts() -> None:
    assert ChunkingProfile(max_tokens=254).fingerprint == "chars/1 size=1000 overlap=100 tokens=254"
    assert ChunkingProfile(size=500, overlap=0).fingerprint == "chars/1 size=500 overlap=0 tokens=any"


@given(st.integers(2, 16_384), st.integers(0, 4_096), st.none() | st.integers(1, 99_999))
def test_a_profile_comes_back_from_its_fingerprint(size: int, overlap: int, max_tokens: int | None) -> None:
    profile = ChunkingProfile(size, min(overlap, size - 1), max_tokens)
    assert ChunkingProfile.from_fingerprint(profile.fingerprint) == profile


@pytest.mark.parametrize("fingerprint", ["", "chars/2 size=1000 overlap=100 tokens=254", "chars/1 size=1000\n"])
def test_a_fingerprint_of_another_version_is_refused(fingerprint: str) -> None:
    with pytest.raises(ValidationError, match="not known to this version"):
        ChunkingProfile.from_fingerprint(fingerprint)


@pytest.mark.parametrize(("size", "overlap", "max_tokens"), [(0, 0, None), (10, 10, None), (10, 1, 0)])
def test_a_profile_that_cannot_cut_is_refused(size: int, overlap: int, max_tokens: int | None) -> None:
    with pytest.raises(LimitError):
        ChunkingProfile(size, overlap, max_tokens)


def test_an_embedder_that_reads_texts_of_any_length_sets_no_limit() -> None:
    assert ChunkingProfile.for_embedder(HashEmbedder(384)).max_tokens is None
