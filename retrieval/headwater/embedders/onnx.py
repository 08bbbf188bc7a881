"""Embedding with a model of one's own: any sentence model in ONNX form, and the bundled MiniLM.

The engine (extra ``onnx``) is imported and the model loaded when the embedder is first asked something.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headwater.embedders.onnx_engine import (
    Inputs,
    encoded,
    engine_errors_as,
    fed,
    inputs_of,
    open_session,
    open_tokenizer,
)
from headwater.embedders.onnx_files import BUNDLED, ModelFiles, find_model
from headwater.embedders.word_pieces import WordPieceEnds
from headwater.errors import LimitError, PermanentError, ValidationError


class OnnxEmbedder:
    """A sentence model run by onnxruntime on one thread. Safe to share between threads."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._loading = Lock()
        self._loaded: _Model | None = None

    @classmethod
    def from_spec(cls, place: str) -> "OnnxEmbedder":
        """The embedder of ``onnx:minilm`` or ``onnx:/path/to/folder``."""
        # A relative path would name another model in every process that reads the spec from the store.
        if place != BUNDLED and not Path(place).is_absolute():
            raise ValidationError(f"Embedder 'onnx:{place[:80]}' must be onnx:minilm or onnx: and an absolute path.")
        return cls(place)

    @property
    def identity(self) -> str:
        return self._model().identity

    @property
    def dimensions(self) -> int:
        return self._model().dimensions

    @property
    def max_tokens(self) -> int:
        return self._model().files.max_tokens

    @property
    def special_tokens(self) -> int:
        return self._model().special_tokens

    def token_ends(self, text: str) -> list[int]:
        model = self._model()
        if model.word_pieces is not None:
            return model.word_pieces.of(text)
        return [end for _, end in _offsets(model.tokenizer, text)]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        model = self._model()
        encodings = [encoded(model.tokenizer, text) for text in texts]
        for encoding in encodings:
            if len(encoding.ids) > model.files.max_tokens:
                raise LimitError(
                    f"The text has {len(encoding.ids):,} tokens, and onnx:{self._place} reads at most "
                    f"{model.files.max_tokens:,}: shorten it."
                )
        # One text at a time. Long passages take 76 ms each alone, 82 in pairs and 109 in eights, and memory grows with
        # the batch. A quantised model moreover scales its activations by the whole batch, so that a vector would
        # depend on its neighbours there, and could not be told from the same text embedded again.
        vectors = [model.vector(encoding) for encoding in encodings]
        return np.stack(vectors) if vectors else np.empty((0, model.dimensions), dtype=np.float32)

    def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        model = self._model()
        if model.token_output is None:
            raise ValidationError(
                f"onnx:{self._place} gives one vector for a text and none for its tokens, which late interaction compares: "
                "use a model that has its hidden state as an output."
            )
        return [model.token_vectors(model.token_output, text) for text in texts]

    def _model(self) -> "_Model":
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = _load(self._place)
        return self._loaded


@dataclass(frozen=True, slots=True)
class _Model:
    files: ModelFiles
    session: Any
    tokenizer: Any
    word_pieces: WordPieceEnds | None  # where it is the tokenizer of BERT, whose rules are known
    inputs: Inputs
    output: str
    token_output: str | None  # where it has one
    pooling: Literal["mean", "cls", "model"]
    dimensions: int
    special_tokens: int
    identity: str

    def vector(self, encoding: Any) -> NDArray[np.float32]:
        """The unit vector of one tokenised text."""
        vector = _pooled(self._run(self.output, encoding), encoding.attention_mask, self.pooling)
        length = float(np.linalg.norm(vector))
        if not 0 < length < np.inf:
            raise PermanentError("The model gave a vector that is zero or not finite: check its files.")
        return vector / np.float32(length)

    def token_vectors(self, output: str, text: str) -> NDArray[np.float32]:
        """The unit vectors of the tokens of one text, special ones left out, in windows if it is long."""
        encoding = encoded(self.tokenizer, text, special=False)
        readable = self.files.max_tokens - self.special_tokens
        encoding.truncate(readable, stride=readable // 8)
        windows = [self.tokenizer.post_process(each) for each in (encoding, *encoding.overflowing)]
        vectors = np.concatenate(
            [self._run(output, window)[0][np.array(window.special_tokens_mask) == 0] for window in windows]
        )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise PermanentError("The model gave token vectors that are not finite: check its files.")
        return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)

    def _run(self, output: str, encoding: Any) -> NDArray[np.float32]:
        with engine_errors_as(
            f"The model failed on a text of {len(encoding.ids):,} tokens: it may read fewer than its files say."
        ):
            [found] = self.session.run([output], fed(encoding, self.inputs))
        return np.asarray(found, dtype=np.float32)


def _offsets(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """Where each token lies in the text, special ones left out."""
    offsets: list[tuple[int, int]] = encoded(tokenizer, text, special=False).offsets
    return offsets


def _pooled(output: NDArray[np.float32], attention_mask: Sequence[int], pooling: str) -> NDArray[np.float32]:
    """The one vector of a batch of one."""
    if pooling == "model":
        return np.asarray(output[0])
    if pooling == "cls":
        return np.asarray(output[0, 0])
    mask = np.array(attention_mask, dtype=np.float32)
    return np.asarray(mask @ output[0] / max(float(mask.sum()), 1.0), dtype=np.float32)


def _load(place: str) -> _Model:
    files = find_model(place)
    name = f"Embedder onnx:{place}"
    tokenizer = open_tokenizer(files, name)
    session = open_session(files.model, name)
    outputs = {node.name: node.shape for node in session.get_outputs()}
    output, pooling, dimensions = _output(outputs, files, name)
    return _Model(
        files=files,
        session=session,
        tokenizer=tokenizer,
        word_pieces=WordPieceEnds(partial(_offsets, tokenizer)) if files.has_vocabulary_only else None,
        inputs=inputs_of(session, name),
        output=output,
        token_output=_token_output(outputs),
        pooling=pooling,
        dimensions=dimensions,
        special_tokens=tokenizer.num_special_tokens_to_add(False),
        identity=(
            f"onnx/1 model={files.model_sha256()} tokenizer={files.tokenizer_sha256()} pooling={pooling} "
            f"normalise=l2 dims={dimensions} max_tokens={files.max_tokens}"
        ),
    )


def _output(
    outputs: Mapping[str, Sequence[Any]], files: ModelFiles, name: str
) -> tuple[str, Literal["mean", "cls", "model"], int]:
    """Which output to take, how to pool it, and how long its vectors are."""
    sentences = [each for each, shape in outputs.items() if len(shape) == 2]
    tokens = _token_output(outputs)
    pooling: Literal["mean", "cls", "model"] = files.pooling
    # `pooler_output`, which many models have beside their hidden state, is trained for something else.
    if "sentence_embedding" in sentences or tokens is None:
        taken, pooling = next((each for each in ("sentence_embedding", *sentences) if each in outputs), ""), "model"
    else:
        taken = tokens
    dimensions = outputs[taken][-1] if taken else None
    if type(dimensions) is not int or not 1 <= dimensions <= 4096:
        raise PermanentError(
            f"{name} has no output [batch, tokens, N] or [batch, N] with N from 1 to 4096: "
            "export it as a sentence model."
        )
    return taken, pooling, dimensions


def _token_output(outputs: Mapping[str, Sequence[Any]]) -> str | None:
    tokens = [each for each, shape in outputs.items() if len(shape) == 3]
    return next((each for each in ("last_hidden_state", "token_embeddings", *tokens) if each in tokens), None)
