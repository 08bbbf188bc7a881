"""Asking a corpus, and waiting for the answer."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self, TypeVar

import psycopg
from psycopg_pool import PoolTimeout

from headwater.answering.asking import AnyRetriever, Asked
from headwater.answering.assembly import Answered
from headwater.models import RetrievalResult
from headwater.store import db
from headwater.store.effects import Batch, Call, Rows, Steps
from headwater.store.statements import statement
from headwater.telemetry import Span

T = TypeVar("T")


class Retriever(AnyRetriever[RetrievalResult]):
    """Answers questions from a corpus. Made by `connect`; safe to share between threads; close it, or use ``with``.

    What `connect` and `retrieve` take is in `headwater.answering.asking`, once for both retrievers.
    """

    def _make_pool(self) -> None:
        self._pool = db.make_pool(self._dsn)
        self._opening = threading.Lock()
        self._is_new = True  # neither opened nor closed

    def _begin(self) -> None:
        with db.translated(self._schema):
            self._open()

    def _answer(self, checked: Callable[[], Asked]) -> RetrievalResult:
        asked = checked()
        with asked.audit:
            return self._answered(asked).result

    def _answered(self, asked: Asked) -> Answered:
        """What is found, before the host is told what was withheld."""
        with self._request(asked) as request, db.translated(self._schema):
            return self._walk(self._steps(asked, request))

    def _merged(
        self, libraries: Sequence[str], answers: Sequence[Answered], whole: Asked, request: Span
    ) -> RetrievalResult:
        """What it answered of several libraries, as one result."""
        with db.translated(self._schema):
            return self._walk(self._merging(libraries, answers, whole, request))

    def _walk(self, steps: Steps[T]) -> T:
        try:
            while (effect := steps.next()) is not None:
                try:
                    answer = effect.function() if isinstance(effect, Call) else self._fetch(effect)
                except BaseException as error:  # noqa: BLE001 - the recipe says which it goes on without; its spans, where it ended
                    steps.fail(db.given_up(error, self._schema))
                else:
                    steps.feed(answer)
            return steps.result
        finally:
            steps.close()

    def _fetch(self, batch: Batch) -> list[Rows]:
        try:
            with self._connection() as connection:
                return db.run(connection, batch)
        except psycopg.OperationalError as error:
            if not db.is_lost(error):
                raise
        # The server was restarted, or killed in the middle of the question. Reading again harms nobody.
        self._pool.check()
        with self._connection() as connection:
            return db.run(connection, batch)

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        self._open()
        with db.lending(self._pool):
            before = db.failures(self._pool)
            try:
                connection = self._pool.getconn(db.GLANCE_S)
            except PoolTimeout:
                if db.is_refused(self._pool, failures_before=before):  # the server says why
                    db.connect(self._dsn).close()
                connection = self._pool.getconn(self._pool.timeout - db.GLANCE_S)
        try:
            yield connection
        finally:
            self._pool.putconn(connection)

    def _open(self) -> None:
        if not self._is_new:
            return
        with self._opening:
            if self._is_new:
                with db.connect(self._dsn) as connection:
                    connection.execute(statement("ready", self._schema), {})
                self._pool.open()
                self._is_new = False

    def close(self) -> None:
        """Closes the connections it opened."""
        with self._opening:
            self._is_new = False
            self._pool.close()

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
