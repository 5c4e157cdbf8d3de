"""examples/worker.py with the tasks of the conformance kit: its own code, around other handlers."""
import os, sys
from pathlib import Path

import tasks

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "worker.py"
os.environ["LEASE_SECS"] = os.environ["MILLRACE_LEASE_SECS"]
sys.argv = [str(EXAMPLE), os.environ["MILLRACE_QUEUE"]]

# The file has its definitions first and its loop last; the handlers have to be in place before the loop starts.
LOOP = "\nfor number in (signal.SIGTERM"
definitions, loop = EXAMPLE.read_text().split(LOOP, 1)
module = {"__name__": "__main__"}
exec(compile(definitions, str(EXAMPLE), "exec"), module)
attempts = {}


def handler(name):
    def run(payload, lost):
        # The example's handlers do not see the delivery, so it is counted here.
        key = payload.get("beacon")
        attempts[key] = attempts.get(key, 0) + 1
        try:
            return tasks.run(name, payload, attempts[key], lost.wait)
        except tasks.Failure as failure:
            raise (RuntimeError if failure.retryable else module["Permanent"])(str(failure))

    return run


for name in ("echo", "sleep", "block", "fail", "flaky", "result", "context"):
    module["HANDLERS"]["conf." + name] = handler("conf." + name)
exec(compile(LOOP + loop, str(EXAMPLE), "exec"), module)
