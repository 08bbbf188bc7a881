-- Requests of hosts, and what their parts have done.

-- claim --
INSERT INTO {schema}.request (scope_id, workflow, request_id, payload_sha256, workflow_id, run_id)
SELECT scope_id, %(workflow)s, %(request_id)s, %(payload_sha256)s, %(workflow_id)s, %(run_id)s
  FROM {schema}.scope WHERE tenant_id = %(tenant_id)s AND resource_id = %(resource_id)s AND corpus_id = %(corpus_id)s
ON CONFLICT DO NOTHING;

-- find --
SELECT r.request_no, r.payload_sha256, r.result, r.workflow_id, r.run_id
  FROM {schema}.request r JOIN {schema}.scope s USING (scope_id)
 WHERE s.tenant_id = %(tenant_id)s AND s.resource_id = %(resource_id)s AND s.corpus_id = %(corpus_id)s
   AND r.workflow = %(workflow)s AND r.request_id = %(request_id)s;

-- take_over --
UPDATE {schema}.request SET workflow_id = %(workflow_id)s, run_id = %(run_id)s
 WHERE request_no = %(request_no)s AND result IS NULL
   AND workflow_id IS NOT DISTINCT FROM %(old_workflow_id)s AND run_id IS NOT DISTINCT FROM %(old_run_id)s;

-- finish --
UPDATE {schema}.request SET result = %(result)s, finished_at = clock_timestamp() WHERE request_no = %(request_no)s AND result IS NULL;

-- forget_idle --
DELETE FROM {schema}.request r
 WHERE r.request_no = %(request_no)s AND r.result IS NULL
   AND NOT EXISTS (SELECT FROM {schema}.request_step s WHERE s.request_no = r.request_no)
   AND NOT EXISTS (SELECT FROM {schema}.page p WHERE p.request_no = r.request_no);

-- release --
UPDATE {schema}.request SET workflow_id = NULL, run_id = NULL WHERE request_no = %(request_no)s AND result IS NULL;

-- step --
SELECT result FROM {schema}.request_step WHERE request_no = %(request_no)s AND step = %(step)s;

-- note_step --
INSERT INTO {schema}.request_step (request_no, step, result) VALUES (%(request_no)s, %(step)s, %(result)s);

-- audit --
INSERT INTO {schema}.audit (scope_id, actor, action, detail) VALUES (%(scope_id)s, %(actor)s, %(action)s, %(detail)s);
