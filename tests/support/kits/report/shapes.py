"""Holds what commands print against the shapes of JSON: as a schema, and path by path."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from binalloc.report.shapes.doc import schema
from binalloc.report.shapes.fields import paths
from binalloc.report.shapes.table import SECTIONS

OPEN = ("SeriesInterval",)
"""Shapes of objects that have other fields besides, as their docstrings say."""


def shapes_of(section: str) -> tuple[type, ...]:
    """The shapes in a section of JSON.md."""
    return next(one.shapes for one in SECTIONS if one.title == section)


@cache
def _strict() -> dict[str, Any]:
    """The schema's definitions, none of which lets other fields in than it names."""
    found = copy.deepcopy(schema()["$defs"])
    for name, shape in found.items():
        if name not in OPEN:
            shape["additionalProperties"] = False
    return dict(found)


@cache
def _validator(shape: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{shape}", "$defs": _strict()})


def problems(value: object, *shapes: type) -> list[str]:
    """What is wrong with a value, by the shape of which least is: its place and what is the matter."""
    found = []
    for shape in shapes:
        errors = _validator(shape.__name__).iter_errors(value)
        found.append([f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in errors])
    return min(found, key=len)


def documented(*shapes: type) -> frozenset[str]:
    """Paths of all fields that hold no objects."""
    all_paths = {path for shape in shapes for path, _ in paths(shape)}
    return frozenset(path for path in all_paths if not any(is_inside(other, path) for other in all_paths))


def is_inside(path: str, outer: str) -> bool:
    """Whether a path goes on behind another one."""
    return path != outer and path.startswith(outer) and path[len(outer)] in ".["


def fields(value: object, at: str = "") -> Iterator[str]:
    """Paths of everything in `value` that is no object and no list of objects."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from fields(inner, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for inner in value:
            yield from fields(inner, f"{at}[]")
    else:
        yield at


def pattern(path: str) -> re.Pattern[str]:
    """What matches a documented path; `<name>` stands for any key, and an object's keys may come behind its path."""
    any_key = re.sub(r"<\w+>", r".+?", re.escape(path).replace(r"\<", "<").replace(r"\>", ">"))
    return re.compile(rf"{any_key}(\..+)?\Z")
