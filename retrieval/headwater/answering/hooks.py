"""What of a host's own code a question runs through, checked before anything is read."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from headwater.answering.host_code import check_not_async
from headwater.answering.recheck import OnAccessDenied
from headwater.answering.redaction import Redactor
from headwater.errors import ValidationError
from headwater.prompts import PostProcessor, check_post_processors
from headwater.rerankers import Reranker
from headwater.rerankers.bounded import Bounded
from headwater.rewriting import Rewriter

OnRerankError = Literal["raise", "keep"]

REMEMBERED: Final = 64  # rerankers of a host's own


@dataclass(frozen=True, slots=True)
class Hooks:
    """None of them has an effect unless a host gives it."""

    reranker: Bounded | None = None
    keeps_order: bool = False  # when the reranker fails
    redactor: Redactor | None = None
    rewriter: Rewriter | None = None
    post_processors: tuple[PostProcessor, ...] = ()

    @classmethod
    def checked(
        cls,
        *,
        reranker: Bounded | None,
        on_rerank_error: OnRerankError,
        redactor: Redactor | None,
        rewriter: Rewriter | None,
        post_processors: str | Sequence[PostProcessor],
        on_access_denied: OnAccessDenied | None = None,
    ) -> "Hooks":
        """The hooks, or the error that names the argument to change."""
        for name, hook in (("redactor", redactor), ("rewriter", rewriter)):
            if hook is not None and not callable(hook):
                raise ValidationError(f"{name} must be a function of a text, not {type(hook).__name__}.")
            check_not_async(hook, name)
        if on_access_denied is not None and not callable(on_access_denied):
            raise ValidationError(
                f"on_access_denied must be a function of an AccessDenied, not {type(on_access_denied).__name__}."
            )
        check_not_async(on_access_denied, "on_access_denied")
        if on_rerank_error not in ("raise", "keep"):
            raise ValidationError(f"on_rerank_error must be raise or keep, not {str(on_rerank_error)[:40]!r}.")
        return cls(reranker, on_rerank_error == "keep", redactor, rewriter, check_post_processors(post_processors))


class KnownRerankers:
    """The rerankers a retriever has met, each within bounds of its own: how many calls run at once is counted there."""

    def __init__(self) -> None:
        self._bounded: OrderedDict[int, tuple[Reranker, Bounded]] = OrderedDict()
        self._lock = threading.Lock()

    def bounded(self, reranker: Reranker | None) -> Bounded | None:
        """``reranker`` within its bounds: the same ones each time the same object is given."""
        if reranker is None or isinstance(reranker, Bounded):
            return reranker
        with self._lock:
            known = self._bounded.get(id(reranker))
            if known is None:
                known = self._bounded[id(reranker)] = (reranker, Bounded.of(reranker))
            self._bounded.move_to_end(id(reranker))
            if len(self._bounded) > REMEMBERED:
                self._bounded.popitem(last=False)
        return known[1]
