"""Putting passages into a better order: the protocol, and the choice among implementations.

A spec is ``none``, ``local``, ``cross-encoder:PATH``, ``listwise``, ``tei:URL``, ``openai-compatible:URL#MODEL``,
``voyage:URL#MODEL`` or ``fake``. Nothing makes a reranker by itself: a host resolves one and hands it to a question.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, Unpack, runtime_checkable

from headwater.errors import ValidationError
from headwater.models import Hit

if TYPE_CHECKING:
    from headwater.embedders import Embedder
    from headwater.rerankers.bounded import Bounded, Bounds
    from headwater.rerankers.wire import WireReranker

Judge = Callable[[str], str]
"""A prompt in, what a chat model answers out."""

ApiKey = str | Callable[[], str]
"""A key, or what gives it at each request: a file read again after the key was changed, for one."""

SPECS = "none, local, cross-encoder:PATH, listwise, tei:URL, openai-compatible:URL#MODEL, voyage:URL#MODEL or fake"

_LACKING: Final = {"cross-encoder": "PATH", "tei": "URL", "openai-compatible": "URL", "voyage": "URL"}


@runtime_checkable
class Reranker(Protocol):
    """The same passages, in the order of how well they answer."""

    @property
    def is_hosted(self) -> bool:
        """Whether text leaves the process. A reranker that does not say counts as one it leaves for."""
        ...

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """The objects of ``hits``, each once, best first."""
        ...


def is_hosted(reranker: object) -> bool:
    """Whether text leaves the process with ``reranker``: only one that denies it is trusted."""
    return getattr(reranker, "is_hosted", True) is not False


def resolve_reranker(
    spec: str | None,
    *,
    api_key: ApiKey | None = None,
    allow_loopback: bool = False,
    allow_private: bool = False,
    embedder: "Embedder | None" = None,
    judge: Judge | None = None,
    **bounds: "Unpack[Bounds]",
) -> "Bounded | None":
    """The reranker that ``spec`` names, within its bounds; None for ``none`` and None.

    ``api_key``, ``allow_loopback`` and ``allow_private`` are for those that are asked over HTTP, ``embedder`` for
    ``local`` and ``judge`` for ``listwise``; others are not told of them. ``bounds`` are those of `Bounded`; what runs in the process may read and take
    as much as any may, unless they say less.
    """
    if spec is None or spec == "none":
        return None
    if not isinstance(spec, str):
        raise ValidationError(f"A reranker's spec is a text: {SPECS}.")
    from headwater.rerankers.bounded import IN_PROCESS, TIMEOUT_S, Bounded

    kind, _, rest = spec.partition(":")
    if kind in ("tei", "openai-compatible", "voyage") and rest:
        url, sharp, model = rest.partition("#")
        asked = _format(kind)(
            url,
            model=model if sharp else None,
            api_key=api_key,
            allow_loopback=allow_loopback,
            allow_private=allow_private,
            timeout_s=bounds.get("timeout_s", TIMEOUT_S),
        )
        return Bounded(asked, **bounds)
    within: Bounds = {**IN_PROCESS, **bounds}
    return Bounded(_in_process(spec, embedder=embedder, judge=judge), **within)


def _format(kind: str) -> "type[WireReranker]":
    if kind == "tei":
        from headwater.rerankers.tei import TeiReranker

        return TeiReranker
    if kind == "voyage":
        from headwater.rerankers.voyage import VoyageReranker

        return VoyageReranker
    from headwater.rerankers.openai_compatible import OpenAiCompatibleReranker

    return OpenAiCompatibleReranker


def _in_process(spec: str, *, embedder: "Embedder | None", judge: Judge | None) -> Reranker:
    kind, _, path = spec.partition(":")
    if spec == "local":
        from headwater.rerankers.local import LocalReranker

        if embedder is None:
            raise ValidationError("local reads with the embedder of the corpus: give it as embedder.")
        return LocalReranker(embedder)
    if kind == "cross-encoder" and path:
        from headwater.rerankers.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker(path)
    if spec == "listwise":
        from headwater.rerankers.listwise import ListwiseReranker

        if judge is None:
            raise ValidationError("listwise asks a chat model: give a function from prompt to answer as judge.")
        return ListwiseReranker(judge)
    if spec == "fake":
        from headwater.rerankers.fake import FakeReranker

        return FakeReranker()
    if not path and (lacking := _LACKING.get(kind)) is not None:
        raise ValidationError(f"Reranker {kind!r} is given without its {lacking}: use {SPECS}.")
    raise ValidationError(f"Reranker {kind[:80]!r} is not known: use {SPECS}.")


__all__ = ["ApiKey", "Judge", "Reranker", "is_hosted", "resolve_reranker"]
