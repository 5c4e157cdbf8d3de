#!/usr/bin/env python3
"""A Millrace worker, one job at a time. Usage: MILLRACE_WORKER_TOKEN=... worker.py QUEUE"""
import http.client, json, os, signal, sys, threading, time, urllib.error, urllib.parse, urllib.request

API = os.environ.get("MILLRACE_URL", "http://localhost:8000") + "/api/v1"
HEADERS = {"Authorization": "Bearer " + os.environ["MILLRACE_WORKER_TOKEN"], "Content-Type": "application/json"}
LEASE_SECS = int(os.environ.get("LEASE_SECS", "30"))

class Permanent(Exception):
    """For a handler to raise when trying again cannot help."""

def greet(payload, lost):
    if "name" not in payload:
        raise Permanent("the payload has no name")
    return {"greeting": "Hello, " + payload["name"]}

def wait(payload, lost):  # a long job looks at `lost` now and then, and gives up when it is set
    lost.wait(payload["seconds"])
    return {"waited": payload["seconds"]}

HANDLERS = {"greet": greet, "wait": wait}

def post(path, body, tries=1):
    """Status and answer. A call that got no answer, or 5xx, may be repeated: the token makes that safe."""
    request = urllib.request.Request(API + path, body.encode(), HEADERS)
    for _ in range(tries):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return error.code, {}
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(2)
    return 503, {}

def keep(path, token, lost, done):
    """Extends the lease until the job is done, and sets `lost` when there is none to extend any more."""
    beat = json.dumps({"lease_token": token, "extend_secs": LEASE_SECS})
    while not done.wait(LEASE_SECS / 2):
        status, answer = post(path + "/heartbeat", beat, LEASE_SECS // 4 + 1)
        if status in (404, 409) or answer.get("status", "running") != "running":
            lost.set()
            return

def run(job, token):
    path, lost, done = "/jobs/" + job["id"], threading.Event(), threading.Event()
    failure = lambda error, retryable: json.dumps({"lease_token": token, "error": error, "retryable": retryable})
    keeper = threading.Thread(target=keep, args=(path, token, lost, done))
    keeper.start()
    try:
        result = HANDLERS[job["task_name"]](job["payload"], lost)
        report, body = "/complete", json.dumps({"lease_token": token, "result": result})
    except Exception as error:
        report, body = "/fail", failure(repr(error), not isinstance(error, Permanent))
    done.set()
    keeper.join()
    if not lost.is_set() and post(path + report, body, LEASE_SECS)[0] in (400, 413):
        post(path + "/fail", failure("the result is not a JSON object that the server takes", False), LEASE_SECS)

stopping = threading.Event()
for name in (signal.SIGTERM, signal.SIGINT):
    signal.signal(name, lambda *_: stopping.set())
queue = urllib.parse.quote(sys.argv[1], safe="")
while not stopping.is_set():
    status, answer = post(f"/queues/{queue}/lease", json.dumps({"lease_secs": LEASE_SECS, "wait_secs": 5}))
    for leased in answer.get("jobs", []):
        run(leased["job"], leased["lease_token"])
    if 400 <= status < 500:  # a wrong token or queue name; no repetition will help
        sys.exit(f"the server refuses to lease: {status}")
