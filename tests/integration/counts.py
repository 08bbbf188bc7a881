"""The counts of terms, held against the passages that they say they are of."""

from typing import Any, LiteralString

from activities.store import Store
from activities.store.lexicon.counting import fold
from tests.integration.seen import of_schema


def fold_all(store: Store, build_id: int) -> int:
    """How many passages more, or less, are counted when the counts are level with what the build shows."""
    return sum(fold(store, build_id))


def miscounted(store: Store) -> list[tuple[Any, ...]]:
    """Terms and builds whose count is not that of the revisions that are counted; all builds are looked at."""
    return [row for statement in (_TERMS, _PASSAGES) for row in _rows(store, statement)]


def unlevel(store: Store, build_id: int) -> list[tuple[Any, ...]]:
    """Revisions that the build's head shows and that are not counted, or the other way round; none after `fold_all`.

    What was removed for good is shown to nobody and was uncounted with its passages.
    """
    return _rows(store, _UNLEVEL, build_id=build_id)


def _rows(store: Store, statement: LiteralString, **values: object) -> list[tuple[Any, ...]]:
    with store.connection() as connection:
        return connection.execute(of_schema(store, statement), values).fetchall()


_TERMS: LiteralString = """
    SELECT coalesce(e.build_id, f.build_id), coalesce(e.term, f.term), e.df, f.df
    FROM (
      SELECT k.build_id, u.term, count(*) AS df
      FROM {schema}.counted k
      JOIN {schema}.chunk c ON c.rev_id = k.rev_id
      CROSS JOIN LATERAL (
        SELECT split_part(entry, ':', 1)::int - 1 AS term
        FROM string_to_table(trim(BOTH '{{}}' FROM split_part(c.bm::text, '/', 1)), ',') AS entry
        WHERE entry <> ''
        UNION ALL
        SELECT unnest(c.tiers)) u
      GROUP BY 1, 2) e
    FULL JOIN {schema}.term_df f ON f.build_id = e.build_id AND f.term = e.term
    WHERE e.df IS DISTINCT FROM f.df
"""
_PASSAGES: LiteralString = """
    SELECT b.build_id, b.n_counted, e.n
    FROM {schema}.build b
    CROSS JOIN LATERAL (
      SELECT count(*) AS n FROM {schema}.counted k JOIN {schema}.chunk c USING (rev_id) WHERE k.build_id = b.build_id) e
    WHERE b.n_counted <> e.n
"""
_UNLEVEL: LiteralString = """
    SELECT x.rev_id, k.rev_id
    FROM (SELECT rev_id FROM {schema}.span WHERE build_id = %(build_id)s AND gen_to = 9223372036854775807) x
    FULL JOIN (SELECT rev_id FROM {schema}.counted WHERE build_id = %(build_id)s) k USING (rev_id)
    WHERE x.rev_id IS NULL OR k.rev_id IS NULL AND EXISTS (SELECT FROM {schema}.chunk c WHERE c.rev_id = x.rev_id)
"""
