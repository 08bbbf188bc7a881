-- lock_scope --
-- The one lock of a scope.
SELECT head_gen, live_build, live_gen, pinned FROM {schema}.scope WHERE scope_id = %(scope_id)s FOR NO KEY UPDATE;

-- build_head --
-- Read in a statement of its own, after the lock: the locking one still shows what it saw before it waited.
SELECT head_gen FROM {schema}.build WHERE build_id = %(build_id)s;

-- fork --
-- The first publication after a rollback. What began after the pointer ends; what the pointer shows and has ended since
-- begins again. Both read one snapshot, so the spans that are opened are not among those that are closed; and closing
-- comes first, for the index that allows one open span a source. Fenced spans stay closed.
WITH shown AS (
  SELECT x.* FROM {schema}.span x JOIN {schema}.source s USING (source_pk)
  WHERE x.build_id = %(build_id)s AND x.gen_from <= %(live_gen)s AND x.gen_to > %(live_gen)s
    AND x.gen_to < 9223372036854775807 AND x.gen_from > s.fence_gen),
abandoned AS (
  UPDATE {schema}.span SET gen_to = %(gen)s
  WHERE build_id = %(build_id)s AND gen_from > %(live_gen)s AND gen_to = 9223372036854775807
  RETURNING rev_id),
opened AS (
  INSERT INTO {schema}.span (rev_id, gen_from, build_id, source_pk, version_id, source_seq, sensitivity, is_derived)
  SELECT rev_id, %(gen)s, build_id, source_pk, version_id, source_seq, sensitivity, is_derived
  FROM shown WHERE (SELECT count(*) FROM abandoned) >= 0
  RETURNING rev_id)
INSERT INTO {schema}.pointer_log (scope_id, build_id, gen, kind, sources)
SELECT %(scope_id)s, %(build_id)s, %(gen)s, 'fork', count(*) FROM opened;

-- move_pointer --
-- The moment at which readers see the change. A deletion while rolled back leaves the pointer where it was put, and so does
-- everything while it is pinned.
WITH b AS (UPDATE {schema}.build SET head_gen = %(gen)s WHERE build_id = %(build_id)s),
s AS (
  UPDATE {schema}.scope SET head_gen = %(gen)s, live_gen = CASE WHEN %(moves)s THEN %(gen)s ELSE live_gen END
  WHERE scope_id = %(scope_id)s)
INSERT INTO {schema}.pointer_log (scope_id, build_id, gen, kind, sources)
VALUES (%(scope_id)s, %(build_id)s, %(gen)s, %(kind)s, %(sources)s);

-- close_deleted --
-- In every build. What one that is being built would show from this generation on was never shown: it goes.
WITH never AS (
  DELETE FROM {schema}.span
  WHERE source_pk = ANY (%(source_pks)s) AND gen_to = 9223372036854775807 AND gen_from >= %(gen)s)
UPDATE {schema}.span SET gen_to = %(gen)s WHERE source_pk = ANY (%(source_pks)s) AND gen_to = 9223372036854775807 AND gen_from < %(gen)s;

-- fence_sources --
-- From here on nothing published before can be seen, wherever the pointer stands, and nothing staged before can be
-- published. Whoever brings the id back starts without grants and without an owner.
UPDATE {schema}.source
SET fence_gen = %(gen)s, grants = '{}', expiring = '{}', access_version = access_version + 1, owner = NULL
WHERE source_pk = ANY (%(source_pks)s);

-- forget_sources --
WITH i AS (DELETE FROM {schema}.ingestion WHERE source_pk = ANY (%(source_pks)s)),
e AS (DELETE FROM {schema}.expiring_grant WHERE source_pk = ANY (%(source_pks)s))
DELETE FROM {schema}.membership WHERE source_pk = ANY (%(source_pks)s);
