"""The process of the stress test that makes second builds of the corpus and moves its readers to them."""

import time
from collections import Counter
from typing import LiteralString

from activities.store import Store
from activities.store.builds import builds, green
from activities.store.builds.builds import BuildConflict
from headwater.errors import HeadwaterError
from tests.integration.seen import of_schema
from tests.integration.stress_shift import Shift

ROUNDS = 6

# In the shared partition, in the live one's space and with its words, which asks for neither new tables nor an embedder.
BEGIN: LiteralString = """
    INSERT INTO {schema}.build (scope_id, space_id, state, slab, lexicon, avgdl)
    SELECT scope_id, space_id, 'building', 0, lexicon, avgdl FROM {schema}.build WHERE scope_id = %(scope_id)s AND state = 'live'
    RETURNING build_id
"""


def rebuild(shift: Shift) -> Counter[str]:
    """Counts of flips and of builds that were given up, because the corpus was pinned or the shift was over."""
    done: Counter[str] = Counter()
    with Store.open(shift.dsn, max_size=2) as store:
        while time.time() < shift.until:
            try:
                done["flipped" if _flip_one(store, shift) else "given up"] += 1
            except HeadwaterError as error:
                done[f"error {type(error.__cause__ or error).__name__}"] += 1
    return done


def _flip_one(store: Store, shift: Shift) -> bool:
    with store.connection() as connection:
        row = connection.execute(of_schema(store, BEGIN), {"scope_id": shift.corpus.build.scope_id}).fetchone()
    assert row is not None
    build_id: int = row[0]
    try:
        for round_no in range(1, ROUNDS + 1):
            listed = green.list_missing(store, build_id, round_no=round_no, hold=round_no > 2)
            for seq in range(listed.first_seq, listed.last_seq + 1):
                page = green.green_page(store, build_id, seq)
                if page is not None and page.state != "published":
                    green.copy_page(store, page)
                    green.publish_green(store, page.page_id, build_id)
            if builds.flip_build(store, build_id).generation is not None:
                return True
    except BuildConflict:
        pass
    builds.give_up_build(store, build_id)
    return False
