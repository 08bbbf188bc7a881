"""`headwater doctor --recall`: how much of the nearest passages the search of a corpus finds, for readers of much and of little."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headwater.errors import ValidationError
from headwater.models import Authorization, Scope
from headwater.recall import NEAREST, Recall, Remembering, measure_recall, percentile
from headwater.retriever import Retriever
from workers.cli.checks import Check, Status
from workers.cli.context import Invocation
from workers.cli.errors import CommandFailed, WrongUsage, arguments
from workers.cli.services import open_services

QUESTIONS: Final = 50
QUESTIONS_MAX: Final = 10_000
READERS: Final = 5
GOOD: Final = 0.99
BAD: Final = 0.9


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks, as a person writes it."""

    said: str
    authorization: Authorization


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of one reader's questions."""

    reader: str
    recall: Recall

    @property
    def status(self) -> Status:
        if self.recall.short or self.recall.average < BAD:
            return "fault"
        return "ok" if self.recall.average >= GOOD else "warning"

    def as_check(self) -> Check:
        recall = self.recall
        usual, exact = _times_ms(recall.usual_s), _times_ms(recall.exact_s)
        found = (
            f"{recall.average:.3f} of the nearest {NEAREST} found (worst question {recall.worst:.2f}, {recall.questions} questions); "
            f"p50 {usual[0]:.1f} ms, p95 {usual[1]:.1f} ms; compared exactly {exact[0]:.1f} and {exact[1]:.1f} ms"
        )
        return Check(f"recall, {self.reader}", self.status, found, self._advice())

    def _advice(self) -> str:
        if self.recall.short:
            return f"{self.recall.short} question(s) got fewer passages than there are: please report this."
        if self.status == "ok":
            return ""
        return (
            "Ask with exact=True (`headwater search --exact`) where every passage counts; `headwater reindex` makes the corpus's "
            "graph anew, which helps if much was deleted or replaced since."
        )

    def as_json(self) -> dict[str, Any]:
        recall = self.recall
        usual, exact = _times_ms(recall.usual_s), _times_ms(recall.exact_s)
        return {
            "reader": self.reader,
            "status": self.status,
            "questions": recall.questions,
            "recall": recall.average,
            "worst": recall.worst,
            "short": recall.short,
            "p50_ms": usual[0],
            "p95_ms": usual[1],
            "exact_p50_ms": exact[0],
            "exact_p95_ms": exact[1],
            "advice": self._advice(),
        }


def measured(
    invocation: Invocation, corpus: str, *, principal: str | None, groups: Sequence[str], questions: Path | None
) -> Iterator[Measured]:
    """What comes of each reader's questions: of the one that is named, or of some from the widest to the narrowest."""
    with arguments():
        scope = Scope.parse(corpus)
        who = None if principal is None else _named(scope, principal, groups)
    if who is None and groups:
        raise WrongUsage("--group says in which groups somebody is: say who with --as, or leave it out.")
    given = None if questions is None else read_questions(questions)
    with _corpus(invocation, scope, given) as (retriever, asked, readers):
        for reader in [who] if who else readers:
            recall = measure_recall(retriever, asked, scope=scope, authorization=reader.authorization)
            if recall.questions:
                yield Measured(reader.said, recall)


@contextmanager
def _corpus(
    invocation: Invocation, scope: Scope, given: Sequence[str] | None
) -> Iterator[tuple[Retriever, Sequence[str], Sequence[Reader]]]:
    """A retriever for the corpus, what to ask it, and for whom."""
    from activities.embedder_source import EmbedderSource
    from activities.store import Store
    from activities.store.recall import sample_passages, sample_readers
    from activities.store.scopes import live_build

    with open_services(invocation, temporal=False) as services:
        with Store.open(services.database_url, schema=services.schema, max_size=1) as store:
            build = live_build(store, scope)
            if build is None:
                raise CommandFailed(f"Corpus {scope} does not exist: `headwater status` lists those that do.")
            asked = given or sample_passages(store, scope, QUESTIONS)
            readers = [
                _reader(scope, each.kind, each.name, each.sources) for each in sample_readers(store, scope, READERS)
            ]
        if not asked:
            raise CommandFailed(f"Corpus {scope} has no passages to ask for: sync it first.")
        embedder = Remembering(EmbedderSource().of(build))
        with Retriever.connect(services.reader_url, embedder=embedder, schema=services.schema) as retriever:
            yield retriever, asked, readers


def _named(scope: Scope, principal: str, groups: Sequence[str]) -> Reader:
    who = Authorization(principal_id=principal, tenant_id=scope.tenant_id, group_ids=tuple(groups))
    return Reader(principal, who)


def _reader(scope: Scope, kind: str, name: str, sources: int) -> Reader:
    """Somebody with one name: a member of a group, or of no group at all, is called as nobody is."""
    nobody = "headwater doctor"
    groups = (name,) if kind == "group" else ()
    who = Authorization(
        principal_id=name if kind == "principal" else nobody, tenant_id=scope.tenant_id, group_ids=groups
    )
    said = {"principal": name, "group": f"group {name}", "everyone": "everyone"}[kind]
    return Reader(f"{said} ({sources:,} sources)", who)


def read_questions(file: Path) -> list[str]:
    """One question a line: as it stands, or as JSON with a `text`."""
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise WrongUsage(f"{file} is not UTF-8: save it as such.") from error
    questions = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            questions.append(_question(line))
        except ValueError as error:
            raise WrongUsage(f"{file}, line {number}: {error}") from error
    if not questions:
        raise WrongUsage(f"{file} has no questions: write one a line.")
    if len(questions) > QUESTIONS_MAX:
        raise WrongUsage(f"{file} has {len(questions):,} questions: at most {QUESTIONS_MAX:,} are asked.")
    return questions


def _question(line: str) -> str:
    if not line.lstrip().startswith("{"):
        return line.strip()
    try:
        text = json.loads(line).get("text")
    except (json.JSONDecodeError, RecursionError):
        raise ValidationError("this is not JSON: write a question, or an object with a text.") from None
    if not isinstance(text, str) or not text.strip():
        raise ValidationError('an object needs a "text" with the question.')
    return text


def _times_ms(seconds: Sequence[float]) -> tuple[float, float]:
    return 1e3 * percentile(seconds, 0.5), 1e3 * percentile(seconds, 0.95)
