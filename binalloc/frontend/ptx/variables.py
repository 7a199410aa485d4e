"""This module enters declarations in the tables: the module's names, and the variables and registers of a function's
scopes."""

from __future__ import annotations

from binalloc.frontend.ptx.ast import PtxFunction, PtxModule, Symbol, Variable
from binalloc.frontend.ptx.declarations import SPACES, Head, head, variable
from binalloc.frontend.ptx.lexer import PtxSource, TokenCursor
from binalloc.frontend.ptx.literals import integer
from binalloc.frontend.ptx.scopes import MAX_SET, SPECIALS, PtxScope, RegisterSet, ScopeLabel
from binalloc.isa.interface.names import NAME_LIMIT

_COMPOSED = 4
"""Upper limit of the names of the text that make a name in a binary, such as a function's and its variable's. Each of
them may have this part of the longest name."""

OUTSIDE = ".0"
"""A register declared outside of functions has this suffix to its name in the tree. Scopes count from 1, so that 0 is
free."""


class ModuleNames:
    """The names of a module are a container of its variables and functions. They include its module-scope
    prototypes."""

    __slots__ = ("flattened", "functions", "prototypes", "registers", "variables")

    def __init__(self, module: PtxModule, flattened: bool) -> None:
        self.variables = module.variables
        self.functions = module.functions
        self.prototypes: dict[str, str] = {}  #: name of a `.callprototype` or `.calltargets` -> its text
        #: whether the text is a dump of this package, so that names may have scope numbers and components
        self.flattened = flattened
        #: registers declared so far outside of functions; PTX before 3.0, and compilers of its time, have them
        self.registers = PtxScope(None, OUTSIDE, 0, {})

    def __contains__(self, name: object) -> bool:
        return name in self.variables or name in self.functions

    def check(self, source: PtxSource, at: int, name: str) -> None:
        """Raise MalformedInput where a name that is being declared is no identifier, too long, or reserved."""
        if "." in name and not self.flattened:
            source.fail(at, "not an identifier", found=name, expected="letters, digits, '_' and '$'")
        if len(name) > NAME_LIMIT // _COMPOSED:
            limit = f"at most {NAME_LIMIT // _COMPOSED} characters"
            source.fail(at, f"a name of {len(name)} characters", found=name, expected=limit)
        if name == "_":
            source.fail(at, "not an identifier", found=name, expected="a name")
        if name == "WARP_SZ" or name in SPECIALS:
            source.fail(at, "reserved name", found=name, expected="a name that PTX does not define")


def declare_variables(
    tokens: TokenCursor, names: ModuleNames, function: PtxFunction, scope: PtxScope, linkage: str
) -> None:
    """Take one declaration in a body, from its space to the semicolon, and enter its names in the scope."""
    of = head(tokens)
    while True:
        at = tokens.at
        name = tokens.name("the name of a variable")
        names.check(tokens.source, at, name)
        if of.space == "reg":
            _declare_registers(tokens, scope, of, name, at)
        else:
            if scope.taken(name):
                duplicate(tokens.source, at, name)
            declared = variable(tokens, of, name + scope.suffix, at, linkage, names)
            function.variables[declared.name] = declared
            scope.declare(name, Symbol(declared.name))
        if not tokens.accept(","):
            break
    if tokens.value != ";":
        tokens.unexpected("',' or ';' after the name")
    tokens.advance()


def _declare_registers(tokens: TokenCursor, scope: PtxScope, of: Head, name: str, at: int) -> None:
    source = tokens.source
    if of.width > 4 or of.width == 1:
        source.fail(at, "vector of registers", found=f".v{of.width}", expected=".v2 or .v4")
    if not tokens.accept("<"):
        if scope.taken(name):
            duplicate(source, at, name)
        scope.declare_register(name, of.type, of.width)
        return
    count_at = tokens.at
    count = integer(tokens, "the number of registers")
    if not 0 <= count <= MAX_SET:
        source.fail(count_at, "number of registers", expected=f"0 to {MAX_SET}")
    tokens.expect(">", "after the number of registers")
    if not count:
        return
    if scope.set_taken(name, count):
        duplicate(source, at, name)
    scope.declare_set(name, RegisterSet(of.type, count, of.width))


def declare_label(source: PtxSource, names: ModuleNames, scope: PtxScope, name: str, at: int) -> str:
    """Enter a label (or the name of a target list). Return its name in the function."""
    names.check(source, at, name)
    if scope.taken(name):
        duplicate(source, at, name)
    unique = name + scope.suffix
    scope.declare(name, ScopeLabel(unique))
    return unique


def declare_module_variables(tokens: TokenCursor, names: ModuleNames, linkage: str) -> None:
    """Take one declaration at module scope, from its space to the semicolon."""
    source = tokens.source
    if tokens.value not in SPACES:
        tokens.unexpected("a space: " + ", ".join(SPACES[2:-1]))
    if tokens.value == ".param":
        expected = "a .func or .entry around it"
        source.fail(tokens.at, "parameters outside of a function", found=".param", expected=expected)
    of = head(tokens)
    while True:
        at = tokens.at
        name = tokens.name("the name of a variable")
        names.check(source, at, name)
        if name in names.functions or (of.space != "reg" and names.registers.taken(name)):
            duplicate(source, at, name)
        if of.space == "reg":
            if linkage or name in names.variables:
                expected = "no linkage, and a name of its own"
                source.fail(at, "a register outside of a function", found=name, expected=expected)
            _declare_registers(tokens, names.registers, of, name, at)
            if tokens.accept(","):
                continue
            break
        declared = variable(tokens, of, name, at, linkage, _With(names, name))
        _enter(source, names, declared, at)
        if not tokens.accept(","):
            break
    if tokens.value != ";":
        tokens.unexpected("',' or ';' after the name")
    tokens.advance()


def _enter(source: PtxSource, names: ModuleNames, declared: Variable, at: int) -> None:
    """Enter a variable. A definition replaces an external declaration, and must agree with it."""
    earlier = names.variables.get(declared.name)
    if earlier is None:
        names.variables[declared.name] = declared
        return
    if not earlier.external and not declared.external:
        duplicate(source, at, declared.name)
    same = earlier.space == declared.space and earlier.type == declared.type
    if not same or (earlier.size and declared.size and earlier.size != declared.size):
        source.fail(
            at,
            "declared differently before",
            found=declared.name,
            expected=f".{earlier.space} .{earlier.type} of {earlier.size} bytes",
        )
    if earlier.external:
        names.variables[declared.name] = declared


class _With:
    """`_With` is a container of the names of a module and one more."""

    def __init__(self, names: ModuleNames, name: str) -> None:
        self.names = names
        self.name = name

    def __contains__(self, name: object) -> bool:
        return name == self.name or name in self.names


def duplicate(source: PtxSource, at: int, name: str) -> None:
    """Raise MalformedInput for a name that is declared already."""
    source.fail(at, "declared twice", found=name, expected="a name that is not declared in this scope")
