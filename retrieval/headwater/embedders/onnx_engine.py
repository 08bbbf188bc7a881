"""Running models in ONNX form: the session, its tokenizer and its errors. Needs the extra ``onnx``, imported on use.

``name`` is what a person calls the model: ``Embedder onnx:minilm``, ``Reranker cross-encoder:/models/pairs``.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headwater.embedders.onnx_files import ModelFiles, missing_extra
from headwater.errors import PermanentError, TransientError, ValidationError

Inputs = Mapping[str, type[np.integer[Any]]]

_INTEGERS: Final[dict[str, type[np.integer[Any]]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_SHORTAGE: Final = re.compile(r"bad.?alloc|failed to allocate|out of memory", re.IGNORECASE)
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")


def open_session(model: Path, name: str) -> Any:
    """The model, run on one thread."""
    # Read when the module is imported: without it the first import looks its maker's host up, and writes an id of this
    # machine and the path of this Python below the user's cache. disable_telemetry_events() comes too late for that.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # type: ignore[import-untyped]  # it ships no types
    except ImportError as error:
        raise missing_extra(name) from error
    options = onnxruntime.SessionOptions()
    # One thread for each caller: the pipeline runs as many callers as there are cores. Without this a waiting thread
    # spins, and an idle worker takes a core.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    with engine_errors_as(f"{name}: {model.name} cannot be loaded: is it complete?"):
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def inputs_of(session: Any, name: str) -> Inputs:
    """What the model wants to be fed, by the name and kind of number of each input."""
    inputs = {node.name: _INTEGERS.get(node.type) for node in session.get_inputs()}
    unknown = [each for each, kind in inputs.items() if each not in _INPUTS or kind is None]
    if unknown:
        raise PermanentError(f"{name} wants the inputs {', '.join(unknown)}, which nothing here gives.")
    return {each: kind for each, kind in inputs.items() if kind is not None}


def fed(encoding: Any, inputs: Inputs) -> dict[str, NDArray[np.integer[Any]]]:
    """One tokenised text, or pair of texts, as a batch of one."""
    values = {
        "input_ids": encoding.ids,
        "attention_mask": encoding.attention_mask,
        "token_type_ids": encoding.type_ids,
    }
    return {name: np.array([values[name]], dtype=kind) for name, kind in inputs.items()}


@contextmanager
def engine_errors_as(sentence: str) -> Iterator[None]:
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


def open_tokenizer(files: ModelFiles, name: str) -> Any:
    """The tokenizer of the model. It cuts nothing off, and to it "[SEP]" in a document is text."""
    try:
        import tokenizers
    except ImportError as error:
        raise missing_extra(name) from error
    try:
        if files.has_vocabulary_only:
            return _word_pieces(tokenizers, files)
        tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the bindings raise plain Exception, and TypeError for a vocabulary without markers
        if type(error) is not Exception and not isinstance(error, TypeError | ValueError):
            raise
        raise PermanentError(f"{name}: {files.tokenizer.name} is not a tokenizer's file: is it complete?") from error
    # Such files often carry the truncation of the training run: what they cut off would be lost without a word.
    tokenizer.no_truncation()
    tokenizer.no_padding()
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


def encoded(tokenizer: Any, text: str, pair: str | None = None, *, special: bool = True) -> Any:
    """The tokens of a text, or of a pair of texts."""
    try:
        return tokenizer.encode(text, pair, add_special_tokens=special)
    except TypeError as error:  # what the bindings make of a lone surrogate
        raise ValidationError("A text for the model holds half of a surrogate pair: replace it.") from error
