-- The words of builds: how long passages are on average, and in how many of them each term stands.

-- freeze_average --
-- The first batch decides; one that comes at the same moment waits for it, and takes what it says.
UPDATE {schema}.build SET avgdl = %(avgdl)s WHERE build_id = %(build_id)s AND avgdl IS NULL RETURNING avgdl;

-- average --
SELECT avgdl FROM {schema}.build WHERE build_id = %(build_id)s AND avgdl IS NOT NULL;

-- build --
-- What of a build is counted: up to which generation, or all of it anew (-1) where its spans may come and go without one. The
-- corpus's last generation counts, and not the build's: a deletion ends spans of every build and raises no other build's.
SELECT b.build_id, b.slab, b.lexicon, s.head_gen, CASE WHEN b.state = 'live' THEN b.counted_gen ELSE -1 END AS since,
       b.state = 'live' AND b.counted_gen = s.head_gen AS is_level
FROM {schema}.build b JOIN {schema}.scope s USING (scope_id)
WHERE b.build_id = %(build_id)s AND b.lexicon IS NOT NULL AND b.state IN ('live', 'building');

-- builds --
-- Those of a corpus that can still change.
SELECT b.build_id FROM {schema}.build b
WHERE b.scope_id = %(scope_id)s AND b.state IN ('live', 'building') AND b.lexicon IS NOT NULL ORDER BY b.build_id;

-- build_of_page --
SELECT build_id FROM {schema}.page WHERE page_id = %(page_id)s;

-- look_up --
-- Keys are looked up one by one, whatever the planner believes of tables that have just grown.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true);

-- find_shown --
-- Revisions that the build's head shows and that are not counted.
SELECT x.rev_id, (SELECT r.n_chunks FROM {schema}.revision r WHERE r.rev_id = x.rev_id) AS n_chunks
FROM {schema}.span x
WHERE x.build_id = %(build_id)s AND x.gen_to = 9223372036854775807 AND x.gen_from > %(since)s
  AND (SELECT true FROM {schema}.counted c WHERE c.build_id = %(build_id)s AND c.rev_id = x.rev_id) IS NULL
LIMIT %(limit)s;

-- find_ended --
-- Those that are counted and that it shows no more: ended since then.
SELECT DISTINCT c.rev_id, c.n_chunks
FROM {schema}.span x
CROSS JOIN LATERAL (
  SELECT k.rev_id, k.n_chunks FROM {schema}.counted k WHERE k.build_id = %(build_id)s AND k.rev_id = x.rev_id LIMIT 1) c
WHERE x.build_id = %(build_id)s AND x.gen_to > %(since)s AND x.gen_to < 9223372036854775807
  AND (SELECT true FROM {schema}.span o WHERE o.rev_id = x.rev_id AND o.gen_to = 9223372036854775807 LIMIT 1) IS NULL
LIMIT %(limit)s;

-- find_gone --
-- The same, looked for among all that are counted.
SELECT c.rev_id, c.n_chunks
FROM {schema}.counted c
WHERE c.build_id = %(build_id)s
  AND (SELECT true FROM {schema}.span o WHERE o.rev_id = c.rev_id AND o.gen_to = 9223372036854775807 LIMIT 1) IS NULL
LIMIT %(limit)s;

-- take_turn --
-- One transaction at a time changes the counts of a build.
SELECT pg_advisory_xact_lock(hashtextextended('headwater.lexicon ' || %(schema)s, %(build_id)s));

-- try_turn --
SELECT pg_try_advisory_xact_lock(hashtextextended('headwater.lexicon ' || %(schema)s, %(build_id)s));

-- count --
-- Those of them that are shown still and that nobody counted meanwhile.
INSERT INTO {schema}.counted (build_id, rev_id, n_chunks)
SELECT %(build_id)s, u.rev_id, 0
FROM unnest(%(rev_ids)s::bigint[]) AS u (rev_id)
WHERE (SELECT true FROM {schema}.span o
       WHERE o.rev_id = u.rev_id AND o.build_id = %(build_id)s AND o.gen_to = 9223372036854775807 LIMIT 1)
ON CONFLICT DO NOTHING
RETURNING rev_id;

-- uncount --
DELETE FROM {schema}.counted WHERE build_id = %(build_id)s AND rev_id = ANY (%(rev_ids)s) RETURNING rev_id, n_chunks;

-- terms_of --
-- Passages of revisions in one partition, whose number is written out.
SELECT c.rev_id, c.bm, c.tiers FROM {schema}.chunk c WHERE c.slab = %(slab)s AND c.rev_id = ANY (%(rev_ids)s) AND c.bm IS NOT NULL;

-- note_sizes --
UPDATE {schema}.counted c SET n_chunks = u.n_chunks
FROM unnest(%(rev_ids)s::bigint[], %(sizes)s::int[]) AS u (rev_id, n_chunks)
WHERE c.build_id = %(build_id)s AND c.rev_id = u.rev_id;

-- add --
INSERT INTO {schema}.term_df AS f (build_id, term, df)
SELECT %(build_id)s, u.term, u.df FROM unnest(%(terms)s::int[], %(dfs)s::bigint[]) AS u (term, df) ORDER BY u.term
ON CONFLICT (build_id, term) DO UPDATE SET df = f.df + excluded.df;

-- forget_terms --
-- What stands in no passage any more leaves no trace.
DELETE FROM {schema}.term_df WHERE build_id = %(build_id)s AND term = ANY (%(terms)s::int[]) AND df <= 0;

-- add_passages --
-- Last: publishing waits for whoever has written to the build's row.
UPDATE {schema}.build SET n_counted = n_counted + %(passages)s WHERE build_id = %(build_id)s;

-- note_level --
UPDATE {schema}.build SET counted_gen = greatest(counted_gen, %(head_gen)s) WHERE build_id = %(build_id)s AND state = 'live';

-- counted_builds --
-- The builds of these revisions.
SELECT b.build_id, b.slab, array_agg(r.rev_id) AS rev_ids
FROM (SELECT build_id, rev_id FROM {schema}.revision WHERE rev_id = ANY (%(rev_ids)s) OFFSET 0) r
JOIN {schema}.build b USING (build_id)
WHERE b.lexicon IS NOT NULL
GROUP BY b.build_id, b.slab ORDER BY b.build_id;

-- drop_counted --
DELETE FROM {schema}.counted WHERE ctid = ANY (ARRAY (
  SELECT ctid FROM {schema}.counted WHERE build_id = %(build_id)s LIMIT %(limit)s));

-- drop_passages --
UPDATE {schema}.build SET n_counted = 0 WHERE build_id = %(build_id)s AND n_counted <> 0;

-- drop_terms --
DELETE FROM {schema}.term_df WHERE ctid = ANY (ARRAY (
  SELECT ctid FROM {schema}.term_df WHERE build_id = %(build_id)s LIMIT %(limit)s));
