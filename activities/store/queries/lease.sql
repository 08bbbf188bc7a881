-- The checkpoint row: a connector's cursor, and the lease that lets one run at a time move it.

-- lock_checkpoint --
SELECT fence FROM {schema}.checkpoint WHERE connector_id = %(connector_id)s FOR NO KEY UPDATE;

-- take_lease --
-- Free, expired, or held by an earlier run of the same workflow id (Temporal lets one run of an id live at a time, so
-- that one is over). A new holder raises the fence: whatever the former one still has under way is refused. One that
-- holds it already, because this is asked a second time, gets the pass it was given.
UPDATE {schema}.checkpoint
   SET fence = fence + is_new::int, owner = %(owner)s, run = %(run)s,
       lease_until = now() + %(lease_s)s * interval '1 second',
       pass_no = pass_no + (is_new AND NOT goes_on)::int,
       cursor = CASE WHEN is_new AND NOT goes_on THEN start_cursor ELSE cursor END,
       is_paused = false, waits_for = NULL
  FROM (SELECT owner IS DISTINCT FROM %(owner)s OR run IS DISTINCT FROM %(run)s AS is_new,
               is_paused AND NOT %(full)s AS goes_on
          FROM {schema}.checkpoint WHERE connector_id = %(connector_id)s) AS asked
 WHERE connector_id = %(connector_id)s
   AND (owner IS NULL OR owner = %(owner)s OR lease_until < now())
RETURNING pass_no, fence;

-- lease_holder --
SELECT k.owner, c.name, s.tenant_id || '/' || s.resource_id || '/' || s.corpus_id AS corpus
  FROM {schema}.checkpoint k JOIN {schema}.connector c USING (connector_id) JOIN {schema}.scope s USING (scope_id)
 WHERE k.connector_id = %(connector_id)s;

-- next_seq --
SELECT coalesce(max(seq), 0) + 1 AS seq FROM {schema}.page WHERE connector_id = %(connector_id)s AND pass_no = %(pass_no)s;

-- renew_lease --
-- Asked every few seconds and written once a minute: most askings cost neither a commit nor a lock.
WITH renewed AS (
  UPDATE {schema}.checkpoint SET lease_until = now() + %(lease_s)s * interval '1 second'
   WHERE connector_id = %(connector_id)s AND fence = %(fence)s AND owner IS NOT NULL
     AND lease_until < now() + (%(lease_s)s - 60) * interval '1 second')
SELECT pass_no FROM {schema}.checkpoint
 WHERE connector_id = %(connector_id)s AND fence = %(fence)s AND owner IS NOT NULL;

-- hold_lease --
-- Nobody takes the lease over before this transaction is over.
SELECT pass_no FROM {schema}.checkpoint
 WHERE connector_id = %(connector_id)s AND fence = %(fence)s AND owner IS NOT NULL
   FOR SHARE;

-- advance --
-- Compare-and-swap by fence and order: a page moves the checkpoint once, after it is published and after its predecessor.
-- The lease may be longer already, because the page after it waits for its origin.
UPDATE {schema}.checkpoint c
   SET version = c.version + 1, cursor = p.cursor_out, page_id = p.page_id,
       start_cursor = CASE WHEN p.is_last THEN p.cursor_out ELSE c.start_cursor END,
       lease_until = greatest(c.lease_until, now() + %(lease_s)s * interval '1 second')
  FROM {schema}.page p
 WHERE p.page_id = %(page_id)s AND p.state = 'published'
   AND c.connector_id = p.connector_id AND c.fence = %(fence)s AND c.owner IS NOT NULL
   AND p.pass_no = c.pass_no
   AND p.seq = 1 + coalesce((SELECT q.seq FROM {schema}.page q WHERE q.page_id = c.page_id AND q.pass_no = c.pass_no), 0)
RETURNING c.version;

-- advanced --
SELECT c.version, c.fence, c.page_id FROM {schema}.page p JOIN {schema}.checkpoint c USING (connector_id) WHERE p.page_id = %(page_id)s;

-- restart --
UPDATE {schema}.checkpoint SET cursor = %(cursor)s, start_cursor = %(cursor)s
 WHERE connector_id = %(connector_id)s AND fence = %(fence)s AND owner IS NOT NULL
RETURNING pass_no;

-- forget_cursor --
-- Its origin does not know it any more. What the connector remembers stays: a listing from the beginning says what of it is to.
UPDATE {schema}.checkpoint SET cursor = NULL, start_cursor = NULL
 WHERE connector_id = %(connector_id)s AND fence = %(fence)s AND owner IS NOT NULL;

-- release_lease --
UPDATE {schema}.checkpoint SET owner = NULL, run = NULL, lease_until = NULL, is_paused = %(is_paused)s, waits_for = NULL
 WHERE connector_id = %(connector_id)s AND fence = %(fence)s;

-- note_sync --
UPDATE {schema}.connector SET last_sync_at = CASE WHEN %(error)s::text IS NULL THEN clock_timestamp() ELSE last_sync_at END,
       last_error = %(error)s
 WHERE connector_id = %(connector_id)s;

-- forget_old_pages --
-- With the pages go the cuts of what they staged and never published; the rest of that staging awaits collection.
WITH cuts AS (
  DELETE FROM {schema}.cut WHERE rev_id IN (
    SELECT i.rev_id FROM {schema}.page_item i JOIN {schema}.page p USING (page_id)
     WHERE p.connector_id = %(connector_id)s AND p.pass_no < %(pass_no)s AND i.rev_id IS NOT NULL))
DELETE FROM {schema}.page WHERE connector_id = %(connector_id)s AND pass_no < %(pass_no)s;

-- failed_sources --
-- What a sync reports as failed: this connector's sources that the pass saw, or all of them if it saw changes alone, that hold
-- no healthy text; and what it listed although it is somebody else's.
SELECT source_id, state, reason, count(*) OVER () AS total FROM (
  SELECT s.source_id, i.state, i.reason
    FROM {schema}.membership m JOIN {schema}.source s USING (source_pk) JOIN {schema}.ingestion i USING (source_pk)
   WHERE m.connector_id = %(connector_id)s AND (m.pass_no = %(pass_no)s OR EXISTS (
           SELECT FROM {schema}.page p WHERE p.connector_id = %(connector_id)s AND p.pass_no = %(pass_no)s AND NOT p.is_whole))
     AND i.state IN ('no_text', 'encrypted', 'too_large', 'unsupported', 'failed', 'quarantined')
  UNION ALL
  SELECT x ->> 'source_id', x ->> 'state', x ->> 'reason'
    FROM {schema}.page p
   CROSS JOIN jsonb_array_elements(p.result -> 'failures') x
   WHERE p.connector_id = %(connector_id)s AND p.pass_no = %(pass_no)s
     AND (SELECT i.outcome FROM {schema}.page_item i
           WHERE i.page_id = p.page_id AND i.source_id = x ->> 'source_id' LIMIT 1) = 'owned') f
 ORDER BY source_id LIMIT 100;

-- unlisted_parts --
SELECT u ->> 'path' AS path, u ->> 'reason' AS reason
  FROM {schema}.page p, jsonb_array_elements(p.unlisted) u
 WHERE p.connector_id = %(connector_id)s AND p.pass_no = %(pass_no)s ORDER BY p.seq, 1 LIMIT 100;

-- last_generation --
-- The last that was published, which readers may be kept from.
SELECT CASE WHEN sc.pinned THEN b.head_gen ELSE sc.live_gen END
  FROM {schema}.connector c JOIN {schema}.scope sc USING (scope_id) JOIN {schema}.build b ON b.build_id = sc.live_build
 WHERE c.connector_id = %(connector_id)s;

-- note_audit --
INSERT INTO {schema}.audit (scope_id, actor, action, detail)
SELECT scope_id, %(actor)s, %(action)s, jsonb_build_object('connector', name) || %(detail)s FROM {schema}.connector WHERE connector_id = %(connector_id)s;
