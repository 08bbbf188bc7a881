"""The world's time: it moves with every change, and on demand, so that nothing sleeps and no two changes coincide."""

from datetime import UTC, datetime, timedelta


class Clock:
    """A clock that starts where it is told and ticks once for each change.

    ``follow_real_time`` lets expiry agree with a database that has its own clock. ``skew`` is added to every time
    that Drive writes down, and to none that it compares with: a server whose stamps are off.
    """

    def __init__(
        self,
        start: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC),
        *,
        tick: timedelta = timedelta(seconds=1),
        follow_real_time: bool = False,
    ) -> None:
        self.skew = timedelta()
        self._follow_real_time = follow_real_time
        self._now = start
        self._ahead = timedelta()
        self._tick = tick

    def now(self) -> datetime:
        """The true time: what expiry is compared with."""
        return datetime.now(UTC) + self._ahead if self._follow_real_time else self._now

    def stamp(self) -> datetime:
        """The time that is written down: the true one, and the skew."""
        return self.now() + self.skew

    def tick(self) -> None:
        """One change has happened."""
        if not self._follow_real_time:
            self._now += self._tick

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self._now += by
        self._ahead += by


def rfc3339(moment: datetime) -> str:
    """A time as Drive writes it: UTC, milliseconds, ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime:
    """The time that a client wrote; without an offset it is UTC. Raises `ValueError`."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
