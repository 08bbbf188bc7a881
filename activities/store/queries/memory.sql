-- A connector's memory: what is durable of it, and the writes of pages that were listed and not yet passed by the checkpoint.

-- pending_writes --
-- Of the pass's pages before this one, those that the checkpoint has still to pass.
SELECT p.memory
  FROM {schema}.page p JOIN {schema}.checkpoint c USING (connector_id)
 WHERE p.connector_id = %(connector_id)s AND p.pass_no = %(pass_no)s AND p.seq < %(seq)s AND p.memory IS NOT NULL
   AND p.seq > coalesce((SELECT q.seq FROM {schema}.page q WHERE q.page_id = c.page_id AND q.pass_no = p.pass_no), 0)
 ORDER BY p.seq;

-- links_of --
SELECT node, parent, record, due FROM {schema}.link
 WHERE connector_id = %(connector_id)s AND node = ANY (%(nodes)s) ORDER BY node, parent;

-- children_of --
SELECT node, parent, record, due FROM {schema}.link
 WHERE connector_id = %(connector_id)s AND parent = %(parent)s AND node > %(after)s AND node <> ALL (%(hidden)s)
 ORDER BY node LIMIT %(limit)s;

-- due_links --
-- OFFSET 0: the few that are due are found by their own index, and only then compared with those that are hidden.
SELECT l.node, l.parent, l.record, l.due
  FROM (SELECT * FROM {schema}.link WHERE connector_id = %(connector_id)s AND due IS NOT NULL OFFSET 0) l
 WHERE l.node <> ALL (%(nodes)s)
   AND NOT EXISTS (SELECT FROM unnest(%(hidden_nodes)s::text[], %(hidden_parents)s::text[]) AS h (node, parent)
                    WHERE h.node = l.node AND h.parent = l.parent)
 ORDER BY l.node, l.parent LIMIT %(limit)s;

-- writes_of --
SELECT connector_id, memory FROM {schema}.page WHERE page_id = %(page_id)s AND memory IS NOT NULL;

-- forget_all --
DELETE FROM {schema}.link WHERE connector_id = %(connector_id)s;

-- forget_nodes --
DELETE FROM {schema}.link WHERE connector_id = %(connector_id)s AND node = ANY (%(nodes)s);

-- forget_links --
DELETE FROM {schema}.link l USING unnest(%(nodes)s::text[], %(parents)s::text[]) AS f (node, parent)
 WHERE l.connector_id = %(connector_id)s AND l.node = f.node AND l.parent = f.parent;

-- put_links --
INSERT INTO {schema}.link AS l (connector_id, node, parent, record, due)
SELECT %(connector_id)s, x.node, x.parent, x.record, x.due
  FROM jsonb_to_recordset(%(links)s::jsonb) AS x (node text, parent text, record jsonb, due text)
 ORDER BY x.node, x.parent
ON CONFLICT (connector_id, node, parent) DO UPDATE SET record = excluded.record, due = excluded.due
 WHERE (l.record, l.due) IS DISTINCT FROM (excluded.record, excluded.due);
