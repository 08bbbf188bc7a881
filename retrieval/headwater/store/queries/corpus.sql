-- What is read: the build and generation that a corpus shows, or one of its past (pointer), if its words are those that are asked for
-- (known).
-- places: pointer known

-- pointer_now --
-- What the corpus shows, where that lies, and in which space.
SELECT c.scope_id, c.live_build AS build_id, c.live_gen AS generation, x.embedder_identity, x.dimensions, b.slab, b.lexicon, b.n_counted,
       EXISTS (SELECT FROM {schema}.tombstone t WHERE t.scope_id = c.scope_id) AS has_tombstones
FROM {schema}.scope c
JOIN {schema}.build b ON b.build_id = c.live_build
JOIN {schema}.space x ON x.space_id = b.space_id
WHERE c.tenant_id = %(tenant)s AND c.resource_id = %(resource)s AND c.corpus_id = %(corpus)s

-- pointer_at --
-- The same for a generation that was shown once: in the build that the log names for it, if that is still there. If not,
-- only the scope is known.
SELECT c.scope_id, b.build_id, b.generation, x.embedder_identity, x.dimensions, b.slab, b.lexicon, b.n_counted,
       EXISTS (SELECT FROM {schema}.tombstone t WHERE t.scope_id = c.scope_id) AS has_tombstones
FROM {schema}.scope c
LEFT JOIN LATERAL (
  SELECT k.build_id, k.space_id, k.slab, k.lexicon, k.n_counted, %(generation)s::bigint AS generation
  FROM {schema}.build k
  WHERE k.build_id = ({build_at}) AND k.state IN ('live', 'retired')
    AND %(generation)s::bigint BETWEEN c.min_gen AND c.head_gen) b ON true
LEFT JOIN {schema}.space x ON x.space_id = b.space_id
WHERE c.live_build IS NOT NULL
  AND c.tenant_id = %(tenant)s AND c.resource_id = %(resource)s AND c.corpus_id = %(corpus)s

-- build_at --
-- The build that was shown at a generation.
SELECT l.build_id FROM {schema}.pointer_log l
WHERE l.scope_id = c.scope_id AND l.gen <= %(generation)s AND {takes_generation}
ORDER BY l.gen DESC, l.id DESC LIMIT 1

-- takes_generation --
-- Only what takes a generation says in which build it lies; a rollback goes back to one.
l.kind IN ('publish', 'delete', 'fork', 'flip')

-- corpus --
-- How every search begins. Vectors of another embedder are not compared, and those of another partition are not found: then
-- nothing is searched, and the answer's first columns say what the corpus is.
pointer AS MATERIALIZED ({pointer}),
searched AS MATERIALIZED (
  SELECT scope_id FROM pointer WHERE embedder_identity = %(identity)s AND dimensions = {dimensions} AND slab = {slab} {known}),
asker AS MATERIALIZED ({asker})

-- generations --
-- Which generations of a corpus can be read, asked only where one could not be: from the floor of collection, or from the
-- first after it whose build is still there.
SELECT CASE WHEN f.build_id IS NOT NULL THEN c.min_gen ELSE n.gen END AS oldest, c.head_gen AS newest
FROM {schema}.scope c
LEFT JOIN {schema}.build f ON f.state IN ('live', 'retired') AND f.build_id = (
  SELECT l.build_id FROM {schema}.pointer_log l
  WHERE l.scope_id = c.scope_id AND l.gen <= c.min_gen AND {takes_generation}
  ORDER BY l.gen DESC, l.id DESC LIMIT 1)
LEFT JOIN LATERAL (
  SELECT l.gen FROM {schema}.pointer_log l JOIN {schema}.build b ON b.build_id = l.build_id AND b.state IN ('live', 'retired')
  WHERE l.scope_id = c.scope_id AND l.gen > c.min_gen AND {takes_generation}
  ORDER BY l.gen LIMIT 1) n ON true
WHERE c.tenant_id = %(tenant)s AND c.resource_id = %(resource)s AND c.corpus_id = %(corpus)s;

-- all_corpora --
-- How a look at all corpora of a question at once begins: which they are, who asks, and what the gates want to know of both.
corpora AS MATERIALIZED (
  SELECT c.scope_id FROM unnest(%(resources)s::text[], %(corpora)s::text[]) AS u (resource_id, corpus_id)
  CROSS JOIN LATERAL (
    SELECT x.scope_id FROM {schema}.scope x
    WHERE x.tenant_id = %(tenant)s AND x.resource_id = u.resource_id AND x.corpus_id = u.corpus_id LIMIT 1) c),
pointer AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM {schema}.tombstone t WHERE t.scope_id = ANY (ARRAY(SELECT scope_id FROM corpora)))
    AS has_tombstones),
asker AS MATERIALIZED ({asker})
