-- Tombstones: what must not be served, and what rests on it. They stand outside generations.

-- take_generation --
-- The one lock of a scope, and a generation that neither the build nor the pointer moves to: later than the base of all that
-- was read before, and no cause for a fork. The settings hold for the statements after it: each keeps one plan, which may be
-- made while the tables are still empty and must stay right when they have grown.
UPDATE {schema}.scope SET head_gen = head_gen + 1 WHERE scope_id = %(scope_id)s
RETURNING head_gen, set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
          set_config('enable_mergejoin', 'off', true);

-- log_generation --
-- So that a listing names it. Shown by itself it is what was published before it, in the build that showed that; where
-- nothing was, it shows nothing.
INSERT INTO {schema}.pointer_log (scope_id, build_id, gen, kind, sources)
SELECT %(scope_id)s, l.build_id, %(gen)s, 'delete', %(sources)s
FROM {schema}.pointer_log l
WHERE l.scope_id = %(scope_id)s AND l.gen <= %(gen)s AND l.kind IN ('publish', 'delete', 'fork', 'flip')
ORDER BY l.gen DESC, l.id DESC LIMIT 1;

-- dependants --
-- One level of the walk: the sources that name one of these ids, or a chunk of it, in a version that was published and is
-- kept. While the edges of a renamed source are being rewritten, an edge with either of its ids counts for both.
SELECT DISTINCT s.source_id
FROM (
  SELECT u.id FROM unnest(%(ids)s::text[]) AS u (id)
  UNION ALL
  SELECT f.to_id FROM unnest(%(ids)s::text[]) AS u (id)
   CROSS JOIN LATERAL (
     SELECT x.to_id FROM {schema}.forward x WHERE x.scope_id = %(scope_id)s AND x.from_id = u.id AND NOT x.is_done OFFSET 0) f
  UNION ALL
  SELECT f.from_id FROM unnest(%(ids)s::text[]) AS u (id)
   CROSS JOIN LATERAL (
     SELECT x.from_id FROM {schema}.forward x WHERE x.scope_id = %(scope_id)s AND x.to_id = u.id AND NOT x.is_done OFFSET 0) f) named
CROSS JOIN LATERAL (
  SELECT l.version_id FROM {schema}.lineage l
  WHERE l.scope_id = %(scope_id)s AND l.parent_source = named.id OFFSET 0) l
JOIN {schema}.document_version v ON v.version_id = l.version_id AND v.revision IS NOT NULL
JOIN {schema}.source s ON s.source_pk = v.source_pk
LIMIT %(limit)s;

-- write --
-- A hold stays whatever comes after it, a revocation never becomes one that a newer text clears, and a correction, which
-- shows the source's own rows, weakens nothing. The version that was forgotten is kept although its status goes.
INSERT INTO {schema}.tombstone AS t (scope_id, id, reason, gen, source_seq, root, source_version)
SELECT %(scope_id)s, u.id, %(reason)s, %(gen)s, coalesce(s.read_seq, 0), %(root)s, s.source_version
FROM unnest(%(ids)s::text[]) AS u (id)
LEFT JOIN LATERAL (
  SELECT x.read_seq, (SELECT n.source_version FROM {schema}.ingestion n WHERE n.source_pk = x.source_pk) AS source_version
  FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) s ON true
ON CONFLICT (scope_id, id) DO UPDATE
SET reason = excluded.reason, gen = excluded.gen, source_seq = excluded.source_seq, root = excluded.root,
    source_version = coalesce(excluded.source_version, t.source_version), at = clock_timestamp()
WHERE t.reason <> 'legal_hold'
  AND (t.reason = 'corrected' OR excluded.reason <> 'corrected')
  AND (t.reason <> 'revoked' OR excluded.reason IN ('revoked', 'legal_hold'));

-- drop_grants --
-- Of all ids that have a row, at a raised version. A connector that brings the source back gives it its grants anew: what it
-- noted of the rule it applied is forgotten. Arrays, not joins: a join kept from when these tables were empty would read all
-- of them.
WITH locked AS MATERIALIZED (
  SELECT s.source_pk
  FROM {schema}.source s
  WHERE s.source_pk = ANY (ARRAY(
    SELECT k.source_pk
    FROM unnest(%(ids)s::text[]) AS u (id)
    CROSS JOIN LATERAL (
      SELECT x.source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) k))
  ORDER BY s.source_pk
  FOR NO KEY UPDATE OF s),
ended AS (DELETE FROM {schema}.expiring_grant WHERE source_pk = ANY (ARRAY(SELECT source_pk FROM locked))),
forgotten AS (
  UPDATE {schema}.membership SET rule_version = 0, access = CASE WHEN access IS NOT NULL THEN '' END
  WHERE source_pk = ANY (ARRAY(SELECT source_pk FROM locked)))
UPDATE {schema}.source SET grants = '{}', expiring = '{}', access_version = access_version + 1
WHERE source_pk = ANY (ARRAY(SELECT source_pk FROM locked));

-- under_way --
-- A move of one of these ids whose edges are not all rewritten yet.
SELECT f.from_id, f.to_id FROM {schema}.forward f
WHERE f.scope_id = %(scope_id)s AND f.to_id = ANY (%(ids)s::text[]) AND NOT f.is_done
LIMIT 1;

-- held --
SELECT t.id FROM {schema}.tombstone t
WHERE t.scope_id = %(scope_id)s AND t.id = ANY (%(ids)s::text[]) AND t.reason = 'legal_hold';
