"""A launch file has a kernel's grid and arguments, the contents of its buffers, and the results expected there.

Needs a TOML file (see `schema` for its keys) or a dict of the same shape. Leaves true: `load_launch` returns a
checked, immutable `Launch` or raises. `compare` compares buffers in the way that the launch file gives. Only
`reference_outputs` executes the reference's Python file.

    kernel = "scale"            # name of the kernel in the binary
    grid = [64, 2]              # blocks; an integer or up to three
    block = 256                 # threads
    dynamic_shared = 0          # bytes
    [[argument]]                # one per kernel parameter, matched by name
    name = "x"
    kind = "buffer"             # buffer, scalar (with `value`), texture
    dtype = "f32"               # a number's, ptr, or a struct's name in [types]
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
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError
from binalloc.files import instead_of_file
from binalloc.isa.instruction import FunctionInfo
from binalloc.launch.comparison import Difference, compare, compare_globals, variable_name
from binalloc.launch.elements.layout import by_offset
from binalloc.launch.numbers.decimals import WrittenFloat
from binalloc.launch.numbers.dtypes import BF16, Array, copied, rounded, shown
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Argument, ArgumentKind, Compare, Init, Launch, Reference
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
    return parse_launch(read_table(path), path=str(path), size=size)


def read_table(path: str | Path) -> dict[str, Any]:
    """Return the table in a launch file, floats with their text. Raises as `read_toml` does."""
    return read_toml(path, "launch file", WrittenFloat)


# ---------------------------------------------------------------------------------------------------------------------
# The results that the kernel should leave.


def reference_outputs(
    launch: Launch, buffers: Mapping[str, Array], constants: Mapping[str, int | float] | None = None
) -> dict[str, Array]:
    """Run the launch's reference on copies of `buffers` (contents before the launch) and check its results.

    The function is called as f(inputs, launch). inputs maps each buffer and texture to its array, each scalar to a
    number and each struct to a dict of its named fields; `constants` are among them. It returns a dict from buffer
    names to arrays of the buffer's shape and dtype; buffers left out are not checked. Raises UsageError where the
    launch has no reference or it raises, MalformedInput for outputs that fit no buffer.
    """
    if launch.reference is None:
        raise UsageError("the launch file has no [reference]", file=launch.path or None)
    function = load_function(
        launch.reference.file, launch.reference.function, "reference", "See [reference].file."
    )
    known = {a.name: a for a in launch.buffers}
    inputs: dict[str, Any] = {
        name: copied(shown(data, known[name].dtype) if name in known else data)
        for name, data in buffers.items()
    }
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
    outputs = {name: _ordered(data) for name, data in outputs.items()}
    for name, data in outputs.items():
        allowed = _allowed(known[name]) if name in known else list(known)
        found = _described(data) if isinstance(data, np.ndarray) else type(data).__name__
        if name not in known or found not in allowed:
            raise MalformedInput(
                "the result fits no buffer of the launch",
                file=launch.reference.file,
                place=f"{place}: output {quoted(name)}",
                found=found if name in known else quoted(name),
                expected=(" or " if name in known else ", ").join(allowed),
            )
    return {a.name: _as_elements(outputs[a.name], a) for a in launch.buffers if a.name in outputs}


def _allowed(a: Argument) -> list[str]:
    """Return the results that fit a buffer, in words: of bf16 these are floats or bits."""
    dtypes = [a.numpy_dtype] if a.dtype != BF16 else [np.dtype("<f4"), a.numpy_dtype]
    return [_described(np.broadcast_to(np.empty((), dtype), a.shape)) for dtype in dtypes]


def _described(data: Array) -> str:
    """Return dtype and shape of an array, in words."""
    return f"{data.dtype} {list(data.shape)}"


def _ordered(data: Any) -> Any:
    """Return structs with their fields in the order of their offsets, all else as it is."""
    if not isinstance(data, np.ndarray) or data.dtype.names is None or data.dtype.hasobject:
        return data
    ordered = by_offset(data.dtype)
    return data if ordered == data.dtype else data.view(ordered)


def _as_elements(data: Array, a: Argument) -> Array:
    """Return a result as the buffer's elements: floats for bf16 are rounded to it."""
    return rounded(data, BF16) if a.dtype == BF16 and data.dtype.kind == "f" else data


def load_function(file: str, name: str, what: str, remedy: str) -> Any:
    """Return a function of a Python file, which is executed. what: its part in the launch file, for messages. remedy:
    the place that names the file, for messages.

    Raises UsageError where the file cannot be read, MalformedInput where it does not load or has no such function.
    """
    try:
        found = instead_of_file(file)
        source = Path(file).read_bytes() if found is None else b""
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or e
        raise UsageError(f"cannot read the {what}", file=file, found=reason, remedy=remedy) from e
    if found is not None:
        raise UsageError(f"cannot read the {what}", file=file, found=found, expected="a Python file", remedy=remedy)
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
# Checks against the binary.


def complete(launch: Launch, wanted: Iterable[Argument], given: Mapping[str, Array], place: str) -> Mapping[str, Array]:
    """Return the contents that replace the launch's own: each of the arguments `wanted` must be there, of its size.
    UsageError where one is missing, of another size or unknown. place: the name of `given`, for messages."""
    known = {a.name: a for a in wanted}
    listed = ", ".join(known) or "none"
    for name in known:
        if name not in given:
            found = ", ".join(map(str, given)) or "none"
            raise UsageError(
                f"no contents for the argument {name}", file=launch.path or None, place=place, found=found,
                expected=listed, remedy=f"Begin with launch.make_{place}(), which has them all.",
            )  # fmt: skip
    for name, value in given.items():
        data = np.asarray(value)
        if name not in known:
            message = "contents for an unknown argument"
            raise UsageError(message, file=launch.path or None, place=place, found=quoted(name), expected=listed)
        if data.nbytes != known[name].bytes:
            raise UsageError(
                "contents of another size", file=launch.path or None, place=f"{place}[{quoted(name)}]",
                found=f"{_described(data)}, {data.nbytes} bytes",
                expected=f"{known[name].numpy_dtype} {list(known[name].shape)}, {known[name].bytes} bytes",
            )  # fmt: skip
    return given


def check_against(launch: Launch, info: FunctionInfo, binary: str | None = None) -> None:
    """Refuse a launch that contradicts the kernel's record in the binary: block size, launch bound, parameters.

    Raises UsageError, which names the launch's value and the requirement of the binary (path `binary`).
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
                remedy=launch.left_out(),
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
                remedy=launch.left_out(),
            )
    for a in launch.unbound(names):
        raise UsageError(
            f"{binary} has no such parameter",
            file=file,
            place=f"argument {a.name}",
            found=a.name,
            expected=", ".join(names) or "no parameters",
        )
