"""How parts of C++ names are spelt: types left and right of what is declared with them, scopes, template arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 4096
"""Characters of any part: substitutions may double a text with every use."""

BUILTINS = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...",
}  # fmt: skip
BUILTINS_D = {
    "Dd": "decimal64", "De": "decimal128", "Df": "decimal32", "Dh": "_Float16", "Di": "char32_t", "Ds": "char16_t",
    "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)", "Dn": "decltype(nullptr)",
}  # fmt: skip
SUFFIXES = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll",
             "unsigned long long": "ull"}  # fmt: skip
STD = {
    "Sa": ("std", "allocator"), "Sb": ("std", "basic_string"), "Ss": ("std", "string"), "Si": ("std", "istream"),
    "So": ("std", "ostream"), "Sd": ("std", "iostream"),
}  # fmt: skip
BINARY = {
    "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "ls": "<<", "rs": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "aa": "&&", "oo": "||",
}  # fmt: skip
UNARY = {"ng": "-", "nt": "!", "co": "~", "ad": "&", "ps": "+", "de": "*"}
OPERATORS = BINARY | {
    "nt": "!", "co": "~", "cl": "()", "ix": "[]", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "pp": "++",
    "mm": "--", "pt": "->", "ng": "-", "ps": "+", "ad": "&", "de": "*", "cm": ",",
}  # fmt: skip


class NoName(Exception):
    """The text is no mangled name, or one of a kind that is not covered."""


@dataclass(frozen=True, slots=True)
class Part:
    """One scope or the name itself. args: its template arguments spelt, None where it has none."""

    name: str
    args: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return self.name if self.args is None else f"{self.name}<{', '.join(self.args)}>"


@dataclass(frozen=True, slots=True)
class Name:
    """A function's name. result: "" where the mangled name does not tell it. parameters: None for a variable."""

    parts: tuple[Part, ...]
    result: str = ""
    parameters: tuple[str, ...] | None = None
    qualifiers: str = ""

    def __str__(self) -> str:
        text = "::".join(map(str, self.parts))
        if self.parameters is None:
            return text
        return f"{self.result + ' ' if self.result else ''}{text}({', '.join(self.parameters)}){self.qualifiers}"


@dataclass(frozen=True, slots=True)
class Type:
    """A type as the text left and right of what is declared with it. parts: where it is a name. pack: the elements of a
    parameter pack, which is no type itself."""

    left: str
    right: str = ""
    parts: tuple[Part, ...] | None = None
    pack: tuple[Type, ...] | None = None
    open: bool = False  # left ends inside the parenthesis of a pointer to an array or function

    def __str__(self) -> str:
        text = self.left + self.right
        if len(text) > LONGEST:
            raise NoName
        return text


def named(parts: tuple[Part, ...]) -> Type:
    return Type("::".join(map(str, parts)), parts=parts)


def mapped(type_: Type, change: Callable[[Type], Type]) -> Type:
    """`change` of a type, or of every element of a pack."""
    if type_.pack is None:
        return change(type_)
    return Type("", pack=tuple(map(change, type_.pack)))


def pointer(type_: Type, mark: str, member: bool = False) -> Type:
    """A pointer or reference to the type. References to references collapse."""
    if mark in ("&", "&&") and type_.left.endswith("&"):
        left = type_.left if mark == "&&" else type_.left.removesuffix("&&").removesuffix("&") + "&"
        return Type(left, type_.right, open=type_.open)
    if type_.right and not type_.open:
        between = "" if type_.left.endswith(" ") else " "
        return Type(f"{type_.left}{between}({mark}", f"){type_.right}", open=True)
    return Type(type_.left + (" " if member else "") + mark, type_.right, open=type_.open)
