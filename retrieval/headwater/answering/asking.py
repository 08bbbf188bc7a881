"""What both retrievers know and decide: only what waits is written twice."""

from collections.abc import Iterable

from headwater.answering.hooks import KnownRerankers
from headwater.answering.host_code import check_not_async
from headwater.answering.recipe import Means
from headwater.embedders import Embedder, resolve_embedder
from headwater.errors import ValidationError
from headwater.ids import check_schema
from headwater.sensitivity import allowed_levels
from headwater.store.question import Question
from headwater.store.routes import Routes
from headwater.telemetry import OFF, Span, Spans


class Asker:
    """What both retrievers know, and what they do without waiting for Postgres."""

    def __init__(
        self,
        dsn: str,
        *,
        embedder: str | Embedder,
        schema: str,
        hosted_sensitivities: Iterable[str],
        telemetry: Spans | None,
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

    def _request(self, question: Question) -> Span:
        return self._telemetry.span(
            "rag_request",
            scopes=len(question.scopes),
            top_k=question.top_k,
            candidates=question.candidates,
            lexical=question.lexical,
            fusion=question.fusion,
            exact=question.exact,
        )
