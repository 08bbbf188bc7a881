"""A connector's lease while its origin is not to be asked: it lasts as long as the wait, and so nobody else walks into it.

Between two attempts of an activity nothing runs that could renew the lease. An origin may ask to be left alone for an hour. That it
waits, and why, is said at once, where an operator looks: such a run may wait for days.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from temporalio import activity

from activities.containment import SENTENCE_MAX, HandedOver, told_wait
from activities.store import Store, StoreUnavailable
from activities.store.pages import lease
from activities.store.pages.waiting import note_wait
from headwater.errors import TransientError

log = structlog.get_logger()


@contextmanager
def lease_in_waits(store: Store, connector_id: int | None, *, fence: int | None) -> Iterator[None]:
    """What waiting helps in here leaves the lease renewed, for the time that was told beyond what is usual.

    `StaleFence` takes its place if the lease is somebody else's by now: then there is nothing to wait for.
    """
    try:
        yield
    except StoreUnavailable:
        raise  # the row is out of reach as well
    except TransientError as error:
        wait = told_wait(error.retry_after_s)
        lease.renew(store, connector_id, fence=fence, wait_s=0.0 if wait is None else wait.total_seconds())
        if not isinstance(error, HandedOver):
            _say(store, connector_id, fence=fence, why=str(error)[:SENTENCE_MAX])
        raise
    else:
        if activity.info().attempt > 1:
            _say(store, connector_id, fence=fence, why=None)


def _say(store: Store, connector_id: int | None, *, fence: int | None, why: str | None) -> None:
    if connector_id is None or fence is None:
        return
    waiting = note_wait(store, connector_id, fence=fence, why=why)
    if waiting is None:
        return
    if why is None:
        log.info("sync.goes_on", corpus=waiting.corpus, connector=waiting.connector)
    else:
        # For whoever stays. A command that works by itself shows it to the person who asked.
        log.info("sync.waits", corpus=waiting.corpus, connector=waiting.connector, reason=why)
