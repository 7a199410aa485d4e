"""The launch file's schema: from the plain dict a TOML parser gives to a checked `Launch`.

Needs `launch_types`. Leaves true: nothing a `Launch` says is out of range; every unknown key, wrong type, wrong rank
and excessive size has been refused with MalformedInput naming key, found, expected and the nearest known key.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from binalloc.emulator.launch_types import DTYPES, Argument, Compare, Init, Launch, Reference
from binalloc.errors import MalformedInput, UsageError

MAX_BUFFER_BYTES = 1 << 28
MAX_THREADS_PER_BLOCK = 1024
MAX_PARAMETER_BYTES = 4096
MAX_DYNAMIC_SHARED = 1 << 20
GRID_LIMITS = (2**31 - 1, 65535, 65535)
BLOCK_LIMITS = (1024, 1024, 64)
_F32_LIMIT = 2.0**128 - 2.0**103  # from here on a number rounds to infinity in f32
_HUGE = 2.0**1023  # bounds whose difference is still a finite f64

_TOP = ("kernel", "grid", "block", "dynamic_shared", "argument", "reference", "sizes")
_SIZE = ("grid", "block", "dynamic_shared", "argument")
_KEYS = {
    "buffer": ("name", "kind", "dtype", "shape", "init", "compare"),
    "texture": ("name", "kind", "dtype", "shape", "init"),
    "scalar": ("name", "kind", "dtype", "value"),
}
_INIT_KEYS = {
    "zeros": (),
    "ones": (),
    "constant": ("value",),
    "arange": ("start", "step"),
    "random": ("distribution", "seed"),
}
_DISTRIBUTIONS = {"uniform": ("low", "high"), "normal": ("mean", "std"), "integers": ("low", "high")}
_COMPARES = ("exact", "unordered", "ignore")


@dataclass(frozen=True)
class _At:
    """A place in the file, for messages."""

    file: str
    place: str

    def sub(self, key: str) -> _At:
        return _At(self.file, f"{self.place}.{key}" if self.place else key)

    def fail(self, message: str, found: object = None, expected: object = None, remedy: str | None = None) -> NoReturn:
        raise MalformedInput(
            message, file=self.file or None, place=self.place, found=found, expected=expected, remedy=remedy
        )


def parse_launch(data: object, *, path: str = "", size: str | None = None) -> Launch:
    """Check a launch given as a dict and build it. `path` names the file, for messages and relative paths.

    Every `[sizes.<name>]` is checked, not only the chosen one. size: None for the file's own numbers; "full" means the
    same where the file defines no `[sizes.full]`. Raises MalformedInput, and UsageError for a size the file lacks.
    """
    at = _At(path, "")
    table = _table(data, _At(path, "launch file"))
    _known(table, _TOP, at)
    sizes = _table(table.get("sizes", {}), at.sub("sizes"))
    launches = {"": _build(table, {}, "", at)}
    for name in sizes:
        where = at.sub("sizes").sub(name)
        launches[name] = _build(table, _table(sizes[name], where), name, at)
    launches.setdefault("full", launches[""])
    if (size is not None and size not in launches) or size == "":
        raise UsageError(
            "the launch file has no such size",
            file=path or None,
            place="sizes",
            found=repr(size),
            expected=", ".join(sorted(n for n in launches if n)),
        )
    return launches[size or ""]


def _build(table: dict[str, Any], override: dict[str, Any], size: str, at: _At) -> Launch:
    over_at = at.sub("sizes").sub(size) if size else at
    if size:
        _known(override, _SIZE, over_at)

    def source(key: str) -> tuple[dict[str, Any], _At]:
        return (override, over_at) if key in override and key != "argument" else (table, at)

    kernel = _required(table, "kernel", at)
    if not isinstance(kernel, str) or not kernel:
        at.sub("kernel").fail("not a kernel's name", repr(kernel), "a non-empty string")
    dims = {}
    for key, limits in (("grid", GRID_LIMITS), ("block", BLOCK_LIMITS)):
        where, where_at = source(key)
        dims[key] = _dimensions(_required(where, key, where_at), limits, where_at.sub(key))
    where, where_at = source("dynamic_shared")
    dynamic = _integer(where.get("dynamic_shared", 0), where_at.sub("dynamic_shared"), 0, MAX_DYNAMIC_SHARED)
    threads = math.prod(dims["block"])
    if threads > MAX_THREADS_PER_BLOCK:
        source("block")[1].sub("block").fail(
            "too many threads in a block", threads, f"at most {MAX_THREADS_PER_BLOCK}"
        )
    if math.prod(dims["grid"]) >= 2**31:
        source("grid")[1].sub("grid").fail("too many blocks", math.prod(dims["grid"]), "fewer than 2^31")
    arguments = _arguments(table, override, at, over_at)
    return Launch(kernel, dims["grid"], dims["block"], dynamic, arguments, _reference(table, at), size, at.file)


def _arguments(table: dict[str, Any], override: dict[str, Any], at: _At, over_at: _At) -> tuple[Argument, ...]:
    entries = table.get("argument", [])
    if not isinstance(entries, list):
        at.sub("argument").fail("not an array of tables", type(entries).__name__, "[[argument]] entries")
    changes = dict(_table(override.get("argument", {}), over_at.sub("argument")))
    names = [e.get("name") for e in entries if isinstance(e, dict)]
    _known(changes, tuple(n for n in names if isinstance(n, str)), over_at.sub("argument"))
    out: list[Argument] = []
    for i, entry in enumerate(entries):
        where = at.sub(f"argument[{i}]")
        entry = dict(_table(entry, where))
        name = entry.get("name")
        if isinstance(name, str) and name in changes:
            where = over_at.sub("argument").sub(name)
            change = _table(changes[name], where)
            _known(change, ("value",) if entry.get("kind") == "scalar" else ("shape", "init"), where)
            entry |= change
        out.append(_argument(entry, i, where))
        if out[-1].name in [a.name for a in out[:-1]]:
            where.sub("name").fail("two arguments have the same name", out[-1].name, "distinct names")
    total = sum(a.bytes for a in out if a.kind != "scalar")
    if total > MAX_BUFFER_BYTES:
        where = over_at.sub("argument")
        where.fail("the buffers are too large together", f"{total} bytes", f"at most {MAX_BUFFER_BYTES}")
    if sum(a.parameter_bytes for a in out) > MAX_PARAMETER_BYTES:
        at.sub("argument").fail("too many parameters", len(out), f"at most {MAX_PARAMETER_BYTES} bytes of them")
    return tuple(out)


def _argument(entry: dict[str, Any], index: int, at: _At) -> Argument:
    kind = _choice(_required(entry, "kind", at), tuple(_KEYS), at.sub("kind"))
    _known(entry, _KEYS[kind], at)
    name = _required(entry, "name", at)
    if not isinstance(name, str) or not name:
        at.sub("name").fail("not a name", repr(name), "a non-empty string")
    dtype = _choice(_required(entry, "dtype", at), tuple(DTYPES), at.sub("dtype"))
    if kind == "scalar":
        return Argument(name, kind, dtype, value=_value(_required(entry, "value", at), dtype, at.sub("value")))
    shape = _shape(_required(entry, "shape", at), dtype, at.sub("shape"))
    init = _init(entry.get("init", "zeros"), dtype, math.prod(shape), index, at.sub("init"))
    return Argument(name, kind, dtype, shape, 0, init, _compare(entry.get("compare", "exact"), at.sub("compare")))


def _shape(value: object, dtype: str, at: _At) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= 4:
        at.fail("wrong rank", f"{len(items)} dimensions", "1 to 4")
    shape = tuple(_integer(v, at, 1, MAX_BUFFER_BYTES) for v in items)
    size = math.prod(shape) * DTYPES[dtype].itemsize
    if size > MAX_BUFFER_BYTES:
        at.fail("the buffer is too large", f"{size} bytes", f"at most {MAX_BUFFER_BYTES}")
    return shape


def _init(value: object, dtype: str, count: int, index: int, at: _At) -> Init:
    if isinstance(value, str):
        value = {"kind": value}
    table = _table(value, at)
    if "file" in table:
        _known(table, ("file",), at)
        name = table["file"]
        if not isinstance(name, str) or not name or "\0" in name:
            at.sub("file").fail("not a file name", repr(name), "a path relative to the launch file")
        return Init("file", file=str(Path(at.file).parent / name))
    kind = _choice(_required(table, "kind", at), tuple(_INIT_KEYS), at.sub("kind"))
    if kind == "random":
        return _random(table, dtype, index, at)
    _known(table, ("kind", *_INIT_KEYS[kind]), at)
    if kind == "constant":
        return Init(kind, low=_value(_required(table, "value", at), dtype, at.sub("value")))
    if kind == "arange":
        start = _value(table.get("start", 0), dtype, at.sub("start"))
        step = table.get("step", 1)
        if isinstance(start, int):
            step = _integer(step, at.sub("step"), -(2**63), 2**63 - 1)
            _value(start + step * (count - 1), dtype, at.sub("step"))
        else:
            step = _number(step, at.sub("step"))
        return Init(kind, low=start, step=step)
    return Init(kind)


def _random(table: dict[str, Any], dtype: str, index: int, at: _At) -> Init:
    choice = _choice(table.get("distribution", "uniform"), tuple(_DISTRIBUTIONS), at.sub("distribution"))
    _known(table, ("kind", "distribution", "seed", *_DISTRIBUTIONS[choice]), at)
    seed = _integer(table.get("seed", index), at.sub("seed"), 0, 2**63 - 1)
    if choice != "integers" and DTYPES[dtype].kind != "f":
        at.sub("distribution").fail("real numbers for an integer buffer", choice, "integers")
    if choice == "normal":
        std = _number(table.get("std", 1.0), at.sub("std"))
        if std < 0:
            at.sub("std").fail("negative standard deviation", std, "at least 0")
        return Init("random", choice, mean=_number(table.get("mean", 0.0), at.sub("mean")), std=std, seed=seed)
    if choice == "integers":
        bounds = (-(2**63), 2**63 - 1) if DTYPES[dtype].kind != "u" else (0, 2**64 - 1)
        low: float = _integer(table.get("low", 0), at.sub("low"), *bounds)
        high: float = _integer(_required(table, "high", at), at.sub("high"), *bounds)
        _value(int(low), dtype, at.sub("low"))
        _value(int(high) - 1, dtype, at.sub("high"))
    else:
        low = _value(_number(table.get("low", 0.0), at.sub("low")), dtype, at.sub("low"))
        high = _value(_number(table.get("high", 1.0), at.sub("high")), dtype, at.sub("high"))
    if low >= high:
        at.sub("high").fail("empty range", f"low {low}, high {high}", "low below high")
    return Init("random", choice, low=low, high=high, seed=seed)


def _compare(value: object, at: _At) -> Compare:
    if isinstance(value, dict):
        _known(value, ("rtol", "atol"), at)
        bounds = {k: _number(value.get(k, 0.0), at.sub(k)) for k in ("rtol", "atol")}
        for key, number in bounds.items():
            if number < 0:
                at.sub(key).fail("negative tolerance", number, "at least 0")
        return Compare("tolerance", **bounds)
    return Compare(_choice(value, _COMPARES, at))


def _reference(table: dict[str, Any], at: _At) -> Reference | None:
    if "reference" not in table:
        return None
    at = at.sub("reference")
    entry = _table(table["reference"], at)
    _known(entry, ("file", "function"), at)
    for key in ("file", "function"):
        if not isinstance(_required(entry, key, at), str) or not entry[key] or "\0" in entry[key]:
            at.sub(key).fail("not a name", repr(entry[key]), "a non-empty string")
    return Reference(str(Path(at.file).parent / entry["file"]), entry["function"])


# ---------------------------------------------------------------------------------------------------------------------
# Single values.


def _table(value: object, at: _At) -> dict[str, Any]:
    if not isinstance(value, dict):
        at.fail("not a table", repr(value)[:80], "a table of keys and values")
    return value


def _known(table: dict[str, Any], keys: tuple[str, ...], at: _At) -> None:
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(str(key), keys, 1)
            at.sub(str(key)).fail(
                "unknown key",
                repr(key),
                ", ".join(keys) if keys else "no keys",
                f"Did you mean {near[0]!r}?" if near else None,
            )


def _required(table: dict[str, Any], key: str, at: _At) -> Any:
    if key not in table:
        at.fail(f"missing key {key!r}", ", ".join(map(str, table)) or "no keys", repr(key))
    return table[key]


def _choice(value: object, choices: tuple[str, ...], at: _At) -> str:
    if not isinstance(value, str) or value not in choices:
        near = difflib.get_close_matches(value, choices, 1) if isinstance(value, str) else []
        at.fail("not a known value", repr(value), ", ".join(choices), f"Did you mean {near[0]!r}?" if near else None)
    return value


def _integer(value: object, at: _At, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        at.fail("not an integer", _short(value), f"an integer from {low} to {high}")
    if not low <= value <= high:
        at.fail("out of range", _short(value), f"an integer from {low} to {high}")
    return value


def _number(value: object, at: _At) -> float:
    if not _is_number(value) or not abs(value) < _HUGE:
        at.fail("not a finite number", _short(value), "a number")
    return float(value)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: object) -> str:
    """A value for a message; an integer of thousands of digits has no short text and Python refuses to print it."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "an integer beyond 128 bits"
    return repr(value)[:80]


def _value(value: object, dtype: str, at: _At) -> int | float:
    kind, bits = DTYPES[dtype].kind, DTYPES[dtype].itemsize * 8
    if kind == "f":
        if not _is_number(value):
            at.fail("not a number", _short(value), f"an {dtype}")
        limit = _F32_LIMIT if bits == 32 else _HUGE
        if (isinstance(value, int) and abs(value) >= limit) or limit <= abs(value) < math.inf:
            at.fail("does not fit its type", _short(value), f"an {dtype}")
        return float(value)
    return _integer(value, at, -(1 << bits - 1) if kind == "i" else 0, (1 << bits - (kind == "i")) - 1)


def _dimensions(value: object, limits: tuple[int, int, int], at: _At) -> tuple[int, int, int]:
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= 3:
        at.fail("wrong rank", f"{len(items)} dimensions", "an integer or a list of up to 3")
    x, y, z = [_integer(v, at, 1, limits[i]) for i, v in enumerate(items)] + [1] * (3 - len(items))
    return x, y, z
