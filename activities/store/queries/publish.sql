-- plan_once --
-- Planning these statements took longer than carrying them out, under the scope's lock: each keeps one generic plan. It may
-- be made while the tables are still empty, and must stay right when they have grown: hence no plan that reads a table
-- whole, and sub-selects with LIMIT where a key has two columns (a join was planned on the scope alone: every page then
-- read every source of it).
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);

-- ensure_grantees --
-- Committed by itself, before the scope's lock: a name that nobody is granted harms nobody, and two publishers that
-- make the same name never wait for each other's publication.
INSERT INTO {schema}.grantee (tenant_id, kind, name)
SELECT w.tenant_id, w.kind, w.name
FROM (
  SELECT DISTINCT sc.tenant_id, x.kind, x.name
  FROM {schema}.page p
  JOIN {schema}.build b USING (build_id)
  JOIN {schema}.scope sc USING (scope_id)
  JOIN {schema}.page_item i USING (page_id)
  CROSS JOIN LATERAL (
    SELECT 'principal' AS kind, jsonb_array_elements_text(i.grants -> 'principal_ids') AS name
    UNION ALL SELECT 'group', jsonb_array_elements_text(i.grants -> 'group_ids')
    UNION ALL SELECT 'everyone', '' WHERE (i.grants ->> 'everyone')::boolean) x
  WHERE p.page_id = %(page_id)s AND p.state <> 'published') w
WHERE NOT EXISTS (SELECT FROM {schema}.grantee e WHERE e.tenant_id = w.tenant_id AND e.kind = w.kind AND e.name = w.name)
ORDER BY 1, 2, 3
ON CONFLICT DO NOTHING;

-- grantees --
-- The numbers of all names that the page grants to.
SELECT w.kind, w.name, e.grantee_id
FROM (
  SELECT DISTINCT sc.tenant_id, x.kind, x.name
  FROM {schema}.page p
  JOIN {schema}.build b USING (build_id)
  JOIN {schema}.scope sc USING (scope_id)
  JOIN {schema}.page_item i USING (page_id)
  CROSS JOIN LATERAL (
    SELECT 'principal' AS kind, jsonb_array_elements_text(i.grants -> 'principal_ids') AS name
    UNION ALL SELECT 'group', jsonb_array_elements_text(i.grants -> 'group_ids')
    UNION ALL SELECT 'everyone', '' WHERE (i.grants ->> 'everyone')::boolean) x
  WHERE p.page_id = %(page_id)s AND p.state <> 'published') w
CROSS JOIN LATERAL (
  SELECT g.grantee_id FROM {schema}.grantee g
  WHERE g.tenant_id = w.tenant_id AND g.kind = w.kind AND g.name = w.name LIMIT 1) e;

-- unfinished --
-- Staged revisions of the page that lack chunks. Read before the lock: chunks only ever come, and this is the longest read.
SELECT r.rev_id, r.n_chunks, c.n
FROM {schema}.page p
JOIN {schema}.build b USING (build_id)
JOIN {schema}.page_item i USING (page_id)
JOIN {schema}.revision r USING (rev_id)
CROSS JOIN LATERAL (SELECT count(*) AS n FROM {schema}.chunk c WHERE c.slab = b.slab AND c.rev_id = r.rev_id) c
WHERE p.page_id = %(page_id)s AND p.state <> 'published' AND c.n <> r.n_chunks
ORDER BY r.rev_id LIMIT 1;

-- lock_scope --
-- The one lock of a scope. Whoever waited here sees, in the next statement, all that the one before has done.
SELECT s.head_gen, s.live_build, s.live_gen FROM {schema}.scope s
WHERE s.scope_id = (SELECT b.scope_id FROM {schema}.page p JOIN {schema}.build b USING (build_id) WHERE p.page_id = %(page_id)s)
FOR NO KEY UPDATE OF s;

-- page --
-- The page and its lease. The share lock makes a takeover wait until this publication is over.
SELECT p.build_id, p.connector_id, p.state, p.result, b.scope_id, b.head_gen AS build_head,
       k.fence, k.owner IS NOT NULL AS is_leased
FROM {schema}.page p JOIN {schema}.build b USING (build_id) JOIN {schema}.checkpoint k USING (connector_id)
WHERE p.page_id = %(page_id)s
FOR SHARE OF k;

-- candidates --
-- Each document of the page, with what the store holds of it. `seen` is the revision that a publication would replace:
-- the open one, or, after a rollback, the one the pointer shows. Closed spans end at or before the scope's head.
SELECT i.ord, i.kind, i.source_id, i.rev_id, s.source_pk, s.owner, k.name AS owner_name, s.fence_gen, r.base_gen,
       r.source_seq, v.source_seq AS seen_seq, coalesce(n.state <> 'pending', false) AS is_known,
       i.kind <> 'upsert' OR i.status IS NOT NULL AS is_read,
       i.status ->> 'state' AS state, i.status ->> 'reason' AS reason,
       coalesce((i.status ->> 'unchanged')::boolean, false) AS is_unchanged,
       i.grants AS wanted, s.grants AS held, coalesce(s.expiring <> '{}', false) AS is_expiring
FROM {schema}.page p
JOIN {schema}.build b USING (build_id)
JOIN {schema}.scope sc USING (scope_id)
JOIN {schema}.page_item i USING (page_id)
LEFT JOIN LATERAL (
  SELECT * FROM {schema}.source x WHERE x.scope_id = sc.scope_id AND x.source_id = i.source_id LIMIT 1) s ON true
LEFT JOIN {schema}.connector k ON k.connector_id = s.owner
LEFT JOIN {schema}.revision r ON r.rev_id = i.rev_id
LEFT JOIN {schema}.ingestion n ON n.source_pk = s.source_pk
LEFT JOIN LATERAL (
  SELECT x.source_seq FROM {schema}.span x
  WHERE x.build_id = p.build_id AND x.source_pk = s.source_pk AND x.gen_from > s.fence_gen
    AND x.gen_from <= CASE WHEN sc.live_gen < b.head_gen THEN sc.live_gen ELSE sc.head_gen END
    AND x.gen_to > CASE WHEN sc.live_gen < b.head_gen THEN sc.live_gen ELSE sc.head_gen END
  ORDER BY x.source_seq DESC LIMIT 1) v ON true
WHERE p.page_id = %(page_id)s
ORDER BY i.ord;

-- lock_sources --
-- All rows of sources that this page changes, in one order: a sync that counts a reading of several of them locks them
-- in the same, without the scope's lock. Seen to deadlock without this.
SELECT FROM {schema}.source WHERE source_pk = ANY (%(source_pks)s) ORDER BY source_pk FOR NO KEY UPDATE;

-- close_replaced --
UPDATE {schema}.span SET gen_to = %(gen)s
WHERE build_id = %(build_id)s AND source_pk = ANY (%(published)s) AND gen_to = 9223372036854775807;

-- open_spans --
INSERT INTO {schema}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
SELECT rev_id, %(gen)s, build_id, source_pk, version_id, source_seq, sensitivity, is_derived
FROM {schema}.revision WHERE rev_id = ANY (%(rev_ids)s);

-- number_versions --
-- Public numbers are given here, under the lock, so that a refused revision leaves no gap.
UPDATE {schema}.document_version d SET revision = s.revision + 1
FROM {schema}.revision r, {schema}.source s
WHERE r.rev_id = ANY (%(rev_ids)s) AND d.version_id = r.version_id AND s.source_pk = d.source_pk AND d.revision IS NULL;

-- own_sources --
UPDATE {schema}.source s
SET revision = greatest(s.revision, d.revision), sensitivity = r.sensitivity, owner = coalesce(s.owner, %(connector_id)s)
FROM {schema}.revision r JOIN {schema}.document_version d USING (version_id)
WHERE r.rev_id = ANY (%(rev_ids)s) AND s.source_pk = r.source_pk;

-- set_grants --
UPDATE {schema}.source s SET grants = w.ids::int[], expiring = '{}', access_version = s.access_version + 1
FROM unnest(%(regranted)s::bigint[], %(grants)s::text[]) AS w (source_pk, ids) WHERE s.source_pk = w.source_pk;

-- end_expiring --
DELETE FROM {schema}.expiring_grant WHERE source_pk = ANY (%(source_pks)s);

-- note_status --
-- How each document was read. `failed` ones keep the count of the text that is still readable, which `kept` of them have;
-- one that is unchanged after a failure is healthy again. The hash belongs to the readable text, so failures leave none.
INSERT INTO {schema}.ingestion (source_pk, state, freshness, reason, bytes, chunks, source_version, raw_sha256, parser)
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
       i.status ->> 'parser'
FROM unnest(%(noted)s::int[], %(source_pks)s::bigint[]) AS w (ord, source_pk)
JOIN {schema}.page_item i ON i.page_id = %(page_id)s AND i.ord = w.ord
LEFT JOIN {schema}.revision r ON r.rev_id = i.rev_id
LEFT JOIN {schema}.ingestion n ON n.source_pk = w.source_pk
WHERE w.source_pk IS NOT NULL
ON CONFLICT (source_pk) DO UPDATE
SET state = excluded.state, freshness = excluded.freshness, reason = excluded.reason, bytes = excluded.bytes,
    chunks = excluded.chunks, source_version = excluded.source_version, raw_sha256 = excluded.raw_sha256,
    parser = excluded.parser, updated_at = clock_timestamp();

-- read_again --
-- Believed unchanged, yet readers do not see it any more: the next pass must not trust the version it recorded.
UPDATE {schema}.ingestion SET source_version = NULL WHERE source_pk = ANY (%(lost)s);

-- note_members --
-- The rule's version is the one the page was listed under: a rule that came since is still to be applied.
INSERT INTO {schema}.membership AS m (connector_id, source_pk, pass_no, rule_version)
SELECT p.connector_id, w.source_pk, p.pass_no, CASE WHEN w.has_grants THEN p.rule_version ELSE 0 END
FROM {schema}.page p CROSS JOIN unnest(%(members)s::bigint[], %(has_grants)s::boolean[]) AS w (source_pk, has_grants)
WHERE p.page_id = %(page_id)s
ON CONFLICT (connector_id, source_pk) DO UPDATE
SET pass_no = excluded.pass_no, rule_version = greatest(m.rule_version, excluded.rule_version)
WHERE m.pass_no <> excluded.pass_no OR m.rule_version < excluded.rule_version;

-- drop_members --
DELETE FROM {schema}.membership WHERE connector_id = %(connector_id)s AND source_pk = ANY (%(dropped)s);

-- drop_pending --
DELETE FROM {schema}.ingestion WHERE source_pk = ANY (%(absent)s) AND state = 'pending';

-- note_outcomes --
UPDATE {schema}.page_item i SET outcome = w.outcome
FROM unnest(%(ords)s::int[], %(outcomes)s::text[]) AS w (ord, outcome) WHERE i.page_id = %(page_id)s AND i.ord = w.ord;

-- drop_cuts --
DELETE FROM {schema}.cut USING {schema}.page_item i WHERE i.page_id = %(page_id)s AND cut.rev_id = i.rev_id;

-- finish_page --
UPDATE {schema}.page SET state = 'published', result = %(result)s WHERE page_id = %(page_id)s;
