"""examples/worker.sh with a command that runs the tasks of the conformance kit; becomes the shell that runs it."""
import os, sys, urllib.parse
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "worker.sh"
COMMAND = Path(__file__).resolve().parent / "command.py"
os.environ["LEASE_SECS"] = os.environ["MILLRACE_LEASE_SECS"]
queue = urllib.parse.quote(os.environ["MILLRACE_QUEUE"], "")
os.execvp("sh", ["sh", str(EXAMPLE), queue, sys.executable, str(COMMAND)])
