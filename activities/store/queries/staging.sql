-- Staging: documents read and cut, chunks embedded; all of it invisible until its page is published.

-- page --
SELECT p.page_id, p.kind, p.connector_id, p.build_id, p.state, p.in_flight, c.fence, b.slab, b.scope_id
  FROM {schema}.page p LEFT JOIN {schema}.checkpoint c USING (connector_id) JOIN {schema}.build b USING (build_id)
 WHERE p.page_id = %(page_id)s;

-- open_items --
SELECT ord, source_id, locator, path, version, attempts, alone, label, faults FROM {schema}.page_item
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

-- count_faults --
-- They ended no worker: the start is taken back, and counted as a failure of their origin.
UPDATE {schema}.page_item SET attempts = greatest(attempts - 1, 0), faults = faults + 1
 WHERE page_id = %(page_id)s AND ord = ANY (%(ords)s) AND status IS NULL;

-- stage_document --
-- The first attempt that lands counts. One that was taken for dead, and was only slow, then changes nothing.
WITH mine AS (
  SELECT ord FROM {schema}.page_item WHERE page_id = %(page_id)s AND ord = %(ord)s AND status IS NULL FOR UPDATE),
v AS (
  INSERT INTO {schema}.document_version (scope_id, source_pk, content_hash, source_seq, sensitivity, title, uri, metadata, locators,
                                         is_markdown, headings, text)
  SELECT %(scope_id)s, %(source_pk)s, %(content_hash)s, %(source_seq)s, %(sensitivity)s, %(title)s, %(uri)s, %(metadata)s, %(locators)s,
         %(is_markdown)s, %(headings)s, %(text)s FROM mine
  RETURNING version_id, sensitivity),
l AS (
  INSERT INTO {schema}.lineage (scope_id, version_id, ord, parent_id)
  SELECT %(scope_id)s, v.version_id, u.ord, u.parent_id FROM v, unnest(%(lineage)s::text[]) WITH ORDINALITY AS u (parent_id, ord)),
r AS (
  INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, n_chunks)
  SELECT %(scope_id)s, %(build_id)s, %(source_pk)s, version_id, %(source_seq)s, sensitivity, cardinality(%(lineage)s::text[]) > 0,
         %(base_gen)s, %(n_chunks)s FROM v
  RETURNING rev_id),
c AS (
  INSERT INTO {schema}.cut (rev_id, starts, ends, sha256, metadata)
  SELECT rev_id, %(starts)s, %(ends)s, %(sha256)s, %(cut_metadata)s FROM r)
UPDATE {schema}.page_item SET rev_id = r.rev_id, status = %(status)s FROM r WHERE page_id = %(page_id)s AND ord = %(ord)s;

-- note_item --
UPDATE {schema}.page_item SET status = %(status)s, kind = %(kind)s WHERE page_id = %(page_id)s AND ord = %(ord)s AND status IS NULL;

-- land_items --
UPDATE {schema}.page SET in_flight = '{}' WHERE page_id = %(page_id)s;

-- staged_revisions --
-- A scalar sub-select: a join whose plan was kept from when the table was small reads all revisions.
SELECT i.rev_id, (SELECT r.n_chunks FROM {schema}.revision r WHERE r.rev_id = i.rev_id) AS n_chunks
  FROM {schema}.page_item i WHERE i.page_id = %(page_id)s AND i.rev_id IS NOT NULL ORDER BY i.ord;

-- insert_batch --
INSERT INTO {schema}.batch (page_id, batch_no, rev_ids, chunk_nos) VALUES (%(page_id)s, %(batch_no)s, %(rev_ids)s, %(chunk_nos)s)
ON CONFLICT DO NOTHING;

-- finish_preparing --
UPDATE {schema}.page SET state = 'prepared' WHERE page_id = %(page_id)s AND state = 'listed';

-- count_batches --
SELECT count(*) AS batches FROM {schema}.batch WHERE page_id = %(page_id)s;
