"""This module makes the text of launch files from their tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from binalloc.launch.numbers.decimals import WrittenFloat

_BARE = re.compile(r"[A-Za-z0-9_-]+")  # keys that need no quotes
_TABLES = ("types", "argument", "reference", "sizes")  # keys that stand behind all others, in this order


def launch_file_text(table: Mapping[str, Any]) -> str:
    """Return the text of a launch file with these keys."""
    lines = [*_keys({key: value for key, value in table.items() if key not in _TABLES})]
    if "types" in table:
        lines += ["", "[types]", *_keys(table["types"])]
    for argument in table.get("argument", ()):
        lines += ["", "[[argument]]", *_keys(argument)]
    if "reference" in table:
        lines += ["", "[reference]", *_keys(table["reference"])]
    for name, size in table.get("sizes", {}).items():
        lines += ["", f"[sizes.{toml_key(name)}]", *_keys({k: v for k, v in size.items() if k != "argument"})]
        if size.get("argument"):
            lines += [f"[sizes.{toml_key(name)}.argument]", *_keys(size["argument"])]
    return "\n".join(lines) + "\n"


def _keys(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{toml_key(key)} = {toml_value(value)}"


def toml_key(key: str) -> str:
    """Return a key in TOML's notation."""
    return key if _BARE.fullmatch(key) else json.dumps(key)


def toml_value(value: object) -> str:
    """Return a value in TOML's notation: a number, a text, a truth value, or a list or an inline table of such values.
    Floats of files keep their digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return value.text if isinstance(value, WrittenFloat) else repr(value)
