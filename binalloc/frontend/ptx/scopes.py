"""This module resolves the names in a function body: scopes, parametrised register sets, special registers.

A `PtxScope` is one `{ }`. Names of inner scopes get the scope's number as a suffix (`temp.1`). No PTX identifier can
end so, so that flattening needs no search for a free name. A label may be used before its declaration in the text. A
name that is no register or variable yet is therefore kept in `pending` until its scope closes. """

from __future__ import annotations

import re

from binalloc.frontend.ptx.ast import Operand, Register, Selected, Special, Vector
from binalloc.frontend.ptx.lexer import SELECTOR

COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}
"""Components of a vector register, and their indices."""

_TRIPLES = ("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid")
"""Special registers that are vectors; `.w` always reads as 0."""

SPECIALS = frozenset(
    [f"{name}.{component}" for name in _TRIPLES for component in "xyzw"]
    + [f"%envreg{i}" for i in range(32)]
    + [f"%pm{i}" for i in range(8)]
    + [f"%pm{i}_64" for i in range(8)]
    + ["%reserved_smem_offset_0", "%reserved_smem_offset_1"]
    + list(_TRIPLES)
    + (  # noqa: SIM905
        "%laneid %warpid %nwarpid %smid %nsmid %gridid %is_explicit_cluster %cluster_ctarank %cluster_nctarank "
        "%lanemask_eq %lanemask_le %lanemask_lt %lanemask_ge %lanemask_gt %clock %clock_hi %clock64 "
        "%globaltimer %globaltimer_lo %globaltimer_hi %reserved_smem_offset_begin %reserved_smem_offset_end "
        "%reserved_smem_offset_cap %total_smem_size %aggr_smem_size %dynamic_smem_size %current_graph_exec"
    ).split()
)
"""Special registers (PTX ISA, section 10)."""

_SPECIAL_OPERANDS = {name: Special(name) for name in SPECIALS}

MAX_SET = 1 << 32  # most registers of one parametrised declaration; they are made one by one, as they are used
_SPLITS = 10  # most digits of a number below MAX_SET
_DIGITS = "0123456789"
_SELECTOR = re.compile(SELECTOR)
_TRAILING = re.compile(r"[0-9]+\Z")


def number_splits(name: str) -> list[tuple[str, int]]:
    """Return the ways to read a name as prefix and number: `%r12` is `%r1` + 2 and `%r` + 12. A number has no leading
    0."""
    m = _TRAILING.search(name)
    if m is None:
        return []
    end = len(name)
    out = []
    for at in range(end - 1, max(m.start(), end - _SPLITS) - 1, -1):
        if name[at] != "0" or at == end - 1:
            out.append((name[:at], int(name[at:])))
    return out


class RegisterSet:
    """A register set is a declaration such as `.reg .b32 %r<10>`."""

    __slots__ = ("count", "type", "width")

    def __init__(self, type_: str, count: int, width: int) -> None:
        self.type = type_  #: a fundamental type
        self.count = count  #: number of registers
        self.width = width  #: components of a vector register, 0 for none


class ScopeLabel:
    """A label is entered in a scope's table with its name in the function."""

    __slots__ = ("unique",)

    def __init__(self, unique: str) -> None:
        self.unique = unique  #: its name in the function


class PtxScope:
    """A scope holds the names declared in one `{ }`."""

    __slots__ = ("at", "lowest", "names", "outside", "parent", "pending", "registers", "sets", "suffix")

    def __init__(
        self, parent: PtxScope | None, suffix: str, at: int, registers: dict[str, str], outside: PtxScope | None = None
    ) -> None:
        self.parent = parent
        #: registers declared outside of functions; every function has its own copy of them
        self.outside: PtxScope | None = parent.outside if parent is not None else outside
        self.suffix = suffix  #: suffix of the scope's names in the tree
        self.at = at  #: offset of the scope in the text
        self.registers = registers  #: the function's, name -> type, shared by its scopes
        self.names: dict[str, Operand | ScopeLabel] = {}  #: name -> its operand, or Label
        self.sets: dict[str, RegisterSet] = {}  #: prefix -> register set
        #: prefix -> the least number behind it in a declared name: shows whether a new set overlaps with an earlier
        #: declaration
        self.lowest: dict[str, int] = {}
        #: uses of names to be resolved when the scope closes, as (name, where, offset in the text); `where` is the
        #: index of the instruction in the body, or the name of a `.branchtargets` list
        self.pending: list[tuple[str, int | str, int]] = []

    def taken(self, name: str) -> bool:
        """Return whether the name is declared in this very scope."""
        return name in self.names or self._in_set(name) is not None

    def set_taken(self, prefix: str, count: int) -> bool:
        """Return whether one of the registers `prefix<count>` is declared in this very scope."""
        if prefix in self.sets or self.lowest.get(prefix, MAX_SET) < count:
            return True
        return any(
            p in self.sets and int(f"{number}0") < self.sets[p].count
            for p, number in number_splits(prefix)
            if number or count > 1
        )

    def declare(self, name: str, operand: Operand | ScopeLabel) -> None:
        """Enter a name that is not taken."""
        self.names[name] = operand
        for prefix, number in number_splits(name):
            if number < self.lowest.get(prefix, MAX_SET):
                self.lowest[prefix] = number

    def declare_register(self, name: str, type_: str, width: int) -> None:
        """Enter a register, or a vector of them."""
        self.declare(name, self._make(name, type_, width))

    def declare_set(self, prefix: str, registers: RegisterSet) -> None:
        """Enter the registers `prefix0` and so on. `set_taken` must be false for them."""
        self.sets[prefix] = registers
        for p, number in number_splits(prefix):
            first = int(f"{number}0")
            if first < self.lowest.get(p, MAX_SET):
                self.lowest[p] = first

    def of_function(self, registers: dict[str, str]) -> PtxScope:
        """Return a copy of this scope, which holds registers outside of functions, for one function.

        The registers are entered in `registers` when the function names them.
        """
        out = PtxScope(None, self.suffix, self.at, registers)
        out.sets = self.sets
        for name, operand in self.names.items():
            items = operand.items if isinstance(operand, Vector) else (operand,)
            registers.update((item.name, self.registers[item.name]) for item in items if isinstance(item, Register))
            out.names[name] = operand
        return out

    def find(self, name: str) -> Operand | ScopeLabel | None:
        """Return the operand that a name means here, innermost scope first; None where nothing declares it yet."""
        scope: PtxScope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            if scope.sets:
                registers = scope._in_set(name)
                if registers is not None:
                    return scope._from_set(name, registers)
            scope = scope.parent
        if self.outside is not None and (register := self.outside.find(name)) is not None:
            return register
        base, dot, component = name.partition(".")
        if dot and component in COMPONENTS:
            whole = self.find(base)
            if isinstance(whole, Vector) and COMPONENTS[component] < len(whole.items):
                return whole.items[COMPONENTS[component]]
        base, dot, selector = name.rpartition(".")
        if dot and _SELECTOR.fullmatch(selector):
            whole = self.find(base)
            if isinstance(whole, Register):
                return Selected(whole, selector)
        return _SPECIAL_OPERANDS.get(name)

    def _in_set(self, name: str) -> RegisterSet | None:
        if self.sets and name and name[-1] in _DIGITS:
            # Try all of the trailing digits first: this finds nearly every name that nvcc makes.
            prefix = name.rstrip(_DIGITS)
            digits = name[len(prefix) :]
            registers = self.sets.get(prefix)
            plain = len(digits) <= _SPLITS and (digits[0] != "0" or len(digits) == 1)
            if registers is not None and plain and int(digits) < registers.count:
                return registers
            for prefix, number in number_splits(name):
                registers = self.sets.get(prefix)
                if registers is not None and number < registers.count:
                    return registers
        return None

    def _from_set(self, name: str, registers: RegisterSet) -> Operand:
        operand = self._make(name, registers.type, registers.width)
        self.names[name] = operand
        return operand

    def _make(self, name: str, type_: str, width: int) -> Operand:
        unique = name + self.suffix
        if not width:
            self.registers[unique] = type_
            return Register(unique)
        items = tuple(Register(f"{unique}.{component}") for component in "xyzw"[:width])
        for item in items:
            self.registers[item.name] = type_
        return Vector(items)
