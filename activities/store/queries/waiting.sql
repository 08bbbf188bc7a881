-- Waiting: the run that has a connector's lease waits for its origin.

-- note_wait --
-- What it was told at each attempt stands there; that it began to wait, or goes on, is so only once.
UPDATE {schema}.checkpoint k SET waits_for = %(why)s::text
  FROM {schema}.connector c JOIN {schema}.scope s USING (scope_id)
  JOIN (SELECT connector_id, waits_for FROM {schema}.checkpoint WHERE connector_id = %(connector_id)s FOR NO KEY UPDATE) was
    USING (connector_id)
 WHERE k.connector_id = %(connector_id)s AND k.fence = %(fence)s AND k.owner IS NOT NULL
   AND k.waits_for IS DISTINCT FROM %(why)s::text AND c.connector_id = k.connector_id
RETURNING s.tenant_id || '/' || s.resource_id || '/' || s.corpus_id AS corpus, c.name,
          (was.waits_for IS NULL) <> (%(why)s::text IS NULL) AS is_new;
