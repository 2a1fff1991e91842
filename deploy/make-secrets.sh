#!/bin/sh
# Makes deploy/secrets for compose.yml, once: new passwords and a new master key. Others cannot enter the folder; its files must be readable by
# the users of the containers, into which each is mounted by itself. Back the master key up elsewhere.
set -eu
cd "$(dirname "$0")"
mkdir -m 700 secrets
owner=$(openssl rand -hex 24)
runtime=$(openssl rand -hex 24)
put() { printf '%s' "$2" >"secrets/$1" && chmod 444 "secrets/$1"; }
put owner_password "$owner"
put runtime_password "$runtime"
put MIGRATION_DATABASE_URL "postgres://gateway:$owner@postgres:5432/gateway"
put DATABASE_URL "postgres://gateway_runtime:$runtime@postgres:5432/gateway"
put MASTER_KEY "$(openssl rand -base64 32)"
put grafana_password "$(openssl rand -hex 24)"
put providers.env '# The accounts at the providers, NAME=value, as docs/settings.md names them.
'
