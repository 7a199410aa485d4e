"""Registers declared outside of functions (PTX before 3.0): each function has them as its own.

That is what they are wherever no value goes from one function to another in them. Compilers of that time wrote
arguments and results into them just before and behind a call, which names them. A read that may see what another
function left there is found here, and refused.
"""

from __future__ import annotations

from binalloc.errors import MalformedInput
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.lower.context.modifiers import refusal
from binalloc.frontend.lower.context.scan import has_result, named_registers
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.variables import OUTSIDE


def refusals(ctx: Context) -> list[MalformedInput]:
    """The first read of a value that another function may have left in such a register, refused; mostly nothing."""
    shared = _of(ctx.function)
    if ctx.function.is_entry:  # a kernel begins once, with nothing in its registers
        others = [ctx.module.functions[name] for name in ctx.kernel.reached if name != ctx.function.name]
        shared &= {register for other in others for register in _of(other)}
    found = _carried(ctx.function, shared) if shared else None
    if found is None:
        return []
    ins, register = found
    message = f"{register.removesuffix(OUTSIDE)} is declared outside of functions and may hold another function's value"
    return [refusal(ins, ctx.function.path, message, form="outside-register")]


def _of(function: ast.Function) -> set[str]:
    return {name for name in function.registers if name.partition(OUTSIDE)[1]}


def _carried(function: ast.Function, shared: set[str]) -> tuple[ast.Instruction, str] | None:
    """The first read of one of the registers that no write in the same block comes before, with no call between."""
    written: set[str] = set()
    for ins in function.body or ():
        if isinstance(ins, ast.Label):
            written.clear()
            continue
        read = named_registers(*(ins.operands[1:] if has_result(ins) else ins.operands), *ins.arguments)
        if ins.guard is not None:
            read.add(ins.guard[0])
        if left := sorted(read & shared - written):
            return ins, left[0]
        if ins.op == "call":
            written.clear()
        if ins.guard is None:
            written |= named_registers(*(ins.operands[:1] if has_result(ins) else ()), *ins.results)
    return None
