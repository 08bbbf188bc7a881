"""What activities that publish do at their end: the counts of terms follow what is shown now.

A publication is done by then, and never fails by this: collecting garbage makes up for what was left.
"""

import time
from typing import Final

import structlog

from activities.store import Store
from activities.store.lexicon.counting import fold
from headwater.errors import StoreError

log = structlog.get_logger()

LONGEST_S: Final = 2.0  # of an activity that has 30: a corpus that is new to it is counted with its next pages


def follow_terms(store: Store, build_id: int | None) -> None:
    """Counts what ``build_id`` shows since it was counted last, as far as little time allows."""
    if build_id is None:
        return
    until = time.monotonic() + LONGEST_S
    try:
        for _ in fold(store, build_id):
            if time.monotonic() >= until:
                return
    except StoreError as error:
        log.warning("terms.not_counted", build_id=build_id, error=type(error).__name__)
