-- What stands around passages that are about to be shown, for a prompt that wants more of a document than was found.

-- surroundings --
-- For each passage: a part of the stored text with the place where it begins, the headings in it, and where the neighbouring
-- passages lie. Under the gates of the last look: what may not be read by now, or is gone, gives no row.
-- A Markdown text shows its own headings, and a part that begins within fenced code would be misread: it is read from its
-- beginning. Of a large text only the passages near by are read: to cut a part out, Postgres unpacks and counts all of it. For 32
-- passages of one text, on a busy machine: 1.5 s of 0.9 MB, 10 s of 8 MB; of passages 30 ms, whatever the size.
WITH {all_corpora},
wanted AS MATERIALIZED (
  SELECT w.* FROM unnest(%(revisions)s::bigint[], %(numbers)s::int[], %(starts)s::int[], %(ends)s::int[])
    AS w (rev_id, chunk_no, start_cp, end_cp)),
-- One look-up for each revision and its source. OFFSET 0: as a join the planner reads every source of the corpora first.
readable AS MATERIALIZED (
  SELECT DISTINCT sp.rev_id
  FROM {schema}.span sp
  CROSS JOIN LATERAL (SELECT * FROM {schema}.source x WHERE x.source_pk = sp.source_pk OFFSET 0) s
  WHERE sp.rev_id = ANY (ARRAY(SELECT rev_id FROM wanted)) AND s.scope_id = ANY (ARRAY(SELECT scope_id FROM corpora))
    AND ({granted}) AND sp.gen_from > s.fence_gen AND {labelled} AND {alive})
SELECT w.rev_id, w.chunk_no, part.low,
       CASE WHEN NOT size.is_large THEN substr(d.text, part.low + 1, part.high - part.low) END,
       coalesce(d.is_markdown, false) AND d.headings IS NULL AS shows_headings,
       (SELECT jsonb_agg(h.heading ORDER BY h.place)
        FROM jsonb_array_elements(d.headings) WITH ORDINALITY AS h (heading, place)
        WHERE (h.heading ->> 0)::int >= part.low AND (h.heading ->> 0)::int < part.high),
       (SELECT jsonb_agg(jsonb_build_array(c.chunk_no, c.start_cp, c.end_cp, CASE WHEN size.is_large THEN c.body END)
                         ORDER BY c.chunk_no)
        FROM {schema}.chunk c
        WHERE (%(passages)s::int > 0 OR size.is_large) AND c.slab = b.slab AND c.rev_id = w.rev_id
          AND c.chunk_no BETWEEN w.chunk_no - size.near AND w.chunk_no + size.near
          AND (abs(c.chunk_no - w.chunk_no) <= %(passages)s::int OR c.end_cp > part.low AND c.start_cp < part.high))
FROM wanted w
JOIN readable ON readable.rev_id = w.rev_id
JOIN {schema}.revision r ON r.rev_id = w.rev_id
JOIN {schema}.build b ON b.build_id = r.build_id
JOIN {schema}.document_version d ON d.version_id = r.version_id
CROSS JOIN LATERAL (
  SELECT octet_length(d.text) > %(large)s::int AS is_large,
         CASE WHEN octet_length(d.text) > %(large)s::int THEN %(near)s::int ELSE %(passages)s::int END AS near) size
CROSS JOIN LATERAL (
  SELECT CASE WHEN d.is_markdown AND d.headings IS NULL AND NOT size.is_large THEN 0
              ELSE greatest(0, w.start_cp - %(characters)s::int) END AS low,
         w.end_cp + %(characters)s::int AS high) part;
