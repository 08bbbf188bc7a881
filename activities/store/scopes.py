"""Corpora: the row of a scope, and the build that readers see."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import psycopg
from psycopg.rows import class_row

from activities.store.database import Store
from activities.store.sql import queries
from headwater.errors import PermanentError, ValidationError
from headwater.lexical import DEFAULT_LANGUAGE, lexicon_of
from headwater.models import Scope


@dataclass(frozen=True, slots=True)
class SpaceSpec:
    """What a new corpus is embedded and cut with, and by which rule its words are indexed."""

    embedder_spec: str
    embedder_identity: str
    dimensions: int
    max_tokens: int
    chunker: str
    lexicon: str = lexicon_of(DEFAULT_LANGUAGE)  # not part of the space: vectors do not depend on it


@dataclass(frozen=True, slots=True)
class LiveBuild:
    """The index of a scope that readers see, and the space it is written in."""

    scope_id: int
    build_id: int
    slab: int
    space_id: int
    embedder_spec: str
    embedder_identity: str
    dimensions: int
    max_tokens: int
    chunker: str
    lexicon: str | None  # rule and language of its words; None: made before there were any
    avgdl: float | None  # terms of a passage; None: none was written yet
    corpus: str  # tenant/resource/corpus

    @property
    def language(self) -> str | None:
        """In which its words are stemmed."""
        return None if self.lexicon is None else self.lexicon.partition(":")[2]


def live_build(store: Store, scope: Scope) -> LiveBuild | None:
    """The live build of `scope`; `None` if nothing was ever synced there."""
    with store.connection() as connection:
        return _find(connection, store.schema, "live_build", scope.model_dump())


def build_at(store: Store, scope: Scope, generation: int) -> LiveBuild | None:
    """The build in which a generation is read; `None` if nothing was published by then, or it was collected."""
    with store.connection() as connection:
        return _find(connection, store.schema, "build_at", scope.model_dump() | {"generation": generation})


def build_of(store: Store, build_id: int) -> LiveBuild:
    """The build that a page was listed for."""
    return _one_build(store, "build_of", {"build_id": build_id})


def live_build_of(store: Store, scope_id: int) -> LiveBuild:
    """The live build of the scope with that row id."""
    return _one_build(store, "live_build_of", {"scope_id": scope_id})


def _one_build(store: Store, query: str, key: dict[str, int]) -> LiveBuild:
    with store.connection() as connection:
        found = _find(connection, store.schema, query, key)
    if found is None:
        raise PermanentError(f"The index that the sync writes is gone ({key}): start the sync again.")
    return found


def ensure_scope(store: Store, scope: Scope, space: SpaceSpec) -> LiveBuild:
    """The live build of `scope`, made in `space` if the scope is new. An existing one keeps the space it has.

    Spaces of the same embedder have its spec from now on.
    """
    named = queries(store.schema, "scopes")
    with store.connection() as connection, connection.transaction():
        connection.execute(named["ensure_scope"], scope.model_dump())
        locked = connection.execute(named["lock_scope"], scope.model_dump()).fetchone()
        assert locked is not None
        scope_id, live = locked
        connection.execute(named["move_embedder"], asdict(space))
        if live is None:
            connection.execute(named["ensure_space"], asdict(space))
            build = connection.execute(named["create_build"], asdict(space) | {"scope_id": scope_id}).fetchone()
            assert build is not None
            connection.execute(named["point_to"], {"build_id": build[0], "scope_id": scope_id})
        found = _find(connection, store.schema, "live_build", scope.model_dump())
        assert found is not None
        return found


def _find(connection: psycopg.Connection, schema: str, query: str, key: Mapping[str, object]) -> LiveBuild | None:
    with connection.cursor(row_factory=class_row(LiveBuild)) as cursor:
        return cursor.execute(queries(schema, "scopes")[query], key).fetchone()


def find_scope(connection: psycopg.Connection, schema: str, scope: Scope) -> int:
    """The row id of a corpus, which must have been indexed."""
    row = connection.execute(queries(schema, "scopes")["find_scope"], scope.model_dump()).fetchone()
    if row is None:
        raise no_corpus(scope)
    return int(row[0])


def no_corpus(scope: Scope) -> ValidationError:
    return ValidationError(f"Corpus {scope} does not exist: check its name, or sync or push something into it first.")
