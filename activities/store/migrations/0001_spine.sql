-- 0001: the spine.
-- What: scopes, builds and their live pointer; sources with grants and fences; immutable revisions and chunks behind
--       spans; and the bookkeeping of a sync. {schema} stands for the configured schema, quoted.
-- Why:  a revision becomes visible, or stops being so, by writing one small span row under one lock on its scope.
--       Everything slow (reading, parsing, embedding, inserting chunks) happens before, as invisible staging.
-- Locks: new objects only.
--
-- Rules for every writer
--   1. The scope row is locked first (SELECT … FOR NO KEY UPDATE), then source rows. The other order deadlocks.
--   2. A transaction that has staged does not take the scope lock: stage, commit, then publish.
--   3. revision.base_gen is read before the content is read at its origin: that lets a delete beat a staged replacement.
--   4. Visible  <=>  span.build_id = the pointer's build and gen_from <= the pointer's generation < gen_to
--                    and gen_from > source.fence_gen
--                    and no tombstone on the source (reason 'corrected' apart) or on a lineage parent
--                    and a grant, and a label that is allowed.      Only the first line can be rolled back.

CREATE TABLE {schema}.space (                        -- vectors compare only inside one space
  space_id          int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  embedder_spec     text NOT NULL,                   -- how a worker loads it: 'onnx:minilm'
  embedder_identity text COLLATE "C" NOT NULL,       -- what decides the vectors
  dimensions        int NOT NULL CHECK (dimensions BETWEEN 1 AND 4096),
  max_tokens        int NOT NULL CHECK (max_tokens > 0),
  chunker           text COLLATE "C" NOT NULL,       -- chunking profile, the token limit included
  UNIQUE (embedder_identity, dimensions, chunker)
);

CREATE TABLE {schema}.scope (
  scope_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id   text COLLATE "C" NOT NULL,
  resource_id text COLLATE "C" NOT NULL,
  corpus_id   text COLLATE "C" NOT NULL,
  head_gen    bigint NOT NULL DEFAULT 0,             -- last generation taken; never goes back
  live_build  bigint,                                -- the live pointer:
  live_gen    bigint NOT NULL DEFAULT 0,             --   what readers see
  UNIQUE (tenant_id, resource_id, corpus_id)
) WITH (fillfactor = 50);

CREATE TABLE {schema}.build (                        -- one full index of a scope in one space
  build_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope_id   bigint NOT NULL REFERENCES {schema}.scope,
  space_id   int NOT NULL REFERENCES {schema}.space,
  state      text NOT NULL DEFAULT 'live' CHECK (state IN ('building', 'live', 'retired')),
  slab       int NOT NULL DEFAULT 0,                 -- partition of chunk: 0 is shared by all small builds
  head_gen   bigint NOT NULL DEFAULT 0,              -- last generation that changed this build; rolled back <=> live_gen < head_gen
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX build_one_live ON {schema}.build (scope_id) WHERE state = 'live';
ALTER TABLE {schema}.scope ADD FOREIGN KEY (live_build) REFERENCES {schema}.build;

CREATE TABLE {schema}.pointer_log (                  -- which build showed which generation, and why it was taken
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope_id bigint NOT NULL REFERENCES {schema}.scope,
  build_id bigint NOT NULL REFERENCES {schema}.build,
  gen      bigint NOT NULL,
  kind     text NOT NULL CHECK (kind IN ('publish', 'delete', 'fork', 'rollback')),
  sources  int NOT NULL DEFAULT 0,
  at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX pointer_log_gen ON {schema}.pointer_log (scope_id, gen, id);

CREATE TABLE {schema}.connector (
  connector_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope_id     bigint NOT NULL REFERENCES {schema}.scope,
  name         text COLLATE "C" NOT NULL,
  kind         text NOT NULL,
  config       jsonb NOT NULL DEFAULT '{}',          -- folder: {"root": path, "access": rule}; no secrets
  rule_version bigint NOT NULL DEFAULT 0,            -- raised when a person gives a new access rule
  last_sync_at timestamptz,
  last_error   text,
  UNIQUE (scope_id, name)
);

CREATE TABLE {schema}.grantee (                      -- exact strings to ints; an unknown name has no int, so it is denied
  grantee_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id  text COLLATE "C" NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('principal', 'group', 'everyone')),
  name       text COLLATE "C" NOT NULL,
  CHECK ((kind = 'everyone') = (name = '')),         -- one 'everyone' a tenant
  UNIQUE (tenant_id, kind, name)
);

CREATE TABLE {schema}.source (                       -- identity, access and fence: outside generations
  source_pk      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope_id       bigint NOT NULL REFERENCES {schema}.scope,
  source_id      text COLLATE "C" NOT NULL CHECK (length(source_id) BETWEEN 1 AND 256 AND position('#' IN source_id) = 0),
  owner          bigint REFERENCES {schema}.connector, -- connector that published it first; NULL: a host
  grants         int[] NOT NULL DEFAULT '{}',        -- grantees without expiry; empty: readable by nobody
  expiring       int[] NOT NULL DEFAULT '{}',        -- grantees with a row in expiring_grant: the cheap first test
  access_version bigint NOT NULL DEFAULT 0,          -- raised whenever grants change; 0: never set
  sensitivity    smallint NOT NULL DEFAULT 1,        -- 0 public, 1 internal, 2 confidential, 3 restricted; of the newest publish
  fence_gen      bigint NOT NULL DEFAULT 0,          -- ordinary delete: hides every span begun at or before it, in every build
  revision       int NOT NULL DEFAULT 0,             -- last public revision number given
  read_seq       bigint NOT NULL DEFAULT 0,          -- source sequence: raised each time the content is read
  UNIQUE (scope_id, source_id)
) WITH (fillfactor = 70);
CREATE INDEX source_grants ON {schema}.source USING gin (grants) WITH (fastupdate = off);     -- a pending list would be scanned by every reader
CREATE INDEX source_expiring ON {schema}.source USING gin (expiring) WITH (fastupdate = off);

CREATE TABLE {schema}.expiring_grant (               -- compared with statement_timestamp(): ends by itself
  source_pk  bigint NOT NULL REFERENCES {schema}.source ON DELETE CASCADE,
  grantee_id int NOT NULL REFERENCES {schema}.grantee,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (source_pk, grantee_id)
);

CREATE TABLE {schema}.membership (                   -- which connectors hold a source
  connector_id bigint NOT NULL REFERENCES {schema}.connector,
  source_pk    bigint NOT NULL REFERENCES {schema}.source,
  pass_no      bigint NOT NULL,                      -- last pass that saw it: what a sweep compares
  rule_version bigint NOT NULL DEFAULT 0,            -- connector.rule_version its grants were made from; 0: none yet
  PRIMARY KEY (connector_id, source_pk)
) WITH (fillfactor = 70);
CREATE INDEX membership_source ON {schema}.membership (source_pk);

CREATE TABLE {schema}.tombstone (                    -- by public id, outside generations; hides the id and what rests on it
  scope_id   bigint NOT NULL REFERENCES {schema}.scope,
  id         text COLLATE "C" NOT NULL,
  reason     text NOT NULL CHECK (reason IN ('corrected', 'revoked', 'forgotten', 'legal_hold')),
  gen        bigint NOT NULL,
  source_seq bigint NOT NULL DEFAULT 0,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (scope_id, id)
);

CREATE TABLE {schema}.document_version (             -- the normalised text of one revision, once, shared by all builds
  version_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope_id     bigint NOT NULL REFERENCES {schema}.scope,
  source_pk    bigint NOT NULL REFERENCES {schema}.source,
  revision     int,                                  -- public number, given at publish; NULL while staged
  content_hash bytea NOT NULL,                       -- SHA-256 of text, title and metadata
  source_seq   bigint NOT NULL,
  sensitivity  smallint NOT NULL DEFAULT 1,
  title        text,
  uri          text,
  metadata     jsonb NOT NULL DEFAULT '{}',
  locators     jsonb NOT NULL DEFAULT '[]',          -- offsets of pages and headings, for a citation's place
  text         text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (source_pk, revision)
);

CREATE TABLE {schema}.lineage (                      -- the ids a derived document rests on, in order
  scope_id      bigint NOT NULL REFERENCES {schema}.scope,
  version_id    bigint NOT NULL REFERENCES {schema}.document_version ON DELETE CASCADE,
  ord           smallint NOT NULL,
  parent_id     text COLLATE "C" NOT NULL,           -- a source id or a chunk id
  parent_source text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(parent_id, '#', 1)) STORED,
  PRIMARY KEY (version_id, parent_id)
);
CREATE INDEX lineage_parent ON {schema}.lineage (scope_id, parent_source);

CREATE TABLE {schema}.revision (                     -- one immutable chunk set: a document version in a build
  rev_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope_id    bigint NOT NULL REFERENCES {schema}.scope,
  build_id    bigint NOT NULL REFERENCES {schema}.build,
  source_pk   bigint NOT NULL REFERENCES {schema}.source,
  version_id  bigint NOT NULL REFERENCES {schema}.document_version,
  source_seq  bigint NOT NULL,
  sensitivity smallint NOT NULL,
  is_derived  boolean NOT NULL DEFAULT false,        -- has lineage: others skip that probe
  base_gen    bigint NOT NULL,                       -- scope.head_gen before the content was read
  n_chunks    int NOT NULL CHECK (n_chunks >= 0),
  staged_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX revision_source ON {schema}.revision (build_id, source_pk);
CREATE INDEX revision_version ON {schema}.revision (version_id);

CREATE TABLE {schema}.span (                         -- visibility: the only rows that publish, delete and fork write for readers
  rev_id      bigint NOT NULL REFERENCES {schema}.revision,
  gen_from    bigint NOT NULL,
  gen_to      bigint NOT NULL DEFAULT 9223372036854775807,
  build_id    bigint NOT NULL,
  source_pk   bigint NOT NULL,
  version_id  bigint NOT NULL,
  source_seq  bigint NOT NULL,
  sensitivity smallint NOT NULL,
  is_derived  boolean NOT NULL,
  CHECK (gen_from < gen_to),
  PRIMARY KEY (rev_id, gen_from)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX span_one_open ON {schema}.span (build_id, source_pk) WHERE gen_to = 9223372036854775807;
CREATE INDEX span_source ON {schema}.span (source_pk, build_id, gen_to);
CREATE INDEX span_build ON {schema}.span (build_id, gen_to, gen_from);

CREATE TABLE {schema}.chunk (                        -- immutable
  slab         int NOT NULL,
  rev_id       bigint NOT NULL,
  chunk_no     int NOT NULL,                         -- from 1
  scope_id     bigint NOT NULL,
  start_cp     int NOT NULL,                         -- code points of document_version.text
  end_cp       int NOT NULL,
  emb          halfvec NOT NULL,                     -- dimensions belong to the build's space; checked when staged
  input_sha256 bytea NOT NULL,                       -- of the exact embedder input: the key of embedding reuse
  metadata     jsonb NOT NULL DEFAULT '{}',          -- heading, page
  body         text NOT NULL,
  PRIMARY KEY (slab, rev_id, chunk_no)
) PARTITION BY LIST (slab);
-- MAIN: inline while the row fits a page, so that an exact scan never fetches vectors out of line; above about 3,500
-- dimensions, where PLAIN would refuse the row, it moves out.
ALTER TABLE {schema}.chunk ALTER emb SET STORAGE MAIN;
CREATE TABLE {schema}.chunk_s0 PARTITION OF {schema}.chunk FOR VALUES IN (0);
CREATE INDEX chunk_reuse ON {schema}.chunk USING hash (input_sha256);

CREATE TABLE {schema}.ingestion (                    -- status of one source; grants nothing
  source_pk      bigint PRIMARY KEY REFERENCES {schema}.source,
  state          text NOT NULL CHECK (state IN ('pending', 'indexed', 'partial', 'empty', 'no_text', 'encrypted', 'too_large',
                                                'unsupported', 'denied', 'failed', 'quarantined')),
  freshness      text NOT NULL DEFAULT 'current' CHECK (freshness IN ('current', 'stale', 'unavailable')),
  reason         text,
  bytes          bigint NOT NULL DEFAULT 0,
  chunks         int NOT NULL DEFAULT 0,
  source_version text,                               -- connector's version of what was last read; NULL: read again
  raw_sha256     bytea,                              -- of the bytes that the readable text was made from
  parser         text,                               -- parser and its version that read them
  updated_at     timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 70);

CREATE TABLE {schema}.checkpoint (                   -- where a connector is; moved by compare-and-swap after its page is published
  connector_id bigint PRIMARY KEY REFERENCES {schema}.connector,
  version      bigint NOT NULL DEFAULT 0,            -- raised by one with every page
  cursor       text,                                 -- where the pass that is under way goes on
  start_cursor text,                                 -- where the next pass begins: the last page of a finished one moves it
  page_id      bigint,                               -- the page that moved it last: what makes a repeat harmless
  pass_no      bigint NOT NULL DEFAULT 0,
  is_paused    boolean NOT NULL DEFAULT false,       -- stopped by max_pages: the next sync goes on with this pass
  owner        text,                                 -- lease: the workflow id,
  run          text,                                 --   its run,
  lease_until  timestamptz,                          --   until when,
  fence        bigint NOT NULL DEFAULT 0             --   and a number that grows with every new holder
);

CREATE TABLE {schema}.page (                         -- one listed page: the truth on resume
  page_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connector_id bigint NOT NULL REFERENCES {schema}.connector,
  build_id     bigint NOT NULL REFERENCES {schema}.build,
  pass_no      bigint NOT NULL,
  seq          int NOT NULL,                         -- position in the pass, from 1
  fence        bigint NOT NULL,                      -- of the lease it was listed under
  rule_version bigint NOT NULL DEFAULT 0,            -- connector.rule_version its items' grants were made from
  cursor_out   text NOT NULL,
  is_complete  boolean NOT NULL,                     -- the listing ended with this page or before; what follows is the sweep
  sweep_after  text COLLATE "C",                     -- last source id this page sweeps
  is_last      boolean NOT NULL,
  listed       int NOT NULL DEFAULT 0,               -- documents seen, the unchanged included
  skipped      int NOT NULL DEFAULT 0,               -- of those, unchanged and healthy
  known_failed int NOT NULL DEFAULT 0,               -- of those, unchanged and failed before
  unlisted     jsonb NOT NULL DEFAULT '[]',          -- parts that could not be listed
  state        text NOT NULL DEFAULT 'listed' CHECK (state IN ('listed', 'prepared', 'published')),
  in_flight    int[] NOT NULL DEFAULT '{}',          -- items being read: counted before they are tried
  result       jsonb,                                -- counters of the publish: what a repeat returns
  at           timestamptz NOT NULL DEFAULT now(),
  UNIQUE (connector_id, pass_no, seq)
);

CREATE TABLE {schema}.page_item (
  page_id   bigint NOT NULL REFERENCES {schema}.page ON DELETE CASCADE,
  ord       int NOT NULL,
  kind      text NOT NULL CHECK (kind IN ('upsert', 'grants', 'delete')),
  source_id text COLLATE "C" NOT NULL,
  locator   text NOT NULL DEFAULT '',
  path      text NOT NULL DEFAULT '',
  version   text,                                    -- as listed
  grants    jsonb,                                   -- NULL: leave the grants as they are
  attempts  int NOT NULL DEFAULT 0,
  alone     boolean NOT NULL DEFAULT false,          -- after a worker died with several in flight: tried by itself
  status    jsonb,                                   -- what reading it gave; NULL: not read yet
  rev_id    bigint REFERENCES {schema}.revision,
  outcome   text,                                    -- what publishing it did
  PRIMARY KEY (page_id, ord),
  UNIQUE (page_id, source_id)                        -- a page says one thing about a source: a fence would hide what it publishes
);

CREATE TABLE {schema}.cut (                          -- where a staged revision's chunks lie, until it is published
  rev_id   bigint PRIMARY KEY REFERENCES {schema}.revision ON DELETE CASCADE,
  starts   int[] NOT NULL,
  ends     int[] NOT NULL,
  sha256   bytea[] NOT NULL,
  metadata jsonb NOT NULL                            -- one object a chunk
);

CREATE TABLE {schema}.batch (                        -- what one embed_batch does: at most 128 chunks
  page_id   bigint NOT NULL REFERENCES {schema}.page ON DELETE CASCADE,
  batch_no  int NOT NULL,
  rev_ids   bigint[] NOT NULL,                       -- parallel to
  chunk_nos int[] NOT NULL,
  embedded  int NOT NULL DEFAULT 0,
  reused    int NOT NULL DEFAULT 0,
  is_done   boolean NOT NULL DEFAULT false,
  PRIMARY KEY (page_id, batch_no)
);

CREATE TABLE {schema}.staged_content (               -- larger content of hosts, in parts, before it is named in a request
  content_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  scope_id   bigint NOT NULL REFERENCES {schema}.scope,
  media_type text NOT NULL,
  bytes      bigint NOT NULL DEFAULT 0,
  sha256     bytea,
  opened_at  timestamptz NOT NULL DEFAULT now(),
  closed_at  timestamptz
);
CREATE TABLE {schema}.staged_part (
  content_id uuid NOT NULL REFERENCES {schema}.staged_content ON DELETE CASCADE,
  part       int NOT NULL,
  data       bytea NOT NULL,
  PRIMARY KEY (content_id, part)
);

CREATE TABLE {schema}.request (                      -- what makes a host's request idempotent, whatever the workflow id
  scope_id       bigint NOT NULL REFERENCES {schema}.scope,
  workflow       text NOT NULL,
  request_id     text COLLATE "C" NOT NULL,
  payload_sha256 bytea NOT NULL,
  result         jsonb,                              -- NULL: running
  at             timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope_id, workflow, request_id)
);

CREATE TABLE {schema}.audit (                        -- who asked for what: ids and counts, never text
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  scope_id bigint REFERENCES {schema}.scope,
  actor    text,
  action   text NOT NULL,
  detail   jsonb NOT NULL DEFAULT '{}'
);
