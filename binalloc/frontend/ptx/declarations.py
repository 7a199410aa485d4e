"""This module parses variable declarations: space, alignment, type, shape, initialiser (PTX ISA, sections 5.1, 5.2,
5.4).

`head` takes the part before the names, `variable` one name with its shape and initialiser. The caller enters them in
scopes and tables. Sizes are bounded so that sums of them stay small numbers.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from binalloc.frontend.ptx.ast import TYPE_BYTES, Variable
from binalloc.frontend.ptx.initialisers import initialiser
from binalloc.frontend.ptx.lexer import TokenCursor
from binalloc.frontend.ptx.literals import integer, integer_expression

SPACES = (".reg", ".param", ".shared", ".local", ".global", ".const", ".tex")  # `.tex` is a space of PTX before 1.5

_MAX_BYTES = 1 << 40  # largest variable in bytes, so that sums of sizes stay small numbers; far above any memory
_MAX_ALIGN = 1 << 16  # largest alignment in bytes; chosen by hand, far above what compilers write
_MAX_DIMENSIONS = 16  # most dimensions of an array; chosen by hand, far above what compilers write
_OPAQUE = ("texref", "samplerref", "surfref")  # types without values that PTX code can compute with
_INITIALISED = ("global", "const")  # spaces whose variables may have initialisers (PTX ISA, section 5.4.4)


@dataclass(slots=True)
class Head:
    """A head is the part of a declaration before the names."""

    space: str
    type: str
    width: int  #: items of a vector type, 0 for none
    align: int  #: in bytes; 0: natural
    at: int  #: offset in the text

    @property
    def element(self) -> int:
        """Return the bytes of one element."""
        return TYPE_BYTES[self.type] * (self.width or 1)


def head(tokens: TokenCursor) -> Head:
    """Take the space, and in any order alignment, attributes, vector and type."""
    at = tokens.at
    space = tokens.take()[1:]
    obsolete = space == "tex"  # until PTX 1.5, `.global .texref t;` was written `.tex .u32 t;`
    if obsolete:
        space = "global"
    if space == "const" and tokens.accept("["):
        bank_at = tokens.at
        if integer(tokens, "the number of a constant bank") != 0:
            tokens.source.fail(bank_at, "constant bank", expected="bank 0, the only one there is since PTX 2.2")
        tokens.expect("]")
    out = Head(space, "", 0, 0, at)
    while tokens.kind == "directive":
        word = tokens.value
        if word == ".align":
            out.align = _alignment(tokens)
        elif word == ".attribute":
            _attribute(tokens)
        elif word == ".ptr":
            _pointer(tokens)
        elif word in (".v2", ".v4", ".v8"):
            out.width = int(tokens.take()[2:])
        elif word[1:] in TYPE_BYTES:
            if out.type:
                tokens.source.fail(tokens.at, "two types", expected="one type")
            out.type = tokens.take()[1:]
        else:
            tokens.unexpected("an alignment or type")
    if not out.type:
        tokens.unexpected("a type, such as .b32")
    if obsolete:
        if out.type not in ("u32", "u64") or out.width:
            tokens.source.fail(at, "type of a texture", expected=".tex .u32 or .tex .u64")
        out.type = "texref"
    _check_head(tokens, out)
    return out


def _check_head(tokens: TokenCursor, out: Head) -> None:
    if out.type == "pred" and (out.space != "reg" or out.width):
        tokens.source.fail(out.at, "predicates live in registers", found=".pred", expected=".reg .pred")
    if out.type in _OPAQUE and (out.space not in ("global", "param", "reg") or out.width):
        tokens.source.fail(out.at, f"a variable of type .{out.type}", expected="space .global or .param")
    if out.width and out.element > 32:
        tokens.source.fail(out.at, "vector too wide", found=f".v{out.width} .{out.type}", expected="at most 256 bits")
    if out.space == "reg" and out.align:
        tokens.source.fail(out.at, "alignment of a register", expected="no .align")


def _alignment(tokens: TokenCursor) -> int:
    tokens.advance()
    at = tokens.at
    value = integer(tokens, "an alignment")
    if not 0 < value <= _MAX_ALIGN or value & value - 1:
        tokens.source.fail(at, "not an alignment", expected=f"a power of two, at most {_MAX_ALIGN}")
    return value


def _attribute(tokens: TokenCursor) -> None:
    """Skip `.attribute(.managed)` or `.attribute(.unified(1, 2))`. They concern placement by the host, not the code."""
    tokens.source.ignore(tokens.at, "placement", ".attribute")
    tokens.advance()
    tokens.expect("(", "after .attribute")
    while True:
        if tokens.kind != "directive":
            tokens.unexpected("an attribute, such as .managed")
        tokens.advance()
        if tokens.accept("("):
            integer(tokens, "a number")
            while tokens.accept(","):
                integer(tokens, "a number")
            tokens.expect(")")
        if not tokens.accept(","):
            break
    tokens.expect(")", "after the attributes")


def _pointer(tokens: TokenCursor) -> None:
    """Skip `.ptr .global .align 4` or `.ptr .texref`: a promise about a kernel's pointer that is not used."""
    tokens.source.ignore(tokens.at, "pointer", ".ptr")
    tokens.advance()
    if tokens.value in (".const", ".global", ".local", ".shared", ".texref", ".samplerref", ".surfref"):
        tokens.advance()
    if tokens.value == ".align":
        _alignment(tokens)


def variable(tokens: TokenCursor, of: Head, name: str, at: int, linkage: str, symbols: Container[str]) -> Variable:
    """Take shape and initialiser of a variable. The cursor must be behind its name.

    Args:
        tokens: the cursor.
        of: the head of the declaration.
        name: the variable's name in the tree.
        at: offset of the name.
        linkage: as ast.Variable has it.
        symbols: names whose addresses an initialiser may take.
    """
    source = tokens.source
    dimensions = _dimensions(tokens)
    natural = max(of.element, 1)
    align = of.align or (natural if natural & natural - 1 == 0 else 16)
    place, external = source.place(at), linkage == "extern"
    out = Variable(
        name, of.space, of.type, 0, align, place, linkage=linkage, array=bool(dimensions), path=source.path
    )  # fmt: skip
    out.element = TYPE_BYTES[of.type] if dimensions else 0
    if linkage == "common" and of.space != "global":
        source.fail(at, "a common variable", found=f".common .{of.space}", expected=".common .global")
    unsized = bool(dimensions) and dimensions[0] is None
    if tokens.value == "=" and of.type in _OPAQUE and of.space == "global" and not external:
        _texture_state(tokens)
    elif tokens.value == "=":
        if of.space not in _INITIALISED or external or of.type in _OPAQUE:
            what = "an external" if external else f"a .{of.type if of.type in _OPAQUE else of.space}"
            expected = "none; only .global and .const variables that are defined here have one"
            source.fail(tokens.at, f"initialiser of {what} variable", expected=expected)
        tokens.advance()
        shape = [*(d if d is not None else -1 for d in dimensions), *([of.width] if of.width else [])]
        written = initialiser(tokens, of.type, shape, symbols)
        out.init, out.relocations = written.data, written.relocations
        out.size = written.size
        return out
    if unsized and not external and of.space != "param":
        source.fail(at, "array without a size", found=name, expected="a size, an initialiser or .extern")
    count = of.element
    for d in dimensions:
        count *= d or 0
    if count > _MAX_BYTES:
        source.fail(at, "variable too large", found=name, expected=f"at most {_MAX_BYTES} bytes")
    if not count and not external and of.space != "param" and of.type != "pred":
        source.fail(at, "array without a size", found=name, expected="at least one element")
    out.size = count
    return out


def _texture_state(tokens: TokenCursor) -> None:
    """Skip `= {filter_mode = nearest, addr_mode_0 = wrap}`: the launch states filter and addressing instead."""
    at = tokens.at
    tokens.advance()
    tokens.expect("{", "after '='")
    while True:
        tokens.name("a field, such as filter_mode")
        tokens.expect("=", "after the field")
        if tokens.kind == "name":
            tokens.advance()
        else:
            integer(tokens, "a value, such as nearest")
        if not tokens.accept(","):
            break
    tokens.source.ignore(at, "texture-state", tokens.source.text[at : tokens.at] + "}")
    tokens.expect("}", "after the fields")


def _dimensions(tokens: TokenCursor) -> list[int | None]:
    out: list[int | None] = []
    while tokens.value == "[" and tokens.kind == "punct":
        tokens.advance()
        at = tokens.at
        if tokens.value == "]" and not out:
            tokens.advance()
            out.append(None)
            continue
        size = integer_expression(tokens, "the size of an array")
        if not 0 <= size <= _MAX_BYTES:
            tokens.source.fail(at, "size of an array", expected=f"0 to {_MAX_BYTES}")
        tokens.expect("]", "after the size")
        out.append(size)
        if len(out) > _MAX_DIMENSIONS:
            tokens.source.fail(at, "too many dimensions", expected=f"at most {_MAX_DIMENSIONS}")
    return out
