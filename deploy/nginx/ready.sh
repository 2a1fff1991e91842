#!/bin/sh
# Keeps nginx from leading to processes that are not ready, which nginx cannot ask by itself:
#   ready.sh PROCESSES FILE RELOAD…     such as  ready.sh /etc/nginx/processes /etc/nginx/processes.conf nginx -s reload
# PROCESSES has a line for each process, "127.0.0.1:8010 127.0.0.1:8011": where it serves, and where its management port is. Each is asked for /readyz
# once a second. FILE is written anew, and nginx told, when one was not ready twice in a row, or is ready again. Runs until it is ended.
set -eu
processes=$1 file=$2
shift 2
failed=$(mktemp -d)
trap 'rm -rf "$failed"' EXIT
trap 'exit 0' TERM INT

# On loopback the management port answers to its own names only. Longer than the second in which the database has to answer it.
ask() {
  if curl -fs -o /dev/null --max-time 2 -H 'Host: localhost' "http://$2/readyz"; then
    rm -f "$failed/$1" "$failed/$1.again"
  elif [ -f "$failed/$1" ]; then
    touch "$failed/$1.again"
  else
    touch "$failed/$1"
  fi
}

lines() {
  while read -r address _; do
    if [ -f "$failed/$address.again" ]; then echo "server $address down;"; else echo "server $address max_fails=1 fail_timeout=2s;"; fi
  done <"$processes"
}

while :; do
  while read -r address management; do ask "$address" "$management" & done <"$processes"
  wait
  lines >"$file.new"
  if cmp -s "$file.new" "$file"; then
    rm "$file.new"
  else
    mv "$file.new" "$file"
    "$@" || echo "nginx was not told of $file" >&2
  fi
  sleep 1 & wait $!
done
