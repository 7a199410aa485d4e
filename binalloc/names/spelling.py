"""Parts of C++ names are spelled here: scopes, template arguments, and types as the text left and right of a declared
name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 4096
"""Characters of any part of a name. A substitution can double a text with every use, so that a short name could fill
the memory. Chosen by hand."""

BUILTINS = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...",
}  # fmt: skip
"""Codes of builtin types, by the grammar of the ABI (as all tables below), with their names in C++."""
BUILTINS_D = {
    "Dd": "decimal64", "De": "decimal128", "Df": "decimal32", "Dh": "_Float16", "Di": "char32_t", "Ds": "char16_t",
    "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)", "Dn": "decltype(nullptr)",
}  # fmt: skip
SUFFIXES = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll",
             "unsigned long long": "ull"}  # fmt: skip
"""Suffixes of integer literals, by type."""
STD = {
    "Sa": ("std", "allocator"), "Sb": ("std", "basic_string"), "Ss": ("std", "string"), "Si": ("std", "istream"),
    "So": ("std", "ostream"), "Sd": ("std", "iostream"),
}  # fmt: skip
"""Abbreviations of names in namespace std."""
BINARY = {
    "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "ls": "<<", "rs": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "aa": "&&", "oo": "||",
}  # fmt: skip
"""Operators between two operands."""
UNARY = {"ng": "-", "nt": "!", "co": "~", "ad": "&", "ps": "+", "de": "*"}  # operators in front of one operand
OPERATORS = BINARY | {
    "nt": "!", "co": "~", "cl": "()", "ix": "[]", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "pp": "++",
    "mm": "--", "pt": "->", "ng": "-", "ps": "+", "ad": "&", "de": "*", "cm": ",",
}  # fmt: skip
"""Operators that can be names of functions."""


class NoName(Exception):
    """The text is no mangled name, or one of a kind that is not covered."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part is one scope, or the last name itself."""

    name: str
    args: tuple[str, ...] | None = None  #: its template arguments, spelled; None where it has none

    def __str__(self) -> str:
        return self.name if self.args is None else f"{self.name}<{', '.join(self.args)}>"


@dataclass(frozen=True, slots=True)
class Name:
    """A demangled name of a function or variable is taken apart into scopes, result, parameters and qualifiers."""

    parts: tuple[Part, ...]  #: scopes from the outside in, and the name itself last
    result: str = ""  #: type of the result; "" where the mangled name does not have it
    parameters: tuple[str, ...] | None = None  #: None for a variable
    qualifiers: str = ""  #: of a member function: " const", " &" and the like

    def __str__(self) -> str:
        text = "::".join(map(str, self.parts))
        if self.parameters is None:
            return text
        return f"{self.result + ' ' if self.result else ''}{text}({', '.join(self.parameters)}){self.qualifiers}"


@dataclass(frozen=True, slots=True)
class Type:
    """A type is kept as two texts: left and right of the name that is declared with it."""

    left: str
    right: str = ""
    parts: tuple[Part, ...] | None = None  #: the parts of the name, where the type is a name
    #: the elements of a parameter pack, which is not a type itself; None for a type
    pack: tuple[Type, ...] | None = None
    open: bool = False  #: `left` ends inside the parenthesis of a pointer to an array or function

    def __str__(self) -> str:
        text = self.left + self.right
        if len(text) > LONGEST:
            raise NoName
        return text


def named(parts: tuple[Part, ...]) -> Type:
    """Return the type whose name has these parts."""
    return Type("::".join(map(str, parts)), parts=parts)


def mapped(type_: Type, change: Callable[[Type], Type]) -> Type:
    """Return `change` of a type, or of every element of a pack."""
    if type_.pack is None:
        return change(type_)
    return Type("", pack=tuple(map(change, type_.pack)))


def pointer(type_: Type, mark: str, member: bool = False) -> Type:
    """Return a pointer or reference to the type. References to references collapse."""
    if mark in ("&", "&&") and type_.left.endswith("&"):
        left = type_.left if mark == "&&" else type_.left.removesuffix("&&").removesuffix("&") + "&"
        return Type(left, type_.right, open=type_.open)
    if type_.right and not type_.open:
        between = "" if type_.left.endswith(" ") else " "
        return Type(f"{type_.left}{between}({mark}", f"){type_.right}", open=True)
    return Type(type_.left + (" " if member else "") + mark, type_.right, open=type_.open)
