"""The programs of docs/python.md, written into a folder."""

from __future__ import annotations

import re
from pathlib import Path

from .server import REPOSITORY

_DOCUMENT = REPOSITORY / "docs" / "python.md"


def write_recipes(folder: Path) -> None:
    """Every block that begins with the name of a file becomes that file."""
    blocks = re.findall(r"```python\n# (\S+\.py)\n(.*?)```", _DOCUMENT.read_text("utf-8"), re.DOTALL)
    for name, text in blocks:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
