#!/bin/sh
# PostgreSQL runs this once, on an empty volume: Temporal gets a role and databases of its own, and cannot read documents.
set -eu
psql --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set=password="$TEMPORAL_POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE temporal LOGIN PASSWORD :'password';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
SQL
