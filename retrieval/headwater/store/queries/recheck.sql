-- What is asked beside the search: the last look before anything is disclosed, and what the host is told.
-- places: most

-- recheck --
-- For each revision about to be disclosed, in all corpora of a question at once: may its source be read now, is it still there
-- to be read, and how is it labelled by now. Revisions that give no row are gone. A revision that was replaced meanwhile still
-- counts: the answer is what the corpus showed. LATERAL with LIMIT: one look-up for each corpus and source. As a plain join the
-- planner read every source of the corpora to look at a handful.
WITH {all_corpora}
SELECT sp.rev_id, bool_or(({granted}) IS TRUE) AS is_granted,
       bool_or(sp.gen_from > s.fence_gen AND {labelled} AND {alive}) AS is_alive,
       max(greatest(s.sensitivity, sp.sensitivity)) AS sensitivity
FROM {schema}.span sp
CROSS JOIN LATERAL (SELECT * FROM {schema}.source x WHERE x.source_pk = sp.source_pk LIMIT 1) s
WHERE sp.rev_id = ANY (%(revisions)s::bigint[]) AND s.scope_id = ANY (ARRAY(SELECT scope_id FROM corpora))
GROUP BY sp.rev_id;

-- denied --
-- The sources that the corpus shows and this reader has no grant for: ids for the host's audit, in order.
-- Read only when somebody listens. What is deleted or tombstoned is not named.
WITH pointer AS MATERIALIZED ({pointer}),
asker AS MATERIALIZED ({asker})
SELECT s.source_id
FROM {schema}.source s
JOIN {schema}.span sp ON sp.source_pk = s.source_pk
WHERE s.scope_id = (SELECT scope_id FROM pointer) AND ({granted}) IS NOT TRUE
  AND {visible} AND {labelled} AND {alive}
ORDER BY s.source_id
LIMIT {most};

-- granted_sources --
-- Of these ids, those that the asker is granted now, whatever the corpus shows of them: what the workers ask before they act
-- on a source in somebody's name. LATERAL with LIMIT: one look-up for each id.
WITH asker AS MATERIALIZED ({asker})
SELECT s.source_id
FROM unnest(%(source_ids)s::text[]) AS u (id)
CROSS JOIN LATERAL (
  SELECT * FROM {schema}.source x WHERE x.scope_id = %(scope_id)s AND x.source_id = u.id LIMIT 1) s
WHERE ({granted}) IS TRUE;
