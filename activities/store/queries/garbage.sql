-- Collecting garbage of one scope, in pages that hold its lock for milliseconds. Every page looks again under the lock at
-- what was found before it. A build that is being made is left alone; one that is being dropped is in dropping.sql.

-- scope --
SELECT scope_id FROM {schema}.scope
WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s;

-- lock_scope --
-- The one lock of a scope. Plans made on empty tables stay in use: none may read a table whole.
SELECT min_gen, set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true)
FROM {schema}.scope WHERE scope_id = %(scope_id)s FOR NO KEY UPDATE;

-- lock_checkpoints --
-- After the scope, as publishing does. The end of a pass deletes pages under this lock alone, in another order than here.
SELECT FROM {schema}.checkpoint k JOIN {schema}.connector c USING (connector_id)
WHERE c.scope_id = %(scope_id)s ORDER BY k.connector_id FOR NO KEY UPDATE OF k;

-- raise_floor --
-- Older than both limits, and never past the pointer, so that neither a rollback nor a pin loses what it shows. The
-- generation that readers saw as long ago as is kept stays, however much older it is itself.
UPDATE {schema}.scope s
SET min_gen = greatest(s.min_gen, least(s.live_gen, s.head_gen - %(keep_generations)s, coalesce((
  SELECT l.gen FROM {schema}.pointer_log l
  WHERE l.scope_id = %(scope_id)s AND l.kind IN ('publish', 'delete', 'fork', 'flip')
    AND l.at <= clock_timestamp() - make_interval(secs => %(keep_s)s)
  ORDER BY l.gen DESC LIMIT 1), 0)))
WHERE s.scope_id = %(scope_id)s;

-- drop_unreachable --
-- Retired builds that no generation from the floor on shows.
UPDATE {schema}.build b SET state = 'dropping', ended_at = coalesce(b.ended_at, clock_timestamp())
FROM {schema}.scope s
WHERE s.scope_id = %(scope_id)s AND b.scope_id = s.scope_id AND b.state = 'retired'
  AND NOT EXISTS (
    SELECT FROM {schema}.pointer_log l
    WHERE l.scope_id = s.scope_id AND l.build_id = b.build_id AND l.kind IN ('publish', 'delete', 'fork', 'flip')
      AND l.gen >= coalesce((SELECT max(c.gen) FROM {schema}.pointer_log c
                             WHERE c.scope_id = %(scope_id)s AND c.gen <= s.min_gen
                               AND c.kind IN ('publish', 'delete', 'fork', 'flip')), 0));

-- drop_forsaken --
-- Builds that were begun and that nobody has gone on with for a week.
UPDATE {schema}.build b SET state = 'dropping', ended_at = clock_timestamp()
WHERE b.scope_id = %(scope_id)s AND b.state = 'building' AND b.created_at < clock_timestamp() - interval '7 days'
  AND NOT EXISTS (SELECT FROM {schema}.revision r
                  WHERE r.build_id = b.build_id AND r.staged_at > clock_timestamp() - interval '7 days')
  AND NOT EXISTS (SELECT FROM {schema}.page p WHERE p.build_id = b.build_id AND p.at > clock_timestamp() - interval '7 days');

-- pass_dropped --
-- Where the build that showed the floor's generation is being dropped, the floor is the next that can be shown.
UPDATE {schema}.scope s
SET min_gen = least(s.live_gen, (
  SELECT l.gen FROM {schema}.pointer_log l JOIN {schema}.build b USING (build_id)
  WHERE l.scope_id = %(scope_id)s AND l.gen > s.min_gen AND l.kind IN ('publish', 'delete', 'fork', 'flip')
    AND b.state IN ('live', 'retired')
  ORDER BY l.gen LIMIT 1))
WHERE s.scope_id = %(scope_id)s
  AND (SELECT b.state FROM {schema}.pointer_log l JOIN {schema}.build b USING (build_id)
       WHERE l.scope_id = %(scope_id)s AND l.gen <= s.min_gen AND l.kind IN ('publish', 'delete', 'fork', 'flip')
       ORDER BY l.gen DESC, l.id DESC LIMIT 1) = 'dropping';

-- drop_abandoned_pages --
-- Pages of a pass that ended before it published them. The connector's next pass would delete them, if there were one.
WITH old AS MATERIALIZED (
  SELECT p.page_id
  FROM {schema}.connector c
  JOIN {schema}.checkpoint k USING (connector_id)
  JOIN {schema}.page p USING (connector_id)
  WHERE c.scope_id = %(scope_id)s AND p.state <> 'published' AND p.at < clock_timestamp() - interval '1 day'
    AND k.owner IS NULL AND NOT k.is_paused
  ORDER BY p.page_id LIMIT %(limit)s),
cuts AS (
  DELETE FROM {schema}.cut WHERE rev_id IN (
    SELECT i.rev_id FROM old JOIN {schema}.page_item i USING (page_id) WHERE i.rev_id IS NOT NULL))
DELETE FROM {schema}.page WHERE page_id IN (SELECT page_id FROM old);

-- drop_pages --
-- Pages of hosts and of re-indexes that are done with: their answer is the request's. One that a host may still send again
-- stays as long as its request does.
DELETE FROM {schema}.page WHERE page_id IN (
  SELECT p.page_id
  FROM {schema}.build b
  JOIN {schema}.page p USING (build_id)
  LEFT JOIN {schema}.request r ON r.request_no = p.request_no
  WHERE b.scope_id = %(scope_id)s AND p.kind <> 'sync' AND p.at < clock_timestamp() - interval '1 day'
    AND CASE WHEN p.kind = 'reindex' THEN b.state <> 'building'
             WHEN p.state = 'published' THEN p.request_no IS NULL OR r.result IS NOT NULL
             ELSE p.request_no IS NULL END
  ORDER BY p.page_id LIMIT %(limit)s);

-- find_dead --
-- Revisions that no pointer position shows: closed at or below the floor, fenced, or forgotten. The last two at once.
-- LATERAL with a scalar sub-select for each condition: each span is looked up by its build and its end. As joins the planner,
-- which does not know how few are left, read every span of every corpus.
SELECT rev_id FROM (
  (SELECT x.rev_id
   FROM {schema}.build b
   CROSS JOIN LATERAL (
     SELECT c.rev_id FROM {schema}.span c
     WHERE c.build_id = b.build_id AND c.gen_to <= (SELECT min_gen FROM {schema}.scope WHERE scope_id = %(scope_id)s)
       AND (SELECT t.reason FROM {schema}.tombstone t
            WHERE t.scope_id = %(scope_id)s
              AND t.id = (SELECT s.source_id FROM {schema}.source s WHERE s.source_pk = c.source_pk)
            LIMIT 1) IS DISTINCT FROM 'legal_hold'
     ORDER BY c.gen_to LIMIT %(limit)s) x
   WHERE b.scope_id = %(scope_id)s AND b.state IN ('live', 'retired'))
  UNION ALL
  (SELECT x.rev_id
   FROM {schema}.build b
   CROSS JOIN LATERAL (
     SELECT c.rev_id FROM {schema}.span c
     WHERE c.build_id = b.build_id AND c.gen_to < 9223372036854775807
       AND c.gen_to > (SELECT min_gen FROM {schema}.scope WHERE scope_id = %(scope_id)s)
       AND c.gen_from <= (SELECT s.fence_gen FROM {schema}.source s WHERE s.source_pk = c.source_pk)
       AND (SELECT t.reason FROM {schema}.tombstone t
            WHERE t.scope_id = %(scope_id)s
              AND t.id = (SELECT s.source_id FROM {schema}.source s WHERE s.source_pk = c.source_pk)
            LIMIT 1) IS DISTINCT FROM 'legal_hold'
     ORDER BY c.gen_to LIMIT %(limit)s) x
   WHERE b.scope_id = %(scope_id)s AND b.state IN ('live', 'retired'))
  UNION ALL
  (SELECT x.rev_id
   FROM {schema}.tombstone t
   CROSS JOIN LATERAL (
     SELECT source_pk FROM {schema}.source o WHERE o.scope_id = %(scope_id)s AND o.source_id = t.id LIMIT 1) s
   CROSS JOIN LATERAL (
     SELECT c.rev_id FROM {schema}.span c
     WHERE c.source_pk = s.source_pk
       AND (SELECT b.state FROM {schema}.build b WHERE b.build_id = c.build_id) IN ('live', 'retired')
     OFFSET 0) x
   WHERE t.scope_id = %(scope_id)s AND t.reason = 'forgotten'
   LIMIT %(limit)s)) u
GROUP BY rev_id ORDER BY rev_id LIMIT %(limit)s;

-- find_left --
-- Revisions that were staged, never published, and that no page needs any more. Nothing says of a revision that it was
-- published, so this reads all of them: once an hour, without a lock.
SELECT r.rev_id
FROM {schema}.build b
JOIN {schema}.revision r USING (build_id)
JOIN {schema}.source s USING (source_pk)
WHERE b.scope_id = %(scope_id)s AND b.state IN ('live', 'retired') AND r.staged_at < clock_timestamp() - interval '1 day'
  AND NOT EXISTS (SELECT FROM {schema}.span x WHERE x.rev_id = r.rev_id)
  AND NOT EXISTS (SELECT FROM {schema}.page_item i JOIN {schema}.page p USING (page_id)
                  WHERE i.rev_id = r.rev_id AND p.state <> 'published')
  AND NOT EXISTS (SELECT FROM {schema}.tombstone t
                  WHERE t.scope_id = %(scope_id)s AND t.id = s.source_id AND t.reason = 'legal_hold')
ORDER BY r.rev_id LIMIT %(limit)s;

-- delete_dead_spans --
-- Of a revision that a fork showed again, only the spans that are over.
DELETE FROM {schema}.span x USING {schema}.source s, {schema}.build b
WHERE x.rev_id = ANY (%(rev_ids)s) AND s.source_pk = x.source_pk AND b.build_id = x.build_id
  AND b.state IN ('live', 'retired')
  AND (x.gen_to <= %(min_gen)s OR x.gen_from <= s.fence_gen
       OR EXISTS (SELECT FROM {schema}.tombstone t
                  WHERE t.scope_id = %(scope_id)s AND t.id = s.source_id AND t.reason = 'forgotten'))
  AND NOT EXISTS (SELECT FROM {schema}.tombstone t
                  WHERE t.scope_id = %(scope_id)s AND t.id = s.source_id AND t.reason = 'legal_hold')
RETURNING x.rev_id;

-- dead_revisions --
-- Those of them that have no span any more: because it was deleted just now, or because they never got one.
SELECT r.rev_id, r.version_id, r.slab
FROM unnest(%(rev_ids)s::bigint[]) AS u (rev_id)
CROSS JOIN LATERAL (
  SELECT v.rev_id, v.version_id, v.staged_at, b.slab, b.state,
         (SELECT s.source_id FROM {schema}.source s WHERE s.source_pk = v.source_pk) AS source_id
  FROM {schema}.revision v JOIN {schema}.build b USING (build_id) WHERE v.rev_id = u.rev_id OFFSET 0) r
WHERE r.state IN ('live', 'retired')
  AND (r.rev_id = ANY (%(spanned)s) OR r.staged_at < clock_timestamp() - interval '1 day')
  AND (SELECT x.rev_id FROM {schema}.span x WHERE x.rev_id = r.rev_id LIMIT 1) IS NULL
  AND (SELECT i.rev_id FROM {schema}.page_item i JOIN {schema}.page p USING (page_id)
       WHERE i.rev_id = r.rev_id AND p.state <> 'published' LIMIT 1) IS NULL
  AND (SELECT t.reason FROM {schema}.tombstone t
       WHERE t.scope_id = %(scope_id)s AND t.id = r.source_id LIMIT 1) IS DISTINCT FROM 'legal_hold';

-- delete_chunks --
-- Of one partition, whose number is written out.
DELETE FROM {schema}.chunk WHERE slab = %(slab)s AND rev_id = ANY (%(rev_ids)s);

-- unlink_items --
UPDATE {schema}.page_item SET rev_id = NULL WHERE rev_id = ANY (%(rev_ids)s);

-- delete_revisions --
-- Cuts go with them.
DELETE FROM {schema}.revision WHERE rev_id = ANY (%(rev_ids)s);

-- delete_versions --
-- Texts that nobody refers to. SKIP LOCKED: who has just staged something on one holds a key-share lock on it, and is not
-- waited for. Scalar sub-selects, since joins would read every revision for each page.
DELETE FROM {schema}.document_version WHERE version_id = ANY (ARRAY (
  SELECT v.version_id FROM {schema}.document_version v
  WHERE v.version_id = ANY (%(version_ids)s)
    AND (SELECT r.rev_id FROM {schema}.revision r WHERE r.version_id = v.version_id LIMIT 1) IS NULL
    AND (SELECT i.version_id FROM {schema}.page_item i JOIN {schema}.page p USING (page_id)
         WHERE i.version_id = v.version_id AND p.state <> 'published' LIMIT 1) IS NULL
    AND (SELECT t.reason FROM {schema}.tombstone t
         WHERE t.scope_id = v.scope_id AND t.id = (SELECT s.source_id FROM {schema}.source s WHERE s.source_pk = v.source_pk)
         LIMIT 1) IS DISTINCT FROM 'legal_hold'
  FOR UPDATE OF v SKIP LOCKED));

-- find_orphans --
-- Texts whose revisions went in a page that had to leave them, or with a build.
SELECT d.version_id
FROM {schema}.source s
JOIN {schema}.document_version d USING (source_pk)
WHERE s.scope_id = %(scope_id)s AND d.created_at < clock_timestamp() - interval '1 hour'
  AND NOT EXISTS (SELECT FROM {schema}.revision r WHERE r.version_id = d.version_id)
  AND NOT EXISTS (SELECT FROM {schema}.page_item i JOIN {schema}.page p USING (page_id)
                  WHERE i.version_id = d.version_id AND p.state <> 'published')
  AND NOT EXISTS (SELECT FROM {schema}.tombstone t
                  WHERE t.scope_id = %(scope_id)s AND t.id = s.source_id AND t.reason = 'legal_hold')
ORDER BY d.version_id LIMIT %(limit)s;

-- drop_content --
-- What hosts staged and did not use for a day. Its parts go with it.
DELETE FROM {schema}.staged_content WHERE content_id IN (
  SELECT c.content_id FROM {schema}.staged_content c
  WHERE c.scope_id = %(scope_id)s AND c.opened_at < clock_timestamp() - interval '1 day'
    AND coalesce(c.closed_at, c.opened_at) < clock_timestamp() - interval '1 day'
    AND NOT EXISTS (SELECT FROM {schema}.ingest_item i JOIN {schema}.page p USING (page_id)
                    WHERE i.content_id = c.content_id AND p.state <> 'published')
  ORDER BY c.opened_at LIMIT %(limit)s FOR UPDATE OF c SKIP LOCKED);

-- drop_requests --
-- Answered ones after 30 days. One without an answer may be waiting for an outage to end: three times as long.
DELETE FROM {schema}.request WHERE request_no IN (
  SELECT r.request_no FROM {schema}.request r
  WHERE r.scope_id = %(scope_id)s AND r.at < clock_timestamp() - interval '30 days'
    AND CASE WHEN r.result IS NOT NULL THEN coalesce(r.finished_at, r.at) < clock_timestamp() - interval '30 days'
             ELSE r.workflow_id IS NULL OR r.at < clock_timestamp() - interval '90 days' END
  ORDER BY r.at LIMIT %(limit)s);

-- drop_forwards --
-- Moves whose edges were all rewritten a week ago.
DELETE FROM {schema}.forward WHERE ctid = ANY (ARRAY (
  SELECT f.ctid FROM {schema}.forward f
  WHERE f.scope_id = %(scope_id)s AND f.is_done AND f.at < clock_timestamp() - interval '7 days'
  LIMIT %(limit)s FOR UPDATE SKIP LOCKED));

-- find_pending --
-- Documents that were listed once and were never read. This walks all of the corpus, so it is done without the lock.
SELECT n.source_pk
FROM {schema}.source s
JOIN {schema}.ingestion n USING (source_pk)
WHERE s.scope_id = %(scope_id)s AND n.state = 'pending' AND n.updated_at < clock_timestamp() - interval '1 day'
  AND NOT EXISTS (SELECT FROM {schema}.membership m WHERE m.source_pk = s.source_pk)
LIMIT %(limit)s;

-- drop_pending --
-- Those of them that are so still, and that no page brings.
DELETE FROM {schema}.ingestion n USING {schema}.source s
WHERE n.source_pk = ANY (%(source_pks)s) AND s.source_pk = n.source_pk AND n.state = 'pending'
  AND NOT EXISTS (SELECT FROM {schema}.membership m WHERE m.source_pk = s.source_pk)
  AND NOT EXISTS (SELECT FROM {schema}.build b JOIN {schema}.page p USING (build_id) JOIN {schema}.page_item i USING (page_id)
                  WHERE b.scope_id = %(scope_id)s AND p.state <> 'published' AND i.source_id = s.source_id);

-- find_abandoned --
-- What removed connectors left behind and was forgotten since: nothing is left of it that somebody published. Without the lock, since
-- the sources of the corpus are looked through, if there is such a connector.
SELECT s.source_pk
FROM {schema}.connector c
JOIN {schema}.source s ON s.scope_id = c.scope_id AND s.owner = c.connector_id
WHERE c.scope_id = %(scope_id)s AND c.removed_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM {schema}.ingestion n WHERE n.source_pk = s.source_pk)
  AND NOT EXISTS (SELECT FROM {schema}.membership m WHERE m.source_pk = s.source_pk)
  AND NOT EXISTS (SELECT FROM {schema}.span x WHERE x.source_pk = s.source_pk)
LIMIT %(limit)s;

-- release_abandoned --
-- Those that are so still: whoever brings the id back is its owner.
UPDATE {schema}.source s SET owner = NULL
FROM (SELECT source_pk FROM {schema}.source WHERE source_pk = ANY (%(source_pks)s) ORDER BY source_pk FOR NO KEY UPDATE) w
WHERE s.source_pk = w.source_pk
  AND NOT EXISTS (SELECT FROM {schema}.ingestion n WHERE n.source_pk = s.source_pk)
  AND NOT EXISTS (SELECT FROM {schema}.membership m WHERE m.source_pk = s.source_pk)
  AND NOT EXISTS (SELECT FROM {schema}.span x WHERE x.source_pk = s.source_pk);

-- drop_removed --
-- Connectors that were removed and of whose documents none is left; one of them, or all. Nothing is given to them any more. Without
-- the scope's lock: the foreign key looks through all sources. A connector that is made again meanwhile is waited for, and stays.
WITH gone AS (
  SELECT c.connector_id FROM {schema}.connector c
  WHERE c.scope_id = %(scope_id)s AND c.removed_at IS NOT NULL
    AND (%(connector_id)s::bigint IS NULL OR c.connector_id = %(connector_id)s)
    AND NOT EXISTS (SELECT FROM {schema}.source s WHERE s.scope_id = %(scope_id)s AND s.owner = c.connector_id)
  ORDER BY c.connector_id FOR UPDATE),
places AS (DELETE FROM {schema}.checkpoint k USING gone WHERE k.connector_id = gone.connector_id)
DELETE FROM {schema}.connector c USING gone WHERE c.connector_id = gone.connector_id;

-- trim_log --
-- Rows below the one that says which build shows the floor's generation.
DELETE FROM {schema}.pointer_log WHERE id IN (
  SELECT l.id FROM {schema}.pointer_log l
  WHERE l.scope_id = %(scope_id)s
    AND l.gen < (SELECT max(c.gen) FROM {schema}.scope s JOIN {schema}.pointer_log c USING (scope_id)
                 WHERE s.scope_id = %(scope_id)s AND c.gen <= s.min_gen
                   AND c.kind IN ('publish', 'delete', 'fork', 'flip'))
  ORDER BY l.gen, l.id LIMIT %(limit)s);

-- scopes --
-- Corpora in the order of their names, after one of them.
SELECT tenant_id, resource_id, corpus_id FROM {schema}.scope
WHERE (tenant_id, resource_id, corpus_id) > (%(tenant_after)s, %(resource_after)s, %(corpus_after)s)
  AND (cardinality(%(tenants)s::text[]) = 0 OR tenant_id = ANY (%(tenants)s))
ORDER BY tenant_id, resource_id, corpus_id LIMIT %(limit)s;
