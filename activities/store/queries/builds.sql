-- Builds: the one beside the live one, from its beginning to the flip or its end. Rule 6 of the migrations: it takes no
-- generation and moves no pointer before the flip.

-- scope --
-- What a re-index starts from. Read under the scope's lock. An average of one term was decided by passages without any, which once
-- could be: such a build is made again.
SELECT s.scope_id, s.pinned AS is_pinned, s.live_gen, b.build_id, b.slab, b.space_id, b.lexicon, b.avgdl IS NOT DISTINCT FROM 1 AS is_mismeasured
FROM {schema}.scope s JOIN {schema}.build b ON b.build_id = s.live_build
WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s;

-- shown_chunks --
-- How many readers could see, were they granted everything.
SELECT coalesce(sum(r.n_chunks), 0)::bigint AS chunks
FROM {schema}.scope s
JOIN {schema}.span x ON x.build_id = s.live_build AND x.gen_from <= s.live_gen AND x.gen_to > s.live_gen
JOIN {schema}.source o ON o.source_pk = x.source_pk AND x.gen_from > o.fence_gen
JOIN {schema}.revision r ON r.rev_id = x.rev_id
WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s;

-- space --
SELECT space_id FROM {schema}.space
WHERE embedder_identity = %(embedder_identity)s AND dimensions = %(dimensions)s AND chunker = %(chunker)s;

-- building --
SELECT build_id, slab, space_id, lexicon FROM {schema}.build WHERE scope_id = %(scope_id)s AND state = 'building';

-- begin_build --
-- Of the live build's space and lexicon it is a copy: the same passages with the same weights, unless those are mismeasured.
INSERT INTO {schema}.build (scope_id, space_id, lexicon, avgdl, state, slab)
VALUES (%(scope_id)s, %(space_id)s, %(lexicon)s,
  (SELECT nullif(l.avgdl, 1) FROM {schema}.scope s JOIN {schema}.build l ON l.build_id = s.live_build
   WHERE s.scope_id = %(scope_id)s AND l.space_id = %(space_id)s AND l.lexicon = %(lexicon)s),
  'building', CASE WHEN %(is_large)s THEN
  (SELECT nextval(c.oid::regclass) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = %(schema)s AND c.relname = 'slab_seq') ELSE 0 END)
RETURNING build_id, slab, space_id, lexicon;

-- try_again --
-- What could not be carried over before is tried again: whoever asked may have mended it.
DELETE FROM {schema}.page_item i USING {schema}.page p
WHERE p.page_id = i.page_id AND p.build_id = %(build_id)s AND p.kind = 'reindex'
  AND (p.state = 'published' OR i.status IS NOT NULL AND i.rev_id IS NULL);

-- first_flip --
-- The generation at which the build was shown first.
SELECT gen FROM {schema}.pointer_log WHERE build_id = %(build_id)s AND kind = 'flip' ORDER BY id LIMIT 1;

-- former --
-- The build of the same scope that readers were moved away from last.
SELECT o.build_id FROM {schema}.build b JOIN {schema}.build o USING (scope_id)
WHERE b.build_id = %(build_id)s AND o.build_id <> b.build_id AND o.state = 'retired' ORDER BY o.ended_at DESC LIMIT 1;

-- built --
-- What a build holds so far.
SELECT count(*) AS sources,
       coalesce(sum((SELECT r.n_chunks FROM {schema}.revision r WHERE r.rev_id = x.rev_id)), 0)::bigint AS chunks
FROM {schema}.span x
WHERE x.build_id = %(build_id)s AND x.gen_to = 9223372036854775807;

-- lock_scope_of --
-- The one lock of a scope, by a build of it.
SELECT s.scope_id, s.head_gen, s.live_build, s.live_gen, s.pinned FROM {schema}.scope s
WHERE s.scope_id = (SELECT b.scope_id FROM {schema}.build b WHERE b.build_id = %(build_id)s)
FOR NO KEY UPDATE OF s;

-- state --
SELECT state FROM {schema}.build WHERE build_id = %(build_id)s;

-- look_up --
-- The statements that compare whole builds read each span of both once, and look the rest up by its key, whatever the planner
-- believes of tables that have just grown: a join was planned for one row, and took the square of all of them.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);

-- level --
-- How far a build is from what readers see, by document versions and both ways. Sources that are forgotten or revoked are
-- not carried over; held ones are, and stay hidden. `failed` are those of the missing that could not be carried over.
-- Versions that both have are level whatever the fence is: it hides what began at or before it, and the copy began later than
-- the original and before any fence that was set since.
WITH b AS MATERIALIZED (
  SELECT g.build_id, g.scope_id, s.head_gen, s.live_build, s.live_gen
  FROM {schema}.build g JOIN {schema}.scope s USING (scope_id) WHERE g.build_id = %(build_id)s),
spans AS MATERIALIZED (
  SELECT x.source_pk, x.version_id, x.gen_from, true AS is_shown
  FROM b JOIN {schema}.span x ON x.build_id = b.live_build AND x.gen_from <= b.live_gen AND x.gen_to > b.live_gen
  UNION ALL
  SELECT x.source_pk, x.version_id, x.gen_from, false
  FROM {schema}.span x WHERE x.build_id = %(build_id)s AND x.gen_to = 9223372036854775807),
lone AS MATERIALIZED (
  SELECT o.source_id, l.version_id, l.is_missing
  FROM (SELECT source_pk, version_id, min(gen_from) AS gen_from, bool_and(is_shown) AS is_missing
        FROM spans GROUP BY source_pk, version_id HAVING count(*) = 1) l
  CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE source_pk = l.source_pk LIMIT 1) o
  WHERE l.gen_from > o.fence_gen
    AND (SELECT true FROM {schema}.tombstone t
         WHERE t.scope_id = o.scope_id AND t.id = o.source_id AND t.reason IN ('forgotten', 'revoked') LIMIT 1) IS NULL),
failed AS MATERIALIZED (
  SELECT l.source_id FROM lone l
  WHERE l.is_missing AND (
    SELECT true FROM (SELECT * FROM {schema}.page_item WHERE version_id = l.version_id OFFSET 0) i JOIN {schema}.page p USING (page_id)
    WHERE p.build_id = %(build_id)s AND i.outcome = 'failed' LIMIT 1))
SELECT b.head_gen, b.live_build, b.live_gen,
       (SELECT count(*) FROM spans WHERE NOT is_shown) AS sources,
       (SELECT count(*) FROM lone WHERE is_missing) AS missing, (SELECT count(*) FROM lone WHERE NOT is_missing) AS extra,
       (SELECT count(*) FROM failed) AS failed,
       ARRAY (SELECT source_id FROM failed ORDER BY source_id LIMIT 5) AS failed_ids
FROM b;

-- retire_live --
UPDATE {schema}.build SET state = 'retired', ended_at = clock_timestamp() WHERE build_id = %(live_build)s;

-- flip --
-- The moment at which readers see the other build: three rows, and one that says so.
WITH g AS (UPDATE {schema}.build SET state = 'live', head_gen = %(gen)s WHERE build_id = %(build_id)s),
s AS (
  UPDATE {schema}.scope SET head_gen = %(gen)s, live_build = %(build_id)s, live_gen = %(gen)s, held_until = NULL
  WHERE scope_id = %(scope_id)s)
INSERT INTO {schema}.pointer_log (scope_id, build_id, gen, kind, sources)
VALUES (%(scope_id)s, %(build_id)s, %(gen)s, 'flip', %(sources)s);

-- hold --
-- Publishing waits, so that a build that follows it can come level.
UPDATE {schema}.scope SET held_until = clock_timestamp() + make_interval(secs => %(hold_s)s) WHERE scope_id = %(scope_id)s;

-- give_up --
-- It may be dropped from now on.
UPDATE {schema}.build SET state = 'dropping', ended_at = clock_timestamp() WHERE build_id = %(build_id)s AND state = 'building';

-- retire --
-- A build that is shown again is not touched, and one that was is kept as long from its last end.
UPDATE {schema}.build SET state = 'dropping'
WHERE build_id = %(build_id)s AND state = 'retired' AND ended_at <= clock_timestamp() - make_interval(secs => %(after_s)s);

-- kept_for --
SELECT greatest(extract(epoch FROM ended_at - clock_timestamp())::float8 + %(after_s)s, 0)
FROM {schema}.build WHERE build_id = %(build_id)s AND state = 'retired';

-- wait_little --
SELECT set_config('lock_timeout', '500ms', true);

-- forget_pages --
-- A build that is live, or given up, is filled no more.
DELETE FROM {schema}.page p USING {schema}.build b
WHERE p.build_id = %(build_id)s AND p.kind = 'reindex' AND b.build_id = p.build_id AND b.state <> 'building';

-- outgrown --
-- Corpora in the shared partition that show more chunks than are searched well without an index.
SELECT s.tenant_id, s.resource_id, s.corpus_id
FROM {schema}.scope s
JOIN {schema}.build b ON b.build_id = s.live_build AND b.slab = 0
WHERE NOT s.pinned AND NOT EXISTS (SELECT FROM {schema}.build g WHERE g.scope_id = s.scope_id AND g.state = 'building')
  AND (cardinality(%(tenants)s::text[]) = 0 OR s.tenant_id = ANY (%(tenants)s))
  AND (SELECT sum(r.n_chunks)
       FROM {schema}.span x
       JOIN {schema}.source o ON o.source_pk = x.source_pk AND x.gen_from > o.fence_gen
       JOIN {schema}.revision r ON r.rev_id = x.rev_id
       WHERE x.build_id = s.live_build AND x.gen_from <= s.live_gen AND x.gen_to > s.live_gen) >= %(limit)s
ORDER BY 1, 2, 3;
