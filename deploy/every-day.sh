#!/bin/sh
# Runs a command at 02:15 UTC each day, for ever, where nothing else keeps time (compose). The first line of /tmp/every-day says how the last run ended.
set -u
trap 'exit 0' TERM INT
while :; do
  seconds=$(node -p '(26.25 * 3600 - (Date.now() / 1000) % 86400) % 86400 | 0')
  sleep "$((seconds + 1))" & wait $!
  if "$@"; then echo ok >/tmp/every-day; else echo failed >/tmp/every-day; fi
done
