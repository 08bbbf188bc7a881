"""What each process of the stress test does until its shift is over: writers change one corpus, readers look at it."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from uuid import uuid4

import numpy as np

from activities.contracts import PublishedPage
from activities.store import Store
from activities.store.generations import pin
from activities.store.pages.publish import PublishingHeld, publish_page
from activities.store.scopes import live_build
from activities.store.sql import queries
from headwater.connectors import GrantSet
from headwater.errors import HeadwaterError
from headwater.retriever import Retriever
from tests.integration.asked import delete_sources, who
from tests.integration.seen import SEEN, hidden, of_schema
from tests.integration.staging_factory import Corpus, Document, Noted, deleted, granted, publish, roll_back, stage
from tests.integration.stress_fates import FORBIDDEN, Fates, text_of

ALWAYS = [f"always-{number:02d}" for number in range(16)]  # replaced, never deleted
COMING = [f"coming-{number}" for number in range(4)]  # deleted and added again
BATCH = [f"batch-{number}" for number in range(4)]  # replaced together or not at all
MAX_CHUNKS = 8

# What a run leaves out to show that its readers would notice.
Without = Literal["nothing", "lock", "fence"]


@dataclass(frozen=True, slots=True)
class Shift:
    dsn: str
    corpus: Corpus
    until: float  # seconds since the epoch, the same for all
    seed: int
    without: Without = "nothing"


def first_page(store: Store, corpus: Corpus) -> None:
    publish(store, corpus, *[_document(name, "first", MAX_CHUNKS) for name in (*ALWAYS, *COMING, *BATCH)])


def write(shift: Shift) -> Counter[str]:
    """Counts of what was done, of what was refused, and of errors by name."""
    done: Counter[str] = Counter()
    with Store.open(shift.dsn, max_size=2) as store:
        writer = _Writer(store, shift, random.Random(shift.seed), done)
        while time.time() < shift.until:
            try:
                writer.act()
            except PublishingHeld:
                done["held"] += 1
            except HeadwaterError as error:
                done[f"error {type(error.__cause__ or error).__name__}"] += 1
    return done


@dataclass(frozen=True, slots=True)
class _Writer:
    store: Store
    shift: Shift
    chance: random.Random
    done: Counter[str]

    def act(self) -> None:
        if self.shift.without == "lock":  # few sources, so that two writers often meet
            return self._publish("replaced", _document(self.chance.choice(ALWAYS[:3]), self._tag(), 3))
        if self.shift.without == "fence":
            return self._live_and_end()
        actions = {
            self._replace: 40, self._replace_batch: 12, self._delete: 6, self._add_again: 7, self._roll_back: 4,
            self._grant: 6, self._pin: 4, self._live_and_end: 24,
        }  # fmt: skip
        self.chance.choices(list(actions), weights=list(actions.values()))[0]()

    def _replace(self) -> None:
        count = self.chance.randint(1, MAX_CHUNKS)
        self._publish("replaced", _document(self.chance.choice(ALWAYS), self._tag(), count))

    def _replace_batch(self) -> None:
        tag = self._tag()
        self._publish("batches", *[_document(name, tag, MAX_CHUNKS) for name in BATCH])

    def _delete(self) -> None:
        name = self.chance.choice(COMING)
        if self.chance.random() < 0.5:
            delete_sources(self.store, self.shift.corpus.build.scope_id, [name])
        else:
            publish(self.store, self._corpus(), deleted(name))
        self.done["deleted"] += 1

    def _add_again(self) -> None:
        self._publish("added again", _document(self.chance.choice(COMING), self._tag(), 3))

    def _roll_back(self) -> None:
        with self.store.connection() as connection:
            row = connection.execute("SELECT live_gen FROM headwater.scope").fetchone()
        assert row is not None
        roll_back(self.store, self.shift.corpus, max(1, row[0] - self.chance.randint(1, 15)))
        self.done["rolled back"] += 1

    def _pin(self) -> None:
        pinned = self.chance.random() < 0.4
        pin(self.store, self.shift.corpus.scope, pinned=pinned)
        self.done["pinned" if pinned else "unpinned"] += 1

    def _grant(self) -> None:
        names = self.chance.sample(("alice", "bob", "carol"), 2)
        page = granted(self.chance.choice(ALWAYS), GrantSet(principal_ids=tuple(names)))
        publish(self.store, self._corpus(), page)
        self.done["granted"] += 1

    def _live_and_end(self) -> None:
        fates = Fates(self.store, self._corpus(), self.chance, self._publish_page)
        self.done[fates.live_and_end()] += 1

    def _publish(self, what: str, *lines: Document | Noted) -> None:
        page = stage(self.store, self._corpus(), *lines)
        result = self._publish_page(page, self.shift.corpus.fence)
        if result.is_stale_build:
            self.done["staged for a former build"] += 1
            return
        self.done[what if result.upserted else "refused"] += 1
        # Its four are read in one order by all writers, so a later reading of one of them is a later one of all.
        if 0 < result.upserted < len(lines):
            self.done["published in part"] += 1

    def _publish_page(self, page_id: int, fence: int | None) -> PublishedPage:
        return publish_page(self.store, page_id, fence=fence, sql=self._statements())

    def _statements(self) -> Mapping[str, bytes]:
        named = dict(queries(self.store.schema, "publish"))
        if self.shift.without == "lock":
            # The rows of the sources would do for the scope's, where two writers meet on one document.
            named["lock_scope"] = named["lock_scope"].replace(b"FOR NO KEY UPDATE OF s", b"")
            named["lock_sources"] = named["lock_sources"].replace(b"FOR NO KEY UPDATE", b"")
        elif self.shift.without == "fence":
            named["candidates"] = named["candidates"].replace(
                b"       s.fence_gen, r.base", b" 0::bigint AS fence_gen, r.base"
            )
        return named

    def _corpus(self) -> Corpus:
        """With the build that is live now: it may have another one by the time a page is published."""
        build = live_build(self.store, self.shift.corpus.scope)
        assert build is not None
        return replace(self.shift.corpus, build=build)

    def _tag(self) -> str:
        return uuid4().hex


def read(shift: Shift) -> Counter[str]:
    """Counts of reads, and of each thing that no reader may see."""
    found: Counter[str] = Counter()
    with Store.open(shift.dsn, max_size=2) as store, Retriever.connect(shift.dsn, embedder="hash:8") as library:
        reader = _Reader(store, library, shift.corpus, random.Random(shift.seed))
        while time.time() < shift.until:
            found["reads"] += 1
            found.update(reader.whole())
            found.update(reader.forbidden("ann"))
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    store: Store
    library: Retriever
    corpus: Corpus
    chance: random.Random

    def whole(self) -> Counter[str]:
        """Looks at all that the pointer shows."""
        return _faults(self._texts(None))

    def forbidden(self, principal: str) -> Counter[str]:
        """Looks for what was out of this reader's sight before it began: in all that the store shows it, and in the library."""
        with self.store.connection() as connection:
            gone = dict(connection.execute(FORBIDDEN, {"principal": principal}).fetchall())
        shown = self._texts(principal).keys()
        seen = gone.keys() & shown - hidden(self.store, self.corpus)
        faults = Counter(forbidden=len(seen))
        faults.update(f"forbidden: {gone[source_id]}" for source_id in seen)
        given: set[str] = set()
        # The passage itself: if it may be given out, it is the nearest.
        for text in ("text", *map(text_of, self.chance.sample(sorted(gone), min(3, len(gone))))):
            answer = self.library.retrieve(text, scope=self.corpus.scope, authorization=who(principal), top_k=32)
            given |= {hit.source_id for hit in answer.hits}
        faults["given out"] += len(gone.keys() & given)
        faults["library hits"] += len(given)
        return faults

    def _texts(self, principal: str | None) -> dict[str, list[tuple[int, str]]]:
        key = {"scope_id": self.corpus.build.scope_id, "principal": principal}
        texts: dict[str, list[tuple[int, str]]] = defaultdict(list)
        with self.store.connection() as connection:
            for source_id, rev_id, _, _, _, body in connection.execute(of_schema(self.store, SEEN), key):
                texts[source_id].append((rev_id, body))
        return texts


def _faults(texts: dict[str, list[tuple[int, str]]]) -> Counter[str]:
    faults: Counter[str] = Counter()
    for chunks in texts.values():
        # The join shows every span there is, also a second one of the same source.
        tags = {(rev_id, body.split("|")[0]) for rev_id, body in chunks}
        numbers = sorted(int(body.split("|")[1]) for _, body in chunks)
        count = int(chunks[0][1].split("|")[2])
        if len(tags) > 1:
            faults["mixed"] += 1
        elif numbers != list(range(count)):
            faults["short"] += 1
    faults["missing"] += len({*ALWAYS, *BATCH} - set(texts))
    if len({body.split("|")[0] for name in BATCH for _, body in texts[name]}) > 1:
        faults["batch mixed"] += 1
    return faults


def _document(source_id: str, tag: str, count: int) -> Document:
    texts = [f"{tag}|{number}|{count}" for number in range(count)]
    return Document(source_id, texts, vectors=np.ones((count, 8), dtype=np.float32))
