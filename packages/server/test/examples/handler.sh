#!/bin/sh
# The command that worker.sh runs in the tests: the same two tasks as worker.py has, and one that answers nonsense.
job=$(cat)
value() { printf %s "$job" | sed -n 's/.*"'"$1"'" *: *"\{0,1\}\([^",}]*\).*/\1/p'; }
case $(value task_name) in
  greet)
    name=$(value name)
    if [ -z "$name" ]; then echo 'the payload has no name' >&2; exit 100; fi
    printf '{"greeting":"Hello, %s"}\n' "$name"
    ;;
  wait)
    sleep "$(value seconds)" &
    trap 'kill $!; exit 143' TERM
    wait
    printf '{"waited":%s}\n' "$(value seconds)"
    ;;
  nonsense) echo '[1]' ;;
  *) printf 'no handler for "%s" in C:\\tasks\n\t\001' "$(value task_name)" >&2; exit 1 ;;
esac
