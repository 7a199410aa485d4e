"""This module makes JSON.md and the JSON Schema from the shapes: `python -m binalloc.report.shapes.doc`.

Pydantic makes the schema. The page lists the same fields in the order in which the shapes have them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from binalloc.report.shapes.fields import ShapeField, fields_of, inner, words
from binalloc.report.shapes.table import PARTS, SECTIONS, Section

HERE = Path(__file__).parent.parent
PAGE, SCHEMA = HERE / "JSON.md", HERE / "json-schema.json"
_SWEEP = "SWEEP.md#columns"
_HEAD = """\
<!-- Made from binalloc/report/shapes/ by `make tables`: change it there. -->

# What `--json` prints

Every command takes `--json` and then prints one JSON object on standard output and nothing else. Under one
`schema_version` fields are only added; a field that changes its meaning or is removed raises the number. In the paths
below `a.b` is the field `b` of the object `a`, `a[].b` the field `b` of each object in the list `a`, and `<name>` any
key of an object. A field that does not apply is null or left out: the column *type* says which. Cycles are emulated
core cycles, sizes are in bytes, and instructions are numbered from 0 in their function.

Text is as in the input, escaped as JSON requires. A program that prints it has to make it fit for a terminal.

[json-schema.json](json-schema.json) is the same as a JSON Schema: its `$defs` have a definition for each object.
"""


def page() -> str:
    """Return JSON.md."""
    return "\n".join([_HEAD, *(text for section in SECTIONS for text in _section(section))])


def _section(section: Section) -> Iterator[str]:
    yield f"{'#' * section.level} {section.title}\n"
    if section.text:
        yield section.text
    for shape in section.shapes:
        about = f"{_doc(shape)}\n\n" if len(section.shapes) > 1 or not section.text else ""
        yield about + "| field | type | meaning |\n|---|---|---|\n" + "".join(_rows(shape))


def _doc(shape: type) -> str:
    """Return a shape's docstring as a paragraph."""
    return "\n".join(line.strip() for line in (shape.__doc__ or "").strip().splitlines())


def _rows(shape: type, at: str = "", but: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a row for each field of a shape, and rows for the objects in it.

    An object has no rows if its shape has a section. If its shape adds fields to such a shape, it has rows for the
    added fields alone. at: path of the shape. but: names of fields to leave out.
    """
    for field in fields_of(shape):
        if field.name in but:
            continue
        yield f"| `{at}{field.name}` | {_type(field)} | {field.meaning} |\n"
        for way, inside in inner(field.type):
            if inside not in PARTS:
                yield from _rows(inside, f"{at}{field.name}{way}.", frozenset(f.name for f in _of_part(inside)))


def _part_of(shape: type) -> type | None:
    """Return the shape with a section that a shape adds fields to; None where there is none."""
    return next((base for base in getattr(shape, "__orig_bases__", ()) if base in PARTS), None)


def _of_part(shape: type) -> tuple[ShapeField, ...]:
    """Return the fields that a shape has from a shape with a section."""
    part = _part_of(shape)
    return () if part is None else fields_of(part)


def _type(field: ShapeField) -> str:
    """Return the type of a field in words, with links to sections."""
    text = words(field.type, _link) + (" or null" if field.nullable else "")
    return f"{text}, may be left out" if field.optional else text


def _link(shape: type) -> str:
    """Return the words for a shape in a type: a link to its section, or `object`."""
    part = _part_of(shape)
    if part is not None:
        return f"{_link(part)} with more fields"
    title = PARTS.get(shape)
    if title is None:
        return "object"
    return f"[{title}]({_SWEEP if title == 'row' else '#' + re.sub(r' ', '-', title)})"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of everything that commands print: `anyOf` has the commands, `$defs` the shapes by
    name."""
    shapes = [shape for section in SECTIONS for shape in section.shapes]
    asked: list[tuple[str, Literal["serialization"], TypeAdapter[Any]]] = [
        (shape.__name__, "serialization", TypeAdapter(shape)) for shape in shapes
    ]
    _, found = TypeAdapter.json_schemas(asked, ref_template="#/$defs/{model}")
    printed = [shape.__name__ for section in SECTIONS if section.printed for shape in section.shapes]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What binalloc prints with --json",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in printed],
        "$defs": {name: _untitled(shape) for name, shape in found["$defs"].items()},
    }


def _untitled(shape: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a shape without titles that only repeat names."""
    fields = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in shape["properties"].items()
    }
    return {key: value for key, value in shape.items() if key != "title"} | {"properties": fields}


def schema_text() -> str:
    """Return json-schema.json."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write both files."""
    PAGE.write_text(page(), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
