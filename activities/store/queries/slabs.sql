-- Partitions of chunk for large builds: made empty, filled, indexed last. {slab} and {dimensions} are whole numbers, written out
-- because a statement that makes a table takes no parameters.

-- take_turn --
-- One at a time makes or indexes a partition, an attempt whose worker is gone included: its session still holds this.
SELECT pg_try_advisory_lock(hashtextextended('headwater.slab ' || %(schema)s, %(slab)s));

-- end_turn --
SELECT pg_advisory_unlock(hashtextextended('headwater.slab ' || %(schema)s, %(slab)s));

-- is_there --
SELECT EXISTS (
  SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = %(schema)s AND c.relname = %(name)s);

-- create --
-- Made by itself and then attached: as PARTITION OF it would lock readers out of all chunks. Attaching makes the indexes that
-- every partition has, while it is empty.
CREATE TABLE IF NOT EXISTS {schema}.chunk_s{slab} (
  LIKE {schema}.chunk INCLUDING DEFAULTS INCLUDING STORAGE,
  CONSTRAINT chunk_s{slab}_slab CHECK (slab = {slab}));

-- attach --
ALTER TABLE {schema}.chunk ATTACH PARTITION {schema}.chunk_s{slab} FOR VALUES IN ({slab});

-- index_state --
-- Whether the index is there and whole. One that is there and not whole is what a broken attempt left.
SELECT i.indisvalid
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s;

-- drop_index --
DROP INDEX CONCURRENTLY IF EXISTS {schema}.chunk_s{slab}_hnsw;

-- drop_words --
DROP INDEX CONCURRENTLY IF EXISTS {schema}.chunk_s{slab}_tsv;

-- analyze --
ANALYZE {schema}.chunk_s{slab};

-- size --
SELECT c.reltuples::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s;

-- index_words --
-- Entries go in at once: a list of those that are still to go in would be read by every question.
CREATE INDEX CONCURRENTLY IF NOT EXISTS chunk_s{slab}_tsv ON {schema}.chunk_s{slab} USING gin (tsv, tiers) WITH (fastupdate = off);

-- index --
-- CONCURRENTLY: a deletion of chunks, which may hold a scope's lock, does not wait for it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS chunk_s{slab}_hnsw ON {schema}.chunk_s{slab}
USING hnsw ((emb::halfvec({dimensions})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);
