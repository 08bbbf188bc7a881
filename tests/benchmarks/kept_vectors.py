"""The real model with a memory on disk: a corpus of the same texts is embedded once, however often it is made anew."""

import os
import sqlite3
import threading
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater.embedders.onnx import OnnxEmbedder

KEPT: Final = "kept"
CACHE: Final = Path(os.environ.get("HEADWATER_BENCH_CACHE", Path(__file__).parents[2] / ".bench-cache"))
BUSY_S: Final = 30.0

_TABLE: Final = "CREATE TABLE IF NOT EXISTS vector (text_sha256 BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"


class KeptEmbedder:
    """MiniLM, whose vectors are kept by the text's hash in one file for each identity of the model.

    Several processes may share the file, and several threads the embedder.
    """

    def __init__(self, cache: Path = CACHE) -> None:
        self.model = OnnxEmbedder.from_spec("minilm")
        self._cache = cache
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        return self.model.identity

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    @property
    def max_tokens(self) -> int:
        return self.model.max_tokens

    @property
    def special_tokens(self) -> int:
        return self.model.special_tokens

    def token_ends(self, text: str) -> Sequence[int]:
        return self.model.token_ends(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        keys = [sha256(text.encode()).digest() for text in texts]
        found = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            made = np.asarray(self.model.embed(list(missing.values())), dtype=np.float32)
            new = dict(zip(missing, made, strict=True))
            with self._lock, self._file:
                rows = [(key, vector.tobytes()) for key, vector in new.items()]
                self._file.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?)", rows)
            found |= new
        vectors: NDArray[np.float32] = np.stack([found[key] for key in keys])
        return vectors

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        with self._lock:
            marks = ",".join("?" * len(keys))
            rows = self._file.execute(f"SELECT * FROM vector WHERE text_sha256 IN ({marks})", keys).fetchall()
        return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}

    @cached_property
    def _file(self) -> sqlite3.Connection:
        folder = self._cache / "kept"
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"{sha256(self.identity.encode()).hexdigest()[:16]}.sqlite"
        file = sqlite3.connect(place, timeout=BUSY_S, check_same_thread=False)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute(_TABLE)
        return file
