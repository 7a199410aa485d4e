"""Builds modules instruction by instruction for tests: labels, calls by name, no assembler in between."""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, make
from binalloc.isa.table.fields import PT

Guard = tuple[int, bool]
ALWAYS: Guard = (PT, False)


@dataclass
class Code:
    """One function under construction. `bra` takes label names; `label` places one at the next instruction.

    addresses: (word, function, n): the word's immediate becomes the function's code address + n.
    """

    name: str
    kernel: bool = True
    instrs: list[Instr] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branches: list[tuple[int, str, str | None]] = field(default_factory=list)
    calls: list[tuple[int, str]] = field(default_factory=list)
    addresses: list[tuple[int, str, int]] = field(default_factory=list)
    fresh: int = 0

    def emit(self, opcode: str, guard: Guard = ALWAYS, **fields: int) -> int:
        """Append an instruction; its word index."""
        self.instrs.append(make(opcode, guard=guard, **fields))
        return len(self.instrs) - 1

    def new_label(self) -> str:
        self.fresh += 1
        return f"L{self.fresh}"

    def label(self, name: str) -> None:
        assert name not in self.labels
        self.labels[name] = len(self.instrs)

    def bra(self, target: str, reconv: str | None = None, guard: Guard = ALWAYS) -> int:
        at = self.emit("BRA", guard)
        self.branches.append((at, target, reconv))
        return at

    def call(self, callee: str, guard: Guard = ALWAYS) -> int:
        at = self.emit("CALL", guard)
        self.calls.append((at, callee))
        return at

    def finish(self) -> Function:
        for at, target, reconv in self.branches:
            fields = {"target": self.labels[target] - at - 1}
            if reconv is not None:
                fields |= {"diverges": 1, "reconv": self.labels[reconv] - at - 1}
            self.instrs[at] = self.instrs[at].replace(**fields)
        return Function(self.name, self.instrs, FunctionInfo(kind="kernel" if self.kernel else "function"))


def module_of(*codes: Code) -> Module:
    """The module of the finished functions, laid out, calls resolved."""
    module = Module([code.finish() for code in codes])
    module.layout()
    for code, fn in zip(codes, module.functions, strict=True):
        for at, callee in code.calls:
            target = module.function(callee).address - (fn.address + at + 1)
            fn.instrs[at] = fn.instrs[at].replace(target=target)
        for at, name, n in code.addresses:
            fn.instrs[at] = fn.instrs[at].replace(imm=module.function(name).address + n & 0xFFFFFFFF)
    return module
