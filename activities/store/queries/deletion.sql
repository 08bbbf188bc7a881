-- Deleting what a host names: once for each request.

-- found --
-- The rows of these ids, in the one order, and whether anything of them is there to be deleted: a status, a text that a
-- build shows, grants. An id that was deleted before has none of these.
SELECT s.source_pk, s.source_id,
       s.grants <> '{}' OR s.expiring <> '{}' OR s.owner IS NOT NULL
       OR EXISTS (SELECT FROM {schema}.ingestion n WHERE n.source_pk = s.source_pk)
       OR EXISTS (SELECT FROM {schema}.span x WHERE x.source_pk = s.source_pk AND x.gen_to = 9223372036854775807
                  AND x.gen_from > s.fence_gen) AS is_held
FROM {schema}.source s
WHERE s.source_pk = ANY (ARRAY(
  SELECT k.source_pk
  FROM unnest(%(source_ids)s::text[]) AS u (id)
  CROSS JOIN LATERAL (
    SELECT x.source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) k))
ORDER BY s.source_pk
FOR NO KEY UPDATE OF s;
