"""This module collects facts about a function in one pass over its body, before any of it is lowered.

The facts are the callees, the variables named, the number of definitions of each register, and the registers that are
plain constants. It needs a parsed function and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.frontend.ptx import ast

_NO_RESULT = frozenset(
    ("bra", "brx", "membar", "fence", "nanosleep", "prefetch", "prefetchu", "st", "red", "pmevent", "cp", "discard",
     "applypriority", "griddepcontrol")
)
"""The first operand of these opcodes is no destination."""


@dataclass
class Scan:
    """A scan has the facts that one pass over a body finds."""

    callees: dict[str, ast.Instruction] = field(default_factory=dict)  #: name -> the first call of it
    symbols: set[str] = field(default_factory=set)  #: variables named
    #: variables whose address is a value: they are named other than as the base of an address or an argument
    escaping: set[str] = field(default_factory=set)
    definitions: dict[str, int] = field(default_factory=dict)  #: register -> instructions that write it (at least)
    #: registers whose only definition is an unguarded `mov` of an integer -> the integer
    constants: dict[str, int] = field(default_factory=dict)
    #: `.param` variable -> (index of the first statement that names it, index of the last, whether values smaller than
    #: a word are stored to it)
    pieces: dict[str, tuple[int, int, bool]] = field(default_factory=dict)
    labels: list[int] = field(default_factory=list)  #: indices of labels in the body
    #: suffixes of its `cvta`: the spaces with addresses that become generic ones
    generic: set[str] = field(default_factory=set)
    indirect: list[ast.Instruction] = field(default_factory=list)  #: calls of registers
    _reads: set[str] | None = None

    def reads(self, function: ast.PtxFunction) -> set[str]:
        """Return the registers that some instruction of the function reads, or may read.

        A destination counts as read where it is not certain to be one. Computed on demand.
        """
        if self._reads is None:
            self._reads = set()
            for ins in function.body or ():
                if isinstance(ins, ast.Instruction):
                    sources = ins.operands[1:] if has_result(ins) else ins.operands
                    for operand in (*sources, *ins.arguments, *ins.results):
                        _registers(self._reads, operand)
                    if isinstance(ins.callee, ast.Register):
                        self._reads.add(ins.callee.name)
            self._reads.update(v.name for v in (*function.parameters, *function.results) if v.space == "reg")
        return self._reads


def scan(function: ast.PtxFunction) -> Scan:
    """Scan the body once."""
    out = Scan()
    for index, ins in enumerate(function.body or ()):
        if isinstance(ins, ast.Label):
            out.labels.append(index)
            continue
        if ins.op == "call":
            _call(out, ins, index)
            continue
        if ins.op == "cvta":
            out.generic.update(mod.split("::")[0] for mod in ins.mods)
        operands = ins.operands
        if not operands or ins.op in ("bra", "brx"):
            continue
        if has_result(ins):
            _define(out, operands[0])
        for operand in operands:
            if type(operand) is not ast.Register and type(operand) is not ast.Integer:
                _names(out, operand, ins, index)
        if ins.op == "mov" and ins.guard is None and isinstance(operands[-1], ast.Integer):
            first = operands[0]
            if isinstance(first, ast.Register):
                out.constants[first.name] = operands[-1].value
    out.constants = {name: value for name, value in out.constants.items() if out.definitions[name] == 1}
    return out


def has_result(ins: ast.Instruction) -> bool:
    """Return whether the first operand is a destination."""
    return ins.op not in _NO_RESULT and (ins.op not in ("bar", "barrier") or "red" in ins.mods)


def named_registers(*operands: ast.Operand) -> set[str]:
    """Return the registers that operands name."""
    out: set[str] = set()
    for operand in operands:
        _registers(out, operand)
    return out


def _registers(out: set[str], operand: ast.Operand) -> None:
    """Add the registers that an operand names."""
    operand = ast.plain(operand)
    if isinstance(operand, ast.Register):
        out.add(operand.name)
    elif isinstance(operand, ast.Address):
        if isinstance(operand.base, ast.Register):
            out.add(operand.base.name)
    elif isinstance(operand, ast.Negated):
        out.add(operand.base.name)
    elif isinstance(operand, ast.Vector):
        for item in operand.items:
            _registers(out, item)
    elif isinstance(operand, ast.Dual):
        _registers(out, operand.first)
        _registers(out, operand.second)
    elif isinstance(operand, ast.TextureAddress):
        for item in (operand.texture, *operand.coordinates):
            _registers(out, item)


def _define(out: Scan, operand: ast.Operand) -> None:
    operand = ast.plain(operand)
    if isinstance(operand, ast.Register):
        out.definitions[operand.name] = out.definitions.get(operand.name, 0) + 1
    elif isinstance(operand, ast.Vector):
        for item in operand.items:
            _define(out, item)
    elif isinstance(operand, ast.Dual):
        _define(out, operand.first)
        _define(out, operand.second)


def _names(out: Scan, operand: ast.Operand, ins: ast.Instruction, index: int) -> None:
    if isinstance(operand, ast.Address):
        base = operand.base
        if isinstance(base, ast.Symbol):
            out.symbols.add(base.name)
            if any(mod.startswith("param") for mod in ins.mods):
                _piece(out, base.name, index, ins)
    elif isinstance(operand, ast.Symbol):
        out.symbols.add(operand.name)
        out.escaping.add(operand.name)
    elif isinstance(operand, ast.TextureAddress):
        for part in (operand.texture, operand.sampler):
            if isinstance(part, ast.Symbol):
                out.symbols.add(part.name)
    elif isinstance(operand, ast.Vector):
        for item in operand.items:
            _names(out, item, ins, index)


def _piece(out: Scan, name: str, index: int, ins: ast.Instruction | None) -> None:
    first, _, partial = out.pieces.get(name, (index, index, False))
    if ins is not None and ins.op == "st":
        partial = partial or any(ast.TYPE_BYTES.get(mod, 4) < 4 for mod in ins.mods)
    out.pieces[name] = (first, index, partial)


def _call(out: Scan, ins: ast.Instruction, index: int) -> None:
    if isinstance(ins.callee, ast.Symbol):
        out.callees.setdefault(ins.callee.name, ins)
    else:
        out.indirect.append(ins)
    for operand in ins.results:
        _define(out, operand)
    for operand in (*ins.results, *ins.arguments):
        if isinstance(operand, ast.Symbol):
            _piece(out, operand.name, index, None)
            out.symbols.add(operand.name)
