-- Everything the library reads. Blocks are named by headings like the ones below; {name} puts another block, or a literal,
-- in place. {schema} is the schema's name, quoted; {slab}, {dimensions} and limits are numbers, written out so that the one
-- generic plan knows them. Everything else is bound. The store holds more than a reader may see: each gate is written once,
-- here, and stands before the LIMIT.
--
-- Every gate speaks of: pointer (the corpus, one row), asker (who asks), s (a source), sp (a span of it).

-- session --
-- Planning these statements takes as long as searching a small corpus, so one generic plan is kept for each. It may be
-- made when the tables are still empty: without sequential scans it stays right when they have grown. Nor does it sort where
-- an index has the order: of a partition that was never analysed the planner believes that one passage of 200 lies in it,
-- and would look at all of them, one by one, rather than walk the graph.
-- Reading only: the library writes nothing, and says so.
-- The literal loads pgvector, which until then would take any value for its settings. relaxed_order goes on until there are
-- enough candidates that this reader may see; strict_order would throw the best of them away.
SELECT '[1]'::halfvec, set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false),
       set_config('enable_sort', 'off', false), set_config('jit', 'off', false),
       set_config('default_transaction_read_only', 'on', false),
       set_config('hnsw.iterative_scan', 'relaxed_order', false), set_config('hnsw.ef_search', '100', false),
       set_config('hnsw.max_scan_tuples', '40000', false), set_config('hnsw.scan_mem_multiplier', '8', false);

-- settings --
-- What came of them: a setting that pgvector does not know is taken by Postgres without a word, or with a mere warning.
SELECT current_setting('hnsw.iterative_scan') = 'relaxed_order' AND current_setting('hnsw.ef_search') = '100'
  AND current_setting('hnsw.max_scan_tuples') = '40000' AND current_setting('hnsw.scan_mem_multiplier') = '8';

-- ready --
-- Fails where there is no schema of ours, or none that this login may read.
SELECT live_build FROM {schema}.scope LIMIT 0;

-- asker --
-- The names a reader goes by, as the numbers that grants are written in. A name nobody was granted has no number.
SELECT array_agg(g.grantee_id) AS names
FROM {schema}.grantee g
WHERE g.tenant_id = %(tenant)s
  AND ((g.kind = 'principal' AND g.name = %(principal)s)
    OR (g.kind = 'group' AND g.name = ANY (%(groups)s::text[]))
    OR (g.kind = 'everyone' AND g.name = ''))

-- granted --
-- A grant without an end, or one that has not ended yet. statement_timestamp: now() would let it live on in a long transaction.
-- The indexes leave out what is granted to nobody: without `<> '{}'` the planner takes neither. A scalar sub-select again: of
-- an EXISTS it makes a table of all that was ever lent to this reader, in every corpus (200,000 such grants: 990 ms instead
-- of 140).
(%(access_version)s::bigint IS NULL OR s.access_version = %(access_version)s)
AND (s.grants <> '{}' AND s.grants && (SELECT names FROM asker)
  OR (s.expiring <> '{}' AND s.expiring && (SELECT names FROM asker)
    AND (SELECT true FROM {schema}.expiring_grant e
         WHERE e.source_pk = s.source_pk AND e.grantee_id = ANY ((SELECT names FROM asker)::int[])
           AND e.expires_at > statement_timestamp() LIMIT 1)))

-- labelled --
-- With a label that may be shown. The greater one of source and revision counts, so that a rollback cannot lower one.
greatest(s.sensitivity, sp.sensitivity) = ANY (%(labels)s::smallint[])

-- alive --
-- Neither the source nor anything it rests on is tombstoned. A correction hides only what rests on it, not itself.
-- Scalar sub-selects with LIMIT: one probe of a primary key each, and the planner cannot turn them into joins.
(NOT (SELECT has_tombstones FROM pointer) OR (
  (SELECT true FROM {schema}.tombstone t
   WHERE t.scope_id = s.scope_id AND t.id = s.source_id AND t.reason <> 'corrected' LIMIT 1) IS NULL
  AND (NOT sp.is_derived OR
    (SELECT true FROM {schema}.lineage l
     WHERE l.version_id = sp.version_id AND l.parent_source <> s.source_id
       AND ((SELECT true FROM {schema}.tombstone t WHERE t.scope_id = s.scope_id AND t.id = l.parent_id LIMIT 1)
         OR (SELECT true FROM {schema}.tombstone t WHERE t.scope_id = s.scope_id AND t.id = l.parent_source LIMIT 1))
     LIMIT 1) IS NULL)))

-- pointer --
-- What the corpus shows, where that lies, and in which space.
SELECT c.scope_id, c.live_build AS build_id, c.live_gen AS generation, x.embedder_identity, x.dimensions, b.slab,
       EXISTS (SELECT FROM {schema}.tombstone t WHERE t.scope_id = c.scope_id) AS has_tombstones
FROM {schema}.scope c
JOIN {schema}.build b ON b.build_id = c.live_build
JOIN {schema}.space x ON x.space_id = b.space_id
WHERE c.tenant_id = %(tenant)s AND c.resource_id = %(resource)s AND c.corpus_id = %(corpus)s

-- pointer_at --
-- The same for a generation that was shown once: in the build that the log names for it, if that is still there. If not,
-- only the scope is known.
SELECT c.scope_id, b.build_id, b.generation, x.embedder_identity, x.dimensions, b.slab,
       EXISTS (SELECT FROM {schema}.tombstone t WHERE t.scope_id = c.scope_id) AS has_tombstones
FROM {schema}.scope c
LEFT JOIN LATERAL (
  SELECT k.build_id, k.space_id, k.slab, %(generation)s::bigint AS generation
  FROM {schema}.build k
  WHERE k.build_id = ({build_at}) AND k.state IN ('live', 'retired')
    AND %(generation)s::bigint BETWEEN c.min_gen AND c.head_gen) b ON true
LEFT JOIN {schema}.space x ON x.space_id = b.space_id
WHERE c.live_build IS NOT NULL
  AND c.tenant_id = %(tenant)s AND c.resource_id = %(resource)s AND c.corpus_id = %(corpus)s

-- build_at --
-- The build that was shown at a generation. Only what takes a generation says where it was; a rollback goes back to one.
SELECT l.build_id FROM {schema}.pointer_log l
WHERE l.scope_id = c.scope_id AND l.gen <= %(generation)s AND l.kind IN ('publish', 'delete', 'fork', 'flip')
ORDER BY l.gen DESC, l.id DESC LIMIT 1

-- visible --
-- Shown at the pointer, and begun after the last ordinary delete.
sp.build_id = (SELECT build_id FROM pointer)
AND sp.gen_from <= (SELECT generation FROM pointer) AND sp.gen_to > (SELECT generation FROM pointer)
AND sp.gen_from > s.fence_gen

-- corpus --
-- How every search begins. Vectors of another embedder are not compared, and those of another partition are not found: then
-- nothing is searched, and the answer's first columns say what the corpus is.
pointer AS MATERIALIZED ({pointer}),
searched AS MATERIALIZED (
  SELECT scope_id FROM pointer WHERE embedder_identity = %(identity)s AND dimensions = {dimensions} AND slab = {slab}),
asker AS MATERIALIZED ({asker})

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

-- generations --
-- Which generations of a corpus can be read, asked only where one could not be: from the floor of collection, or from the
-- first after it whose build is still there.
SELECT CASE WHEN f.build_id IS NOT NULL THEN c.min_gen ELSE n.gen END AS oldest, c.head_gen AS newest
FROM {schema}.scope c
LEFT JOIN {schema}.build f ON f.state IN ('live', 'retired') AND f.build_id = (
  SELECT l.build_id FROM {schema}.pointer_log l
  WHERE l.scope_id = c.scope_id AND l.gen <= c.min_gen AND l.kind IN ('publish', 'delete', 'fork', 'flip')
  ORDER BY l.gen DESC, l.id DESC LIMIT 1)
LEFT JOIN LATERAL (
  SELECT l.gen FROM {schema}.pointer_log l JOIN {schema}.build b ON b.build_id = l.build_id AND b.state IN ('live', 'retired')
  WHERE l.scope_id = c.scope_id AND l.gen > c.min_gen AND l.kind IN ('publish', 'delete', 'fork', 'flip')
  ORDER BY l.gen LIMIT 1) n ON true
WHERE c.tenant_id = %(tenant)s AND c.resource_id = %(resource)s AND c.corpus_id = %(corpus)s;

-- recheck --
-- For each revision about to be disclosed: may its source be read now, and is it still there to be read. Revisions that
-- give no row are gone. A revision that was replaced meanwhile still counts: the answer is what the corpus showed.
WITH pointer AS MATERIALIZED ({pointer}),
asker AS MATERIALIZED ({asker})
SELECT sp.rev_id, bool_or(({granted}) IS TRUE) AS is_granted,
       bool_or(sp.gen_from > s.fence_gen AND {labelled} AND {alive}) AS is_alive
FROM {schema}.span sp
JOIN {schema}.source s ON s.source_pk = sp.source_pk
WHERE sp.rev_id = ANY (%(revisions)s::bigint[]) AND s.scope_id = (SELECT scope_id FROM pointer)
GROUP BY sp.rev_id;

-- denied --
-- The sources that the corpus shows and this reader has no grant for: ids for the host's audit, in order.
-- Read only when somebody listens. What is deleted or tombstoned is not named.
WITH pointer AS MATERIALIZED ({pointer}),
asker AS MATERIALIZED ({asker})
SELECT s.source_id
FROM {schema}.source s
JOIN {schema}.span sp ON sp.source_pk = s.source_pk
WHERE s.scope_id = (SELECT scope_id FROM pointer) AND ({granted}) IS NOT TRUE
  AND {visible} AND {labelled} AND {alive}
ORDER BY s.source_id
LIMIT {denied};

-- granted_sources --
-- Of these ids, those that the asker is granted now, whatever the corpus shows of them: what the workers ask before they act
-- on a source in somebody's name. LATERAL with LIMIT: one look-up for each id.
WITH asker AS MATERIALIZED ({asker})
SELECT s.source_id
FROM unnest(%(source_ids)s::text[]) AS u (id)
CROSS JOIN LATERAL (
  SELECT * FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) s
WHERE ({granted}) IS TRUE;
