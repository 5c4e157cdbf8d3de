"""A command for examples/worker.sh: reads a job on standard input and runs the kit's task that it names."""
import json, signal, sys, time

import tasks

stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))


def pause(seconds):
    deadline = time.monotonic() + seconds
    while not stopped and time.monotonic() < deadline:
        time.sleep(min(0.05, max(0, deadline - time.monotonic())))
    return bool(stopped)


job = json.load(sys.stdin)
try:
    json.dump(tasks.run(job["task_name"], job["payload"], job["delivery_count"], pause), sys.stdout)
except tasks.Failure as failure:
    sys.stderr.write(str(failure))
    sys.exit(1 if failure.retryable else 100)
except tasks.Unknown:
    sys.exit(101)
