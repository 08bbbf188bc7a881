-- 0002: the whole life of a source.
-- What: pinning and collecting generations, builds beside the live one and in partitions of their own, what hosts push,
--       requests that are carried out once, tombstones that remember what they were set on, moves that are under way.
-- Why:  all that happens to a source after it was published first.
-- Locks: new objects; columns with constant defaults, which rewrite no table. Milliseconds, but for two indexes of source,
--       which are made anew: a second for each 100,000 sources.
--
-- More rules for every writer (the first four are in 0001)
--   5. Rolled back  <=>  NOT scope.pinned and scope.live_gen < build.head_gen of the live build. Whatever must not cause a fork
--      (grants, tombstones) leaves build.head_gen alone.
--   6. A building build takes no generation: its spans begin at scope.head_gen, so that any later deletion ends and hides them.

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

ALTER TABLE {schema}.tombstone                       -- whoever writes one holds its scope's lock, and no scope is ever deleted:
  DROP CONSTRAINT tombstone_scope_id_fkey,           --   looking the scope up for each of thousands took a third of their time
  ADD root           text COLLATE "C",               -- the source whose propagation set it
  ADD source_version text;                           -- connector's version of what was forgotten: only a newer one clears it

ALTER TABLE {schema}.document_version                -- with text and locators all that decides the cuts: a re-index reads no origin
  ADD is_markdown boolean,                           -- NULL: from before this migration
  ADD headings    jsonb;                             -- [start, level, title] each; NULL: the text shows its headings, or has none

ALTER TABLE {schema}.source
  ADD renewed_gen bigint NOT NULL DEFAULT 0;         -- when a newer text last took the place of a forgotten one: what was read before
                                                     -- that and rests on this source may rest on what was forgotten

-- What is granted to nobody is looked for by nobody: without the empty ones a row that is written, moved or forgotten makes
-- one entry of an inverted index, or none, where it made two.
DROP INDEX {schema}.source_grants, {schema}.source_expiring;
CREATE INDEX source_grants ON {schema}.source USING gin (grants) WITH (fastupdate = off) WHERE grants <> '{}';
CREATE INDEX source_expiring ON {schema}.source USING gin (expiring) WITH (fastupdate = off) WHERE expiring <> '{}';

CREATE TABLE {schema}.forward (                      -- a source that was given another id, and the edges that still name the old one
  scope_id bigint NOT NULL,                          -- written under its scope's lock, as tombstones are
  from_id  text COLLATE "C" NOT NULL,
  to_id    text COLLATE "C" NOT NULL,
  is_done  boolean NOT NULL DEFAULT false,           -- false: lineage is rewritten page by page; both ids mean the same
  chunks   int NOT NULL DEFAULT 0,                   -- what all pages of the last move did together, for its audit
  edges    bigint NOT NULL DEFAULT 0,
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (scope_id, from_id, to_id)
);
CREATE INDEX forward_from ON {schema}.forward (scope_id, from_id) WHERE NOT is_done; -- few: what was moved wholly is no entry
CREATE INDEX forward_to ON {schema}.forward (scope_id, to_id) WHERE NOT is_done;

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

ALTER TABLE {schema}.page SET (fillfactor = 70);     -- both are written several times before they are done
ALTER TABLE {schema}.page_item SET (fillfactor = 70);
ALTER TABLE {schema}.page_item                       -- with the page first, a plan made on an empty table took this one for the primary
  DROP CONSTRAINT page_item_page_id_source_id_key,   --   key as often as not, and read the whole page for each of its documents
  ADD UNIQUE (source_id, page_id),
  ADD version_id        bigint REFERENCES {schema}.document_version ON DELETE CASCADE, -- reindex: the text that is carried over
  ADD expected_revision int;                         -- host: publish only if this is the revision readers see; 0: none

CREATE INDEX page_item_version ON {schema}.page_item (version_id) WHERE version_id IS NOT NULL;
CREATE INDEX page_item_rev ON {schema}.page_item (rev_id) WHERE rev_id IS NOT NULL;     -- deleting a revision asks for it
CREATE INDEX page_build ON {schema}.page (build_id);

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
  source_seq   bigint NOT NULL,                      -- source.read_seq and scope.head_gen when the request was accepted:
  base_gen     bigint NOT NULL,                      --   what orders it among other writers, however late it is read
  source_pk    bigint NOT NULL REFERENCES {schema}.source, -- the row that had its id then: a deletion fences that one
  PRIMARY KEY (page_id, ord),
  FOREIGN KEY (page_id, ord) REFERENCES {schema}.page_item ON DELETE CASCADE
);

CREATE INDEX ingest_item_content ON {schema}.ingest_item (content_id);
CREATE INDEX staged_content_at ON {schema}.staged_content (opened_at);

ALTER TABLE {schema}.batch                           -- how a passage that ends its worker inside the embedder is found out
  ADD is_tried    boolean NOT NULL DEFAULT false,    -- an attempt is under way, or was when its worker ended
  ADD is_careful  boolean NOT NULL DEFAULT false,    -- a worker ended in it: one passage at a time from now on
  ADD suspect_rev bigint,                            -- the passage that is tried alone,
  ADD suspect_no  int,
  ADD tries       int NOT NULL DEFAULT 0;            --   and how often in a row

-- Content of hosts, handed in under the role <schema>_host, which may call these three functions and nothing else. They run
-- with the rights of their owner. Whoever knows the id of a content may go on with it: ids are random and never listed. The
-- bodies name no schema, since they are quoted and its name may hold any quotes; each function has its own search path.
CREATE FUNCTION {schema}.stage_open(tenant text, resource text, corpus text, media_type text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $body$
DECLARE
  fault  text;
  opened uuid;
BEGIN
  SELECT v.name INTO fault FROM (VALUES ('tenant', tenant), ('resource', resource), ('corpus', corpus)) AS v (name, value)
   WHERE (v.value COLLATE "C" ~ '^[A-Za-z0-9._@~-]{1,64}$') IS NOT TRUE LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% must be 1 to 64 characters of A-Z a-z 0-9 . _ @ ~ -.', fault USING ERRCODE = '22023';
  END IF;
  IF (length(media_type) BETWEEN 1 AND 256) IS NOT TRUE THEN
    RAISE EXCEPTION 'media_type must be 1 to 256 characters: text/markdown, or application/octet-stream if it is not known.'
      USING ERRCODE = '22023';
  END IF;
  INSERT INTO scope (tenant_id, resource_id, corpus_id) VALUES (tenant, resource, corpus) ON CONFLICT DO NOTHING;
  INSERT INTO staged_content (scope_id, media_type)
  SELECT s.scope_id, stage_open.media_type FROM scope s
   WHERE s.tenant_id = tenant AND s.resource_id = resource AND s.corpus_id = corpus
  RETURNING content_id INTO STRICT opened;
  RETURN opened;
END $body$;

-- A part that is sent again is a replay, as long as it holds the same bytes.
CREATE FUNCTION {schema}.stage_append(content uuid, part int, data bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $body$
DECLARE
  part_max  CONSTANT int := 65535;
  part_most CONSTANT int := 33554432;
  most      CONSTANT bigint := 268435456;
  held      bigint;
  is_closed boolean;
  is_same   boolean;
BEGIN
  IF content IS NULL OR part IS NULL OR data IS NULL OR part NOT BETWEEN 0 AND part_max THEN
    RAISE EXCEPTION 'stage_append takes the id of a content, the number of a part from 0 or 1 to %, and its bytes.', part_max
      USING ERRCODE = '22023';
  END IF;
  IF octet_length(data) > part_most THEN
    RAISE EXCEPTION 'Part % has more than % bytes: send it in several parts.', part, part_most USING ERRCODE = '54000';
  END IF;
  SELECT c.bytes, c.closed_at IS NOT NULL INTO held, is_closed FROM staged_content c WHERE c.content_id = content
     FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'Content % is not there: it was never opened, was used, or was not used for a day; open another one.', content
      USING ERRCODE = 'P0002';
  END IF;
  SELECT p.data = stage_append.data INTO is_same FROM staged_part p WHERE p.content_id = content AND p.part = stage_append.part;
  IF is_same THEN
    RETURN;
  ELSIF NOT is_same THEN
    RAISE EXCEPTION 'Part % of content % was sent before with other bytes: open another content.', part, content
      USING ERRCODE = '55000';
  ELSIF is_closed THEN
    RAISE EXCEPTION 'Content % is closed: open another one for more bytes.', content USING ERRCODE = '55000';
  ELSIF held + octet_length(data) > most THEN
    RAISE EXCEPTION 'Content % would have more than % bytes, which is the most that is taken.', content, most
      USING ERRCODE = '54000';
  END IF;
  INSERT INTO staged_part (content_id, part, data) VALUES (content, stage_append.part, stage_append.data);
  UPDATE staged_content c SET bytes = c.bytes + octet_length(stage_append.data) WHERE c.content_id = content;
END $body$;

-- The number of bytes, when all parts are there and their SHA-256 is the one that is named. A repeat says the same.
CREATE FUNCTION {schema}.stage_close(content uuid, sha256 bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $body$
DECLARE
  held        bigint;
  closed_with bytea;
  parts       bigint;
  first_part  int;
  last_part   int;
  digest      bytea;
BEGIN
  IF content IS NULL OR (octet_length(sha256) = 32) IS NOT TRUE THEN
    RAISE EXCEPTION 'stage_close takes the id of a content and the 32 bytes of its SHA-256.' USING ERRCODE = '22023';
  END IF;
  SELECT c.bytes, c.sha256 INTO held, closed_with FROM staged_content c WHERE c.content_id = content FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'Content % is not there: it was never opened, was used, or was not used for a day; open another one.', content
      USING ERRCODE = 'P0002';
  END IF;
  IF closed_with IS NULL THEN
    SELECT count(*), min(p.part), max(p.part) INTO parts, first_part, last_part FROM staged_part p WHERE p.content_id = content;
    IF parts > 0 AND (first_part > 1 OR last_part - first_part + 1 <> parts) THEN
      RAISE EXCEPTION 'Content % lacks parts: it has % up to number %; send the missing ones, counted from 0 or 1.',
        content, parts, last_part USING ERRCODE = '55000';
    END IF;
    SELECT pg_catalog.sha256(coalesce(string_agg(p.data, ''::bytea ORDER BY p.part), ''::bytea)) INTO digest
      FROM staged_part p WHERE p.content_id = content;
  ELSE
    digest := closed_with;
  END IF;
  IF digest <> stage_close.sha256 THEN
    RAISE EXCEPTION 'The SHA-256 of the % bytes of content % is another one: send what is missing, or open another content.',
      held, content USING ERRCODE = '55000';
  END IF;
  UPDATE staged_content c SET sha256 = digest, closed_at = clock_timestamp() WHERE c.content_id = content AND c.closed_at IS NULL;
  RETURN held;
END $body$;

REVOKE ALL ON FUNCTION {schema}.stage_open, {schema}.stage_append, {schema}.stage_close FROM PUBLIC;
COMMENT ON FUNCTION {schema}.stage_open IS
  'Opens content for a corpus and returns its id. Unused for a day, it is collected.';
COMMENT ON FUNCTION {schema}.stage_append IS
  'Adds a part: numbered from 0 or 1 without holes, at most 32 MiB each and 256 MiB together. The same part twice is a replay.';
COMMENT ON FUNCTION {schema}.stage_close IS
  'Ends the content, if that is the SHA-256 of all its parts, and returns how many bytes it has. Its id may be named in IngestSources.';
