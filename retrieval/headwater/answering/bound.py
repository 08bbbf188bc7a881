"""A retriever with all but the query settled by the host: what a prompt or a model may use, and cannot widen."""

from collections.abc import Mapping
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from headwater.errors import ValidationError
from headwater.models import Authorization

if TYPE_CHECKING:
    from headwater.async_retriever import AsyncRetriever
    from headwater.libraries import AsyncLibraries, Libraries
    from headwater.retriever import Retriever

    Searching: TypeAlias = Retriever | Libraries
    AsyncSearching: TypeAlias = AsyncRetriever | AsyncLibraries

S = TypeVar("S")
_SETTLED_ELSEWHERE: Final = frozenset({"self", "query"})


class Bound(Generic[S]):
    """``retriever`` with the arguments of every question. Who asks and where is settled here, before any question."""

    def __init__(self, retriever: S, arguments: Mapping[str, Any]) -> None:
        if not callable(getattr(retriever, "retrieve", None)):
            raise ValidationError("retriever must be a headwater.Retriever or AsyncRetriever.")
        if not isinstance(arguments.get("authorization"), Authorization):
            raise ValidationError("authorization must be a headwater.Authorization: every search names who asks.")
        if not _SETTLED_ELSEWHERE.isdisjoint(arguments):
            raise ValidationError("query is what is asked later: give the other arguments of retrieve.")
        self.retriever = retriever
        self.arguments = dict(arguments)


def is_async(retriever: object) -> bool:
    """Its `retrieve` must be awaited: it says so itself, or can be seen to be one of a host's own that must."""
    return getattr(retriever, "is_async", False) is True or iscoroutinefunction(getattr(retriever, "retrieve", None))
