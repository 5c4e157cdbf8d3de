"""Runs a command in a terminal of its own and presses Ctrl-C when its output says so.

usage: terminal.py READY COMMAND...   prints what the command printed, then one JSON line about its end
"""

import json
import os
import pty
import select
import sys
import time

ready, command = sys.argv[1].encode(), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)

output, pressed = b"", None
deadline = time.monotonic() + 540  # only ends a hang, before the test's own
while time.monotonic() < deadline:
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the last process closed the terminal
            break
        if not chunk:
            break
        output += chunk
    if pressed is None and ready in output:
        os.write(terminal, b"\x03")
        pressed = time.monotonic()
else:
    os.kill(pid, 9)

_, status = os.waitpid(pid, 0)
took = None if pressed is None else time.monotonic() - pressed
sys.stdout.write(output.decode(errors="replace"))
print("\n" + json.dumps({"exit": os.waitstatus_to_exitcode(status), "secs_after_ctrl_c": took}))
