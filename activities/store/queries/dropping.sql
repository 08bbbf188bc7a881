-- Builds that are being dropped: readers were told to look elsewhere before this begins.

-- dropping --
SELECT build_id, slab FROM {schema}.build WHERE scope_id = %(scope_id)s AND state = 'dropping' ORDER BY build_id;

-- partition --
-- The table of a slab: whether it is attached, and whether an earlier attempt stopped in the middle of detaching it.
SELECT i.inhrelid IS NOT NULL AS is_attached, coalesce(i.inhdetachpending, false) AS is_pending
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
WHERE n.nspname = %(schema)s AND c.relname = 'chunk_s' || %(slab)s::int;

-- wait_little --
-- For a statement that would else hold up every reader that comes while it waits.
SELECT set_config('lock_timeout', %(wait)s, false);

-- detach --
ALTER TABLE {schema}.chunk DETACH PARTITION {schema}.chunk_s{slab} CONCURRENTLY;

-- finalize --
ALTER TABLE {schema}.chunk DETACH PARTITION {schema}.chunk_s{slab} FINALIZE;

-- drop_table --
DROP TABLE IF EXISTS {schema}.chunk_s{slab};

-- dropped_revisions --
-- What a page still needs stays until it is staged again for the build that took this one's place.
SELECT r.rev_id, r.version_id, r.n_chunks
FROM {schema}.revision r
WHERE r.build_id = %(build_id)s
  AND NOT EXISTS (SELECT FROM {schema}.page_item i JOIN {schema}.page p USING (page_id)
                  WHERE i.rev_id = r.rev_id AND p.state <> 'published')
LIMIT %(limit)s;

-- delete_spans --
DELETE FROM {schema}.span WHERE rev_id = ANY (%(rev_ids)s);

-- drop_build --
-- The row stays as long as the log says that the build showed something, so that those generations are known to be gone.
DELETE FROM {schema}.build b
WHERE b.build_id = %(build_id)s AND b.state = 'dropping'
  AND NOT EXISTS (SELECT FROM {schema}.revision r WHERE r.build_id = b.build_id)
  AND NOT EXISTS (SELECT FROM {schema}.page p WHERE p.build_id = b.build_id)
  AND NOT EXISTS (SELECT FROM {schema}.pointer_log l WHERE l.scope_id = b.scope_id AND l.build_id = b.build_id);
