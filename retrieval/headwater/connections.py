"""The connections of a retriever: never more than a few, made when a question needs one, and lent in turn.

Not a pool with threads that connect in the background: who needs a connection makes it, so an error is its own, says why,
and costs no wait.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from headwater.errors import StoreError

SIZE: Final = 4
WAIT_S: Final = 10.0  # for a connection to come free

C = TypeVar("C", psycopg.Connection, psycopg.AsyncConnection)


class _Places(Generic[C]):
    """As many places as there may be connections. A free one holds the connection that its last borrower left."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._free: list[C | None] = [None] * size
        self._waiting: deque[Future[C | None]] = deque()
        self._is_closed = False

    def ask(self) -> "Future[C | None]":
        """A place: at once if one is free, else in the order of asking."""
        turn: Future[C | None] = Future()
        with self._lock:
            if self._is_closed:
                raise _closed()
            if self._free:
                turn.set_result(self._free.pop())
            else:
                self._waiting.append(turn)
        return turn

    def withdraw(self, turn: "Future[C | None]") -> C | None:
        """Ends the wait for a place. What must be closed, if it came at that very moment and nobody wants it."""
        return None if turn.cancel() or turn.exception() else self.give(turn.result())

    def give(self, connection: C | None) -> C | None:
        """A place comes back, with a connection that works. What must be closed, if that is the end."""
        with self._lock:
            if self._is_closed:
                return connection
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(connection)
                    return None
            self._free.append(connection)
        return None

    def close(self) -> list[C]:
        """Nobody gets a place any more. The connections to be closed."""
        with self._lock:
            self._is_closed = True
            idle, self._free = [each for each in self._free if each is not None], []
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_exception(_closed())
        return idle

    def busy(self, wait_s: float) -> StoreError:
        return StoreError(
            f"All {self.size} connections of this retriever were busy for {wait_s:g} s: ask for less at once, "
            "or open a second retriever."
        )


class Loan:
    """A place among the connections: `connected` for the first statement, `renewed` where the connection was lost."""

    def __init__(self, connection: psycopg.Connection | None, connect: Callable[[], psycopg.Connection]) -> None:
        self._connection = connection
        self._connect = connect

    def connected(self) -> psycopg.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def renewed(self) -> psycopg.Connection:
        self.end()
        return self.connected()

    def end(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def left(self) -> psycopg.Connection | None:
        """The connection, if the next borrower can have it as it is."""
        if self._connection is not None and not _is_clean(self._connection):
            self.end()
        return self._connection


class Connections:
    """Safe to share between threads."""

    def __init__(self, connect: Callable[[], psycopg.Connection], *, wait_s: float = WAIT_S) -> None:
        self.wait_s = wait_s
        self._connect = connect
        self._places: _Places[psycopg.Connection] = _Places(SIZE)

    @contextmanager
    def lend(self) -> Iterator[Loan]:
        """A place of one's own, for the length of a question."""
        turn = self._places.ask()
        try:
            connection = turn.result(self.wait_s)
        except BaseException as error:
            _close(self._places.withdraw(turn))
            if isinstance(error, TimeoutError):
                raise self._places.busy(self.wait_s) from None
            raise
        loan = Loan(connection, self._connect)
        try:
            yield loan
        finally:
            _close(self._places.give(loan.left()))

    def close(self) -> None:
        """Closes those that nobody has; the others are closed when they come back."""
        for connection in self._places.close():
            connection.close()


class AsyncLoan:
    """`Loan` for asyncio."""

    def __init__(
        self, connection: psycopg.AsyncConnection | None, connect: Callable[[], Awaitable[psycopg.AsyncConnection]]
    ) -> None:
        self._connection = connection
        self._connect = connect

    async def connected(self) -> psycopg.AsyncConnection:
        if self._connection is None:
            self._connection = await self._connect()
        return self._connection

    async def renewed(self) -> psycopg.AsyncConnection:
        await self.end()
        return await self.connected()

    async def end(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    async def left(self) -> psycopg.AsyncConnection | None:
        if self._connection is not None and not _is_clean(self._connection):
            await self.end()
        return self._connection


class AsyncConnections:
    """`Connections` for asyncio."""

    def __init__(self, connect: Callable[[], Awaitable[psycopg.AsyncConnection]], *, wait_s: float = WAIT_S) -> None:
        self.wait_s = wait_s
        self._connect = connect
        self._places: _Places[psycopg.AsyncConnection] = _Places(SIZE)

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[AsyncLoan]:
        turn = self._places.ask()
        try:
            async with asyncio.timeout(self.wait_s):
                connection = turn.result() if turn.done() else await asyncio.wrap_future(turn)
        except BaseException as error:
            await _close_async(self._places.withdraw(turn))
            if isinstance(error, TimeoutError):
                raise self._places.busy(self.wait_s) from None
            raise
        loan = AsyncLoan(connection, self._connect)
        try:
            yield loan
        finally:
            await _close_async(self._places.give(await loan.left()))

    async def close(self) -> None:
        for connection in self._places.close():
            await connection.close()


def _closed() -> StoreError:
    return StoreError("This retriever is closed: open another one.")


def _is_clean(connection: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any]") -> bool:
    """It stands, and no statement was broken off in the middle."""
    return not connection.closed and connection.info.transaction_status is TransactionStatus.IDLE


def _close(connection: psycopg.Connection | None) -> None:
    if connection is not None:
        connection.close()


async def _close_async(connection: psycopg.AsyncConnection | None) -> None:
    if connection is not None:
        await connection.close()
