-- Deleting what a host names: once for each request.

-- found --
-- The rows of these ids, in the one order, and whether anything of them is there to be deleted: a status, grants, a text that
-- can be shown, by going back too. An id that was deleted before, or removed with what it was derived from, has none of these;
-- what a page that is not published yet says of it may have been read before.
SELECT s.source_pk, s.source_id,
       s.grants <> '{}' OR s.expiring <> '{}' OR s.owner IS NOT NULL
       OR EXISTS (SELECT FROM {schema}.ingestion n WHERE n.source_pk = s.source_pk)
       OR EXISTS (SELECT FROM {schema}.span x JOIN {schema}.revision r USING (rev_id)
                  WHERE x.source_pk = s.source_pk AND x.gen_from > s.fence_gen AND r.n_chunks > 0) AS is_held,
       EXISTS (SELECT FROM {schema}.page_item i JOIN {schema}.page p USING (page_id) JOIN {schema}.build b USING (build_id)
               WHERE i.source_id = s.source_id AND b.scope_id = s.scope_id AND p.state <> 'published') AS is_on_its_way
FROM {schema}.source s
WHERE s.source_pk = ANY (ARRAY(
  SELECT k.source_pk
  FROM unnest(%(source_ids)s::text[]) AS u (id)
  CROSS JOIN LATERAL (
    SELECT x.source_pk FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) k))
ORDER BY s.source_pk
FOR NO KEY UPDATE OF s;
