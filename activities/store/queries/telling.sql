-- What is told of a page where somebody collects spans. Nothing here is run where nobody does.

-- page --
SELECT p.page_id, p.kind, p.state, (extract(epoch FROM p.at) * 1000000)::bigint AS listed_us,
       s.tenant_id, s.resource_id, s.corpus_id
FROM {schema}.page p JOIN {schema}.build b USING (build_id) JOIN {schema}.scope s USING (scope_id)
WHERE p.page_id = %(page_id)s;

-- items --
-- Revisions are found by their keys alone: a join whose plan was kept from when the table was small reads all of them.
SELECT i.ord, i.source_id, i.rev_id, r.n_chunks AS chunks, (extract(epoch FROM r.staged_at) * 1000000)::bigint AS staged_us,
       i.status ->> 'state' AS state, i.outcome
FROM {schema}.page_item i
LEFT JOIN LATERAL (SELECT x.n_chunks, x.staged_at FROM {schema}.revision x WHERE x.rev_id = i.rev_id LIMIT 1) r ON true
WHERE i.page_id = %(page_id)s AND i.kind = 'upsert' ORDER BY i.ord;

-- sources --
SELECT i.rev_id, i.ord, i.source_id FROM {schema}.page_item i WHERE i.page_id = %(page_id)s AND i.rev_id = ANY (%(rev_ids)s);

-- shown --
SELECT DISTINCT rev_id FROM {schema}.span WHERE rev_id = ANY (%(rev_ids)s) AND gen_to = 9223372036854775807;
