"""Where the server is, and who is calling."""

from __future__ import annotations

import os
import re

DEFAULT_URL = "http://127.0.0.1:8000"
#: Any token is accepted by a server with `--dev`; this one says in its log where it came from.
DEVELOPMENT_TOKEN = "dev"


def server_url(given: str | None) -> str:
    """What was given, or `MILLRACE_URL`, or the address of a local server."""
    return given or os.environ.get("MILLRACE_URL") or DEFAULT_URL


def sendable_token(given: str | None, *variables: str) -> str:
    """A token as a header can carry it: what was given, or the first variable that is set, or that of `--dev`.

    A secret that was read from a file often ends with a line end. Raises ValueError if it cannot be a token; the
    message does not repeat it.
    """
    found = given or next((value for name in variables if (value := os.environ.get(name))), DEVELOPMENT_TOKEN)
    token = found.strip()
    if re.fullmatch(r"[\x21-\x7e]+", token) is None:
        raise ValueError("the token must consist of visible ASCII characters without spaces")
    return token
