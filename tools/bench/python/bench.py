"""No-op jobs: the Python worker beside the TypeScript worker, and beside Celery with Redis, in one run.

    python3 tools/bench/python/bench.py --celery PYTHON [--jobs 20000] [--rounds 3]

`--celery` is an interpreter with `celery[redis]` from PyPI; `redis-server` is on the PATH. The repository is built
(`npm run build`). Each round fills a queue, starts one worker process on it, and measures from the first job that
leaves the queue to the last that has ended. The contenders take turns; what is printed last has the medians.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parents[2] / "clients" / "python"
sys.path[:0] = [str(CLIENT), str(CLIENT / "src")]

from millrace import Millrace, task  # noqa: E402 - found only now
from tests.support.server import DevServer  # noqa: E402

SLOTS = 200


@task(name="noop")
def noop() -> None: ...


def drained(left: Callable[[], int], total: int) -> float:
    """The seconds from the first job that leaves to the last that has ended."""
    started = None
    while True:
        count = left()
        now = time.perf_counter()
        if started is None and count < total:
            started = now
        if count == 0:
            return now - (started or now)
        time.sleep(0.02)


def millrace_round(server: DevServer, command: list[str], jobs: int) -> float:
    client = Millrace(server.url)
    queue = f"bench-{uuid.uuid4()}"
    for start in range(0, jobs, 1000):
        client.enqueue_many([noop.using(queue=queue).call() for _ in range(min(1000, jobs - start))])
    environment = {
        **os.environ,
        "MILLRACE_URL": server.url,
        "BENCH_QUEUE": queue,
        "BENCH_SLOTS": str(SLOTS),
        "PYTHONPATH": str(CLIENT / "src"),
    }

    def left() -> int:
        rows = [each for each in client.queues.list() if each["queue"] == queue]
        return rows[0]["pending"] + rows[0]["running"] if rows else 0

    process = subprocess.Popen(command, env=environment)
    try:
        return jobs / drained(left, jobs)
    finally:
        process.terminate()
        process.wait()


class Redis:
    """On a free port, with each change on disk before it is answered."""

    def __init__(self, folder: str) -> None:
        self.socket = f"{folder}/redis.sock"
        flags = ["--port", "0", "--unixsocket", self.socket, "--appendonly", "yes", "--appendfsync", "always"]
        flags += ["--dir", folder, "--save", ""]
        self._process = subprocess.Popen(["redis-server", *flags], stdout=subprocess.DEVNULL)
        while not os.path.exists(self.socket):
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


CELERY_FILL = "import sys, celery_app as c\nwith c.app.pool.acquire(block=True) as k:\n    p = k.Producer()\n"
CELERY_FILL += "    [c.noop.apply_async(producer=p) for _ in range(int(sys.argv[1]))]\n"
CELERY_LEFT = """
import redis, os, sys, time
r = redis.Redis(unix_socket_path=sys.argv[1])
while True:
    print(r.llen("celery") + r.hlen("unacked"), flush=True)
    time.sleep(0.02)
"""


def celery_round(python: str, redis: Redis, pool: list[str], jobs: int) -> float:
    environment = {**os.environ, "BENCH_BROKER": f"redis+socket://{redis.socket}", "PYTHONPATH": str(HERE)}
    subprocess.run([python, "-c", CELERY_FILL, str(jobs)], env=environment, check=True)
    counter = subprocess.Popen([python, "-c", CELERY_LEFT, redis.socket], stdout=subprocess.PIPE, text=True)
    command = [python, "-m", "celery", "-A", "celery_app", "worker", "--loglevel", "ERROR", *pool]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    worker = subprocess.Popen([*command, "--without-gossip", "--without-mingle"], env=environment, cwd=HERE, **quiet)
    try:
        assert counter.stdout is not None
        lines = iter(counter.stdout)
        return jobs / drained(lambda: int(next(lines)), jobs)
    finally:
        counter.kill()
        counter.communicate()
        worker.terminate()
        worker.wait()


def contenders(server: DevServer, redis: Redis | None, options: argparse.Namespace) -> dict[str, Callable[[], float]]:
    """Who takes part, by name; each call is a round, and returns jobs per second."""
    typescript, python = ["node", str(HERE / "ts_worker.mjs")], [sys.executable, str(HERE / "py_worker.py")]
    found: dict[str, Callable[[], float]] = {
        "typescript": lambda: millrace_round(server, typescript, options.jobs),
        "python, def": lambda: millrace_round(server, python, options.jobs),
        "python, async def": lambda: millrace_round(server, [*python, "async"], options.jobs),
    }
    if redis is not None:
        prefork, threads = ["-P", "prefork", "-c", str(os.cpu_count())], ["-P", "threads", "-c", "50"]
        found["celery, prefork"] = lambda: celery_round(options.celery, redis, prefork, options.celery_jobs)
        found["celery, threads"] = lambda: celery_round(options.celery, redis, threads, options.celery_jobs)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--celery")
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--celery-jobs", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rates: dict[str, list[float]] = {}
    server = DevServer()
    with tempfile.TemporaryDirectory() as folder:
        redis = Redis(folder) if options.celery else None
        try:
            rounds = contenders(server, redis, options)
            for number in range(options.rounds):
                # Whoever comes first finds cold caches: each is first once.
                for name in [*list(rounds)[number % len(rounds) :], *list(rounds)[: number % len(rounds)]]:
                    rates.setdefault(name, []).append(rounds[name]())
                    print(number, name, round(rates[name][-1]), file=sys.stderr)
        finally:
            server.stop()
            if redis is not None:
                redis.stop()
    medians = {name: round(statistics.median(each)) for name, each in rates.items()}
    print(json.dumps({"jobs_per_second": medians, "rounds": {n: [round(r) for r in e] for n, e in rates.items()}}))


if __name__ == "__main__":
    main()
