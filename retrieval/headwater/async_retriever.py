"""Asking a corpus from asyncio: as `Retriever`, in every argument and decision."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import psycopg
from psycopg_pool import PoolTimeout

from headwater.answering.asking import Asker
from headwater.answering.hooks import Hooks, OnRerankError
from headwater.answering.recheck import Audit, OnAccessDenied
from headwater.answering.recipe import recipe
from headwater.answering.redaction import Redactor
from headwater.embedders import Embedder
from headwater.fusion import Fusion
from headwater.limits import CONTEXT_TOKENS, RESULT_BYTES, RRF_K, TOP_K
from headwater.models import Authorization, RetrievalResult, Scope
from headwater.prompts import PostProcessor
from headwater.rerankers import Reranker
from headwater.rewriting import Rewriter
from headwater.store import db
from headwater.store.effects import Batch, Call, Rows, Steps
from headwater.store.question import Lexical, Question
from headwater.telemetry import Spans


class AsyncRetriever(Asker):
    """`Retriever` for asyncio: the same arguments, and ``await``. Made by `connect`; close it, or use ``async with``."""

    def __init__(
        self,
        dsn: str,
        *,
        embedder: str | Embedder,
        schema: str = "headwater",
        hosted_sensitivities: Iterable[str] = (),
        telemetry: Spans | None = None,
    ) -> None:
        super().__init__(
            dsn, embedder=embedder, schema=schema, hosted_sensitivities=hosted_sensitivities, telemetry=telemetry
        )
        self._pool = db.make_async_pool(dsn)
        self._opening = asyncio.Lock()
        self._is_new = True  # neither opened nor closed

    @classmethod
    def connect(
        cls,
        dsn: str,
        *,
        embedder: str | Embedder,
        schema: str = "headwater",
        hosted_sensitivities: Iterable[str] = (),
        telemetry: Spans | None = None,
    ) -> Self:
        """A retriever that connects when ``async with`` begins, or with the first question. See `Retriever.connect`."""
        return cls(
            dsn, embedder=embedder, schema=schema, hosted_sensitivities=hosted_sensitivities, telemetry=telemetry
        )

    async def retrieve(
        self,
        query: str,
        *,
        authorization: Authorization,
        scope: Scope | None = None,
        scopes: Iterable[Scope] | None = None,
        top_k: int = TOP_K.default,
        candidates: int | None = None,
        lexical: Lexical = "off",
        fusion: Fusion = "rrf",
        rrf_k: int = RRF_K.default,
        filter: Mapping[str, Any] | None = None,
        reranker: Reranker | None = None,
        on_rerank_error: OnRerankError = "raise",
        sensitivities: Iterable[str] | None = None,
        generation: int | None = None,
        exact: bool = False,
        max_result_bytes: int = RESULT_BYTES.default,
        max_context_tokens: int = CONTEXT_TOKENS.default,
        on_access_denied: OnAccessDenied | None = None,
        redactor: Redactor | None = None,
        rewriter: Rewriter | None = None,
        post_processors: str | Sequence[PostProcessor] = (),
    ) -> RetrievalResult:
        """See `Retriever.retrieve`. Models and code of yours run in a thread, so that the event loop goes on."""
        question = Question.checked(
            query,
            authorization=authorization,
            scope=scope,
            scopes=scopes,
            top_k=top_k,
            candidates=candidates,
            lexical=lexical,
            fusion=fusion,
            rrf_k=rrf_k,
            filter=filter,
            sensitivities=sensitivities,
            generation=generation,
            exact=exact,
            max_result_bytes=max_result_bytes,
            max_context_tokens=max_context_tokens,
        )
        hooks = Hooks.checked(
            reranker=self._rerankers.bounded(reranker),
            on_rerank_error=on_rerank_error,
            redactor=redactor,
            rewriter=rewriter,
            post_processors=post_processors,
            on_access_denied=on_access_denied,
        )
        async with Audit(on_access_denied) as audit:
            with self._request(question) as request, db.translated(self._schema):
                return await self._walk(Steps(recipe(question, self._means, hooks, audit, request=request)))

    async def _walk(self, steps: Steps) -> RetrievalResult:
        try:
            while (effect := steps.next()) is not None:
                try:
                    answer = await (
                        asyncio.to_thread(effect.function) if isinstance(effect, Call) else self._fetch(effect)
                    )
                except Exception as error:  # any: the recipe says which it goes on without
                    if db.is_lost(error):
                        raise
                    steps.fail(error)
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
