"""This module finds the functions that a call of a register may name, and numbers the functions.

A function's address is its number in the file, from 1; only a call can use it. A call may name the functions whose
address is taken anywhere in the file, by `mov` or an initialiser. The call must have the sizes of their parameters and
results. Where the call names a `.calltargets`, only the functions in that list count.
"""

from __future__ import annotations

import re

from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES

_NAME = re.compile(r"[\w$%]+")  # a name in the text of a `.calltargets`


class Targets:
    """Targets are the functions that indirect calls in one module may enter."""

    def __init__(self, module: ast.PtxModule) -> None:
        self.module = module
        self.numbers = {name: k for k, name in enumerate(module.functions, 1)}  #: function -> its number
        named = {symbol for v in module.variables.values() for _, symbol, *_ in v.relocations}
        for function in module.functions.values():
            named.update(symbol for v in function.variables.values() for _, symbol, *_ in v.relocations)
            for ins in function.body or ():
                if isinstance(ins, ast.Instruction) and ins.op == "mov":
                    named.update(operand.name for operand in ins.operands[1:] if isinstance(operand, ast.Symbol))
        #: functions with a body whose address is a value somewhere, in the order of the file
        self.taken = [name for name in module.functions if name in named and self.number(name)]

    def number(self, name: str) -> int:
        """Return the number that is a function's address; 0 for kernels and for functions without a body."""
        function = self.module.functions.get(name)
        callable_ = function is not None and function.body is not None and not function.is_entry
        return self.numbers[name] if callable_ else 0

    def of(self, caller: ast.PtxFunction, call: ast.Instruction) -> list[str]:
        """Return the functions that a call of a register may name."""
        listed = caller.prototypes.get(call.prototype or "", "")
        among = self.taken
        if listed.startswith(".calltargets"):
            among = [name for name in _NAME.findall(listed)[1:] if self.number(name)]
        wanted = [[_size(caller, operand) for operand in side] for side in (call.arguments, call.results)]
        return [name for name in among if self._sizes(name) == wanted]

    def _sizes(self, name: str) -> list[list[int]]:
        function = self.module.functions[name]
        return [[v.size for v in side] for side in (function.parameters, function.results)]


def _size(caller: ast.PtxFunction, operand: ast.Operand) -> int:
    """Return the bytes of an argument or result; -1 for an operand that has no size of its own."""
    if isinstance(operand, ast.Symbol) and operand.name in caller.variables:
        return caller.variables[operand.name].size
    if isinstance(operand, ast.Register):
        return TYPE_BYTES[caller.registers[operand.name]]
    return -1
