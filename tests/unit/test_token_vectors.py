"""The vectors that `OnnxEmbedder` gives for the tokens of a text."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from headwater.embedders import TokenEmbedder, resolve_embedder
from headwater.embedders.hashing import HashEmbedder
from headwater.embedders.onnx import OnnxEmbedder
from headwater.errors import PermanentError, ValidationError
from tests.unit.tiny_onnx import TABLE, VOCABULARY, write_model, write_tokenizer, write_vocabulary


def embedder_in(folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder.from_spec(str(folder))


def unit_rows(*tokens: str) -> NDArray[np.float32]:
    found = TABLE[[VOCABULARY.index(token) for token in tokens]]
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def test_each_token_has_a_vector_of_length_one_and_special_ones_have_none(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    write_vocabulary(tmp_path)
    first, nothing, second = embedder_in(tmp_path).token_vectors(["hello redder", "", "world [SEP]"])
    assert first == pytest.approx(unit_rows("hello", "red", "##der"), abs=1e-6)
    assert nothing.shape == (0, TABLE.shape[1])
    assert len(second) == 4  # what looks like a special token is text: a bracket, a word and a bracket


def test_a_model_that_pools_by_itself_still_gives_the_hidden_state_it_has_beside(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", outputs=["sentence_embedding", "last_hidden_state"])
    write_vocabulary(tmp_path)
    [found] = embedder_in(tmp_path).token_vectors(["hello world"])
    assert found == pytest.approx(unit_rows("hello", "world"), abs=1e-6)


def test_a_model_without_hidden_state_says_what_it_lacks(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", outputs=["sentence_embedding"])
    write_vocabulary(tmp_path)
    embedder = embedder_in(tmp_path)
    assert embedder.embed(["hello"]).shape == (1, TABLE.shape[1])
    with pytest.raises(ValidationError, match="none for its tokens"):
        embedder.token_vectors(["hello"])


def test_a_text_of_more_tokens_than_the_model_reads_is_read_in_windows(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    write_tokenizer(tmp_path, truncated_to=4)
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 18}')  # 16, and two special ones
    words = ["hello"] * 15 + ["world", "red"] + ["hello"] * 13 + ["Hello"]
    [found] = embedder_in(tmp_path).token_vectors([" ".join(words)])
    # Windows of 16 overlap by 2: nothing is lost, and what two of them hold comes twice.
    expected = words[:16] + words[14:30] + words[28:]
    assert found == pytest.approx(unit_rows(*expected), abs=1e-6)


def test_vectors_of_tokens_are_the_same_to_the_bit_in_any_company() -> None:
    minilm = OnnxEmbedder.from_spec("minilm")
    texts = ["visa", "a much longer text that would change the scale of a whole batch " * 10]
    alone = [minilm.token_vectors([text])[0] for text in texts]
    together = minilm.token_vectors(texts[::-1])[::-1]
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


def test_a_token_without_direction_is_like_nothing(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", table=np.zeros_like(TABLE))
    write_vocabulary(tmp_path)
    [found] = embedder_in(tmp_path).token_vectors(["hello"])
    assert not found.any()


def test_token_vectors_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", table=np.full_like(TABLE, np.nan))
    write_vocabulary(tmp_path)
    with pytest.raises(PermanentError, match="token vectors that are not finite"):
        embedder_in(tmp_path).token_vectors(["hello"])


def test_who_gives_token_vectors_can_be_told() -> None:
    assert isinstance(resolve_embedder("onnx:minilm"), TokenEmbedder)
    assert not isinstance(HashEmbedder(), TokenEmbedder)
