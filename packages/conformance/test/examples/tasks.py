"""The tasks of the conformance kit, for workers that are written in Python or call a program per job."""
import json, time, urllib.request


class Failure(Exception):
    """The job is to fail; `retryable` says whether for good."""

    def __init__(self, message, retryable=True):
        super().__init__(message)
        self.retryable = retryable


class Unknown(Exception):
    """There is no such task here."""


def post(payload, event):
    """Tells the kit what happens."""
    if "beacon" not in payload:
        return
    body = json.dumps({"event": event}).encode()
    urllib.request.urlopen(urllib.request.Request(payload["beacon"], body, {"Content-Type": "application/json"})).close()


def result_of(task, payload, attempt, pause):
    """Runs a task. `pause` waits some seconds and says whether it was told to stop meanwhile."""
    if task == "conf.echo":
        return payload
    if task == "conf.sleep":
        return None if not pause(payload["ms"] / 1000) else "aborted"
    if task == "conf.block":
        return time.sleep(payload["ms"] / 1000)
    if task == "conf.fail":
        raise Failure(payload["message"], payload.get("retryable", True))
    if task == "conf.flaky":
        if attempt <= payload["failures"]:
            raise Failure("failure %d of %d" % (attempt, payload["failures"]))
        return None
    if task == "conf.result":
        return [] if payload.get("invalid") else {"data": "x" * payload.get("bytes", 0)}
    if task == "conf.context":
        return {"seen": {key: value for key, value in payload.items() if key != "_context"}}
    raise Unknown(task)


def run(task, payload, attempt, pause):
    post(payload, "started")
    result = result_of(task, payload, attempt, pause)
    post(payload, "aborted" if result == "aborted" else "finished")
    return {} if result in (None, "aborted") else result
