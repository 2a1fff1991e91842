#!/bin/sh
# Runs a command with settings from files, so that no secret stands in a container's or a unit's own environment:
#   each file whose name is a setting's (MASTER_KEY) holds that setting's value, and each file that ends in .env holds lines NAME=value.
# They are read from $CREDENTIALS_DIRECTORY, which systemd sets, or from /run/secrets. Where neither is there, the environment is as it was.
set -eu
for file in "${CREDENTIALS_DIRECTORY:-/run/secrets}"/*; do
  [ -f "$file" ] || continue
  name=${file##*/}
  case $name in
    *.env)
      while IFS= read -r line || [ -n "$line" ]; do
        case $line in
          '' | '#'*) ;;
          [A-Z]*=*) export "${line?}" ;;
          *) echo "$file: a line is not NAME=value" >&2 && exit 1 ;;
        esac
      done <"$file"
      ;;
    # A file that cannot be read ends this, as it does above: a gateway without DATABASE_URL would make a database of its own.
    [A-Z]*) value=$(cat "$file"); export "$name=$value" ;;
  esac
done
exec "$@"
