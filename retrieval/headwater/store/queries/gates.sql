-- What a reader may see. The store holds more: each gate is written once, here, is put in place by name, and stands before the
-- LIMIT. Every gate speaks of: pointer (the corpus, one row), asker (who asks), s (a source), sp (a span of it).

-- asker --
-- The names a reader goes by, as the numbers that grants are written in. A name nobody was granted has no number.
SELECT array_agg(g.grantee_id) AS names
FROM {schema}.grantee g
WHERE g.tenant_id = %(tenant)s
  AND ((g.kind = 'principal' AND g.name = %(principal)s)
    OR (g.kind = 'group' AND g.name = ANY (%(groups)s::text[]))
    OR (g.kind = 'everyone' AND g.name = ''))

-- granted --
-- A grant without an end, or one that has not ended yet. statement_timestamp: now() would let it live on in a long transaction.
-- The indexes leave out what is granted to nobody: without `<> '{}'` the planner takes neither. A scalar sub-select again: of
-- an EXISTS it makes a table of all that was ever lent to this reader, in every corpus (200,000 such grants: 990 ms instead
-- of 140).
(%(access_version)s::bigint IS NULL OR s.access_version = %(access_version)s)
AND (s.grants <> '{}' AND s.grants && (SELECT names FROM asker)
  OR (s.expiring <> '{}' AND s.expiring && (SELECT names FROM asker)
    AND (SELECT true FROM {schema}.expiring_grant e
         WHERE e.source_pk = s.source_pk AND e.grantee_id = ANY ((SELECT names FROM asker)::int[])
           AND e.expires_at > statement_timestamp() LIMIT 1)))

-- labelled --
-- With a label that may be shown. The greater one of source and revision counts, so that a rollback cannot lower one.
-- All spans of a revision have the revision's label, which never changes: where they are gathered, any of them tells it.
greatest(s.sensitivity, sp.sensitivity) = ANY (%(labels)s::smallint[])

-- alive --
-- Neither the source nor anything it rests on is tombstoned. A correction hides only what rests on it, not itself.
-- Scalar sub-selects with LIMIT: one probe of a primary key each, and the planner cannot turn them into joins.
(NOT (SELECT has_tombstones FROM pointer) OR (
  (SELECT true FROM {schema}.tombstone t
   WHERE t.scope_id = s.scope_id AND t.id = s.source_id AND t.reason <> 'corrected' LIMIT 1) IS NULL
  AND (NOT sp.is_derived OR
    (SELECT true FROM {schema}.lineage l
     WHERE l.version_id = sp.version_id AND l.parent_source <> s.source_id
       AND ((SELECT true FROM {schema}.tombstone t WHERE t.scope_id = s.scope_id AND t.id = l.parent_id LIMIT 1)
         OR (SELECT true FROM {schema}.tombstone t WHERE t.scope_id = s.scope_id AND t.id = l.parent_source LIMIT 1))
     LIMIT 1) IS NULL)))

-- visible --
-- Shown at the pointer, and begun after the last ordinary delete.
sp.build_id = (SELECT build_id FROM pointer)
AND sp.gen_from <= (SELECT generation FROM pointer) AND sp.gen_to > (SELECT generation FROM pointer)
AND sp.gen_from > s.fence_gen
