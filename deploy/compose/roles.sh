#!/bin/sh
# Runs once, when the image of PostgreSQL creates the database: the two roles of docs/operations.md, with the passwords
# of the environment. psql quotes them.
set -eu
psql --quiet --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname "$POSTGRES_DB" \
  --set owner_password="$MILLRACE_OWNER_PASSWORD" --set app_password="$MILLRACE_APP_PASSWORD" <<'SQL'
CREATE ROLE millrace_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE millrace_app LOGIN PASSWORD :'app_password';
CREATE SCHEMA millrace AUTHORIZATION millrace_owner;
GRANT USAGE ON SCHEMA millrace TO millrace_app;
ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA millrace
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO millrace_app;
SQL
