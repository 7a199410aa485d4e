"""This module finds from which shared variables' symbols the values of PTX registers were computed.

It needs a module and the functions that its kernels call, directly or through others. The values of a register at all
places are one set: compilers write a register once, or where ways join. Values follow arguments and results of direct
calls. The parameters of kernels may have any number, and those of functions whose address is taken any value.
`symbol_rules` has the rule of each instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from binalloc.frontend.lower.context.symbol_rules import FIRST, PLAIN, RAW, is_variable, packed, part_of, result
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES

_WITHOUT_RESULT = frozenset(
    ("st", "red", "bra", "brx", "ret", "exit", "trap", "membar", "fence", "nanosleep", "prefetch",
     "prefetchu", "cp", "stmatrix", "discard", "pmevent", "applypriority")
)  # fmt: skip
"""Instructions whose first operand is no destination."""
_LOADS = frozenset(("ld", "ldu", "ldmatrix", "atom", "tex", "tld4", "txq", "suld", "suq"))
_BARRIERS = frozenset(("bar", "barrier"))
_SMALL_ATOMICS = frozenset(("b16", "f16", "bf16"))  # Loom makes them of an access to the word around
_PAIR = 2  # halves of a 64-bit value, as `mov` packs them
_LEAST = 4  # bytes of a value in memory that can be an address

Cell = tuple[str, str]
"""A register or parameter variable, with its function in front."""
Key = tuple[str, str]
"""A shared variable, with the function that declares it in front, "" for the module. All dynamic memory is one."""
DYNAMIC_KEY: Key = ("", "")


class SymbolFlow:
    """The symbols of a module's values are found when they are first asked for."""

    def __init__(self, module: ast.PtxModule, order: Sequence[str], open_: Sequence[str]) -> None:
        """order: the functions. open_: those of which not all calls are known."""
        self.module, self.order, self.open = module, order, frozenset(open_)
        self._bits: dict[Key, int] = {}
        self._grains: list[int] = []  # by bit, of what the variable's beginning and size are multiples
        self._values: dict[Cell, int] | None = None
        self._readers: dict[Cell, list[tuple[str, ast.Instruction]]] = {}
        self._changed: list[Cell] = []

    def touched(self, function: str, ins: ast.Instruction) -> list[Key]:
        """Return the variables from whose symbols the address of a memory instruction was computed, in order; none
        where that is not known."""
        address = next((o for o in ins.operands if isinstance(o, ast.Address)), None)
        if address is None or (ins.op in ("atom", "red") and _SMALL_ATOMICS & set(ins.mods)):
            return []
        values = self._solved()
        base = address.base
        if base is None or not values:
            return []
        symbols = self._operand(function, base)
        if not is_variable(symbols):
            return []
        return [key for key, bit in self._bits.items() if symbols >> bit & 1]

    # -- values

    def _solved(self) -> dict[Cell, int]:
        """Return the symbols of all registers; nothing where no shared variable is named."""
        if self._values is None:
            self._values = {}
            if any(v.space == "shared" for v in self._variables()):
                self._solve()
        return self._values

    def _variables(self) -> Iterator[ast.Variable]:
        yield from self.module.variables.values()
        for name in self.order:
            yield from self.module.functions[name].variables.values()

    def _solve(self) -> None:
        instructions = []
        for name in self.order:
            function = self.module.functions[name]
            for ins in function.body or ():
                if isinstance(ins, ast.Instruction):
                    instructions.append((name, ins))
            if name in self.open or function.is_entry:
                for v in function.parameters:
                    self._add((name, v.name), PLAIN if function.is_entry else RAW)
        for name, ins in instructions:
            for cell in set(self._read(name, ins)):
                self._readers.setdefault(cell, []).append((name, ins))
        for name, ins in instructions:
            self._execute(name, ins)
        while self._changed:
            for name, ins in self._readers.get(self._changed.pop(), ()):
                self._execute(name, ins)

    def _read(self, name: str, ins: ast.Instruction) -> Iterator[Cell]:
        """Yield the cells on which what an instruction writes may depend."""
        for operand in (*ins.operands, *ins.arguments):
            yield from ((name, part) for part in _names(operand))
        if isinstance(ins.callee, ast.Symbol) and ins.callee.name in self.module.functions:
            yield from ((ins.callee.name, v.name) for v in self.module.functions[ins.callee.name].results)

    def _add(self, cell: Cell, value: int) -> None:
        assert self._values is not None
        old = self._values.get(cell, 0)
        if old | value != old:
            self._values[cell] = old | value
            self._changed.append(cell)

    def _operand(self, name: str, operand: ast.Operand) -> int:
        """Return the symbols of an operand of a function's instruction."""
        assert self._values is not None
        operand = ast.plain(operand)
        if isinstance(operand, ast.Register):
            return self._values.get((name, operand.name), 0)
        if isinstance(operand, ast.Symbol):
            return self._symbol(name, operand.name)
        if isinstance(operand, ast.Vector):
            return packed([self._operand(name, item) for item in operand.items])
        return PLAIN

    def _symbol(self, name: str, symbol: str) -> int:
        assert self._values is not None
        function = self.module.functions[name]
        own = function.variables.get(symbol)
        variable = own if own is not None else self.module.variables.get(symbol)
        if variable is not None and variable.space == "shared":
            key = DYNAMIC_KEY if variable.external else (name if own is not None else "", symbol)
            if key not in self._bits:
                self._bits[key] = FIRST + len(self._bits)
                # dynamic memory begins aligned, and nothing is behind it
                self._grains.append(0 if variable.external else gcd(variable.align, variable.size))
            return 1 << self._bits[key]
        return self._values.get((name, symbol), 0) or PLAIN if variable is None else PLAIN

    # -- instructions

    def _execute(self, name: str, ins: ast.Instruction) -> None:
        """Add what an instruction writes to its destinations."""
        if ins.op == "call":
            self._call(name, ins)
        elif ins.op == "st" and "param" in ins.mods:
            cell = _parameter(ins.operands[0])
            if cell is not None:
                self._add((name, cell), self._parts(name, ins.operands[1]))
        elif ins.op in _WITHOUT_RESULT or not ins.operands or (ins.op in _BARRIERS and "red" not in ins.mods):
            return
        elif ins.op in _LOADS:
            cell = _parameter(ins.operands[1]) if ins.op == "ld" and "param" in ins.mods else None
            assert self._values is not None
            self._write(name, ins.operands[0], _loaded(ins) if cell is None else self._values.get((name, cell), 0))
        else:
            sources = [self._operand(name, operand) for operand in ins.operands[1:]]
            target = ins.operands[0]
            if ins.op == "mov" and isinstance(target, ast.Vector):
                self._unpack(name, target, sources[0])
            else:
                self._write(name, target, result(ins, sources, self._fits) if sources else PLAIN)

    def _fits(self, size: int) -> int:
        """Return the variables that begin and end at multiples of some bytes, as a bitset."""
        return sum(1 << FIRST + k for k, grain in enumerate(self._grains) if grain % size == 0)

    def _parts(self, name: str, operand: ast.Operand) -> int:
        """Return what any part of an operand may be."""
        found = 0
        for item in operand.items if isinstance(operand, ast.Vector) else (operand,):
            found |= self._operand(name, item)
        return found

    def _unpack(self, name: str, target: ast.Vector, value: int) -> None:
        """Write the parts of a value."""
        types = {self.module.functions[name].registers.get(part, "") for part in _names(target)}
        halves = len(target.items) == _PAIR and all(type_.endswith("32") for type_ in types)
        for k, item in enumerate(target.items):
            self._write(name, item, part_of(value, lowest=k == 0, halves=halves))

    def _write(self, name: str, target: ast.Operand, value: int) -> None:
        if not isinstance(target, ast.Address):
            for register in _names(target):
                self._add((name, register), value)

    def _call(self, name: str, ins: ast.Instruction) -> None:
        callee = None
        if isinstance(ins.callee, ast.Symbol):
            callee = self.module.functions.get(ins.callee.name)
        if callee is None or callee.body is None or callee.name in self.open:
            for operand in ins.results:
                self._write(name, operand, RAW)
        if callee is None or callee.body is None:
            return
        assert self._values is not None
        for operand, v in zip(ins.arguments, callee.parameters, strict=False):
            self._add((callee.name, v.name), self._argument(name, operand))
        for operand, v in zip(ins.results, callee.results, strict=False):
            self._write(name, operand, self._values.get((callee.name, v.name), 0))

    def _argument(self, name: str, operand: ast.Operand) -> int:
        """Return what an argument may be: a value, or what has been stored to a variable of the call."""
        assert self._values is not None
        if isinstance(operand, ast.Symbol):
            return self._values.get((name, operand.name), 0)
        return self._operand(name, operand)


def _loaded(ins: ast.Instruction) -> int:
    """Return what an instruction may load: what is too small for an address is a number."""
    sizes = [TYPE_BYTES[mod] for mod in ins.mods if mod in TYPE_BYTES]
    return PLAIN if sizes and max(sizes) < _LEAST else RAW


def _parameter(operand: ast.Operand) -> str | None:
    """Return the parameter variable that an address names."""
    if isinstance(operand, ast.Address) and isinstance(operand.base, ast.Symbol):
        return operand.base.name
    return None


def _names(operand: ast.Operand | None) -> Iterator[str]:
    """Yield the names of an operand's registers and variables."""
    if operand is None:
        return
    operand = ast.plain(operand)
    if isinstance(operand, ast.Register | ast.Symbol):
        yield operand.name
    elif isinstance(operand, ast.Address):
        yield from _names(operand.base)
    elif isinstance(operand, ast.Negated):
        yield operand.base.name
    elif isinstance(operand, ast.Vector):
        for item in operand.items:
            yield from _names(item)
    elif isinstance(operand, ast.Dual):
        yield from _names(operand.first)
        yield from _names(operand.second)
