-- What hosts push: accepted as a page of its own, read out of staged content, forgotten when it is published.

-- insert_page --
INSERT INTO {schema}.page (kind, build_id, request_no, listed) VALUES ('ingest', %(build_id)s, %(request_no)s, %(listed)s)
ON CONFLICT (request_no) WHERE request_no IS NOT NULL DO NOTHING
RETURNING page_id;

-- page_of --
SELECT page_id FROM {schema}.page WHERE request_no = %(request_no)s;

-- use_contents --
-- A content that is named counts as closed now: whoever was about to collect it for its age, or with another page that named
-- it, waits for this transaction, and then sees that it must not.
WITH locked AS MATERIALIZED (
  SELECT content_id FROM {schema}.staged_content WHERE content_id = ANY (%(contents)s) AND scope_id = %(scope_id)s
   ORDER BY content_id FOR NO KEY UPDATE)
UPDATE {schema}.staged_content c SET closed_at = CASE WHEN c.closed_at IS NOT NULL THEN clock_timestamp() END
  FROM locked WHERE c.content_id = locked.content_id
RETURNING c.content_id, c.closed_at IS NOT NULL AS is_closed;

-- count_readings --
-- The request is the reading of its documents: one that is accepted later is newer, however late its content is looked at.
-- By the ids that were asked for: a row may have been given another one while it was waited for.
WITH found AS MATERIALIZED (
  SELECT u.id, s.source_pk
    FROM unnest(%(source_ids)s::text[]) AS u (id)
   CROSS JOIN LATERAL (SELECT source_pk FROM {schema}.source WHERE scope_id = %(scope_id)s AND source_id = u.id LIMIT 1) s),
locked AS MATERIALIZED (
  SELECT source_pk FROM {schema}.source WHERE source_pk IN (SELECT source_pk FROM found) ORDER BY source_pk FOR NO KEY UPDATE)
UPDATE {schema}.source s SET read_seq = s.read_seq + 1
  FROM found f JOIN locked USING (source_pk) WHERE s.source_pk = f.source_pk
RETURNING f.id, s.source_pk, s.read_seq;

-- head --
-- Asked when the sources are locked: a deletion of one of them is either done, and older, or waits, and is newer.
SELECT head_gen FROM {schema}.scope WHERE scope_id = %(scope_id)s;

-- insert_contents --
-- Inline text is staged too, so that there is one way to read what hosts push.
INSERT INTO {schema}.staged_content (content_id, scope_id, media_type, bytes, sha256, closed_at)
SELECT id, %(scope_id)s, media_type, octet_length(data), sha256(data), clock_timestamp()
  FROM unnest(%(contents)s::uuid[], %(media_types)s::text[], %(data)s::bytea[]) AS u (id, media_type, data);

-- insert_parts --
INSERT INTO {schema}.staged_part (content_id, part, data)
SELECT id, 1, data FROM unnest(%(contents)s::uuid[], %(data)s::bytea[]) AS u (id, data);

-- insert_items --
INSERT INTO {schema}.page_item (page_id, ord, kind, source_id, locator, version, grants, expected_revision)
SELECT %(page_id)s, x.ord, 'upsert', x.source_id, x.content_id, x.version, x.grants, x.expected_revision
  FROM jsonb_to_recordset(%(items)s::jsonb)
    AS x (ord int, source_id text, content_id text, version text, grants jsonb, expected_revision int);

-- insert_described --
INSERT INTO {schema}.ingest_item (page_id, ord, content_id, media_type, title, uri, metadata, sensitivity, lineage,
                                  content_hash, source_seq, base_gen, source_pk)
SELECT %(page_id)s, x.ord, x.content_id, x.media_type, x.title, x.uri, x.metadata, x.sensitivity, x.lineage,
       x.content_hash, x.source_seq, %(base_gen)s, x.source_pk
  FROM jsonb_to_recordset(%(items)s::jsonb)
    AS x (ord int, content_id uuid, media_type text, title text, uri text, metadata jsonb, sensitivity smallint,
          lineage text[], content_hash text, source_seq bigint, source_pk bigint);

-- described --
SELECT i.source_id, i.version, g.content_id, coalesce(g.media_type, c.media_type) AS media_type, c.bytes, g.title, g.uri, g.metadata,
       coalesce(g.sensitivity, 1) AS sensitivity, g.lineage, g.content_hash, g.source_seq
  FROM {schema}.ingest_item g
  JOIN {schema}.page_item i USING (page_id, ord)
  LEFT JOIN LATERAL (SELECT * FROM {schema}.staged_content WHERE content_id = g.content_id LIMIT 1) c ON true
 WHERE g.page_id = %(page_id)s;

-- content --
SELECT data FROM {schema}.staged_part WHERE content_id = %(content_id)s ORDER BY part;

-- known_sources --
-- How each source was read last, and what a publication would replace: of a pinned corpus the newest, else what readers see.
-- A tombstone on it counts as nothing seen: what is pushed then is published anew, or refused. LATERAL with LIMIT 1, and
-- OFFSET 0: as in listing.sql.
SELECT s.source_id, s.source_pk, i.state, i.source_version, i.raw_sha256, i.parser, 0 AS rule_version, v.content_hash, v.seen_seq
  FROM unnest(%(source_ids)s::text[]) AS u (id)
 CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE scope_id = %(scope_id)s AND source_id = u.id LIMIT 1) s
 CROSS JOIN {schema}.scope sc
  JOIN {schema}.build b ON b.build_id = sc.live_build
  LEFT JOIN LATERAL (SELECT * FROM {schema}.ingestion WHERE source_pk = s.source_pk LIMIT 1) i ON true
  LEFT JOIN LATERAL (
    SELECT d.content_hash, sp.source_seq AS seen_seq
      FROM (SELECT * FROM {schema}.span WHERE source_pk = s.source_pk OFFSET 0) sp
      JOIN {schema}.document_version d ON d.version_id = sp.version_id
     WHERE sp.build_id = sc.live_build AND sp.gen_from > s.fence_gen
       AND sp.gen_from <= CASE WHEN sc.live_gen < b.head_gen AND NOT sc.pinned THEN sc.live_gen ELSE sc.head_gen END
       AND sp.gen_to > CASE WHEN sc.live_gen < b.head_gen AND NOT sc.pinned THEN sc.live_gen ELSE sc.head_gen END
       AND NOT EXISTS (SELECT FROM {schema}.tombstone t WHERE t.scope_id = sc.scope_id AND t.id = s.source_id AND t.reason <> 'corrected')
     LIMIT 1) v ON true
 WHERE sc.scope_id = %(scope_id)s;

-- start_items --
-- Counted before they are tried, as in staging.sql; their place among all readings was given when they were accepted, and so
-- was their row: a deletion that came since then has fenced that one, whichever goes by the id by now.
WITH flight AS (UPDATE {schema}.page SET in_flight = %(ords)s WHERE page_id = %(page_id)s),
counted AS (
  UPDATE {schema}.page_item SET attempts = attempts + 1 WHERE page_id = %(page_id)s AND ord = ANY (%(ords)s)
  RETURNING ord)
SELECT c.ord, g.source_pk, g.source_seq AS read_seq, g.base_gen AS head_gen
  FROM counted c
  JOIN {schema}.ingest_item g ON g.page_id = %(page_id)s AND g.ord = c.ord;

-- lock_used --
-- Whoever names one of these contents in another page is waited for, and seen by the next statement.
SELECT c.content_id FROM {schema}.staged_content c
 WHERE c.content_id IN (SELECT g.content_id FROM {schema}.ingest_item g JOIN {schema}.page p USING (page_id)
                         WHERE g.page_id = %(page_id)s AND p.result IS NOT NULL)
 ORDER BY c.content_id FOR UPDATE OF c;

-- drop_described --
DELETE FROM {schema}.ingest_item g USING {schema}.page p
 WHERE g.page_id = %(page_id)s AND p.page_id = g.page_id AND p.result IS NOT NULL;

-- drop_contents --
DELETE FROM {schema}.staged_content c
 WHERE c.content_id = ANY (%(contents)s) AND NOT EXISTS (SELECT FROM {schema}.ingest_item g WHERE g.content_id = c.content_id);
