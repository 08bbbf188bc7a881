"""Sentence models and cross-encoders of a few hundred bytes, whose vectors and scores a test can compute by hand.

Their only layer looks each token up in a table. The ONNX file is written by hand: the format is plain protobuf, and
the package that writes it would be the largest of the test dependencies.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello", "world", "red", "##der", "Hello", "年", "假", "##s", "e")
TABLE: NDArray[np.float32] = np.random.default_rng(7).normal(size=(len(VOCABULARY), 8)).astype(np.float32)

_FLAT = ("sentence_embedding", "pooler_output", "logits")


def write_model(
    path: Path,
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    outputs: Sequence[str] = ("last_hidden_state",),
    table: NDArray[np.float32] = TABLE,
    integers: type[np.integer] = np.int64,
) -> None:
    """A model with these outputs: ``scores`` has one axis, those of `_FLAT` have two, any other has three."""
    dimensions = table.shape[1]
    nodes = [_node("Gather", ["table", "input_ids"], "tokens")]
    shapes: dict[str, list[int | str]] = {}
    for output in outputs:
        if output == "scores":
            shapes[output] = ["batch"]
            nodes.append(_node("ReduceMax", ["tokens"], output, axes=[1, 2], keepdims=0))
        elif output in _FLAT:
            shapes[output] = ["batch", dimensions]
            nodes.append(_node("ReduceMax", ["tokens"], output, axes=[1], keepdims=0))
        else:
            shapes[output] = ["batch", "sequence", dimensions]
            nodes.append(_node("Identity", ["tokens"], output))
    elements = 7 if integers is np.int64 else 6
    graph = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, b"tiny"),
            _field(5, _tensor("table", table)),
            *(_field(11, _value(name, elements, ["batch", "sequence"])) for name in inputs),
            *(_field(12, _value(name, 1, shape)) for name, shape in shapes.items()),
        ]
    )
    opset = _field(1, b"") + _number(2, 13)
    path.write_bytes(_number(1, 8) + _field(7, graph) + _field(8, opset))


def write_cross_encoder(
    path: Path, weights: Mapping[str, float | tuple[float, float]], *, output: str = "logits"
) -> None:
    """A model of pairs: their score is the greatest weight among all tokens, -9 for one without; for each label, if two."""
    labels = max((len(each) for each in weights.values() if isinstance(each, tuple)), default=1)
    table = np.full((len(VOCABULARY), labels), -9, dtype=np.float32)
    for token, weight in weights.items():
        table[VOCABULARY.index(token)] = weight
    write_model(path, outputs=[output], table=table)


def write_vocabulary(folder: Path, tokens: Sequence[str] = VOCABULARY) -> None:
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")


def write_tokenizer(folder: Path, *, truncated_to: int) -> None:
    """A ``tokenizer.json`` as training runs leave it behind: one that cuts off and pads."""
    special = [{"id": at, "content": VOCABULARY[at], "special": True} for at in range(4)]
    content = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": truncated_to, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": truncated_to},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": [
            token | {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for token in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "BertProcessing",
            "sep": [VOCABULARY[3], 3],
            "cls": [VOCABULARY[2], 2],
        },
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {token: at for at, token in enumerate(VOCABULARY)},
            "unk_token": "[UNK]",
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")


def _node(operator: str, inputs: Sequence[str], output: str, **attributes: int | list[int]) -> bytes:
    return b"".join(
        [
            *(_field(1, name.encode()) for name in inputs),
            _field(2, output.encode()),
            _field(4, operator.encode()),
            *(_field(5, _attribute(name, value)) for name, value in attributes.items()),
        ]
    )


def _attribute(name: str, value: int | list[int]) -> bytes:
    if isinstance(value, int):
        return _field(1, name.encode()) + _number(3, value) + _number(20, 2)
    return _field(1, name.encode()) + b"".join(_number(8, each) for each in value) + _number(20, 7)


def _tensor(name: str, values: NDArray[np.float32]) -> bytes:
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, 1) + _field(8, name.encode()) + _field(9, values.astype("<f4").tobytes())


def _value(name: str, elements: int, shape: Sequence[int | str]) -> bytes:
    axes = [_number(1, axis) if isinstance(axis, int) else _field(2, axis.encode()) for axis in shape]
    tensor = _number(1, elements) + _field(2, b"".join(_field(1, axis) for axis in axes))
    return _field(1, name.encode()) + _field(2, _field(1, tensor))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    return bytes(_sevens(value))


def _sevens(value: int) -> Iterator[int]:
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
