"""The same way on a folder of the reader's own: sync, three questions made of its titles, and what failed."""

import re
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from tests.demo.commands import DemoFailure, Headwater
from tests.demo.narration import Narration

CORPUS: Final = "demo/own/folder"
PERSON: Final = "you"
READABLE: Final = ("indexed", "partial")
PAGE: Final = 200


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
        _ask(headwater, narration, readable)
        narration.step("Documents that could not be read, and why")
        _list_failures(narration, sources)
    narration.step("Everything that was started has been stopped")


def question_of(source_id: str) -> str:
    """A question made of a document's title, as its file name gives it."""
    path = PurePosixPath(unquote(source_id.partition("/")[2]))
    title = re.sub(r"[\s_\-.]+", " ", path.stem).strip() or path.name
    if title.casefold() in ("readme", "index") and path.parent.name:
        title = re.sub(r"[\s_\-.]+", " ", path.parent.name).strip()
    return f"What is said about {title}?"


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


def _ask(headwater: Headwater, narration: Narration, readable: list[dict[str, Any]]) -> None:
    narration.step("Ask three questions made of the titles")
    # The first, the middle and the last: three different corners of most folders.
    chosen = {readable[place]["source_id"]: None for place in (0, len(readable) // 2, -1)}
    for source_id in chosen:
        asked = ("search", question_of(source_id), "--corpus", CORPUS, "--as", PERSON)
        headwater.show(*asked, "--top-k", "1", lines=10)
        if not headwater.ask(*asked)["hits"]:
            raise DemoFailure("A question to a corpus with readable documents must be answered, and this one was not.")


def _list_failures(narration: Narration, sources: list[dict[str, Any]]) -> None:
    failed = [source for source in sources if source["state"] not in (*READABLE, "empty", "pending")]
    for source in failed:
        narration.say(f"{source['state']}: {source['source_id']}: {source['reason']}")
    if not failed:
        narration.seen("none")
