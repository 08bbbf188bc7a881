"""A connector's lease while its origin is not to be asked: it lasts as long as the wait, and so nobody else walks into it.

Between two attempts of an activity nothing runs that could renew the lease. An origin may ask to be left alone for an hour.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from activities.containment import told_wait
from activities.store import Store, StoreUnavailable
from activities.store.pages import lease
from headwater.errors import TransientError


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
        raise
