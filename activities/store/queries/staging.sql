-- Staging: documents read and cut, chunks embedded; all of it invisible until its page is published.

-- page --
SELECT p.page_id, p.connector_id, p.build_id, p.state, p.in_flight, c.fence, c.owner, b.slab, b.scope_id
  FROM {schema}.page p JOIN {schema}.checkpoint c USING (connector_id) JOIN {schema}.build b USING (build_id)
 WHERE p.page_id = %(page_id)s;

-- open_items --
SELECT ord, source_id, locator, path, version, attempts, alone FROM {schema}.page_item
 WHERE page_id = %(page_id)s AND kind = 'upsert' AND status IS NULL ORDER BY ord;

-- blame_one --
-- The worker died with one document in flight: that attempt counts, which it did before it was tried.
UPDATE {schema}.page SET in_flight = '{}' WHERE page_id = %(page_id)s;

-- blame_nobody --
-- The worker died with several in flight: nobody knows which one it was. None is blamed; each is tried by itself.
WITH cleared AS (UPDATE {schema}.page SET in_flight = '{}' WHERE page_id = %(page_id)s)
UPDATE {schema}.page_item SET attempts = greatest(attempts - 1, 0), alone = true
 WHERE page_id = %(page_id)s AND ord = ANY (%(ords)s) AND status IS NULL;

-- start_items --
-- Counted before they are tried. The scope's head is read here, before the content is: a delete that comes between wins.
WITH flight AS (UPDATE {schema}.page SET in_flight = %(ords)s WHERE page_id = %(page_id)s),
counted AS (
  UPDATE {schema}.page_item SET attempts = attempts + 1 WHERE page_id = %(page_id)s AND ord = ANY (%(ords)s)
  RETURNING ord, source_id),
found AS MATERIALIZED (
  SELECT c.ord, s.source_pk
    FROM counted c
   CROSS JOIN LATERAL (
     SELECT source_pk FROM {schema}.source WHERE scope_id = %(scope_id)s AND source_id = c.source_id LIMIT 1) s),
-- Rows of sources are locked in the order of their keys, everywhere: a publication may be taking the same ones.
locked AS MATERIALIZED (
  SELECT source_pk FROM {schema}.source WHERE source_pk IN (SELECT source_pk FROM found) ORDER BY source_pk FOR NO KEY UPDATE)
UPDATE {schema}.source s SET read_seq = s.read_seq + 1
  FROM found f JOIN locked USING (source_pk), {schema}.scope sc
 WHERE s.source_pk = f.source_pk AND sc.scope_id = %(scope_id)s
RETURNING f.ord, s.source_pk, s.read_seq, sc.head_gen;

-- unstart_items --
WITH cleared AS (UPDATE {schema}.page SET in_flight = '{}' WHERE page_id = %(page_id)s)
UPDATE {schema}.page_item SET attempts = greatest(attempts - 1, 0)
 WHERE page_id = %(page_id)s AND ord = ANY (%(ords)s) AND status IS NULL;

-- stage_document --
WITH v AS (
  INSERT INTO {schema}.document_version (scope_id, source_pk, content_hash, source_seq, title, uri, metadata, locators, text)
  VALUES (%(scope_id)s, %(source_pk)s, %(content_hash)s, %(source_seq)s, %(title)s, %(uri)s, %(metadata)s, %(locators)s, %(text)s)
  RETURNING version_id, sensitivity),
r AS (
  INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, base_gen, n_chunks)
  SELECT %(scope_id)s, %(build_id)s, %(source_pk)s, version_id, %(source_seq)s, sensitivity, %(base_gen)s, %(n_chunks)s FROM v
  RETURNING rev_id),
c AS (
  INSERT INTO {schema}.cut (rev_id, starts, ends, sha256, metadata)
  SELECT rev_id, %(starts)s, %(ends)s, %(sha256)s, %(cut_metadata)s FROM r)
UPDATE {schema}.page_item SET rev_id = r.rev_id, status = %(status)s FROM r WHERE page_id = %(page_id)s AND ord = %(ord)s;

-- note_item --
UPDATE {schema}.page_item SET status = %(status)s, kind = %(kind)s WHERE page_id = %(page_id)s AND ord = %(ord)s;

-- land_items --
UPDATE {schema}.page SET in_flight = '{}' WHERE page_id = %(page_id)s;

-- staged_revisions --
SELECT i.rev_id, r.n_chunks FROM {schema}.page_item i JOIN {schema}.revision r USING (rev_id)
 WHERE i.page_id = %(page_id)s AND r.n_chunks > 0 ORDER BY i.ord;

-- insert_batch --
INSERT INTO {schema}.batch (page_id, batch_no, rev_ids, chunk_nos) VALUES (%(page_id)s, %(batch_no)s, %(rev_ids)s, %(chunk_nos)s)
ON CONFLICT DO NOTHING;

-- finish_preparing --
UPDATE {schema}.page SET state = 'prepared' WHERE page_id = %(page_id)s AND state = 'listed';

-- count_batches --
SELECT count(*) AS batches FROM {schema}.batch WHERE page_id = %(page_id)s;

-- batch --
SELECT embedded, reused, is_done, cardinality(rev_ids) AS chunks FROM {schema}.batch WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s;

-- missing_inputs --
-- The chunks of a batch that have no row yet: a repeat goes on where the last attempt committed. A revision that was
-- quarantined meanwhile is no longer attached to its item and is left out.
SELECT x.rev_id, x.chunk_no, r.version_id, r.sensitivity,
       k.starts[x.chunk_no] AS start_cp, k.ends[x.chunk_no] AS end_cp, k.sha256[x.chunk_no] AS sha256,
       k.metadata -> (x.chunk_no - 1) AS metadata
  FROM {schema}.batch b
 CROSS JOIN LATERAL unnest(b.rev_ids, b.chunk_nos) AS x (rev_id, chunk_no)
  JOIN {schema}.revision r ON r.rev_id = x.rev_id
  JOIN {schema}.cut k ON k.rev_id = x.rev_id
  JOIN {schema}.page_item i ON i.page_id = b.page_id AND i.rev_id = x.rev_id
  LEFT JOIN {schema}.chunk c ON c.slab = %(slab)s AND c.rev_id = x.rev_id AND c.chunk_no = x.chunk_no
 WHERE b.page_id = %(page_id)s AND b.batch_no = %(batch_no)s AND c.rev_id IS NULL;

-- texts --
SELECT version_id, text FROM {schema}.document_version WHERE version_id = ANY (%(version_ids)s);

-- reusable --
-- Vectors that were made before: same scope, same embedder (any chunker), same label, same exact input. Staged ones too.
SELECT DISTINCT ON (c.input_sha256) c.input_sha256 AS sha256, c.emb
  FROM {schema}.chunk c
  JOIN {schema}.revision r ON r.rev_id = c.rev_id AND r.scope_id = c.scope_id AND r.sensitivity = %(sensitivity)s
  JOIN {schema}.build b ON b.build_id = r.build_id
  JOIN {schema}.space s ON s.space_id = b.space_id AND s.embedder_identity = %(embedder_identity)s AND s.dimensions = %(dimensions)s
 WHERE c.input_sha256 = ANY (%(sha256)s) AND c.scope_id = %(scope_id)s;

-- copy_chunks --
COPY {schema}.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, metadata, body) FROM STDIN (FORMAT binary);

-- count_embedded --
UPDATE {schema}.batch SET embedded = embedded + %(embedded)s, reused = reused + %(reused)s WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s;

-- finish_batch --
UPDATE {schema}.batch SET is_done = true WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s RETURNING embedded, reused;

-- quarantine --
-- The document is set aside: its revision is no longer attached, so no batch goes on with it and the page publishes without it.
UPDATE {schema}.page_item
   SET rev_id = NULL, status = coalesce(status, '{}') || jsonb_build_object('state', 'quarantined', 'reason', %(reason)s::text, 'chunks', 0)
 WHERE page_id = %(page_id)s AND rev_id = %(rev_id)s;

-- progress --
SELECT count(*) FILTER (WHERE p.state = 'published') AS pages,
       coalesce(sum(p.listed), 0)::bigint AS listed,
       coalesce(sum(p.skipped), 0)::bigint AS skipped,
       coalesce(sum(x.items), 0)::bigint AS documents,
       coalesce(sum(x.read), 0)::bigint AS prepared,
       coalesce(sum(x.items) FILTER (WHERE p.state = 'published'), 0)::bigint AS published,
       coalesce(sum(y.chunks), 0)::bigint AS chunks,
       coalesce(sum(y.done), 0)::bigint AS embedded,
       coalesce(bool_or(p.is_last), false) AS is_listed,
       coalesce(bool_or(p.state = 'listed'), false) AS is_preparing,
       coalesce(bool_or(NOT y.is_done), false) AS is_embedding
  FROM {schema}.checkpoint c
  JOIN {schema}.page p ON p.connector_id = c.connector_id AND p.pass_no = c.pass_no
 CROSS JOIN LATERAL (SELECT count(*) AS items, count(*) FILTER (WHERE i.status IS NOT NULL OR i.kind <> 'upsert') AS read
                       FROM {schema}.page_item i WHERE i.page_id = p.page_id) x
 CROSS JOIN LATERAL (SELECT sum(cardinality(b.rev_ids)) AS chunks, sum(b.embedded + b.reused) AS done, bool_and(b.is_done) AS is_done
                       FROM {schema}.batch b WHERE b.page_id = p.page_id) y
 WHERE c.connector_id = %(connector_id)s;
