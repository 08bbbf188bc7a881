-- 0003: origins that say what changed.
-- What: what a connector remembers of its origin; what an origin says besides a document's content: how it is shown, and who may
--       read it; whether a pass listed all there is; connectors that were removed.
-- Why:  a feed of changes names what changed and not where it lies, and what it does not name is not gone. A document that
--       is renamed is not read again, and grants that its origin changed are applied without a new rule.
-- Locks: new objects; columns with constant defaults, which rewrite no table; indexes of the sources that failed, are withheld or are
--       to be listed again, for which the table ingestion is read three times: three seconds for each million; one of memberships, still empty.

CREATE TABLE {schema}.link (                         -- a connector's memory: a node under a parent; a root's parent is ''
  connector_id bigint NOT NULL REFERENCES {schema}.connector ON DELETE CASCADE,
  node         text COLLATE "C" NOT NULL,
  parent       text COLLATE "C" NOT NULL,
  record       jsonb NOT NULL DEFAULT '{}',          -- the connector's own
  due          text,                                 -- what is still to be done with the node, in the connector's words
  PRIMARY KEY (connector_id, node, parent)
) WITH (fillfactor = 70);
CREATE INDEX link_parent ON {schema}.link (connector_id, parent, node);
CREATE INDEX link_due ON {schema}.link (connector_id, node, parent) WHERE due IS NOT NULL;

ALTER TABLE {schema}.page
  ADD memory   jsonb,                                -- what the connector wrote into its memory; done when the checkpoint moves
  ADD is_whole boolean NOT NULL DEFAULT true;        -- the pass lists all there is: what it did not see is gone

ALTER TABLE {schema}.page_item
  ADD label  text,                                   -- fingerprint of what is shown of it, as listed
  ADD access text,                                   -- fingerprint of its grants, as listed; NULL: the connector's rule decides
  ADD faults smallint NOT NULL DEFAULT 0;            -- how often its origin failed at it, and at it alone

ALTER TABLE {schema}.ingestion
  ADD label   text,                                  -- connector's label of what was last read; goes with source_version
  ADD read_as text;                                  -- what name and media type said of how it is read; NULL: it had no bytes
CREATE INDEX ingestion_failed ON {schema}.ingestion (source_pk)
  WHERE state IN ('no_text', 'encrypted', 'too_large', 'unsupported', 'failed', 'quarantined');

CREATE INDEX ingestion_lost ON {schema}.ingestion (source_pk)  -- to be listed again, whatever a feed of changes says
  WHERE state <> 'denied' AND freshness <> 'unavailable'
    AND (state = 'pending' OR state IN ('indexed', 'partial', 'empty') AND source_version IS NULL);

ALTER TABLE {schema}.checkpoint
  ADD read_with text;                                -- parsers by which all that the connector holds was seen to be read

CREATE INDEX ingestion_withheld ON {schema}.ingestion (source_pk) WHERE state = 'denied' OR freshness = 'unavailable';

ALTER TABLE {schema}.checkpoint
  ADD waits_for text;                                -- why the run that has the lease waits; NULL: it does not

ALTER TABLE {schema}.connector
  ADD removed_at timestamptz;                        -- it is no more, and its row stays for the sources that it left behind

ALTER TABLE {schema}.membership
  ADD access text;                                   -- fingerprint of the grants that were applied last; NULL: of none; '': they
                                                     -- went, and are to be said again
CREATE INDEX membership_lost ON {schema}.membership (connector_id) WHERE access = '';
