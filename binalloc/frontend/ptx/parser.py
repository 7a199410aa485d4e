"""This module parses PTX text to a syntax tree (PTX ISA 9.0, and the notations of older versions).

`parse` needs nothing but the text. The tree that it returns is complete: every name used is declared, names of inner
scopes are unique, constant expressions are evaluated, and debug sections are left out. Types of instructions are not
checked here.
"""

from __future__ import annotations

import re

from binalloc.frontend.ignored import summed
from binalloc.frontend.ptx.ast import Instruction, PtxFunction, PtxModule
from binalloc.frontend.ptx.body import BodyParser
from binalloc.frontend.ptx.functions import header, open_scope
from binalloc.frontend.ptx.lexer import COMMENT, SKIP, PtxSource, TokenCursor
from binalloc.frontend.ptx.literals import integer
from binalloc.frontend.ptx.operands import undeclared
from binalloc.frontend.ptx.pragmas import take_pragma
from binalloc.frontend.ptx.scopes import PtxScope
from binalloc.frontend.ptx.variables import ModuleNames, declare_module_variables

_LINKAGE = (".visible", ".extern", ".weak", ".common")  # directives that begin a declaration and set its linkage
_SECTION = re.compile(rf'\.section\s++[\w.$]++{SKIP}\{{(?>(?:[^{{}}"/]++|"[^"\n]*+"|{COMMENT})*)\}}', re.ASCII)
"""This pattern matches a whole section of debug data."""


def parse(text: str, path: str = "", *, flattened: bool = False) -> PtxModule:
    """Parse a PTX module.

    Args:
        text: the whole text; a byte order mark before it and NUL characters behind it are left out.
        path: the file it came from, for messages.
        flattened: accept the names that `dump.format_module` writes for registers of inner scopes.

    Raises:
        MalformedInput: with line and column, wherever the text is not PTX, uses a name that is not declared, declares
            one twice, or contradicts itself.
    """
    return _ModuleParser(PtxSource(text.removeprefix("\ufeff").rstrip("\0"), path), flattened).parse()


class _ModuleParser:
    """A module parser reads the text of one module."""

    def __init__(self, source: PtxSource, flattened: bool) -> None:
        self.source = source
        text = source.text
        lines = len(source.starts) - (1 if text.endswith("\n") or not text else 0)
        self.module = PtxModule((0, 0), "", 32, path=source.path, lines=lines)
        self.names = ModuleNames(self.module, flattened)
        self.loc: tuple[int, int] | None = None  #: the last `.loc`
        self.has_address_size = False
        self.narrowed = -1  #: offset of the option map_f64_to_f32, or -1

    def parse(self) -> PtxModule:
        tokens = TokenCursor(self.source, 0)
        self._version(tokens)
        while tokens.kind != "end":
            self._item(tokens)
        if not self.module.target:
            tokens.unexpected(".target")
        if self.narrowed >= 0:
            self._check_narrowed()
        self.module.ignored = summed(self.source.path, self.source.ignored)
        return self.module

    def _check_narrowed(self) -> None:
        """Refuse `map_f64_to_f32` for a module that uses doubles: they would be computed as singles."""
        for function in self.module.functions.values():
            mods = (m for i in function.body or () if isinstance(i, Instruction) for m in i.mods)
            if "f64" in function.registers.values() or "f64" in mods:
                self.source.fail(
                    self.narrowed,
                    f"the target narrows doubles, which function {function.name!r} uses",
                    found="map_f64_to_f32",
                    form="map-doubles",
                )

    # -----------------------------------------------------------------------------------------------------------------

    def _version(self, tokens: TokenCursor) -> None:
        if tokens.value != ".version":
            tokens.unexpected(".version, which every PTX module begins with")
        tokens.advance()
        m = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", tokens.value)
        if m is None:
            tokens.unexpected("a version, such as 8.0")
        self.module.version = int(m[1]), int(m[2])
        tokens.advance()

    def _item(self, tokens: TokenCursor) -> None:
        """Take one item of module scope."""
        word, at = tokens.value, tokens.at
        if tokens.kind != "directive":
            tokens.unexpected("a directive, function or variable")
        if word == ".target":
            self._target(tokens)
        elif word == ".address_size":
            tokens.advance()
            at = tokens.at
            size = integer(tokens, "32 or 64")
            if size not in (32, 64) or (self.has_address_size and size != self.module.address_size):
                self.source.fail(at, "address size", expected="32 or 64, once")
            self.module.address_size = size
            self.has_address_size = True
        elif word == ".file":
            self._file(tokens)
        elif word == ".loc":
            self._loc(tokens)
        elif word == ".section":
            self._section(tokens)
        elif word == ".pragma":
            tokens.jump(take_pragma(tokens))
        elif word == ".alias":
            self._alias(tokens)
        elif word == ".version":
            self.source.fail(at, "a second .version", found=word, expected="one module in a file")
        else:
            self._declaration(tokens)

    def _target(self, tokens: TokenCursor) -> None:
        tokens.advance()
        while True:
            at = tokens.at
            word = tokens.name("a target, such as sm_75")
            if re.fullmatch(r"sm_\d{2,3}[af]?|compute_\d{2,3}[af]?", word):
                if self.module.target and self.module.target != word:
                    self.source.fail(at, "a second target", found=word, expected=self.module.target)
                self.module.target = word
            elif word == "map_f64_to_f32":
                self.narrowed = at
            elif word == "texmode_independent":
                self.module.samplers = True
            elif word == "debug":
                self.source.ignore(at, "debug", ".target debug")
            elif word != "texmode_unified":
                self.source.fail(at, "target not supported", found=word, expected="sm_NN")
            if not tokens.accept(","):
                break
        if not self.module.target:
            tokens.unexpected("a target, such as sm_75")

    def _file(self, tokens: TokenCursor) -> None:
        tokens.advance()
        index = integer(tokens, "the number of the file")
        if tokens.kind != "string":
            tokens.unexpected("the name of the file, as a string")
        self.module.files[index] = tokens.take()[1:-1]
        while tokens.accept(","):  # time and size of the file
            integer(tokens, "a number")

    def _loc(self, tokens: TokenCursor) -> None:
        tokens.advance()
        file = integer(tokens, "the number of a file")
        line = integer(tokens, "the number of a line")
        integer(tokens, "the number of a column")
        self.loc = file, line
        while tokens.accept(","):
            word = tokens.name("function_name or inlined_at")
            if word == "function_name":
                tokens.name("a label")
                if tokens.accept("+"):
                    integer(tokens, "a number")
            elif word == "inlined_at":
                for _ in range(3):
                    integer(tokens, "a number")
            else:
                tokens.unexpected("function_name or inlined_at")

    def _section(self, tokens: TokenCursor) -> None:
        """Skip a section of debug data as a whole."""
        m = _SECTION.match(self.source.text, tokens.at)
        if m is None:
            tokens.advance()
            self.source.fail(tokens.at, "section of debug data", expected="a name, '{', data and '}'")
        self.source.ignore(tokens.at, "section", m[0].split("{")[0].strip())
        tokens.jump(m.end())

    def _alias(self, tokens: TokenCursor) -> None:
        """Take `.alias g, f;`: from here on the declared g is another name of f (PTX ISA, section 11.6.6)."""
        tokens.advance()
        at = tokens.at
        named = [self._aliased(tokens, has_body=False)]
        tokens.expect(",", "after the name")
        named.append(self._aliased(tokens, has_body=True))
        tokens.expect(";", "after the names")
        alias, function = named
        if _shape(alias) != _shape(function) or alias.is_entry:
            expected = f"a .func with the parameters and results of {function.name}"
            self.source.fail(at, "alias of another kind of function", found=alias.name, expected=expected)
        if self.module.aliases.setdefault(alias.name, (function.name, self.source.place(at)))[0] != function.name:
            self.source.fail(at, "alias of two functions", found=alias.name, expected="one .alias of each name")

    def _aliased(self, tokens: TokenCursor, has_body: bool) -> PtxFunction:
        """Take the name of a function that was declared or defined before."""
        at = tokens.at
        name = tokens.name("the name of a function")
        function = self.module.functions.get(name)
        if function is None:
            undeclared(self.source, at, name)
        if (function.body is not None) != has_body:
            expected = "a .func with a body" if has_body else "a .func without a body"
            self.source.fail(at, "alias of a function", found=name, expected=expected)
        return function

    def _declaration(self, tokens: TokenCursor) -> None:
        linkage = ""
        start = tokens.at
        while tokens.value in _LINKAGE:
            word = tokens.take()[1:]
            linkage = word if linkage != "extern" else linkage
        if tokens.value in (".entry", ".func"):
            self._function(tokens, linkage)
        elif tokens.kind == "directive":
            declare_module_variables(tokens, self.names, linkage)
        elif tokens.at == start:
            tokens.unexpected("a directive, function or variable")
        else:
            tokens.unexpected(".entry, .func or a variable")

    def _function(self, tokens: TokenCursor, linkage: str) -> None:
        if not self.module.target:
            self.source.fail(tokens.at, "no .target before the first function", expected=".target")
        function, at, declared = header(tokens, self.names)
        function.linkage, function.target = linkage, self.module.target
        scope = open_scope(self.source, self.names, function, declared)
        has_body = tokens.value == "{"
        if has_body and linkage == "extern":
            self.source.fail(at, "body of an external function", found=function.name, expected="';'")
        known = self._enter(function, at, has_body)
        if not has_body:
            tokens.accept(";")
            return
        end = self._body(known, scope, tokens.at + 1)
        self.loc = None
        tokens.jump(end)

    def _enter(self, function: PtxFunction, at: int, has_body: bool) -> PtxFunction:
        """Enter a function. A definition replaces its declaration."""
        name = function.name
        if name in self.module.variables or self.names.registers.taken(name):
            self.source.fail(at, "declared twice", found=name, expected="a name that is not declared yet")
        earlier = self.module.functions.get(name)
        if earlier is None:
            self.module.functions[name] = function
            return function
        if _shape(earlier) != _shape(function):
            self.source.fail(at, "declared differently before", found=name, expected="the same parameters and results")
        if earlier.body is not None and has_body:
            self.source.fail(at, "declared twice", found=name, expected="one body of a function")
        if has_body:
            if name in self.module.aliases:
                self.source.fail(at, "body of an alias", found=name, expected="';'")
            _merge(earlier, function)
            self.module.functions[name] = function
        return function

    def _body(self, function: PtxFunction, scope: PtxScope, at: int) -> int:
        function.body = []  # the function has a body already when its own body calls it
        return BodyParser(self.source, self.names, function, scope, self.loc).parse(at)


def _shape(function: PtxFunction) -> object:
    """Return the properties in which all declarations of a function must agree."""
    return (
        function.is_entry,
        [(v.space, v.size) for v in function.results],
        [(v.space, v.size) for v in function.parameters],
    )


def _merge(declaration: PtxFunction, definition: PtxFunction) -> None:
    """Copy the bounds of a declaration to the definition, where the definition has none."""
    definition.maxntid = definition.maxntid or declaration.maxntid
    definition.reqntid = definition.reqntid or declaration.reqntid
    definition.min_blocks = definition.min_blocks or declaration.min_blocks
    definition.max_registers = definition.max_registers or declaration.max_registers
    definition.noreturn |= declaration.noreturn
    definition.smem_spilling |= declaration.smem_spilling
    definition.linkage = definition.linkage or declaration.linkage.replace("extern", "visible")
