from __future__ import annotations

import pytest

from millrace import json_text
from millrace.exactjson.slices import elements, member
from millrace.exactjson.text import read, write
from millrace.shared.uuid7 import uuid7


@pytest.mark.parametrize(
    "value", [2**70, 1.5, "\ud800", "emoji 🦊", "\u2028", [], {}, None, True, {"a": [1, {"b": 2}]}]
)
def test_what_is_written_reads_the_same(value: object) -> None:
    assert read(write(value).encode()) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes", object()])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        write(value)


def test_members_and_elements_are_cut_out_as_they_were_written() -> None:
    text = ' { "a" : 1.10 , "b":[ 1e400, "x,]}" , {"c":0} ], "a" : 2.50 } '
    assert member(text, "a") == "2.50"
    assert member(text, "c") is None
    assert list(elements(member(text, "b") or "")) == ["1e400", '"x,]}"', '{"c":0}']
    assert list(elements("[]")) == []


def test_json_text_takes_objects_only() -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        json_text("[1]")


def test_keys_grow() -> None:
    keys = [uuid7() for _ in range(1000)]
    assert len(set(keys)) == 1000
    assert [key[:13] for key in keys] == sorted(key[:13] for key in keys)
    assert all(key[14] == "7" and key[19] in "89ab" for key in keys)
