#!/bin/sh
# The gateway as a program: `gateway COMMAND` where it is installed (npm install -g .), with the settings of the environment, and with those of its
# container or unit: docker compose exec gateway-1 deploy/gateway.sh status. Paths are those of the folder that it is called from.
root=$(dirname "$(dirname "$(readlink -f "$0")")")
PATH="$root/node_modules/.bin:$PATH"
exec sh "$root/deploy/with-secrets.sh" \
  node --disable-sigusr1 --max-semi-space-size=16 --heap-growing-percent=100 "$root/src/gateway.js" "$@"
