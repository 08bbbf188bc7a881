"""Embedding with a model of one's own: any sentence model in ONNX form, and the bundled MiniLM.

The engine (extra ``onnx``) is imported and the model loaded when the embedder is first asked something.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from headwater.embedders.onnx_files import BUNDLED, ModelFiles, find_model, missing_extra
from headwater.embedders.word_pieces import WordPieceEnds
from headwater.errors import LimitError, PermanentError, TransientError, ValidationError

_INTEGERS: Final[dict[str, type[np.integer[Any]]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_SHORTAGE: Final = re.compile(r"bad.?alloc|failed to allocate|out of memory", re.IGNORECASE)
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")


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
        encodings = [_encoded(model.tokenizer, text, special=True) for text in texts]
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
    word_pieces: WordPieceEnds | None  # where it is the tokenizer made below, whose rules are known
    inputs: dict[str, type[np.integer[Any]]]
    output: str
    pooling: Literal["mean", "cls", "model"]
    dimensions: int
    special_tokens: int
    identity: str

    def vector(self, encoding: Any) -> NDArray[np.float32]:
        """The unit vector of one tokenised text."""
        values = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {name: np.array([values[name]], dtype=kind) for name, kind in self.inputs.items()}
        with _engine_errors_as(
            f"The model failed on a text of {len(encoding.ids):,} tokens: it may read fewer than its files say."
        ):
            [output] = self.session.run([self.output], feed)
        vector = _pooled(np.asarray(output, dtype=np.float32), encoding.attention_mask, self.pooling)
        length = float(np.linalg.norm(vector))
        if not 0 < length < np.inf:
            raise PermanentError("The model gave a vector that is zero or not finite: check its files.")
        return vector / np.float32(length)


def _encoded(tokenizer: Any, text: str, *, special: bool) -> Any:
    try:
        return tokenizer.encode(text, add_special_tokens=special)
    except TypeError as error:  # what the bindings make of a lone surrogate
        raise ValidationError("A text to embed holds half of a surrogate pair: replace it.") from error


def _offsets(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """Where each token lies in the text, special ones left out."""
    offsets: list[tuple[int, int]] = _encoded(tokenizer, text, special=False).offsets
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
    tokenizer = _tokenizer(files, place)
    session = _session(files, place)
    inputs = {node.name: _INTEGERS.get(node.type) for node in session.get_inputs()}
    unknown = [name for name, kind in inputs.items() if name not in _INPUTS or kind is None]
    if unknown:
        raise PermanentError(f"Embedder onnx:{place} wants the inputs {', '.join(unknown)}, which nothing here gives.")
    output, pooling, dimensions = _output(session, files, place)
    return _Model(
        files=files,
        session=session,
        tokenizer=tokenizer,
        word_pieces=WordPieceEnds(partial(_offsets, tokenizer)) if files.has_vocabulary_only else None,
        inputs={name: kind for name, kind in inputs.items() if kind is not None},
        output=output,
        pooling=pooling,
        dimensions=dimensions,
        special_tokens=tokenizer.num_special_tokens_to_add(False),
        identity=(
            f"onnx/1 model={files.model_sha256()} tokenizer={files.tokenizer_sha256()} pooling={pooling} "
            f"normalise=l2 dims={dimensions} max_tokens={files.max_tokens}"
        ),
    )


def _session(files: ModelFiles, place: str) -> Any:
    # Read when the module is imported: without it the first import looks its maker's host up, and writes an id of this
    # machine and the path of this Python below the user's cache. disable_telemetry_events() comes too late for that.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # type: ignore[import-untyped]  # it ships no types
    except ImportError as error:
        raise missing_extra(place) from error
    options = onnxruntime.SessionOptions()
    # One thread for each caller: the pipeline runs as many callers as there are cores. Without this a waiting thread
    # spins, and an idle worker takes a core.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    with _engine_errors_as(f"Embedder onnx:{place}: {files.model.name} cannot be loaded: is it complete?"):
        return onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])


@contextmanager
def _engine_errors_as(sentence: str) -> Iterator[None]:
    """What onnxruntime raises comes out as a `PermanentError` that says so; a shortage of memory passes.

    Nothing else is caught: a host may cancel the work of a thread by an exception of its own.
    """
    try:
        yield
    except _engine_errors() as error:
        if isinstance(error, MemoryError) or _SHORTAGE.search(str(error)):
            raise TransientError(
                "There is not enough memory to run the model: run fewer workers here, or give this machine more of it."
            ) from error
        raise PermanentError(sentence) from error


@cache
def _engine_errors() -> tuple[type[Exception], ...]:
    """The classes that onnxruntime raises: its own share no base, and C++ errors that it does not know are RuntimeErrors."""
    from onnxruntime.capi import onnxruntime_pybind11_state as engine  # type: ignore[import-untyped]  # it ships no types

    own = [each for each in vars(engine).values() if isinstance(each, type) and issubclass(each, Exception)]
    return (*own, RuntimeError, MemoryError)


def _output(session: Any, files: ModelFiles, place: str) -> tuple[str, Literal["mean", "cls", "model"], int]:
    """Which output to take, how to pool it, and how long its vectors are."""
    outputs = {node.name: node.shape for node in session.get_outputs()}
    sentences = [name for name, shape in outputs.items() if len(shape) == 2]
    tokens = [name for name, shape in outputs.items() if len(shape) == 3]
    pooling: Literal["mean", "cls", "model"] = files.pooling
    # `pooler_output`, which many models have beside their hidden state, is trained for something else.
    if "sentence_embedding" in sentences or not tokens:
        name, pooling = next((name for name in ("sentence_embedding", *sentences) if name in outputs), ""), "model"
    else:
        name = next(name for name in ("last_hidden_state", "token_embeddings", *tokens) if name in tokens)
    dimensions = outputs[name][-1] if name else None
    if type(dimensions) is not int or not 1 <= dimensions <= 4096:
        raise PermanentError(
            f"Embedder onnx:{place} has no output [batch, tokens, N] or [batch, N] with N from 1 to 4096: "
            "export it as a sentence model."
        )
    return name, pooling, dimensions


def _tokenizer(files: ModelFiles, place: str) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise missing_extra(place) from error
    try:
        if files.has_vocabulary_only:
            return _word_pieces(tokenizers, files)
        tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the bindings raise plain Exception, and TypeError for a vocabulary without markers
        if type(error) is not Exception and not isinstance(error, TypeError | ValueError):
            raise
        raise PermanentError(
            f"Embedder onnx:{place}: {files.tokenizer.name} is not a tokenizer's file: is it complete?"
        ) from error
    # Such files often carry the truncation of the training run: what they cut off would be lost without a word.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # "[SEP]" in a document is text.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _word_pieces(tokenizers: Any, files: ModelFiles) -> Any:
    """The tokenizer of BERT, from its vocabulary."""
    pieces = tokenizers.models.WordPiece.from_file(str(files.tokenizer), unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(pieces)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=files.lowercase)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = tokenizers.processors.BertProcessing(*ends)
    return tokenizer
