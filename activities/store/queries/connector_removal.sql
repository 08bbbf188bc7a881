-- The end of a connector: what becomes of the sources that it alone holds, and of its own rows. All of it under its lease.

-- list_anew --
-- Whoever gives a removal up has deleted or marked what no feed of changes will name again: the next pass lists everything. A folder's
-- passes do so anyway, and its cursor knows what has to be mounted.
UPDATE {schema}.checkpoint c SET cursor = NULL, start_cursor = NULL
  FROM {schema}.connector k
 WHERE c.connector_id = %(connector_id)s AND k.connector_id = c.connector_id AND k.kind <> 'folder' AND c.fence = %(fence)s;

-- held --
-- A page of what the connector holds, in the one order of locks: whether another connector holds it too, and whether readers could
-- be shown a text of it.
SELECT s.source_pk,
       EXISTS (SELECT FROM {schema}.membership o WHERE o.source_pk = s.source_pk AND o.connector_id <> %(connector_id)s) AS is_shared,
       EXISTS (SELECT FROM {schema}.span x WHERE x.source_pk = s.source_pk AND x.gen_to = 9223372036854775807
               AND x.gen_from > s.fence_gen) AS has_text
FROM {schema}.source s
WHERE s.source_pk = ANY (ARRAY(
  SELECT m.source_pk FROM {schema}.membership m
   WHERE m.connector_id = %(connector_id)s AND m.source_pk > %(after)s ORDER BY m.source_pk LIMIT %(limit)s))
ORDER BY s.source_pk
FOR NO KEY UPDATE OF s;

-- leave_behind --
-- Nobody looks after them any more. Their version is forgotten: whoever lists them again reads them again. Once said is enough.
UPDATE {schema}.ingestion
SET freshness = 'stale', source_version = NULL, raw_sha256 = NULL, updated_at = clock_timestamp(),
    reason = CASE WHEN starts_with(reason, %(said)s) THEN reason ELSE concat_ws('; ', %(said)s::text, reason) END
WHERE source_pk = ANY (%(source_pks)s);

-- lock_scope --
SELECT scope_id FROM {schema}.scope WHERE scope_id = (
  SELECT scope_id FROM {schema}.connector WHERE connector_id = %(connector_id)s) FOR NO KEY UPDATE;

-- handed_over_since --
-- What another connector dropped after the page in which it would have been left behind: it still counted as held.
-- Scalar sub-selects, here and below: as joins they read the memberships of all connectors.
SELECT m.source_pk FROM {schema}.membership m
WHERE m.connector_id = %(connector_id)s
  AND (SELECT i.source_version FROM {schema}.ingestion i WHERE i.source_pk = m.source_pk LIMIT 1) IS NOT NULL
  AND (SELECT o.source_pk FROM {schema}.membership o
       WHERE o.source_pk = m.source_pk AND o.connector_id <> m.connector_id LIMIT 1) IS NULL;

-- count_left --
SELECT count(*) FROM {schema}.membership m
WHERE m.connector_id = %(connector_id)s
  AND (SELECT o.source_pk FROM {schema}.membership o
       WHERE o.source_pk = m.source_pk AND o.connector_id <> m.connector_id LIMIT 1) IS NULL;

-- forget_cuts --
DELETE FROM {schema}.cut WHERE rev_id IN (
  SELECT i.rev_id FROM {schema}.page_item i JOIN {schema}.page p USING (page_id)
   WHERE p.connector_id = %(connector_id)s AND i.rev_id IS NOT NULL);

-- forget_pages --
DELETE FROM {schema}.page WHERE connector_id = %(connector_id)s;

-- forget_members --
DELETE FROM {schema}.membership WHERE connector_id = %(connector_id)s;

-- forget_links --
DELETE FROM {schema}.link WHERE connector_id = %(connector_id)s;

-- mark_removed --
-- The row stays for what was left behind: it says by whom that was published, and a connector of that name and kind goes on with it.
UPDATE {schema}.connector SET removed_at = clock_timestamp(), config = '{}', last_error = NULL, last_sync_at = NULL
 WHERE connector_id = %(connector_id)s;

-- free_checkpoint --
UPDATE {schema}.checkpoint SET cursor = NULL, start_cursor = NULL, page_id = NULL, is_paused = false,
       owner = NULL, run = NULL, lease_until = NULL
 WHERE connector_id = %(connector_id)s;

-- find --
SELECT scope_id, name, kind FROM {schema}.connector WHERE connector_id = %(connector_id)s AND removed_at IS NULL FOR UPDATE;

-- removed --
-- What an earlier attempt did, whose answer was lost.
SELECT detail FROM {schema}.audit
WHERE action = 'remove_connector' AND detail @> %(key)s ORDER BY id DESC LIMIT 1;
