"""This module checks registers declared outside of functions (PTX before 3.0): each function gets its own copy of them.

A copy is right wherever no value passes from one function to another in such a register. Compilers of that time wrote
arguments and results into them just before and behind a call, and the call names them. A read that might get a value of
another function is found here, and refused.
"""

from __future__ import annotations

from binalloc.errors import MalformedInput
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.lower.context.modifiers import refusal
from binalloc.frontend.lower.context.scan import has_result, named_registers
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.variables import OUTSIDE


def refusals(ctx: Context) -> list[MalformedInput]:
    """Return the refusal of the first read that might get another function's value from such a register; mostly
    none."""
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


def _of(function: ast.PtxFunction) -> set[str]:
    return {name for name in function.registers if name.partition(OUTSIDE)[1]}


def _carried(function: ast.PtxFunction, shared: set[str]) -> tuple[ast.Instruction, str] | None:
    """Return the first read of one of the registers without a write before it in the same block, and no call
    between."""
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
