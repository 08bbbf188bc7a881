"""A pause within an activity, which ends as soon as the activity has to."""

import time
from datetime import timedelta
from typing import Final

from temporalio import activity

from activities.containment import check_running

# How often it is asked whether the activity was cancelled; that its worker is stopping ends the pause at once.
LOOKED_EVERY_S: Final = 0.25


def pause(seconds: float) -> None:
    """Waits so long. Raises what `check_running` raises, as soon as it would. Outside of an activity it only waits."""
    if not activity.in_activity():
        time.sleep(max(0.0, seconds))  # nobody is there who could cancel it
        return
    until = time.monotonic() + seconds
    while True:
        check_running()
        left = until - time.monotonic()
        if left <= 0:
            return
        activity.wait_for_worker_shutdown_sync(timedelta(seconds=min(left, LOOKED_EVERY_S)))
