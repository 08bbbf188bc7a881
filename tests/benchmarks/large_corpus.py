"""The large corpus in a real store: a partition of its own, rows copied in, indexes made last, and kept for the next time.

It lies below `kept_vectors.CACHE`, in servers of its own, and is made anew when the tables or what it is made of changed.
"""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import psycopg
from pgvector import HalfVector
from psycopg import sql
from psycopg.types.json import Jsonb

import activities.store
from activities.read_document import hash_input
from activities.store import Store
from activities.store.builds.slabs import ensure_slab, index_slab
from activities.store.lexicon.averages import lexicon_for
from activities.store.lexicon.counting import fold
from activities.store.lexicon.passage import Lexicon, words_of
from activities.store.migrate import migrate
from activities.store.pages.embedding import COLUMNS
from activities.store.scopes import SpaceSpec, ensure_scope, live_build
from activities.store.sql import queries
from headwater.chunking.profile import ChunkingProfile
from headwater.embedders.onnx import OnnxEmbedder
from headwater.lexical import LEXICON, TIERS
from headwater.models import Scope
from tests.benchmarks import multiplied, readers, real_texts
from tests.benchmarks.kept_vectors import CACHE
from tests.benchmarks.multiplied import Multiplied
from tests.benchmarks.readers import READERS
from tests.benchmarks.vectors import real_vectors
from workers.embedded import attach

SCHEMA: Final = "headwater"
SCOPE: Final = Scope(tenant_id="t1", resource_id="bench", corpus_id="large")
PASSAGES: Final = 200_000
EMBEDDER: Final = "onnx:minilm"

_say = partial(print, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class LargeCorpus:
    """A database that holds `SCOPE`, and what is in it."""

    database_url: str
    store: Store
    made_of: Multiplied
    slab: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a large corpus is made of: each ``every``-th real document, with words for the lexical leg or without."""

    passages: int = PASSAGES
    every: int = 1
    has_words: bool = True

    @property
    def prefix(self) -> str:
        """Of the names of its databases: one for each size, so that a change of the tables drops the one before."""
        return f"large_{self.passages}_{self.every}_{'words' if self.has_words else 'vectors'}_"


@contextmanager
def large_corpus(recipe: Recipe) -> Iterator[LargeCorpus]:
    """Its servers run meanwhile. The first time takes many minutes; the cache is the only thing that is left."""
    made_of = multiplied.multiplied(real_vectors(every=recipe.every), recipe.passages)
    home = CACHE / "home"
    home.mkdir(parents=True, exist_ok=True)
    with attach(home, temporal=False) as services:
        name = recipe.prefix + _fingerprint(made_of)
        url = f"{services.database_url.rpartition('/')[0]}/{name}"
        with psycopg.connect(services.database_url, autocommit=True) as admin:
            if not _is_made(admin, name):
                _drop_others(admin, recipe.prefix)
                admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
                migrate(url, SCHEMA)
                with Store.open(url, schema=SCHEMA) as store:
                    _fill(store, made_of, has_words=recipe.has_words)
                admin.execute(sql.SQL("COMMENT ON DATABASE {} IS 'made'").format(sql.Identifier(name)))
        with Store.open(url, schema=SCHEMA) as store:
            build = live_build(store, SCOPE)
            assert build is not None
            yield LargeCorpus(url, store, made_of, build.slab)


def _fingerprint(made_of: Multiplied) -> str:
    """Of the tables, and of what is written into them."""
    whole = hashlib.sha256(f"{made_of.real.identity} {LEXICON} {TIERS}".encode())
    of_store = Path(activities.store.__file__).parent
    files = [*sorted((of_store / "migrations").glob("*.sql")), of_store / "queries/slabs.sql"]
    for file in [
        *files,
        *(Path(str(module.__file__)) for module in (multiplied, readers, real_texts, sys.modules[__name__])),
    ]:
        whole.update(file.read_bytes())
    return whole.hexdigest()[:12]


def _is_made(admin: psycopg.Connection, name: str) -> bool:
    found = admin.execute(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [name]
    ).fetchone()
    return found == ("made",)


def _drop_others(admin: psycopg.Connection, prefix: str) -> None:
    for (other,) in admin.execute(
        "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix]
    ).fetchall():
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(other)))


def _fill(store: Store, corpus: Multiplied, *, has_words: bool) -> None:
    began = perf_counter()
    model = OnnxEmbedder.from_spec("minilm")
    space = SpaceSpec(
        embedder_spec=EMBEDDER,
        embedder_identity=model.identity,
        dimensions=model.dimensions,
        max_tokens=model.max_tokens,
        chunker=ChunkingProfile.for_embedder(model).fingerprint,
    )
    build = ensure_scope(store, SCOPE, space)
    with store.connection() as connection:
        row = connection.execute(b"SELECT nextval('headwater.slab_seq')::int").fetchone()
        assert row is not None
        slab = int(row[0])
    ensure_slab(store, slab)
    lexicon = lexicon_for(store, build, [passage for source in corpus.real.sources[:50] for passage in source.passages])
    known = {"scope_id": build.scope_id, "build_id": build.build_id, "slab": slab}
    with store.connection() as connection, connection.transaction():
        revisions = _write_sources(connection, corpus, known)
        _say(f"{corpus.source_count:,} sources written after {perf_counter() - began:.0f} s")
        _write_passages(connection, corpus, known, revisions, lexicon if has_words else None)
    _say(f"{len(corpus.vectors):,} passages written after {perf_counter() - began:.0f} s")
    index_slab(store, slab, dimensions=model.dimensions)
    _say(f"indexed after {perf_counter() - began:.0f} s")
    if has_words:
        for _ in fold(store, build.build_id):
            pass
        _say(f"terms counted after {perf_counter() - began:.0f} s")
    with store.connection() as connection:
        connection.execute(b"ANALYZE", prepare=False)


def _write_sources(connection: psycopg.Connection, corpus: Multiplied, known: dict[str, Any]) -> list[int]:
    """The revision of each source."""
    numbers = {}
    for reader in READERS:
        row = connection.execute(
            b"INSERT INTO headwater.grantee (tenant_id, kind, name) VALUES (%s, 'principal', %s) RETURNING grantee_id",
            ["t1", reader.name],
        ).fetchone()
        assert row is not None
        numbers[reader.name] = row[0]
    may_read = {numbers[reader.name]: reader.may_read(corpus) for reader in READERS}
    grants = [
        f"{{{','.join(str(grantee) for grantee, may in may_read.items() if may[source])}}}"
        for source in range(corpus.source_count)
    ]
    counts = np.bincount(corpus.source_of, minlength=corpus.source_count).tolist()
    ids = [corpus.source_id(source) for source in range(corpus.source_count)]
    titles = [corpus.title(source) for source in range(corpus.source_count)]
    bound = {**known, "ids": ids, "titles": titles, "grants": grants, "counts": counts}
    for step in _STEPS:
        connection.execute(step, bound)
    return [rev_id for (rev_id,) in connection.execute(_REVISIONS, bound)]


def _write_passages(
    connection: psycopg.Connection[Any],
    corpus: Multiplied,
    known: dict[str, Any],
    revisions: list[int],
    lexicon: Lexicon | None,
) -> None:
    """By the statement that a sync writes them with."""
    with connection.cursor() as cursor, cursor.copy(queries(SCHEMA, "embedding")["copy_chunks"]) as copy:
        copy.set_types(COLUMNS)
        rows = zip(corpus.source_of.tolist(), corpus.number.tolist(), corpus.vectors, corpus.texts(), strict=True)
        for source, number, vector, text in rows:
            words: tuple[Any, ...] = (None, None, None) if lexicon is None else words_of(text, lexicon)
            place = (known["slab"], revisions[source], number, known["scope_id"], 0, len(text))
            copy.write_row((*place, HalfVector(vector), hash_input(text), Jsonb({}), text, *words))


_STEPS: Final = (
    b"""UPDATE headwater.build SET slab = %(slab)s, head_gen = 1 WHERE build_id = %(build_id)s""",
    b"""UPDATE headwater.scope SET head_gen = 1, live_gen = 1 WHERE scope_id = %(scope_id)s""",
    b"""INSERT INTO headwater.pointer_log (scope_id, build_id, gen, kind)
        VALUES (%(scope_id)s, %(build_id)s, 1, 'publish')""",
    b"""INSERT INTO headwater.source (scope_id, source_id, grants, revision)
        SELECT %(scope_id)s, id, grants::int[], 1 FROM unnest(%(ids)s::text[], %(grants)s::text[]) AS new (id, grants)""",
    b"""INSERT INTO headwater.document_version (scope_id, source_pk, revision, content_hash, source_seq, title, text)
        SELECT scope_id, source_pk, 1, '', 1, title, ''
        FROM unnest(%(ids)s::text[], %(titles)s::text[]) AS new (id, title)
        JOIN headwater.source ON scope_id = %(scope_id)s AND source_id = id""",
    b"""INSERT INTO headwater.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
        SELECT %(scope_id)s, %(build_id)s, source_pk, version_id, 1, 1, 0, n
        FROM unnest(%(ids)s::text[], %(counts)s::int[]) AS new (id, n)
        JOIN headwater.source s ON s.scope_id = %(scope_id)s AND s.source_id = id
        JOIN headwater.document_version USING (source_pk)""",
    b"""INSERT INTO headwater.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
        SELECT rev_id, 1, build_id, source_pk, version_id, 1, 1, false FROM headwater.revision
        WHERE build_id = %(build_id)s""",
)
_REVISIONS: Final = b"""
    SELECT r.rev_id FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS new (id, n)
    JOIN headwater.source s ON s.scope_id = %(scope_id)s AND s.source_id = id
    JOIN headwater.revision r ON r.source_pk = s.source_pk AND r.build_id = %(build_id)s
    ORDER BY n"""
