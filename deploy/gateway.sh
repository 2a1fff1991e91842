#!/bin/sh
# A command of the gateway with the settings of its container or unit: docker compose exec gateway-1 deploy/gateway.sh status
cd "$(dirname "$0")/.." && exec sh deploy/with-secrets.sh node src/gateway.js "$@"
