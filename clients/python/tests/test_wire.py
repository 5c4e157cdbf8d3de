"""The generated types are those of the server."""

from __future__ import annotations

import sys

from .support.server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "clients" / "python" / "scripts"))

import generate_wire

from millrace.errors.call_errors import CLASSES


def test_the_types_are_those_of_the_servers_document() -> None:
    document = generate_wire.openapi()
    written = generate_wire.TARGET.read_text("utf-8")
    assert written == generate_wire.generate(document), "run: python3 clients/python/scripts/generate_wire.py"


def test_every_code_of_the_server_has_a_class() -> None:
    codes = generate_wire.openapi()["components"]["schemas"]["ErrorCode"]["enum"]
    assert set(codes) <= set(CLASSES)
