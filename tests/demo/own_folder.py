"""The same way on a folder of the reader's own: sync, three questions made of its titles, and what failed."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import psycopg

from tests.demo.commands import Headwater
from tests.demo.failure import DemoFailure
from tests.demo.narration import Narration

CORPUS: Final = "demo/own/folder"
PERSON: Final = "you"
READABLE: Final = ("indexed", "partial")
PAGE: Final = 200
QUESTIONS: Final = 3
TRIES: Final = 12
TITLE_MAX: Final = 100


@dataclass(frozen=True)
class Titled:
    """A document, and what it is called."""

    source_id: str
    path: str
    title: str | None

    @property
    def has_real_title(self) -> bool:
        """Whether somebody gave it one: without, a document goes by its file's name."""
        return bool(self.title) and self.title != PurePosixPath(self.path).name

    @property
    def called(self) -> str:
        name = re.sub(r"[\s_\-]+", " ", PurePosixPath(self.path).stem).strip()
        return str(self.title).strip() if self.has_real_title else name


def tell(headwater: Headwater, narration: Narration, folder: Path) -> None:
    """Reads ``folder`` and writes nothing there."""
    narration.step("Start PostgreSQL with pgvector, Temporal and the workers, on this machine only")
    with headwater.up():
        narration.seen(f"running; their data are in {headwater.whereabouts}")
        narration.step(f"Sync {folder}; nothing is written there, and you alone may read what is found")
        headwater.watch("sync", "folder", str(folder), "--corpus", CORPUS, "--grant", f"user:{PERSON}")
        sources = _sources(headwater)
        readable = [source for source in sources if source["state"] in READABLE]
        failed = [source for source in sources if source["state"] not in (*READABLE, "empty", "pending")]
        if not readable:
            _list(narration, failed)
            raise DemoFailure(
                f"No document of {folder} could be read. Markdown, HTML, PDF and other text are; files whose name "
                "begins with a dot are left out."
            )
        narration.seen(f"{len(readable)} of {len(sources)} documents can be asked")
        _ask(headwater, narration)
        narration.step("Documents that could not be read, and why")
        _list(narration, failed)
        if not failed:
            narration.seen("none")
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


def _ask(headwater: Headwater, narration: Narration) -> None:
    """Three questions whose best answer comes from the document they were made of; fewer, and that is said."""
    narration.step("Ask three questions made of titles, and see whether the document of that title answers")
    answered = 0
    for document in worth_asking(_documents(headwater))[:TRIES]:
        asked = ("search", question_about(document.called), "--corpus", CORPUS, "--as", PERSON)
        hits = headwater.ask(*asked)["hits"]
        if not hits:
            raise DemoFailure("A question to a corpus with readable documents must be answered, and this one was not.")
        if hits[0]["source_id"] != document.source_id:
            continue
        headwater.show(*asked, "--top-k", "1", lines=10)
        kind = "title" if document.has_real_title else "file name"
        narration.seen(f"the best answer comes from {document.path}, whose {kind} was asked for")
        answered += 1
        if answered == QUESTIONS:
            return
    if answered == 0:
        narration.say("None could be asked: to every title that was tried, another document has the nearest passage.")
    else:
        questions = "question" if answered == 1 else "questions"
        narration.say(
            f"Only {answered} {questions}: no other title that was tried is answered best by its own document."
        )


def _documents(headwater: Headwater) -> list[Titled]:
    """All that can be found. No command lists titles, so they are read as an application would, with its login."""
    services = json.loads((headwater.home / "services.json").read_text("utf-8"))
    with psycopg.connect(services["reader_url"]) as connection:
        rows = connection.execute(
            "SELECT s.source_id, coalesce(d.metadata ->> 'path', s.source_id), d.title"
            " FROM headwater.document_version d JOIN headwater.source s USING (source_pk)"
            " JOIN headwater.span x ON x.version_id = d.version_id WHERE d.text ~ '[[:alnum:]]' ORDER BY s.source_id"
        ).fetchall()
    return [Titled(*row) for row in rows]


def worth_asking(documents: Iterable[Titled]) -> list[Titled]:
    """Those that a question can be made of: with a real title first, and each kind spread over the folder."""
    known = list(documents)
    times = Counter(document.called.casefold() for document in known)
    asked = [
        document
        for document in known
        if len(document.called) <= TITLE_MAX
        and sum(letter.isalpha() for letter in document.called) >= 2
        and times[document.called.casefold()] == 1
    ]
    titled = [document for document in asked if document.has_real_title]
    named = [document for document in asked if not document.has_real_title]
    return [*_spread(titled), *_spread(named)]


def _spread(documents: Sequence[Titled]) -> list[Titled]:
    """In an order whose first three lie far apart, in the order of paths: most of the time, in different folders."""
    by_path = sorted(documents, key=lambda document: document.path)
    stride = max(1, -(-len(by_path) // QUESTIONS))
    return [document for first in range(stride) for document in by_path[first::stride]]


def question_about(title: str) -> str:
    return title if title.endswith(("?", "？")) else f"What is said about {title.rstrip(' .:;!')}?"


def _list(narration: Narration, failed: Sequence[dict[str, Any]]) -> None:
    for source in failed:
        narration.say(f"{source['state']}: {source['source_id']}: {source['reason']}")
