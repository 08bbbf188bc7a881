-- The search: one statement for a corpus, one snapshot for everything. {slab}, {dimensions} and limits are numbers, written out so
-- that the one generic plan knows them.

-- readable --
SELECT s.source_pk, s.scope_id, s.source_id, s.sensitivity, s.fence_gen
FROM {schema}.source s
WHERE s.scope_id = (SELECT scope_id FROM searched) AND {granted}

-- shown --
-- The one revision that a source shows. To stand in a LATERAL: with LIMIT 1 it starts from the few readable sources. As a
-- plain join the planner begins with every span of the build and probes tombstones for all of them. OFFSET 0 keeps the
-- generations out of the index: the planner took the one of the build, and read half of its spans for each source (12 ms
-- instead of 6).
SELECT sp.rev_id
FROM (SELECT * FROM {schema}.span WHERE source_pk = s.source_pk OFFSET 0) sp
WHERE {visible} AND {labelled} AND {alive}
LIMIT 1

-- compared --
-- Every passage of what is shown, by its distance. A vector without a direction (all zeros) has none: it counts as
-- unrelated, and stands before the opposite.
SELECT c.rev_id, c.chunk_no, coalesce(nullif(c.emb <=> %(vector)s::halfvec({dimensions}), 'NaN'), 1) AS distance
FROM shown
JOIN {schema}.chunk c ON c.slab = {slab} AND c.rev_id = shown.rev_id
ORDER BY distance, shown.source_id, c.chunk_no
LIMIT {candidates}

-- answer --
-- At least one row if the corpus exists: an unknown one gives none.
SELECT p.generation, p.embedder_identity, p.dimensions, p.slab, NULL::text AS lexicon, NULL::bool AS lexical_is_exact, h.*
FROM pointer p
LEFT JOIN (
  SELECT n.rev_id, n.chunk_no, n.distance, row_number() OVER (ORDER BY n.distance, s.source_id, n.chunk_no) AS vector_rank,
         NULL::float8 AS lexical_score, NULL::int AS lexical_rank, greatest(s.sensitivity, r.sensitivity) AS sensitivity,
         z.tenant_id, z.resource_id, z.corpus_id, s.source_id, k.kind AS provider,
         d.revision, d.title, d.uri, d.metadata AS document_metadata, c.metadata AS chunk_metadata,
         c.start_cp, c.end_cp, c.body
  FROM nearest n
  JOIN {schema}.chunk c ON c.slab = {slab} AND c.rev_id = n.rev_id AND c.chunk_no = n.chunk_no
  JOIN {schema}.revision r ON r.rev_id = n.rev_id
  JOIN {schema}.document_version d ON d.version_id = r.version_id
  JOIN {schema}.source s ON s.source_pk = r.source_pk
  JOIN {schema}.scope z ON z.scope_id = s.scope_id
  LEFT JOIN {schema}.connector k ON k.connector_id = s.owner) h ON true
ORDER BY h.distance, h.source_id, h.chunk_no

-- search --
-- The passages nearest to a vector among those this reader may read, nearest first. One snapshot for everything. Each
-- passage is compared: for small corpora, which share a partition, and whenever somebody wants just that.
WITH {corpus},
readable AS MATERIALIZED ({readable}),
shown AS MATERIALIZED (SELECT v.rev_id, s.source_id FROM readable s CROSS JOIN LATERAL ({shown}) v),
nearest AS MATERIALIZED ({compared})
{answer};

-- search_graph --
-- The same in a partition of a build's own, which has an HNSW graph. A reader of few passages still gets them compared, one
-- by one. For a reader of many the graph is walked; and should it end with too few candidates, all are compared after all.
WITH {corpus},
few AS MATERIALIZED ({readable} LIMIT {few_sources} + 1),
weighed AS MATERIALIZED (
  SELECT v.rev_id, s.source_id, (SELECT r.n_chunks FROM {schema}.revision r WHERE r.rev_id = v.rev_id) AS n_chunks
  FROM few s CROSS JOIN LATERAL ({shown}) v
  WHERE (SELECT count(*) FROM few) <= {few_sources}),
size AS MATERIALIZED (
  SELECT (SELECT count(*) FROM few) <= {few_sources} AND coalesce(sum(n_chunks), 0) <= {few_chunks} AS is_small FROM weighed),
-- The gate is a scalar sub-select with LIMIT, which the planner cannot turn into a join: it would give up the graph's order.
walked AS MATERIALIZED (
  SELECT c.rev_id, c.chunk_no, coalesce(nullif(c.emb::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}), 'NaN'), 1)
    AS distance
  FROM {schema}.chunk c
  WHERE c.slab = {slab} AND NOT (SELECT is_small FROM size)
    AND (SELECT true FROM {schema}.span sp JOIN {schema}.source s ON s.source_pk = sp.source_pk
         WHERE sp.rev_id = c.rev_id AND s.scope_id = (SELECT scope_id FROM searched)
           AND {visible} AND {granted} AND {labelled} AND {alive}
         LIMIT 1)
  ORDER BY c.emb::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
  LIMIT {walked}),
walk AS MATERIALIZED (
  SELECT NOT is_small AND (SELECT count(*) FROM walked) < {candidates} AS is_short FROM size),
shown AS MATERIALIZED (
  SELECT rev_id, source_id FROM weighed WHERE (SELECT is_small FROM size)
  UNION ALL
  SELECT v.rev_id, s.source_id FROM ({readable}) s CROSS JOIN LATERAL ({shown}) v WHERE (SELECT is_short FROM walk)),
nearest AS MATERIALIZED (
  SELECT * FROM ({compared}) c
  UNION ALL
  SELECT * FROM walked WHERE NOT (SELECT is_short FROM walk)
  ORDER BY distance, rev_id, chunk_no
  LIMIT {candidates})
{answer};
