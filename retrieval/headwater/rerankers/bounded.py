"""A reranker that cannot hold a question up, read more than it should, or change what was found."""

import json
import math
import threading
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from inspect import isawaitable
from itertools import islice
from pathlib import PurePath
from typing import Final, TypedDict

from headwater.answering.host_code import check_not_async
from headwater.errors import HeadwaterError, LimitError, RerankError, RerankLimitError, ValidationError
from headwater.limits import Limit
from headwater.models import Hit
from headwater.rerankers import Reranker, is_hosted
from headwater.rerankers.profiles import KeptOrder, failure_of, reads_restricted

INPUT_BYTES: Final = Limit("max_input_bytes", default=64 * 1024, cap=256 * 1024)
CONCURRENT: Final = Limit("max_concurrent", default=2, cap=8)
TIMEOUT_S: Final = 2.0
TIMEOUT_MAX_S: Final = 10.0

Key = tuple[str, str, str, str]


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
        if not callable(getattr(reranker, "rerank", None)):
            raise ValidationError("reranker must be an object like headwater.Reranker: rerank(query, hits).")
        check_not_async(reranker.rerank, f"{type(reranker).__name__}.rerank")
        self._reranker = reranker
        self._max_input_bytes = INPUT_BYTES.check(max_input_bytes)
        self._timeout_s = check_timeout(timeout_s)
        self._max_concurrent = CONCURRENT.check(max_concurrent)
        self._slots = threading.BoundedSemaphore(max_concurrent)

    @classmethod
    def of(cls, reranker: Reranker) -> "Bounded":
        """``reranker`` itself if it is bounded already, else within the default bounds."""
        return reranker if isinstance(reranker, Bounded) else cls(reranker)

    @property
    def is_hosted(self) -> bool:
        return is_hosted(self._reranker)

    @property
    def reads_restricted(self) -> bool:
        return reads_restricted(self._reranker)

    @property
    def name(self) -> str:
        """How errors and traces call it. Never an address or a key."""
        return type(self._reranker).__name__

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
        ended: Future[tuple[Hit, ...]] = Future()
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
            return ended.result(self._timeout_s)
        except TimeoutError:
            raise RerankLimitError(
                f"{self.name} took longer than {self._timeout_s:g} s: nothing was reordered."
            ) from None

    def _check_input(self, query: str, hits: Sequence[Hit]) -> None:
        # What rerankers over HTTP send. Titles and metadata are not counted, for nobody sends them.
        read = json.dumps({"query": query, "texts": [hit.text for hit in hits]}, ensure_ascii=False)
        size = len(read.encode(errors="surrogatepass"))
        if size > self._max_input_bytes:
            raise RerankLimitError(
                f"{self.name} would read {size:,} bytes, and may read {self._max_input_bytes:,}: ask for fewer candidates, "
                f"or raise max_input_bytes (at most {INPUT_BYTES.cap:,})."
            )

    def _run(self, query: str, hits: tuple[Hit, ...], ended: "Future[tuple[Hit, ...]]") -> None:
        found: tuple[Hit, ...] = ()
        error: BaseException | None = None
        try:
            found = self._ordered(query, hits)
        except (RerankError, RerankLimitError) as own:
            error = own
        except Exception as foreign:  # noqa: BLE001 - a host's reranker raises anything
            error = self._wrapped(foreign)
        except BaseException as abort:  # noqa: BLE001 - raised again where it was asked, as it is
            error = abort
        self._slots.release()  # first: who was answered may ask again at once
        if error is None:
            ended.set_result(found)
        else:
            ended.set_exception(error)

    def _ordered(self, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        answer: object = self._reranker.rerank(query, hits)
        if isawaitable(answer):
            if callable(close := getattr(answer, "close", None)):
                close()
            raise RerankError(f"{self.name}.rerank is async, and must give the passages themselves.")
        if not isinstance(answer, Iterable):
            raise RerankError(f"{self.name} gave a {type(answer).__name__} instead of passages.")
        by_key = {_key(hit): hit for hit in hits}
        ordered: dict[Key, Hit] = {}
        for hit in islice(answer, len(hits) + 1):
            if not isinstance(hit, Hit) or (key := _key(hit)) not in by_key:
                raise RerankError(f"{self.name} gave a passage that it was not given.")
            if key in ordered:
                raise RerankError(f"{self.name} gave a passage twice.")
            ordered[key] = by_key[key]  # ours: a copy may say something else
        if len(ordered) != len(hits):
            raise RerankError(f"{self.name} gave {len(ordered)} passages of {len(hits)}: each must come back once.")
        failure = failure_of(answer)
        return tuple(ordered.values()) if failure is None else KeptOrder.of(ordered.values(), failure)

    def _wrapped(self, error: Exception) -> RerankError | RerankLimitError:
        """Without what a foreign error says: it may repeat a key or a passage."""
        if isinstance(error, LimitError):
            return RerankLimitError(str(error))
        if isinstance(error, HeadwaterError):
            return RerankError(f"{self.name} failed: {error}")
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        place = f"{PurePath(frame.f_code.co_filename).name}:{line}"
        wrapped = RerankError(f"{self.name} failed with {type(error).__name__} at {place}.")
        wrapped.__suppress_context__ = True
        return wrapped


def check_timeout(timeout_s: float) -> float:
    """``timeout_s`` unchanged, if it is within the limit."""
    if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool) or not math.isfinite(timeout_s):
        raise ValidationError("timeout_s must be a number of seconds.")
    if not 0 < timeout_s <= TIMEOUT_MAX_S:
        raise LimitError(f"timeout_s must be above 0 and at most {TIMEOUT_MAX_S:g}, not {timeout_s:g}.")
    return timeout_s


def _key(hit: Hit) -> Key:
    """The same chunk id in two corpora is two passages."""
    where = hit.provenance
    return where.tenant_id, where.resource_id, where.corpus_id, hit.chunk_id


__all__ = ["IN_PROCESS", "TIMEOUT_S", "Bounded", "Bounds", "check_timeout"]
