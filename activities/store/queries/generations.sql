-- The live pointer, moved by hand: to any retained generation, and held there.

-- lock_scope --
-- The one lock of a scope.
SELECT scope_id, head_gen, min_gen, live_build, live_gen, pinned FROM {schema}.scope
WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s
FOR NO KEY UPDATE;

-- build_head --
-- Read in a statement of its own, after the lock: the locking one still shows what it saw before it waited.
SELECT head_gen FROM {schema}.build WHERE build_id = %(build_id)s;

-- build_at --
-- The build that showed the generation. One that is being dropped shows nothing any more.
SELECT l.build_id, b.state IN ('live', 'retired') AS is_kept
FROM {schema}.pointer_log l JOIN {schema}.build b USING (build_id)
WHERE l.scope_id = %(scope_id)s AND l.gen <= %(gen)s AND l.kind IN ('publish', 'delete', 'fork', 'flip')
ORDER BY l.gen DESC, l.id DESC LIMIT 1;

-- oldest --
-- The first generation that can be shown: the floor of collection, or the first after it whose build is still there.
SELECT CASE WHEN c.is_kept THEN greatest(s.min_gen, c.gen) ELSE n.gen END AS gen
FROM {schema}.scope s
LEFT JOIN LATERAL (
  SELECT l.gen, b.state IN ('live', 'retired') AS is_kept
  FROM {schema}.pointer_log l JOIN {schema}.build b USING (build_id)
  WHERE l.scope_id = s.scope_id AND l.gen <= s.min_gen AND l.kind IN ('publish', 'delete', 'fork', 'flip')
  ORDER BY l.gen DESC, l.id DESC LIMIT 1) c ON true
LEFT JOIN LATERAL (
  SELECT l.gen FROM {schema}.pointer_log l JOIN {schema}.build b USING (build_id)
  WHERE l.scope_id = s.scope_id AND l.gen > s.min_gen AND l.kind IN ('publish', 'delete', 'fork', 'flip')
    AND b.state IN ('live', 'retired')
  ORDER BY l.gen LIMIT 1) n ON true
WHERE s.scope_id = %(scope_id)s;

-- retire_others --
UPDATE {schema}.build SET state = 'retired', ended_at = clock_timestamp()
WHERE scope_id = %(scope_id)s AND state = 'live' AND build_id <> %(build_id)s;

-- revive --
UPDATE {schema}.build SET state = 'live', ended_at = NULL WHERE build_id = %(build_id)s AND state = 'retired';

-- point --
WITH s AS (
  UPDATE {schema}.scope SET live_build = %(build_id)s, live_gen = %(gen)s, pinned = %(pinned)s
  WHERE scope_id = %(scope_id)s)
INSERT INTO {schema}.pointer_log (scope_id, build_id, gen, kind) VALUES (%(scope_id)s, %(build_id)s, %(gen)s, %(kind)s);

-- read_again --
-- What the next publication would replace is another text than before: whatever was found unchanged against that one is
-- read anew. Without this a document that was found equal to its old text during a rollback would never come back.
WITH before AS (
  SELECT source_pk, version_id FROM {schema}.span
  WHERE build_id = %(old_build)s AND gen_from <= %(old_gen)s AND gen_to > %(old_gen)s),
after AS (
  SELECT source_pk, version_id FROM {schema}.span
  WHERE build_id = %(new_build)s AND gen_from <= %(new_gen)s AND gen_to > %(new_gen)s)
UPDATE {schema}.ingestion i SET source_version = NULL, raw_sha256 = NULL
FROM before b FULL JOIN after a USING (source_pk)
WHERE b.version_id IS DISTINCT FROM a.version_id AND i.source_pk = coalesce(b.source_pk, a.source_pk)
  AND (i.source_version IS NOT NULL OR i.raw_sha256 IS NOT NULL);

-- mark_stale --
-- Sources whose shown text changed and is not the newest they had. What was said of them before stays, after a semicolon.
WITH before AS (
  SELECT source_pk, version_id FROM {schema}.span
  WHERE build_id = %(old_build)s AND gen_from <= %(old_gen)s AND gen_to > %(old_gen)s),
after AS (
  SELECT source_pk, version_id, gen_from FROM {schema}.span
  WHERE build_id = %(new_build)s AND gen_from <= %(new_gen)s AND gen_to > %(new_gen)s)
UPDATE {schema}.ingestion i
SET freshness = 'stale', reason = concat_ws('; ', 'rolled back', i.reason), updated_at = clock_timestamp()
FROM before b FULL JOIN after a USING (source_pk)
JOIN {schema}.source s ON s.source_pk = coalesce(b.source_pk, a.source_pk)
LEFT JOIN {schema}.document_version d ON d.version_id = a.version_id AND a.gen_from > s.fence_gen
WHERE b.version_id IS DISTINCT FROM a.version_id AND i.source_pk = s.source_pk
  AND i.freshness = 'current' AND d.revision IS DISTINCT FROM s.revision;

-- mark_current --
-- Sources that were stale for that reason and show their newest text again.
WITH before AS (
  SELECT source_pk, version_id FROM {schema}.span
  WHERE build_id = %(old_build)s AND gen_from <= %(old_gen)s AND gen_to > %(old_gen)s),
after AS (
  SELECT source_pk, version_id, gen_from FROM {schema}.span
  WHERE build_id = %(new_build)s AND gen_from <= %(new_gen)s AND gen_to > %(new_gen)s)
UPDATE {schema}.ingestion i
SET freshness = 'current', reason = nullif(substr(i.reason, length('rolled back; ') + 1), ''), updated_at = clock_timestamp()
FROM before b FULL JOIN after a USING (source_pk)
JOIN {schema}.source s ON s.source_pk = coalesce(b.source_pk, a.source_pk)
JOIN {schema}.document_version d ON d.version_id = a.version_id AND a.gen_from > s.fence_gen
WHERE b.version_id IS DISTINCT FROM a.version_id AND i.source_pk = s.source_pk
  AND i.freshness = 'stale' AND (i.reason = 'rolled back' OR starts_with(i.reason, 'rolled back; ')) AND d.revision = s.revision;

-- count_stale --
SELECT count(*) FROM {schema}.source s JOIN {schema}.ingestion i USING (source_pk)
WHERE s.scope_id = %(scope_id)s AND i.freshness = 'stale' AND starts_with(i.reason, 'rolled back');

-- place --
-- Where a corpus stands, for a listing.
SELECT s.scope_id, s.live_gen, s.live_build, s.pinned, s.head_gen FROM {schema}.scope s
WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s
  AND s.live_build IS NOT NULL;

-- generations --
-- Newest first. What the oldest one shows was made by the last row at or before it, which stands for it.
SELECT greatest(l.gen, s.min_gen) AS generation, l.build_id AS build, l.kind, l.at, l.sources,
       nullif(split_part(b.lexicon, ':', 2), '') AS language
FROM {schema}.scope s
JOIN {schema}.pointer_log l USING (scope_id)
JOIN {schema}.build b USING (build_id)
WHERE s.scope_id = %(scope_id)s AND l.kind IN ('publish', 'delete', 'fork', 'flip') AND b.state IN ('live', 'retired')
  AND l.gen >= coalesce((SELECT max(c.gen) FROM {schema}.pointer_log c
                         WHERE c.scope_id = %(scope_id)s AND c.gen <= s.min_gen
                           AND c.kind IN ('publish', 'delete', 'fork', 'flip')), 0)
ORDER BY l.gen DESC, l.id DESC LIMIT %(limit)s;
