"""One launch of a program is made here: its grid, and the bytes of the kernel's parameters.

Needs the kernel's record in the binary, which has names, offsets and sizes of its parameters, and no types. Leaves
true: every parameter has an argument of its size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from binalloc.errors import UsageError
from binalloc.isa.instruction import FunctionInfo, Param
from binalloc.launch.file import check_against
from binalloc.launch.merged import Merge
from binalloc.launch.numbers.dtypes import PART, POINTER_BYTES, kind_of, rounded, shown
from binalloc.launch.program.expressions import Expression, Number, Scope
from binalloc.launch.program.types import Given, LaunchStep
from binalloc.launch.schema import BLOCK_LIMITS, GRID_LIMITS, MAX_DYNAMIC_SHARED, MAX_THREADS_PER_BLOCK
from binalloc.launch.types import Argument, ArgumentKind, CellField, Launch, parameter_bytes
from binalloc.launch.values import At, a_value
from binalloc.printable import quoted

_SIZES = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
"""By bytes of a parameter: the type of an integer that is passed for it."""


def bind_step(
    step: LaunchStep, info: FunctionInfo, kernel: str, held: Launch, scope: Scope, addresses: Mapping[str, int],
    binary: str | None, merge: Merge | None = None,
) -> tuple[Launch, bytes]:  # fmt: skip
    """Return the launch of a step with present values, and the parameters' bytes. Its arguments have the names of the
    kernel's parameters; behind them come the buffers that some of them point into.

    kernel: its name in the binary (path `binary`). info: its record. held: the program's arguments. addresses: of
    buffers, and handles of textures, by argument. merge: how blocks were merged; None if they were not. A step with the
    original's blocks is adapted then. Raises MalformedInput for values that are out of range, UsageError where the
    launch contradicts the binary.
    """
    grid, block = (
        _dimensions(dims, limits, scope)
        for dims, limits in ((step.grid, GRID_LIMITS), (step.block, BLOCK_LIMITS))
    )  # fmt: skip
    if math.prod(block) > MAX_THREADS_PER_BLOCK:
        step.block[0].at.fail("too many threads in a block", math.prod(block), f"at most {MAX_THREADS_PER_BLOCK}")
    if math.prod(grid) >= 2**31:
        step.grid[0].at.fail("too many blocks", math.prod(grid), "fewer than 2^31")
    dynamic = step.dynamic_shared.integer(scope, 0, MAX_DYNAMIC_SHARED)
    adapts = merge if merge is not None and block == merge.block else None
    own, info = info, info if adapts is None else adapts.original(info)
    passed = _passed(step, info, held, scope)
    renamed = tuple(replace(a, name=p.name) for p, a in zip(info.params, passed, strict=True))
    launch = Launch(
        kernel, grid, block, dynamic, renamed + _pointed_at(renamed, held), None, held.size, held.path, held.heap,
        held.printf_buffer, step.cooperative,
    )  # fmt: skip
    try:
        check_against(launch, info, binary)
    except UsageError as error:
        error.place = f"{step.at.key}.{error.place}"
        raise
    out = bytearray(max((p.offset + p.size for p in info.params), default=0))
    for p, a in zip(info.params, passed, strict=True):
        out[p.offset : p.offset + p.size] = parameter_bytes(a, p.size, addresses)
    return (launch, bytes(out)) if adapts is None else _adapted(launch, bytes(out), adapts, own)


def _adapted(launch: Launch, parameters: bytes, merge: Merge, info: FunctionInfo) -> tuple[Launch, bytes]:
    """Return the launch of merged blocks, and its parameters' bytes. info: the record of the merged kernel."""
    launch, last = merge.launch(launch), info.params[-1]
    extent = parameter_bytes(launch.argument(last.name), last.size, {})
    return launch, parameters.ljust(last.offset, b"\0") + extent


def _pointed_at(passed: Sequence[Argument], held: Launch) -> tuple[Argument, ...]:
    """Return the buffers whose addresses are in fields of passed arguments. Buffers that are passed by their own name
    are left out."""
    own = {a.name for a in passed}
    inside = dict.fromkeys(f.argument for a in passed for f in a.fields if f.argument)
    return tuple(held.argument(name) for name in inside if name not in own)


def _dimensions(
    given: Sequence[Expression], limits: tuple[int, int, int], scope: Scope
) -> tuple[int, int, int]:  # fmt: skip
    """Return the present values of a grid or block."""
    x, y, z = (e.integer(scope, 1, most) for e, most in zip(given, limits, strict=True))
    return x, y, z


def _passed(step: LaunchStep, info: FunctionInfo, held: Launch, scope: Scope) -> list[Argument]:
    """Return the argument of each parameter, in their order."""
    at = step.at.sub("arguments")
    params = info.params
    listed = ", ".join(f"{p.name} ({p.size} bytes)" for p in params) or "none"
    given = step.arguments
    if given is None:
        bound = held.bind([p.name for p in params])
        missing = [p.name for p in params if p.name not in bound]
        if missing:
            message = "no argument for a parameter of the kernel"
            raise _contradicts(at, message, missing[0], f"arguments for {listed}", held.left_out())
        return [_now(bound[p.name], scope) for p in params]
    if isinstance(given, dict):
        unknown = [name for name in given if name not in {p.name for p in params}]
        missing = [p.name for p in params if p.name not in given]
        if unknown or missing:
            found = f"{unknown[0]}, which is not one of them" if unknown else f"nothing for {missing[0]}"
            raise _contradicts(at, "not the parameters of the kernel", found, listed)
        return [_argument(given[p.name], p, held, scope) for p in params]
    if len(given) != len(params):
        raise _contradicts(at, "the kernel takes another number of arguments", len(given), f"{len(params)}: {listed}")
    return [_argument(g, p, held, scope) for g, p in zip(given, params, strict=True)]


def _contradicts(
    at: At, message: str, found: object, expected: object, remedy: str | None = None
) -> UsageError:
    """Return the error for a launch that contradicts the binary."""
    return UsageError(message, file=at.file or None, place=at.key, found=found, expected=expected, remedy=remedy)


def _argument(given: Given, param: Param, held: Launch, scope: Scope) -> Argument:
    """Return the argument that a step passes for a parameter."""
    if given.argument and given.value is None:
        return _now(held.argument(given.argument), scope)
    assert given.value is not None
    if given.argument:
        byte = given.value.integer(scope, 0, held.argument(given.argument).bytes)
        field = CellField(0, argument=given.argument, at=byte)
        return Argument(param.name, ArgumentKind.STRUCT, "u8", size=POINTER_BYTES, fields=(field,))
    value = given.value.number(scope)
    dtype = given.dtype or _dtype(value, param, given)
    return Argument(param.name, ArgumentKind.SCALAR, dtype, value=converted(value, dtype, given.value))


def _now(a: Argument, scope: Scope) -> Argument:
    """Return an argument of the program with its present value: a scalar may have been set."""
    return replace(a, value=scope.number(a.name)) if a.kind == ArgumentKind.SCALAR else a


def _dtype(value: Number, param: Param, given: Given) -> str:
    """Return the type of a number without one, by its kind and the parameter's size."""
    name = _SIZES.get(param.size)
    if isinstance(value, float) and name is not None and param.size > 1:
        return f"f{param.size * 8}"
    if isinstance(value, float) or name is None:
        raise _contradicts(
            given.at, f"the number does not fit the parameter {param.name}", value, f"a value of {param.size} bytes"
        )
    return f"u{name[1:]}" if value >= 0 else name


def converted(value: Number, dtype: str, from_: Expression) -> Number:
    """Return the value as one of `dtype`. MalformedInput for an integer out of range, or a float for an integer type.
    from_: its expression, for messages."""
    kind = kind_of(dtype)
    if isinstance(value, float) and kind not in "fc":
        message = f"{quoted(from_.text)} is a float"
        from_.at.fail(message, value, f"an integer for {dtype}; int(...) cuts off")
    if kind == "b":
        return bool(from_.at.integer(value, 0, 1))
    if isinstance(value, float) and not math.isfinite(value):
        return value
    number = a_value(value, PART.get(dtype, dtype), from_.at)
    found: Number = shown(rounded(number, dtype), dtype).real.item()
    return found if isinstance(number, float) else int(number.real)
