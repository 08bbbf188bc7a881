-- The stored text of a document whose bytes are the ones that were read, and of which something else that is shown has changed.

-- shown_text --
-- What a publication would replace, if it is whole and was made from that very version: one statement, so that no rollback,
-- deletion or reading falls in between. Not of what must not be served; and not of what rests on a source that was forgotten
-- and came back since: staged anew it would count as read after that. LATERAL with LIMIT 1, and OFFSET 0: as in listing.sql.
SELECT d.content_hash, x.source_seq AS seen_seq, d.sensitivity,
       ARRAY(SELECT l.parent_id FROM {schema}.lineage l WHERE l.version_id = d.version_id ORDER BY l.ord) AS lineage,
       x.rev_id, d.text, d.locators, d.is_markdown, d.headings
  FROM {schema}.scope sc
 CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE scope_id = sc.scope_id AND source_id = %(source_id)s LIMIT 1) s
 CROSS JOIN LATERAL (SELECT * FROM {schema}.ingestion WHERE source_pk = s.source_pk LIMIT 1) i
 CROSS JOIN LATERAL (SELECT * FROM {schema}.span WHERE source_pk = s.source_pk OFFSET 0) x
  JOIN {schema}.revision r ON r.rev_id = x.rev_id
  JOIN {schema}.document_version d ON d.version_id = x.version_id
 WHERE sc.scope_id = %(scope_id)s
   AND i.source_version = %(version)s AND i.parser = %(parser)s AND i.state IN ('indexed', 'partial', 'empty')
   AND x.build_id = sc.live_build AND x.gen_from > s.fence_gen
   AND x.gen_from <= CASE WHEN sc.pinned THEN sc.head_gen ELSE sc.live_gen END
   AND x.gen_to > CASE WHEN sc.pinned THEN sc.head_gen ELSE sc.live_gen END
   AND d.is_markdown IS NOT NULL
   AND NOT EXISTS (
     SELECT FROM {schema}.tombstone t WHERE t.scope_id = sc.scope_id AND t.id = s.source_id AND t.reason <> 'corrected')
   AND NOT EXISTS (
     SELECT FROM {schema}.lineage l JOIN {schema}.source p ON p.scope_id = sc.scope_id AND p.source_id = l.parent_source
      WHERE l.version_id = d.version_id AND p.renewed_gen > r.base_gen)
 LIMIT 1;
