"""This module parses function headers: `.entry` and `.func` up to the brace or semicolon (PTX ISA, sections 7.1, 11.1
and 11.4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from binalloc.frontend.ptx.ast import PtxFunction, Symbol, Variable
from binalloc.frontend.ptx.declarations import head, variable
from binalloc.frontend.ptx.lexer import PtxSource, TokenCursor
from binalloc.frontend.ptx.literals import integer
from binalloc.frontend.ptx.pragmas import take_pragma
from binalloc.frontend.ptx.scopes import PtxScope
from binalloc.frontend.ptx.variables import ModuleNames, duplicate

MAX_THREADS = 1024
"""Most threads of a block: the limit of every machine that PTX has targets for since sm_20."""

MODULE_DIRECTIVES = (
    *(".visible", ".extern", ".weak", ".common", ".func", ".entry", ".file", ".loc", ".section"),
    *(".global", ".const", ".shared", ".local", ".tex"),
)
"""These directives may follow the declaration of a function."""

_MAX_NUMBER = (1 << 32) - 1
"""Largest number in a directive: ptxas takes no larger one."""

_IGNORED_NUMBERS = {
    ".maxnctapersm": "max-blocks", ".maxclusterrank": "cluster-rank", ".abi_preserve": "abi",
    ".abi_preserve_control": "abi",
}  # fmt: skip
"""Directives with a number that are ignored, and their keys in `ignored.FORMS`."""
_CLUSTERS = (".reqnctapercluster", ".explicitcluster", ".blocksareclusters")
"""Directives that are refused because there are no clusters of blocks."""


def header(tokens: TokenCursor, names: ModuleNames) -> tuple[PtxFunction, int, list[tuple[str, int]]]:
    """Take the header of a function.

    The cursor must be on `.entry` or `.func`; it is left on `{` or `;`. Returns the function without its body, the
    offset of its name, and the names of results and parameters with their offsets.
    """
    source = tokens.source
    is_entry = tokens.value == ".entry"
    tokens.advance()
    declared: list[tuple[str, int]] = []
    results: list[Variable] = []
    if not is_entry:
        if tokens.value == ".attribute":
            source.fail(tokens.at, "attributes of functions are not supported", form="attribute")
        if tokens.value == "(":
            results = _parameters(tokens, names, declared, is_entry)
    at = tokens.at
    name = tokens.name("the name of the function")
    names.check(source, at, name)
    out = PtxFunction(name, is_entry, source.place(at), results=results, path=source.path)
    if tokens.value == "(":
        out.parameters = _parameters(tokens, names, declared, is_entry)
    while tokens.kind == "directive" and (is_entry or tokens.value not in MODULE_DIRECTIVES):
        _directive(tokens, out)
    _check_bounds(source, at, out)
    # Compilers before CUDA 4 left out the semicolon of a declaration, and ptxas does not ask for it.
    if tokens.value not in ("{", ";") and (is_entry or tokens.value not in MODULE_DIRECTIVES):
        tokens.unexpected("'{' or ';' after the header of a function")
    return out, at, declared


def open_scope(
    source: PtxSource, names: ModuleNames, function: PtxFunction, declared: list[tuple[str, int]]
) -> PtxScope:
    """Return the outermost scope of a body, with results and parameters in it."""
    scope = PtxScope(None, "", 0, function.registers, names.registers.of_function(function.registers))
    for item, (name, at) in zip([*function.results, *function.parameters], declared, strict=True):
        if name == "_":
            continue
        if scope.taken(name):
            duplicate(source, at, name)
        if item.space == "reg":
            scope.declare_register(name, item.type, 0)
        else:
            scope.declare(name, Symbol(name))
    return scope


def _parameters(
    tokens: TokenCursor, names: ModuleNames, declared: list[tuple[str, int]], is_entry: bool
) -> list[Variable]:
    """Take `(.param .b32 a, .param .align 8 .b8 b[24])`."""
    source = tokens.source
    tokens.expect("(")
    out: list[Variable] = []
    if tokens.accept(")"):
        return out
    while True:
        if tokens.value not in ((".param",) if is_entry else (".param", ".reg")):
            tokens.unexpected(".param" if is_entry else ".param or .reg")
        of = head(tokens)
        at = tokens.at
        name = tokens.name("the name of a parameter")
        if name != "_":
            names.check(source, at, name)
        parameter = variable(tokens, of, name, at, "", ())
        if of.space == "reg" and (of.width or parameter.array):
            source.fail(at, "parameter in a register", found=name, expected="a scalar type")
        if parameter.array and not parameter.size and of.space == "param":
            source.fail(at, "parameter without a size", found=name, expected="a size", form="variadic")
        out.append(parameter)
        declared.append((name, at))
        if not tokens.accept(","):
            break
    tokens.expect(")", "after the parameters")
    return out


def _directive(tokens: TokenCursor, out: PtxFunction) -> None:
    """Take one directive between the parameters and the body."""
    source, at, word = tokens.source, tokens.at, tokens.value
    if word in (".maxntid", ".reqntid"):
        tokens.advance()
        sizes = _sizes(tokens, at, word)
        previous = out.maxntid if word == ".maxntid" else out.reqntid
        if previous is not None:
            source.ignore(at, "again", f"{_written(word, previous)} before {_written(word, sizes)}")
        if word == ".maxntid":
            out.maxntid = sizes
        else:
            out.reqntid = sizes
        if previous is None and out.maxntid is not None and out.reqntid is not None:
            both = f"{_written('.maxntid', out.maxntid)} beside {_written('.reqntid', out.reqntid)}"
            source.ignore(at, "beside", both)
    elif word in (".minnctapersm", ".maxnreg"):
        _bound(tokens, out, word)
    elif word in _IGNORED_NUMBERS:
        tokens.advance()
        source.ignore(at, _IGNORED_NUMBERS[word], f"{word} {_number(tokens, f'the number of {word}')}")
    elif word == ".noreturn":
        if out.is_entry or out.results:
            source.fail(at, "function that does not return", found=word, expected="a .func without results")
        tokens.advance()
        out.noreturn = True
    elif word == ".pragma":
        tokens.jump(take_pragma(tokens))
    elif word in _CLUSTERS:
        source.fail(at, "clusters of blocks are not supported", found=word, form="cluster")
    else:
        tokens.unexpected("'{', ';' or a directive such as .maxntid, .reqntid, .minnctapersm and .noreturn")


def _bound(tokens: TokenCursor, out: PtxFunction, word: str) -> None:
    """Take `.maxnreg N` or `.minnctapersm N`. The last of several counts."""
    at = tokens.at
    tokens.advance()
    number = _number(tokens, f"the number of {word}")
    if not number:
        tokens.source.fail(at, "a bound of none", found=f"{word} 0", expected="a positive number")
    before = out.max_registers if word == ".maxnreg" else out.min_blocks
    if before:
        tokens.source.ignore(at, "again", f"{word} {before} before {word} {number}")
    if word == ".maxnreg":
        out.max_registers = number
    else:
        out.min_blocks = number


def _number(tokens: TokenCursor, what: str) -> int:
    at = tokens.at
    number = integer(tokens, what)
    if not 0 <= number <= _MAX_NUMBER:
        tokens.source.fail(at, "number too large", expected=f"{what}, 0 to {_MAX_NUMBER}")
    return number


def _sizes(tokens: TokenCursor, at: int, word: str) -> tuple[int, int, int]:
    sizes = [_number(tokens, "threads of the block")]
    while tokens.accept(","):
        sizes.append(_number(tokens, "threads of the block"))
    if len(sizes) > 3:
        tokens.source.fail(at, "too many dimensions", found=word, expected="at most three")
    x, y, z = [*sizes, 1, 1][:3]
    if not 1 <= x * y * z <= MAX_THREADS:
        tokens.source.fail(at, "size of a block", found=_written(word, sizes), expected=f"1 to {MAX_THREADS} threads")
    return x, y, z


def _written(word: str, sizes: Sequence[int]) -> str:
    return f"{word} {', '.join(map(str, sizes))}"


def _check_bounds(source: PtxSource, at: int, out: PtxFunction) -> None:
    if out.maxntid is None or out.reqntid is None:
        return
    if prod(out.reqntid) > prod(out.maxntid):
        source.fail(
            at,
            f"contradictory bounds: .reqntid of {prod(out.reqntid)} threads",
            found=out.name,
            expected=f"at most {prod(out.maxntid)} threads, as .maxntid says",
        )
