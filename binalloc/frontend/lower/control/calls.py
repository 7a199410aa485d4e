"""This module lowers calls of `.func`s. Arguments and results are units; allocation joins them to the callee's.

It needs the names of the callees' routines under the same kernel (`ctx.names`). A guarded call is a branch around the
call. A call of a register compares the register with the numbers of all functions that it may name, and calls the equal
one directly. So the call graph stays known.
"""

from __future__ import annotations

from binalloc.frontend.emitter import imm
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.control.control import fault
from binalloc.frontend.lower.memory import parameters
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction


def call(ctx: Context, ins: Instruction) -> None:
    """Lower call."""
    m = ctx.modifiers()
    uniform = m.has("uni")
    m.done()
    if isinstance(ins.callee, ast.Register):
        _indirect(ctx, ins, ins.callee, uniform)
        return
    if not isinstance(ins.callee, ast.Symbol) or ins.callee.name not in ctx.module.functions:
        ctx.refuse("call of what is no function", expected="the name of a .func, or a register")
    callee = ctx.module.functions[ins.callee.name]
    _check_callee(ctx, callee)
    after = -1
    if ctx.guard is not None:
        after = ctx.b.label()
        ctx.b.branch(after, (ctx.guard[0], not ctx.guard[1]), uniform=uniform)
    _emit(ctx, ins, callee)
    if after >= 0:
        ctx.b.start(after)
    elif callee.noreturn:
        ctx.b.emit("EXIT")
        ctx.b.start(ctx.b.label())


def _emit(ctx: Context, ins: Instruction, callee: ast.PtxFunction) -> None:
    """Emit the CALL itself."""
    arguments = _units(ctx, ins.arguments, callee.parameters, "argument")
    results = _units(ctx, ins.results, callee.results, "result")
    node = ctx.b.emit("CALL")
    node.callee = ctx.names[callee.name]
    node.args = tuple(arguments)
    node.results = tuple(results)


def _indirect(ctx: Context, ins: Instruction, register: ast.Register, uniform: bool) -> None:
    """Lower a call of a register. Each function that it may name is called by its lanes; any other number faults."""
    type_ = ctx.function.registers[register.name]
    names = ctx.layout.targets.of(ctx.function, ins)
    if TYPE_BYTES[type_] not in (4, 8):
        ctx.refuse(f"{register.name} cannot hold an address", expected="a register of 32 or 64 bits")
    if not names:
        ctx.unsupported("indirect", expected="a .func with these arguments and results whose address is taken here")
    callees = [ctx.module.functions[name] for name in names]
    for callee in callees:
        _check_callee(ctx, callee)
    number, after = ctx.register(register.name), ctx.b.label()
    guard, ctx.guard = ctx.guard, None
    if guard is not None:
        ctx.b.branch(after, (guard[0], not guard[1]), uniform=uniform)
    for callee in callees:
        same, following = ctx.b.predicate(), ctx.b.label()
        ctx.b.emit("ISETP", pd0=same, a=number, b=imm(ctx.layout.targets.number(callee.name)), icmp="EQ", u32cmp=1)
        ctx.b.branch(following, (same, True), uniform=uniform)
        _emit(ctx, ins, callee)
        ctx.b.branch(after)
        ctx.b.start(following)
    fault(ctx)
    ctx.b.start(after)


def _check_callee(ctx: Context, callee: ast.PtxFunction) -> None:
    """Refuse a call of a function without a body."""
    if callee.body is None:
        if callee.name.startswith("cuda"):  # no PTX file of a user defines these
            ctx.unsupported("device-runtime", f"{callee.name} is of CUDA's device runtime, which is not supported")
        ctx.undefined("other-file", callee.name)


def _units(ctx: Context, operands: tuple[ast.Operand, ...], formal: list[ast.Variable], what: str) -> list[int]:
    """Return the units of all arguments (or results) in the order of the callee's words."""
    if len(operands) != len(formal):
        ctx.refuse(f"{len(operands)} {what}s", expected=f"{len(formal)}, as the function declares")
    out: list[int] = []
    for operand, variable in zip(operands, formal, strict=True):
        out += _operand_units(ctx, operand, variable, what)
    return out


def _operand_units(ctx: Context, operand: ast.Operand, variable: ast.Variable, what: str) -> list[int]:
    count = parameters.words(variable)
    if isinstance(operand, ast.Discard) and what == "result":
        return [RZ] * count
    if isinstance(operand, ast.Symbol) and operand.name in ctx.parameters and operand.offset == 0:
        own = ctx.function.variables.get(operand.name)
        if own is None or own.size != variable.size:
            size = own.size if own is not None else 0
            ctx.refuse(f"{operand.name} of {size} bytes as {what} {variable.name}", expected=f"{variable.size} bytes")
        first = ctx.parameters[operand.name]
        return list(range(first, first + count))
    if variable.array or (isinstance(operand, ast.Symbol) and what == "result"):
        ctx.refuse(f"{what} {variable.name} cannot be this operand", expected="a .param variable of its size")
    type_ = variable.type
    if isinstance(operand, ast.Register):
        ctx.check_type(operand, type_)
        unit = ctx.register(operand.name)
        return list(range(unit, unit + count))
    if what == "result":
        ctx.refuse(f"{what} {variable.name} cannot be this operand", expected="a register or .param variable")
    words = ctx.wide(operand, type_) if TYPE_BYTES[type_] == 8 else (ctx.word(operand, type_),)
    return [ctx.b.unit(word) for word in words]


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"call": call}
