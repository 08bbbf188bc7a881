"""What of a host's own code a question runs through, checked before anything is read."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from weakref import WeakValueDictionary

from headwater.answering.host_code import check_not_async
from headwater.answering.recheck import OnAccessDenied
from headwater.answering.redaction import Redactor
from headwater.errors import ValidationError
from headwater.prompts import PostProcessor, check_post_processors, reach
from headwater.prompts.chain import NAMED
from headwater.rerankers import Reranker
from headwater.rerankers.bounded import Bounded
from headwater.rewriting import Rewriter

OnRerankError = Literal["raise", "keep"]

OWN: Final = frozenset(NAMED.values())  # post-processors that take no time


@dataclass(frozen=True, slots=True)
class Hooks:
    """None of them has an effect unless a host gives it."""

    reranker: Bounded | None = None
    keeps_order: bool = False  # when the reranker fails
    redactor: Redactor | None = None
    rewriter: Rewriter | None = None
    post_processors: tuple[PostProcessor, ...] = ()

    @property
    def arranges_with_hosts_code(self) -> bool:
        """What arranges a prompt may take its time: a step of the host's, or its redactor in what is read around passages."""
        is_ours = all(type(step) in OWN for step in self.post_processors)
        return not is_ours or (self.redactor is not None and reach(self.post_processors) is not None)

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
    """The rerankers that a retriever is waiting for, each within bounds of its own: how many calls run at once is counted there.

    A question holds its `Bounded`, and so does a call that hangs after the question gave it up. Where nothing does, no call runs,
    and there is nothing to remember: no reranker is kept alive here, with its model or its memory.
    """

    def __init__(self) -> None:
        # By identity: while the bounds live so does what is within, and no other object has its number.
        self._bounded: WeakValueDictionary[int, Bounded] = WeakValueDictionary()
        self._lock = threading.Lock()

    def bounded(self, reranker: Reranker | None) -> Bounded | None:
        """``reranker`` within its bounds: the same ones as long as anything runs within them."""
        if reranker is None or isinstance(reranker, Bounded):
            return reranker
        with self._lock:
            known = self._bounded.get(id(reranker))
            if known is None:
                known = self._bounded[id(reranker)] = Bounded(reranker)
        return known
