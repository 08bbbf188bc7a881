"""Sign-ins and connections that outlive one connector, which is made for one document and thrown away.

Without them every document would cost a token and a TLS handshake before its first byte.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from activities.connectors.drive.calls import DriveCalls
from activities.connectors.drive.credentials import CredentialSource, SignIn
from activities.connectors.drive.errors import SharedDriveGone
from activities.connectors.drive.service import ROOT_URL, DriveService
from headwater.connectors import SourceUnavailable

ACCOUNTS_KEPT: Final = 32
IDLE_KEPT: Final = 16  # per account: as many as threads that ask at once

_Key = tuple[CredentialSource, tuple[int, ...], str]


@dataclass(slots=True)
class _Account:
    sign_in: SignIn
    idle: list[DriveCalls] = field(default_factory=list)

    def take_idle(self) -> list[DriveCalls]:
        """They are whoever's who takes them. Called under the lock, or one might be lent at that moment."""
        taken, self.idle = self.idle, []
        return taken


class DriveSessions:
    """Lends Drive to one thread at a time. One for a whole worker; `close` it at the end."""

    def __init__(self, *, connect: Callable[..., DriveService] = DriveService) -> None:
        self._connect = connect
        self._lock = Lock()
        self._accounts: OrderedDict[_Key, _Account] = OrderedDict()

    @contextmanager
    def lent(self, source: CredentialSource, *, root_url: str = ROOT_URL) -> Iterator[DriveCalls]:
        """Drive for the length of the context. Raises `SourceUnavailable` where the credentials are unusable.

        A file of credentials that was replaced is read again; so are the credentials after a refusal, since who renews
        application default ones leaves no trace that is seen here.
        """
        key = source, source.stamp(), root_url
        account = self._account(key)
        with self._lock:
            calls = account.idle.pop() if account.idle else None
        if calls is None:
            calls = DriveCalls(self._connect(account.sign_in, root_url=root_url))
        try:
            yield calls
        except SharedDriveGone:
            raise  # nothing is wrong with the sign-in
        except SourceUnavailable:
            self._forget(key)
            raise
        finally:
            if not self._take_back(key, account, calls):
                calls.close()

    def close(self) -> None:
        """Ends the connections that nobody has. What is lent is closed when it comes back."""
        with self._lock:
            idle = [calls for account in self._accounts.values() for calls in account.take_idle()]
            self._accounts.clear()
        _close(idle)

    def _account(self, key: _Key) -> _Account:
        with self._lock:
            known = self._accounts.get(key)
        if known is None:
            # Not under the lock: a machine's own credentials may take seconds to be found.
            known = _Account(key[0].sign_in())
        with self._lock:
            known = self._accounts.setdefault(key, known)
            self._accounts.move_to_end(key)
            idle = [calls for other in self._outdated(key) for calls in self._accounts.pop(other).take_idle()]
        _close(idle)
        return known

    def _outdated(self, key: _Key) -> list[_Key]:
        """The same source as it was before its file was replaced; and what was not used for longest."""
        replaced = [other for other in self._accounts if other != key and (other[0], other[2]) == (key[0], key[2])]
        left = [other for other in self._accounts if other not in replaced]
        return replaced + left[: max(0, len(left) - ACCOUNTS_KEPT)]

    def _take_back(self, key: _Key, account: _Account, calls: DriveCalls) -> bool:
        """Whether it is kept: not if the account was forgotten meanwhile, or as many wait already as are wanted."""
        with self._lock:
            is_current = self._accounts.get(key) is account
            if is_current and len(account.idle) < IDLE_KEPT:
                account.idle.append(calls)
                return True
        return False

    def _forget(self, key: _Key) -> None:
        with self._lock:
            forgotten = self._accounts.pop(key, None)
            idle = [] if forgotten is None else forgotten.take_idle()
        _close(idle)


def _close(idle: Iterable[DriveCalls]) -> None:
    """Ends connections that nobody can be lent any more. Not under the lock: it takes its time."""
    for calls in idle:
        calls.close()


__all__ = ["DriveSessions"]
