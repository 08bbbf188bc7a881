-- ensure_scope --
INSERT INTO {schema}.scope (tenant_id, resource_id, corpus_id) VALUES (%(tenant_id)s, %(resource_id)s, %(corpus_id)s)
ON CONFLICT DO NOTHING;

-- lock_scope --
-- The lock that all writers of a scope take first.
SELECT scope_id, live_build FROM {schema}.scope
WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s
FOR NO KEY UPDATE;

-- ensure_space --
INSERT INTO {schema}.space (embedder_spec, embedder_identity, dimensions, max_tokens, chunker)
VALUES (%(embedder_spec)s, %(embedder_identity)s, %(dimensions)s, %(max_tokens)s, %(chunker)s)
ON CONFLICT DO NOTHING;

-- move_embedder --
-- The same vectors from another place, as when a model's folder moved: workers look where it was given last.
UPDATE {schema}.space SET embedder_spec = %(embedder_spec)s
WHERE embedder_identity = %(embedder_identity)s AND dimensions = %(dimensions)s AND embedder_spec <> %(embedder_spec)s;

-- create_build --
INSERT INTO {schema}.build (scope_id, space_id, lexicon)
SELECT %(scope_id)s, space_id, %(lexicon)s FROM {schema}.space
WHERE embedder_identity = %(embedder_identity)s AND dimensions = %(dimensions)s AND chunker = %(chunker)s
RETURNING build_id;

-- point_to --
UPDATE {schema}.scope SET live_build = %(build_id)s WHERE scope_id = %(scope_id)s;

-- live_build --
SELECT s.scope_id, b.build_id, b.slab, p.space_id, p.embedder_spec, p.embedder_identity, p.dimensions, p.max_tokens, p.chunker,
       b.lexicon, b.avgdl,
       s.tenant_id || '/' || s.resource_id || '/' || s.corpus_id AS corpus
FROM {schema}.scope s JOIN {schema}.build b ON b.build_id = s.live_build JOIN {schema}.space p ON p.space_id = b.space_id
WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s;

-- build_at --
-- The build that showed a generation, which the library reads it in.
SELECT s.scope_id, b.build_id, b.slab, p.space_id, p.embedder_spec, p.embedder_identity, p.dimensions, p.max_tokens, p.chunker,
       b.lexicon, b.avgdl,
       s.tenant_id || '/' || s.resource_id || '/' || s.corpus_id AS corpus
FROM {schema}.scope s
JOIN {schema}.build b ON b.state IN ('live', 'retired') AND b.build_id = (
  SELECT l.build_id FROM {schema}.pointer_log l
  WHERE l.scope_id = s.scope_id AND l.gen <= %(generation)s AND l.kind IN ('publish', 'delete', 'fork', 'flip')
  ORDER BY l.gen DESC, l.id DESC LIMIT 1)
JOIN {schema}.space p ON p.space_id = b.space_id
WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s;

-- build_of --
SELECT b.scope_id, b.build_id, b.slab, p.space_id, p.embedder_spec, p.embedder_identity, p.dimensions, p.max_tokens, p.chunker,
       b.lexicon, b.avgdl,
       s.tenant_id || '/' || s.resource_id || '/' || s.corpus_id AS corpus
FROM {schema}.build b JOIN {schema}.scope s USING (scope_id) JOIN {schema}.space p ON p.space_id = b.space_id
WHERE b.build_id = %(build_id)s;

-- live_build_of --
SELECT s.scope_id, b.build_id, b.slab, p.space_id, p.embedder_spec, p.embedder_identity, p.dimensions, p.max_tokens, p.chunker,
       b.lexicon, b.avgdl,
       s.tenant_id || '/' || s.resource_id || '/' || s.corpus_id AS corpus
FROM {schema}.scope s JOIN {schema}.build b ON b.build_id = s.live_build JOIN {schema}.space p ON p.space_id = b.space_id
WHERE s.scope_id = %(scope_id)s;

-- find_scope --
SELECT scope_id FROM {schema}.scope
WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s AND live_build IS NOT NULL;
