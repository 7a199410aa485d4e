"""This module reads the operands of one instruction from a token cursor.

`OperandReader` needs a scope and the module's names. It leaves the cursor behind the operand. A name without a
declaration may be a label further down: it becomes a Symbol and is added to the scope's `pending`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NoReturn

from binalloc.frontend.ptx.ast import (
    Address,
    Discard,
    Dual,
    Float,
    Integer,
    Negated,
    Negative,
    Operand,
    Register,
    Selected,
    Special,
    Symbol,
    TextureAddress,
    Variable,
    Vector,
)
from binalloc.frontend.ptx.computed import Computed
from binalloc.frontend.ptx.lexer import PtxSource, TokenCursor
from binalloc.frontend.ptx.literals import integer_expression, operand_constant
from binalloc.frontend.ptx.scopes import PtxScope, ScopeLabel

_MAX_ITEMS = 256  # most items of one vector operand: mma and tcgen05 have the longest, 128

_DISCARD = Discard()
_SPACES = ("global", "shared", "local", "const", "param")  # spaces in an access's suffixes


class OperandReader:
    """A reader reads operands in one scope.

    Args:
        scope: the scope in which names are looked up.
        module_names: variables and functions of the module.
        variable: returns a variable or parameter by its name in the tree.
        computed: makes the instructions for operands that need some.
        where: index in the body of the current instruction; set by the caller.
    """

    __slots__ = ("computed", "module_names", "scope", "variable", "where")

    def __init__(
        self,
        scope: PtxScope,
        module_names: Container[str],
        variable: Callable[[str], Variable | None],
        computed: Computed,
    ) -> None:
        self.scope = scope
        self.variable = variable
        self.computed = computed
        self.module_names = module_names
        self.where = 0

    def operands(self, tokens: TokenCursor) -> tuple[Operand, ...]:
        """Take operands up to the semicolon, which stays."""
        if tokens.value == ";":
            return ()
        self.computed.position = 0
        out = [self.operand(tokens)]
        while tokens.accept(","):
            self.computed.position = len(out)
            out.append(self.operand(tokens))
        return tuple(out)

    def operand(self, tokens: TokenCursor) -> Operand:
        """Take one operand."""
        value = tokens.value
        if tokens.kind == "name" and value != "WARP_SZ":
            return self._named(tokens)
        if value == "{":
            vector = self._vector(tokens)
            return self._dual(tokens, vector) if tokens.value == "|" else vector
        if value == "[":
            return self._address(tokens)
        if value == "!" and tokens.kind == "punct":
            at = tokens.at
            tokens.advance()
            if tokens.kind == "name" and tokens.value != "WARP_SZ":
                at = tokens.at
                base = self._resolve(tokens)
                if not isinstance(base, Register):
                    tokens.source.fail(at, "only a register can be negated", expected="a predicate register after '!'")
                return Negated(base)
            constant = operand_constant(tokens)
            if isinstance(constant, Float):
                tokens.source.fail(at, "'!' of a floating constant", expected="an integer")
            return Integer(int(not constant.value))
        if value == "-" and tokens.kind == "punct":
            probe = TokenCursor(tokens.source, tokens.at + 1)
            if probe.kind == "name" and probe.value != "WARP_SZ":
                tokens.advance()
                return self._negative(tokens)
        if tokens.kind != "number" and value not in ("(", "-", "+", "~", "WARP_SZ"):
            tokens.unexpected("an operand: a register, constant, symbol, [address] or {vector}")
        return operand_constant(tokens)

    def call_list(self, tokens: TokenCursor) -> tuple[Operand, ...]:
        """Take `(a, b)`."""
        tokens.expect("(")
        if tokens.accept(")"):
            return ()
        out = [self.operand(tokens)]
        while tokens.accept(","):
            out.append(self.operand(tokens))
        tokens.expect(")", "after the list")
        return tuple(out)

    # -----------------------------------------------------------------------------------------------------------------

    def _resolve(self, tokens: TokenCursor) -> Operand:
        """Take a name and return the operand that it means; a Symbol where it may be a label."""
        name, at = tokens.value, tokens.at
        tokens.advance()
        found = self.scope.find(name)
        if found is None or isinstance(found, ScopeLabel):
            branches = self.computed.ins is not None and self.computed.ins.op == "bra"
            if name[0] == "%" and found is None and name not in self.module_names and not branches:
                undeclared(tokens.source, at, name)  # only a branch may name a label with a percent sign
            # At the outermost level labels and module-scope names have the same names in the tree as in the text.
            if self.scope.parent is not None or name not in self.module_names:
                self.scope.pending.append((name, self.where, at))
            return Symbol(name)
        return found

    def _named(self, tokens: TokenCursor) -> Operand:
        at = tokens.at
        if tokens.value == "_":
            tokens.advance()
            return self._dual(tokens, _DISCARD) if tokens.value == "|" else _DISCARD
        base = self._resolve(tokens)
        if tokens.value == "|" and tokens.kind == "punct" and isinstance(base, Register):
            return self._dual(tokens, base)
        if isinstance(base, Symbol) and tokens.kind == "punct":
            if tokens.value in ("+", "-"):
                return Symbol(base.name, integer_expression(tokens, "a constant offset"))
            if tokens.value == "[":
                return self._indexed(tokens, base.name)
        elif isinstance(base, Register) and tokens.value in ("+", "-"):
            return self._sum(tokens, at, base)
        return base

    def _sum(self, tokens: TokenCursor, at: int, base: Register) -> Register:
        """Take `+4` behind a register and return the register that holds the sum."""
        found = None
        if self.computed.is_source and tokens.value == "+":
            found = self.computed.sum(base, integer_expression(tokens, "a constant"))
        if found is None:
            expected = "[register+offset], register+constant of integers, or a register alone"
            tokens.source.fail(at, "offset outside of an address", expected=expected)
        return found

    def _indexed(self, tokens: TokenCursor, name: str) -> Operand:
        """Take `[3]` or `[register+3]` behind a variable's name. Return the element's address, or its memory for an
        access."""
        at = tokens.at
        tokens.expect("[")
        found, ins = self.variable(name), self.computed.ins
        # Its meaning depends on the instruction, so that only the token cursor reads it: the table of operands would
        # share it between instructions.
        if ins is None or not (self.computed.accesses or self.computed.is_source):
            tokens.source.fail(at, "indexed variable", expected="a source operand, or the address of ld and st")
        index = self._resolve(tokens) if tokens.kind == "name" and tokens.value != "WARP_SZ" else None
        plus = index is not None and tokens.value == "+"
        constant = integer_expression(tokens, "an index") if index is None or plus else 0
        tokens.expect("]", "after the index")
        if found is None or not (found.element or (index is None and not constant)):
            tokens.source.fail(at, "index of what is no array", expected="[variable+offset], in bytes")
        address: Register | Symbol | None = Symbol(name, constant * found.element)
        if index is not None:
            address = self.computed.element(found, index, constant) if isinstance(index, Register) else None
        if address is None:
            tokens.source.fail(at, "not an index", expected="a constant, or an integer register of at least 16 bits")
        if not self.computed.accesses:
            return address
        named = any(mod.split("::")[0] in _SPACES for mod in ins.mods)
        if isinstance(address, Register) and not named and found.space != "global":
            ins.mods = (found.space, *ins.mods)  # a generic access by name is an access in the variable's space
        return Address(address)

    def _negative(self, tokens: TokenCursor) -> Negative:
        at = tokens.at
        base = self._resolve(tokens)
        if not isinstance(base, Register | Selected):
            tokens.source.fail(at, "only a register can be negated", expected="a register, or a part of it, after '-'")
        return Negative(base)

    def _dual(self, tokens: TokenCursor, first: Register | Vector | Discard) -> Dual:
        tokens.advance()
        at = tokens.at
        if tokens.value == "_":
            tokens.advance()
            return Dual(first, _DISCARD)
        if tokens.kind != "name":
            tokens.unexpected("a register after '|'")
        second = self._resolve(tokens)
        if not isinstance(second, Register):
            tokens.source.fail(at, "not a register", expected="a register after '|'")
        return Dual(first, second)

    def _vector(self, tokens: TokenCursor) -> Vector:
        at = tokens.at
        self.computed.position = -1
        tokens.expect("{")
        items: list[Operand] = []
        while True:
            item_at = tokens.at
            item = self.operand(tokens) if tokens.value not in ("{", "[") else None
            if not isinstance(item, Register | Special | Integer | Float | Symbol | Discard):
                tokens.source.fail(item_at, "not an item of a vector", expected="a register, constant or '_'")
            items.append(item)
            if not tokens.accept(","):
                break
        if len(items) > _MAX_ITEMS:
            tokens.source.fail(at, "vector too long", expected=f"at most {_MAX_ITEMS} items")
        tokens.expect("}", "after the items of the vector")
        return Vector(tuple(items))

    def _address(self, tokens: TokenCursor) -> Address | TextureAddress:
        self.computed.position = -1
        tokens.expect("[")
        if tokens.kind != "name" or tokens.value == "WARP_SZ":
            offset = integer_expression(tokens, "an address")
            tokens.expect("]", "after the address")
            return Address(None, offset)
        base = self._base(tokens)
        if tokens.value == ",":
            return self._texture(tokens, base)
        offset = base.offset if isinstance(base, Symbol) else 0
        if tokens.value in ("+", "-") and tokens.kind == "punct":
            offset = self._offset(tokens, tokens.at)
        tokens.expect("]", "after the address")
        tokens.accept(".unified")  # a promise about the address that Loom has no use for
        return Address(base, offset)

    def _base(self, tokens: TokenCursor) -> Register | Symbol:
        at = tokens.at
        base = self._resolve(tokens)
        if not isinstance(base, Register | Symbol):
            tokens.source.fail(at, "not an address", expected="a register, variable or constant")
        return base

    def _offset(self, tokens: TokenCursor, sign: int) -> int:
        # A constant expression would read `+%r1` as a sign before a name: a better message says what is wrong.
        probe = TokenCursor(tokens.source, sign + 1)
        if probe.kind == "name" and probe.value != "WARP_SZ":
            tokens.source.fail(
                probe.at,
                "an address has one base",
                found=probe.value,
                expected="a constant offset",
                remedy="Add the two in a register first",
            )
        return integer_expression(tokens, "a constant offset")

    def _texture(self, tokens: TokenCursor, texture: Register | Symbol) -> TextureAddress:
        tokens.expect(",")
        sampler: Register | Symbol | None = None
        if tokens.value != "{":
            at = tokens.at
            item = self.operand(tokens)
            if tokens.value == "]":  # one coordinate without braces
                if not isinstance(item, Register | Integer | Float):
                    tokens.source.fail(at, "not a coordinate", expected="a register, constant or {vector}")
                tokens.advance()
                return TextureAddress(texture, None, (item,))
            if not isinstance(item, Register | Symbol):
                tokens.source.fail(at, "not a sampler", expected="a register or variable")
            sampler = item
            tokens.expect(",", "after the sampler")
        coordinates = self._vector(tokens).items
        tokens.expect("]", "after the coordinates")
        return TextureAddress(texture, sampler, coordinates)


def undeclared(source: PtxSource, at: int, name: str) -> NoReturn:
    """Raise MalformedInput for a name that nothing declares."""
    what = "undeclared register" if name.startswith("%") else "undeclared name"
    expected = (
        "a register declared by '.reg', or a special register"
        if name.startswith("%")
        else "a declared register, variable, label or function"
    )
    source.fail(at, what, found=name, expected=expected)
