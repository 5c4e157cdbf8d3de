"""The command line: `python -m millrace worker MODULE...`"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from .. import __version__
from ..client.millrace import Millrace
from ..errors.call_errors import AuthError
from ..tasks.task import BaseTask
from ..worker.worker import Worker
from .reload import run_and_reload


def main(argv: Sequence[str] | None = None) -> None:
    """Runs a command and ends the program with its exit code."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def worker_script() -> None:
    """`millrace-worker MODULE...`"""
    main(["worker", *sys.argv[1:]])


def run(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    if options.reload and os.environ.get("MILLRACE_RELOADED") is None:
        return run_and_reload([sys.executable, "-m", "millrace", *argv], options.modules)
    logging.basicConfig(
        level=options.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    return _work(options)


def _work(options: argparse.Namespace) -> int:
    # As for `python script.py`: modules of the working directory can be imported.
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    tasks = find_tasks(options.modules)
    if not tasks:
        print(f"there is no task in {', '.join(options.modules)}", file=sys.stderr)
        return 2
    try:
        worker = Worker(
            *tasks,
            queues=dict(options.queue) if options.queue else None,
            client=Millrace(options.url) if os.environ.get("MILLRACE_TOKEN") else None,
            url=options.url,
            lease=options.lease,
            shutdown=options.shutdown,
            name=options.name,
            logs=options.logs,
        )
    except (TypeError, ValueError) as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 2
    try:
        worker.run()
    except AuthError:
        return 4  # the log says why
    return 0


def find_tasks(modules: Sequence[str]) -> list[BaseTask[..., Any]]:
    """The tasks that are in these modules, each once, wherever they were defined."""
    found: dict[int, BaseTask[..., Any]] = {}
    for name in modules:
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, BaseTask):
                found[id(value)] = value
    return list(found.values())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m millrace", description="Millrace for Python")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    worker = commands.add_parser(
        "worker",
        help="run the tasks of modules",
        description="Runs the tasks of modules until SIGTERM or SIGINT; a second signal gives all jobs back at once.",
        epilog="MILLRACE_URL and MILLRACE_WORKER_TOKEN say where the server is and who the worker is. With "
        "MILLRACE_TOKEN, a tenant's token, tasks can create jobs (ctx.enqueue). Exit codes: 0 stopped, 2 usage, 4 "
        "token not accepted.",
    )
    worker.add_argument("modules", nargs="+", metavar="MODULE", help="a module with tasks: app.tasks")
    worker.add_argument(
        "-q",
        "--queue",
        action="append",
        type=_queue,
        metavar="QUEUE[=N]",
        help="a queue, and how many of its jobs run at a time (10); all queues of the tasks unless given",
    )
    worker.add_argument("--url", help="where the server is, instead of MILLRACE_URL")
    worker.add_argument("--lease", type=float, default=60, metavar="SECONDS", help="how long a lease lasts (60)")
    worker.add_argument(
        "--shutdown", type=float, default=25, metavar="SECONDS", help="how long a stop waits for handlers (25)"
    )
    worker.add_argument("--name", help="shown on the jobs that it runs; host and process unless given")
    worker.add_argument(
        "--log-level", default="info", choices=["debug", "info", "warning", "error"], help="what is logged (info)"
    )
    worker.add_argument(
        "--logs",
        default="server",
        choices=["server", "local"],
        help="where lines of ctx.log go besides the log: kept with the attempt (server), or nowhere (local)",
    )
    worker.add_argument("--reload", action="store_true", help="start again when a source file changes: for development")
    return parser


def _queue(text: str) -> tuple[str, int]:
    name, separator, count = text.rpartition("=")
    if not separator:
        return text, 10
    try:
        return name, int(count)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{count} is not a number of slots") from None
