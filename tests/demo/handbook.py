"""The story on the sample handbook. Each step checks its own outcome and fails loudly."""

import shutil
from pathlib import Path
from typing import Any, Final

import yaml

from tests.demo.commands import Headwater
from tests.demo.failure import DemoFailure
from tests.demo.narration import Narration

SAMPLES: Final = Path(__file__).parent.parent / "samples"
CORPUS: Final = "tarnfield/docs/handbook"

MANUAL: Final = "product/TW-4 field manual.md"
EDIT: Final = ("Remove sand and threads", "Remove sand, threads and duckweed")
EDITED_QUESTION: Final = "The app shows E-351 and the wiper does not move. What do I do?"

DELETED: Final = "people/bicycle-scheme.txt"
DELETED_QUESTION: Final = "How much does a leased bicycle cost at most?"
DELETED_PHRASE: Final = "THE BICYCLE SCHEME"

DAMAGED: Final = "finance/scan of the lease.pdf"
GUARDED: Final = "hr/pay-bands.md"
OPEN: Final = "people/career-levels.md"
CLOSED_TO_MARA: Final = ("hr/", "board/", "engineering/", "finance/")
GUARDED_QUESTION: Final = "What is the salary range of a level 4 engineer?"


def tell(headwater: Headwater, narration: Narration, workplace: Path) -> None:
    """All of it, on a copy of the handbook in ``workplace``."""
    folder = workplace / "handbook"
    access = workplace / "handbook-access.yml"
    shutil.copytree(SAMPLES / "handbook", folder)
    shutil.copyfile(SAMPLES / "handbook-access.yml", access)
    sync = ("sync", "folder", str(folder), "--corpus", CORPUS)

    narration.step("Start PostgreSQL with pgvector, Temporal and the workers, on this machine only")
    with headwater.up():
        narration.seen(f"running; their data are in {headwater.whereabouts}")
        _sync_everything(headwater, narration, folder, access, sync)
        _ask_three_questions(headwater, narration)
        _ask_as_two_people(headwater, narration)
        _edit(headwater, narration, folder, sync)
        _delete(headwater, narration, folder, sync)
        _report_the_damaged(headwater, narration)
    narration.step("Everything that was started has been stopped")


def _sync_everything(
    headwater: Headwater, narration: Narration, folder: Path, access: Path, sync: tuple[str, ...]
) -> None:
    files = sum(path.is_file() for path in folder.rglob("*"))
    narration.step(
        f"Sync the handbook of Tarnfield Instruments: {files} documents, and a file that says who reads what"
    )
    narration.quote(access.read_text("utf-8"))
    headwater.watch(*sync, "--access", str(access))
    corpus = _corpus_status(headwater)
    by_state = {state: count for state, count in corpus["by_state"].items() if count}
    _expect(
        by_state == {"indexed": files - 2, "empty": 1, "failed": 1},
        f"{files - 2} documents indexed, one empty and one failed were expected, and status says {by_state}.",
    )
    narration.seen(
        f"{files - 1} documents are published: {by_state['indexed']} in {corpus['chunks']} passages, and one that is empty; "
        "one failed, because it is damaged"
    )


def _ask_three_questions(headwater: Headwater, narration: Narration) -> None:
    narration.step("Ask three questions; each answer is a passage with its source and its place in it")
    questions = yaml.safe_load((SAMPLES / "handbook-questions.yml").read_text("utf-8"))
    for entry in questions[:3]:
        asked = _search(entry["question"], entry["person"], entry.get("groups", ()))
        headwater.show(*asked, "--top-k", "1", lines=14)
        first = _paths(headwater.ask(*asked))[:1]
        _expect(first == [entry["answered_by"]], f"{entry['answered_by']} should answer, and {first} did.")
        narration.seen(f"answered by {entry['answered_by']}")


def _ask_as_two_people(headwater: Headwater, narration: Narration) -> None:
    narration.step("Ask the same question as two people: mara, and agnes of the group hr")
    as_mara = _search(GUARDED_QUESTION, "mara")
    as_agnes = _search(GUARDED_QUESTION, "agnes", ["hr"])
    headwater.show(*as_mara, "--top-k", "1", lines=8)
    seen_by_mara = _paths(headwater.ask(*as_mara, "--top-k", "32"))
    _expect(
        seen_by_mara[:1] == [OPEN] and not any(path.startswith(CLOSED_TO_MARA) for path in seen_by_mara),
        f"mara should find {OPEN} and nothing of {', '.join(CLOSED_TO_MARA)}, and found {seen_by_mara}.",
    )
    narration.seen(
        f"mara finds the open page {OPEN}; none of the {len(seen_by_mara)} passages nearest to her question comes from "
        f"{', '.join(CLOSED_TO_MARA[:-1])} or {CLOSED_TO_MARA[-1]}"
    )
    headwater.show(*as_agnes, "--top-k", "1", lines=8)
    seen_by_agnes = _paths(headwater.ask(*as_agnes))
    _expect(seen_by_agnes[:1] == [GUARDED], f"agnes should find {GUARDED} first, and found {seen_by_agnes}.")
    narration.seen(f"agnes finds {GUARDED}")


def _edit(headwater: Headwater, narration: Narration, folder: Path, sync: tuple[str, ...]) -> None:
    manual = folder / MANUAL
    before, after = EDIT
    text = manual.read_text("utf-8")
    _expect(text.count(before) == 1, f"{MANUAL} should hold {before!r} once.")
    narration.step(f"Edit one sentence of the longest document ({len(text) // 1000},000 characters) and sync again")
    narration.say(f"{before!r} becomes {after!r}")
    manual.write_text(text.replace(before, after), "utf-8")
    narration.command(sync)
    result = headwater.ask(*sync)
    embedded, reused = result["embedded_chunks"], result["reused_chunks"]
    _expect(
        result["upserted"] == 1 and 1 <= embedded <= 5 and reused >= 50,
        f"One document with a handful of new passages was expected, and the sync reports {result}.",
    )
    narration.seen(f"embedded again: {embedded} of its {embedded + reused} passages; kept as they were: {reused}")
    asked = _search(EDITED_QUESTION, "mara")
    narration.command(asked)
    told = sentence_with(after, headwater.ask(*asked)["hits"])
    _expect(told is not None, f"The answer should hold {after!r}, and does not.")
    narration.quote(str(told))
    narration.seen("the answer has the new words")


def _delete(headwater: Headwater, narration: Narration, folder: Path, sync: tuple[str, ...]) -> None:
    narration.step(f"Delete {DELETED} and sync again")
    asked = _search(DELETED_QUESTION, "mara")
    headwater.show(*asked, "--top-k", "1", lines=8)
    before = headwater.ask(*asked)
    _expect(
        _paths(before)[0] == DELETED and DELETED_PHRASE in before["text"],
        f"{DELETED} should answer before it is deleted.",
    )
    narration.seen(f"before: answered by {DELETED}")
    (folder / DELETED).unlink()
    narration.command(sync)
    result = headwater.ask(*sync)
    _expect(
        (result["deleted"], result["upserted"], result["embedded_chunks"]) == (1, 0, 0),
        f"One deletion and nothing else was expected, and the sync reports {result}.",
    )
    headwater.show(*asked, "--top-k", "1", lines=8)
    gone = headwater.ask(*asked, "--top-k", "32")
    _expect(
        DELETED not in _paths(gone) and DELETED_PHRASE not in str(gone),
        f"{DELETED} was deleted, and its text is still found.",
    )
    narration.seen("after: nothing of its text is found; this is the nearest passage of those that are left")


def _report_the_damaged(headwater: Headwater, narration: Narration) -> None:
    narration.step("See which documents could not be read, and why")
    asked = ("status", "--corpus", CORPUS, "--state", "failed")
    headwater.show(*asked)
    sources = headwater.ask(*asked)["sources"]
    _expect(
        len(sources) == 1 and "lease" in sources[0]["source_id"] and bool(sources[0]["reason"]),
        f"{DAMAGED} should be reported with a reason, and status says {sources}.",
    )
    narration.seen(f"{DAMAGED} is reported; all other documents went through")


def sentence_with(words: str, hits: Any) -> str | None:
    """The sentence that holds ``words``, on one line with the passage's citation; ``None`` if no passage has it."""
    for hit in hits:
        text = " ".join(hit["text"].split())
        if words in text:
            begins = max(text.rfind(end, 0, text.index(words)) for end in (". ", ": ", "? ")) + 1
            after = text.find(".", text.index(words))
            sentence = text[begins : len(text) if after < 0 else after + 1].strip()
            return f"{sentence} [{hit['provenance']['citation_id']}]"
    return None


def _search(question: str, person: str, groups: "list[str] | tuple[str, ...]" = ()) -> tuple[str, ...]:
    of_groups = (word for group in groups for word in ("--group", group))
    return ("search", question, "--corpus", CORPUS, "--as", person, *of_groups)


def _paths(found: Any) -> list[str]:
    """The documents of an answer, best first."""
    return [hit["metadata"]["path"] for hit in found["hits"]]


def _corpus_status(headwater: Headwater) -> Any:
    return headwater.ask("status", "--corpus", CORPUS)["corpora"][0]


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DemoFailure(otherwise)
