"""How long a listing bears with one item at which Drive fails, before it goes on without it.

Whether Drive is down or fails at one file for ever, one call cannot tell. The first is waited out by whoever asked for the
page; the second must not hold up everything else.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.errors import is_fault
from headwater.connectors import DocumentFault
from headwater.errors import TransientError

WAITS_S: Final = (0.5, 2.0, 5.0)
# A header asks this of whoever can wait. Somebody waits for the page; if Drive is down as a whole, it says so once more.
LONGEST_WAIT_S: Final = 10.0
# Where many items of a page fail, waiting for each would take longer than a page may.
PATIENT_WITH: Final = 2
HURRIED_S: Final = 0.1
SLOW_S: Final = 30.0  # for all attempts at one item: Drive may hang at it, and a page has to end

T = TypeVar("T")


class Patience:
    """Of one page. ``wait`` sleeps, ``clock`` tells seconds."""

    def __init__(
        self, calls: DriveCalls, wait: Callable[[float], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._calls = calls
        self._wait = wait
        self._clock = clock
        self._given_up = 0

    def ask(self, question: Callable[[], T]) -> T:
        """The answer. Raises `DocumentFault` where Drive fails at it four times in a row and is well otherwise."""
        until = self._clock() + SLOW_S
        for wait_s in (*WAITS_S, None):
            try:
                return question()
            except TransientError as fault:
                if not is_fault(fault):
                    raise
                if wait_s is None or self._clock() > until:
                    self._give_up(fault)
                told_s = fault.retry_after_s or 0.0
            self._wait(min(max(wait_s or 0.0, told_s), self._longest_s))
        raise AssertionError("The last attempt returns or raises.")

    @property
    def _longest_s(self) -> float:
        return LONGEST_WAIT_S if self._given_up < PATIENT_WITH else HURRIED_S

    def _give_up(self, fault: TransientError) -> None:
        self._calls.about()  # raises what goes for every item
        self._given_up += 1
        raise DocumentFault(f"{str(fault).removesuffix('.')}, again and again.") from None


__all__ = ["LONGEST_WAIT_S", "WAITS_S", "Patience"]
