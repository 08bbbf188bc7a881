-- What `headwater doctor --recall` asks a corpus with: pieces of its own text, and readers of much and of little of it.

-- passages --
-- The beginnings of some passages that are shown, drawn at random. They go to the embedder and nowhere else.
SELECT left(c.body, %(characters)s) AS beginning
FROM (
  SELECT x.rev_id, r.n_chunks, b.slab
  FROM {schema}.scope s
  JOIN {schema}.build b ON b.build_id = s.live_build
  JOIN {schema}.span x ON x.build_id = b.build_id AND x.gen_from <= s.live_gen AND x.gen_to > s.live_gen
  JOIN {schema}.revision r ON r.rev_id = x.rev_id AND r.n_chunks > 0
  WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s
  ORDER BY random()
  LIMIT %(count)s) drawn
CROSS JOIN LATERAL (
  SELECT body FROM {schema}.chunk
  WHERE slab = drawn.slab AND rev_id = drawn.rev_id AND chunk_no > floor(random() * drawn.n_chunks)
  ORDER BY chunk_no
  LIMIT 1) c;

-- readers --
-- Who is named in grants of the corpus, from those who may read most of its sources to those who may read least.
SELECT g.kind, g.name, n.sources
FROM (
  SELECT u.grantee_id, count(*) AS sources
  FROM {schema}.scope c
  JOIN {schema}.source s ON s.scope_id = c.scope_id AND s.grants <> '{}'
  CROSS JOIN LATERAL unnest(s.grants) AS u (grantee_id)
  WHERE c.tenant_id = %(tenant_id)s AND c.resource_id = %(resource_id)s AND c.corpus_id = %(corpus_id)s
  GROUP BY u.grantee_id) n
JOIN {schema}.grantee g ON g.grantee_id = n.grantee_id
ORDER BY n.sources DESC, g.grantee_id;
