"""Expressions of launch files are numbers computed from constants, scalars, loop variables and elements of buffers.

They are written as in Python, and computed as in C where the two differ. `/` of two integers rounds towards zero, and
`%` has the sign of its left side. Comparisons, `and`, `or` and `not` give 1 or 0. Integers have 64 bits, and one that
does not fit is an error, never another number. Only the operators and functions in the tables here are understood, so
that a file from a stranger computes numbers and does nothing else. Leaves true: an `Expression` names only what was
known at its place.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from binalloc.errors import BinallocError
from binalloc.launch.elements.layout import Element
from binalloc.launch.numbers.decimals import WrittenFloat
from binalloc.launch.numbers.dtypes import kind_of
from binalloc.launch.values import At
from binalloc.printable import quoted

Number = int | float
LOW, HIGH = -(1 << 63), (1 << 64) - 1  # the integers of expressions have 64 bits, with or without sign
MAX_LENGTH = 1000  # characters of an expression: bounds the work of Python's parser; chosen by hand
MAX_DEPTH = 40  # levels of an expression: each takes some of Python's stack; chosen by hand


class Scope(Protocol):
    """A scope gives names their values where an expression is computed."""

    def number(self, name: str) -> Number:
        """Return the value of a constant, scalar or loop variable."""

    def element(self, name: str, index: tuple[int, ...], path: Path) -> Number:
        """Return an element of a buffer, or a number at a path in it. Raises IndexError with the existing indices."""


Path = tuple["str | tuple[int, ...]", ...]
"""The path from a struct to a number in it: names of members, and indices of members that are arrays."""
Code = Callable[[Scope], Number]  # a function that computes an expression


@dataclass(frozen=True)
class AllowedNames:
    """The names that an expression may use are numbers and arrays."""

    numbers: Collection[str] = ()  #: constants, scalars and loop variables
    #: buffers and variables, with the number of their axes: an element has one index for each axis, or one in C order
    arrays: Mapping[str, int] = field(default_factory=dict)
    elements: Mapping[str, Element] = field(default_factory=dict)  #: types of the elements of such arrays


class NotComputable(Exception):
    """An expression has no value: the message says what was found, and `expected` what an expression may be."""

    def __init__(self, message: str, found: object, expected: str) -> None:
        super().__init__(message)
        self.found, self.expected = found, expected


@dataclass(frozen=True)
class Expression:
    """An expression is a number or a text from the file, with the code that computes it."""

    at: At  #: its key in the file
    text: str
    code: Code = field(repr=False)  #: computes it
    constant: Number | None = None  #: its value where nothing can change it

    def number(self, scope: Scope) -> Number:
        """Return its value. Raises MalformedInput with key and text where there is none."""
        if self.constant is not None:
            return self.constant
        try:
            return self.code(scope)
        except NotComputable as e:
            self.at.fail(f"{quoted(self.text)} has no value: {e}", e.found, e.expected)

    def integer(self, scope: Scope, low: int, high: int) -> int:
        """Return its value, an integer from `low` to `high`."""
        value = self.number(scope)
        if not isinstance(value, int):
            self.at.fail(f"{quoted(self.text)} is not an integer", value, "an integer; int(...) cuts off")
        if not low <= value <= high:
            self.at.fail(f"{quoted(self.text)} is out of range", value, f"an integer from {low} to {high}")
        return value


def parse_expression(value: object, names: AllowedNames, at: At) -> Expression:
    """Return the expression at a key: a number of the file, or text. Raises MalformedInput for all else, and for names
    not in `names`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        at.fail("not an expression", quoted(value), "a number, or text such as \"n / 16 - t\"")
    if not isinstance(value, str):
        number = value
        if isinstance(number, int) and not LOW <= number <= HIGH:
            at.fail("out of range", number, f"an integer from {LOW} to {HIGH}")
        if isinstance(number, WrittenFloat) and number.beyond:
            at.fail("out of range", number.text, "a float of double precision")
        return Expression(at, str(value), lambda scope: number, number)
    if len(value) > MAX_LENGTH:
        at.fail("the expression is too long", f"{len(value)} characters", f"at most {MAX_LENGTH}")
    text = " ".join(value.split())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of `1if n else 2`
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it nests too deeply"
        at.fail(f"not an expression: {reason}", quoted(value), 'text such as "n / 16 - t"')
    compiler = _Compiler(text, names, at)
    code = compiler.code(tree, MAX_DEPTH)
    expression = Expression(at, text, code)
    return expression if compiler.varies else Expression(at, text, code, expression.number(_NOTHING))


class _Nothing:
    """The empty scope is for expressions without names."""

    def number(self, name: str) -> NoReturn:
        raise AssertionError(name)

    def element(self, name: str, index: tuple[int, ...], path: Path) -> NoReturn:
        raise AssertionError(name)


_NOTHING = _Nothing()


# ---------------------------------------------------------------------------------------------------------------------
# Operators.


def _whole(a: Number, b: Number, what: str) -> tuple[int, int]:
    """Return two integers; floats are refused. what: the operation, for messages."""
    if isinstance(a, float) or isinstance(b, float):
        raise NotComputable(f"{what} is of integers", f"{a} and {b}", "integers; int(...) cuts off")
    return a, b


def quotient(a: Number, b: Number) -> Number:
    """Return the result of `/`: of two integers rounded towards zero, as in C."""
    if b == 0:
        raise NotComputable("division by zero", f"{a} / {b}", "a divisor other than 0")
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a / b


def remainder(a: Number, b: Number) -> Number:
    """Return the result of `%`: the remainder of the quotient, with the sign of `a`, as in C; of floats C's fmod."""
    if b == 0:
        raise NotComputable("division by zero", f"{a} % {b}", "a divisor other than 0")
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    return math.fmod(a, b)


def _shifted(a: Number, b: Number, left: bool) -> int:
    """Return the result of a shift."""
    a, b = _whole(a, b, "a shift")
    if not 0 <= b < 64:
        raise NotComputable("a shift is out of range", b, "0 to 63")
    return a << b if left else a >> b


def _bitwise(function: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    """Return a bitwise operator that refuses floats."""
    return lambda a, b: function(*_whole(a, b, "a bitwise operation"))


def ceil_div(a: Number, b: Number) -> int:
    """Return the least integer that is not below a / b."""
    a, b = _whole(a, b, "ceil_div")
    if b == 0:
        raise NotComputable("division by zero", f"ceil_div({a}, {b})", "a divisor other than 0")
    return -(-a // b)


def ilog2(a: Number) -> int:
    """Return the greatest n with 2^n not above `a`."""
    if isinstance(a, float) or a < 1:
        raise NotComputable("ilog2 is of integers above 0", a, "1 or more")
    return a.bit_length() - 1


def to_integer(a: Number) -> int:
    """Return the result of `int`: rounded towards zero."""
    if isinstance(a, float) and not math.isfinite(a):
        raise NotComputable("no integer", a, "a finite number")
    return int(a)


_BINARY: dict[type[ast.AST], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: quotient,
    ast.Mod: remainder,
    ast.LShift: lambda a, b: _shifted(a, b, left=True),
    ast.RShift: lambda a, b: _shifted(a, b, left=False),
    ast.BitAnd: _bitwise(operator.and_),
    ast.BitOr: _bitwise(operator.or_),
    ast.BitXor: _bitwise(operator.xor),
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type[ast.AST], Callable[[Number], Number]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: lambda a: int(not a),
    ast.Invert: lambda a: ~_whole(a, 0, "~")[0],
}
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Number]]] = {
    "min": (2, 16, min),
    "max": (2, 16, max),
    "abs": (1, 1, abs),
    "int": (1, 1, to_integer),
    "float": (1, 1, float),
    "ceil_div": (2, 2, ceil_div),
    "ilog2": (1, 1, ilog2),
    "sqrt": (1, 1, math.sqrt),
    "exp": (1, 1, math.exp),
    "log": (1, 1, math.log),
}
"""By name: the least and the most arguments, and the function."""
_INSTEAD: dict[type[ast.AST], str] = {
    ast.FloorDiv: "`/` cuts off towards zero where both sides are integers, as in C",
    ast.Pow: "write 1 << n for a power of two, or multiply",
}
"""By operator of Python that expressions do not have: what to write instead."""


def _checked(function: Callable[..., Number], arguments: tuple[Number, ...]) -> Number:
    """Return the result of the function if it is a number of 64 bits."""
    try:
        value = function(*arguments)
    except (OverflowError, ValueError) as error:
        raise NotComputable("out of range", ", ".join(map(str, arguments)), "arguments in its range") from error
    if isinstance(value, int) and not LOW <= value <= HIGH:
        raise NotComputable("an integer beyond 64 bits", value, f"{LOW} to {HIGH}")
    return value


# ---------------------------------------------------------------------------------------------------------------------
# From the tree to closures.


def _kind(node: ast.BinOp | ast.UnaryOp | ast.BoolOp) -> type[ast.AST]:
    """Return the operator of a node."""
    match node:
        case ast.BinOp(op=kind) | ast.UnaryOp(op=kind) | ast.BoolOp(op=kind):
            return type(kind)
    raise AssertionError(node)


def _indices(name: str, codes: list[Code], scope: Scope) -> tuple[int, ...]:
    """Return the indices of an element."""
    index = tuple(code(scope) for code in codes)
    if not all(isinstance(i, int) for i in index):
        raise NotComputable(f"an index of {name} is no integer", list(index), "integers")
    return tuple(int(i) for i in index)


def _spelled(path: Iterable[str | tuple[int, ...]]) -> str:
    """Return the text of indices and members."""
    return "".join(f".{step}" if isinstance(step, str) else str(list(step)) for step in path)


class _Compiler:
    """The compiler turns the tree of one expression into closures."""

    def __init__(self, text: str, names: AllowedNames, at: At) -> None:
        self.text, self.names, self.at = text, names, at
        self.varies = False  #: whether the expression names something that may change

    def fail(self, message: str, node: ast.AST, expected: str) -> NoReturn:
        """Raise MalformedInput for a part of the expression."""
        found = ast.get_source_segment(self.text, node) or self.text
        self.at.fail(f"{message} in {quoted(self.text)}", quoted(found), expected)

    def code(self, node: ast.AST, depth: int) -> Code:
        """Return the code of a part. depth: levels that may still follow."""
        if depth == 0:
            self.fail("it nests too deeply", node, f"at most {MAX_DEPTH} levels")
        method = _NODES.get(type(node))
        if method is None:
            self.fail("not part of an expression", node, _UNDERSTOOD)
        return method(self, node, depth - 1)

    def constant(self, node: ast.Constant, depth: int) -> Code:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail("not a number", node, "an integer or a float")
        if isinstance(value, int) and value > HIGH:
            self.fail("an integer beyond 64 bits", node, f"at most {HIGH}")
        return lambda scope: value

    def name(self, node: ast.Name, depth: int) -> Code:
        name = node.id
        self.varies = True
        if name in self.names.arrays:
            self.fail("a buffer is no number", node, f"an element of it, {name}[0]")
        if name not in self.names.numbers:
            known = ", ".join([*self.names.numbers, *(f"{n}[...]" for n in self.names.arrays)])
            self.fail("unknown name", node, known or "numbers alone")
        return lambda scope: scope.number(name)

    def element(self, node: ast.expr, depth: int) -> Code:
        """Return the code of `a[0]`, or of structs `a[0].pos[1].x`."""
        self.varies = True
        steps: list[str | list[Code]] = []
        place, ends = node, [node]
        while isinstance(place, ast.Subscript | ast.Attribute):
            if isinstance(place, ast.Attribute):
                steps.insert(0, place.attr)
            else:
                parts = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
                steps.insert(0, [self.code(part, depth) for part in parts])
            place = place.value
            ends.insert(0, place)
        if not isinstance(place, ast.Name) or place.id not in self.names.arrays:
            self.fail("no such buffer", place, ", ".join(self.names.arrays) or "no buffers can be read here")
        name = place.id
        self._require_number(name, steps, ends)
        index, path = steps[0], steps[1:]

        def read(scope: Scope) -> Number:
            given = [step if isinstance(step, str) else _indices(name, step, scope) for step in (index, *path)]
            first = given[0]
            assert isinstance(first, tuple)
            try:
                return scope.element(name, first, tuple(given[1:]))
            except IndexError as error:
                found = list(first) if len(given) == 1 else f"{name}{_spelled(given)}"
                raise NotComputable(f"{name} has no such element", found, str(error)) from None

        return read

    def _require_number(self, name: str, steps: list[str | list[Code]], ends: list[ast.expr]) -> None:
        """Refuse steps that lead to no number in an array. ends: the parts of the tree at the end of each step."""
        element: Element | None = self.names.elements.get(name)
        axes: int = self.names.arrays[name]
        for i, step in enumerate([*steps, None]):
            node = ends[min(i + 1, len(steps))]
            if axes:
                if not isinstance(step, list) or len(step) not in (1, axes):
                    what = "wrong number of indices" if isinstance(step, list) else "an array is no number"
                    self.fail(what, node, f"{axes}, or one in C order" if axes > 1 else "one index")
                axes = 0
            elif step is None:
                break
            elif element is None or isinstance(element, str) or isinstance(step, list):
                self.fail("a number has no parts", node, "nothing behind it")
            else:
                member = element.member(step)
                if member is None:
                    listed = ", ".join(m.name for m in element.members)
                    self.fail(f"no such field of {element.name}", node, listed)
                element, axes = member.element, len(member.shape)
        if element is not None and not isinstance(element, str):
            self.fail("a struct is no number", ends[-1], f"a field of it: {', '.join(m.name for m in element.members)}")
        if element is not None and kind_of(element) == "c":
            self.fail("expressions have no complex numbers", ends[-1], "integers and floats")

    def binary(self, node: ast.BinOp, depth: int) -> Code:
        kind = _kind(node)
        function = _BINARY.get(kind)
        if function is None:
            self.fail("not an operator of expressions", node, _INSTEAD.get(kind, _UNDERSTOOD))
        left, right = self.code(node.left, depth), self.code(node.right, depth)
        return lambda scope: _checked(function, (left(scope), right(scope)))

    def unary(self, node: ast.UnaryOp, depth: int) -> Code:
        function, inner = _UNARY[_kind(node)], self.code(node.operand, depth)
        return lambda scope: _checked(function, (inner(scope),))

    def comparison(self, node: ast.Compare, depth: int) -> Code:
        function = _COMPARISONS.get(type(node.ops[0]))
        if function is None or len(node.ops) != 1:
            self.fail("not one comparison", node, "== != < <= > >= of two numbers; join several by `and`")
        left, right = self.code(node.left, depth), self.code(node.comparators[0], depth)
        return lambda scope: int(function(left(scope), right(scope)))

    def logic(self, node: ast.BoolOp, depth: int) -> Code:
        codes = [self.code(value, depth) for value in node.values]
        if _kind(node) is ast.And:
            return lambda scope: int(all(code(scope) for code in codes))
        return lambda scope: int(any(code(scope) for code in codes))

    def choice(self, node: ast.IfExp, depth: int) -> Code:
        test, yes, no = (self.code(part, depth) for part in (node.test, node.body, node.orelse))
        return lambda scope: yes(scope) if test(scope) else no(scope)

    def call(self, node: ast.Call, depth: int) -> Code:
        match node:
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
                least, most, function = FUNCTIONS[name]
            case _:
                self.fail("not a function of expressions", node, ", ".join(FUNCTIONS))
        if not least <= len(node.args) <= most:
            self.fail("wrong number of arguments", node, f"{least}" if least == most else f"{least} to {most}")
        codes = [self.code(value, depth) for value in node.args]
        return lambda scope: _checked(function, tuple(code(scope) for code in codes))


_UNDERSTOOD = (
    "numbers, names, elements as a[0], + - * / % << >> & | ^ ~, comparisons, and or not, `a if b else c`, and "
    + ", ".join(FUNCTIONS)
)
"""The parts of expressions, for messages."""
_NODES: dict[type[ast.AST], Callable[..., Code]] = {
    ast.Constant: _Compiler.constant,
    ast.Name: _Compiler.name,
    ast.Subscript: _Compiler.element,
    ast.Attribute: _Compiler.element,
    ast.BinOp: _Compiler.binary,
    ast.UnaryOp: _Compiler.unary,
    ast.Compare: _Compiler.comparison,
    ast.BoolOp: _Compiler.logic,
    ast.IfExp: _Compiler.choice,
    ast.Call: _Compiler.call,
}
"""By node of Python's tree: its compiler; no others are understood."""


@dataclass
class NumberScope:
    """A scope of this kind knows numbers, and no elements of buffers."""

    numbers: dict[str, Number]

    def number(self, name: str) -> Number:
        return self.numbers[name]

    def element(self, name: str, index: tuple[int, ...], path: Path) -> NoReturn:
        raise BinallocError(f"no element of {name} is known here")
