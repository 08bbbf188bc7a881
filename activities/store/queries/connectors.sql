-- ensure_connector --
-- A name keeps its kind: another kind under it changes nothing and returns no row. One that was removed goes on where it left
-- sources behind. A rule that is given as it is stored
-- already renews nothing: it would make an item of every document that did not change.
INSERT INTO {schema}.connector AS c (scope_id, name, kind, config, rule_version)
VALUES (%(scope_id)s, %(name)s, %(kind)s, %(config)s, %(new_rule)s::boolean::int)
ON CONFLICT (scope_id, name) DO UPDATE
SET config = excluded.config, removed_at = NULL,
    rule_version = c.rule_version
                 + CASE WHEN c.config -> 'access' IS DISTINCT FROM excluded.config -> 'access' THEN excluded.rule_version ELSE 0 END
WHERE c.kind = excluded.kind
RETURNING connector_id, scope_id, name, kind, config, rule_version;

-- config_of --
-- Until the transaction ends nobody else changes it. One that was removed has none.
SELECT config FROM {schema}.connector
WHERE scope_id = %(scope_id)s AND name = %(name)s AND removed_at IS NULL FOR NO KEY UPDATE;

-- ensure_checkpoint --
INSERT INTO {schema}.checkpoint (connector_id) VALUES (%(connector_id)s) ON CONFLICT DO NOTHING;

-- change_settings --
-- Only while no pass is under way; one that lost its lease and does not know it yet writes nothing more. What other settings
-- listed says nothing of these: the next pass lists everything.
WITH free AS (
  UPDATE {schema}.checkpoint
     SET cursor = NULL, start_cursor = NULL, is_paused = false, fence = fence + 1, owner = NULL, run = NULL, lease_until = NULL,
         waits_for = NULL
   WHERE connector_id = %(connector_id)s AND (owner IS NULL OR lease_until < now())
  RETURNING connector_id)
UPDATE {schema}.connector c SET config = %(config)s, last_error = NULL
  FROM free WHERE c.connector_id = free.connector_id
RETURNING c.connector_id;

-- find_connector --
SELECT c.connector_id, c.scope_id, c.name, c.kind, c.config, c.rule_version
FROM {schema}.connector c JOIN {schema}.scope s ON s.scope_id = c.scope_id
WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s AND c.name = %(name)s
  AND c.removed_at IS NULL;

-- connectors_of --
SELECT c.connector_id, c.scope_id, c.name, c.kind, c.config, c.rule_version
FROM {schema}.connector c JOIN {schema}.scope s ON s.scope_id = c.scope_id
WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s
  AND c.removed_at IS NULL
ORDER BY c.name;

-- placed_connectors --
-- Of all corpora or of one, of any name or of one.
SELECT s.tenant_id, s.resource_id, s.corpus_id, c.connector_id, c.scope_id, c.name, c.kind, c.config, c.rule_version,
       c.last_sync_at,
       coalesce((SELECT 'waiting: ' || k.waits_for FROM {schema}.checkpoint k WHERE k.connector_id = c.connector_id AND k.lease_until > now()),
                c.last_error) AS error,
       (SELECT count(*) FROM {schema}.membership m WHERE m.connector_id = c.connector_id) AS sources,
       (SELECT count(*) FROM {schema}.ingestion i JOIN {schema}.membership m USING (source_pk)
        WHERE m.connector_id = c.connector_id AND (i.state = 'denied' OR i.freshness = 'unavailable')) AS withheld
FROM {schema}.connector c JOIN {schema}.scope s USING (scope_id)
WHERE c.removed_at IS NULL AND (%(name)s::text IS NULL OR c.name = %(name)s)
  AND (%(tenant_id)s::text IS NULL
       OR (s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s))
ORDER BY s.tenant_id, s.resource_id, s.corpus_id, c.name;

-- connector_by_id --
SELECT connector_id, scope_id, name, kind, config, rule_version FROM {schema}.connector
WHERE connector_id = %(connector_id)s AND removed_at IS NULL;
