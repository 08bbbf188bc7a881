"""A collection for evaluation: documents, queries, and which documents answer which query."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workers.cli.judgements import read_judgements, read_queries


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    text: str

    @property
    def whole(self) -> str:
        """What is indexed: the title is the first paragraph, as in a document that somebody wrote."""
        return f"{self.title}\n\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Collection:
    """``docs.jsonl``, ``queries.jsonl``, ``qrels.jsonl`` and ``meta.json`` of one folder."""

    name: str
    language: str  # of ISO 639-1
    documents: dict[str, Document]
    queries: dict[str, str]
    judgements: dict[str, dict[str, float]]

    @classmethod
    def read(cls, folder: Path) -> "Collection":
        meta = folder / "meta.json"
        return cls(
            folder.name,
            json.loads(meta.read_text("utf-8")).get("lang", "en") if meta.is_file() else "en",
            {
                str(line["id"]): Document(line.get("title") or "", line["text"])
                for line in _lines(folder / "docs.jsonl")
            },
            read_queries(folder / "queries.jsonl"),
            read_judgements(folder / "qrels.jsonl"),
        )

    def thinned(self, every: int) -> "Collection":
        """The same documents, asked by every nth query."""
        kept = dict(list(self.judgements.items())[::every])
        return replace(self, judgements=kept)

    @property
    def bytes_a_character(self) -> float:
        texts = [document.text for document in self.documents.values()]
        return sum(len(text.encode()) for text in texts) / sum(map(len, texts))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)
