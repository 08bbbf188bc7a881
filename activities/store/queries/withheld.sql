-- Withheld: documents that are held, or known, and shown to nobody.

-- withheld --
-- Codes as they are; a sentence names a document, and is one of two kinds: what it rests on is hidden, or its origin refused it.
SELECT CASE WHEN i.reason ~ '^[a-z_]+$' THEN i.reason WHEN starts_with(i.reason, 'It rests on ') THEN 'hidden' ELSE 'refused' END
         AS reason, count(*)
  FROM {schema}.ingestion i JOIN {schema}.membership m USING (source_pk)
 WHERE m.connector_id = %(connector_id)s AND (i.state = 'denied' OR i.freshness = 'unavailable')
 GROUP BY 1;
