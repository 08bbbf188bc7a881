-- Listing: what a connector shows against what the store holds, and the pages cut from it.

-- find_page --
SELECT page_id, is_last, listed, skipped, known_failed,
       (SELECT count(*) FROM {schema}.page_item i WHERE i.page_id = p.page_id) AS items
  FROM {schema}.page p WHERE connector_id = %(connector_id)s AND pass_no = %(pass_no)s AND seq = %(seq)s;

-- listing_position --
-- Where the page after `seq - 1` begins: that page's cursor, or the checkpoint's for the first.
SELECT c.fence, c.owner, coalesce(p.cursor_out, c.cursor) AS cursor, coalesce(p.is_complete, false) AS is_complete, p.sweep_after,
       coalesce(p.is_whole, true) AS is_whole
  FROM {schema}.checkpoint c
  LEFT JOIN {schema}.page p ON p.connector_id = c.connector_id AND p.pass_no = %(pass_no)s AND p.seq = %(seq)s - 1
 WHERE c.connector_id = %(connector_id)s AND c.pass_no = %(pass_no)s;

-- under_way --
-- Pages are published one after the other, and one is listed while the one before is staged: that one alone may be unpublished.
SELECT i.source_id FROM {schema}.page p JOIN {schema}.page_item i USING (page_id)
 WHERE p.connector_id = %(connector_id)s AND p.pass_no = %(pass_no)s AND p.seq = %(seq)s - 1 AND p.state <> 'published'
   AND i.source_id = ANY (%(source_ids)s)
 LIMIT 1;

-- known_sources --
-- What is held for each listed id: how it was last read, whether readers see it at the live pointer (while that is pinned: whether
-- the build shows it), and whether it must not be served.
-- LATERAL with LIMIT 1, and OFFSET 0: a plan that was kept from when the tables were small would otherwise read every source
-- of the scope, every membership of the connector and every span of the build, for each hundred of documents.
SELECT s.source_id, s.source_pk, i.state, i.source_version, i.raw_sha256, i.parser, i.label, i.read_as, i.reason, i.freshness,
       coalesce(m.rule_version, 0) AS rule_version, m.access, m.rule_version IS NOT NULL AS is_member,
       o.connector_id IS NOT NULL AS is_named_elsewhere, v.content_hash, v.seen_seq, t.reason AS tombstone,
       t.source_version AS tombstone_version
  FROM unnest(%(source_ids)s::text[]) AS u (id)
 CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE scope_id = %(scope_id)s AND source_id = u.id LIMIT 1) s
  LEFT JOIN LATERAL (
    SELECT rule_version, access FROM {schema}.membership WHERE connector_id = %(connector_id)s AND source_pk = s.source_pk
     LIMIT 1) m ON true
  LEFT JOIN LATERAL (
    SELECT connector_id FROM {schema}.membership
     WHERE connector_id = s.owner AND source_pk = s.source_pk AND s.owner <> %(connector_id)s LIMIT 1) o ON true
  LEFT JOIN LATERAL (SELECT * FROM {schema}.ingestion WHERE source_pk = s.source_pk LIMIT 1) i ON true
  LEFT JOIN LATERAL (
    SELECT d.content_hash, sp.source_seq AS seen_seq
      FROM (SELECT * FROM {schema}.span WHERE source_pk = s.source_pk OFFSET 0) sp
      JOIN (SELECT live_build, CASE WHEN pinned THEN head_gen ELSE live_gen END AS gen
              FROM {schema}.scope WHERE scope_id = %(scope_id)s) sc
        ON sp.build_id = sc.live_build AND sp.gen_from <= sc.gen AND sp.gen_to > sc.gen AND sp.gen_from > s.fence_gen
      JOIN {schema}.document_version d ON d.version_id = sp.version_id
     LIMIT 1) v ON true
  LEFT JOIN LATERAL (
    SELECT * FROM {schema}.tombstone WHERE scope_id = %(scope_id)s AND id = s.source_id AND reason <> 'corrected' LIMIT 1) t ON true
 WHERE m.rule_version IS NOT NULL OR s.owner IN (
   SELECT o.connector_id FROM {schema}.connector c JOIN {schema}.connector o USING (scope_id)
    WHERE c.connector_id = %(connector_id)s AND c.kind = 'drive' AND o.kind = 'drive');

-- share_scope --
-- Listings do not wait for each other, and neither they nor a publication for more than one of the other. A publication writes
-- memberships of others too, and what it decides of a file rests on who holds it: so nobody begins to meanwhile.
SELECT FROM {schema}.scope WHERE scope_id = %(scope_id)s FOR SHARE;

-- mark_seen --
UPDATE {schema}.membership SET pass_no = %(pass_no)s
 WHERE connector_id = %(connector_id)s AND source_pk = ANY (%(source_pks)s) AND pass_no <> %(pass_no)s;

-- ensure_sources --
INSERT INTO {schema}.source (scope_id, source_id)
SELECT %(scope_id)s, id FROM unnest(%(source_ids)s::text[]) AS u (id) ORDER BY id
ON CONFLICT DO NOTHING;

-- ensure_members --
-- A source whose text another connector or a host published belongs to that one: it gets no membership here. Drive connectors
-- of a corpus count as one owner.
WITH mine AS MATERIALIZED (
  SELECT s.source_pk
    FROM unnest(%(source_ids)s::text[]) AS u (id)
   CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE scope_id = %(scope_id)s AND source_id = u.id LIMIT 1) s
   WHERE s.owner = %(connector_id)s
      OR s.owner IN (
           SELECT o.connector_id FROM {schema}.connector c JOIN {schema}.connector o USING (scope_id)
            WHERE c.connector_id = %(connector_id)s AND c.kind = 'drive' AND o.kind = 'drive')
      OR s.owner IS NULL AND NOT EXISTS (
           SELECT FROM {schema}.span sp
            WHERE sp.source_pk = s.source_pk AND sp.gen_to = 9223372036854775807 AND sp.gen_from > s.fence_gen)),
pending AS (
  INSERT INTO {schema}.ingestion (source_pk, state) SELECT source_pk, 'pending' FROM mine ORDER BY source_pk ON CONFLICT DO NOTHING)
INSERT INTO {schema}.membership (connector_id, source_pk, pass_no)
SELECT %(connector_id)s, source_pk, %(pass_no)s FROM mine ORDER BY source_pk
ON CONFLICT (connector_id, source_pk) DO UPDATE SET pass_no = excluded.pass_no;

-- is_listing_whole --
SELECT NOT EXISTS (SELECT FROM {schema}.page WHERE connector_id = %(connector_id)s AND pass_no = %(pass_no)s AND unlisted <> '[]') AS whole;

-- unseen --
-- This connector's sources that the pass has not seen: gone from the origin.
SELECT s.source_id FROM {schema}.membership m
 CROSS JOIN LATERAL (SELECT source_id FROM {schema}.source WHERE source_pk = m.source_pk LIMIT 1) s
 WHERE m.connector_id = %(connector_id)s AND m.pass_no < %(pass_no)s AND s.source_id > %(after)s
 ORDER BY s.source_id LIMIT %(limit)s;

-- insert_page --
INSERT INTO {schema}.page (connector_id, build_id, pass_no, seq, fence, rule_version, cursor_out, is_complete, sweep_after,
                           is_last, listed, skipped, known_failed, unlisted, is_whole, memory)
VALUES (%(connector_id)s, %(build_id)s, %(pass_no)s, %(seq)s, %(fence)s, %(rule_version)s, %(cursor_out)s, %(is_complete)s,
        %(sweep_after)s, %(is_last)s, %(listed)s, %(skipped)s, %(known_failed)s, %(unlisted)s,
        %(is_whole)s, %(memory)s)
ON CONFLICT (connector_id, pass_no, seq) DO NOTHING
RETURNING page_id;

-- insert_items --
INSERT INTO {schema}.page_item (page_id, ord, kind, source_id, locator, path, version, label, access, grants, faults)
SELECT %(page_id)s, x.ord, x.kind, x.source_id, x.locator, x.path, x.version, x.label, x.access, x.grants, x.faults
  FROM jsonb_to_recordset(%(items)s::jsonb)
    AS x (ord int, kind text, source_id text, locator text, path text, version text, label text, access text,
          grants jsonb, faults int);
