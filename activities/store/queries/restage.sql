-- A page that was staged for a build which readers do not see any more: its documents staged again for the one they see.

-- page --
SELECT p.page_id, p.state, p.build_id, b.scope_id, s.live_build
FROM {schema}.page p JOIN {schema}.build b USING (build_id) JOIN {schema}.scope s USING (scope_id)
WHERE p.page_id = %(page_id)s AND p.kind <> 'reindex';

-- staged_items --
-- The documents of the page that have a revision, and the version it is of.
SELECT i.ord, r.rev_id, r.version_id FROM {schema}.page_item i JOIN {schema}.revision r USING (rev_id)
WHERE i.page_id = %(page_id)s ORDER BY i.ord;

-- text --
-- As it was staged: such a text is younger than the columns that say how it is cut.
SELECT o.source_id, d.text, d.locators, coalesce(d.is_markdown, false) AS is_markdown, d.headings, %(rev_id)s::bigint AS rev_id
FROM {schema}.document_version d JOIN {schema}.source o USING (source_pk)
WHERE d.version_id = %(version_id)s;

-- lock_page --
-- Whoever comes second finds the page moved.
SELECT FROM {schema}.page WHERE page_id = %(page_id)s AND build_id = %(from_build)s AND state <> 'published' FOR UPDATE;

-- stage --
-- Sequence and base stay what they were when the document was read: a deletion since then beats it, a newer reading too.
WITH r AS (
  INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, n_chunks)
  SELECT scope_id, %(build_id)s, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, %(n_chunks)s
  FROM {schema}.revision WHERE rev_id = %(from_rev)s
  RETURNING rev_id),
c AS (
  INSERT INTO {schema}.cut (rev_id, starts, ends, sha256, metadata)
  SELECT rev_id, %(starts)s, %(ends)s, %(sha256)s, %(cut_metadata)s FROM r)
UPDATE {schema}.page_item i
SET rev_id = r.rev_id, status = i.status || jsonb_build_object('chunks', %(n_chunks)s::int)
FROM r WHERE i.page_id = %(page_id)s AND i.ord = %(ord)s;

-- note --
UPDATE {schema}.page_item SET rev_id = NULL, status = status || %(status)s WHERE page_id = %(page_id)s AND ord = %(ord)s;

-- forget_batches --
DELETE FROM {schema}.batch WHERE page_id = %(page_id)s;

-- drop_cuts --
DELETE FROM {schema}.cut WHERE rev_id = ANY (%(rev_ids)s);

-- move_page --
UPDATE {schema}.page SET build_id = %(build_id)s, state = 'listed' WHERE page_id = %(page_id)s;
