-- Whether a connector holds what its feed of changes may never name again, and which has to be listed all the same. What is hidden is
-- left alone until its tombstone goes, and what is withheld or was refused until its origin says something new.

-- lost --
-- What was listed and not read, what readers saw and see no more, and what is to be granted anew: few, by indexes of their own.
-- No row: it is not known that all that the connector holds was read by these parsers.
SELECT EXISTS (
  SELECT FROM {schema}.membership m
   CROSS JOIN LATERAL (SELECT * FROM {schema}.ingestion WHERE source_pk = m.source_pk LIMIT 1) i
   CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE source_pk = m.source_pk LIMIT 1) s
   WHERE m.connector_id = %(connector_id)s AND m.access = '' AND i.state <> 'denied' AND i.freshness <> 'unavailable'
     AND NOT EXISTS (
           SELECT FROM {schema}.tombstone t WHERE t.scope_id = s.scope_id AND t.id = s.source_id AND t.reason <> 'corrected'))
  OR EXISTS (
  SELECT FROM (SELECT source_pk FROM {schema}.ingestion
                WHERE state <> 'denied' AND freshness <> 'unavailable'
                  AND (state = 'pending' OR state IN ('indexed', 'partial', 'empty') AND source_version IS NULL) OFFSET 0) i
   CROSS JOIN LATERAL (
     SELECT source_pk FROM {schema}.membership WHERE connector_id = %(connector_id)s AND source_pk = i.source_pk LIMIT 1) m
   CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE source_pk = i.source_pk LIMIT 1) s
   WHERE NOT EXISTS (
           SELECT FROM {schema}.tombstone t WHERE t.scope_id = s.scope_id AND t.id = s.source_id AND t.reason <> 'corrected'))
  FROM {schema}.checkpoint WHERE connector_id = %(connector_id)s AND read_with = %(read_with)s;

-- behind --
-- All of that, and what was granted by an older rule or read by another parser: each document of the connector is looked up. In the
-- order of a key, and LATERAL with LIMIT 1: joined, the planner read the statuses or the memberships of all corpora.
SELECT EXISTS (
  SELECT FROM (SELECT * FROM {schema}.membership WHERE connector_id = %(connector_id)s ORDER BY source_pk) m
   CROSS JOIN LATERAL (SELECT * FROM {schema}.ingestion WHERE source_pk = m.source_pk LIMIT 1) i
   CROSS JOIN LATERAL (SELECT * FROM {schema}.source WHERE source_pk = m.source_pk LIMIT 1) s
   WHERE (m.rule_version < %(rule_version)s
          OR i.state <> 'denied' AND i.freshness <> 'unavailable'
             AND (i.state = 'pending' OR m.access = '' OR i.parser <> ALL (%(parsers)s)
                  OR i.state IN ('indexed', 'partial', 'empty') AND i.source_version IS NULL))
     AND NOT EXISTS (
           SELECT FROM {schema}.tombstone t WHERE t.scope_id = s.scope_id AND t.id = s.source_id AND t.reason <> 'corrected'));

-- note_read_with --
UPDATE {schema}.checkpoint SET read_with = %(read_with)s WHERE connector_id = %(connector_id)s;
