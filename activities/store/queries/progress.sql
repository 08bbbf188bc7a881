-- Progress: the pages of a connector's newest pass, summed up.

-- progress --
SELECT count(*) FILTER (WHERE p.state = 'published') AS pages,
       coalesce(sum(p.listed), 0)::bigint AS listed,
       coalesce(sum(p.skipped), 0)::bigint AS skipped,
       coalesce(sum(x.items), 0)::bigint AS documents,
       coalesce(sum(x.looked_at), 0)::bigint AS prepared,
       coalesce(sum(x.read), 0)::bigint AS read,
       coalesce(sum(x.items) FILTER (WHERE p.state = 'published'), 0)::bigint AS published,
       coalesce(sum(y.chunks), 0)::bigint AS chunks,
       coalesce(sum(y.done), 0)::bigint AS embedded,
       coalesce(bool_or(p.is_last), false) AS is_listed,
       coalesce(bool_or(p.state = 'listed'), false) AS is_preparing,
       coalesce(bool_or(NOT y.is_done), false) AS is_embedding,
       max(c.waits_for) FILTER (WHERE c.lease_until > now()) AS waits_for
  FROM {schema}.checkpoint c
  LEFT JOIN {schema}.page p ON p.connector_id = c.connector_id AND p.pass_no = c.pass_no
 CROSS JOIN LATERAL (SELECT count(*) AS items, count(*) FILTER (WHERE i.status IS NOT NULL OR i.kind <> 'upsert') AS looked_at,
                           count(*) FILTER (WHERE i.status IS NOT NULL) AS read
                       FROM {schema}.page_item i WHERE i.page_id = p.page_id) x
 CROSS JOIN LATERAL (SELECT sum(cardinality(b.rev_ids)) AS chunks, sum(b.embedded + b.reused) AS done, bool_and(b.is_done) AS is_done
                       FROM {schema}.batch b WHERE b.page_id = p.page_id) y
 WHERE c.connector_id = %(connector_id)s;
