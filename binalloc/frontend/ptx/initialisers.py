"""This module turns initialisers of variables into bytes and relocations (PTX ISA, section 5.4.4).

An initialiser has nested lists, numbers and addresses. Trailing zero bytes are left out, so that a large table with few
entries stays small. Lists may leave out inner braces, as in C. `0xFF00(symbol)` takes one byte of an address; eight of
them in a row make one address. An item of 32 bits gets the low word of an address.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Container
from dataclasses import dataclass, field

from binalloc.frontend.ptx.ast import TYPE_BYTES, Float, Relocation
from binalloc.frontend.ptx.lexer import TokenCursor
from binalloc.frontend.ptx.literals import Const, expression, float_value, integer_expression

_MAX_BYTES = 1 << 32
"""Largest variable with an initialiser, in bytes; more than any constant bank or the area of .global variables."""
_ADDRESS_BYTES = 8  # the size of an address
_ADDRESSES = ("u32", "u64", "s64", "b64")  # item types that may hold an address
_BYTES_OF_ADDRESSES = ("u8", "s8", "b8", *_ADDRESSES)  # item types that may hold one byte of an address

# This pattern matches a flat list of plain decimal numbers. Nearly all long lists have this form.
_PLAIN = re.compile(r"\{\s*+(?:0|[1-9]\d{0,18}+)(?>(?:\s*+,\s*+(?:0|[1-9]\d{0,18}+))*)\s*+\}", re.ASCII)


@dataclass(slots=True)
class WrittenInitialiser:
    """A written initialiser is bytes, and addresses to be put into them."""

    size: int  #: bytes of the whole variable
    data: bytes  #: its bytes without trailing zeros
    relocations: tuple[Relocation, ...]  #: as in ast.Variable


@dataclass(slots=True)
class _Writer:
    """A writer collects the bytes and addresses of an initialiser while it is read."""

    tokens: TokenCursor
    type: str  #: type of an item
    bytes: int  #: bytes of an item
    symbols: Container[str]  #: names whose address may be taken
    data: bytearray = field(default_factory=bytearray)
    relocations: list[Relocation] = field(default_factory=list)


def initialiser(tokens: TokenCursor, type_: str, shape: list[int], symbols: Container[str]) -> WrittenInitialiser:
    """Take the initialiser behind '='.

    Args:
        tokens: the cursor.
        type_: the fundamental type of one item.
        shape: dimensions, outermost first, the items of a vector type last. -1 as the first: the list gives the size.
        symbols: names whose address may be taken.

    Raises MalformedInput where the list does not fit the shape, or a value does not fit the type.
    """
    writer = _Writer(tokens, type_, TYPE_BYTES[type_], symbols)
    inner = writer.bytes
    for d in shape[1:]:
        inner *= d
    open_ended = bool(shape) and shape[0] < 0
    size = _MAX_BYTES if open_ended else inner * shape[0] if shape else writer.bytes
    if size > _MAX_BYTES:
        tokens.source.fail(tokens.at, "variable too large for an initialiser", expected=f"at most {_MAX_BYTES} bytes")
    if open_ended and not inner:
        tokens.source.fail(tokens.at, "array without a size", expected="items of at least one byte")
    if shape:
        if tokens.value != "{":
            tokens.unexpected("'{' and the items")
        dimensions = [size // inner if open_ended else shape[0], *shape[1:]]
        end = _plain(writer, size) or _list(writer, dimensions, 0)
        if open_ended:
            size = -(-end // inner) * inner
    else:
        braces = tokens.accept("{")
        _value(writer, 0)
        if braces:
            tokens.expect("}", "after the value")
    return WrittenInitialiser(size, bytes(writer.data.rstrip(b"\0")), tuple(_joined(sorted(writer.relocations))))


def _plain(writer: _Writer, size: int) -> int:
    """Take a flat list of plain numbers at once. Return the number of bytes written, 0 where it is another kind of
    list."""
    tokens = writer.tokens
    m = _PLAIN.match(tokens.source.text, tokens.at)
    if m is None or writer.type in ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "b128"):
        return 0
    values = list(map(int, m.group()[1:-1].split(",")))
    limit = 1 << 8 * writer.bytes - (writer.type[0] == "s")
    if max(values) >= limit or len(values) * writer.bytes > size:
        return 0
    letter = {1: "B", 2: "H", 4: "I", 8: "Q"}[writer.bytes]
    writer.data += struct.pack(f"<{len(values)}{letter}", *values)
    tokens.jump(m.end())
    return len(values) * writer.bytes


def _list(writer: _Writer, shape: list[int], start: int) -> int:
    """Take a braced list for an array of this shape at byte `start`. Return the byte behind the last item written."""
    tokens = writer.tokens
    inner = writer.bytes
    for d in shape[1:]:
        inner *= d
    end = start + inner * shape[0]
    tokens.expect("{")
    at = start
    if tokens.accept("}"):
        return at
    while True:
        if at >= end:
            tokens.source.fail(tokens.at, "too many items", expected=f"at most {shape[0]} in this list")
        if tokens.value == "{":
            if len(shape) == 1:
                if shape[0] == 1 or tokens.kind != "punct":
                    tokens.unexpected("a value")
                tokens.source.fail(tokens.at, "list nested too deeply", expected="a value")
            at += -(at - start) % inner  # the rest of a list without its braces is zero
            if at >= end:
                tokens.source.fail(tokens.at, "too many items", expected=f"at most {shape[0]} in this list")
            _list(writer, shape[1:], at)
            at += inner
        else:
            _value(writer, at)
            at += writer.bytes
        if not tokens.accept(",") or tokens.value == "}":
            break
    tokens.expect("}", "after the items")
    return at


def _value(writer: _Writer, at: int) -> None:
    """Take one value and write it at byte `at`."""
    tokens = writer.tokens
    if tokens.kind == "name" and tokens.value != "WARP_SZ":
        _address(writer, at, None)
        return
    offset = tokens.at
    value = expression(tokens)
    if isinstance(value, Const) and tokens.value == "(":
        tokens.advance()
        _address(writer, at, (value.value, offset))
        tokens.expect(")", "after the symbol")
        return
    pattern = _pattern(writer, value, offset)
    if len(writer.data) < at:
        writer.data += bytes(at - len(writer.data))
    writer.data[at : at + writer.bytes] = pattern.to_bytes(writer.bytes, "little")


def _pattern(writer: _Writer, value: Const | Float, offset: int) -> int:
    """Return the bits of a number in the variable's type."""
    source, type_ = writer.tokens.source, writer.type
    bits = 8 * writer.bytes
    if isinstance(value, Float):
        if value.width == bits:
            return value.bits
        if type_ == "b64":  # a single in the low word, as ptxas has it
            return value.bits
        if type_ not in ("f16", "f32", "f64", "b32"):
            source.fail(offset, f"floating value for a .{type_}", expected="an integer, or a type of 32 or 64 bits")
        return _float_pattern(float_value(value), "f32" if type_ == "b32" else type_)
    if type_ in ("f16", "f32", "f64"):
        source.fail(offset, f"integer value for a .{type_}", expected="a floating constant: 1.0, 0f... or 0d...")
    return value.value & (1 << bits) - 1  # its low bits, as ptxas has it


def _float_pattern(value: float, type_: str) -> int:
    """Return the bits of the nearest value of a narrower type, ties to even; infinity beyond its range."""
    letter, whole = {"f16": ("e", "H"), "f32": ("f", "I"), "f64": ("d", "Q")}[type_]
    try:
        packed = struct.pack(f"<{letter}", value)
    except OverflowError:
        packed = struct.pack(f"<{letter}", float("inf") if value > 0 else float("-inf"))
    pattern: int = struct.unpack(f"<{whole}", packed)[0]
    return pattern


def _address(writer: _Writer, at: int, mask: tuple[int, int] | None) -> None:
    """Take `symbol`, `symbol+4` or `generic(symbol)+4`. mask: value and offset of the `0xFF00` before it."""
    tokens = writer.tokens
    offset = tokens.at
    name = tokens.name("a symbol")
    generic = name == "generic" and tokens.accept("(")
    if generic:
        offset = tokens.at
        name = tokens.name("a symbol")
        tokens.expect(")", "after the symbol")
    if name not in writer.symbols:
        tokens.source.fail(offset, "undeclared name", found=name, expected="a variable or function declared above")
    addend = integer_expression(tokens, "a constant offset") if tokens.value in ("+", "-") else 0
    first, size = 0, writer.bytes
    if mask is not None:
        value, place = mask
        first, size = max(value.bit_length() - 1, 0) // 8, 1
        if writer.type not in _BYTES_OF_ADDRESSES or value != 0xFF << 8 * first or first >= _ADDRESS_BYTES:
            expected = "0xFF, 0xFF00 and so on, in an array of bytes or words"
            tokens.source.fail(place, "mask of an address", expected=expected)
    elif writer.type not in _ADDRESSES:
        expected = "a variable of type .u32, .u64, .s64 or .b64"
        tokens.source.fail(offset, f"address in a .{writer.type}", found=name, expected=expected)
    writer.relocations.append(Relocation(at, name, addend, generic, first, size))


def _joined(found: list[Relocation]) -> list[Relocation]:
    """Return the addresses in order. Where all eight bytes of one address follow each other, they become one
    relocation."""
    out: list[Relocation] = []
    at = 0
    while at < len(found):
        given = found[at]
        run = [given._replace(at=given.at + k, first=k, bytes=1) for k in range(_ADDRESS_BYTES)]
        whole = found[at : at + _ADDRESS_BYTES] == run
        out.append(given._replace(bytes=_ADDRESS_BYTES) if whole else given)
        at += _ADDRESS_BYTES if whole else 1
    return out
