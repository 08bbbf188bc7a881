"""What each process of the stress test does until its shift is over: writers change one corpus, readers look at it."""

import random
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from uuid import uuid4

import numpy as np

from activities.store import Store
from activities.store.pointer import delete_sources
from activities.store.publish import publish_page
from activities.store.sql import queries
from headwater.connectors import GrantSet
from headwater.errors import HeadwaterError
from tests.integration.seen import SEEN, of_schema
from tests.integration.staging_factory import Corpus, Document, Noted, deleted, granted, publish, roll_back, stage

ALWAYS = [f"always-{number:02d}" for number in range(16)]  # replaced, never deleted
COMING = [f"coming-{number}" for number in range(4)]  # deleted and added again
BATCH = [f"batch-{number}" for number in range(4)]  # replaced together or not at all
MAX_CHUNKS = 8


@dataclass(frozen=True, slots=True)
class Shift:
    dsn: str
    corpus: Corpus
    until: float  # seconds since the epoch, the same for all
    seed: int
    has_lock: bool = True  # False: the negative control


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
        if not self.shift.has_lock:  # few sources, so that two writers often meet
            return self._publish("replaced", _document(self.chance.choice(ALWAYS[:3]), self._tag(), 3))
        actions = (self._replace, self._replace_batch, self._delete, self._add_again, self._roll_back, self._grant)
        self.chance.choices(actions, weights=(60, 14, 7, 8, 4, 7))[0]()

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
            publish(self.store, self.shift.corpus, deleted(name))
        self.done["deleted"] += 1

    def _add_again(self) -> None:
        self._publish("added again", _document(self.chance.choice(COMING), self._tag(), 3))

    def _roll_back(self) -> None:
        with self.store.connection() as connection:
            row = connection.execute("SELECT live_gen FROM headwater.scope").fetchone()
        assert row is not None
        roll_back(self.store, self.shift.corpus, max(1, row[0] - self.chance.randint(1, 15)))
        self.done["rolled back"] += 1

    def _grant(self) -> None:
        names = self.chance.sample(("alice", "bob", "carol"), 2)
        publish(
            self.store, self.shift.corpus, granted(self.chance.choice(ALWAYS), GrantSet(principal_ids=tuple(names)))
        )
        self.done["granted"] += 1

    def _publish(self, what: str, *lines: Document | Noted) -> None:
        named = dict(queries(self.store.schema, "publish"))
        if not self.shift.has_lock:
            # The rows of the sources would do for the scope's, where two writers meet on one document.
            named["lock_scope"] = named["lock_scope"].replace(b"FOR NO KEY UPDATE OF s", b"")
            named["lock_sources"] = named["lock_sources"].replace(b"FOR NO KEY UPDATE", b"")
        page = stage(self.store, self.shift.corpus, *lines)
        result = publish_page(self.store, page, fence=self.shift.corpus.fence, sql=named)
        self.done[what if result.upserted else "refused"] += 1
        # Its four are read in one order by all writers, so a later reading of one of them is a later one of all.
        if 0 < result.upserted < len(lines):
            self.done["published in part"] += 1

    def _tag(self) -> str:
        return uuid4().hex


def read(shift: Shift) -> Counter[str]:
    """Counts of reads, and of each thing that no reader may see."""
    found: Counter[str] = Counter()
    key = {"scope_id": shift.corpus.build.scope_id, "principal": None}
    with Store.open(shift.dsn, max_size=2) as store, store.connection() as connection:
        statement = of_schema(store, SEEN)
        while time.time() < shift.until:
            found["reads"] += 1
            texts: dict[str, list[tuple[int, str]]] = defaultdict(list)
            for source_id, rev_id, _, _, _, body in connection.execute(statement, key):
                texts[source_id].append((rev_id, body))
            found.update(_faults(texts))
    return found


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
