"""This module expands operands that ptxas computes although the manual has none such: `%r1+4` outside of an address,
and `v[%r1]`.

They become instructions on new registers, before the instruction with the operand. The registers have names such as
`%sum.0.2`, which no text can declare.
"""

from __future__ import annotations

from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction, Integer, Operand, Register, Symbol, Variable

_SOURCES_ALONE = ("bar", "barrier", "nanosleep")
"""The first operand of these instructions is neither a destination nor an address."""


class Computed:
    """A computed operand takes instructions of its own; `Computed` makes them for one function."""

    __slots__ = ("_before", "_made", "ins", "position", "registers")

    def __init__(self, registers: dict[str, str]) -> None:
        self.registers = registers  #: the function's, name -> type
        #: the instruction whose operands the token cursor reads, between `begin` and `taken`
        self.ins: Instruction | None = None
        self.position = -1  #: number of the operand, from 0; -1 inside of another operand, or of a call
        self._before: list[Instruction] = []
        self._made = 0

    def begin(self, ins: Instruction) -> None:
        """Set the instruction whose operands follow. Without one, nothing can be computed."""
        self.ins, self._before, self.position = ins, [], -1

    def taken(self) -> list[Instruction]:
        """Return the instructions to be executed before the current one, in order, and end it. Its text must be set by
        now."""
        assert self.ins is not None
        for before in self._before:
            before.text = self.ins.text
        self.ins = None
        return self._before

    @property
    def is_source(self) -> bool:
        """Return whether the operand is a source and not part of another operand. Only there does ptxas compute."""
        return self.position > 0 or (self.position == 0 and self.ins is not None and self.ins.op in _SOURCES_ALONE)

    @property
    def accesses(self) -> bool:
        """Return whether the instruction uses an element of a variable as a memory address."""
        return self.ins is not None and self.ins.op in ("ld", "ldu", "st")

    def sum(self, base: Register, constant: int) -> Register | None:
        """Return a register for base + constant, modulo the register's size; None for registers that hold no
        integers."""
        type_ = self.registers[base.name]
        size = TYPE_BYTES[type_]
        if "f" in type_ or size not in (2, 4, 8):
            return None
        out = self._register(f"b{8 * size}")
        self._emit("add", (f"u{8 * size}",), out, base, Integer(constant))
        return out

    def element(self, variable: Variable, index: Register, constant: int) -> Register | None:
        """Return a register for the address of element index + constant, in the variable's space.

        It has as many bits as the instruction moves, 64 for an access. The offset is computed in 32 bits unless the
        index has 64, as in ptxas. Returns None for an index that is no integer.
        """
        type_ = self.registers[index.name]
        size = TYPE_BYTES[type_]
        if "f" in type_ or size not in (2, 4, 8):
            return None
        if size == 2:
            index, narrow, size = self._register("b32"), index, 4
            self._emit("cvt", ("s32" if type_[0] == "s" else "u32", type_.replace("b", "u")), index, narrow)
        first, offset = Integer(constant * variable.element), self._register(f"b{8 * size}")
        self._emit("mad", ("lo", f"u{8 * size}"), offset, index, Integer(variable.element), first)
        assert self.ins is not None
        moved = TYPE_BYTES.get(self.ins.mods[-1]) if self.ins.mods else 8
        wanted = 8 if self.accesses or moved != 4 else 4
        if wanted != size:
            offset, given = self._register(f"b{8 * wanted}"), offset
            self._emit("cvt", (f"u{8 * wanted}", f"u{8 * size}"), offset, given)
        start, out = self._register(f"b{8 * wanted}"), self._register(f"b{8 * wanted}")
        self._emit("mov", (f"b{8 * wanted}",), start, Symbol(variable.name))
        self._emit("add", (f"u{8 * wanted}",), out, start, offset)
        return out

    def _register(self, type_: str) -> Register:
        self._made += 1
        name = f"%sum.0.{self._made}"
        self.registers[name] = type_
        return Register(name)

    def _emit(self, op: str, mods: tuple[str, ...], *operands: Operand) -> None:
        assert self.ins is not None
        self._before.append(Instruction(op, mods, operands, self.ins.place, None, self.ins.loc))
