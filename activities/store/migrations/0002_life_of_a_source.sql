-- 0002: the whole life of a source.
-- What: pinning and collecting generations, builds beside the live one and in partitions of their own, what hosts push,
--       requests that are carried out once, tombstones that remember what they were set on, moves that are under way.
-- Why:  all that happens to a source after it was published first.
-- Locks: new objects; columns with constant defaults, which rewrite no table. Milliseconds.
--
-- More rules for every writer (the first four are in 0001)
--   5. Rolled back  <=>  NOT scope.pinned and scope.live_gen < build.head_gen of the live build. Whatever must not cause a fork
--      (grants, tombstones) leaves build.head_gen alone.
--   6. A building build takes no generation: its spans begin at scope.head_gen + 1, so that any later deletion hides them.

ALTER TABLE {schema}.scope
  ADD pinned     boolean NOT NULL DEFAULT false,     -- readers stay where the pointer is; publishing goes on at the build's head
  ADD min_gen    bigint NOT NULL DEFAULT 0,          -- oldest generation that can still be shown
  ADD held_until timestamptz;                        -- publishing waits until then: a re-index is about to flip

ALTER TABLE {schema}.build
  DROP CONSTRAINT build_state_check,
  ADD CONSTRAINT build_state_check CHECK (state IN ('building', 'live', 'retired', 'dropping')),
  ADD ended_at timestamptz;                          -- when it stopped being live, or was given up
CREATE UNIQUE INDEX build_one_building ON {schema}.build (scope_id) WHERE state = 'building';

CREATE SEQUENCE {schema}.slab_seq AS int;            -- partitions of chunk: chunk_s1, chunk_s2, …

ALTER TABLE {schema}.pointer_log
  DROP CONSTRAINT pointer_log_kind_check,
  ADD CONSTRAINT pointer_log_kind_check
    CHECK (kind IN ('publish', 'delete', 'fork', 'rollback', 'flip', 'pin', 'unpin'));

ALTER TABLE {schema}.tombstone
  ADD root           text COLLATE "C",               -- the source whose propagation set it
  ADD source_version text;                           -- connector's version of what was forgotten: only a newer one clears it

CREATE TABLE {schema}.forward (                      -- a source that was given another id, and the edges that still name the old one
  scope_id bigint NOT NULL REFERENCES {schema}.scope,
  from_id  text COLLATE "C" NOT NULL,
  to_id    text COLLATE "C" NOT NULL,
  is_done  boolean NOT NULL DEFAULT false,           -- false: lineage is rewritten page by page; both ids mean the same
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (scope_id, from_id, to_id)
);
CREATE INDEX forward_to ON {schema}.forward (scope_id, to_id);

ALTER TABLE {schema}.request
  ADD request_no  bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  ADD workflow_id text,                              -- who carries it out; NULL: nobody, and the next who asks does
  ADD run_id      text,
  ADD finished_at timestamptz;
CREATE INDEX request_at ON {schema}.request (at);

CREATE TABLE {schema}.request_step (                 -- what a part of a request did, written in the transaction that did it
  request_no bigint NOT NULL REFERENCES {schema}.request (request_no) ON DELETE CASCADE,
  step       text COLLATE "C" NOT NULL,
  result     jsonb NOT NULL,
  PRIMARY KEY (request_no, step)
);

ALTER TABLE {schema}.page
  ALTER connector_id DROP NOT NULL,                  -- NULL: a host's page, or one of a re-index
  ADD kind       text NOT NULL DEFAULT 'sync' CHECK (kind IN ('sync', 'ingest', 'reindex')),
  ADD request_no bigint REFERENCES {schema}.request (request_no) ON DELETE SET NULL,
  ALTER pass_no SET DEFAULT 0,
  ALTER seq SET DEFAULT 0,
  ALTER fence SET DEFAULT 0,
  ALTER cursor_out SET DEFAULT '',
  ALTER is_complete SET DEFAULT true,
  ALTER is_last SET DEFAULT true,
  ADD CHECK ((kind = 'sync') = (connector_id IS NOT NULL));
CREATE UNIQUE INDEX page_request ON {schema}.page (request_no) WHERE request_no IS NOT NULL;
CREATE UNIQUE INDEX page_of_build ON {schema}.page (build_id, seq) WHERE kind = 'reindex';

ALTER TABLE {schema}.page_item
  ADD version_id        bigint REFERENCES {schema}.document_version ON DELETE CASCADE, -- reindex: the text that is carried over
  ADD expected_revision int;                         -- host: publish only if this is the revision readers see; 0: none

CREATE TABLE {schema}.ingest_item (                  -- what a host said of a document it pushes, beside its page_item
  page_id      bigint NOT NULL,
  ord          int NOT NULL,
  content_id   uuid NOT NULL,                        -- of staged_content; inline text is staged too
  media_type   text,
  title        text,
  uri          text,
  metadata     jsonb NOT NULL DEFAULT '{}',
  sensitivity  smallint,                             -- NULL: internal
  lineage      text[] NOT NULL DEFAULT '{}',
  content_hash text,                                 -- the host's own, in lower case: equal ones are not read again
  PRIMARY KEY (page_id, ord),
  FOREIGN KEY (page_id, ord) REFERENCES {schema}.page_item ON DELETE CASCADE
);

CREATE INDEX staged_content_at ON {schema}.staged_content (opened_at);

ALTER TABLE {schema}.batch                           -- how a passage that ends its worker inside the embedder is found out
  ADD is_tried    boolean NOT NULL DEFAULT false,    -- an attempt is under way, or was when its worker ended
  ADD is_careful  boolean NOT NULL DEFAULT false,    -- a worker ended in it: one passage at a time from now on
  ADD suspect_rev bigint,                            -- the passage that is tried alone,
  ADD suspect_no  int,
  ADD tries       int NOT NULL DEFAULT 0;            --   and how often in a row
