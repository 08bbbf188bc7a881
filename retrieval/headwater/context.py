"""Passages for a conversation: what a host puts beside the messages before it asks a model."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from headwater.answering.bound import Bound, is_async
from headwater.answering.host_code import answered, check_not_async
from headwater.errors import StoreError, ValidationError
from headwater.models import Citation, Frozen, RetrievalResult, Trust

if TYPE_CHECKING:
    from headwater.answering.bound import AsyncSearching, Searching

Message = Mapping[str, Any]
"""``role`` and ``content``; the content is a text, or a list of parts of which those with a ``text`` are read."""

Query = str | Callable[[Sequence[Message]], str | None] | None


class ContextBlock(Frozen):
    """Retrieved text for a prompt. It is data: never put it where instructions stand, whatever it says.

    ``rerank_error`` and ``check_error`` are those of the result; the latter only where other libraries gave something.
    """

    kind: Literal["context"] = "context"
    text: str
    citations: tuple[Citation, ...]
    truncated: bool
    rerank_error: str | None = None
    check_error: str | None = None
    trust: Trust = Trust()


class ContextProvider(Bound["Searching"]):
    """Gives the context of a conversation. Made by `context_provider`."""

    def __init__(self, retriever: "Searching", arguments: Mapping[str, Any], query: Query) -> None:
        super().__init__(retriever, arguments)
        self._query = query

    def __call__(self, messages: Sequence[Message] = ()) -> list[ContextBlock]:
        """One block; none where there is nothing to ask, or nothing was found."""
        asked = _asked(self._query, messages)
        return [] if asked is None else _blocks(self.retriever.retrieve(asked, **self.arguments))


class AsyncContextProvider(Bound["AsyncSearching"]):
    """`ContextProvider` for asyncio."""

    def __init__(self, retriever: "AsyncSearching", arguments: Mapping[str, Any], query: Query) -> None:
        super().__init__(retriever, arguments)
        self._query = query

    async def __call__(self, messages: Sequence[Message] = ()) -> list[ContextBlock]:
        """See `ContextProvider`."""
        # A query of the host's own may take its time: a model that says what is asked for, perhaps.
        asked = (
            await asyncio.to_thread(_asked, self._query, messages)
            if callable(self._query)
            else _asked(self._query, messages)
        )
        return [] if asked is None else _blocks(await self.retriever.retrieve(asked, **self.arguments))


@overload
def context_provider(retriever: "Searching", *, query: Query = None, **arguments: Any) -> ContextProvider: ...
@overload
def context_provider(retriever: "AsyncSearching", *, query: Query = None, **arguments: Any) -> AsyncContextProvider: ...
def context_provider(
    retriever: "Searching | AsyncSearching", *, query: Query = None, **arguments: Any
) -> ContextProvider | AsyncContextProvider:
    """A callable that takes a conversation's messages and gives at most one block of passages for it.

    What is asked is ``query``; or what it makes of the messages, if it is a callable; or what the user said last. The other
    arguments are those of `Retriever.retrieve`, and the same for every question: make a provider for each person who asks.
    """
    if query is not None and not isinstance(query, str) and not callable(query):
        raise ValidationError("query must be a text, or a callable that takes the messages and gives one.")
    check_not_async(query, "query")
    provider = AsyncContextProvider if is_async(retriever) else ContextProvider
    return provider(retriever, arguments, query)  # type: ignore[arg-type]  # is_async knows which of the two it is


def _asked(query: Query, messages: Sequence[Message]) -> str | None:
    """What to look for; None where there is nothing to ask."""
    if query is None:
        asked = last_user_text(messages)
    elif isinstance(query, str):
        asked = query
    else:
        asked = answered(query, messages, name="query")
    if asked is not None and not isinstance(asked, str):
        raise ValidationError(f"query gave {type(asked).__name__}, and must give a text or None.")
    return asked if asked and asked.strip() else None


_USER: Final = "user"
_MESSAGES: Final = (
    'messages must be a list of a conversation\'s messages, such as {{"role": "user", "content": "…"}}, not {}: a text that is known '
    "is asked as query."
)


def last_user_text(messages: Sequence[Message]) -> str | None:
    """What the user said last. Parts that are no text, and messages of nothing else, are passed over."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise ValidationError(_MESSAGES.format(type(messages).__name__))
    for message in messages:
        if message is None or isinstance(message, str | bytes | int | float | Sequence):
            raise ValidationError(_MESSAGES.format(f"one that holds {type(message).__name__}"))
    for message in reversed(messages):
        if _of(message, "role") == _USER and (text := _text(_of(message, "content"))).strip():
            return text
    return None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    texts = (part if isinstance(part, str) else _of(part, "text") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _of(thing: object, name: str) -> object:
    """Of a mapping or an object: clients of models have messages as either."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _blocks(result: RetrievalResult) -> list[ContextBlock]:
    if not result.text:
        if result.check_error is not None:  # no block would say that nothing was found
            raise StoreError(result.check_error)
        return []
    return [
        ContextBlock(
            text=result.text,
            citations=result.citations,
            truncated=result.truncated,
            rerank_error=result.rerank_error,
            check_error=result.check_error,
        )
    ]
