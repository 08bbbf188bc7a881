"""A reranker that cannot hold a question up, read more than it should, or change what was found."""

import json
import math
import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from itertools import islice
from typing import Final, TypedDict, TypeVar

from headwater.answering.host_code import check_not_async, failure, given_at_once, is_ours, lent, printable
from headwater.errors import LimitError, RerankError, RerankLimitError, TransientError, ValidationError
from headwater.limits import Limit
from headwater.models import Hit
from headwater.prompts.keys import Key, key_of
from headwater.rerankers import Reranker, is_hosted
from headwater.rerankers.profiles import KeptOrder, failure_of, reads_restricted

INPUT_BYTES: Final = Limit("max_input_bytes", default=64 * 1024, cap=256 * 1024)
CONCURRENT: Final = Limit("max_concurrent", default=2, cap=8)
TIMEOUT_S: Final = 2.0
TIMEOUT_MAX_S: Final = 10.0

T = TypeVar("T")
_Outcome = tuple[Hit, ...] | RerankError


class Bounds(TypedDict, total=False):
    """How much a reranker may read, for how long, and how often at once."""

    max_input_bytes: int
    timeout_s: float
    max_concurrent: int


# What runs here is neither sent nor paid for: 50 passages of 1,000 characters of Chinese are 150 KB.
IN_PROCESS: Final[Bounds] = {"max_input_bytes": INPUT_BYTES.cap, "timeout_s": TIMEOUT_MAX_S}


class Bounded:
    """``reranker`` within its bounds. What leaves it is a permutation of what came in, a `RerankError` or a
    `RerankLimitError`.

    Wrap a reranker once and keep the wrapper: what runs at the same time is counted here.
    """

    def __init__(
        self,
        reranker: Reranker,
        *,
        max_input_bytes: int = INPUT_BYTES.default,
        timeout_s: float = TIMEOUT_S,
        max_concurrent: int = CONCURRENT.default,
    ) -> None:
        self._reranker = reranker
        rerank = self._told(lambda: getattr(reranker, "rerank", None))
        if not callable(rerank):
            raise ValidationError("reranker must be an object like headwater.Reranker: rerank(query, hits).")
        check_not_async(rerank, f"{self.name}.rerank")
        self._max_input_bytes = INPUT_BYTES.check(max_input_bytes)
        self._timeout_s = check_timeout(timeout_s)
        self._max_concurrent = CONCURRENT.check(max_concurrent)
        self._slots = threading.BoundedSemaphore(max_concurrent)

    @property
    def is_hosted(self) -> bool:
        return self._told(lambda: is_hosted(self._reranker))

    @property
    def reads_restricted(self) -> bool:
        return self._told(lambda: reads_restricted(self._reranker))

    @property
    def name(self) -> str:
        """How errors and traces call it. Never an address or a key."""
        return printable(type(self._reranker).__name__)

    def rerank(self, query: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """The objects of ``hits``, best first. Waits for the timeout at most.

        A call that is given up keeps its place until it really ends: a reranker that hangs is not asked more and more.
        """
        given = tuple(hits)
        if not given:
            return ()
        self._check_input(query, given)
        if not self._slots.acquire(blocking=False):
            raise RerankLimitError(
                f"{self.name} is busy with {self._max_concurrent} calls, as many as it may have at once: ask again later."
            )
        ended: Future[_Outcome] = Future()
        # Not of a pool, whose threads the interpreter waits for at its end: one that hangs would keep it.
        thread = threading.Thread(
            target=copy_context().run, args=(self._run, query, given, ended), name="headwater-rerank", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # of any other, a Ctrl-C among them, nobody knows whether the thread runs
            self._slots.release()
            raise RerankLimitError(f"{self.name} was not asked: no more threads can be started here.") from None
        try:
            outcome = ended.result(self._timeout_s)
        except TimeoutError:
            raise RerankLimitError(
                f"{self.name} took longer than {self._timeout_s:g} s: nothing was reordered."
            ) from None
        if isinstance(outcome, RerankError):
            raise outcome from None
        return outcome

    def _check_input(self, query: str, hits: Sequence[Hit]) -> None:
        # What rerankers over HTTP send. Titles and metadata are not counted, for nobody sends them.
        read = json.dumps({"query": query, "texts": [hit.text for hit in hits]}, ensure_ascii=False)
        size = len(read.encode(errors="surrogatepass"))
        if size > self._max_input_bytes:
            raise RerankLimitError(
                f"{self.name} would read {size:,} bytes, and may read {self._max_input_bytes:,}: ask for fewer candidates, "
                f"or raise max_input_bytes (at most {INPUT_BYTES.cap:,})."
            )

    def _run(self, query: str, hits: tuple[Hit, ...], ended: "Future[_Outcome]") -> None:
        outcome: _Outcome = ()
        abort: BaseException | None = None
        try:
            outcome = self._ordered(query, hits)
        except (Exception, CancelledError) as error:  # noqa: BLE001 - a host's reranker raises anything; nobody cancels a thread of ours
            outcome = self._as_said(error)
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked, as it is
            abort = error
        self._slots.release()  # first: who was answered may ask again at once
        if abort is None:
            ended.set_result(outcome)
        else:
            ended.set_exception(abort)

    def _ordered(self, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        answer: object = given_at_once(
            self._reranker.rerank(query, lent(hits)), name=f"{self.name}.rerank", kind=RerankError
        )
        if not isinstance(answer, Iterable):
            raise RerankError(f"{self.name} gave a {printable(type(answer).__name__)} instead of passages.")
        by_key = {key_of(hit): hit for hit in hits}
        ordered: dict[Key, Hit] = {}
        for hit in islice(answer, len(hits) + 1):
            if not isinstance(hit, Hit) or (key := key_of(hit)) not in by_key:
                raise RerankError(f"{self.name} gave a passage that it was not given.")
            if key in ordered:
                raise RerankError(f"{self.name} gave a passage twice.")
            ordered[key] = by_key[key]  # ours: the copy may say something else by now
        if len(ordered) != len(hits):
            raise RerankError(f"{self.name} gave {len(ordered)} passages of {len(hits)}: each must come back once.")
        kept = failure_of(answer)
        return tuple(ordered.values()) if kept is None else KeptOrder.of(ordered.values(), kept)

    def _told(self, ask: Callable[[], T]) -> T:
        """What the reranker says of itself, which is code of a host's as well."""
        try:
            return ask()
        except (Exception, CancelledError) as error:  # noqa: BLE001
            raise self._as_said(error) from None

    def _as_said(self, error: BaseException) -> RerankError:
        """Our own sentence as it is. Of what code of a host's raises only kind and line: it may repeat a key or a passage."""
        kind = RerankLimitError if isinstance(error, LimitError | TransientError) else RerankError
        if not is_ours(error):
            return kind(failure(error, self.name))
        return kind(str(error) if isinstance(error, RerankError | LimitError) else f"{self.name} failed: {error}")


def check_timeout(timeout_s: float) -> float:
    """``timeout_s`` unchanged, if it is within the limit."""
    if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool) or not math.isfinite(timeout_s):
        raise ValidationError("timeout_s must be a number of seconds.")
    if not 0 < timeout_s <= TIMEOUT_MAX_S:
        raise LimitError(f"timeout_s must be above 0 and at most {TIMEOUT_MAX_S:g}, not {timeout_s:g}.")
    return timeout_s


__all__ = ["IN_PROCESS", "TIMEOUT_S", "Bounded", "Bounds", "check_timeout"]
