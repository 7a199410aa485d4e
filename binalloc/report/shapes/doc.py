"""JSON.md and the JSON Schema, made from the shapes: `python -m binalloc.report.shapes.doc`.

The schema is made by Pydantic; the page lists the same fields in the order in which they are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from binalloc.report.shapes.fields import Field, fields_of, inner, words
from binalloc.report.shapes.table import PARTS, SECTIONS, Section

HERE = Path(__file__).parent.parent
PAGE, SCHEMA = HERE / "JSON.md", HERE / "json-schema.json"
_SWEEP = "SWEEP.md#columns"
_HEAD = """\
<!-- Made from binalloc/report/shapes/ by `make tables`: change it there. -->

# What `--json` prints

Every command takes `--json` and then prints one JSON object on standard output and nothing else. Fields are only ever
added under one `schema_version`; a field that changes its meaning or goes away raises it. In the paths below `a.b` is
the field `b` of the object `a`, `a[].b` that of each object in the list `a`, and `<name>` a key taken from the input.
A field that does not apply is null or left out: the column *type* says which. Cycles are emulated core cycles, sizes
are in bytes, instructions are counted from 0 within their function.

Text in JSON is as it stood in the input, escaped as JSON wants it; whoever prints it must make it fit for a terminal.

[json-schema.json](json-schema.json) has the same as a JSON Schema: `$defs` there has an object for each that has a name
here.
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


def _rows(shape: type, at: str = "") -> Iterator[str]:
    """Yield the rows of a shape's fields, and of those of the objects in it that have no section of their own."""
    for field in fields_of(shape):
        yield f"| `{at}{field.name}` | {_type(field)} | {field.meaning} |\n"
        for way, inside in inner(field.type):
            if inside not in PARTS:
                yield from _rows(inside, f"{at}{field.name}{way}.")


def _type(field: Field) -> str:
    text = words(field.type, _link) + (" or null" if field.nullable else "")
    return f"{text}, may be left out" if field.optional else text


def _link(shape: type) -> str:
    title = PARTS.get(shape)
    if title is None:
        return "object"
    return f"[{title}]({_SWEEP if title == 'row' else '#' + re.sub(r' ', '-', title)})"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of all that is printed: `anyOf` the commands, shapes by name in `$defs`."""
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
