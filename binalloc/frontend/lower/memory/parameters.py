"""This module lowers `.param` space: kernel parameters in constant bank 0, parameters and call arguments in units.

A parameter of a .func is a run of 32-bit words, each a unit (pairs where its alignment is 8 bytes or more). So is a
`.param` variable that a call passes or receives. Loads and stores at constant offsets are moves. PRMT extracts and
inserts values smaller than a word. A function's parameter whose address is taken is copied to the local frame as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.frontend.emitter import BankConst, Imm, Source
from binalloc.frontend.ir import RZ, Registers
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES
from binalloc.frontend.unsupported import BY_KEY, NotSupported

Element = tuple[Source, Source | None]
"""A loaded value: (its word, extended to 32 bits where it is smaller; its high word if it has 64 bits)."""


def words(variable: ast.Variable) -> int:
    """Return the number of 32-bit words of a parameter."""
    return -(-variable.size // 4)


def allocate(registers: Registers, variable: ast.Variable) -> int:
    """Make consecutive units for a parameter in `.param` space and return the first."""
    count = words(variable)
    step = 2 if variable.align >= 8 else 1
    first = registers.end
    for done in range(0, count, step):
        registers.new(min(step, count - done))
    if count:
        registers.names[first] = variable.name
    return first


def units_of(ctx: Context, variable: ast.Variable) -> list[int]:
    """Return the units of a parameter or result of the function, declared as `.param` or as a register."""
    if variable.space == "reg":
        if variable.type == "pred":
            raise NotSupported(
                BY_KEY["predicate-parameter"],
                f"{variable.name} is a predicate",
                file=ctx.function.path or None,
                place=f"line {variable.place.line}, column {variable.place.column}",
                found=f"parameter of {ctx.function.name}",
                expected="parameters of 8 to 64 bits",
            )
        first = ctx.register(variable.name)
        return list(range(first, first + max(1, TYPE_BYTES[variable.type] // 4)))
    first = ctx.parameters[variable.name]
    return list(range(first, first + words(variable)))


def extract(ctx: Context, word: int, byte: int, size: int, *, signed: bool) -> int:
    """Return bytes byte .. byte+size-1 of a unit, extended to 32 bits."""
    top = byte + size - 1
    fill = 8 | top if signed else 4  # the sign of the top byte, or a byte of RZ
    selector = sum((byte + k if k < size else fill) << 4 * k for k in range(4))
    out = ctx.b.new()
    ctx.b.emit("PRMT", rd=out, a=word, b=Imm(selector), c=RZ)
    return out


def insert(ctx: Context, word: int, byte: int, size: int, value: Source) -> None:
    """Put the low `size` bytes of `value` into a unit at `byte`. The other bytes stay."""
    selector = sum((4 + k - byte if byte <= k < byte + size else k) << 4 * k for k in range(4))
    ctx.b.emit("PRMT", rd=word, a=word, b=Imm(selector), c=ctx.b.unit(value), guard=ctx.guard)


def load_units(ctx: Context, name: str, offset: int, type_: str, count: int) -> list[Element]:
    """Load from a parameter in units (ld.param)."""
    first = ctx.parameters[name]
    size = TYPE_BYTES[type_]
    _check(ctx, name, offset, size, count)
    out: list[Element] = []
    for at in range(offset, offset + size * count, size):
        unit = first + at // 4
        if size == 8:
            out.append((unit, unit + 1))
        elif size == 4:
            out.append((unit, None))
        else:
            out.append((extract(ctx, unit, at % 4, size, signed=type_[0] == "s"), None))
    return out


def store_units(ctx: Context, name: str, offset: int, type_: str, values: Sequence[tuple[Source, ...]]) -> None:
    """Store to a parameter in units (st.param). values: for each element its word, or its two words."""
    first = ctx.parameters[name]
    size = TYPE_BYTES[type_]
    variable = _variable(ctx, name)
    _check(ctx, name, offset, size, len(values))
    for k, value in enumerate(values):
        at = offset + size * k
        unit = first + at // 4
        if size >= 4:
            for n, word in enumerate(value):
                ctx.b.move(unit + n, word, ctx.guard)
        elif variable.size <= 4 and at == 0 and size >= variable.size:
            ctx.b.move(unit, value[0], ctx.guard)
        else:
            insert(ctx, unit, at % 4, size, value[0])


def _variable(ctx: Context, name: str) -> ast.Variable:
    found = ctx.function.variables.get(name)
    if found is not None:
        return found
    return next(v for v in (*ctx.function.parameters, *ctx.function.results) if v.name == name)


def _check(ctx: Context, name: str, offset: int, size: int, count: int) -> None:
    variable = _variable(ctx, name)
    if offset % size:
        ctx.refuse(f"offset {offset} of {name} is not aligned", expected=f"a multiple of {size}")
    if not 0 <= offset <= variable.size - size * count:
        ctx.refuse(f"offset {offset} lies outside {name}", expected=f"within its {variable.size} bytes")


def load_bank(ctx: Context, bank: int, offset: int, type_: str, count: int) -> list[Element]:
    """Load from a constant bank at a known offset: words become constant operands, smaller values LDC."""
    size = TYPE_BYTES[type_]
    if offset % size:
        ctx.refuse(f"constant address {offset} is not aligned", expected=f"a multiple of {size}")
    if not 0 <= offset <= 65536 - size * count:
        ctx.refuse(f"constant address {offset} lies outside the bank", expected="0..65535")
    out: list[Element] = []
    for at in range(offset, offset + size * count, size):
        if size == 8:
            out.append((BankConst(bank, at), BankConst(bank, at + 4)))
        elif size == 4:
            out.append((BankConst(bank, at), None))
        else:
            unit = ctx.b.new()
            width = f"{'S' if type_[0] == 's' else 'U'}{8 * size}"
            ctx.b.emit("LDC", rd=unit, ra=RZ, cbank=bank, coff=at, width=width, guard=ctx.guard)
            out.append((unit, None))
    return out


def enter(ctx: Context) -> tuple[list[int], list[int]]:
    """Make the units of a function's parameters and results, at its start, and return both.

    Parameters whose address is taken are copied to the local frame. Variables that are stored in pieces from several
    blocks are set to zero.
    """
    function = ctx.function
    if not function.is_entry:
        for v in (*function.parameters, *function.results):
            if v.space == "param":
                ctx.parameters[v.name] = allocate(ctx.registers, v)
    for v in function.variables.values():
        if v.space == "param":
            ctx.parameters[v.name] = allocate(ctx.registers, v)
    arguments = [unit for v in function.parameters for unit in units_of(ctx, v)] if not function.is_entry else []
    results = [unit for v in function.results for unit in units_of(ctx, v)]
    for v in function.parameters if not function.is_entry else ():
        if ctx.layout.in_memory(function.name, v):
            address = ctx.place(v.name)[1]
            for k, unit in enumerate(units_of(ctx, v)):
                ctx.b.emit("STL", ra=ctx.frame, moff=address + 4 * k, rb=unit, width="32")
    if function.name in ctx.layout.parameter_copies:
        for v in function.parameters:
            if v.name in ctx.scan.escaping:
                _copy(ctx, v, ctx.layout.parameter_copies[function.name])
    for name, (first, last, partial) in ctx.scan.pieces.items():
        if partial and name in ctx.parameters and any(first < at < last for at in ctx.scan.labels):
            clear(ctx, name)
    return arguments, results


def _copy(ctx: Context, variable: ast.Variable, to: int) -> None:
    """Copy a kernel's parameter to its copy in local memory, which begins at `to`: words, then the bytes behind the
    last."""
    at = ctx.place(variable.name)[1]
    whole = variable.size // 4 * 4
    for k in range(0, whole, 4):
        ctx.b.emit("STL", ra=RZ, moff=to + at + k, rb=ctx.b.unit(BankConst(0, at + k)), width="32")
    for k in range(whole, variable.size):
        unit = ctx.b.new()
        ctx.b.emit("LDC", rd=unit, ra=RZ, cbank=0, coff=at + k, width="U8")
        ctx.b.emit("STL", ra=RZ, moff=to + at + k, rb=unit, width="U8")


def clear(ctx: Context, name: str) -> None:
    """Set a variable to zero, so that the first of its pieces can be inserted."""
    first = ctx.parameters[name]
    for k in range(words(_variable(ctx, name))):
        ctx.b.move(first + k, RZ)


def beginnings(ctx: Context) -> dict[int, list[str]]:
    """Return statement index -> variables stored in pieces that are first used there.

    Only variables whose uses are all in one block are listed. `enter` clears the others.
    """
    out: dict[int, list[str]] = {}
    for name, (first, last, partial) in ctx.scan.pieces.items():
        if partial and name in ctx.parameters and not any(first < at < last for at in ctx.scan.labels):
            out.setdefault(first, []).append(name)
    return out
