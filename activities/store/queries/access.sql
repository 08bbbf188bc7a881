-- Who may read a source: its grants, replaced as a whole. Grants stand outside generations.

-- ensure_grantees --
-- Committed by itself, before the scope's lock: a name that nobody is granted harms nobody, and two writers that make the
-- same name never wait for each other's publication.
INSERT INTO {schema}.grantee (tenant_id, kind, name)
SELECT %(tenant_id)s, w.kind, w.name
FROM unnest(%(kinds)s::text[], %(names)s::text[]) AS w (kind, name)
WHERE NOT EXISTS (SELECT FROM {schema}.grantee e WHERE e.tenant_id = %(tenant_id)s AND e.kind = w.kind AND e.name = w.name)
ORDER BY w.kind, w.name
ON CONFLICT DO NOTHING;

-- grantees --
-- The numbers of these names. LATERAL with LIMIT: a plan kept from when the table was small stays right.
SELECT w.kind, w.name, e.grantee_id
FROM unnest(%(kinds)s::text[], %(names)s::text[]) AS w (kind, name)
CROSS JOIN LATERAL (
  SELECT g.grantee_id FROM {schema}.grantee g
  WHERE g.tenant_id = %(tenant_id)s AND g.kind = w.kind AND g.name = w.name LIMIT 1) e;

-- ensure_sources --
-- A source that was never heard of gets a row that holds its grants, or is to be moved to; its text may come later.
INSERT INTO {schema}.source (scope_id, source_id)
SELECT %(scope_id)s, u.id FROM unnest(%(source_ids)s::text[]) AS u (id)
WHERE NOT EXISTS (SELECT FROM {schema}.source s WHERE s.scope_id = %(scope_id)s AND s.source_id = u.id)
ORDER BY u.id
ON CONFLICT DO NOTHING;

-- lock_sources --
-- Their rows, in the one order, with the grants that are held. An unknown id gives no row.
SELECT s.source_id, s.source_pk, s.access_version, s.grants,
       (SELECT coalesce(jsonb_object_agg(e.grantee_id, e.expires_at), '{}')
          FROM {schema}.expiring_grant e WHERE e.source_pk = s.source_pk AND s.expiring <> '{}') AS expiring
FROM {schema}.source s
WHERE s.source_pk = ANY (ARRAY(
  SELECT k.source_pk
  FROM unnest(%(source_ids)s::text[]) AS u (id)
  CROSS JOIN LATERAL (
    SELECT x.source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) k))
ORDER BY s.source_pk
FOR NO KEY UPDATE OF s;

-- write_grants --
-- unnest takes no ragged arrays, so each set comes as the text of one.
UPDATE {schema}.source s SET grants = w.permanent::int[], expiring = w.expiring::int[], access_version = w.version
FROM unnest(%(source_pks)s::bigint[], %(versions)s::bigint[], %(permanent)s::text[], %(expiring)s::text[])
  AS w (source_pk, version, permanent, expiring)
WHERE s.source_pk = w.source_pk;

-- end_expiring --
DELETE FROM {schema}.expiring_grant WHERE source_pk = ANY (%(source_pks)s);

-- begin_expiring --
INSERT INTO {schema}.expiring_grant (source_pk, grantee_id, expires_at)
SELECT * FROM unnest(%(source_pks)s::bigint[], %(grantee_ids)s::int[], %(ends)s::timestamptz[]);
