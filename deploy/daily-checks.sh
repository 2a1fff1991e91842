#!/bin/sh
# The daily checks: daily-checks.sh [ledger] [audit] [reconcile], all of them where none is named. reconcile compares yesterday (UTC) with every
# provider that has an account here. Where LEDGER_MINUTES is set, the ledger is checked for so long a night, and what changed in it every night. Exits 1 where one found a difference or could not be made; the others are made all the same.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=0
gateway() { node src/gateway.js "$@" || failed=1; }

ledger() {
  if [ -z "${LEDGER_MINUTES:-}" ]; then
    gateway ledger verify
    return
  fi
  gateway ledger verify --minutes "$LEDGER_MINUTES"
  gateway ledger verify --changed
}

reconcile() {
  day=$(node -p 'new Date(Date.now() - 86400000).toISOString().slice(0, 10)')
  listed=$(node src/gateway.js provider list --json) || { failed=1 && return; }
  providers=$(printf '%s' "$listed" | node -p '
    const rows = JSON.parse(require("node:fs").readFileSync(0, "utf8"))
    ;[...new Set(rows.filter((row) => row.registered).map((row) => row.provider))].join(" ")')
  for provider in $providers; do gateway reconcile "$provider" --day "$day"; done
}

[ $# -gt 0 ] || set -- ledger audit reconcile
for check in "$@"; do
  case $check in
    ledger) ledger ;;
    audit) gateway audit verify ;;
    reconcile) reconcile ;;
    *) echo "there is no check $check: ledger, audit or reconcile" >&2 && exit 2 ;;
  esac
done
exit "$failed"
