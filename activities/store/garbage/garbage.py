"""What no reader can ever be shown again is deleted: page by page, under the scope's lock, harmless when repeated.

A generation is kept while it is among the last `Keep.generations`, or not older than `Keep.seconds`; the pointer, a pin and
a rollback hold theirs whatever their age. Of deleted and of forgotten sources nothing waits for that. What is under a legal
hold keeps its texts. Rows of `source` stay: their fences, numbers and access versions order whoever comes late.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import psycopg

from activities.store.database import Store
from activities.store.garbage.dropping import drop_builds
from activities.store.garbage.freeing import PAGE, Freed, by_slab, delete_revisions, delete_versions, locked
from activities.store.lexicon.counting import builds_of, fold
from activities.store.requests import InvalidInput, audit
from activities.store.sql import queries
from headwater.models import Scope

FOUND_AT_ONCE: Final = 1_000  # looked for without a lock, then deleted in pages
ROWS: Final = 500  # of small things in one transaction
CONTENTS: Final = 10  # each may have 256 MiB


@dataclass(frozen=True, slots=True)
class Keep:
    """How far back readers can be shown what was: a generation is collected when it is older than both."""

    generations: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Corpus:
    """Whose garbage is collected, and what of it is none."""

    store: Store
    connection: psycopg.Connection
    schema: str
    scope_id: int
    keep: Keep


@dataclass(frozen=True, slots=True)
class Progress:
    """What one transaction freed, and the step it belongs to: where another attempt may begin."""

    step: str
    freed: Freed


def collect(
    store: Store, scope: Scope, keep: Keep, *, start: str | None = None, is_thorough: bool = True
) -> Iterator[Progress]:
    """Frees what can be freed, from step `start` on, and says so after every transaction. Stop whenever you like.

    Without `is_thorough` it leaves out what has to look at every document.
    """
    steps = list(STEPS if is_thorough else QUICK)
    with store.connection() as connection:
        corpus = Corpus(store, connection, store.schema, _scope_id(connection, store.schema, scope), keep)
        for step in steps[steps.index(start) if start in steps else 0 :]:
            for freed in STEPS[step](corpus):
                yield Progress(step, freed)


def collect_little(store: Store, scope: Scope, keep: Keep, *, transactions: int) -> Freed:
    """What so many transactions can free of what is found without looking at every document."""
    freed = Freed()
    for progress in islice(collect(store, scope, keep, is_thorough=False), transactions):
        freed += progress.freed
    return freed


def oldest_generation(store: Store, scope: Scope) -> int:
    """The first that can be shown; 0 where nothing was published yet."""
    with store.connection() as connection:
        key = {"scope_id": _scope_id(connection, store.schema, scope)}
        row = connection.execute(queries(store.schema, "generations")["oldest"], key).fetchone()
    return 0 if row is None else int(row[0] or 0)


def note_asked(store: Store, scope: Scope, keep: Keep, *, actor: str) -> None:
    """Writes down who asked for it, and how much was to be kept. What the schedule starts is not written down."""
    detail = {"keep_generations": keep.generations, "keep_s": keep.seconds}
    with store.connection() as connection:
        scope_id = _scope_id(connection, store.schema, scope)
        audit(connection, store.schema, scope_id, actor=actor, action="collect_garbage", detail=detail)


def scopes_after(store: Store, after: Scope | None, *, tenants: Collection[str], limit: int) -> list[Scope]:
    """Corpora (of `tenants`, or of all) in the order of their names, after that one."""
    key: dict[str, Any] = {"tenants": list(tenants), "limit": limit}
    for part in ("tenant", "resource", "corpus"):
        key[f"{part}_after"] = getattr(after, f"{part}_id") if after else ""
    with store.connection() as connection:
        rows = connection.execute(queries(store.schema, "garbage")["scopes"], key).fetchall()
    return [Scope(tenant_id=tenant, resource_id=resource, corpus_id=corpus) for tenant, resource, corpus in rows]


def _scope_id(connection: psycopg.Connection, schema: str, scope: Scope) -> int:
    row = connection.execute(queries(schema, "garbage")["scope"], scope.model_dump()).fetchone()
    if row is None:
        raise InvalidInput(f"Corpus {scope} does not exist: `headwater status` lists those that do.")
    return int(row[0])


def _tidy(corpus: Corpus) -> Iterator[Freed]:
    """From here on older generations can be shown no more, nor builds that only they showed; and what named those goes."""
    sql = queries(corpus.schema, "garbage")
    key = {"scope_id": corpus.scope_id, "limit": ROWS}
    kept = {"keep_generations": corpus.keep.generations, "keep_s": corpus.keep.seconds}
    is_going_on = True
    while is_going_on:
        with locked(corpus.connection, corpus.schema, corpus.scope_id), corpus.connection.pipeline() as pipeline:
            for statement in ("raise_floor", "drop_unreachable", "drop_forsaken", "pass_dropped"):
                corpus.connection.execute(sql[statement], {**key, **kept})
            deleted = [
                corpus.connection.execute(sql[statement], key)
                for statement in ("trim_log", "drop_abandoned_pages", "drop_pages", "drop_forwards")
            ]
            pipeline.sync()
            is_going_on = any(cursor.rowcount == ROWS for cursor in deleted)
        yield Freed()


def _drop_dead(corpus: Corpus) -> Iterator[Freed]:
    return _drop_found(corpus, "find_dead")


def _drop_left(corpus: Corpus) -> Iterator[Freed]:
    return _drop_found(corpus, "find_left")


def _count_terms(corpus: Corpus) -> Iterator[Freed]:
    """First, so that little is left to be uncounted under the lock: the counts catch up with what is shown."""
    for build_id in builds_of(corpus.store, corpus.scope_id):
        for _ in fold(corpus.store, build_id):
            yield Freed()


def _drop_builds(corpus: Corpus) -> Iterator[Freed]:
    return drop_builds(corpus.connection, corpus.schema, corpus.scope_id)


def _drop_contents(corpus: Corpus) -> Iterator[Freed]:
    for count in _repeated(corpus, "drop_content", limit=CONTENTS):
        yield Freed(staged=count)


def _drop_requests(corpus: Corpus) -> Iterator[Freed]:
    for count in _repeated(corpus, "drop_requests", limit=ROWS):
        yield Freed(requests=count)


def _drop_orphans(corpus: Corpus) -> Iterator[Freed]:
    is_going_on = True
    while is_going_on:
        is_going_on = False
        for version_ids in _found(corpus, "find_orphans"):
            documents = delete_versions(corpus.connection, corpus.schema, version_ids)
            is_going_on |= documents > 0
            yield Freed(documents=documents)


def _drop_pending(corpus: Corpus) -> Iterator[Freed]:
    sql = queries(corpus.schema, "garbage")
    for source_pks in _found(corpus, "find_pending"):
        with locked(corpus.connection, corpus.schema, corpus.scope_id):
            corpus.connection.execute(sql["drop_pending"], {"scope_id": corpus.scope_id, "source_pks": source_pks})
        yield Freed()


def _drop_connectors(corpus: Corpus) -> Iterator[Freed]:
    sql = queries(corpus.schema, "garbage")
    for source_pks in _found(corpus, "find_abandoned"):
        with locked(corpus.connection, corpus.schema, corpus.scope_id):
            corpus.connection.execute(sql["release_abandoned"], {"source_pks": source_pks})
        yield Freed()
    drop_removed(corpus.connection, corpus.schema, corpus.scope_id)
    yield Freed()


def drop_removed(connection: psycopg.Connection, schema: str, scope_id: int, connector_id: int | None = None) -> None:
    """The rows of connectors that were removed go, or of that one, once nothing that they left behind is there."""
    key = {"scope_id": scope_id, "connector_id": connector_id}
    connection.execute(queries(schema, "garbage")["drop_removed"], key)


# In this order: the log lets go of builds, pages of revisions, revisions of texts.
STEPS: Final[dict[str, Callable[[Corpus], Iterator[Freed]]]] = {
    "terms": _count_terms,
    "floor": _tidy,
    "revisions": _drop_dead,
    "builds": _drop_builds,
    "contents": _drop_contents,
    "requests": _drop_requests,
    "staging": _drop_left,
    "texts": _drop_orphans,
    "status": _drop_pending,
    "connectors": _drop_connectors,
}
QUICK: Final = ("floor", "revisions", "builds", "contents", "requests")


def _drop_found(corpus: Corpus, looking: str) -> Iterator[Freed]:
    is_going_on = True
    while is_going_on:
        is_going_on = False
        for rev_ids in _found(corpus, looking):
            freed, spans = _drop_revisions(corpus, rev_ids)
            is_going_on |= spans > 0 or freed.revisions > 0
            yield freed


def _found(corpus: Corpus, looking: str) -> list[list[int]]:
    """Keys of what seems to be garbage, in pages. Looked for without a lock, since that may take long."""
    sql = queries(corpus.schema, "garbage")
    keys = [
        row[0] for row in corpus.connection.execute(sql[looking], {"scope_id": corpus.scope_id, "limit": FOUND_AT_ONCE})
    ]
    return [keys[first : first + PAGE] for first in range(0, len(keys), PAGE)]


def _drop_revisions(corpus: Corpus, rev_ids: Sequence[int]) -> tuple[Freed, int]:
    """What of these is dead still, now that nobody publishes; and how many spans went."""
    sql, connection = queries(corpus.schema, "garbage"), corpus.connection
    key = {"scope_id": corpus.scope_id, "rev_ids": list(rev_ids)}
    with locked(connection, corpus.schema, corpus.scope_id) as floor:
        spanned = [row[0] for row in connection.execute(sql["delete_dead_spans"], {**key, "min_gen": floor})]
        rows = connection.execute(sql["dead_revisions"], {**key, "spanned": spanned}).fetchall()
        slabs = by_slab((rev_id, slab) for rev_id, _, slab in rows)
        freed = delete_revisions(connection, corpus.schema, [rev_id for rev_id, _, _ in rows], slabs=slabs)
    documents = delete_versions(connection, corpus.schema, {version_id for _, version_id, _ in rows})
    return freed + Freed(documents=documents), len(spanned)


def _repeated(corpus: Corpus, statement: str, *, limit: int) -> Iterator[int]:
    """How many rows each statement deleted, until one finds no more than it may. Nobody else's work touches these."""
    key = {"scope_id": corpus.scope_id, "limit": limit}
    count = limit
    while count == limit:
        count = corpus.connection.execute(queries(corpus.schema, "garbage")[statement], key).rowcount
        yield count
