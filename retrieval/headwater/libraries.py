"""Several libraries, of which a router says where to look. Each is searched alone, and says what it found."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headwater.answering.assembly import cited_end
from headwater.answering.blocks import Room, fill
from headwater.answering.finding import all_exact
from headwater.answering.host_code import check_not_async, given_at_once
from headwater.answering.redaction import redacted_text
from headwater.errors import LimitError, ValidationError
from headwater.fusion import fuse_reciprocal_rank
from headwater.ids import SCOPE_PART
from headwater.limits import CONTEXT_TOKENS, RESULT_BYTES, RRF_K, TOP_K
from headwater.models import Authorization, Citation, Hit, RetrievalResult, Scope
from headwater.prompts import arrange, check_post_processors
from headwater.prompts.expansion import Expansion
from headwater.prompts.keys import key_of
from headwater.store.db import POOL_SIZE

if TYPE_CHECKING:
    from headwater.async_retriever import AsyncRetriever
    from headwater.prompts import PostProcessor
    from headwater.retriever import Retriever

LIBRARIES_MAX: Final = 32
Router = Callable[[str, Sequence[str]], Iterable[str]]
"""Takes a query and the ids of all libraries, and gives the ids of those to search."""

Libs = Mapping[str, Scope] | Sequence[tuple[str, Scope]]


class LibrariesResult(RetrievalResult):
    """What several libraries gave. ``searched`` names them; ``is_routed`` says that the router chose them.

    ``rerank_error`` and ``check_error`` are of some of them at least: with the latter, others may have hits all the same.
    """

    searched: tuple[str, ...]
    is_routed: bool


@dataclass(frozen=True, slots=True)
class _Routed:
    """One question to several libraries, with what they share."""

    libraries: tuple[str, ...]
    is_routed: bool
    top_k: int
    rrf_k: int
    room: Room
    steps: "tuple[PostProcessor, ...]"  # post-processors over what all libraries gave
    arguments: Mapping[str, Any]


class _Shelf:
    """The libraries there are, and which of them a question goes to."""

    def __init__(self, libraries: Libs, router: Router | None) -> None:
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
        return _Routed(
            libraries=libraries,
            is_routed=is_routed,
            top_k=TOP_K.check(arguments.get("top_k", TOP_K.default)),
            rrf_k=RRF_K.check(arguments.get("rrf_k", RRF_K.default)),
            room=Room.within(
                max_result_bytes=RESULT_BYTES.check(arguments.get("max_result_bytes", RESULT_BYTES.default)),
                max_context_tokens=CONTEXT_TOKENS.check(arguments.get("max_context_tokens", CONTEXT_TOKENS.default)),
            ),
            steps=steps[alone:],
            arguments={**arguments, "authorization": authorization}
            | ({"post_processors": steps[:alone]} if steps else {}),
        )


class Libraries(_Shelf):
    """Searches the libraries that ``router`` names, or all of them, through one retriever, which stays its owner's."""

    def __init__(self, retriever: "Retriever", libraries: Libs, router: Router | None = None) -> None:
        super().__init__(libraries, router)
        self._retriever = retriever

    def retrieve(self, query: str, *, authorization: Authorization, **arguments: Any) -> LibrariesResult:
        """The best of all libraries, each searched as `Retriever.retrieve` does with these arguments.

        Ranks are fused: the first of each library before the second of any. The same passage in two libraries is two
        passages, and each says in its provenance where it was found. Limits hold for the whole.
        """
        routed = self.routed(query, authorization, arguments)
        return _merged(
            routed,
            [self._retriever.retrieve(query, scope=self.scope(one), **routed.arguments) for one in routed.libraries],
        )


class AsyncLibraries(_Shelf):
    """`Libraries` for asyncio, over an `AsyncRetriever`."""

    def __init__(self, retriever: "AsyncRetriever", libraries: Libs, router: Router | None = None) -> None:
        super().__init__(libraries, router)
        self._retriever = retriever

    async def retrieve(self, query: str, *, authorization: Authorization, **arguments: Any) -> LibrariesResult:
        """See `Libraries.retrieve`. Searches side by side: code of yours may be called for several libraries at once.

        If one of them fails, so does the whole, when those have ended that had begun: each tells what it withheld.
        """
        routed = await asyncio.to_thread(self.routed, query, authorization, arguments)
        # As many as the retriever has connections. A reranker has bounds of its own on how many calls of it run at once.
        turns = asyncio.Semaphore(POOL_SIZE if arguments.get("reranker") is None else 1)

        errors: list[Exception] = []

        async def search(library_id: str) -> RetrievalResult | None:
            async with turns:
                if errors:  # nobody would read it
                    return None
                try:
                    return await self._retriever.retrieve(query, scope=self.scope(library_id), **routed.arguments)
                except Exception as error:  # noqa: BLE001 - raised when the others have told what they withheld
                    errors.append(error)
                    return None

        results = await asyncio.gather(*map(search, routed.libraries))
        if errors:
            raise errors[0]
        return await asyncio.to_thread(_merged, routed, [each for each in results if each is not None])


_Place = tuple[int, int]  # of the library, of the hit in it


def _merged(routed: _Routed, results: Sequence[RetrievalResult]) -> LibrariesResult:
    """One result of several. A passage is named by its library and its place there, so that none is taken for another."""
    hits: dict[_Place, Hit] = {}
    citations: dict[_Place, Citation] = {}
    for number, (library_id, result) in enumerate(zip(routed.libraries, results, strict=True)):
        for place, (hit, citation) in enumerate(zip(result.hits, result.citations, strict=True)):
            provenance = hit.provenance.model_copy(update={"library_id": library_id})
            hits[number, place] = hit.model_copy(update={"provenance": provenance})
            citations[number, place] = citation.model_copy(update={"provenance": provenance})
    legs = [[place for place in hits if place[0] == number] for number in range(len(results))]
    best = [fused.item for fused in fuse_reciprocal_rank(legs, routed.rrf_k)][: routed.top_k]
    query = results[0].query
    arranged = arrange(routed.steps, query, [hits[place] for place in best])
    blocks = fill(arranged.hits, room=routed.room, layout=arranged.layout)
    places = {key_of(hits[place]): place for place in best}
    return LibrariesResult(
        query=query,
        text=blocks.text,
        hits=blocks.hits,
        citations=tuple(_cited(citations[places[key_of(hit)]], hits[places[key_of(hit)]], hit) for hit in blocks.hits),
        truncated=blocks.truncated or any(result.truncated for result in results),
        generation=None,
        lexical_is_exact=all_exact(result.lexical_is_exact for result in results),
        rerank_error=_all_errors(result.rerank_error for result in results),
        check_error=_all_errors(result.check_error for result in results),
        searched=routed.libraries,
        is_routed=routed.is_routed,
    )


def _cited(citation: Citation, found: Hit, shown: Hit) -> Citation:
    """The citation of what is shown: a passage that was shortened for the whole ends earlier, and has the id of the whole."""
    end = cited_end(citation.start, citation.end, found=found.text, shown=shown.text)
    return citation.model_copy(
        update={"citation_id": shown.provenance.citation_id, "provenance": shown.provenance, "end": end}
    )


def _all_errors(errors: Iterable[str | None]) -> str | None:
    """What went wrong in some of the libraries, each sentence once."""
    return " ".join(dict.fromkeys(error for error in errors if error)) or None
