"""What both retrievers take, know and decide: only what waits is written twice."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from headwater.answering.assembly import Answered
from headwater.answering.gate import Gate
from headwater.answering.hooks import Hooks, KnownRerankers, OnRerankError
from headwater.answering.host_code import check_not_async
from headwater.answering.merging import merged
from headwater.answering.recheck import Audit, OnAccessDenied
from headwater.answering.recipe import Means, recipe
from headwater.answering.redaction import Redactor
from headwater.embedders import Embedder, resolve_embedder
from headwater.errors import ValidationError
from headwater.fusion import Fusion
from headwater.ids import check_schema
from headwater.limits import CONTEXT_TOKENS, RESULT_BYTES, RRF_K, TOP_K
from headwater.models import Authorization, RetrievalResult, Scope
from headwater.prompts import PostProcessor
from headwater.rerankers import Reranker
from headwater.rewriting import Rewriter
from headwater.sensitivity import allowed_levels
from headwater.store.effects import Steps
from headwater.store.question import Lexical, Question
from headwater.store.routes import Routes
from headwater.telemetry import OFF, Span, Spans

Answer = TypeVar("Answer")  # a result, or what is awaited for one


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of `retrieve`, checked."""

    question: Question
    hooks: Hooks
    audit: Audit
    within: Spans | None = None  # the question that this one is a part of; without it, it is one by itself


class AnyRetriever(ABC, Generic[Answer]):
    """What `Retriever` and `AsyncRetriever` have in common: every argument, and what is done without waiting for Postgres."""

    is_async: ClassVar[bool] = False
    """Whether `retrieve` must be awaited."""

    def __init__(
        self,
        dsn: str,
        *,
        embedder: str | Embedder,
        schema: str = "headwater",
        hosted_sensitivities: Iterable[str] = (),
        telemetry: Spans | None = None,
    ) -> None:
        self._dsn = dsn
        self._schema = check_schema(schema)
        model = resolve_embedder(embedder) if isinstance(embedder, str) else embedder
        if not callable(getattr(model, "embed", None)):
            raise ValidationError("embedder must be a spec such as onnx:minilm, or an object like headwater.Embedder.")
        check_not_async(model.embed, "embedder.embed")
        hosted = allowed_levels(hosted_sensitivities, "hosted_sensitivities")
        self._means = Means(schema=self._schema, embedder=model, routes=Routes(), hosted_labels=hosted)
        self._rerankers = KnownRerankers()
        self._telemetry: Spans = telemetry or OFF
        self._make_pool()

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
        """A retriever whose database has answered and holds our schema. Of `AsyncRetriever`: one that ``await`` or ``async with``
        will connect so. One that was made without `connect` is connected by its first question.

        ``embedder`` is a spec (``onnx:minilm``, ``onnx:/path``, ``hash:384``) or an object like `Embedder`. A model is
        loaded with the first question. The login in ``dsn`` needs the role ``<schema>_reader`` and no more. Rerankers
        outside the process get passages labelled with one of ``hosted_sensitivities``, by default none. ``telemetry`` is
        a `headwater.telemetry.Telemetry`.
        """
        retriever = cls(
            dsn, embedder=embedder, schema=schema, hosted_sensitivities=hosted_sensitivities, telemetry=telemetry
        )
        retriever._begin()
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
    ) -> Answer:
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
        the prompt shows. `AsyncRetriever` runs all of it, and models too, in threads, so that the event loop goes on.
        """

        return self._answer(
            lambda: self._asked(
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
                reranker=reranker,
                on_rerank_error=on_rerank_error,
                sensitivities=sensitivities,
                generation=generation,
                exact=exact,
                max_result_bytes=max_result_bytes,
                max_context_tokens=max_context_tokens,
                on_access_denied=on_access_denied,
                redactor=redactor,
                rewriter=rewriter,
                post_processors=post_processors,
            )
        )

    def _asked(
        self,
        query: str,
        *,
        reranker: Reranker | None = None,
        on_rerank_error: OnRerankError = "raise",
        on_access_denied: OnAccessDenied | None = None,
        redactor: Redactor | None = None,
        rewriter: Rewriter | None = None,
        post_processors: str | Sequence[PostProcessor] = (),
        **arguments: Any,
    ) -> Asked:
        """Arguments of `retrieve`, checked: those of a question, and code of the host's."""
        question = Question.checked(query, **arguments)
        hooks = Hooks.checked(
            reranker=self._rerankers.bounded(reranker),
            on_rerank_error=on_rerank_error,
            redactor=redactor,
            rewriter=rewriter,
            post_processors=post_processors,
            on_access_denied=on_access_denied,
        )
        return Asked(question, hooks, Audit(on_access_denied))

    @abstractmethod
    def _make_pool(self) -> None:
        """Makes the pool of connections, which is neither open nor closed yet."""

    def _begin(self) -> None:
        """Opens it now, where that can be waited for."""

    @abstractmethod
    def _answer(self, checked: Callable[[], Asked]) -> Answer:
        """Checks what is asked, and walks the recipe to its result."""

    def _steps(self, asked: Asked, request: Span) -> Steps[Answered]:
        return Steps(recipe(asked.question, self._means, asked.hooks, asked.audit, request=request))

    def _request(self, asked: Asked) -> Span:
        question = asked.question
        return (asked.within or self._telemetry).span(
            "rag_request",
            scopes=len(question.scopes),
            top_k=question.top_k,
            candidates=question.candidates,
            lexical=question.lexical,
            fusion=question.fusion,
            exact=question.exact,
        )

    def _merging(
        self, libraries: Sequence[str], answers: Sequence[Answered], whole: Asked, request: Span
    ) -> Steps[RetrievalResult]:
        query = answers[0].result.query  # what the redactor left of it
        gate = Gate(replace(whole.question, queries=(query,)), self._schema, whole.audit)
        return Steps(merged(libraries, answers, gate, whole.hooks, request=request))
