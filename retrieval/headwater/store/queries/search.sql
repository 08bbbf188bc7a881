-- The search: one statement for a corpus, one snapshot for both legs. What `search_statement` puts in place:
--   the lexical leg (lexical), what of both legs is told (found), whether the lexical one left nothing better out (is_exact), and the
--   score by words of what it did not rank (told);
-- places: lexical found is_exact told
--   what the filter says of d, the document's metadata, and of c, the passage (filtered), and what has to be read for it;
-- places: described narrowed filtered
--   and numbers, written out so that the one generic plan knows them.
-- places: slab dimensions candidates few_chunks sampled walked walked_some
--
-- A leg gives rev_id, chunk_no, source_id, its score and its rank: the best first, and equal ones by source and number.

-- readable --
SELECT s.source_pk, s.scope_id, s.source_id, s.sensitivity, s.fence_gen
FROM {schema}.source s
WHERE s.scope_id = (SELECT scope_id FROM searched) AND {granted}

-- shown --
-- The one revision that a source shows. To stand in a LATERAL: with LIMIT 1 it starts from the few readable sources. As a
-- plain join the planner begins with every span of the build and probes tombstones for all of them. OFFSET 0 keeps the
-- generations out of the index: the planner took the one of the build, and read half of its spans for each source (12 ms
-- instead of 6).
SELECT sp.rev_id, {described} AS metadata
FROM (SELECT * FROM {schema}.span WHERE source_pk = s.source_pk OFFSET 0) sp
WHERE {visible} AND {labelled} AND {alive}
LIMIT 1

-- described_by_origin --
-- What the origin said of the document, where a filter asks for it.
(SELECT v.metadata FROM {schema}.document_version v WHERE v.version_id = sp.version_id)

-- undescribed --
NULL::jsonb

-- gate --
-- Whether this reader may see a passage, for where one is found before anybody asked. A scalar sub-select with LIMIT, which the
-- planner cannot turn into a join: it would give up the order of the index. OFFSET 0: one look-up of a primary key each, whatever
-- was in the tables when the plan was made. Else it may read all spans of the build, for every passage.
(SELECT true
 FROM (SELECT * FROM {schema}.span WHERE rev_id = c.rev_id OFFSET 0) sp
 CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE source_pk = sp.source_pk OFFSET 0) s
 WHERE s.scope_id = (SELECT scope_id FROM searched)
   AND {visible} AND {granted} AND {labelled} AND {alive} {narrowed}
 LIMIT 1)

-- guess --
-- The share of the partition's passages that this reader may see, of some from all over it, and whether that makes few. Rows are
-- read where they lie, which needs no index; pages are of 8 KiB, and of a partition that nobody analysed four passages lie in each.
SELECT w.share, coalesce(w.share * greatest(p.counted, 4 * p.pages), 0) <= {few_chunks} AS is_few
FROM (
  SELECT pg_relation_size(o.id) / 8192 AS pages, (SELECT t.reltuples FROM pg_class t WHERE t.oid = o.id) AS counted
  FROM (SELECT (SELECT tableoid FROM {schema}.chunk WHERE slab = {slab} LIMIT 1) AS id) o) p
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE {gate})::float8 / nullif(count(*), 0) AS share
  FROM {schema}.chunk c
  WHERE c.slab = {slab} AND c.ctid = ANY (ARRAY(
    SELECT ('(' || n * p.pages / {sampled} || ',' || 1 + mod(n, 3) || ')')::tid FROM generate_series(0, {sampled} - 1) n))) w

-- narrowed_by_filter --
AND (SELECT {filtered} FROM {schema}.document_version d WHERE d.version_id = sp.version_id LIMIT 1)

-- passages --
-- Of one revision. OFFSET 0 holds the planner to one look-up for each: of a partition that was never analysed it believes
-- that one passage lies in it, and would read all of them.
SELECT rev_id, chunk_no, emb, bm, tsv, metadata FROM {schema}.chunk WHERE slab = {slab} AND rev_id = d.rev_id OFFSET 0

-- compared --
-- Every passage of what is shown, by its distance. A vector without a direction (all zeros) has none: it counts as
-- unrelated, and stands before the opposite.
SELECT c.rev_id, c.chunk_no, d.source_id, coalesce(nullif(c.emb <=> %(vector)s::halfvec({dimensions}), 'NaN'), 1) AS distance
FROM shown d
CROSS JOIN LATERAL ({passages}) c
WHERE {filtered}
ORDER BY distance, d.source_id, c.chunk_no
LIMIT {candidates}

-- found_near --
SELECT rev_id, chunk_no, distance, row_number() OVER (ORDER BY distance, source_id, chunk_no) AS vector_rank,
       NULL::float8 AS score, NULL::bigint AS lexical_rank
FROM nearest

-- found_by_both --
SELECT rev_id, chunk_no, max(distance) AS distance, max(vector_rank) AS vector_rank, max(score) AS score,
       max(lexical_rank) AS lexical_rank
FROM (
  {found_near}
  UNION ALL
  SELECT rev_id, chunk_no, NULL, NULL, score, row_number() OVER (ORDER BY score DESC, source_id, chunk_no)
  FROM matching) b
GROUP BY rev_id, chunk_no

-- source_of --
-- The id of the source that a passage is of: a look-up for each.
(SELECT s.source_id FROM {schema}.revision r JOIN {schema}.source s ON s.source_pk = r.source_pk WHERE r.rev_id = l.rev_id LIMIT 1)

-- answer --
-- At least one row if the corpus exists: an unknown one gives none. Each passage has its score in both legs, also where only one
-- of them ranked it. LATERAL with LIMIT: as a plain join the planner hashes the
-- whole partition when it has to guess how many passages were found.
SELECT p.generation, p.embedder_identity, p.dimensions, p.slab, p.lexicon, {is_exact}, h.*
FROM pointer p
LEFT JOIN (
  SELECT x.*
  FROM ({found}) f
  CROSS JOIN LATERAL (
    SELECT f.rev_id, f.chunk_no, coalesce(f.distance, nullif(c.emb <=> %(vector)s::halfvec({dimensions}), 'NaN'), 1) AS distance,
           f.vector_rank, coalesce(f.score, {told}) AS lexical_score, f.lexical_rank,
           greatest(s.sensitivity, r.sensitivity) AS sensitivity, z.tenant_id, z.resource_id, z.corpus_id, s.source_id,
           k.kind AS provider, d.revision, d.title, d.uri, d.metadata, c.metadata,
           c.start_cp, c.end_cp, c.body
    FROM {schema}.chunk c
    JOIN {schema}.revision r ON r.rev_id = c.rev_id
    JOIN {schema}.document_version d ON d.version_id = r.version_id
    JOIN {schema}.source s ON s.source_pk = r.source_pk
    JOIN {schema}.scope z ON z.scope_id = s.scope_id
    LEFT JOIN {schema}.connector k ON k.connector_id = s.owner
    WHERE c.slab = {slab} AND c.rev_id = f.rev_id AND c.chunk_no = f.chunk_no
    LIMIT 1) x) h ON true
ORDER BY h.vector_rank, h.lexical_rank

-- search --
-- Each passage that this reader may read is looked at: in small corpora, which share a partition, and whenever somebody wants
-- just that.
WITH {corpus},
readable AS MATERIALIZED ({readable}),
shown AS MATERIALIZED (SELECT v.rev_id, s.source_id, v.metadata FROM readable s CROSS JOIN LATERAL ({shown}) v),
nearest AS MATERIALIZED ({compared})
{lexical}
{answer};

-- search_graph --
-- The same in a partition of a build's own, which has an HNSW graph. A sample of it is the guess whether this reader may read few
-- of its passages. There are three ways from there to the nearest ones:
--
--   is_small                few, weighed, shown, compared   a reader of few: each of their passages, one by one
--   not is_small            walked                          a reader of many: the graph, further where some of it is not for this reader
--   not is_small, is_short  walked, shown, compared         the walk ended with too few candidates: all after all
--
-- few are the sources that may be read, and weighed what they show and of how many passages it is. Both are empty where the guess is
-- that there are many, and given up where they turn out to be more than twice as many as are compared one by one.
WITH {corpus},
guess AS MATERIALIZED ({guess}),
few AS MATERIALIZED ({readable} AND (SELECT is_few FROM guess) LIMIT greatest(0, 2 * {few_chunks} + 1)),
weighed AS MATERIALIZED (
  SELECT v.rev_id, s.source_id, v.metadata, (SELECT r.n_chunks FROM {schema}.revision r WHERE r.rev_id = v.rev_id) AS n_chunks
  FROM few s CROSS JOIN LATERAL ({shown}) v
  WHERE (SELECT count(*) FROM few) <= 2 * {few_chunks}),
size AS MATERIALIZED (
  SELECT (SELECT is_few FROM guess) AND (SELECT count(*) FROM few) <= 2 * {few_chunks}
         AND coalesce(sum(n_chunks), 0) <= 2 * {few_chunks} AS is_small
  FROM weighed),
walked AS MATERIALIZED (
  SELECT c.rev_id, c.chunk_no, coalesce(nullif(c.emb::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}), 'NaN'), 1)
    AS distance
  FROM {schema}.chunk c
  WHERE c.slab = {slab} AND NOT (SELECT is_small FROM size) AND {gate}
  ORDER BY c.emb::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
  LIMIT (SELECT CASE WHEN share > 0.9 THEN {walked} ELSE {walked_some} END FROM guess)),
walk AS MATERIALIZED (
  SELECT NOT is_small AND (SELECT count(*) FROM walked) < {candidates} AS is_short FROM size),
shown AS MATERIALIZED (
  SELECT rev_id, source_id, metadata FROM weighed WHERE (SELECT is_small FROM size)
  UNION ALL
  SELECT v.rev_id, s.source_id, v.metadata
  FROM ({readable}) s CROSS JOIN LATERAL ({shown}) v WHERE (SELECT is_short FROM walk)),
nearest AS MATERIALIZED (
  SELECT * FROM ({compared}) c
  UNION ALL
  SELECT l.rev_id, l.chunk_no, {source_of}, l.distance
  FROM (SELECT * FROM walked WHERE NOT (SELECT is_short FROM walk) ORDER BY distance FETCH FIRST {candidates} ROWS WITH TIES) l
  ORDER BY distance, source_id, chunk_no
  LIMIT {candidates})
{lexical}
{answer};
