"""Several libraries, of which a router says where to look. Each is searched alone, and what they found is one answer."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Generic, TypeVar

from headwater.answering.asking import Asked
from headwater.answering.assembly import Answered
from headwater.answering.hooks import Hooks
from headwater.answering.host_code import check_not_async, given_at_once
from headwater.answering.redaction import redacted_text
from headwater.async_retriever import AsyncRetriever
from headwater.errors import LimitError, ValidationError
from headwater.ids import SCOPE_PART
from headwater.models import Authorization, RetrievalResult, Scope
from headwater.prompts import check_post_processors
from headwater.prompts.expansion import Expansion
from headwater.retriever import Retriever
from headwater.store.db import POOL_SIZE
from headwater.store.effects import in_thread
from headwater.telemetry import Span

R = TypeVar("R", Retriever, AsyncRetriever)

LIBRARIES_MAX: Final = 32
Router = Callable[[str, Sequence[str]], Iterable[str]]
"""Takes a query and the ids of all libraries, and gives the ids of those to search."""

Libs = Mapping[str, Scope] | Sequence[tuple[str, Scope]]


class LibrariesResult(RetrievalResult):
    """What several libraries gave. ``searched`` names them; ``is_routed`` says that the router chose them.

    ``rerank_error`` and ``check_error`` are of some of them at least: with the latter, others may have hits all the same, unless it
    was the look at the whole that failed.
    """

    searched: tuple[str, ...]
    is_routed: bool


@dataclass(frozen=True, slots=True)
class _Routed:
    """One question to several libraries: what each is asked, and what all of them are."""

    libraries: tuple[str, ...]
    is_routed: bool
    asked: tuple[Asked, ...]
    whole: Asked  # of all their corpora, with the post-processors over what all of them gave

    def parts(self, request: Span) -> list[Asked]:
        """What each library is asked, below the span of the whole."""
        return [replace(each, within=request) for each in self.asked]

    def result(self, of_all: RetrievalResult) -> LibrariesResult:
        return LibrariesResult(**dict(of_all), searched=self.libraries, is_routed=self.is_routed)


class _Shelf(Generic[R]):
    """The libraries there are, and which of them a question goes to."""

    _asks_through: ClassVar[type]

    def __init__(self, retriever: R, libraries: Libs, router: Router | None = None) -> None:
        self._retriever: R = retriever
        if not isinstance(retriever, self._asks_through):
            raise ValidationError(
                f"{type(self).__name__} asks through a headwater.{self._asks_through.__name__}: give that as retriever."
            )
        pairs = list(libraries.items()) if isinstance(libraries, Mapping) else list(libraries)
        if not pairs:
            raise ValidationError('libraries must name at least one: {"handbook": Scope(…)}.')
        if len(pairs) > LIBRARIES_MAX:
            raise LimitError(f"libraries holds {len(pairs)}: at most {LIBRARIES_MAX} may be searched by one router.")
        if router is not None and not callable(router):
            raise ValidationError("router must be a callable that takes a query and the ids, and gives ids.")
        check_not_async(router, "router")
        self._scopes: dict[str, Scope] = {}
        for library_id, scope in pairs:
            if not isinstance(library_id, str) or not SCOPE_PART.match(library_id):
                raise ValidationError(
                    f"Library id {str(library_id)[:80]!r} must be 1 to 64 characters of A-Z a-z 0-9 . _ @ ~ -."
                )
            if not isinstance(scope, Scope):
                raise ValidationError(f"Library {library_id!r} must be a headwater.Scope.")
            if library_id in self._scopes:
                raise ValidationError(f"Library id {library_id!r} is there twice: each library needs one of its own.")
            self._scopes[library_id] = scope
        self._router = router

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._scopes)

    def scope(self, library_id: str) -> Scope:
        return self._scopes[library_id]

    def route(self, query: str) -> tuple[tuple[str, ...], bool]:
        """The libraries to search, in our own order, and whether the router chose them.

        A router that fails, or names none of ours, hides nothing: then all are searched, each under its own grants.
        """
        if self._router is None or not query.strip():
            return self.ids, False
        try:
            named = self._router(query, self.ids)
        except Exception:  # noqa: BLE001  # it chooses for relevance only: searching all is a right answer too
            return self.ids, False
        named = given_at_once(named, name="router")  # one that nobody awaits would never choose anything
        try:
            chosen = {named} if isinstance(named, str) else set(named)
        except Exception:  # noqa: BLE001  # it gave no ids
            return self.ids, False
        known = tuple(library_id for library_id in self.ids if library_id in chosen)
        return (known, True) if known else (self.ids, False)

    def routed(self, query: str, authorization: Authorization, arguments: Mapping[str, Any]) -> _Routed:
        if not isinstance(query, str):
            raise ValidationError("query must be a text.")
        for name in ("scope", "scopes", "generation"):
            if arguments.get(name) is not None:
                raise ValidationError(f"{name} is not for several libraries: each has its own corpus, as it is now.")
        redactor = arguments.get("redactor")
        libraries, is_routed = self.route(query if redactor is None else redacted_text(query, redactor))
        steps = check_post_processors(arguments.get("post_processors", ()))
        # What reads the store runs where its corpus is asked, and so does what stands before it in the chain.
        alone = max((place for place, step in enumerate(steps, start=1) if isinstance(step, Expansion)), default=0)
        if any(getattr(step, "is_layout", False) is True for step in steps[:alone]):
            raise ValidationError(
                "post_processors lay the passages out before one of them reads around the passages, which is done in each library "
                "alone, and what they lay out is the whole: name a layout, such as lost_in_middle, behind window and parent."
            )
        settled: dict[str, Any] = {**arguments, "authorization": authorization} | (
            {"post_processors": steps[:alone]} if steps else {}
        )
        asked = [self._retriever._asked(query, scope=self.scope(one), **settled) for one in libraries]
        question, audit = asked[0].question, asked[0].audit
        corpora = dict.fromkeys(each.question.scopes[0] for each in asked)
        return _Routed(
            libraries=libraries,
            is_routed=is_routed,
            asked=tuple(replace(each, audit=audit.of_part()) for each in asked),
            whole=Asked(replace(question, scopes=tuple(corpora)), Hooks(post_processors=steps[alone:]), audit),
        )


class Libraries(_Shelf[Retriever]):
    """Searches the libraries that ``router`` names, or all of them, through one retriever, which stays its owner's."""

    _asks_through = Retriever

    def retrieve(self, query: str, *, authorization: Authorization, **arguments: Any) -> LibrariesResult:
        """The best of all libraries, each searched as `Retriever.retrieve` does with these arguments.

        Ranks are fused: the first of each library before the second of any. The same passage in two libraries is two
        passages, and each says in its provenance where it was found. Limits hold for the whole. When all have answered, and
        again behind post-processors of yours, the store is asked once more what of it may be shown.
        """
        routed = self.routed(query, authorization, arguments)
        with routed.whole.audit, self._retriever._request(routed.whole) as request:
            answers = [self._retriever._answered(each) for each in routed.parts(request)]
            return routed.result(self._retriever._merged(routed.libraries, answers, routed.whole, request))


class AsyncLibraries(_Shelf[AsyncRetriever]):
    """`Libraries` for asyncio, over an `AsyncRetriever`."""

    _asks_through = AsyncRetriever

    async def retrieve(self, query: str, *, authorization: Authorization, **arguments: Any) -> LibrariesResult:
        """See `Libraries.retrieve`. Searches side by side: code of yours may be called for several libraries at once.

        If one of them fails, so does the whole, when those have ended that had begun, and what they withheld is told.
        """
        routed = await in_thread(lambda: self.routed(query, authorization, arguments))
        async with routed.whole.audit:
            with self._retriever._request(routed.whole) as request:
                answers = await self._answers(routed.parts(request))
                return routed.result(await self._retriever._merged(routed.libraries, answers, routed.whole, request))

    async def _answers(self, asked: Sequence[Asked]) -> list[Answered]:
        # As many as the retriever has connections. A reranker has bounds of its own on how many calls of it run at once.
        turns = asyncio.Semaphore(POOL_SIZE if asked[0].hooks.reranker is None else 1)
        errors: list[Exception] = []

        async def answer(one: Asked) -> Answered | None:
            async with turns:
                if errors:  # nobody would read it
                    return None
                try:
                    return await self._retriever._answered(one)
                except Exception as error:  # noqa: BLE001 - raised when the others have ended
                    errors.append(error)
                    return None

        answers = await asyncio.gather(*map(answer, asked))
        if errors:
            raise errors[0]
        return [each for each in answers if each is not None]
