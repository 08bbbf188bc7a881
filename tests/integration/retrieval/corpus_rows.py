"""A corpus written row by row, so that a test of reading can hold any state: also those that writers never leave."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, LiteralString, cast

import numpy as np
import psycopg
from psycopg import sql as names
from psycopg.types.json import Jsonb

from headwater.embedders import Embedder
from headwater.lexical import TERM_IDS, analyse, has_tiers, language_of, saturated, term_id, tier_key, tier_of
from headwater.models import Scope
from headwater.store.routes import USUAL

LABELS = {"public": 0, "internal": 1, "confidential": 2, "restricted": 3}
FOREVER = 2**63 - 1
AVERAGE = 8.0  # terms of a passage


@dataclass(frozen=True)
class Source:
    source_pk: int
    source_id: str
    rev_id: int
    version_id: int


@dataclass
class CorpusRows:
    """One corpus and its rows, through a connection in autocommit: every change counts at once."""

    connection: psycopg.Connection
    scope: Scope
    embedder: Embedder
    schema: str = "headwater"
    live_gen: int = 1
    scope_id: int = 0
    build_id: int = 0  # what is added goes there,
    slab: int = 0  # and its passages here
    lexicon: str | None = USUAL.lexicon  # how the terms of builds begun from now on are made
    counted: Counter[int] = field(default_factory=Counter)  # in how many of the passages added each term stands
    passages: int = 0

    def __post_init__(self) -> None:
        self.scope_id = self._one(
            "INSERT INTO {}.scope (tenant_id, resource_id, corpus_id, head_gen, live_gen) VALUES (%s, %s, %s, %s, %s)"
            " RETURNING scope_id",
            self.scope.tenant_id,
            self.scope.resource_id,
            self.scope.corpus_id,
            self.live_gen,
            self.live_gen,
        )
        self.begin_build()
        self.show_build()

    def begin_build(self, *, embedder: Embedder | None = None, is_large: bool = False, slab: int = 0) -> int:
        """Another build, which what is added from now on goes to. A large one gets a new partition."""
        embedder = embedder or self.embedder
        space_id = self._one(
            "INSERT INTO {}.space (embedder_spec, embedder_identity, dimensions, max_tokens, chunker)"
            " VALUES ('test', %s, %s, 256, 'test') ON CONFLICT (embedder_identity, dimensions, chunker)"
            " DO UPDATE SET embedder_spec = 'test' RETURNING space_id",
            embedder.identity,
            embedder.dimensions,
        )
        self.slab = self._one("SELECT nextval('{}.slab_seq')") if is_large else slab
        if is_large:
            partition = f"{{}}.chunk_s{self.slab}"
            self._run(f"CREATE TABLE {partition} (LIKE {{}}.chunk INCLUDING ALL, CHECK (slab = {self.slab}))")
            self._run(f"ALTER TABLE {{}}.chunk ATTACH PARTITION {partition} FOR VALUES IN ({self.slab})")
        self.build_id = self._one(
            "INSERT INTO {}.build (scope_id, space_id, state, slab, head_gen, lexicon, avgdl)"
            " VALUES (%s, %s, 'retired', %s, 1, %s, %s) RETURNING build_id",
            self.scope_id,
            space_id,
            self.slab,
            self.lexicon,
            AVERAGE,
        )
        self.counted, self.passages = Counter(), 0
        return self.build_id

    def count_terms(self) -> None:
        """The build's statistics become those of all that was added to it, whether it is shown or not."""
        self.execute("DELETE FROM {}.term_df WHERE build_id = %s", self.build_id)
        self.execute("UPDATE {}.build SET n_counted = %s WHERE build_id = %s", self.passages, self.build_id)
        self.execute(
            "INSERT INTO {}.term_df (build_id, term, df) SELECT %s, * FROM unnest(%s::int[], %s::bigint[])",
            self.build_id,
            list(self.counted),
            list(self.counted.values()),
        )

    def make_graph(self) -> None:
        """The index of a partition, made when it is full, as for a corpus that is re-indexed."""
        dimensions = self.embedder.dimensions
        self._run(
            f"CREATE INDEX ON {{}}.chunk_s{self.slab} USING hnsw ((emb::halfvec({dimensions})) halfvec_cosine_ops)"
            " WITH (m = 16, ef_construction = 200)"
        )
        self._run(
            f"CREATE INDEX chunk_s{self.slab}_tsv ON {{}}.chunk_s{self.slab} USING gin (tsv, tiers) WITH (fastupdate = off)"
        )

    def analyze(self) -> None:
        """What is done when a partition is full, before its indexes of words and vectors are made."""
        self._run(f"ANALYZE {{}}.chunk_s{self.slab}")

    def show_build(self, build_id: int | None = None) -> None:
        """Readers see that build, or the last one begun, and the one before is retired."""
        shown = self.build_id if build_id is None else build_id
        self.execute("UPDATE {}.build SET state = 'retired' WHERE scope_id = %s AND state = 'live'", self.scope_id)
        self.execute("UPDATE {}.build SET state = 'live' WHERE build_id = %s", shown)
        self.execute("UPDATE {}.scope SET live_build = %s WHERE scope_id = %s", shown, self.scope_id)

    def log(self, generation: int, kind: str = "publish", *, build_id: int | None = None) -> None:
        """The generation is taken, in the last build begun if no other is named, and is what readers see."""
        self.execute(
            "INSERT INTO {}.pointer_log (scope_id, build_id, gen, kind) VALUES (%s, %s, %s, %s)",
            self.scope_id,
            self.build_id if build_id is None else build_id,
            generation,
            kind,
        )
        self.execute(
            "UPDATE {}.scope SET head_gen = greatest(head_gen, %s), live_gen = %s WHERE scope_id = %s",
            generation,
            generation,
            self.scope_id,
        )

    def add(
        self,
        source_id: str,
        *texts: str,
        readers: Sequence[str] = ("user:alice",),
        sensitivity: str = "internal",
        title: str | None = None,
        uri: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        chunk_metadata: Sequence[Mapping[str, Any]] | None = None,
        parents: Sequence[str] = (),
        vectors: Sequence[Sequence[float]] | None = None,
        gen_from: int = 1,
        gen_to: int = FOREVER,
        connector: str | None = None,
        access_version: int = 1,
        shift: int = 0,
    ) -> Source:
        """A source that is shown, with one passage for each of ``texts``. ``shift`` spoils their places."""
        label = LABELS[sensitivity]
        owner = None if connector is None else self._connector(connector)
        source_pk = self._one(
            "INSERT INTO {}.source (scope_id, source_id, owner, grants, access_version, sensitivity, revision)"
            " VALUES (%s, %s, %s, %s, %s, %s, 1) ON CONFLICT (scope_id, source_id) DO UPDATE SET revision = source.revision + 1"
            " RETURNING source_pk",
            self.scope_id,
            source_id,
            owner,
            [self.grantee(reader) for reader in readers],
            access_version,
            label,
        )
        version_id = self._one(
            "INSERT INTO {}.document_version"
            " (scope_id, source_pk, revision, content_hash, source_seq, sensitivity, title, uri, metadata, text)"
            " SELECT %s, source_pk, revision, %s, revision, %s, %s, %s, %s, %s FROM {}.source WHERE source_pk = %s"
            " RETURNING version_id",
            self.scope_id,
            b"",
            label,
            title,
            uri,
            Jsonb(dict(metadata or {})),
            "\n".join(texts),
            source_pk,
        )
        for order, parent in enumerate(parents):
            self.execute(
                "INSERT INTO {}.lineage (scope_id, version_id, ord, parent_id) VALUES (%s, %s, %s, %s)",
                self.scope_id,
                version_id,
                order,
                parent,
            )
        rev_id = self._one(
            "INSERT INTO {}.revision"
            " (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, n_chunks)"
            " VALUES (%s, %s, %s, %s, 1, %s, %s, 0, %s) RETURNING rev_id",
            self.scope_id,
            self.build_id,
            source_pk,
            version_id,
            label,
            bool(parents),
            len(texts),
        )
        self._chunks(rev_id, texts, chunk_metadata, vectors, shift)
        self.execute(
            "INSERT INTO {}.span (rev_id, gen_from, gen_to, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)"
            " VALUES (%s, %s, %s, %s, %s, %s, 1, %s, %s)",
            rev_id,
            gen_from,
            gen_to,
            self.build_id,
            source_pk,
            version_id,
            label,
            bool(parents),
        )
        return Source(source_pk, source_id, rev_id, version_id)

    def grant(self, source: Source, *readers: str) -> None:
        """These readers and no others, at the next access version. None: revoked."""
        self.execute(
            "UPDATE {}.source SET grants = %s, access_version = access_version + 1 WHERE source_pk = %s",
            [self.grantee(reader) for reader in readers],
            source.source_pk,
        )

    def grant_until(self, source: Source, reader: str, expires_at: datetime) -> None:
        """A grant that ends by itself."""
        self.execute(
            "INSERT INTO {}.expiring_grant VALUES (%s, %s, %s)", source.source_pk, self.grantee(reader), expires_at
        )
        self.execute(
            "UPDATE {}.source SET expiring = expiring || %s WHERE source_pk = %s",
            self.grantee(reader),
            source.source_pk,
        )

    def delete(self, source: Source, *, gen: int) -> None:
        """An ordinary deletion at ``gen``: the fence alone."""
        self.execute("UPDATE {}.source SET fence_gen = %s WHERE source_pk = %s", gen, source.source_pk)

    def tombstone(self, id: str, reason: str) -> None:
        self.execute(
            "INSERT INTO {}.tombstone (scope_id, id, reason, gen) VALUES (%s, %s, %s, 1)", self.scope_id, id, reason
        )

    def label(self, source: Source, sensitivity: str) -> None:
        """The source's own label; that of its revision stays."""
        self.execute(
            "UPDATE {}.source SET sensitivity = %s WHERE source_pk = %s", LABELS[sensitivity], source.source_pk
        )

    def point(self, generation: int) -> None:
        """Readers see ``generation`` from now on."""
        self.execute("UPDATE {}.scope SET live_gen = %s WHERE scope_id = %s", generation, self.scope_id)

    def grantee(self, reader: str) -> int:
        """The number of ``user:NAME``, ``group:NAME`` or ``everyone``."""
        kind, _, name = reader.partition(":")
        return self._one(
            "INSERT INTO {}.grantee (tenant_id, kind, name) VALUES (%s, %s, %s)"
            " ON CONFLICT (tenant_id, kind, name) DO UPDATE SET name = excluded.name RETURNING grantee_id",
            self.scope.tenant_id,
            {"user": "principal"}.get(kind, kind),
            name,
        )

    def execute(self, sql: LiteralString, *values: object) -> None:
        self.connection.execute(self._named(sql), values)

    def _run(self, sql: str) -> None:
        self.connection.execute(self._named(sql), {}, prepare=False)

    def _one(self, sql: LiteralString, *values: object) -> int:
        row = self.connection.execute(self._named(sql), values).fetchone()
        assert row is not None
        return cast(int, row[0])

    def written(self, sql: str) -> str:
        """With the schema's name in place of ``{}``, to be executed with parameters."""
        return sql.replace("{}", names.Identifier(self.schema).as_string(None).replace("%", "%%"))

    def _named(self, sql: str) -> bytes:
        return self.written(sql).encode()

    def _connector(self, name: str) -> int:
        return self._one(
            "INSERT INTO {}.connector (scope_id, name, kind) VALUES (%s, %s, 'folder')"
            " ON CONFLICT (scope_id, name) DO UPDATE SET kind = 'folder' RETURNING connector_id",
            self.scope_id,
            name,
        )

    def words(self, text: str) -> tuple[str | None, str | None, str | None]:
        """The columns of a passage's terms. It is counted."""
        if self.lexicon is None:
            return None, None, None
        tokens = analyse(text, language_of(self.lexicon))
        weights: dict[int, float] = {}
        for term, occurrences in Counter(token.term for token in tokens).items():
            weight = saturated(occurrences, length=len(tokens), average=AVERAGE)
            weights[term_id(term)] = weights.get(term_id(term), 0) + weight
        tiers = {tier_key(number, tier) for number, half in weights.items() if (tier := tier_of(half))}
        is_tiered = has_tiers(self.lexicon)
        self.counted.update([*weights, *(tiers if is_tiered else ())])
        self.passages += 1
        places = " ".join(f"{_quoted(token.term)}:{min(token.position, 16_383)}" for token in tokens)
        entries = ",".join(f"{term + 1}:{weight}" for term, weight in weights.items())
        return places, f"{{{entries}}}/{TERM_IDS}", f"{{{','.join(map(str, sorted(tiers)))}}}" if is_tiered else None

    def _chunks(
        self,
        rev_id: int,
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None,
        vectors: Sequence[Sequence[float]] | None,
        shift: int,
    ) -> None:
        embedded = vectors if vectors is not None else np.asarray(self.embedder.embed(texts)) if texts else []
        start = 0
        with self.connection.cursor() as cursor:
            rows = []
            for number, (text, vector) in enumerate(zip(texts, embedded, strict=True), start=1):
                rows.append(
                    (
                        self.slab,
                        rev_id,
                        number,
                        self.scope_id,
                        start + shift,
                        start + len(text),
                        str([float(value) for value in vector]),
                        sha256(text.encode()).digest(),
                        Jsonb(dict(metadata[number - 1]) if metadata else {}),
                        text,
                        *self.words(text),
                    )
                )
                start += len(text) + 1
            cursor.executemany(
                self._named(
                    "INSERT INTO {}.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, metadata, body,"
                    " tsv, bm, tiers)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s::halfvec, %s, %s, %s, %s::tsvector, %s::sparsevec, %s::int[])"
                ),
                rows,
            )


def _quoted(lexeme: str) -> str:
    doubled = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"
