-- What is removed of sources that are hidden for good: passages, texts, status, and what is staged. Rows and lineage stay, so
-- that a repeated walk finds the same ids. Only what was read before the tombstone is removed (base_gen below its generation):
-- a source that is brought back meanwhile keeps its new text. What is under a legal hold is left alone.

-- lock_scope --
-- The one lock of a scope, for each small page: who publishes waits for one page at most. The settings as in tombstones.sql.
SELECT scope_id, set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)
FROM {schema}.scope
WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s
FOR NO KEY UPDATE;

-- note_progress --
INSERT INTO {schema}.request_step (request_no, step, result) VALUES (%(request_no)s, %(step)s, %(result)s)
ON CONFLICT (request_no, step) DO UPDATE SET result = excluded.result;

-- layers --
SELECT step, result -> 'count' FROM {schema}.request_step
WHERE request_no = %(request_no)s AND starts_with(step, %(prefix)s) ORDER BY step;

-- removable --
-- The rows of these ids that may lose their text.
SELECT s.source_pk
FROM unnest(%(ids)s::text[]) AS u (id)
CROSS JOIN LATERAL (
  SELECT x.source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) s
WHERE NOT EXISTS (
  SELECT FROM {schema}.tombstone t WHERE t.scope_id = %(scope_id)s AND t.id = u.id AND t.reason = 'legal_hold')
ORDER BY s.source_pk;

-- detach_staged --
-- Pages that are on their way go on without what was staged of these sources: no batch embeds it, no publication waits for it.
UPDATE {schema}.page_item i SET rev_id = NULL
FROM {schema}.page p JOIN {schema}.build b USING (build_id), {schema}.revision r
WHERE b.scope_id = %(scope_id)s AND p.state <> 'published' AND i.page_id = p.page_id
  AND r.rev_id = i.rev_id AND r.source_pk = ANY (%(source_pks)s) AND r.base_gen < %(gen)s;

-- drop_content --
-- What hosts pushed of these sources and is not published yet, except of held ones.
WITH pushed AS MATERIALIZED (
  SELECT g.page_id, g.ord, g.content_id
  FROM {schema}.page p JOIN {schema}.build b USING (build_id) JOIN {schema}.page_item i USING (page_id)
    JOIN {schema}.ingest_item g ON g.page_id = i.page_id AND g.ord = i.ord
  WHERE b.scope_id = %(scope_id)s AND p.state <> 'published' AND p.kind = 'ingest' AND g.base_gen < %(gen)s
    AND i.source_id = ANY (%(ids)s::text[])
    AND NOT EXISTS (SELECT FROM {schema}.tombstone t
                    WHERE t.scope_id = %(scope_id)s AND t.id = i.source_id AND t.reason = 'legal_hold')),
cleared AS (
  UPDATE {schema}.ingest_item g SET title = NULL, uri = NULL, metadata = '{}'
  FROM pushed w WHERE g.page_id = w.page_id AND g.ord = w.ord)
DELETE FROM {schema}.staged_content c USING pushed w WHERE c.content_id = w.content_id;

-- old_revisions --
-- Their chunk sets in every build, until they hold no chunk any more, and where these are.
SELECT r.rev_id, r.n_chunks, (SELECT b.slab FROM {schema}.build b WHERE b.build_id = r.build_id) AS slab
FROM unnest(%(source_pks)s::bigint[]) AS u (source_pk)
CROSS JOIN LATERAL (
  SELECT v.version_id FROM {schema}.document_version v WHERE v.source_pk = u.source_pk OFFSET 0) v
JOIN {schema}.revision r ON r.version_id = v.version_id
WHERE r.n_chunks > 0
  AND EXISTS (SELECT FROM {schema}.revision o WHERE o.version_id = v.version_id AND o.base_gen < %(gen)s)
ORDER BY r.rev_id LIMIT %(limit)s;

-- empty_revisions --
WITH k AS (DELETE FROM {schema}.cut WHERE rev_id = ANY (%(rev_ids)s))
UPDATE {schema}.revision SET n_chunks = 0 WHERE rev_id = ANY (%(rev_ids)s);

-- empty_versions --
UPDATE {schema}.document_version v SET text = '', title = NULL, uri = NULL, metadata = '{}', locators = '[]',
  headings = NULL
WHERE v.source_pk = ANY (%(source_pks)s)
  AND EXISTS (SELECT FROM {schema}.revision o WHERE o.version_id = v.version_id AND o.base_gen < %(gen)s);

-- drop_status --
-- Unless the source was brought back: then the status is its new text's.
DELETE FROM {schema}.ingestion n
WHERE n.source_pk = ANY (%(source_pks)s)
  AND NOT EXISTS (
    SELECT FROM {schema}.span x JOIN {schema}.revision r USING (rev_id)
    WHERE x.source_pk = n.source_pk AND r.base_gen >= %(gen)s);
