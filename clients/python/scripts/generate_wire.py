"""Writes src/millrace/wire/types.py: the shapes of the API as TypedDicts, from the OpenAPI document.

    python3 clients/python/scripts/generate_wire.py            # asks `millrace openapi` of this repository
    python3 clients/python/scripts/generate_wire.py FILE       # reads the document from a file

A test compares the file with what this script makes of the server's document.
"""

from __future__ import annotations

import json
import keyword
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
TARGET = HERE.parent / "src" / "millrace" / "wire" / "types.py"

# What only administrators, the dashboard and probes read.
_LEFT_OUT = ("Admin", "Audit", "PauseQueue", "Health", "Ready", "Series", "Stats", "Counts", "View")

_HEAD = '''"""The shapes of the API, made from its OpenAPI document by scripts/generate_wire.py. Not to be edited."""

from __future__ import annotations

from typing import Any, Literal, TypedDict
'''


def openapi() -> dict[str, Any]:
    """The document of the server in this repository."""
    program = REPOSITORY / "packages" / "cli" / "bin" / "millrace.mjs"
    written = subprocess.run(["node", str(program), "openapi"], check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(written.stdout)
    return document


class Writer:
    """Turns schemas into type definitions. An object without a name of its own is called after where it stands."""

    def __init__(self) -> None:
        self._parts: dict[str, str] = {}

    def text(self, schemas: dict[str, Any]) -> str:
        for name, schema in sorted(schemas.items()):
            if not name.startswith(_LEFT_OUT):
                self._define(name, schema)
        return _HEAD + "".join(self._parts.values())

    def _define(self, name: str, schema: dict[str, Any]) -> None:
        if "properties" in schema:
            self._define_object(name, schema)
        else:
            self._parts[name] = f"\n{name} = {self._type(name, schema)}\n"

    def _define_object(self, name: str, schema: dict[str, Any]) -> None:
        required = set(schema.get("required", []))
        fields = {field: self._type(name + _camel(field), part) for field, part in schema["properties"].items()}
        bases: list[str] = []
        for total, part in ((True, "Required"), (False, "Optional")):
            # A class has no place for names that are words of the language, or no words at all.
            spelt = {each: kind for each, kind in fields.items() if (each in required) is total and not _is_word(each)}
            if spelt:
                bases.append(f"_{name}{part}Spelt")
                self._parts[bases[-1]] = _spelt(bases[-1], spelt, total)
        always = {field: kind for field, kind in fields.items() if field in required and _is_word(field)}
        sometimes = {field: kind for field, kind in fields.items() if field not in required and _is_word(field)}
        if always and sometimes:
            bases.insert(0, f"_{name}Required")
            self._parts[bases[0]] = _class(bases[0], "TypedDict", always)
        own = sometimes or always
        partial = ["total=False"] if own is sometimes else []
        self._parts[name] = _class(name, ", ".join([*(bases or ["TypedDict"]), *partial]), own)

    def _type(self, name: str, schema: dict[str, Any]) -> str:
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[1]
        if "enum" in schema:
            return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return _union([self._type(name, part) for part in schema[word]])
        kinds = schema.get("type", "any")
        return _union([self._plain(name, kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)])

    def _plain(self, name: str, kind: str, schema: dict[str, Any]) -> str:
        if kind == "array":
            items = schema.get("items", {})
            return f"list[{self._type(name + 'Item' if 'properties' in items else name, items)}]"
        if kind == "object" and "properties" in schema:
            self._define_object(name, schema)
            return name
        words = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
        return words.get(kind, "dict[str, Any]" if kind == "object" else "Any")


def _union(kinds: list[str]) -> str:
    distinct = list(dict.fromkeys(kinds))
    return " | ".join(distinct)


def _class(name: str, bases: str, fields: dict[str, str]) -> str:
    lines = "".join(f"    {field}: {kind}\n" for field, kind in fields.items())
    return f"\n\nclass {name}({bases}):\n{lines}\n"


def _spelt(name: str, fields: dict[str, str], total: bool) -> str:
    lines = "".join(f"        {field!r}: {kind!r},\n" for field, kind in fields.items())
    return f"\n\n{name} = TypedDict(\n    {name!r},\n    {{\n{lines}    }},\n    total={total},\n)\n"


def _is_word(field: str) -> bool:
    return field.isidentifier() and not keyword.iskeyword(field)


def _camel(field: str) -> str:
    return "".join(part.capitalize() for part in field.split("_"))


def generate(document: dict[str, Any]) -> str:
    """The text of the module."""
    text = Writer().text(document["components"]["schemas"])
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"],
        input=text,
        check=True,
        capture_output=True,
        text=True,
        cwd=HERE.parent,
    )
    return formatted.stdout


def main() -> None:
    document = json.loads(Path(sys.argv[1]).read_text("utf-8")) if len(sys.argv) > 1 else openapi()
    TARGET.write_text(generate(document), "utf-8")


if __name__ == "__main__":
    main()
