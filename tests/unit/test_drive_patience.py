"""How often one item is asked for at which Drive fails, how long that may take, and when it is no item's fault."""

from collections.abc import Callable, Iterator
from typing import cast

import pytest

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.errors import DriveFault
from activities.connectors.drive.patience import LONGEST_WAIT_S, SLOW_S, WAITS_S, Patience
from headwater.connectors import DocumentFault, DocumentGone, Throttled
from headwater.errors import HeadwaterError, TransientError


class Drive:
    """Asked who the account is, it answers or is down. Time passes by waiting, and by asking."""

    def __init__(self, *, takes_s: float = 0.0, outage: HeadwaterError | None = None) -> None:
        self.now, self.asked, self.about_asked = 0.0, 0, 0
        self.waits: list[float] = []
        self._takes_s = takes_s
        self._outage = outage

    def about(self) -> dict[str, object]:
        self.about_asked += 1
        if self._outage is not None:
            raise self._outage
        return {}

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def patience(self) -> Patience:
        return Patience(cast(DriveCalls, self), wait=self.wait, clock=lambda: self.now)

    def question(self, *outcomes: HeadwaterError | str) -> Callable[[], str]:
        """Answers so, one after the other; with the last one for ever."""
        said: Iterator[HeadwaterError | str] = iter(outcomes)
        last = outcomes[-1]

        def ask() -> str:
            self.asked += 1
            self.now += self._takes_s
            outcome = next(said, last)
            if isinstance(outcome, HeadwaterError):
                raise outcome
            return outcome

        return ask


def fault(retry_after_s: float | None = None) -> DriveFault:
    return DriveFault("Drive failed.", retry_after_s=retry_after_s)


def test_an_answer_is_waited_for_a_few_times() -> None:
    drive = Drive()
    assert drive.patience().ask(drive.question(fault(), TransientError("Away."), fault(), "here")) == "here"
    assert (drive.asked, drive.waits, drive.about_asked) == (4, list(WAITS_S), 0)


def test_what_fails_every_time_is_the_items_fault_if_drive_is_well() -> None:
    drive = Drive()
    with pytest.raises(DocumentFault, match=r"^Drive failed, again and again\.$"):
        drive.patience().ask(drive.question(fault()))
    assert (drive.asked, drive.about_asked) == (4, 1)


@pytest.mark.parametrize("outage", [TransientError("Away."), Throttled("Fewer calls.", retry_after_s=9.0)])
def test_an_outage_is_raised_as_it_is(outage: TransientError) -> None:
    drive = Drive(outage=outage)
    with pytest.raises(TransientError) as raised:
        drive.patience().ask(drive.question(fault()))
    assert raised.value is outage


@pytest.mark.parametrize("error", [Throttled("Fewer calls."), DocumentGone("It is gone."), DocumentFault("It fails.")])
def test_nothing_else_is_asked_twice(error: HeadwaterError) -> None:
    drive = Drive()
    with pytest.raises(type(error)):
        drive.patience().ask(drive.question(error, "here"))
    assert (drive.asked, drive.waits) == (1, [])


def test_a_told_wait_is_kept_within_bounds() -> None:
    drive = Drive()
    drive.patience().ask(drive.question(fault(3.0), fault(300.0), "here"))
    assert drive.waits == [3.0, LONGEST_WAIT_S]


def test_what_hangs_is_not_asked_four_times() -> None:
    drive = Drive(takes_s=60.0)
    with pytest.raises(DocumentFault):
        drive.patience().ask(drive.question(fault()))
    assert drive.asked == 1 and drive.now < SLOW_S + 60.0


def test_where_much_fails_nobody_waits_long() -> None:
    drive = Drive()
    patience = drive.patience()
    for _ in range(100):
        with pytest.raises(DocumentFault):
            patience.ask(drive.question(fault(5.0)))
    assert drive.now < 80
