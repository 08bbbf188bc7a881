"""Handing in content that is too large for a request: in parts, hashed on the way, under the role ``<schema>_host``.

What was handed in is named in ``IngestSources`` by its id. What is not named within a day is collected.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

import psycopg
from psycopg import sql

from headwater.errors import HeadwaterError, LimitError, StoreError, ValidationError
from headwater.models import Scope
from headwater.store.db import reached, reason, unless_said

PART_BYTES: Final = 1 << 20
CONTENT_BYTES: Final = 256 << 20  # the functions in the database refuse more, too

FunctionCall: TypeAlias = tuple[bytes, dict[str, Any]]


@runtime_checkable
class Readable(Protocol):
    """A binary file, or what reads like one."""

    def read(self, size: int, /) -> bytes: ...


Content: TypeAlias = bytes | Readable | Iterable[bytes]


@dataclass(frozen=True, slots=True)
class StagedContent:
    """Content that is whole in the database, and may be named as ``staged`` in one request."""

    id: UUID
    bytes: int
    sha256: str


def stage_content(
    connection: psycopg.Connection,
    content: Content,
    *,
    scope: Scope,
    media_type: str,
    schema: str = "headwater",
    max_bytes: int = CONTENT_BYTES,
) -> StagedContent:
    """``content`` in the database, or a `LimitError`. Of a file or an iterable, one part at a time is in memory.

    Each part is a transaction of its own, so ``connection`` must have none open.
    """
    staging = _Staging(schema, max_bytes)

    def call(query: bytes, params: dict[str, Any]) -> Any:
        with _told(schema), connection.transaction():
            return connection.execute(query, params).fetchone()

    staging.opened(call(*staging.open(scope, media_type)))
    for part in _parts(content):
        call(*staging.append(part))
    return staging.closed(call(*staging.close()))


async def stage_content_async(
    connection: psycopg.AsyncConnection,
    content: Content | AsyncIterable[bytes],
    *,
    scope: Scope,
    media_type: str,
    schema: str = "headwater",
    max_bytes: int = CONTENT_BYTES,
) -> StagedContent:
    """The same, for asyncio. A file is read in a thread."""
    staging = _Staging(schema, max_bytes)

    async def call(query: bytes, params: dict[str, Any]) -> Any:
        with _told(schema):
            async with connection.transaction():
                return await (await connection.execute(query, params)).fetchone()

    staging.opened(await call(*staging.open(scope, media_type)))
    async for part in _parts_async(content):
        await call(*staging.append(part))
    return staging.closed(await call(*staging.close()))


async def staging_connection(dsn: str) -> psycopg.AsyncConnection:
    """A connection to hand in content over, or the `StoreError` that says why there is none."""
    with reached(dsn):
        return await psycopg.AsyncConnection.connect(
            dsn, autocommit=True, **unless_said(dsn, application_name="headwater-client")
        )


class _Staging:
    """The calls in their order, and what was handed in so far."""

    def __init__(self, schema: str, max_bytes: int) -> None:
        self._max_bytes = min(max_bytes, CONTENT_BYTES)
        self._schema = sql.Identifier(schema).as_string(None).replace("%", "%%")
        self._id = UUID(int=0)
        self._part = 0
        self._bytes = 0
        self._digest = hashlib.sha256()

    def open(self, scope: Scope, media_type: str) -> FunctionCall:
        params = {**scope.model_dump(), "media_type": media_type}
        return self._call("stage_open(%(tenant_id)s, %(resource_id)s, %(corpus_id)s, %(media_type)s)", params)

    def opened(self, row: Any) -> None:
        self._id = row[0]

    def append(self, part: bytes) -> FunctionCall:
        self._part += 1
        self._bytes += len(part)
        if self._bytes > self._max_bytes:
            raise LimitError(f"The content has more than {self._max_bytes:,} bytes, which is the most that is staged.")
        self._digest.update(part)
        return self._call(
            "stage_append(%(content)s, %(part)s, %(data)s)", {"content": self._id, "part": self._part, "data": part}
        )

    def close(self) -> FunctionCall:
        return self._call(
            "stage_close(%(content)s, %(sha256)s)", {"content": self._id, "sha256": self._digest.digest()}
        )

    def closed(self, row: Any) -> StagedContent:
        return StagedContent(self._id, row[0], self._digest.hexdigest())

    def _call(self, function: str, params: dict[str, Any]) -> FunctionCall:
        return f"SELECT {self._schema}.{function}".encode(), params


def _parts(content: Content) -> Iterator[bytes]:
    """``content`` in parts of equal size, whatever the pieces it comes in."""
    pieces = _pieces(content)
    held = bytearray()
    for piece in pieces:
        held += piece
        yield from _full(held)
    if held:
        yield bytes(held)


async def _parts_async(content: Content | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if not isinstance(content, AsyncIterable):
        parts = _parts(content)
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            yield part
        return
    held = bytearray()
    async for piece in content:
        held += piece
        for part in _full(held):
            yield part
    if held:
        yield bytes(held)


def _full(held: bytearray) -> Iterator[bytes]:
    """The full parts of what is ``held``, which keeps the rest."""
    with memoryview(held) as view:
        full = [bytes(view[first : first + PART_BYTES]) for first in range(0, len(held) - PART_BYTES + 1, PART_BYTES)]
    del held[: len(full) * PART_BYTES]
    yield from full


def _pieces(content: Content) -> Iterable[bytes]:
    if isinstance(content, bytes):
        return (content[first : first + PART_BYTES] for first in range(0, len(content), PART_BYTES))
    if isinstance(content, Readable):
        read = content.read
        return iter(lambda: read(PART_BYTES), b"")
    return content


@contextmanager
def _told(schema: str) -> Iterator[None]:
    """Refusals of the functions come out in their own words, which name ids and numbers only."""
    try:
        yield
    except psycopg.Error as error:
        raise _refusal(error, schema) from None  # its words may repeat a value, and loggers print causes


def _refusal(error: psycopg.Error, schema: str) -> HeadwaterError:
    sentence = error.diag.message_primary or reason(error)
    match error:
        case psycopg.errors.UndefinedFunction() | psycopg.errors.InvalidSchemaName():
            return StoreError(
                f"Schema {schema!r} of this database is not one of this release: run `headwater migrate` first."
            )
        case psycopg.errors.InsufficientPrivilege():
            return StoreError(
                f"This database login may not stage content in schema {schema!r}: grant it the role {schema + '_host'!r}."
            )
        case psycopg.errors.ProgramLimitExceeded():
            return LimitError(sentence)
        case (
            psycopg.errors.InvalidParameterValue()
            | psycopg.errors.NoDataFound()
            | psycopg.errors.ObjectNotInPrerequisiteState()
        ):
            return ValidationError(sentence)
        case _:
            return StoreError(
                f"Postgres gave no answer ({reason(error)}): see whether it is up, then stage the content again."
            )
