"""This module renames module-scope names in a file: in bodies, initialisers and source lines.

The tree is changed in place. Instructions share operands, so operands are never changed: an operand that names a
renamed symbol is made anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.frontend.ptx.ast import (
    Address,
    Instruction,
    Label,
    Operand,
    PtxFunction,
    PtxModule,
    Symbol,
    TextureAddress,
    Variable,
    Vector,
)

Loc = tuple[int, int]


def rename(module: PtxModule, names: Mapping[str, str]) -> None:
    """Replace each module-scope name in `names` wherever the file uses it. Declarations keep their names."""
    if not names:
        return
    for variable in module.variables.values():
        _in_initialiser(variable, names)
    for function in module.functions.values():
        for variable in function.variables.values():
            _in_initialiser(variable, names)
        _in_body(function, names)


def renumber(module: PtxModule, files: dict[int, str]) -> None:
    """Renumber the `.file`s of a module as in `files`. A file that `files` does not have is added to it."""
    numbers = {name: number for number, name in reversed(files.items())}
    new: dict[int, int] = {}
    for old, name in module.files.items():
        if name not in numbers:
            numbers[name] = old if old not in files else max(files) + 1
            files[numbers[name]] = name
        new[old] = numbers[name]
    if all(old == number for old, number in new.items()):
        return
    locs: dict[Loc, Loc | None] = {}
    for function in module.functions.values():
        for statement in function.body or ():
            if isinstance(statement, Instruction) and statement.loc is not None:
                statement.loc = _moved(statement.loc, new, locs)


def _moved(loc: Loc, new: Mapping[int, int], known: dict[Loc, Loc | None]) -> Loc | None:
    """Return a source line with the new number of its file; None where the file has no name."""
    if loc not in known:
        known[loc] = (new[loc[0]], loc[1]) if loc[0] in new else None
    return known[loc]


def _in_initialiser(variable: Variable, names: Mapping[str, str]) -> None:
    found = variable.relocations
    variable.relocations = tuple([r._replace(name=names.get(r.name, r.name)) for r in found])


def _in_body(function: PtxFunction, names: Mapping[str, str]) -> None:
    """Replace the names that a body uses. A name that the function declares itself hides the module's."""
    own = {*function.variables, *(v.name for v in (*function.parameters, *function.results)), *function.branch_targets}
    own.update(s.name for s in function.body or () if isinstance(s, Label))
    visible = {name: new for name, new in names.items() if name not in own}
    for statement in function.body or ():
        if isinstance(statement, Label):
            continue
        statement.operands = _all(statement.operands, visible)
        if statement.callee is not None:
            statement.results = _all(statement.results, visible)
            statement.arguments = _all(statement.arguments, visible)
            if isinstance(statement.callee, Symbol):
                statement.callee = _symbol(statement.callee, names)  # a local name does not hide it here


def _all(operands: tuple[Operand, ...], names: Mapping[str, str]) -> tuple[Operand, ...]:
    found = tuple([_operand(operand, names) for operand in operands])
    return operands if all(a is b for a, b in zip(found, operands, strict=True)) else found


def _symbol(symbol: Symbol, names: Mapping[str, str]) -> Symbol:
    return Symbol(names[symbol.name], symbol.offset) if symbol.name in names else symbol


def _operand(operand: Operand, names: Mapping[str, str]) -> Operand:
    """Return the operand with its names replaced: the same object where nothing changes."""
    if isinstance(operand, Symbol):
        return _symbol(operand, names)
    if isinstance(operand, Address):
        if isinstance(operand.base, Symbol) and operand.base.name in names:
            return Address(_symbol(operand.base, names), operand.offset)
    elif isinstance(operand, Vector):
        items = _all(operand.items, names)
        return operand if items is operand.items else Vector(items)
    elif isinstance(operand, TextureAddress):
        named = [_symbol(o, names) if isinstance(o, Symbol) else o for o in (operand.texture, operand.sampler)]
        if named[0] is not operand.texture or named[1] is not operand.sampler:
            texture, sampler = named
            assert texture is not None
            return TextureAddress(texture, sampler, operand.coordinates)
    return operand
