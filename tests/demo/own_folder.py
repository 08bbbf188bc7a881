"""The same way on a folder of the reader's own: sync, three questions made of its titles, and what failed."""

import re
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tests.demo.commands import DemoFailure, Headwater
from tests.demo.narration import Narration

CORPUS: Final = "demo/own/folder"
PERSON: Final = "you"
READABLE: Final = ("indexed", "partial")
PAGE: Final = 200
QUESTIONS: Final = 3


def tell(headwater: Headwater, narration: Narration, folder: Path) -> None:
    """Reads ``folder`` and writes nothing there."""
    narration.step("Start PostgreSQL with pgvector, Temporal and the workers, on this machine only")
    with headwater.up():
        narration.seen(f"running; their data are under {headwater.home}")
        narration.step(f"Sync {folder}; nothing is written there, and you alone may read what is found")
        headwater.watch("sync", "folder", str(folder), "--corpus", CORPUS, "--grant", f"user:{PERSON}")
        sources = _sources(headwater)
        readable = [source for source in sources if source["state"] in READABLE]
        if not readable:
            _list_failures(narration, sources)
            raise DemoFailure(
                f"No document of {folder} could be read. Markdown, text, HTML and PDF are; files whose name begins with "
                "a dot are left out."
            )
        narration.seen(f"{len(readable)} of {len(sources)} documents can be asked")
        _ask(headwater, narration, folder)
        narration.step("Documents that could not be read, and why")
        _list_failures(narration, sources)
    narration.step("Everything that was started has been stopped")


def _sources(headwater: Headwater) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    asked = ["status", "--corpus", CORPUS, "--limit", str(PAGE)]
    cursor: str | None = None
    while True:
        page = headwater.ask(*asked, *(["--cursor", cursor] if cursor else []))
        found.extend(page["sources"])
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def _ask(headwater: Headwater, narration: Narration, folder: Path) -> None:
    narration.step("Ask three questions made of the titles")
    for title in titles(headwater.ask(*_search(folder.name or "documents"), "--top-k", "32"))[:QUESTIONS]:
        asked = _search(f"What is said about {title}?")
        headwater.show(*asked, "--top-k", "1", lines=10)
        if not headwater.ask(*asked)["hits"]:
            raise DemoFailure("A question to a corpus with readable documents must be answered, and this one was not.")


def titles(found: Any) -> list[str]:
    """The titles of the documents that passages are from, each once; a document without one goes by its file's name."""
    by_source = {hit["source_id"]: hit["title"] or _name(hit["metadata"]["path"]) for hit in found["hits"]}
    return list(dict.fromkeys(by_source.values()))


def _name(path: str) -> str:
    return re.sub(r"[\s_\-]+", " ", PurePosixPath(path).stem).strip()


def _search(question: str) -> tuple[str, ...]:
    return ("search", question, "--corpus", CORPUS, "--as", PERSON)


def _list_failures(narration: Narration, sources: list[dict[str, Any]]) -> None:
    failed = [source for source in sources if source["state"] not in (*READABLE, "empty", "pending")]
    for source in failed:
        narration.say(f"{source['state']}: {source['source_id']}: {source['reason']}")
    if not failed:
        narration.seen("none")
