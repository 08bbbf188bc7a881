-- Filling a build beside the live one, from the stored texts: which it lacks, how they are cut, their chunks, their spans.

-- strays --
-- Spans of what readers do not see, or see in another version: the build would show it after the flip.
WITH b AS MATERIALIZED (
  SELECT g.build_id, g.scope_id, s.live_build, s.live_gen
  FROM {schema}.build g JOIN {schema}.scope s USING (scope_id) WHERE g.build_id = %(build_id)s),
spans AS MATERIALIZED (
  SELECT x.source_pk, x.version_id, NULL::bigint AS rev_id, NULL::bigint AS gen_from
  FROM b JOIN {schema}.span x ON x.build_id = b.live_build AND x.gen_from <= b.live_gen AND x.gen_to > b.live_gen
  UNION ALL
  SELECT x.source_pk, x.version_id, x.rev_id, x.gen_from
  FROM {schema}.span x WHERE x.build_id = %(build_id)s AND x.gen_to = 9223372036854775807)
SELECT min(rev_id), min(gen_from) FROM spans GROUP BY source_pk, version_id HAVING count(*) = 1 AND min(rev_id) IS NOT NULL
UNION ALL
SELECT x.rev_id, x.gen_from FROM {schema}.span x WHERE x.build_id = %(build_id)s AND x.gen_to < 9223372036854775807
UNION ALL
SELECT x.rev_id, x.gen_from
FROM b
JOIN {schema}.tombstone t ON t.scope_id = b.scope_id AND t.reason IN ('forgotten', 'revoked')
CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE scope_id = t.scope_id AND source_id = t.id LIMIT 1) o
CROSS JOIN LATERAL (
  SELECT * FROM {schema}.span WHERE build_id = %(build_id)s AND source_pk = o.source_pk AND gen_to = 9223372036854775807) x;

-- drop_strays --
-- One that was judged a stray before the lock and is none any more is only carried over again.
DELETE FROM {schema}.span g USING unnest(%(rev_ids)s::bigint[], %(gens)s::bigint[]) AS u (rev_id, gen_from)
WHERE g.rev_id = u.rev_id AND g.gen_from = u.gen_from AND g.build_id = %(build_id)s;

-- list_missing --
-- Pages of the versions that readers see and the build lacks: at most `page_size` of them in one, and about `page_chunks`
-- chunks. What is on a page already, or could not be carried over in this run, is left out.
WITH b AS MATERIALIZED (
  SELECT g.build_id, g.scope_id, s.live_build, s.live_gen
  FROM {schema}.build g JOIN {schema}.scope s USING (scope_id) WHERE g.build_id = %(build_id)s AND g.state = 'building'),
spans AS MATERIALIZED (
  SELECT x.source_pk, x.version_id, x.rev_id, x.gen_from
  FROM b JOIN {schema}.span x ON x.build_id = b.live_build AND x.gen_from <= b.live_gen AND x.gen_to > b.live_gen
  UNION ALL
  SELECT x.source_pk, x.version_id, NULL, NULL
  FROM {schema}.span x WHERE x.build_id = %(build_id)s AND x.gen_to = 9223372036854775807),
missing AS MATERIALIZED (
  SELECT o.source_id, l.version_id,
         (SELECT r.n_chunks FROM {schema}.revision r WHERE r.rev_id = l.rev_id) AS n_chunks
  FROM (SELECT source_pk, version_id, min(rev_id) AS rev_id, min(gen_from) AS gen_from
        FROM spans GROUP BY source_pk, version_id HAVING count(*) = 1 AND min(rev_id) IS NOT NULL) l
  CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE source_pk = l.source_pk LIMIT 1) o
  WHERE l.gen_from > o.fence_gen
    AND (SELECT true FROM (SELECT * FROM {schema}.page_item WHERE version_id = l.version_id OFFSET 0) i JOIN {schema}.page p USING (page_id)
         WHERE p.build_id = %(build_id)s LIMIT 1) IS NULL
    AND (SELECT true FROM {schema}.tombstone t
         WHERE t.scope_id = o.scope_id AND t.id = o.source_id AND t.reason IN ('forgotten', 'revoked') LIMIT 1) IS NULL),
placed AS (
  SELECT source_id, version_id,
         (row_number() OVER w - 1) / %(page_size)s + (sum(n_chunks) OVER w - n_chunks) / %(page_chunks)s AS place
  FROM missing WINDOW w AS (ORDER BY source_id)),
paged AS MATERIALIZED (
  SELECT source_id, version_id, dense_rank() OVER (ORDER BY place) AS nth,
         row_number() OVER (PARTITION BY place ORDER BY source_id) AS ord
  FROM placed),
made AS (
  INSERT INTO {schema}.page (kind, build_id, pass_no, seq)
  SELECT 'reindex', %(build_id)s, %(round)s, n.nth + (SELECT coalesce(max(seq), 0) FROM {schema}.page
                                                       WHERE build_id = %(build_id)s AND kind = 'reindex')
  FROM (SELECT DISTINCT nth FROM paged) n
  RETURNING page_id, seq),
numbered AS MATERIALIZED (SELECT array_agg(page_id ORDER BY seq) AS page_ids FROM made)
INSERT INTO {schema}.page_item (page_id, ord, kind, source_id, version_id)
SELECT (SELECT page_ids[p.nth] FROM numbered), p.ord, 'upsert', p.source_id, p.version_id FROM paged p;

-- unpublished --
-- The pages that are still to be published, whichever round listed them.
SELECT min(seq), max(seq), count(*) FROM {schema}.page WHERE build_id = %(build_id)s AND kind = 'reindex' AND state <> 'published';

-- page --
SELECT p.page_id, p.state, b.build_id, b.scope_id, b.slab, b.lexicon,
       b.space_id = l.space_id AND b.lexicon IS NOT DISTINCT FROM l.lexicon AND b.avgdl IS NOT DISTINCT FROM l.avgdl AS is_copy
FROM {schema}.page p
JOIN {schema}.build b USING (build_id)
JOIN {schema}.scope s USING (scope_id)
JOIN {schema}.build l ON l.build_id = s.live_build
WHERE p.build_id = %(build_id)s AND p.kind = 'reindex' AND p.seq = %(seq)s;

-- open_items --
SELECT ord, version_id FROM {schema}.page_item WHERE page_id = %(page_id)s AND status IS NULL ORDER BY ord;

-- text --
-- A stored text with what decides its cuts. Of one from before those were kept, the parser tells whether it is Markdown, and
-- the chunks that readers see tell the headings that were found in it. `rev_id` NULL: readers see it no more.
SELECT o.source_id, d.text, d.locators,
       coalesce(d.is_markdown, n.parser LIKE 'markdown/%%' OR n.parser LIKE 'html/%%', false) AS is_markdown,
       CASE WHEN d.is_markdown IS NULL AND n.parser LIKE 'html/%%' THEN coalesce((
         SELECT jsonb_agg(jsonb_build_array(c.start_cp, h.level, h.title) ORDER BY c.start_cp, h.level)
         FROM {schema}.chunk c
         CROSS JOIN LATERAL jsonb_array_elements_text(c.metadata -> 'heading') WITH ORDINALITY AS h (title, level)
         WHERE c.slab = v.slab AND c.rev_id = v.rev_id), '[]')
       ELSE d.headings END AS headings,
       v.rev_id
FROM {schema}.document_version d
JOIN {schema}.source o USING (source_pk)
LEFT JOIN {schema}.ingestion n USING (source_pk)
LEFT JOIN LATERAL (
  SELECT r.rev_id, l.slab
  FROM {schema}.scope s
  JOIN {schema}.build l ON l.build_id = s.live_build
  JOIN (SELECT * FROM {schema}.revision WHERE version_id = d.version_id OFFSET 0) r ON r.build_id = l.build_id
  JOIN {schema}.span x ON x.rev_id = r.rev_id AND x.gen_from <= s.live_gen AND x.gen_to > s.live_gen
  WHERE s.scope_id = d.scope_id AND x.gen_from > o.fence_gen
  LIMIT 1) v ON true
WHERE d.version_id = %(version_id)s;

-- stage --
-- The same version in the other build. The first attempt that lands counts.
WITH mine AS (
  SELECT version_id FROM {schema}.page_item WHERE page_id = %(page_id)s AND ord = %(ord)s AND status IS NULL FOR UPDATE),
r AS (
  INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, n_chunks)
  SELECT o.scope_id, %(build_id)s, o.source_pk, o.version_id, o.source_seq, o.sensitivity, o.is_derived, o.base_gen, %(n_chunks)s
  FROM mine JOIN {schema}.revision o ON o.rev_id = %(from_rev)s
  RETURNING rev_id),
c AS (
  INSERT INTO {schema}.cut (rev_id, starts, ends, sha256, metadata)
  SELECT rev_id, %(starts)s, %(ends)s, %(sha256)s, %(cut_metadata)s FROM r)
UPDATE {schema}.page_item SET rev_id = r.rev_id, status = %(status)s FROM r WHERE page_id = %(page_id)s AND ord = %(ord)s;

-- note --
UPDATE {schema}.page_item SET status = %(status)s WHERE page_id = %(page_id)s AND ord = %(ord)s AND status IS NULL;

-- copy_page --
-- Within one space nothing is cut or embedded again: the page's chunks are copied as they are. What readers see no more
-- is left out. OFFSET 0: by its version alone, of which there are few revisions; the planner also read all of the build.
WITH mine AS MATERIALIZED (
  SELECT ord, version_id FROM {schema}.page_item WHERE page_id = %(page_id)s AND status IS NULL ORDER BY ord FOR UPDATE),
old AS MATERIALIZED (
  SELECT m.ord, v.*
  FROM mine m
  JOIN {schema}.scope s ON s.scope_id = %(scope_id)s
  -- Of the same space still: readers may have been rolled back to a build of another one since this page was listed.
  JOIN {schema}.build l ON l.build_id = s.live_build
   AND (SELECT g.space_id = l.space_id AND g.lexicon IS NOT DISTINCT FROM l.lexicon AND g.avgdl IS NOT DISTINCT FROM l.avgdl
        FROM {schema}.build g WHERE g.build_id = %(build_id)s)
  CROSS JOIN LATERAL (
    SELECT r.*, l.slab
    FROM (SELECT * FROM {schema}.revision WHERE version_id = m.version_id OFFSET 0) r
    JOIN {schema}.span x ON x.rev_id = r.rev_id AND x.gen_from <= s.live_gen AND x.gen_to > s.live_gen
    WHERE r.build_id = l.build_id
    LIMIT 1) v),
new AS (
  INSERT INTO {schema}.revision (scope_id, build_id, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, n_chunks)
  SELECT scope_id, %(build_id)s, source_pk, version_id, source_seq, sensitivity, is_derived, base_gen, n_chunks FROM old
  RETURNING rev_id, version_id),
attached AS (
  UPDATE {schema}.page_item i
  SET rev_id = n.rev_id,
      status = CASE WHEN o.ord IS NULL THEN '{"state": "gone"}'::jsonb ELSE jsonb_build_object('state', 'indexed', 'chunks', o.n_chunks) END
  FROM mine m LEFT JOIN old o USING (ord) LEFT JOIN new n ON n.version_id = o.version_id
  WHERE i.page_id = %(page_id)s AND i.ord = m.ord)
INSERT INTO {schema}.chunk (slab, rev_id, chunk_no, scope_id, start_cp, end_cp, emb, input_sha256, metadata, body, tsv, bm, tiers)
SELECT %(slab)s, n.rev_id, c.chunk_no, c.scope_id, c.start_cp, c.end_cp, c.emb, c.input_sha256, c.metadata, c.body, c.tsv, c.bm, c.tiers
FROM new n JOIN old o USING (version_id) JOIN {schema}.chunk c ON c.slab = o.slab AND c.rev_id = o.rev_id;

-- finish_copy --
UPDATE {schema}.page SET state = 'prepared' WHERE page_id = %(page_id)s AND state = 'listed';

-- slab --
SELECT slab FROM {schema}.build WHERE build_id = %(build_id)s;

-- unfinished --
-- Staged revisions of the page that lack chunks. Read before the lock: chunks only ever come. The slab is written out.
SELECT r.rev_id, r.n_chunks, c.n
FROM {schema}.page_item i
JOIN {schema}.page p USING (page_id)
JOIN {schema}.revision r USING (rev_id)
CROSS JOIN LATERAL (SELECT count(*) AS n FROM {schema}.chunk c WHERE c.slab = %(slab)s AND c.rev_id = r.rev_id) c
WHERE i.page_id = %(page_id)s AND p.state <> 'published' AND c.n <> r.n_chunks
ORDER BY r.rev_id LIMIT 1;

-- published --
SELECT state, result FROM {schema}.page WHERE page_id = %(page_id)s;

-- buried --
-- What was forgotten or revoked since it was staged leaves nothing behind: its chunks were copied after those of the live build
-- were removed, or before.
SELECT r.rev_id
FROM {schema}.page_item i
JOIN {schema}.revision r USING (rev_id)
JOIN {schema}.source o ON o.source_pk = r.source_pk
WHERE i.page_id = %(page_id)s
  AND (SELECT true FROM {schema}.tombstone t
       WHERE t.scope_id = o.scope_id AND t.id = o.source_id AND t.reason IN ('forgotten', 'revoked') LIMIT 1);

-- drop_buried --
-- Their chunks are gone.
WITH cuts AS (DELETE FROM {schema}.cut WHERE rev_id = ANY (%(rev_ids)s)),
revisions AS (UPDATE {schema}.revision SET n_chunks = 0 WHERE rev_id = ANY (%(rev_ids)s))
UPDATE {schema}.page_item SET rev_id = NULL, status = '{"state": "gone"}'
WHERE page_id = %(page_id)s AND rev_id = ANY (%(rev_ids)s);

-- carried --
-- What of the page readers still see, and the build does not hold yet.
SELECT r.rev_id, r.source_pk, r.n_chunks
FROM {schema}.page_item i
JOIN {schema}.revision r USING (rev_id)
JOIN {schema}.source o ON o.source_pk = r.source_pk
JOIN {schema}.scope s ON s.scope_id = r.scope_id
WHERE i.page_id = %(page_id)s AND r.build_id = %(build_id)s
  AND EXISTS (SELECT FROM (SELECT * FROM {schema}.span WHERE source_pk = r.source_pk OFFSET 0) x
              WHERE x.build_id = s.live_build AND x.version_id = r.version_id
                AND x.gen_from <= s.live_gen AND x.gen_to > s.live_gen AND x.gen_from > o.fence_gen)
  AND NOT EXISTS (SELECT FROM (SELECT * FROM {schema}.span WHERE source_pk = r.source_pk OFFSET 0) x
                  WHERE x.build_id = %(build_id)s AND x.version_id = r.version_id AND x.gen_to = 9223372036854775807);

-- replace_spans --
DELETE FROM {schema}.span WHERE build_id = %(build_id)s AND source_pk = ANY (%(source_pks)s) AND gen_to = 9223372036854775807;

-- open_spans --
INSERT INTO {schema}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
SELECT rev_id, %(gen)s, build_id, source_pk, version_id, source_seq, sensitivity, is_derived
FROM {schema}.revision WHERE rev_id = ANY (%(rev_ids)s);

-- mark_failed --
UPDATE {schema}.page_item SET outcome = 'failed'
WHERE page_id = %(page_id)s AND rev_id IS NULL AND status ->> 'state' IN ('quarantined', 'too_large');

-- drop_cuts --
DELETE FROM {schema}.cut USING {schema}.page_item i WHERE i.page_id = %(page_id)s AND cut.rev_id = i.rev_id;

-- forget_items --
-- Of a published page only what could not be carried over is remembered.
DELETE FROM {schema}.page_item WHERE page_id = %(page_id)s AND outcome IS DISTINCT FROM 'failed';

-- forget_batches --
DELETE FROM {schema}.batch WHERE page_id = %(page_id)s;

-- finish_page --
UPDATE {schema}.page SET state = 'published', result = %(result)s WHERE page_id = %(page_id)s;
