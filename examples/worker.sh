#!/bin/sh
# A Millrace worker for any program: leases a job, passes it as JSON to a command on its standard input, and reports
# how it ended.
#
#   MILLRACE_WORKER_TOKEN=... worker.sh QUEUE COMMAND [ARGUMENT...]
#
# Exit code 0: completed; standard output, if any, is the result, a JSON object. Exit code 100: failed for good. Exit
# code 101: the command does not know the task; another worker gets the job, a minute later. Any other: failed, to be
# retried. Standard error is the error text. If the job is cancelled or its lease is lost, the command gets SIGTERM.
# QUEUE is percent-encoded; LEASE_SECS, if set, is at least 2. Needs sh, curl 7.71, sed, grep, tr, tail, mktemp.

# Passes the conformance kit (docs/conformance.md) with one job at a time, except: 16 (an unanswered heartbeat is not
# repeated within 2 s), 26 and 27 (no time limit on SIGTERM, nothing is given back), 32 (no references between steps).
[ $# -ge 2 ] && [ -n "$MILLRACE_WORKER_TOKEN" ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
api=${MILLRACE_URL:-http://localhost:8000}/api/v1 lease=${LEASE_SECS:-30} queue=$1 stopping=
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'stopping=1' TERM INT

post() { # posts standard input to path $3 and prints the status; file $1 gets the answer. Retries $2 times.
  curl -s -o "$dir/$1" -w '%{http_code}' --max-time 30 --retry "$2" --retry-delay 2 --retry-all-errors \
    -H "Authorization: Bearer $MILLRACE_WORKER_TOKEN" -H 'Content-Type: application/json' --data-binary @- "$api$3"
}

keep() { # extends the lease until killed; stops process $1 once the lease is lost
  while sleep $((lease / 2)); do
    status=$(printf '{"lease_token":"%s","extend_secs":%d}' "$token" "$lease" | post beat 1 "/jobs/$id/heartbeat")
    case $status in 200) grep -q '"running"' "$dir/beat" && continue ;; 404 | 409) ;; *) continue ;; esac
    : >"$dir/lost"
    kill "$1"
    return
  done
}

fail() { # reports exit code $1 and the end of standard error, reduced to plain text
  error=$(tail -c 4000 "$dir/err" | LC_ALL=C tr '\n\t' '  ' | LC_ALL=C tr -cd ' -~' | sed 's/[\\"]/\\&/g')
  retryable=true
  [ "$1" -eq 100 ] && retryable=false
  printf '{"lease_token":"%s","error":"exit code %d: %s","retryable":%s}' "$token" "$1" "$error" "$retryable" |
    post answer "$lease" "/jobs/$id/fail" >/dev/null
}

run() { # runs the job in file `leased`, where the id comes first and the token last; line breaks are white space
  tr '\n\r' '  ' <"$dir/leased" >"$dir/line"
  token=$(sed 's/.*"lease_token":"\([^"]*\)"}\]}$/\1/' "$dir/line")
  sed 's/^{"jobs":\[{"job"://; s/,"lease_token":"[^"]*"}\]}$//' "$dir/line" >"$dir/job"
  id=$(sed 's/^{"id":"\([^"]*\)".*/\1/' "$dir/job")
  rm -f "$dir/lost"
  "$@" <"$dir/job" >"$dir/out" 2>"$dir/err" &
  command=$!
  keep "$command" >/dev/null 2>&1 &
  keeper=$!
  wait "$command"; code=$?
  while kill -0 "$command" 2>/dev/null; do wait "$command"; code=$?; done # a signal to us interrupted the wait
  kill "$keeper" 2>/dev/null
  if [ -e "$dir/lost" ]; then return; fi
  if [ "$code" -eq 101 ]; then
    printf '{"lease_token":"%s","delay_secs":60}' "$token" | post answer "$lease" "/jobs/$id/release" >/dev/null
    return
  fi
  if [ "$code" -ne 0 ]; then fail "$code"; return; fi
  [ -s "$dir/out" ] || echo '{}' >"$dir/out"
  status=$({ printf '{"lease_token":"%s","result":' "$token"; cat "$dir/out"; echo '}'; } |
    post answer "$lease" "/jobs/$id/complete")
  case $status in 400 | 413) echo 'the server does not accept the output as a result' >"$dir/err"; fail 100 ;; esac
}

while [ -z "$stopping" ]; do
  status=$(printf '{"max_jobs":1,"lease_secs":%d,"wait_secs":5}' "$lease" | post leased 0 "/queues/$queue/lease")
  case $status in
    200) if grep -q '"lease_token"' "$dir/leased"; then run "$@"; fi ;;
    4*) echo "the server refuses to lease: $status" >&2; exit 1 ;; # a wrong token or queue name; no retry will help
    *) sleep 2 ;;
  esac
done
