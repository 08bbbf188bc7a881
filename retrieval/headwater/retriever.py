"""Asking a corpus, and waiting for the answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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


class Retriever(Asker):
    """Answers questions from a corpus. Made by `connect`; safe to share between threads; close it, or use ``with``."""

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
        self._pool = db.make_pool(dsn)

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
        """A retriever whose database has answered and holds corpora.

        ``embedder`` is a spec (``onnx:minilm``, ``onnx:/path``, ``hash:384``) or an object like `Embedder`. A model is
        loaded with the first question. The login in ``dsn`` needs the role ``<schema>_reader`` and no more. Rerankers
        outside the process get passages labelled with one of ``hosted_sensitivities``, by default none. ``telemetry`` is
        a `headwater.telemetry.Telemetry`.
        """
        retriever = cls(
            dsn, embedder=embedder, schema=schema, hosted_sensitivities=hosted_sensitivities, telemetry=telemetry
        )
        with db.translated(schema), db.connect(dsn) as connection:
            connection.execute(db.statement("ready", schema), {})
        retriever._pool.open()
        return retriever

    def retrieve(
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
        """The passages of ``scope``, or of up to eight ``scopes``, that answer ``query`` best and that ``authorization`` may read.

        ``candidates`` are found, and looked at again before ``top_k`` of them are shown (default: 20, or ``top_k`` if
        that is more). They are found by meaning and, with ``lexical`` (``fts`` or ``bm25``), by words; ``fusion`` puts
        both into one order. ``filter`` is ``{key: value}`` or ``{key: {operator: value}}`` over metadata, and narrows what is
        looked at. ``sensitivities`` are the labels that may be shown, all but ``restricted`` unless you say so.

        A blank query, no scopes and a corpus that does not exist give an empty result, whose ``generation`` is None. With
        ``generation`` they are passages the corpus showed then, under today's grants and deletions. ``exact`` compares every
        passage, also of a large corpus, whose index may miss some. ``on_access_denied`` hears of each source that was
        withheld, once.

        Code of your own, which may take its time: ``rewriter`` gives other words for the query, all of which are looked for;
        ``reranker`` puts the passages into a better order (``on_rerank_error="keep"`` goes on without it if it fails);
        ``redactor`` goes over the query and every passage before anything else sees them; ``post_processors`` arrange what
        the prompt shows.
        """
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
        with Audit(on_access_denied) as audit, self._request(question) as request, db.translated(self._schema):
            return self._walk(Steps(recipe(question, self._means, hooks, audit, request=request)))

    def _walk(self, steps: Steps) -> RetrievalResult:
        try:
            while (effect := steps.next()) is not None:
                try:
                    answer = effect.function() if isinstance(effect, Call) else self._fetch(effect)
                except Exception as error:  # any: the recipe says which it goes on without
                    if db.is_lost(error):  # not a failed check: a host would see its documents vanish
                        raise
                    steps.fail(error)
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
