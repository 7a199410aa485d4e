"""This module adapts a launch file of the original to a kernel of merged blocks.

Needs the file and how blocks were merged; leaves the table of another file. Grids and blocks are those of merged
blocks, in all sizes, and there is one more argument. Files that the launch file names are the same from the new file's
folder. Sizes with other blocks than those that were merged are left out.
"""

from __future__ import annotations

import os
from typing import Any

from binalloc.errors import UsageError
from binalloc.launch.file import load_launch, read_table
from binalloc.launch.merged import Merge, Three
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Argument, Launch

_FILE = "file"  # the key of a file's name, in [reference] and in `init`
_PLACES = ("reference", "init")  # tables with such keys


def adapted_table(path: str, merge: Merge | None, folder: str) -> dict[str, Any]:
    """Return the table of a launch file for merged blocks. merge: how they were merged; None if they were not. folder:
    of the new file.

    Raises the errors of `load_launch`, and UsageError if the file's own numbers are for other blocks.
    """
    given = read_table(path)
    table: dict[str, Any] = _moved(given, os.path.dirname(path) or ".", folder, inside=False)
    if merge is None:
        return table
    launch, extent = _of(merge, require_blocks(path, merge.block))
    table |= {"grid": list(launch.grid), "block": list(launch.block)}
    last = {"name": extent.name, "kind": str(extent.kind), "dtype": extent.dtype, "value": extent.value}
    table["argument"] = [*table.get("argument", []), last]
    sizes = {}
    for name, size in table.pop("sizes", {}).items():
        here = parse_launch(given, path=path, size=name)
        if here.block == merge.block:
            launch, extent = _of(merge, here)
            changed = {**size.get("argument", {}), extent.name: {"value": extent.value}}
            sizes[name] = {k: v for k, v in size.items() if k != "block"}
            sizes[name] |= {"grid": list(launch.grid), "argument": changed}
    return table | ({"sizes": sizes} if sizes else {})


def require_blocks(path: str, block: Three) -> Launch:
    """Return the launch of a file's own numbers. Raises UsageError if it has other blocks, and the errors of
    `load_launch`."""
    base = load_launch(path)
    if base.block != block:
        raise UsageError(
            "the launch file's own numbers are for other blocks than those that are merged", file=path, place="block",
            found=list(base.block), expected=list(block),
            remedy="Give the size that is merged a launch file of its own.",
        )  # fmt: skip
    return base


def _of(merge: Merge, launch: Launch) -> tuple[Launch, Argument]:
    """Return the launch of merged blocks, and its last argument."""
    made = merge.launch(launch)
    return made, made.arguments[-1]


def _moved(value: Any, old: str, new: str, inside: bool) -> Any:
    """Return a value of a launch file in another folder. inside: it belongs to a table that names files."""
    if isinstance(value, list):
        return [_moved(item, old, new, inside) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _path(item, old, new) if inside and key == _FILE and isinstance(item, str)
        else _moved(item, old, new, inside or key in _PLACES)
        for key, item in value.items()
    }  # fmt: skip


def _path(name: str, old: str, new: str) -> str:
    """Return the name of a file from another folder."""
    return name if os.path.isabs(name) else os.path.relpath(os.path.join(old, name), new)
