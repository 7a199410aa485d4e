"""C++ names of the Itanium ABI are taken apart here: nvcc emits `_ZN2ns1kIfLi4EEEvPT_` for
`void ns::k<float, 4>(float*)`.

Needs a mangled name; nothing but the text. Leaves its parts: the scopes with their template arguments, the result and
the parameters, spelled as `c++filt` spells them (`>>` without a space). Covers functions, nested and unnamed scopes,
templates with type, value and pack arguments, lambdas, pointers to functions and members, substitutions. Not covered:
names of special objects (vtables, guards), conversion operators, and expressions of more than a few operators. Such a
name gets no answer, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable

from binalloc.names.spelling import (
    BINARY,
    BUILTINS,
    BUILTINS_D,
    LONGEST,
    OPERATORS,
    STD,
    SUFFIXES,
    UNARY,
    Name,
    NoName,
    Part,
    Type,
    mapped,
    named,
    pointer,
)

_DEEPEST = 64
"""Nested types and expressions of one name: Python's stack bears some hundreds of calls, and each takes a few."""
_STEPS = 20_000
"""Types and expressions that are read for one name. The pattern of a pack is read once for each element, so nested
packs could take exponential time. Chosen by hand, far above real names."""


def demangle(symbol: str) -> Name | None:
    """Return the parts of a mangled name; None where it is not mangled, or of a kind that is not covered."""
    if not symbol.startswith("_Z") or len(symbol) > LONGEST or not symbol.isascii():
        return None
    parser = _Parser(symbol, 2)
    try:
        name = parser.encoding()
    except (NoName, IndexError):
        return None
    return name if parser.at == len(symbol) else None


class _Parser:
    """The parser goes by recursive descent over the ABI's grammar; its methods are named as the grammar's rules."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.depth = 0
        self.steps = 0
        self.seen: list[Type] = []  #: the types that S_, S0_ and so on (substitutions) stand for, in order
        #: the template arguments that T_, T0_ and so on stand for; None inside a lambda, where they are its own
        self.arguments: list[Type] | None = []
        self.element = -1  #: inside the pattern of a pack expansion: the element that packs stand for; -1 elsewhere
        self.length = -1  #: number of elements of the pack in a pattern, once the pack has been read; -1 before

    # -- text

    def take(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            raise NoName

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def number(self) -> int:
        start = self.at
        while self.peek().isdigit():
            self.at += 1
        if start == self.at or self.at - start > 9:
            raise NoName
        return int(self.text[start : self.at])

    def sequence(self, base: int) -> int:
        """Return the number of a sequence id: `_` is 0, `0_` is 1 and so on, in digits of `base`."""
        start = self.at
        while self.peek() != "_":
            if not self.peek():
                raise NoName
            self.at += 1
        digits = self.text[start : self.at]
        self.at += 1
        try:
            return int(digits, base) + 1 if digits else 0
        except ValueError:
            raise NoName from None

    def remember(self, type_: Type) -> Type:
        """Return `type_`, which later substitutions may name from now on. Raises NoName where its text is too long."""
        str(type_)  # raises NoName where it is too long
        self.seen.append(type_)
        return type_

    def bounded(self, rule: Callable[[], Type]) -> Type:
        """Return the result of a rule, within the limits of depth and work. Raises NoName beyond them."""
        self.depth += 1
        self.steps += 1
        if self.depth > _DEEPEST or self.steps > _STEPS:
            raise NoName
        found = rule()
        self.depth -= 1
        return found

    def many(self, one: Callable[[], Type]) -> list[Type]:
        """Return the items up to the closing E, with the elements of packs in place of the packs."""
        out: list[Type] = []
        while not self.take("E"):
            item = one()
            out += [item] if item.pack is None else item.pack
        return out

    # -- names

    def encoding(self) -> Name:
        parts, qualifiers, scoped = self.name(outermost=True)
        if not self.peek() or self.peek() == "E":
            return Name(parts)
        result = Type("")
        if parts[-1].args is not None and not scoped:
            result = self.type()
        listed: list[Type] = []
        while self.peek() and self.peek() != "E":
            item = self.type()
            listed += [item] if item.pack is None else item.pack
        texts = tuple(map(str, listed))
        if sum(map(len, texts)) > LONGEST:
            raise NoName
        return Name(parts, str(result), () if texts == ("void",) else texts, qualifiers)

    def name(self, *, outermost: bool = False) -> tuple[tuple[Part, ...], str, bool]:
        """Return (parts, qualifiers of the member function, whether it is a constructor or destructor)."""
        if self.take("N"):
            return self.nested(outermost)
        if self.take("Z"):
            return self.local(), "", False
        self.take("L")
        if self.peek(1) == "S" and self.peek(2) != "St":
            parts = self.substitution().parts  # names a template: arguments follow
            if parts is None:
                raise NoName
        else:
            parts = (Part("std"), self.unqualified()) if self.take("St") else (self.unqualified(),)
            if self.peek() == "I":
                self.remember(named(parts))
        if self.peek() == "I":
            parts = self.with_arguments(parts, outermost)
        return parts, "", False

    def nested(self, outermost: bool) -> tuple[tuple[Part, ...], str, bool]:
        """Return the parts of a name with scopes, N ... E; the rest as `name`."""
        qualifiers = ""
        while self.peek() in "rVK" and self.peek():
            qualifiers = {"r": " restrict", "V": " volatile", "K": " const"}[self.peek()] + qualifiers
            self.at += 1
        for mark, text in (("R", " &"), ("O", " &&")):
            if self.take(mark):
                qualifiers += text
        parts: tuple[Part, ...] = ()
        special = False
        while True:
            if self.take("St"):
                parts = (Part("std"),)
                continue
            if self.peek() == "S":
                found = self.substitution()
                parts = found.parts or (Part(str(found)),)
                continue
            if self.peek() == "T" and not parts:
                found = self.remember(self.parameter())
                parts = found.parts or (Part(str(found)),)
                continue
            if self.peek() == "I":
                parts = self.with_arguments(parts, outermost)
            elif self.peek() in ("C", "D") and self.peek(2) not in ("Dt", "DT") and parts:
                special = True
                parts = (*parts, Part(("" if self.peek() == "C" else "~") + parts[-1].name))
                self.at += 2
            else:
                self.take("L")
                parts, special = (*parts, self.unqualified()), False
            if self.take("E"):
                return parts, qualifiers, special
            if self.take("M"):
                continue  # the initialiser of a member, as the scope of a lambda in it
            self.remember(named(parts))

    def local(self) -> tuple[Part, ...]:
        """Return the parts of a name inside a function, Z ... E."""
        outer, self.arguments = self.arguments, []
        scope = str(self.encoding())
        self.arguments = outer
        self.need("E")
        if self.take("s"):
            raise NoName
        if self.take("d"):
            self.sequence(10)
        inner, _, _ = self.name()
        if self.take("_"):  # a number that tells entities of the same name in the scope apart
            two_digits = self.take("_")
            self.number()
            if two_digits:
                self.need("_")
        return (Part(scope), *inner)

    def unqualified(self) -> Part:
        if self.peek().isdigit():
            length = self.number()
            text = self.text[self.at : self.at + length]
            if len(text) != length or not length:
                raise NoName
            self.at += length
            if text.startswith(("_GLOBAL__N_", "_GLOBAL_.N_", "_GLOBAL_$N_")):
                text = "(anonymous namespace)"
        elif self.take("Ut"):
            text = f"{{unnamed type#{self.sequence(10) + 1}}}"
        elif self.take("Ul"):
            outer, self.arguments = self.arguments, None
            listed = ", ".join(map(str, self.many(self.type)))
            self.arguments = outer
            text = f"{{lambda({'' if listed == 'void' else listed})#{self.sequence(10) + 1}}}"
        elif self.peek(2) in OPERATORS:
            text = f"operator{OPERATORS[self.peek(2)]}"
            self.at += 2
        else:
            raise NoName
        while self.take("B"):
            tag = self.unqualified()
            text += f"[abi:{tag.name}]"
        return Part(text)

    def with_arguments(self, parts: tuple[Part, ...], outermost: bool) -> tuple[Part, ...]:
        """Return the parts with template arguments for the last one. outermost: T_ may name them from now on."""
        if not parts or parts[-1].args is not None:
            raise NoName
        found = self.template_arguments()
        if outermost:
            self.arguments = found
        spread = [one for item in found for one in ([item] if item.pack is None else item.pack)]
        texts = tuple(map(str, spread))
        if sum(map(len, texts)) > LONGEST:
            raise NoName
        return (*parts[:-1], Part(parts[-1].name, texts))

    # -- template arguments

    def template_arguments(self) -> list[Type]:
        self.need("I")
        out: list[Type] = []
        while not self.take("E"):
            out.append(self.template_argument())
        return out

    def template_argument(self) -> Type:
        if self.take("X"):
            found = self.expression()
            self.need("E")
            return found
        if self.peek() == "L":
            return self.literal()
        if self.take("J"):
            return Type("", pack=tuple(self.many(self.template_argument)))
        return self.type()

    def literal(self) -> Type:
        """Return a template argument that is a value, L ... E."""
        self.need("L")
        if self.take("_Z"):
            found = str(self.encoding())
            self.need("E")
            return Type(found)
        kind = str(self.type())
        start = self.at
        while self.peek() and self.peek() != "E":
            self.at += 1
        value = self.text[start : self.at]
        self.need("E")
        if kind == "decltype(nullptr)":
            return Type("nullptr")
        if kind == "bool" and value in ("0", "1"):
            return Type("true" if value == "1" else "false")
        value = "-" + value[1:] if value.startswith("n") else value
        if kind in ("float", "double"):
            return Type(f"({kind})[{value}]")
        return Type(value + SUFFIXES[kind] if kind in SUFFIXES else f"({kind}){value}")

    def expression(self) -> Type:
        return self.bounded(self._expression)

    def _expression(self) -> Type:
        if self.peek() == "L":
            return self.literal()
        if self.peek() == "T":
            return self.parameter()
        if self.take("st"):
            return Type(f"sizeof ({self.type()})")
        code = self.peek(2)
        if code in BINARY:
            self.at += 2
            first = str(self.expression())
            return Type(f"({first}){BINARY[code]}({self.expression()})")
        if code in UNARY:
            self.at += 2
            function = self.peek(3) == "L_Z"
            inner = str(self.expression())
            return Type(UNARY[code] + (f"({inner})" if not function or inner.endswith(")") else inner))
        raise NoName

    def parameter(self) -> Type:
        """Return the template argument that T_ or T0_ and so on stands for."""
        self.need("T")
        index = self.sequence(10)
        if self.arguments is None:
            return Type(f"auto:{index + 1}")
        if index >= len(self.arguments):
            raise NoName
        return self.one_of(self.arguments[index])

    def one_of(self, found: Type) -> Type:
        """Return the type, or where it is a pack inside the pattern of an expansion, the element whose turn it is."""
        if found.pack is None:
            return found
        self.length = len(found.pack)
        return found.pack[self.element] if 0 <= self.element < len(found.pack) else found

    def substitution(self) -> Type:
        if self.peek(2) in STD:
            parts = STD[self.peek(2)]
            self.at += 2
            return named(tuple(map(Part, parts)))
        self.need("S")
        index = self.sequence(36)
        if index >= len(self.seen):
            raise NoName
        return self.one_of(self.seen[index])

    # -- types

    def type(self) -> Type:
        return self.bounded(self._type)

    def _type(self) -> Type:
        one, two = self.peek(), self.peek(2)
        if one in BUILTINS:
            self.at += 1
            return Type(BUILTINS[one])
        if two in BUILTINS_D:
            self.at += 2
            return Type(BUILTINS_D[two])
        if one in ("r", "V", "K"):
            return self.remember(self.qualified())
        if one in ("P", "R", "O"):
            self.at += 1
            mark = {"P": "*", "R": "&", "O": "&&"}[one]
            return self.remember(mapped(self.type(), lambda t: pointer(t, mark)))
        if one == "A":
            return self.remember(self.array())
        if one == "F":
            return self.remember(self.function())
        if one == "M":
            self.at += 1
            scope = str(self.type())
            return self.remember(pointer(self.type(), f"{scope}::*", member=True))
        if one == "T":
            found = self.remember(self.parameter())
            if self.peek() == "I":  # a template template parameter: arguments follow
                parts = found.parts
                if parts is None:
                    raise NoName
                return self.remember(named(self.with_arguments(parts, False)))
            return found
        if two == "Dp":
            return self.expansion()
        if one == "S" and two != "St":
            found = self.substitution()
            if self.peek() != "I":
                return found
            if found.parts is None:
                raise NoName
            return self.remember(named(self.with_arguments(found.parts, False)))
        if one in ("N", "Z") or two == "St" or one.isdigit():
            return self.remember(named(self.name()[0]))
        if self.take("u"):
            return self.remember(Type(str(self.unqualified())))
        raise NoName

    def expansion(self) -> Type:
        """Return the pack that Dp, a pattern with a pack in it, expands to: the pattern once for every element.
        Substitutions that the pattern adds become packs as well."""
        self.need("Dp")
        start, known, outer = self.at, len(self.seen), self.element
        self.element = self.length = -1
        pattern = self.type()
        end, count, made = self.at, self.length, len(self.seen) - known
        if count < 0:
            return Type(f"{pattern}...")
        elements: list[Type] = []
        rows: list[list[Type]] = []
        for self.element in range(count):
            self.at = start
            del self.seen[known:]
            elements.append(self.type())
            rows.append(self.seen[known:])
        self.seen[known:] = [Type("", pack=tuple(row[k] for row in rows)) for k in range(made)]
        self.at, self.element = end, outer
        return Type("", pack=tuple(elements))

    def qualified(self) -> Type:
        marks = ""
        while self.peek() and self.peek() in "rVK":
            marks = {"r": " __restrict", "V": " volatile", "K": " const"}[self.peek()] + marks
            self.at += 1
        if marks and self.peek() == "F":
            raise NoName  # qualifiers of a member function's type: not covered
        inner = self.type()
        return mapped(inner, lambda t: Type(t.left + marks, t.right, open=t.open))

    def array(self) -> Type:
        self.need("A")
        if self.peek().isdigit():
            length = str(self.number())
        else:
            length = "" if self.peek() == "_" else str(self.expression())
        self.need("_")
        inner = self.type()
        return Type(inner.left, f" [{length}]{inner.right.removeprefix(' ')}")

    def function(self) -> Type:
        self.need("F")
        self.take("Y")
        result = self.type()
        listed = ", ".join(map(str, self.many(self.type)))
        return Type(result.left + " ", f"({'' if listed == 'void' else listed}){result.right}")
