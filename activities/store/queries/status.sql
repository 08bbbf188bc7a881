-- corpora --
-- What an operator sees of each corpus, or of one. Chunks are those that readers could see if they were granted everything.
SELECT sc.tenant_id || '/' || sc.resource_id || '/' || sc.corpus_id AS corpus, sc.live_gen AS generation, sc.live_build, sc.pinned,
       p.embedder_spec, p.embedder_identity, p.dimensions, p.max_tokens, p.chunker,
       nullif(split_part(b.lexicon, ':', 2), '') AS language,
       coalesce(states.total, 0)::bigint AS sources, seen.chunks,
       coalesce(states.by_state, '{}'::jsonb) AS by_state, coalesce(held.connectors, '[]'::jsonb) AS connectors
FROM {schema}.scope sc
JOIN {schema}.build b ON b.build_id = sc.live_build
JOIN {schema}.space p ON p.space_id = b.space_id
LEFT JOIN LATERAL (
  SELECT sum(g.n) AS total, jsonb_object_agg(g.state, g.n) AS by_state
  FROM (SELECT n.state, count(*) AS n FROM {schema}.source s JOIN {schema}.ingestion n USING (source_pk)
        WHERE s.scope_id = sc.scope_id GROUP BY n.state) g) states ON true
CROSS JOIN LATERAL (
  SELECT coalesce(sum(r.n_chunks), 0)::bigint AS chunks
  FROM {schema}.span x JOIN {schema}.source s USING (source_pk) JOIN {schema}.revision r ON r.rev_id = x.rev_id
  WHERE x.build_id = sc.live_build AND x.gen_from <= sc.live_gen AND x.gen_to > sc.live_gen AND x.gen_from > s.fence_gen) seen
LEFT JOIN LATERAL (
  SELECT jsonb_agg(jsonb_build_object('name', k.name, 'kind', k.kind, 'last_sync_at', k.last_sync_at, 'error',
                   coalesce((SELECT 'waiting: ' || h.waits_for FROM {schema}.checkpoint h WHERE h.connector_id = k.connector_id AND h.lease_until > now()),
                            k.last_error))
                   ORDER BY k.name) AS connectors
  FROM {schema}.connector k WHERE k.scope_id = sc.scope_id AND k.removed_at IS NULL) held ON true
WHERE %(tenant_id)s::text IS NULL
   OR (sc.tenant_id = %(tenant_id)s AND sc.resource_id = %(resource_id)s AND sc.corpus_id = %(corpus_id)s)
ORDER BY sc.tenant_id, sc.resource_id, sc.corpus_id;

-- sources --
-- Deleted sources have no status, so they are not listed. Revision and chunks are those that readers see.
SELECT s.source_id, n.state, n.freshness, n.reason, coalesce(v.n_chunks, 0) AS chunks, n.bytes, v.revision, n.updated_at
FROM {schema}.scope sc
JOIN {schema}.source s ON s.scope_id = sc.scope_id
JOIN {schema}.ingestion n USING (source_pk)
LEFT JOIN LATERAL (
  SELECT r.n_chunks, d.revision
  FROM {schema}.span x JOIN {schema}.revision r USING (rev_id) JOIN {schema}.document_version d ON d.version_id = r.version_id
  WHERE x.source_pk = s.source_pk AND x.build_id = sc.live_build AND x.gen_from <= sc.live_gen AND x.gen_to > sc.live_gen
    AND x.gen_from > s.fence_gen) v ON true
WHERE sc.tenant_id = %(tenant_id)s AND sc.resource_id = %(resource_id)s AND sc.corpus_id = %(corpus_id)s
  AND s.source_id > %(cursor)s AND (%(state)s::text IS NULL OR n.state = %(state)s)
ORDER BY s.source_id LIMIT %(limit)s;

-- keys --
-- What a filter can name: the keys of what readers see, of documents and of their passages, in how many documents each is, and
-- what its values are. Every passage is read for it.
WITH live AS MATERIALIZED (
  SELECT sc.live_build, sc.live_gen, b.slab
  FROM {schema}.scope sc JOIN {schema}.build b ON b.build_id = sc.live_build
  WHERE sc.tenant_id = %(tenant_id)s AND sc.resource_id = %(resource_id)s AND sc.corpus_id = %(corpus_id)s),
shown AS MATERIALIZED (
  SELECT x.rev_id, x.version_id
  FROM live l JOIN {schema}.span x ON x.build_id = l.live_build AND x.gen_from <= l.live_gen AND x.gen_to > l.live_gen
  JOIN {schema}.source s ON s.source_pk = x.source_pk AND x.gen_from > s.fence_gen),
said AS (
  SELECT v.rev_id, k.key, k.value
  FROM shown v JOIN {schema}.document_version d USING (version_id) CROSS JOIN LATERAL jsonb_each(d.metadata) k
  UNION ALL
  SELECT v.rev_id, k.key, k.value
  FROM shown v JOIN {schema}.chunk c ON c.slab = (SELECT slab FROM live) AND c.rev_id = v.rev_id
  CROSS JOIN LATERAL jsonb_each(c.metadata) k)
SELECT key, count(DISTINCT rev_id) AS sources, array_agg(DISTINCT jsonb_typeof(value) ORDER BY jsonb_typeof(value)) AS types
FROM said GROUP BY key ORDER BY key COLLATE "C";

-- source --
-- Where its connector found it is known as long as the page that said so is kept.
SELECT s.source_id, n.state, n.freshness, n.reason, coalesce(v.n_chunks, 0) AS chunks, n.bytes, v.revision, n.updated_at,
       s.access_version, k.name AS owner, s.grants, s.expiring, s.source_pk, v.rev_id, v.version_id, v.slab, v.uri,
       (SELECT i.path FROM {schema}.page_item i JOIN {schema}.page p USING (page_id) JOIN {schema}.connector c USING (connector_id)
        WHERE i.source_id = s.source_id AND c.scope_id = s.scope_id AND i.path <> '' ORDER BY i.page_id DESC LIMIT 1) AS path
FROM {schema}.scope sc
JOIN {schema}.source s ON s.scope_id = sc.scope_id
JOIN {schema}.ingestion n USING (source_pk)
LEFT JOIN {schema}.connector k ON k.connector_id = s.owner
LEFT JOIN LATERAL (
  SELECT r.n_chunks, d.revision, r.rev_id, r.version_id, b.slab, d.uri
  FROM {schema}.span x JOIN {schema}.revision r USING (rev_id) JOIN {schema}.document_version d ON d.version_id = r.version_id
  JOIN {schema}.build b ON b.build_id = x.build_id
  WHERE x.source_pk = s.source_pk AND x.build_id = sc.live_build AND x.gen_from <= sc.live_gen AND x.gen_to > sc.live_gen
    AND x.gen_from > s.fence_gen) v ON true
WHERE sc.tenant_id = %(tenant_id)s AND sc.resource_id = %(resource_id)s AND sc.corpus_id = %(corpus_id)s
  AND s.source_id = %(source_id)s;

-- scope --
SELECT 1 FROM {schema}.scope
WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s;

-- access_version --
SELECT s.access_version FROM {schema}.scope sc JOIN {schema}.source s ON s.scope_id = sc.scope_id
WHERE sc.tenant_id = %(tenant_id)s AND sc.resource_id = %(resource_id)s AND sc.corpus_id = %(corpus_id)s
  AND s.source_id = %(source_id)s;

-- sources_ending --
-- For somebody who gave a path in place of an id: only whole parts of a path count, so that no short word finds everything.
SELECT s.source_id
FROM {schema}.scope sc
JOIN {schema}.source s ON s.scope_id = sc.scope_id
JOIN {schema}.ingestion n USING (source_pk)
WHERE sc.tenant_id = %(tenant_id)s AND sc.resource_id = %(resource_id)s AND sc.corpus_id = %(corpus_id)s
  AND EXISTS (SELECT FROM unnest(%(endings)s::text[]) e (ending)
              WHERE right(s.source_id, length(e.ending) + 1) IN ('/' || e.ending, ':' || e.ending))
ORDER BY length(s.source_id), s.source_id LIMIT %(limit)s;

-- grantees --
-- Who is granted a source, by name, with the end of grants that have one and are not over.
SELECT g.kind, g.name, NULL::timestamptz AS expires_at FROM {schema}.grantee g WHERE g.grantee_id = ANY (%(grants)s)
UNION ALL
SELECT g.kind, g.name, e.expires_at
FROM {schema}.expiring_grant e JOIN {schema}.grantee g USING (grantee_id)
WHERE e.source_pk = %(source_pk)s AND e.expires_at > statement_timestamp()
ORDER BY 1, 2;

-- offsets --
SELECT chunk_no, start_cp, end_cp FROM {schema}.chunk WHERE slab = %(slab)s AND rev_id = %(rev_id)s ORDER BY chunk_no;

-- lineage --
SELECT parent_id FROM {schema}.lineage WHERE version_id = %(version_id)s ORDER BY ord;

-- pinned --
SELECT live_gen FROM {schema}.scope
WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s AND pinned;
