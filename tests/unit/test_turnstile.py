"""Who passes alone has nobody beside it, and is not kept waiting by those who come later."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from activities.turnstile import Turnstile

LONG = 30


def test_many_pass_together() -> None:
    turnstile, together = Turnstile(), threading.Barrier(3)

    def pass_through() -> None:
        with turnstile.shared():
            together.wait(LONG)  # breaks unless all three are inside at once

    with ThreadPoolExecutor(3) as pool:
        for passing in [pool.submit(pass_through) for _ in range(3)]:
            passing.result()


def test_one_passes_alone_and_before_those_who_come_later() -> None:
    turnstile, order = Turnstile(), list[str]()
    leave, waits, later_waits = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with turnstile.shared():
            waits.set()
            assert leave.wait(LONG)
            order.append("first")

    def alone() -> None:
        with turnstile.exclusive():
            order.append("alone")

    def later() -> None:
        later_waits.set()
        with turnstile.shared():
            order.append("later")

    with ThreadPoolExecutor(3) as pool:
        passing = [pool.submit(first)]
        assert waits.wait(LONG)
        passing.append(pool.submit(alone))
        deadline = time.monotonic() + LONG
        while turnstile._alone == 0:  # until it stands in line
            assert time.monotonic() < deadline
        passing.append(pool.submit(later))
        assert later_waits.wait(LONG)
        assert order == []
        leave.set()
        for each in passing:
            each.result()
    assert order == ["first", "alone", "later"]
