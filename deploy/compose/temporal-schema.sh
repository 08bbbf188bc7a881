#!/bin/sh
# Bring the schemas of Temporal's two databases up to date, from whatever version they have.
set -eu
schemas=/etc/temporal/schema/postgresql/v12

sql_tool() {
    database="$1"
    shift
    # The password is in SQL_PASSWORD, where the tool looks for it: arguments can be read by every process.
    temporal-sql-tool --plugin "$DB" --ep "$POSTGRES_SEEDS" --port "$DB_PORT" --user "$POSTGRES_USER" \
        --db "$database" "$@"
}

# The first step fails where the version table exists, and changes nothing then; the second is the one that counts.
sql_tool "$DBNAME" setup-schema -v 0.0 || echo "$DBNAME has a schema already."
sql_tool "$DBNAME" update-schema -d "$schemas/temporal/versioned"
sql_tool "$VISIBILITY_DBNAME" setup-schema -v 0.0 || echo "$VISIBILITY_DBNAME has a schema already."
sql_tool "$VISIBILITY_DBNAME" update-schema -d "$schemas/visibility/versioned"
