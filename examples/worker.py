#!/usr/bin/env python3
"""A Millrace worker, one job at a time. Usage: MILLRACE_WORKER_TOKEN=... worker.py QUEUE"""
# Passes the conformance kit (docs/conformance.md) with one job at a time, except for: 16 (an unanswered
# heartbeat is not repeated within 2 s), 26 and 27 (no time limit on SIGTERM, nothing is given back), 32 (no
# references between steps).
import http.client, json, os, signal, sys, threading, time, urllib.parse, urllib.request
from concurrent.futures import ThreadPoolExecutor, wait

if len(sys.argv) != 2 or "MILLRACE_WORKER_TOKEN" not in os.environ: sys.exit(__doc__)

API = os.environ.get("MILLRACE_URL", "http://localhost:8000") + "/api/v1"
HEAD = {"Authorization": "Bearer " + os.environ["MILLRACE_WORKER_TOKEN"], "Content-Type": "application/json"}
LEASE = int(os.environ.get("LEASE_SECS", "30"))

class Permanent(Exception): """Raised by a handler if a retry cannot help."""

def greet(payload, lost):
    if "name" not in payload: raise Permanent("the payload has no name")
    return {"greeting": "Hello, " + payload["name"]}

def pause(payload, lost):  # a long job checks `lost` now and then, and stops once it is set
    return lost.wait(payload["seconds"]) or {"waited": payload["seconds"]}

HANDLERS, stopping = {"greet": greet, "wait": pause}, threading.Event()

# The answer, or {"status": 4xx}, or {} after 5xx or silence, which it retries: the token makes that safe.
def post(path, tries=LEASE, **body):
    request = urllib.request.Request(API + path, json.dumps(body).encode(), HEAD)
    for _ in range(tries):
        try:
            return json.loads(urllib.request.urlopen(request, timeout=30).read() or "{}")
        except (OSError, ValueError, http.client.HTTPException) as error:
            if 400 <= getattr(error, "code", 503) < 500: return {"status": error.code}
        time.sleep(2)
    return {}

def run(job, token):
    path, lost = "/jobs/" + job["id"], threading.Event()
    if job["task_name"] not in HANDLERS:  # a newer worker may know it; the pause grows, and no retry is used
        delay = min(5 * 2 ** (job["delivery_count"] - 1), 300)
        return post(path + "/release", lease_token=token, delay_secs=delay)
    with ThreadPoolExecutor(1) as thread:  # waits for the handler, however this block ends
        work = thread.submit(lambda: HANDLERS[job["task_name"]](job["payload"], lost))
        while wait([work], LEASE / 2).not_done:
            beat = post(path + "/heartbeat", LEASE // 4 + 1, lease_token=token, extend_secs=LEASE)
            if beat.get("status", "running") != "running": return lost.set()  # a report is no longer wanted
    try:
        answer = post(path + "/complete", lease_token=token, result=work.result())
        if answer.get("status") in (400, 413): raise Permanent("the server does not accept the result")
    except Exception as error:
        post(path + "/fail", lease_token=token, error=repr(error), retryable=not isinstance(error, Permanent))

for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, lambda *_: stopping.set())
while not stopping.is_set():
    leased = post(f"/queues/{urllib.parse.quote(sys.argv[1], '')}/lease", 1, lease_secs=LEASE, wait_secs=5)
    if "status" in leased: sys.exit(f"the server refuses to lease: {leased['status']}")
    for claim in leased.get("jobs", []): run(claim["job"], claim["lease_token"])
