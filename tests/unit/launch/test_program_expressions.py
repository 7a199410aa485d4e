"""Expressions of launch files against an evaluator of their own, exact integers with C's division; every refusal."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from binalloc.launch.program.expressions import FUNCTIONS, HIGH, LOW, AllowedNames, parse_expression
from binalloc.launch.values import At
from tests.support.kits.suite import rotation

AT = At("p.toml", "step[0].grid")
NAMES = AllowedNames(("n", "t", "x"), {"a": 1, "m": 2})
NUMBERS: dict[str, int | float] = {"n": 100, "t": -7, "x": 2.5}


class Scope:
    def number(self, name: str) -> int | float:
        return NUMBERS[name]

    def element(self, name: str, index: tuple[int, ...], path: Any) -> int | float:
        if name == "a" and index[0] in range(4):
            return 10 + index[0]
        if name == "m" and len(index) == 2:
            return index[0] * 100 + index[1]
        raise IndexError("indices from 0 to 3")


def value(text: Any) -> int | float:
    return parse_expression(text, NAMES, AT).number(Scope())


class NoValue(Exception):
    """The oracle's word for a division by zero, a shift too far, or an integer beyond 64 bits."""


def ranged(number: int) -> int:
    if not LOW <= number <= HIGH:
        raise NoValue
    return number


def oracle(tree: Any) -> int:
    """The value of a tree of tuples: integers as C has them, were they long enough."""
    if isinstance(tree, int):
        return tree
    op, *parts = tree
    if op == "if":
        test, yes, no = parts
        return oracle(yes) if oracle(test) != 0 else oracle(no)
    if op == "and":
        return 0 if oracle(parts[0]) == 0 else int(oracle(parts[1]) != 0)
    if op == "or":
        return 1 if oracle(parts[0]) != 0 else int(oracle(parts[1]) != 0)
    a = oracle(parts[0])
    if len(parts) == 1:
        return ranged({"-": -a, "+": a, "~": -a - 1, "not": int(a == 0), "abs": a if a > 0 else -a}[op])
    b = oracle(parts[1])
    if (op in ("/", "%") and b == 0) or (op in ("<<", ">>") and not 0 <= b <= 63):
        raise NoValue
    toward_zero = math.trunc(Fraction(a, b)) if b else 0
    shift = 1 << b if 0 <= b <= 63 else 1
    return ranged(
        {
            "+": a + b, "-": a - b, "*": a * b, "/": toward_zero, "%": a - b * toward_zero,
            "<<": a * shift, ">>": math.floor(Fraction(a, shift)), "&": a & b, "|": a | b, "^": a ^ b,
            "==": int(a == b), "!=": int(a != b), "<": int(a < b), "<=": int(a <= b), ">": int(a > b),
            ">=": int(a >= b), "min": a if a < b else b, "max": a if a > b else b,
        }[op]
    )  # fmt: skip


def text_of(tree: Any) -> str:
    """The tree as an expression, every part in parentheses."""
    if isinstance(tree, int):
        return f"({tree})"
    op, *parts = tree
    texts = [text_of(part) for part in parts]
    if op == "if":
        return f"({texts[1]} if {texts[0]} else {texts[2]})"
    if op in ("min", "max", "abs"):
        return f"{op}({', '.join(texts)})"
    return f"({op} {texts[0]})" if len(texts) == 1 else f"({texts[0]} {op} {texts[1]})"


UNARY = ("-", "+", "~", "not", "abs")
BINARY = (
    "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "min", "max", "and", "or",
)  # fmt: skip
EDGES = [0, 1, 63, 64, 1 << 62, (1 << 64) - 1]
LEAVES = st.integers(-20, 20) | st.integers(-(1 << 40), 1 << 40) | st.sampled_from(EDGES)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(UNARY), inner),
        st.tuples(st.sampled_from(BINARY), inner, inner),
        st.tuples(st.just("if"), inner, inner, inner),
    ),
    max_leaves=12,
)


@settings(max_examples=rotation.examples(600))
@given(TREES)
def test_integers_are_those_of_the_oracle(tree: Any) -> None:
    text = text_of(tree)
    try:
        expected = oracle(tree)
    except NoValue:
        with pytest.raises(MalformedInput, match="has no value"):
            value(text)
        return
    found = value(text)
    assert (found, type(found)) == (expected, int)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 / 2", 3), ("-7 / 2", -3), ("7 / -2", -3), ("-7 % 3", -1), ("7 % -3", 1), ("7.0 / 2", 3.5),
        ("-7.5 % 2", -1.5),
        ("n / 16 - t", 13), ("x * n", 250.0), ("a[1 + 2]", 13), ("m[1, 2]", 102), ("a[0] == 10 and not t == 0", 1),
        ("2 if 0 else 3", 3), ("0 and 1 / 0", 0), ("1 or 1 / 0", 1), ("5 if 1 else 1 / 0", 5),
        ("ceil_div(n, 16)", 7), ("ceil_div(-7, 2)", -3), ("ilog2(1)", 0), ("ilog2(1023)", 9), ("int(-2.7)", -2),
        ("float(3)", 3.0), ("sqrt(9)", 3.0), ("log(exp(1.0))", 1.0), ("min(3, 1, 2)", 1), ("abs(t)", 7), ("~5", -6),
        (" 1 +\n 2 ", 3), (3, 3), (2.5, 2.5), ("0x10", 16), ("1 << 63", 1 << 63), ("-7 >> 1", -4),
    ],
)  # fmt: skip
def test_what_expressions_mean(text: Any, expected: int | float) -> None:
    found = value(text)
    assert found == pytest.approx(expected)
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", "not an expression"), ("", "not an expression"), ("n n", "not an expression"),
        (True, "not an expression"),
        (None, "not an expression"), ([1], "not an expression"), ("(" * 300 + "1" + ")" * 300, "not an expression"),
        ("m2", "unknown name"), ("a", "a buffer is no number"), ("b[0]", "no such buffer"), ("n[0]", "no such buffer"),
        ("a[0, 1]", "wrong number of indices"), ("a[1:2]", "not part of an expression"),
        ("a[0.5]", "is no integer"), ("a[9]", "has no such element"), ("a[-1]", "has no such element"),
        ("7 // 2", "cuts off towards zero"), ("2 ** 3", "1 << n"), ("1 < 2 < 3", "not one comparison"),
        ("n in a", "not one comparison"), ("n is t", "not one comparison"), ("'x'", "not a number"),
        ("1j", "not a number"), ("True", "not a number"), ("None", "not a number"),
        ("__import__('os')", "not a function"), ("n.real", "no such buffer"), ("lambda: 1", "not part of"),
        ("[1][0]", "no such buffer"), ("open(1)", "not a function"), ("min(1)", "wrong number of arguments"),
        ("abs(n, t)", "wrong number of arguments"), ("int(x=1)", "not a function"), ("min(*a)", "wrong number"),
        ("(x := 1)", "not part of an expression"), ("f'{n}'", "not part of an expression"),
        ("1 / 0", "division by zero"), ("1 % 0", "division by zero"), ("1.0 / 0", "division by zero"),
        ("ceil_div(1, 0)", "division by zero"), ("1 << 64", "a shift is out of range"), ("1 << -1", "a shift"),
        ("1 << 63 << 1", "beyond 64 bits"), ("1.5 & 1", "of integers"), ("~1.5", "of integers"),
        ("x << 1", "of integers"),
        ("ilog2(0)", "above 0"), ("ilog2(1.5)", "above 0"), ("sqrt(-1)", "out of range"), ("log(0)", "out of range"),
        ("exp(1e9)", "out of range"), ("int(1e400)", "no integer"), (1 << 70, "out of range"),
        (f"{1 << 70}", "beyond 64 bits"), ("9" * 5000, "too long"), ("-" * 100 + "1", "nests too deeply"),
    ],
)  # fmt: skip
def test_what_is_refused(text: Any, message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        value(text)
    error = caught.value
    assert message in str(error), str(error)
    assert (error.file, error.place) == ("p.toml", "step[0].grid")
    assert error.found is not None
    assert error.expected is not None
    assert "\n" not in str(error)


def test_an_integer_is_one_within_its_bounds() -> None:
    def integer(text: str) -> int:
        return parse_expression(text, NAMES, AT).integer(Scope(), 1, 10)

    assert integer("n / 10") == 10
    with pytest.raises(MalformedInput, match="not an integer"):
        integer("x")
    with pytest.raises(MalformedInput, match="out of range"):
        integer("n")


def test_what_names_nothing_is_computed_once() -> None:
    assert parse_expression("3 * 4", AllowedNames(), AT).constant == 12
    assert parse_expression("3 * n", NAMES, AT).constant is None
    assert set(FUNCTIONS) >= {"min", "ceil_div"}
