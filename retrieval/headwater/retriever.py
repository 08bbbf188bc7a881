"""Asking a corpus: `Retriever` and `AsyncRetriever`. What they decide they share; what is written twice only waits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Self

import psycopg
from psycopg_pool import PoolTimeout

from headwater import db
from headwater.embedders import Embedder, resolve_embedder
from headwater.errors import ValidationError
from headwater.ids import check_schema
from headwater.limits import CONTEXT_TOKENS, DIMENSIONS_MAX, RESULT_BYTES, TOP_K
from headwater.models import Authorization, RetrievalResult, Scope
from headwater.question import Question
from headwater.recheck import Audit, OnAccessDenied
from headwater.recipe import Steps, nothing, recipe
from headwater.routes import Routes
from headwater.search import Space, as_halfvec
from headwater.vectors import check_vectors


class _Asker:
    """What both retrievers know, and what they do without waiting for Postgres."""

    def __init__(self, dsn: str, *, embedder: str | Embedder, schema: str) -> None:
        self._dsn = dsn
        self._schema = check_schema(schema)
        self._embedder = resolve_embedder(embedder) if isinstance(embedder, str) else embedder
        if not callable(getattr(self._embedder, "embed", None)):
            raise ValidationError("embedder must be a spec such as onnx:minilm, or an object like headwater.Embedder.")
        self._routes = Routes()

    def _place(self, question: Question) -> tuple[Space, str]:
        """The space that the question is asked in, and its vector there. Takes as long as the model does."""
        space = Space(self._embedder.identity, self._embedder.dimensions)
        if not space.embedder_identity or not 1 <= space.dimensions <= DIMENSIONS_MAX:
            raise ValidationError(f"embedder must have an identity, and from 1 to {DIMENSIONS_MAX:,} dimensions.")
        vectors = check_vectors(self._embedder.embed([question.query]), count=1, dimensions=space.dimensions)
        return space, as_halfvec(vectors[0])

    def _steps(self, question: Question, space: Space, vector: str, audit: Audit) -> Callable[[], Steps]:
        return lambda: Steps(recipe(question, space, vector, schema=self._schema, audit=audit, routes=self._routes))


class Retriever(_Asker):
    """Answers questions from a corpus. Made by `connect`; safe to share between threads; close it, or use ``with``."""

    def __init__(self, dsn: str, *, embedder: str | Embedder, schema: str = "headwater") -> None:
        super().__init__(dsn, embedder=embedder, schema=schema)
        self._pool = db.make_pool(dsn)

    @classmethod
    def connect(cls, dsn: str, *, embedder: str | Embedder, schema: str = "headwater") -> Self:
        """A retriever whose database has answered and holds corpora.

        ``embedder`` is a spec (``onnx:minilm``, ``onnx:/path``, ``hash:384``) or an object like `Embedder`. A model is
        loaded with the first question. The login in ``dsn`` needs the role ``<schema>_reader`` and no more.
        """
        retriever = cls(dsn, embedder=embedder, schema=schema)
        with db.translated(schema), db.connect(dsn) as connection:
            connection.execute(db.statement("ready", schema), {})
        retriever._pool.open()
        return retriever

    def retrieve(
        self,
        query: str,
        *,
        scope: Scope,
        authorization: Authorization,
        top_k: int = TOP_K.default,
        candidates: int | None = None,
        max_result_bytes: int = RESULT_BYTES.default,
        max_context_tokens: int = CONTEXT_TOKENS.default,
        generation: int | None = None,
        exact: bool = False,
        on_access_denied: OnAccessDenied | None = None,
    ) -> RetrievalResult:
        """The passages of ``scope`` nearest to ``query`` that ``authorization`` may read, best first.

        ``candidates`` are found, and looked at again before ``top_k`` of them are shown (default: 20, or ``top_k`` if
        that is more). A blank query and a corpus that does not exist give an empty result, whose ``generation`` is
        None. With ``generation`` they are passages the corpus showed then, under today's grants and deletions. ``exact``
        compares every passage, also of a large corpus, whose index may miss some. ``on_access_denied`` hears of each
        source that was withheld, once.
        """
        question = Question.checked(
            query,
            scope=scope,
            authorization=authorization,
            top_k=top_k,
            candidates=candidates,
            max_result_bytes=max_result_bytes,
            max_context_tokens=max_context_tokens,
            generation=generation,
            exact=exact,
        )
        if question.is_blank:
            return nothing(question)
        space, vector = self._place(question)
        with Audit(scope, on_access_denied) as audit, db.translated(self._schema):
            return self._run(self._steps(question, space, vector, audit))

    def _run(self, begin: Callable[[], Steps]) -> RetrievalResult:
        try:
            return self._walk(begin())
        except psycopg.OperationalError as error:
            if not db.is_lost(error):
                raise
        # The server was restarted, or killed in the middle of the question. Reading again harms nobody.
        self._pool.check()
        return self._walk(begin())

    def _walk(self, steps: Steps) -> RetrievalResult:
        with self._connection() as connection:
            while (statement := steps.next()) is not None:
                try:
                    rows = connection.execute(statement.sql, statement.parameters).fetchall()
                except psycopg.Error as error:
                    if db.is_lost(error):  # not a failed check: a host would see its documents vanish
                        raise
                    steps.fail(error)
                else:
                    steps.feed(rows)
        return steps.result

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
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

    def close(self) -> None:
        """Closes the connections it opened."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncRetriever(_Asker):
    """`Retriever` for asyncio: the same arguments, and ``await``. Made by `connect`; close it, or use ``async with``."""

    def __init__(self, dsn: str, *, embedder: str | Embedder, schema: str = "headwater") -> None:
        super().__init__(dsn, embedder=embedder, schema=schema)
        self._pool = db.make_async_pool(dsn)
        self._opening = asyncio.Lock()
        self._is_new = True  # neither opened nor closed

    @classmethod
    def connect(cls, dsn: str, *, embedder: str | Embedder, schema: str = "headwater") -> Self:
        """A retriever that connects when ``async with`` begins, or with the first question. See `Retriever.connect`."""
        return cls(dsn, embedder=embedder, schema=schema)

    async def retrieve(
        self,
        query: str,
        *,
        scope: Scope,
        authorization: Authorization,
        top_k: int = TOP_K.default,
        candidates: int | None = None,
        max_result_bytes: int = RESULT_BYTES.default,
        max_context_tokens: int = CONTEXT_TOKENS.default,
        generation: int | None = None,
        exact: bool = False,
        on_access_denied: OnAccessDenied | None = None,
    ) -> RetrievalResult:
        """See `Retriever.retrieve`. The query is embedded in a thread, so that the event loop goes on."""
        question = Question.checked(
            query,
            scope=scope,
            authorization=authorization,
            top_k=top_k,
            candidates=candidates,
            max_result_bytes=max_result_bytes,
            max_context_tokens=max_context_tokens,
            generation=generation,
            exact=exact,
        )
        if question.is_blank:
            return nothing(question)
        space, vector = await asyncio.to_thread(self._place, question)
        with Audit(scope, on_access_denied) as audit, db.translated(self._schema):
            return await self._run(self._steps(question, space, vector, audit))

    async def _run(self, begin: Callable[[], Steps]) -> RetrievalResult:
        try:
            return await self._walk(begin())
        except psycopg.OperationalError as error:
            if not db.is_lost(error):
                raise
        await self._pool.check()
        return await self._walk(begin())

    async def _walk(self, steps: Steps) -> RetrievalResult:
        async with self._connection() as connection:
            while (statement := steps.next()) is not None:
                try:
                    rows = await (await connection.execute(statement.sql, statement.parameters)).fetchall()
                except psycopg.Error as error:
                    if db.is_lost(error):
                        raise
                    steps.fail(error)
                else:
                    steps.feed(rows)
        return steps.result

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
                    await connection.execute(db.statement("ready", self._schema), {})
                await self._pool.open()
                self._is_new = False

    async def close(self) -> None:
        """Closes the connections it opened."""
        async with self._opening:
            self._is_new = False
            await self._pool.close()

    async def __aenter__(self) -> Self:
        with db.translated(self._schema):
            await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
