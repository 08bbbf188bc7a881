-- plan_once --
-- Planning these statements took longer than carrying them out, under the scope's lock: each keeps one generic plan. It may
-- be made while the tables are still empty, and must stay right when they have grown: hence no plan that reads a table
-- whole, and sub-selects with LIMIT where a key has two columns (a join was planned on the scope alone: every page then
-- read every source of it; or on the page alone: all its documents for each of them).
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);

-- unfinished --
-- Staged revisions of the page that lack chunks. Read before the lock: chunks only ever come. Scalar sub-selects: as a join it
-- took three times as long.
SELECT w.rev_id, w.n_chunks, w.n
FROM (
  SELECT i.rev_id, (SELECT r.n_chunks FROM {schema}.revision r WHERE r.rev_id = i.rev_id) AS n_chunks,
         (SELECT count(*) FROM {schema}.chunk c
          WHERE c.slab = (SELECT b.slab FROM {schema}.page p JOIN {schema}.build b USING (build_id) WHERE p.page_id = %(page_id)s)
            AND c.rev_id = i.rev_id) AS n
  FROM {schema}.page_item i WHERE i.page_id = %(page_id)s AND i.rev_id IS NOT NULL) w
WHERE w.n <> w.n_chunks LIMIT 1;

-- lock_scope --
-- The one lock of a scope. Whoever waited here sees, in the next statement, all that the one before has done.
SELECT s.head_gen, s.live_build, s.live_gen, s.pinned, coalesce(s.held_until > clock_timestamp(), false) AS is_held
FROM {schema}.scope s
WHERE s.scope_id = (SELECT b.scope_id FROM {schema}.page p JOIN {schema}.build b USING (build_id) WHERE p.page_id = %(page_id)s)
FOR NO KEY UPDATE OF s;

-- page --
-- The page, and the fence of its connector's lease. The share lock makes a takeover wait until this publication is over.
SELECT p.build_id, p.connector_id, p.result, b.scope_id, sc.tenant_id, b.head_gen AS build_head,
       (SELECT k.fence FROM {schema}.checkpoint k WHERE k.connector_id = p.connector_id AND k.owner IS NOT NULL FOR SHARE) AS lease
FROM {schema}.page p JOIN {schema}.build b USING (build_id) JOIN {schema}.scope sc USING (scope_id)
WHERE p.page_id = %(page_id)s;

-- candidates --
-- Each document of the page, with what the store holds of it. `seen` is the revision that a publication would replace:
-- the open one, or, after a rollback, the one the pointer shows. Closed spans end at or before the scope's head.
-- Drive connectors of a corpus count as one owner: they may hold a file together.
SELECT i.ord, i.kind, i.source_id, i.rev_id, r.version_id, s.source_pk,
       coalesce(coalesce((
         SELECT g.source_pk FROM {schema}.ingest_item g WHERE g.page_id = i.page_id AND g.ord = i.ord), r.source_pk)
         <> s.source_pk, false) AS is_moved, s.owner, k.name AS owner_name,
       s.owner IS NULL AND (v.rev_id IS NOT NULL OR EXISTS (
         SELECT FROM {schema}.span x
         WHERE x.build_id = p.build_id AND x.source_pk = s.source_pk AND x.gen_to = 9223372036854775807
           AND x.gen_from > s.fence_gen)) AS is_hosts,
       s.fence_gen, r.base_gen, coalesce(r.source_seq, (i.status ->> 'seq')::bigint) AS source_seq, r.n_chunks AS chunks,
       v.source_seq AS seen_seq, (i.status ->> 'same_seq')::bigint AS same_seq,
       (SELECT d.revision FROM {schema}.document_version d WHERE d.version_id = v.version_id) AS seen_revision,
       (SELECT x.n_chunks FROM {schema}.revision x WHERE x.rev_id = v.rev_id) AS seen_chunks,
       coalesce((SELECT d.revision FROM {schema}.document_version d WHERE d.version_id = r.version_id), s.revision + 1) AS number,
       n.state AS known_state, i.kind <> 'upsert' OR i.status IS NOT NULL AS is_read,
       i.status ->> 'state' AS state, i.status ->> 'reason' AS reason, i.status ->> 'version' AS version,
       coalesce((i.status ->> 'unchanged')::boolean, false) AS is_unchanged, i.expected_revision,
       t.reason AS tombstone, t.gen AS tombstone_gen, t.source_seq AS tombstone_seq, t.source_version AS tombstone_version,
       CASE WHEN coalesce(r.is_derived, v.is_derived) THEN (
         SELECT jsonb_object_agg(l.parent_source, coalesce((
           SELECT x.reason FROM {schema}.tombstone x WHERE x.scope_id = p.scope_id AND x.id = l.parent_source), (
           SELECT 'forgotten' FROM {schema}.source x
           WHERE x.scope_id = p.scope_id AND x.source_id = l.parent_source AND x.renewed_gen > r.base_gen)))
         FROM {schema}.lineage l WHERE l.version_id = coalesce(r.version_id, v.version_id)) END AS parents,
       i.grants AS wanted, s.grants AS held, s.access_version,
       CASE WHEN s.expiring <> '{}' THEN (
         SELECT jsonb_object_agg(e.grantee_id, e.expires_at) FROM {schema}.expiring_grant e WHERE e.source_pk = s.source_pk) END AS ends,
       p.kind = 'drive' AND k.kind IS NOT DISTINCT FROM 'drive' AS is_shared,
       o.is_granted IS NOT NULL AS is_held_elsewhere, coalesce(o.is_granted, false) AS is_granted_elsewhere,
       i.access IS NOT NULL AS is_origins_word
FROM (
  SELECT p.page_id, p.connector_id, b.build_id, b.scope_id,
         coalesce((SELECT c.kind FROM {schema}.connector c WHERE c.connector_id = p.connector_id), '') AS kind,
         CASE WHEN sc.live_gen < b.head_gen AND NOT sc.pinned THEN sc.live_gen ELSE sc.head_gen END AS gen
  FROM {schema}.page p JOIN {schema}.build b USING (build_id) JOIN {schema}.scope sc USING (scope_id)
  WHERE p.page_id = %(page_id)s) p
JOIN {schema}.page_item i USING (page_id)
LEFT JOIN LATERAL (
  SELECT * FROM {schema}.source x WHERE x.scope_id = p.scope_id AND x.source_id = i.source_id LIMIT 1) s ON true
LEFT JOIN {schema}.connector k ON k.connector_id = s.owner
LEFT JOIN LATERAL (
  SELECT bool_or(m.access <> '') IS TRUE AS is_granted FROM {schema}.membership m
  WHERE p.kind = 'drive' AND m.source_pk = s.source_pk AND m.connector_id <> p.connector_id HAVING count(*) > 0) o ON true
LEFT JOIN {schema}.revision r ON r.rev_id = i.rev_id
LEFT JOIN {schema}.ingestion n ON n.source_pk = s.source_pk
LEFT JOIN LATERAL (
  SELECT * FROM {schema}.tombstone x WHERE x.scope_id = p.scope_id AND x.id = i.source_id LIMIT 1) t ON true
LEFT JOIN LATERAL (
  SELECT x.source_seq, x.rev_id, x.version_id, x.is_derived FROM {schema}.span x
  WHERE x.build_id = p.build_id AND x.source_pk = s.source_pk AND x.gen_from > s.fence_gen
    AND x.gen_from <= p.gen AND x.gen_to > p.gen
  ORDER BY x.source_seq DESC LIMIT 1) v ON true
ORDER BY i.ord;

-- lock_sources --
-- All rows of sources that this page changes, in one order: a sync that counts a reading of several of them locks them
-- in the same, without the scope's lock. Seen to deadlock without this.
SELECT FROM {schema}.source WHERE source_pk = ANY (%(source_pks)s) ORDER BY source_pk FOR NO KEY UPDATE;

-- lock_with_hidden --
-- The same with all that is hidden along with them, by id.
SELECT FROM {schema}.source
WHERE source_pk = ANY (%(source_pks)s::bigint[] || ARRAY(
  SELECT s.source_pk FROM unnest(%(source_ids)s::text[]) AS u (id)
  CROSS JOIN LATERAL (
    SELECT x.source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) s))
ORDER BY source_pk FOR NO KEY UPDATE;

-- show_revisions --
-- The old spans end and the new ones begin, in this order, for the index that allows one open span a source. Public numbers are
-- given here, under the lock, so that a refused revision leaves no gap. Without a connector a source is a host's: nobody owns it.
-- Versions are found by their keys alone: of `IS NULL` an index knows all that anybody has staged, and every page read that.
WITH w AS MATERIALIZED (
  SELECT * FROM unnest(%(source_pks)s::bigint[], %(rev_ids)s::bigint[], %(version_ids)s::bigint[], %(numbers)s::int[])
    AS w (source_pk, rev_id, version_id, number)),
closed AS (
  UPDATE {schema}.span SET gen_to = %(gen)s
  WHERE build_id = %(build_id)s AND source_pk = ANY (%(source_pks)s) AND gen_to = 9223372036854775807
  RETURNING rev_id),
numbered AS (
  UPDATE {schema}.document_version d SET revision = w.number
  FROM w WHERE d.version_id = w.version_id AND coalesce(d.revision, 0) = 0),
owned AS (
  UPDATE {schema}.source s
  SET revision = greatest(s.revision, w.number), owner = coalesce(s.owner, %(connector_id)s),
      sensitivity = (SELECT r.sensitivity FROM {schema}.revision r WHERE r.rev_id = w.rev_id)
  FROM w WHERE s.source_pk = w.source_pk)
INSERT INTO {schema}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
SELECT rev_id, %(gen)s, build_id, source_pk, version_id, source_seq, sensitivity, is_derived
FROM {schema}.revision WHERE rev_id = ANY (%(rev_ids)s) AND (SELECT count(*) FROM closed) >= 0;

-- clear_tombstones --
-- Something newer stands in place of what was forgotten. A fence takes over from the tombstone: without it, a rollback would
-- show the forgotten text. The grants went with that text, so a connector that brings none now is asked for them again.
WITH cleared AS (
  DELETE FROM {schema}.tombstone
  WHERE scope_id = %(scope_id)s AND id = ANY (%(cleared_ids)s) AND reason = 'forgotten'),
m AS (
  UPDATE {schema}.membership SET rule_version = 0, access = CASE WHEN access IS NOT NULL THEN '' END
  WHERE source_pk = ANY (%(ungranted)s))
UPDATE {schema}.source SET fence_gen = %(gen)s - 1, renewed_gen = %(gen)s WHERE source_pk = ANY (%(cleared)s);

-- note_forgotten_version --
-- A text that was forgotten before anybody could say which version it had: the one that is seen next is taken for it.
UPDATE {schema}.tombstone t SET source_version = w.version
FROM unnest(%(hidden)s::text[], %(versions)s::text[]) AS w (id, version)
WHERE t.scope_id = %(scope_id)s AND t.id = w.id AND t.reason = 'forgotten' AND t.source_version IS NULL;

-- note_withheld --
-- What must not be served keeps what was known of it, if that is more than that it was listed.
UPDATE {schema}.ingestion n
SET state = CASE WHEN n.state = 'pending' THEN 'denied' ELSE n.state END,
    freshness = CASE WHEN n.state IN ('pending', 'denied') THEN 'current' ELSE 'unavailable' END,
    reason = w.reason, source_version = w.version, updated_at = clock_timestamp()
FROM unnest(%(withheld)s::bigint[], %(reasons)s::text[], %(versions)s::text[]) AS w (source_pk, reason, version)
WHERE n.source_pk = w.source_pk;

-- note_status --
-- How each document was read. `failed` ones keep the count of the text that is still readable, which `kept` of them have;
-- one that is unchanged after a failure is healthy again. The hash belongs to the readable text, so failures leave none.
INSERT INTO {schema}.ingestion (source_pk, state, freshness, reason, bytes, chunks, source_version, raw_sha256, parser, label, read_as)
SELECT w.source_pk,
       CASE WHEN i.status ? 'state' THEN i.status ->> 'state'
            WHEN n.state IN ('indexed', 'partial', 'empty') THEN n.state
            WHEN n.chunks > 0 THEN 'indexed' ELSE 'empty' END,
       CASE WHEN i.ord = ANY (%(kept)s) THEN 'stale' ELSE 'current' END,
       CASE WHEN i.status ? 'state' THEN i.status ->> 'reason'
            WHEN n.state IN ('indexed', 'partial', 'empty') AND n.freshness = 'current' THEN n.reason END,
       coalesce((i.status ->> 'bytes')::bigint, n.bytes, 0), coalesce(r.n_chunks, n.chunks, 0),
       i.status ->> 'version',
       CASE WHEN i.ord <> ALL (%(failed)s) THEN decode(i.status ->> 'raw_sha256', 'hex') END,
       i.status ->> 'parser', i.label, i.status ->> 'read_as'
FROM unnest(%(noted)s::int[], %(source_pks)s::bigint[]) AS w (ord, source_pk)
CROSS JOIN LATERAL (SELECT * FROM {schema}.page_item x WHERE x.page_id = %(page_id)s AND x.ord = w.ord LIMIT 1) i
LEFT JOIN {schema}.revision r ON r.rev_id = i.rev_id
LEFT JOIN {schema}.ingestion n ON n.source_pk = w.source_pk
WHERE w.source_pk IS NOT NULL
ON CONFLICT (source_pk) DO UPDATE
SET state = excluded.state, freshness = excluded.freshness, reason = excluded.reason, bytes = excluded.bytes,
    chunks = excluded.chunks, source_version = excluded.source_version, raw_sha256 = excluded.raw_sha256,
    parser = excluded.parser, label = excluded.label, read_as = excluded.read_as, updated_at = clock_timestamp();

-- read_again --
-- Believed unchanged, yet readers do not see it any more: the next pass must not trust the version it recorded.
UPDATE {schema}.ingestion SET source_version = NULL WHERE source_pk = ANY (%(lost)s);

-- page_result --
SELECT result FROM {schema}.page WHERE page_id = %(page_id)s AND result IS NOT NULL;

-- note_members --
-- The rule's version is the one the page was listed under: a rule that came since is still to be applied. So it is with grants:
-- the fingerprint is that of the ones that were applied, an empty one where a refusal took them away, and one that no origin gives
-- where they were narrowed: they are applied again when it is listed.
INSERT INTO {schema}.membership AS m (connector_id, source_pk, pass_no, rule_version, access)
SELECT p.connector_id, w.source_pk, p.pass_no, CASE WHEN w.has_grants OR w.is_refused THEN p.rule_version ELSE 0 END,
       CASE WHEN w.is_refused THEN '' WHEN w.has_grants AND w.is_narrowed THEN '-' WHEN w.has_grants THEN (
         SELECT i.access FROM {schema}.page_item i WHERE i.page_id = p.page_id AND i.ord = w.ord) END
FROM {schema}.page p
CROSS JOIN unnest(%(ords)s::int[], %(members)s::bigint[], %(has_grants)s::boolean[], %(is_refused)s::boolean[],
                  %(is_narrowed)s::boolean[])
  AS w (ord, source_pk, has_grants, is_refused, is_narrowed)
WHERE p.page_id = %(page_id)s
ON CONFLICT (connector_id, source_pk) DO UPDATE
SET pass_no = excluded.pass_no, rule_version = greatest(m.rule_version, excluded.rule_version),
    access = CASE WHEN m.access = '' AND excluded.rule_version > 0 THEN excluded.access ELSE coalesce(excluded.access, m.access) END
WHERE m.pass_no <> excluded.pass_no OR m.rule_version < excluded.rule_version OR m.access IS DISTINCT FROM excluded.access;

-- leave_to_others --
-- Others of the same owner hold it: it stays, and is theirs. Those who knew other grants than this one have to say again who may read
-- it: what they could not find out did not count as long as this one knew.
WITH gone AS (
  DELETE FROM {schema}.membership WHERE connector_id = %(connector_id)s AND source_pk = ANY (%(dropped)s)
  RETURNING source_pk, access),
asked AS (
  UPDATE {schema}.membership m SET access = ''
  FROM gone WHERE m.source_pk = gone.source_pk AND m.connector_id <> %(connector_id)s AND m.access IS NOT NULL
    AND m.access IS DISTINCT FROM gone.access)
UPDATE {schema}.source s
SET owner = (
  SELECT m.connector_id FROM {schema}.membership m
  WHERE m.source_pk = s.source_pk AND m.connector_id <> %(connector_id)s ORDER BY m.connector_id LIMIT 1)
WHERE s.source_pk = ANY (%(dropped)s) AND s.owner = %(connector_id)s;

-- drop_members --
DELETE FROM {schema}.membership WHERE connector_id = %(connector_id)s AND source_pk = ANY (%(dropped)s);

-- drop_pending --
DELETE FROM {schema}.ingestion WHERE source_pk = ANY (%(absent)s) AND state = 'pending';

-- finish_page --
-- The last of the page: what became of each of its documents, and what staging needed no longer.
WITH noted AS (
  UPDATE {schema}.page_item i SET outcome = (%(outcomes)s::text[])[array_position(%(ords)s::int[], i.ord)]
  WHERE i.page_id = %(page_id)s AND i.ord = ANY (%(ords)s)),
dropped AS (DELETE FROM {schema}.cut WHERE rev_id = ANY (%(rev_ids)s))
UPDATE {schema}.page SET state = 'published', result = %(result)s WHERE page_id = %(page_id)s;

