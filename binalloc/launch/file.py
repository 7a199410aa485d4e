"""Launch files: how a kernel is launched, what its buffers hold, and what it should leave in them.

Needs a TOML file (see `schema` for its keys) or a dict of the same shape. Leaves true: `load_launch` returns a
checked, immutable `Launch` or raises; `compare` judges buffers as the launch file says; the reference's Python file is
executed only by `reference_outputs`.

    kernel = "scale"            # name of the kernel in the binary
    grid = [64, 2]              # blocks; an integer or up to three
    block = 256                 # threads
    dynamic_shared = 0          # bytes
    [[argument]]                # one per kernel parameter, matched by name
    name = "x"
    kind = "buffer"             # buffer, scalar (with `value`), texture
    dtype = "f32"               # i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64
    shape = [128, 256]
    init = { kind = "random", distribution = "normal", mean = 0.0, std = 1.0, seed = 7 }
    compare = { rtol = 1e-5, atol = 1e-6 }      # or "exact" (default), "unordered", "ignore"
    [reference]
    file = "scale_ref.py"
    function = "reference"      # reference(inputs, launch) -> {buffer name: expected array}
    [sizes.test]
    grid = 2
    [sizes.test.argument.x]
    shape = [4, 256]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import FunctionInfo
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Argument, ArgumentKind, Array, Compare, CompareMode, Init, Launch, Reference
from binalloc.printable import quoted
from binalloc.toml_file import read_toml

__all__ = [
    "Argument",
    "Compare",
    "Difference",
    "Init",
    "Launch",
    "Reference",
    "check_against",
    "compare",
    "compare_globals",
    "load_launch",
    "parse_launch",
    "reference_outputs",
    "variable_name",
]


def load_launch(path: str | Path, size: str | None = None) -> Launch:
    """Read and check a launch file. size: name of a `[sizes.<name>]` table, or None for the file's own numbers.

    Raises UsageError where the file cannot be read or lacks the size, MalformedInput for anything wrong inside it.
    """
    return parse_launch(read_toml(path, "launch file"), path=str(path), size=size)


# ---------------------------------------------------------------------------------------------------------------------
# What the kernel should leave.


def reference_outputs(
    launch: Launch, buffers: Mapping[str, Array], constants: Mapping[str, int | float] | None = None
) -> dict[str, Array]:
    """Run the launch's reference on copies of `buffers` (contents before the launch) and check what it returns.

    The function is called as f(inputs, launch): inputs maps each buffer and texture to its array, each scalar to a
    number and each struct to a dict of its named fields; constants, to their numbers, are among them. It returns a dict
    from buffer names to arrays of the buffer's shape and dtype; buffers left out are not checked. Raises UsageError
    where the launch has no reference or it raises, MalformedInput for outputs that fit no buffer.
    """
    if launch.reference is None:
        raise UsageError("the launch file has no [reference]", file=launch.path or None)
    function = load_function(
        launch.reference.file, launch.reference.function, "reference", "See [reference].file."
    )
    inputs: dict[str, Any] = {name: np.array(data, copy=True) for name, data in buffers.items()}
    inputs.update(launch.make_textures())
    inputs.update(launch.values)
    inputs.update(constants or {})
    place = f"function {launch.reference.function}"
    try:
        with redirect_stdout(sys.stderr):  # our own stdout may be one JSON object
            outputs = function(inputs, launch)
    except (Exception, SystemExit) as e:
        raise UsageError(
            f"the reference raised {type(e).__name__}: {e}", file=launch.reference.file, place=place
        ) from e
    if not isinstance(outputs, dict):
        raise MalformedInput(
            "wrong result", file=launch.reference.file, place=place, found=type(outputs).__name__, expected="a dict"
        )
    known = {a.name: a for a in launch.buffers}
    for name, data in outputs.items():
        expected = f"{known[name].numpy_dtype} {list(known[name].shape)}" if name in known else ", ".join(known)
        found = f"{data.dtype} {list(data.shape)}" if isinstance(data, np.ndarray) else type(data).__name__
        if name not in known or found != expected:
            raise MalformedInput(
                "the result fits no buffer of the launch",
                file=launch.reference.file,
                place=f"{place}: output {quoted(name)}",
                found=found if name in known else quoted(name),
                expected=expected,
            )
    return {a.name: outputs[a.name] for a in launch.buffers if a.name in outputs}


def load_function(file: str, name: str, what: str, remedy: str) -> Any:
    """The function of a Python file, which is executed. what: what it is to the launch file, for messages. remedy:
    where that says so.

    Raises UsageError where the file cannot be read, MalformedInput where it does not load or has no such function.
    """
    try:
        source = Path(file).read_bytes()
    except (OSError, ValueError) as e:
        raise UsageError(f"cannot read the {what}", file=file, remedy=remedy) from e
    namespace: dict[str, Any] = {"__name__": "binalloc_reference", "__file__": file}
    try:
        with redirect_stdout(sys.stderr):
            exec(compile(source, file, "exec"), namespace)
    except (Exception, SystemExit) as e:
        raise MalformedInput(f"the {what} does not load: {type(e).__name__}: {e}", file=file) from e
    function = namespace.get(name)
    if not callable(function):
        names = sorted(n for n, v in namespace.items() if callable(v) and not n.startswith("_"))
        raise MalformedInput(
            f"the {what} file has no such function", file=file, found=", ".join(names) or "no functions",
            expected=name,
        )  # fmt: skip
    return function


# ---------------------------------------------------------------------------------------------------------------------
# Comparison.


@dataclass(frozen=True, slots=True)
class Difference:
    """One buffer that differs. index: of the first differing element (for unordered: position in sorted bit patterns);
    expected, actual: the values there, and their bits in `patterns` where both are NaN; count of `total` elements
    differ."""

    name: str
    index: tuple[int, ...]
    expected: int | float
    actual: int | float
    count: int
    total: int
    mode: CompareMode
    patterns: tuple[int, int] | None = None

    def __str__(self) -> str:
        where = ", ".join(map(str, self.index))
        want, got = ("", "") if self.patterns is None else (f" {pattern:#x}" for pattern in self.patterns)
        return (
            f"{self.name}[{where}]: {self.actual!r}{got}, expected {self.expected!r}{want} "
            f"({self.mode}; {self.count} of {self.total} elements differ)"
        )


def compare(launch: Launch, expected: Mapping[str, Array], actual: Mapping[str, Array]) -> list[Difference]:
    """The buffers named in `expected` whose contents in `actual` are not the same in the launch file's sense.

    Empty where all are. Raises UsageError where `actual` lacks a buffer or holds another shape or dtype.
    """
    out: list[Difference] = []
    for a in launch.buffers:
        if a.name not in expected or a.compare.mode == CompareMode.IGNORE:
            continue
        want = expected[a.name]
        got = actual.get(a.name)
        if got is None or got.shape != want.shape or got.dtype != want.dtype:
            raise UsageError(
                "the results do not have the launch's shape",
                place=a.name,
                found="nothing" if got is None else f"{got.dtype} {list(got.shape)}",
                expected=f"{want.dtype} {list(want.shape)}",
            )
        if a.compare.mode == CompareMode.UNORDERED:
            want, got = (np.sort(_bits(x), axis=None).view(x.dtype) for x in (want, got))
        bad = _tolerance(want, got, a.compare) if a.compare.mode == CompareMode.TOLERANCE else _bits(want) != _bits(got)
        count = int(np.count_nonzero(bad))
        if count:
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            both = want[index].item(), got[index].item()
            patterns = (int(_bits(want)[index]), int(_bits(got)[index])) if all(x != x for x in both) else None
            out.append(Difference(a.name, index, *both, count, bad.size, a.compare.mode, patterns))
    return out


def variable_name(name: str) -> str:
    """What a global variable of the module is called among buffers."""
    return f".global {name}"


def compare_globals(launch: Launch, expected: Mapping[str, Array], actual: Mapping[str, Array]) -> list[Difference]:
    """The module's global variables that do not hold the same bits after two runs, as `compare` lists buffers.

    Those that the launch names are left out: `compare` judges them as the launch says.
    """
    out = []
    named = {a.name for a in launch.arguments if a.kind == ArgumentKind.SYMBOL}
    for name, want in expected.items():
        if name in named:
            continue
        got = actual.get(name)
        if got is None or got.shape != want.shape or got.dtype != want.dtype:
            raise UsageError("the two binaries do not have the same global variables", place=name)
        bad = want != got
        if bad.any():
            at = int(np.argmax(bad))
            count = int(np.count_nonzero(bad))
            out.append(
                Difference(variable_name(name), (at,), int(want[at]), int(got[at]), count, bad.size, CompareMode.EXACT)
            )
    return out


def _bits(x: Array) -> Array:
    return np.ascontiguousarray(x).view(np.dtype(f"<u{x.dtype.itemsize}"))


def _tolerance(want: Array, got: Array, c: Compare) -> Array:
    """True where the values differ by more than the tolerance; NaN equals NaN, an infinity only itself."""
    if want.dtype.kind != "f":
        wide = want.astype(object), got.astype(object)  # Python integers: no overflow in 64 bits
        return np.asarray(abs(wide[1] - wide[0]) > c.atol + c.rtol * abs(wide[0]), bool)
    a, b = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(b - a) <= c.atol + c.rtol * np.abs(a))
    return np.asarray(~(near | (a == b) | (np.isnan(a) & np.isnan(b))))


# ---------------------------------------------------------------------------------------------------------------------
# Against the binary.


def check_against(launch: Launch, info: FunctionInfo, binary: str | None = None) -> None:
    """Refuse a launch that contradicts the kernel's record in the binary: block size, launch bound, parameters.

    Raises UsageError naming what the launch says and what the binary (path `binary`) requires.
    """
    file = launch.path or None
    binary = binary or "the binary"
    if not info.is_kernel:
        raise UsageError("not a kernel", file=file, place="kernel", found=f"{launch.kernel}, a {info.kind}")
    if any(info.block):
        required = tuple(b or 1 for b in info.block)
        if launch.block != required:
            raise UsageError(
                f"the block contradicts {binary}",
                file=file,
                place="block",
                found=list(launch.block),
                expected=list(required),
                remedy="The kernel was compiled for that block size.",
            )
    if info.max_threads and launch.threads_per_block > info.max_threads:
        raise UsageError(
            f"the block exceeds the launch bound of {binary}",
            file=file,
            place="block",
            found=launch.threads_per_block,
            expected=f"at most {info.max_threads} threads",
        )
    names = [p.name for p in info.params]
    bound = launch.bind(names)
    for p in info.params:
        if p.name not in bound:
            raise UsageError(
                f"the launch lacks a parameter of {binary}",
                file=file,
                place=f"argument {p.name}",
                found=", ".join(a.name for a in launch.arguments) or "no arguments",
                expected=f"{p.name}, {p.size} bytes",
            )
        a = bound[p.name]
        if not a.fits(p.size):
            dtype = a.dtype if a.kind != ArgumentKind.STRUCT else ""
            raise UsageError(
                f"the argument's size contradicts {binary}",
                file=file,
                place=f"argument {a.name}" + (f", parameter {p.name}" if a.name != p.name else ""),
                found=f"{a.kind} {dtype}".rstrip() + f", {a.parameter_bytes} bytes",
                expected=f"{p.size} bytes",
            )
    for a in launch.unbound(names):
        raise UsageError(
            f"{binary} has no such parameter",
            file=file,
            place=f"argument {a.name}",
            found=a.name,
            expected=", ".join(names) or "no parameters",
        )
