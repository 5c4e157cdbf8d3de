"""Runs a command in a terminal of its own, 400 columns wide, and prints what it printed.

usage: in-terminal.py COMMAND...   exits as the command did
"""

import fcntl
import os
import pty
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])

output = b""
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:  # the last process closed the terminal
        break
    if not chunk:
        break
    output += chunk
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(output)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(status))
