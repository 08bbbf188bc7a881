-- Re-pointing: what a source holds goes on under another id. Two rows of `source` exchange their ids and keep their content;
-- grants stay with the id. No text, vector, span or chunk is touched, and readers see the row before or after, never between.

-- plan_once --
-- Each statement keeps one plan, which may be made while the tables are still empty and must stay right when they have grown.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);

-- lock_scope --
SELECT scope_id FROM {schema}.scope WHERE scope_id = %(scope_id)s FOR NO KEY UPDATE;

-- next_ids --
-- The next sources of a prefix, in byte order: those that hold something, and those whose edges are still being rewritten.
-- Where nothing is but grants, or a first reading that has not ended, nothing is moved: such rows are also what moves leave.
(SELECT s.source_id
   FROM {schema}.source s
  WHERE s.scope_id = %(scope_id)s AND s.source_id >= %(first)s AND s.source_id < %(beyond)s AND s.source_id > %(after)s
    AND ((SELECT true FROM {schema}.span x
           WHERE x.source_pk = s.source_pk AND x.gen_from > s.fence_gen
             AND x.gen_to > (SELECT min_gen FROM {schema}.scope WHERE scope_id = %(scope_id)s) LIMIT 1)
      OR (SELECT true FROM {schema}.ingestion i WHERE i.source_pk = s.source_pk AND i.state <> 'pending'))
  ORDER BY s.source_id LIMIT %(limit)s)
UNION
(SELECT f.from_id
   FROM {schema}.forward f
  WHERE f.scope_id = %(scope_id)s AND f.from_id >= %(first)s AND f.from_id < %(beyond)s AND f.from_id > %(after)s
    AND NOT f.is_done AND f.to_id = %(to_prefix)s || substr(f.from_id, length(%(first)s) + 1)
  ORDER BY f.from_id LIMIT %(limit)s)
ORDER BY 1 LIMIT %(limit)s;

-- pairs --
-- What the store holds of each pair, whose ids are joined by a sign that no id has. An end without a row holds nothing.
-- `chunks` are those that readers see, or saw last. Most corpora have no tombstone, and no move that has not ended.
SELECT w.from_id, w.to_id, a.source_pk AS from_pk, b.source_pk AS to_pk,
       (SELECT k.name FROM {schema}.connector k WHERE k.connector_id = a.owner) AS owner,
       h.is_retained IS TRUE OR h.is_noted IS TRUE AS is_held, h.is_occupied IS TRUE AS is_occupied,
       (a.expiring <> '{}') IS TRUE OR (b.expiring <> '{}') IS TRUE AS is_expiring,
       CASE WHEN sc.has_tombstones THEN coalesce(
         (SELECT t.id FROM {schema}.tombstone t WHERE t.scope_id = sc.scope_id AND t.id = w.from_id),
         (SELECT t.id FROM {schema}.tombstone t WHERE t.scope_id = sc.scope_id AND t.id = w.to_id)) END AS tombstoned,
       sc.has_open_moves AND (
         SELECT NOT f.is_done FROM {schema}.forward f
         WHERE f.scope_id = sc.scope_id AND f.from_id = w.from_id AND f.to_id = w.to_id) IS TRUE AS is_under_way,
       CASE WHEN sc.has_open_moves THEN (
         SELECT f.from_id || ' to ' || f.to_id
         FROM {schema}.forward f
         WHERE f.scope_id = sc.scope_id AND NOT f.is_done AND (f.from_id, f.to_id) <> (w.from_id, w.to_id)
           AND (f.from_id IN (w.from_id, w.to_id) OR f.to_id IN (w.from_id, w.to_id))
         LIMIT 1) END AS entangled,
       coalesce(h.chunks, 0) AS chunks,
       (SELECT count(*)
          FROM (SELECT FROM {schema}.lineage l
                 WHERE l.scope_id = sc.scope_id AND l.parent_source = w.from_id LIMIT %(edges_max)s) e) AS edges
FROM unnest(string_to_array(%(from_ids)s, '|'), string_to_array(%(to_ids)s, '|')) WITH ORDINALITY AS w (from_id, to_id, ord)
CROSS JOIN (
  SELECT scope_id, live_build, live_gen, min_gen,
         EXISTS (SELECT FROM {schema}.tombstone WHERE scope_id = %(scope_id)s) AS has_tombstones,
         EXISTS (SELECT FROM {schema}.forward WHERE scope_id = %(scope_id)s AND NOT is_done) AS has_open_moves
  FROM {schema}.scope WHERE scope_id = %(scope_id)s OFFSET 0) sc
LEFT JOIN LATERAL (
  SELECT * FROM {schema}.source x WHERE x.scope_id = sc.scope_id AND x.source_id = w.from_id LIMIT 1) a ON true
LEFT JOIN LATERAL (
  SELECT * FROM {schema}.source x WHERE x.scope_id = sc.scope_id AND x.source_id = w.to_id LIMIT 1) b ON true
CROSS JOIN LATERAL (
  SELECT (SELECT true FROM {schema}.span x
           WHERE x.source_pk = a.source_pk AND x.gen_from > a.fence_gen AND x.gen_to > sc.min_gen LIMIT 1) AS is_retained,
         (SELECT true FROM {schema}.ingestion i WHERE i.source_pk = a.source_pk AND i.state <> 'pending') AS is_noted,
         (SELECT true FROM {schema}.span x
           WHERE x.source_pk = b.source_pk AND x.gen_from > b.fence_gen AND x.gen_to > sc.min_gen LIMIT 1) AS is_occupied,
         (SELECT r.n_chunks
            FROM (SELECT * FROM {schema}.span WHERE source_pk = a.source_pk OFFSET 0) x
            JOIN {schema}.revision r USING (rev_id)
           WHERE x.build_id = sc.live_build AND x.gen_from > a.fence_gen AND x.gen_to > sc.min_gen
           ORDER BY x.gen_from <= sc.live_gen AND x.gen_to > sc.live_gen DESC, x.gen_from DESC LIMIT 1) AS chunks) h
ORDER BY w.ord;

-- lock_sources --
-- FOR UPDATE, which an id needs to change, and in the one order: a text that is being staged holds shares of these rows.
SELECT FROM {schema}.source WHERE source_pk = ANY (%(source_pks)s::bigint[]) ORDER BY source_pk FOR UPDATE;

-- step_aside --
-- An id cannot be in two rows even for a moment: the destinations wait under names that no id can have.
UPDATE {schema}.source SET source_id = '|moving|' || source_pk WHERE source_pk = ANY (%(to_pks)s::bigint[]);

-- exchange --
-- The content takes the destination's id and who may read that; the destination's row takes the origin's.
-- Each row of `left_over` is there only when its content has gone, so that its id is free. A reading of either that was counted before comes before
-- any that is counted later, whichever row it finds.
WITH pair AS MATERIALIZED (
  SELECT w.from_id, w.to_id, w.from_pk, w.to_pk, a.grants, a.expiring, a.access_version, b.grants AS new_grants,
         b.expiring AS new_expiring, b.access_version AS new_version, greatest(a.read_seq, b.read_seq) AS read_seq
  FROM unnest(string_to_array(%(from_ids)s, '|'), string_to_array(%(to_ids)s, '|'), %(from_pks)s::bigint[],
              %(to_pks)s::bigint[]) AS w (from_id, to_id, from_pk, to_pk)
  CROSS JOIN LATERAL (SELECT * FROM {schema}.source x WHERE x.source_pk = w.from_pk LIMIT 1) a
  CROSS JOIN LATERAL (SELECT * FROM {schema}.source x WHERE x.source_pk = w.to_pk LIMIT 1) b),
left_over AS (
  UPDATE {schema}.source s
  SET source_id = p.to_id, grants = p.new_grants, expiring = p.new_expiring, access_version = p.new_version,
      read_seq = p.read_seq
  FROM pair p WHERE s.source_pk = p.from_pk
  RETURNING p.*)
UPDATE {schema}.source s
SET source_id = v.from_id, grants = v.grants, expiring = v.expiring, access_version = v.access_version, read_seq = v.read_seq
FROM left_over v WHERE s.source_pk = v.to_pk;

-- exchange_expiring --
-- Sorted, so that all are gone before the first comes back: both ends may have granted the same one.
WITH pair AS MATERIALIZED (
  SELECT a.source_pk AS from_pk, b.source_pk AS to_pk
  FROM unnest(string_to_array(%(from_ids)s, '|'), string_to_array(%(to_ids)s, '|')) AS w (from_id, to_id)
  CROSS JOIN LATERAL (
    SELECT source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = w.from_id LIMIT 1) a
  CROSS JOIN LATERAL (
    SELECT source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = w.to_id LIMIT 1) b),
gone AS (
  DELETE FROM {schema}.expiring_grant e
  USING (SELECT from_pk AS old_pk, to_pk AS new_pk FROM pair UNION ALL SELECT to_pk, from_pk FROM pair) x
  WHERE e.source_pk = x.old_pk
  RETURNING x.new_pk, e.grantee_id, e.expires_at)
INSERT INTO {schema}.expiring_grant (source_pk, grantee_id, expires_at)
SELECT new_pk, grantee_id, expires_at FROM gone ORDER BY new_pk, grantee_id;

-- drop_status --
-- The status of a destination that held nothing says nothing about the id that its row goes by now.
DELETE FROM {schema}.ingestion WHERE source_pk = ANY (%(to_pks)s::bigint[]);

-- rewrite_edges --
-- The next edges that name an origin or a chunk of it, in byte order of the source that was derived, after the place where
-- the last page ended. Those before it come last: a source may have been renamed, or the cursor altered, meanwhile. A parent
-- that is named by its new id already keeps the earlier of the two places.
WITH named AS MATERIALIZED (
  SELECT x.*, row_number() OVER () AS position,
         (SELECT true FROM {schema}.lineage t WHERE t.version_id = x.version_id AND t.parent_id = x.new_id) IS TRUE AS is_double
  FROM (
    SELECT w.from_id, s.source_id, l.version_id, l.ord, l.parent_id,
           w.to_id || substr(l.parent_id, length(w.from_id) + 1) AS new_id
    FROM unnest(string_to_array(%(from_ids)s, '|'), string_to_array(%(to_ids)s, '|')) AS w (from_id, to_id)
    CROSS JOIN LATERAL (
      SELECT * FROM {schema}.lineage x WHERE x.scope_id = %(scope_id)s AND x.parent_source = w.from_id OFFSET 0) l
    CROSS JOIN LATERAL (SELECT source_pk FROM {schema}.document_version x WHERE x.version_id = l.version_id LIMIT 1) v
    CROSS JOIN LATERAL (SELECT source_id FROM {schema}.source x WHERE x.source_pk = v.source_pk LIMIT 1) s
    ORDER BY (s.source_id, l.version_id, l.ord) <= (%(source_id)s, %(version_id)s::bigint, %(ord)s::smallint),
             w.from_id COLLATE "C", s.source_id, l.version_id, l.ord
    LIMIT %(limit)s) x),
moved_up AS (
  UPDATE {schema}.lineage t SET ord = n.ord
  FROM named n WHERE n.is_double AND t.version_id = n.version_id AND t.parent_id = n.new_id AND t.ord > n.ord),
folded AS (
  DELETE FROM {schema}.lineage l USING named n
  WHERE n.is_double AND l.version_id = n.version_id AND l.parent_id = n.parent_id),
renamed AS (
  UPDATE {schema}.lineage l SET parent_id = n.new_id
  FROM named n WHERE NOT n.is_double AND l.version_id = n.version_id AND l.parent_id = n.parent_id)
SELECT n.from_id, count(*) AS edges,
       (SELECT l.source_id || '#' || l.version_id || '#' || l.ord FROM named l ORDER BY l.position DESC LIMIT 1) AS last
FROM named n GROUP BY n.from_id;

-- note_moves --
-- Each pair is remembered, with what all its pages did. Once no edge names the origin any more its move is over, and audited.
WITH noted AS (
  INSERT INTO {schema}.forward AS f (scope_id, from_id, to_id, is_done, chunks, edges)
  SELECT %(scope_id)s, w.from_id, w.to_id,
         (SELECT true FROM {schema}.lineage l WHERE l.scope_id = %(scope_id)s AND l.parent_source = w.from_id LIMIT 1) IS NULL,
         w.chunks, w.edges
  FROM unnest(string_to_array(%(from_ids)s, '|'), string_to_array(%(to_ids)s, '|'), %(chunks)s::int[], %(edges)s::int[])
    AS w (from_id, to_id, chunks, edges)
  ON CONFLICT (scope_id, from_id, to_id) DO UPDATE
  SET is_done = excluded.is_done, at = clock_timestamp(),
      chunks = excluded.chunks + CASE WHEN f.is_done THEN 0 ELSE f.chunks END,
      edges = excluded.edges + CASE WHEN f.is_done THEN 0 ELSE f.edges END
  RETURNING from_id, to_id, is_done, chunks, edges),
audited AS (
  INSERT INTO {schema}.audit (scope_id, actor, action, detail)
  SELECT %(scope_id)s, %(actor)s, %(action)s,
         %(detail)s::jsonb || jsonb_build_object('from', from_id, 'to', to_id, 'moved_chunks', chunks, 'rewritten_edges', edges)
  FROM noted WHERE is_done)
SELECT from_id FROM noted WHERE NOT is_done;

-- audit_failures --
INSERT INTO {schema}.audit (scope_id, actor, action, detail)
SELECT %(scope_id)s, %(actor)s, %(action)s, x.detail FROM jsonb_array_elements(%(details)s) AS x (detail);

-- note_failure --
-- The request knows its corpus, also where that has no index.
INSERT INTO {schema}.audit (scope_id, actor, action, detail)
SELECT r.scope_id, %(actor)s, %(action)s, %(detail)s FROM {schema}.request r WHERE r.request_no = %(request_no)s;

-- follow_moves --
-- A text that is about to be published may name what it rests on by an id which that has left meanwhile. It rests on what
-- goes by the new id now, and names both: whoever follows either finds it. Where something new is under the old id since, that
-- is what it names, unless its page was made before the move. Moves are followed to the last, through each id once (UNION), as they may lead back. Asked under the scope's
-- lock: an edge that was staged while a move was under way may have been missed.
INSERT INTO {schema}.lineage (scope_id, version_id, ord, parent_id)
SELECT p.scope_id, l.version_id, l.ord, m.id || substr(l.parent_id, length(l.parent_source) + 1)
FROM (
  SELECT p.page_id, p.at, b.scope_id FROM {schema}.page p JOIN {schema}.build b USING (build_id)
  WHERE p.page_id = %(page_id)s AND EXISTS (SELECT FROM {schema}.forward f WHERE f.scope_id = b.scope_id)) p
JOIN {schema}.page_item i ON i.page_id = p.page_id
CROSS JOIN LATERAL (SELECT r.version_id FROM {schema}.revision r WHERE r.rev_id = i.rev_id AND r.is_derived LIMIT 1) r
CROSS JOIN LATERAL (SELECT * FROM {schema}.lineage x WHERE x.version_id = r.version_id OFFSET 0) l
CROSS JOIN LATERAL (
  WITH RECURSIVE moved AS (
    SELECT l.parent_source AS id
    UNION
    SELECT f.to_id
    FROM moved m
    CROSS JOIN LATERAL (
      SELECT x.to_id, x.at FROM {schema}.forward x WHERE x.scope_id = p.scope_id AND x.from_id = m.id OFFSET 0) f
    WHERE f.at > p.at OR NOT EXISTS (
      SELECT FROM {schema}.source s JOIN {schema}.span x USING (source_pk)
      WHERE s.scope_id = p.scope_id AND s.source_id = m.id AND x.gen_to = 9223372036854775807 AND x.gen_from > s.fence_gen))
  SELECT id FROM moved WHERE id <> l.parent_source) m
ON CONFLICT DO NOTHING;
