"""This module evaluates literals and constant expressions (PTX ISA, section 4.5).

Integers are 64 bits wide. An integer is signed, unless it is written with `U` or too large for that. An operation with
an unsigned operand is unsigned. Of literals that are somewhat larger than 64 bits the low 64 bits count, as in ptxas.
Decimal floating literals are 64 bits wide. `expression` reads one constant expression from a token cursor and leaves
the cursor behind it.

There is one difference from the manual: a minus directly before a literal gives its negative value where 64 bits hold
it. So -9223372036854775808 is that number, not the unsigned 2^63 of the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from binalloc.frontend.ptx.ast import Float, Integer
from binalloc.frontend.ptx.lexer import TokenCursor
from binalloc.isa.instruction import LANES

_MASK = (1 << 64) - 1  # the low 64 bits
_MAX_DIGITS = 400  # longest literal in characters: more than any value needs, and far below Python's limit of 4,300
_DIGITS = {16: 22, 10: 20, 8: 22, 2: 64}
"""Largest number of digits of an integer without leading zeros, by base, as ptxas 13 counts them."""
_MAX_DEPTH = 24  # deepest nesting of parentheses and unary operators: it keeps recursion below Python's limit

WARP_SIZE = LANES  # the value of WARP_SZ


class Const(NamedTuple):
    """A constant is an integer of the constant type .s64 or .u64."""

    value: int  #: always within the range of its type
    unsigned: bool


def wrap(value: int, unsigned: bool) -> Const:
    """Return the value modulo 2^64 in the given type."""
    value &= _MASK
    if not unsigned and value >> 63:
        value -= 1 << 64
    return Const(value, unsigned)


def float_bits(value: float) -> Float:
    """Return a value as a 64-bit Float."""
    return Float(struct.unpack("<Q", struct.pack("<d", value))[0], 64)


def float_value(literal: Float) -> float:
    """Return the value of a 32- or 64-bit Float."""
    if literal.width == 32:
        single: float = struct.unpack("<f", struct.pack("<I", literal.bits))[0]
        return single
    double: float = struct.unpack("<d", struct.pack("<Q", literal.bits))[0]
    return double


def literal(tokens: TokenCursor) -> Const | Float:
    """Take one number token."""
    text, at = tokens.value, tokens.at
    if len(text) > _MAX_DIGITS:
        tokens.source.fail(at, "number too long", found=text, expected=f"at most {_MAX_DIGITS} characters")
    kind = text[1:2].lower() if text[0] == "0" else ""
    if kind == "f":
        tokens.advance()
        return Float(int(text[2:], 16), 32)
    if kind == "d":
        tokens.advance()
        return Float(int(text[2:], 16), 64)
    if kind not in ("x", "b") and not text.rstrip("U").isdigit():
        tokens.advance()
        return float_bits(float(text))
    digits = text.rstrip("U")
    base = 10
    if kind in ("x", "b"):
        base, digits = (16 if kind == "x" else 2), digits[2:]
    elif len(digits) > 1 and digits[0] == "0":
        if any(c in "89" for c in digits):
            tokens.source.fail(at, "not an octal number", found=text, expected="digits 0 to 7 after a leading 0")
        base = 8
    if len(digits.lstrip("0")) > _DIGITS[base]:
        tokens.source.fail(at, "number too large", found=text, expected=f"at most {_DIGITS[base]} digits")
    whole = int(digits, base)
    value = whole & _MASK
    tokens.advance()
    return Const(value, text[-1] == "U" or whole >> 63 != 0)


def integer(tokens: TokenCursor, what: str) -> int:
    """Take one literal that is an integer, without sign."""
    if tokens.kind != "number":
        tokens.unexpected(what)
    at = tokens.at
    value = literal(tokens)
    if isinstance(value, Float):
        tokens.source.fail(at, "not an integer", expected=what)
    return value.value


def expression(tokens: TokenCursor) -> Const | Float:
    """Take one constant expression. Raises MalformedInput where it is not one, or divides by zero."""
    return _conditional(tokens, 0)


def integer_expression(tokens: TokenCursor, what: str) -> int:
    """Take a constant expression whose value is an integer."""
    at = tokens.at
    value = expression(tokens)
    if isinstance(value, Float):
        tokens.source.fail(at, "not an integer", expected=what)
    return value.value


def operand_constant(tokens: TokenCursor) -> Integer | Float:
    """Take a constant expression as an instruction's operand."""
    value = expression(tokens)
    return value if isinstance(value, Float) else Integer(value.value)


# ---------------------------------------------------------------------------------------------------------------------
# Expressions: unary, then binary by precedence, then ?:.

_LEVELS = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    **dict.fromkeys(("==", "!="), 6),
    **dict.fromkeys(("<", "<=", ">", ">="), 7),
    **dict.fromkeys(("<<", ">>"), 8),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("*", "/", "%"), 10),
}
"""Precedence of binary operators (PTX ISA, section 4.5): a higher level binds more tightly."""

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


def _conditional(tokens: TokenCursor, depth: int) -> Const | Float:
    if depth > _MAX_DEPTH:
        tokens.source.fail(tokens.at, "expression nested too deeply", expected=f"at most {_MAX_DEPTH} levels")
    at = tokens.at
    condition = _binary(tokens, 1, depth)
    if tokens.value != "?":
        return condition
    tokens.advance()
    yes = _conditional(tokens, depth + 1)
    tokens.expect(":", "of '?'")
    no = _conditional(tokens, depth + 1)
    if isinstance(condition, Float) or isinstance(yes, Float) is not isinstance(no, Float):
        tokens.source.fail(at, "operands of '?:' do not fit", expected="an integer, and two values of one kind")
    chosen = yes if condition.value else no
    if isinstance(yes, Float) or isinstance(no, Float) or isinstance(chosen, Float):
        return chosen
    return wrap(chosen.value, yes.unsigned or no.unsigned)


def _binary(tokens: TokenCursor, lowest: int, depth: int) -> Const | Float:
    left = _unary(tokens, depth)
    while tokens.kind == "punct":
        operator, at = tokens.value, tokens.at
        level = _LEVELS.get(operator, 0)
        if level < lowest or level == 0:
            break
        tokens.advance()
        right = _binary(tokens, level + 1, depth)
        left = _apply(tokens, at, operator, left, right)
    return left


def _unary(tokens: TokenCursor, depth: int) -> Const | Float:
    """Take a literal, WARP_SZ, an expression in parentheses, a cast, or a unary operator with its operand."""
    if depth > _MAX_DEPTH:
        tokens.source.fail(tokens.at, "expression nested too deeply", expected=f"at most {_MAX_DEPTH} levels")
    if tokens.kind == "number":
        return literal(tokens)
    value = tokens.value
    if value == "WARP_SZ":
        tokens.advance()
        return Const(WARP_SIZE, False)
    if value == "(":
        tokens.advance()
        if tokens.value in (".s64", ".u64"):
            unsigned = tokens.take() == ".u64"
            tokens.expect(")", "of the cast")
            at = tokens.at
            cast = _unary(tokens, depth + 1)
            if isinstance(cast, Float):
                tokens.source.fail(at, "cast of a floating constant", expected="an integer")
            return wrap(cast.value, unsigned)
        inner = _conditional(tokens, depth + 1)
        tokens.expect(")", "of the expression")
        return inner
    if value not in ("+", "-", "~", "!"):
        tokens.unexpected("a constant")
    at = tokens.at
    tokens.advance()
    direct = tokens.kind == "number"
    return _apply_unary(tokens, at, value, _unary(tokens, depth + 1), direct)


def _apply_unary(tokens: TokenCursor, at: int, operator: str, operand: Const | Float, direct: bool) -> Const | Float:
    if isinstance(operand, Float):
        if operator == "-":
            return Float(operand.bits ^ 1 << operand.width - 1, operand.width)
        if operator == "+":
            return operand
        tokens.source.fail(at, f"'{operator}' of a floating constant", expected="an integer")
    if operator == "-":
        if direct and operand.value <= 1 << 63:
            return Const(-operand.value, False)
        return wrap(-operand.value, operand.unsigned)
    if operator == "~":
        return wrap(~operand.value, operand.unsigned)
    if operator == "!":
        return Const(int(not operand.value), False)
    return operand


def _apply(tokens: TokenCursor, at: int, operator: str, left: Const | Float, right: Const | Float) -> Const | Float:
    if isinstance(left, Float) or isinstance(right, Float):
        return _apply_float(tokens, at, operator, left, right)
    if operator in ("<<", ">>"):
        count = min(right.value & _MASK, 64)
        return wrap(left.value << count if operator == "<<" else left.value >> count, left.unsigned)
    if operator in ("&&", "||"):
        both = bool(left.value), bool(right.value)
        return Const(int(all(both) if operator == "&&" else any(both)), False)
    unsigned = left.unsigned or right.unsigned
    a, b = wrap(left.value, unsigned).value, wrap(right.value, unsigned).value
    if operator in _COMPARE:
        return Const(int(_COMPARE[operator](a, b)), False)
    if operator in _ARITHMETIC:
        return wrap(_ARITHMETIC[operator](a, b), unsigned)
    if b == 0:
        tokens.source.fail(at, "division by zero", expected="a divisor other than 0")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return wrap(quotient if operator == "/" else a - b * quotient, unsigned)


def _apply_float(
    tokens: TokenCursor, at: int, operator: str, left: Const | Float, right: Const | Float
) -> Const | Float:
    doubles = isinstance(left, Float) and isinstance(right, Float) and left.width == right.width == 64
    if not doubles or operator not in (*_COMPARE, "+", "-", "*", "/"):
        tokens.source.fail(at, f"operands of '{operator}' do not fit", expected="two integers, or two 64-bit floats")
    assert isinstance(left, Float)
    assert isinstance(right, Float)
    a, b = float_value(left), float_value(right)
    if operator in _COMPARE:
        return Const(int(_COMPARE[operator](a, b)), False)
    if operator == "+":
        return float_bits(a + b)
    if operator == "-":
        return float_bits(a - b)
    if operator == "*":
        return float_bits(a * b)
    if b == 0:
        tokens.source.fail(at, "division by zero", expected="a divisor other than 0")
    return float_bits(a / b)
