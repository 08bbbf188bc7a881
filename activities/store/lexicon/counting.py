"""In how many of a build's passages each term stands, and each tier of one: brought up to what the build shows, a page at a time, some time later.

Nothing of it is done while publishing holds the scope's lock. Which revisions are counted is written down with the counts, so that
whatever is done twice, or by two at once, or broken off, comes to the same. Counts that lag behind, or are of a part, say of the
terms of a corpus nearly what all of it would say; what they decide is an order and never what is found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import psycopg
from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.sql import in_slab, queries
from headwater.lexical import is_known

FOUND_AT_ONCE: Final = 10_000  # revisions looked for at once
PAGE: Final = 500  # revisions of one transaction,
PAGE_CHUNKS: Final = 1_024  #   and passages, unless a single document has more: about 50 ms
ROWS: Final = 10_000  # deleted at once of a build that is dropped

Revision = tuple[int, int]  # its number, and how many passages it has


@dataclass(frozen=True, slots=True)
class _Build:
    build_id: int
    slab: int
    lexicon: str
    head_gen: int
    since: int
    is_level: bool


def fold(store: Store, build_id: int) -> Iterator[int]:
    """Counts what the build's head shows and no more, and yields the passages that each transaction counted or uncounted.

    Ends when they are level, or where somebody else is at it, or its words are of a rule that this release does not have. Stop whenever you like.
    """
    sql = queries(store.schema, "lexicon")
    with store.connection() as connection:
        build = (
            connection.cursor(row_factory=class_row(_Build)).execute(sql["build"], {"build_id": build_id}).fetchone()
        )
        # By a rule that is not known here more may be counted than terms.
        if build is None or build.is_level or not is_known(build.lexicon):
            return
        key = {"build_id": build_id, "since": build.since, "limit": FOUND_AT_ONCE}
        ended = "find_gone" if build.since < 0 else "find_ended"
        changes: tuple[tuple[str, Callable[..., int | None]], ...] = (
            (ended, _uncount_page),
            ("find_shown", _count_page),
        )
        for looking, change in changes:
            while True:
                with connection.transaction():
                    connection.execute(sql["look_up"], {})
                    found = connection.execute(sql[looking], key).fetchall()
                for page in _pages(found):
                    done = change(connection, store.schema, build, page)
                    if done is None:
                        return
                    yield done
                if len(found) < FOUND_AT_ONCE:
                    break
        connection.execute(sql["note_level"], {"build_id": build_id, "head_gen": build.head_gen})


def builds_of(store: Store, scope_id: int) -> list[int]:
    """The builds of a corpus whose counts follow what they show."""
    with store.connection() as connection:
        rows = connection.execute(queries(store.schema, "lexicon")["builds"], {"scope_id": scope_id}).fetchall()
    return [build_id for (build_id,) in rows]


def build_of_page(store: Store, page_id: int) -> int | None:
    with store.connection() as connection:
        row = connection.execute(queries(store.schema, "lexicon")["build_of_page"], {"page_id": page_id}).fetchone()
    return None if row is None else int(row[0])


def uncount(connection: psycopg.Connection, schema: str, rev_ids: Sequence[int]) -> None:
    """In the transaction that then deletes the passages of these revisions: they are counted no more."""
    if not rev_ids:
        return
    sql = queries(schema, "lexicon")
    for build_id, slab, some in connection.execute(sql["counted_builds"], {"rev_ids": list(rev_ids)}).fetchall():
        connection.execute(sql["take_turn"], {"schema": schema, "build_id": build_id})
        gone = connection.execute(sql["uncount"], {"build_id": build_id, "rev_ids": some}).fetchall()
        _change(connection, schema, build_id, slab, gone, sign=-1)


def drop_counts(connection: psycopg.Connection, schema: str, build_id: int) -> None:
    """All counts of a build that is being dropped, in small transactions."""
    sql, key = queries(schema, "lexicon"), {"build_id": build_id, "limit": ROWS}
    for statement in ("drop_counted", "drop_terms"):
        while connection.execute(sql[statement], key).rowcount == ROWS:
            pass
    connection.execute(sql["drop_passages"], key)


def _pages(found: Sequence[Revision]) -> Iterator[list[int]]:
    page: list[int] = []
    chunks = 0
    for rev_id, n_chunks in found:
        if page and (len(page) == PAGE or chunks + n_chunks > PAGE_CHUNKS):
            yield page
            page, chunks = [], 0
        page.append(rev_id)
        chunks += n_chunks
    if page:
        yield page


def _count_page(connection: psycopg.Connection, schema: str, build: _Build, page: Sequence[int]) -> int | None:
    sql, key = queries(schema, "lexicon"), {"build_id": build.build_id, "rev_ids": page}
    with connection.transaction():
        if not _has_turn(connection, schema, build.build_id):
            return None
        fresh = [(rev_id, 0) for (rev_id,) in connection.execute(sql["count"], key)]
        return _change(connection, schema, build.build_id, build.slab, fresh, sign=1)


def _uncount_page(connection: psycopg.Connection, schema: str, build: _Build, page: Sequence[int]) -> int | None:
    sql, key = queries(schema, "lexicon"), {"build_id": build.build_id, "rev_ids": page}
    with connection.transaction():
        if not _has_turn(connection, schema, build.build_id):
            return None
        # One that is shown again meanwhile, by a generation later than this count, is counted with the next.
        gone = connection.execute(sql["uncount"], key).fetchall()
        return _change(connection, schema, build.build_id, build.slab, gone, sign=-1)


def _has_turn(connection: psycopg.Connection, schema: str, build_id: int) -> bool:
    key = {"schema": schema, "build_id": build_id}
    return connection.execute(queries(schema, "lexicon")["try_turn"], key).fetchone() == (True,)


def _change(
    connection: psycopg.Connection, schema: str, build_id: int, slab: int, revisions: Sequence[Revision], *, sign: int
) -> int:
    """How many passages the counts have more, or less, by these revisions."""
    if not revisions:
        return 0
    sql, key = queries(schema, "lexicon"), {"build_id": build_id}
    rev_ids = [rev_id for rev_id, _ in revisions]
    rows = connection.cursor(binary=True).execute(in_slab(sql["terms_of"], slab), {"rev_ids": rev_ids}).fetchall()
    passages = len(rows) if sign > 0 else -sum(n_chunks for _, n_chunks in revisions)
    numbers = [number for _, vector, tiers in rows for number in (*vector.indices(), *(tiers or ()))]
    terms, counts = np.unique(np.array(numbers, np.int64), return_counts=True)
    with connection.pipeline():
        if sign > 0:
            sizes = dict.fromkeys(rev_ids, 0)
            for rev_id, _, _ in rows:
                sizes[rev_id] += 1
            connection.execute(sql["note_sizes"], {**key, "rev_ids": list(sizes), "sizes": list(sizes.values())})
        connection.execute(sql["add"], {**key, "terms": terms.tolist(), "dfs": (sign * counts).tolist()})
        if sign < 0:
            connection.execute(sql["forget_terms"], {**key, "terms": terms.tolist()})
        connection.execute(sql["add_passages"], {**key, "passages": passages})
    return passages
