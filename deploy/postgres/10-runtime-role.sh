#!/bin/sh
# The role that gateways log in as. It owns nothing; `gateway migrate` grants it what a gateway needs.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$(cat /run/secrets/runtime_password)" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
CREATE ROLE gateway_runtime LOGIN PASSWORD :'password';
SQL
