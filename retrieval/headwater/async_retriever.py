"""Asking a corpus from asyncio: as `Retriever`, in every argument and decision."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Self, TypeVar

import psycopg
from psycopg_pool import PoolTimeout

from headwater.answering.asking import AnyRetriever, Asked
from headwater.answering.assembly import Answered
from headwater.models import RetrievalResult
from headwater.store import db
from headwater.store.effects import Batch, Call, Rows, Steps, in_thread
from headwater.store.statements import statement
from headwater.telemetry import Span

T = TypeVar("T")


class AsyncRetriever(AnyRetriever[Coroutine[Any, Any, RetrievalResult]]):
    """`Retriever` for asyncio: the same arguments, and ``await``. Made by `connect`, which may be awaited, or else is when
    ``async with`` begins or the first question is asked; close it, or use ``async with``.
    """

    is_async: ClassVar[bool] = True

    def _make_pool(self) -> None:
        self._pool = db.make_async_pool(self._dsn)
        self._opening = asyncio.Lock()
        self._is_new = True  # neither opened nor closed

    async def _answer(self, checked: Callable[[], Asked]) -> RetrievalResult:
        asked = checked()
        async with asked.audit:
            return (await self._answered(asked)).result

    async def _answered(self, asked: Asked) -> Answered:
        with self._request(asked) as request, db.translated(self._schema):
            return await self._walk(self._steps(asked, request))

    async def _merged(
        self, libraries: Sequence[str], answers: Sequence[Answered], whole: Asked, request: Span
    ) -> RetrievalResult:
        with db.translated(self._schema):
            return await self._walk(self._merging(libraries, answers, whole, request))

    async def _walk(self, steps: Steps[T]) -> T:
        try:
            while (effect := steps.next()) is not None:
                try:
                    answer = await (in_thread(effect.function) if isinstance(effect, Call) else self._fetch(effect))
                except BaseException as error:  # noqa: BLE001 - as in `Retriever`
                    steps.fail(db.given_up(error, self._schema))
                else:
                    steps.feed(answer)
            return steps.result
        finally:
            steps.close()

    async def _fetch(self, batch: Batch) -> list[Rows]:
        try:
            async with self._connection() as connection:
                return await db.run_async(connection, batch)
        except psycopg.OperationalError as error:
            if not db.is_lost(error):
                raise
        await self._pool.check()
        async with self._connection() as connection:
            return await db.run_async(connection, batch)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection]:
        await self._open()
        with db.lending(self._pool):
            before = db.failures(self._pool)
            try:
                connection = await self._pool.getconn(db.GLANCE_S)
            except PoolTimeout:
                if db.is_refused(self._pool, failures_before=before):
                    await (await db.connect_async(self._dsn)).close()
                connection = await self._pool.getconn(self._pool.timeout - db.GLANCE_S)
        try:
            yield connection
        finally:
            await self._pool.putconn(connection)

    async def _open(self) -> None:
        if not self._is_new:
            return
        async with self._opening:
            if self._is_new:
                async with await db.connect_async(self._dsn) as connection:
                    await connection.execute(statement("ready", self._schema), {})
                await self._pool.open()
                self._is_new = False

    async def close(self) -> None:
        """Closes the connections it opened."""
        async with self._opening:
            self._is_new = False
            await self._pool.close()

    def __await__(self) -> Generator[Any, Any, Self]:
        """``retriever = await AsyncRetriever.connect(…)``: its database has answered and holds our schema."""
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        with db.translated(self._schema):
            await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
