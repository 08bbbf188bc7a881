-- take_lock --
-- One migration at a time for each schema of a database; released with the session, however that ends.
SELECT pg_advisory_lock(hashtextextended('headwater.migrate ' || %(schema)s, 0));

-- server --
SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding;

-- extension --
SELECT e.extversion AS version, n.nspname AS schema, to_regtype('halfvec') IS NOT NULL AS on_path
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';

-- create_extension --
CREATE EXTENSION IF NOT EXISTS vector;

-- has_schema --
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s);

-- create_schema --
CREATE SCHEMA IF NOT EXISTS {schema};

-- has_ledger --
SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = %(schema)s AND tablename = 'migration');

-- create_ledger --
CREATE TABLE {schema}.migration (
  number     int PRIMARY KEY,
  name       text NOT NULL,
  sha256     text NOT NULL,                            -- of the file as it was applied
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- applied --
SELECT number, name, sha256 FROM {schema}.migration ORDER BY number;

-- record --
INSERT INTO {schema}.migration (number, name, sha256) VALUES (%(number)s, %(name)s, %(sha256)s);

-- reader --
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %(role)s) AS is_there,
       (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS may_create,
       EXISTS (SELECT FROM pg_roles r WHERE r.rolname = %(role)s AND has_schema_privilege(r.oid, %(schema)s, 'USAGE')) AS is_granted;

-- create_reader --
CREATE ROLE {reader} NOLOGIN;

-- grant_reader_usage --
GRANT USAGE ON SCHEMA {schema} TO {reader};

-- grant_reader --
-- What a reader needs and no more.
GRANT SELECT ON {schema}.space, {schema}.scope, {schema}.build, {schema}.pointer_log, {schema}.grantee, {schema}.source,
  {schema}.expiring_grant, {schema}.tombstone, {schema}.document_version, {schema}.lineage, {schema}.revision,
  {schema}.span, {schema}.chunk, {schema}.connector TO {reader};

-- words --
-- The reader once more, for what came with migration 0004.
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %(role)s) AS is_there,
       (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS may_create,
       EXISTS (SELECT FROM pg_roles r WHERE r.rolname = %(role)s AND has_table_privilege(r.oid, c.oid, 'SELECT')) AS is_granted
  FROM pg_class c WHERE c.relname = 'term_df' AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s);

-- create_words --
CREATE ROLE {reader} NOLOGIN;

-- grant_words_usage --
GRANT USAGE ON SCHEMA {schema} TO {reader};

-- grant_words --
GRANT SELECT ON {schema}.term_df TO {reader};

-- host --
-- `is_granted` asks for the function: of the schema `public` everybody has the usage.
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %(role)s) AS is_there,
       (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS may_create,
       EXISTS (SELECT FROM pg_roles r WHERE r.rolname = %(role)s AND has_function_privilege(r.oid, f.oid, 'EXECUTE')) AS is_granted
  FROM pg_proc f WHERE f.proname = 'stage_close' AND f.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s);

-- create_host --
CREATE ROLE {host} NOLOGIN;

-- grant_host_usage --
GRANT USAGE ON SCHEMA {schema} TO {host};

-- grant_host --
-- Handing in content; nothing can be read or written otherwise.
GRANT EXECUTE ON FUNCTION {schema}.stage_open, {schema}.stage_append, {schema}.stage_close TO {host};
