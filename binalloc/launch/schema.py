"""The schema of launch files is here: it turns the plain dict of a TOML parser into a checked `Launch`.

Needs `arguments` and `values`. Leaves true: nothing in a `Launch` is out of range. Every unknown key, wrong type, wrong
rank and excessive size has been refused with MalformedInput, which names key, found, expected and the nearest known
key.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from binalloc.errors import UsageError
from binalloc.launch.arguments import parse_arguments
from binalloc.launch.types import HEAP_BYTES, PRINTF_BYTES, Launch, Reference
from binalloc.launch.values import At, a_name, a_path, a_spelling
from binalloc.printable import quoted

_Built = TypeVar("_Built")
MAX_THREADS_PER_BLOCK = 1024  # CUDA's limit, since compute capability 2.0
MAX_DYNAMIC_SHARED = 1 << 20  # bytes: more than any GPU has in an SM
GRID_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA's limits in x, y and z, since compute capability 3.0
BLOCK_LIMITS = (1024, 1024, 64)  # CUDA's limits in x, y and z

RUNTIME_BYTES = {"heap": (HEAP_BYTES, 1 << 10, 1 << 27), "printf_buffer": (PRINTF_BYTES, 1 << 10, 1 << 26)}
"""By key, bytes of the device runtime's memories: the default, the least and the most. The most bounds the host's
memory."""

_OWN = ("grid", "block", "dynamic_shared", *RUNTIME_BYTES, "cooperative", "argument")  # keys that a size may override
_TOP = ("kernel", *_OWN, "types", "reference", "sizes")  # keys of the file
_SIZE = _OWN  # keys of `[sizes.<name>]`


def parse_launch(data: object, *, path: str = "", size: str | None = None) -> Launch:
    """Check a launch that is given as a dict, and build it. path: the file, for messages and relative paths.

    Every `[sizes.<name>]` is checked, not only the chosen one. size: None for the file's own numbers; "full" means the
    same where the file defines no `[sizes.full]`. Raises MalformedInput, and UsageError for a size that the file lacks.
    """
    at = At(path, "")
    table = At(path, "launch file").table(data)
    if "step" in table:
        raise UsageError(
            "the launch file has a sequence of launches", file=path or None, place="step",
            expected="a file of one launch, with `kernel`, `grid` and `block`",
            remedy="`binalloc run`, `rewrite` and `verify` take a sequence; the library, load_program.",
        )  # fmt: skip
    at.only_keys(table, _TOP)
    return of_size(table, at, size, lambda override, name: _build(table, override, name, at))


def of_size(table: dict[str, Any], at: At, size: str | None, build: Callable[[dict[str, Any], str], _Built]) -> _Built:
    """Return the result of `build` for the chosen size. It is called for each size, with its table of overrides and its
    name.

    size: None for the file's own numbers; "full" means the same where the file defines no `[sizes.full]`. Raises
    UsageError for a size that the file lacks, and all errors of `build`.
    """
    sizes = at.sub("sizes").table(table.get("sizes", {}))
    built = {"": build({}, "")}
    for name in sizes:
        built[name] = build(at.sub("sizes").sub(name).table(sizes[name]), name)
    built.setdefault("full", built[""])
    if (size is not None and size not in built) or size == "":
        raise UsageError(
            "the launch file has no such size",
            file=at.file or None,
            place="sizes",
            found=quoted(size),
            expected=", ".join(sorted(n for n in built if n)),
        )
    return built[size or ""]


def _build(table: dict[str, Any], override: dict[str, Any], size: str, at: At) -> Launch:
    """Build the launch of one size, "" for the file's own numbers."""
    over_at = at.sub("sizes").sub(size) if size else at
    if size:
        over_at.only_keys(override, _SIZE)

    def source(key: str) -> tuple[dict[str, Any], At]:
        return (override, over_at) if key in override and key != "argument" else (table, at)

    kernel = a_spelling(at.required(table, "kernel"), at.sub("kernel"))
    dims = {}
    for key, limits in (("grid", GRID_LIMITS), ("block", BLOCK_LIMITS)):
        where, where_at = source(key)
        dims[key] = _dimensions(where_at.required(where, key), limits, where_at.sub(key))
    where, where_at = source("dynamic_shared")
    dynamic = where_at.sub("dynamic_shared").integer(where.get("dynamic_shared", 0), 0, MAX_DYNAMIC_SHARED)
    threads = math.prod(dims["block"])
    if threads > MAX_THREADS_PER_BLOCK:
        source("block")[1].sub("block").fail("too many threads in a block", threads, f"at most {MAX_THREADS_PER_BLOCK}")
    if math.prod(dims["grid"]) >= 2**31:
        source("grid")[1].sub("grid").fail("too many blocks", math.prod(dims["grid"]), "fewer than 2^31")
    runtime = parse_runtime(table, override, at, over_at)
    where, where_at = source("cooperative")
    cooperative = where_at.sub("cooperative").typed(where.get("cooperative", False), bool)
    arguments = parse_arguments(table, override, at, over_at)
    reference = parse_reference(table, at)
    return Launch(
        kernel, dims["grid"], dims["block"], dynamic, arguments, reference, size, at.file, cooperative=cooperative,
        **runtime,
    )  # fmt: skip


def parse_runtime(table: dict[str, Any], override: dict[str, Any], at: At, over_at: At) -> dict[str, int]:
    """Return the bytes of the device runtime's memories, by the names of `RUNTIME_BYTES`."""
    found = {}
    for key, (default, least, most) in RUNTIME_BYTES.items():
        where, where_at = (override, over_at) if key in override else (table, at)
        found[key] = where_at.sub(key).integer(where.get(key, default), least, most)
    return found


def parse_reference(table: dict[str, Any], at: At) -> Reference | None:
    """Return `[reference]` of the file's table. at: the table's place."""
    if "reference" not in table:
        return None
    at = at.sub("reference")
    entry = at.table(table["reference"])
    at.only_keys(entry, ("file", "function"))
    path = a_path(at.required(entry, "file"), at.sub("file"))
    return Reference(str(path), a_name(at.required(entry, "function"), at.sub("function")))


def _dimensions(value: object, limits: tuple[int, int, int], at: At) -> tuple[int, int, int]:
    """Return one to three sizes as three; missing ones are 1."""
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= 3:
        at.fail("wrong rank", f"{len(items)} dimensions", "an integer or a list of up to 3")
    x, y, z = [at.integer(v, 1, limits[i]) for i, v in enumerate(items)] + [1] * (3 - len(items))
    return x, y, z
