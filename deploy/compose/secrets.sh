#!/bin/sh
# Makes `.env` and the files of `secrets/` beside this script, each with a random value, and leaves alone what is there.
# Needs openssl. The name of the first tenant is the argument; `default` without one.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets

random() {
  openssl rand -hex 32
}

# The directory keeps everybody else out. The files are for the account in the containers, which reaches them through
# mounts and has no other right to them.
keep() {
  [ -e "secrets/$1" ] || printf '%s\n' "$2" > "secrets/$1"
  chmod 0644 "secrets/$1"
}

keep api-keys "$(random):${1:-default}"
keep jwt-secret "$(random)"
keep worker-token "$(random) *"
keep admin-token "$(random)"

[ -e .env ] || while IFS= read -r line; do
  case $line in
    *PASSWORD=) printf '%s%s\n' "$line" "$(random)" ;;
    *) printf '%s\n' "$line" ;;
  esac
done < .env.example > .env
