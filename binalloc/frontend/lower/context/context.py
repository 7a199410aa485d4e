"""This module has what the lowering of every PTX instruction uses: registers, operands, destinations, guards, symbols.

A handler is a function `(ctx, ins)`. It reads operands with `word`, `wide`, `double` and `predicate`, makes nodes
through `ctx.b`, and writes results to the units that `ctx.dest` returns.

A handler registered as *pure* need not know of guards: the dispatcher gives a guarded instruction fresh units as
destinations, and moves them under the guard afterwards. Other handlers (memory, barriers, calls, branches, warp
operations) put `ctx.guard` on the nodes that have effects.

Values of 8 and 16 bits are in the low bits of a unit, and the bits above are undefined. An operation whose result
depends on them extends the value first (`ctx.extended`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from binalloc.errors import MalformedInput
from binalloc.frontend.emitter import BankConst, Emitter, Guard, Imm, Source, imm, low_bits
from binalloc.frontend.ir import PT, RZ, Registers
from binalloc.frontend.lower.context import special
from binalloc.frontend.lower.context.frames import Place
from binalloc.frontend.lower.context.modifiers import Modifiers, refusal
from binalloc.frontend.lower.context.variable_places import DOUBLE_BANK, Doubles, KernelPlaces, VariablePlaces
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction
from binalloc.frontend.unsupported import BY_KEY, of_special

Pred = tuple[int, int]
"""A predicate as a source: (number, 1 if negated)."""


Fields = dict[str, Any]
"""Fields of an instruction collected before it is emitted."""

Handler = Callable[["Context", Instruction], None]


class Context:
    """A context is the state of the lowering of one function."""

    def __init__(
        self,
        layout: VariablePlaces,
        function: ast.PtxFunction,
        kernel: KernelPlaces,
        doubles: Doubles,
        block: tuple[int, int, int] | None = None,
        names: dict[str, str] | None = None,
    ) -> None:
        self.layout = layout
        self.module = layout.module
        self.function = function
        self.kernel = kernel  #: the kernel for which it is lowered; the places of shared variables depend on it
        self.doubles = doubles
        self.block = block  #: the block size where it is known
        self.names = names if names is not None else {}  #: function -> name of its routine under this kernel
        self.scan = layout.scans[function.name]
        self.registers = Registers()
        #: the unit with the address of the function's frame, if that is on the stack
        self.frame = self.registers.new(1, "frame") if function.name in layout.components else RZ
        self.b = Emitter(self.registers)
        self.guard: Guard | None = None  #: guard of the current instruction, for handlers that are not pure
        self.refused: list[MalformedInput] = []  #: every reason found why the function cannot be lowered
        self.ins: Instruction = Instruction("", (), (), ast.TextPosition(0, 0))  #: the current instruction
        self.unit_of: dict[str, int] = {}  #: register -> its first unit
        self.predicate_of: dict[str, int] = {}  #: register -> its predicate
        #: register -> fresh unit or predicate to write instead, for a guarded pure instruction
        self.substitute: dict[str, int] = {}
        self.carry: int | None = None  #: the predicate that holds PTX's condition code CC.CF
        self.carry_here: tuple[object, Pred] | None = None  #: (block, predicate): the value of CC.CF within this block
        self.labels: dict[str, int] = {}  #: PTX label -> block
        self.ends: set[str] = set()  #: labels behind which the thread only ends
        #: `.param` variables of a .func, and of its calls, that are in units: name -> first of consecutive units
        self.parameters: dict[str, int] = {}
        self.library: set[str] = set()  #: functions of the math library that are called
        #: (block, membership masks that a WARPSYNC has checked in it)
        self.converged: tuple[object, set[object]] = (None, set())

    # -- errors

    def refuse(
        self, message: str, *, found: object = None, expected: object = None, remedy: str | None = None
    ) -> NoReturn:
        raise refusal(self.ins, self.function.path, message, found=found, expected=expected, remedy=remedy)

    def unsupported(self, key: str, message: str = "", *, expected: object = None) -> NoReturn:
        """Refuse PTX that binalloc does not import. key: a form of `unsupported.FORMS`. message: the form's reason by
        default."""
        text = message or BY_KEY[key].reason
        raise refusal(self.ins, self.function.path, text, expected=expected, form=key)

    def undefined(self, key: str, name: str) -> NoReturn:
        """Refuse the use of a symbol that is declared but defined in no file given."""
        expected = "a file that defines it"
        self.unsupported(key, f"{name} is declared but not defined in {self.module.files_in_words}", expected=expected)

    def error(self, message: str, *, expected: object = None) -> MalformedInput:
        """Return the error that `refuse` raises, for a `raise` statement."""
        return refusal(self.ins, self.function.path, message, expected=expected)

    def modifiers(self) -> Modifiers:
        return Modifiers(self.ins, self.function.path)

    def operands(self, *counts: int) -> tuple[ast.Operand, ...]:
        """Return the instruction's operands. Refuses it unless their number is one of `counts`."""
        found = self.ins.operands
        if len(found) not in counts:
            expected = " or ".join(map(str, counts))
            self.unsupported("other", f"{self.ins.op} with {len(found)} operands", expected=f"{expected} operands")
        return found

    # -- types

    def check_type(self, operand: ast.Operand, type_: str, *, wider: bool = False) -> None:
        """Check that a register's type agrees with the instruction's (PTX ISA 9.2).

        The sizes must be the same, and one must not be a float and the other an integer unless one is .b. wider: a
        larger register is allowed for a smaller type (ld, st, cvt).
        """
        if not isinstance(operand, ast.Register):
            return
        declared = self.function.registers[operand.name]
        if declared == type_:
            return
        have, want = TYPE_BYTES[declared], TYPE_BYTES[type_]
        kinds = {declared[0], type_[0]}
        clash = "f" in kinds and kinds & {"s", "u"} and not wider
        clash = clash or ("f" in declared and "f" in type_ and have == want)
        if (declared == "pred") != (type_ == "pred") or clash or (have < want if wider else have != want):
            self.refuse(
                f"{operand.name} is .{declared}", found=f"`{self.ins.text}`", expected=f"a register for type .{type_}"
            )

    # -- registers

    def register(self, name: str) -> int:
        """Return the first unit of a PTX register of 8 to 128 bits."""
        unit = self.unit_of.get(name)
        if unit is None:
            size = TYPE_BYTES[self.function.registers[name]]
            unit = self.registers.new(max(1, size // 4), name)
            self.unit_of[name] = unit
        return unit

    def predicate_register(self, name: str) -> int:
        number = self.predicate_of.get(name)
        if number is None:
            number = self.predicate_of[name] = self.registers.predicate(name)
        return number

    # -- sources

    def word(self, operand: ast.Operand, type_: str, *, wider: bool = False) -> Source:
        """Return a source of at most 32 bits: a unit or an immediate (of type f32: its pattern)."""
        if isinstance(operand, ast.Register):
            self.check_type(operand, type_, wider=wider)
            return self.register(operand.name)
        if isinstance(operand, ast.Integer):
            if "f" in type_:
                self.refuse("an integer where a floating constant must stand", expected="0f... or a decimal fraction")
            return imm(low_bits(operand.value, 8 * TYPE_BYTES[type_]))
        if isinstance(operand, ast.Float) and type_ in ("f32", "b32"):
            return Imm(self.single(operand))
        if isinstance(operand, ast.Special):
            return self.special(operand.name, type_)
        if isinstance(operand, ast.Symbol) and TYPE_BYTES[type_] == 4:
            return self.symbol(operand)[0]
        raise self.error(f"operand does not fit type .{type_}", expected=f"a register or constant of type .{type_}")

    def wide(self, operand: ast.Operand, type_: str, *, wider: bool = False) -> tuple[Source, Source]:
        """Return a 64-bit source as (low word, high word)."""
        if isinstance(operand, ast.Register):
            self.check_type(operand, type_, wider=wider)
            unit = self.register(operand.name)
            return unit, unit + 1
        if isinstance(operand, ast.Integer) and type_[0] != "f":
            return imm(operand.value), imm(operand.value >> 32)
        if isinstance(operand, ast.Float) and type_ in ("f64", "b64"):
            bits = self.double_bits(operand)
            return imm(bits), imm(bits >> 32)
        if isinstance(operand, ast.Special):
            return self.wide_special(operand.name, type_)
        if isinstance(operand, ast.Symbol):
            return self.symbol(operand)
        raise self.error(f"operand does not fit type .{type_}", expected=f"a register or constant of type .{type_}")

    def pair(self, operand: ast.Operand, type_: str) -> int:
        """Return a 64-bit source as the first unit of an aligned pair."""
        return self.b.pair(*self.wide(operand, type_))

    def double(self, operand: ast.Operand) -> Source:
        """Return an f64 source as a B or C operand: a pair, an immediate high word, or a constant of bank 2."""
        low, high = self.wide(operand, "f64")
        if isinstance(high, Imm) and isinstance(low, Imm):
            return high if low.bits == 0 else self.double_constant(high.bits << 32 | low.bits)
        return self.b.pair(low, high)

    def predicate(self, operand: ast.Operand) -> Pred:
        """Return a predicate source: (number, negated)."""
        if isinstance(operand, ast.Negated):
            number, negated = self.predicate(operand.base)
            return number, 1 - negated
        if isinstance(operand, ast.Register):
            self.check_type(operand, "pred")
            return self.predicate_register(operand.name), 0
        if isinstance(operand, ast.Integer):
            return PT, 0 if operand.value else 1
        if isinstance(operand, ast.Special):
            self._no_special(operand.name, "pred")
        raise self.error("not a predicate", expected="a .pred register, !register, 0 or 1")

    def extended(self, operand: ast.Operand, type_: str) -> Source:
        """Return a source of 8, 16 or 32 bits, sign- or zero-extended to 32 by its type."""
        source = self.word(operand, type_)
        size = TYPE_BYTES[type_]
        return source if size == 4 else self.extend(source, size, signed=type_[0] == "s")

    def extend(self, source: Source, size: int, *, signed: bool) -> Source:
        """Return the low `size` (1 or 2) bytes of a unit, extended to 32 bits."""
        bits = 8 * size
        if isinstance(source, Imm):
            value = source.bits & ((1 << bits) - 1)
            return imm(value - (1 << bits) if signed and value >> (bits - 1) else value)
        target = self.b.new()
        if signed:
            selector = 0x8880 if size == 1 else 0x9910
            self.b.emit("PRMT", rd=target, a=self.b.unit(source), b=Imm(selector), c=RZ)
        else:
            self.b.emit("LOP3", rd=target, a=self.b.unit(source), b=Imm((1 << bits) - 1), c=RZ, lut=0xC0)
        return target

    # -- destinations

    def dest(self, operand: ast.Operand, type_: str, *, wider: bool = False) -> int:
        """Return the first unit of the destination. `_` gives RZ, which only suits single words."""
        if isinstance(operand, ast.Discard):
            return RZ
        if not isinstance(operand, ast.Register):
            self.refuse("not a destination", expected=f"a register of type .{type_}")
        self.check_type(operand, type_, wider=wider)
        substituted = self.substitute.get(operand.name)
        return self.register(operand.name) if substituted is None else substituted

    def dest_predicate(self, operand: ast.Operand) -> int:
        """Return the number of the destination predicate; PT for `_`."""
        if isinstance(operand, ast.Discard):
            return PT
        if not isinstance(operand, ast.Register):
            self.refuse("not a destination", expected="a .pred register")
        self.check_type(operand, "pred")
        substituted = self.substitute.get(operand.name)
        return self.predicate_register(operand.name) if substituted is None else substituted

    # -- constants, symbols and special registers

    def single(self, operand: ast.Float) -> int:
        """Return the pattern of a floating constant as f32. A 0d or decimal constant is rounded to nearest even."""
        import numpy as np

        if operand.width == 32:
            return operand.bits
        with np.errstate(all="ignore"):
            return int(np.array(operand.bits, np.uint64).view(np.float64).astype(np.float32).view(np.uint32))

    def double_bits(self, operand: ast.Float) -> int:
        """Return the pattern of a floating constant as f64. A 0f constant is widened."""
        import numpy as np

        if operand.width == 64:
            return operand.bits
        return int(np.array(operand.bits, np.uint32).view(np.float32).astype(np.float64).view(np.uint64))

    def double_constant(self, bits: int) -> Source:
        """Return an f64 constant whose low word is not zero: its place in bank 2; a pair of units once the bank is
        full."""
        offset = self.doubles.place(bits)
        if offset is None:
            return self.b.pair(imm(bits), imm(bits >> 32))
        return BankConst(DOUBLE_BANK, offset)

    def special(self, name: str, type_: str) -> Source:
        """Return a special register of at most 32 bits."""
        found = special.read_word(self.b, name, self.block)
        if found is None:
            self._no_special(name, type_)
        return found

    def wide_special(self, name: str, type_: str) -> tuple[Source, Source]:
        """Return a special register of 64 bits as (low word, high word)."""
        first = special.read_pair(self.b, name)
        if first is None:
            self._no_special(name, type_)
        return first, first + 1

    def _no_special(self, name: str, type_: str) -> NoReturn:
        known = name in special.WORDS or name in special.CLOCKS or name in special.PAIRS or name in special.ZERO
        if known:
            self.refuse(f"{name} does not have the size of .{type_}", expected="a type of the register's size")
        form = of_special(name)
        self.unsupported(form.key, f"special register {name} is not supported: {form.reason}")

    def place(self, name: str) -> Place:
        """Return (space, address) of a variable. Refuses the instruction if the variable has no address in Loom."""
        found = self.layout.place(self.function.name, name, self.kernel)
        if found is not None:
            return found
        if name in self.module.functions:
            self.unsupported("function-address", f"the address of {name}", expected="a .func that this file defines")
        if name in self.labels:
            self.unsupported("label-address", f"the address of label {name}", expected="a variable")
        variable = self.layout.variable(self.function.name, name)
        if variable is not None and variable.external:
            self.undefined("external", name)
        if variable is not None and variable.type == "samplerref":
            self.unsupported("object-address", f"{name} has no address here", expected="a variable in memory")
        raise self.error(f"{name} has no address here", expected="a variable in memory")

    def symbol(self, operand: ast.Symbol) -> tuple[Source, Source]:
        """Return the address of a variable in its own space, as (low, high). Generic and global addresses agree.

        A texture or surface reference gives its handle, a function its number (`targets`).
        """
        number = self.layout.targets.number(operand.name)
        if number and not operand.offset and self.layout.variable(self.function.name, operand.name) is None:
            return imm(number), imm(0)
        space, address = self.place(operand.name)
        if space in ("texref", "surfref"):
            return BankConst(0, address), BankConst(0, address + 4)
        address += operand.offset
        if space == "frame":
            low = self.b.new()
            self.b.emit("IADD3", rd=low, a=self.frame, b=imm(address), c=RZ)
            return low, imm(0)
        return imm(address), imm(address >> 32)
