-- Embedding: the chunks of a batch that have no row yet, and the rows that give them their vectors.

-- missing_inputs --
-- The chunks of a batch that have no row yet: a repeat goes on where the last attempt committed. A revision that was
-- quarantined meanwhile is no longer attached to its item and is left out. One row for each revision, because each look
-- at its arrays unpacks all of them.
SELECT m.rev_id, m.chunk_nos, r.version_id, r.sensitivity, k.starts, k.ends, k.sha256, k.metadata
  FROM (SELECT x.rev_id, array_agg(x.chunk_no ORDER BY x.chunk_no) AS chunk_nos
          FROM {schema}.batch b
         CROSS JOIN LATERAL unnest(b.rev_ids, b.chunk_nos) AS x (rev_id, chunk_no)
          LEFT JOIN {schema}.chunk c ON c.slab = %(slab)s AND c.rev_id = x.rev_id AND c.chunk_no = x.chunk_no
         WHERE b.page_id = %(page_id)s AND b.batch_no = %(batch_no)s AND c.rev_id IS NULL
         GROUP BY x.rev_id) m
  JOIN {schema}.revision r ON r.rev_id = m.rev_id
  JOIN {schema}.cut k ON k.rev_id = m.rev_id
 WHERE EXISTS (SELECT FROM {schema}.page_item i WHERE i.page_id = %(page_id)s AND i.rev_id = m.rev_id)
 ORDER BY m.rev_id;

-- texts --
SELECT version_id, text FROM {schema}.document_version WHERE version_id = ANY (%(version_ids)s);

-- reusable --
-- Vectors that were made before: same scope, same embedder (any chunker), same label, same exact input. Staged ones too.
-- OFFSET 0: each input is looked up by its hash. As a plain join the planner, which does not know how rare equal inputs
-- are, begins with every revision of the scope, and reads all its chunks for each batch.
SELECT u.sha256, v.emb
  FROM unnest(%(sha256)s::bytea[]) AS u (sha256)
 CROSS JOIN LATERAL (
   SELECT c.emb
     FROM (SELECT rev_id, emb FROM {schema}.chunk WHERE input_sha256 = u.sha256 AND scope_id = %(scope_id)s OFFSET 0) c
     JOIN {schema}.revision r ON r.rev_id = c.rev_id AND r.sensitivity = %(sensitivity)s
     JOIN {schema}.build b ON b.build_id = r.build_id
     JOIN {schema}.space s ON s.space_id = b.space_id AND s.embedder_identity = %(embedder_identity)s
      AND s.dimensions = %(dimensions)s
    LIMIT 1) v;

-- copy_chunks --
COPY {schema}.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, metadata, body, tsv, bm, tiers) FROM STDIN (FORMAT binary);

-- begin_attempt --
-- One that was under way and did not end its attempt was killed, or is taken for dead.
UPDATE {schema}.batch SET is_tried = true, is_careful = is_careful OR is_tried
 WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s RETURNING is_careful;

-- end_attempt --
UPDATE {schema}.batch SET is_tried = false WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s;

-- suspect --
UPDATE {schema}.batch
   SET tries = CASE WHEN suspect_rev = %(rev_id)s AND suspect_no = %(chunk_no)s THEN tries + 1 ELSE 1 END,
       suspect_rev = %(rev_id)s, suspect_no = %(chunk_no)s
 WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s RETURNING tries;

-- excuse --
UPDATE {schema}.batch SET tries = greatest(tries - 1, 0) WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s;

-- count_embedded --
UPDATE {schema}.batch SET embedded = embedded + %(embedded)s, reused = reused + %(reused)s WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s;

-- finish_batch --
UPDATE {schema}.batch SET is_done = true WHERE page_id = %(page_id)s AND batch_no = %(batch_no)s RETURNING embedded, reused;

-- quarantine --
-- The document is set aside: its revision is no longer attached, so no batch goes on with it and the page publishes without it.
UPDATE {schema}.page_item
   SET rev_id = NULL, status = coalesce(status, '{}') || jsonb_build_object('state', 'quarantined', 'reason', %(reason)s::text, 'chunks', 0)
 WHERE page_id = %(page_id)s AND rev_id = %(rev_id)s;
