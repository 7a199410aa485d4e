"""This module links the syntax trees of several PTX files to one module. Lowering takes it like any other module.

    parsed files -> collect and check symbols -> names for each file -> rename -> one tree

Code that no kernel calls is kept. A name that no file defines stays a declaration. Lowering knows the call graph of the
wanted kernels and refuses their uses of such a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from binalloc.errors import MalformedInput
from binalloc.frontend.link.problems import NotLinkable
from binalloc.frontend.link.rename import rename, renumber
from binalloc.frontend.link.symbols import LinkedName, check, collect, items, shared
from binalloc.frontend.ptx.ast import PtxFunction, PtxModule, Variable

_NAMED = 3  # files that a message names at most, so that it stays one line; chosen by hand


def link(modules: Sequence[PtxModule], whole: Sequence[bool] = ()) -> PtxModule:
    """Link all modules to one, in their order. The modules are changed: do not use them afterwards.

    whole: which modules were compiled as whole programs (none by default). Other files see no names of a whole program
    but its kernels'. Raises NotLinkable, with all contradictions between the files.
    """
    files = list(modules)
    if len(files) == 1 and not files[0].aliases:
        return files[0]
    apart = [*whole] or [False] * len(files)
    _check_alike(files)
    symbols = collect(files, apart)
    problems = [found for symbol in symbols.values() for found in check(symbol)]
    if problems:
        raise NotLinkable(problems)
    names = _names(files, apart, symbols)
    first = files[0]
    newest = max(files, key=lambda f: int(re.sub(r"\D", "", f.target)))
    out = PtxModule(max(f.version for f in files), newest.target, first.address_size, samplers=first.samplers)
    out.path, out.inputs = _path(files), tuple(f.path for f in files)
    out.lines = sum(f.lines for f in files)
    out.ignored = [one for f in files for one in f.ignored]
    for module in files:
        renumber(module, out.files)
    for module, own in zip(files, names, strict=True):
        rename(module, {old: new for old, new in own.items() if old != new})
    for module, own in zip(files, names, strict=True):
        _add(out, module, own, symbols)
    return out


def _path(files: list[PtxModule]) -> str:
    """Return the paths of the files in one text, for messages."""
    named = [f.path for f in files if f.path]
    return ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")


def _check_alike(files: list[PtxModule]) -> None:
    """Check the properties that all files of a program must share. Raises NotLinkable."""
    first = files[0]
    problems: list[MalformedInput] = []
    for other in files[1:]:
        for what, found, expected in (
            ("sizes of addresses", f"{other.address_size} bits", f"{first.address_size} bits"),
            ("texture modes", _texture_mode(other), _texture_mode(first)),
        ):
            if found != expected:
                error = MalformedInput(
                    f"files of different {what} are not linked", file=other.path or None, found=found,
                    expected=f"{expected}, as in {first.path or 'the first'}",
                    remedy="Compile all files with the same options.",
                )  # fmt: skip
                problems.append(error)
    if problems:
        raise NotLinkable(problems)


def _texture_mode(module: PtxModule) -> str:
    return "texmode_independent" if module.samplers else "texmode_unified"


def _names(files: list[PtxModule], whole: list[bool], symbols: dict[str, LinkedName]) -> list[dict[str, str]]:
    """Return, for each file, a map from each of its names to the name in the program.

    A name that is local to a file is kept where no other file has it. Otherwise it gets the file's number: `name$2`.
    """
    every = {name for module in files for name, _ in items(module)}
    taken = set(symbols)
    out: list[dict[str, str]] = []
    for number, module in enumerate(files):
        names: dict[str, str] = {}
        for name, item in items(module):
            new = name
            if shared(module, name, item, whole=whole[number]) is None and name not in module.aliases:
                if name in taken:
                    new = f"{name}${number + 1}"
                    while new in every or new in taken:
                        new += "$"
                taken.add(new)
            names[name] = new
        out.append(names)
    for number, module in enumerate(files):
        for alias, (function, _) in module.aliases.items():
            if alias not in symbols:
                out[number][alias] = out[number][function]
    for symbol in symbols.values():
        chosen = symbol.chosen
        if chosen.aliased:
            for other in symbol.occurrences:
                out[other.file][symbol.name] = out[chosen.file][chosen.aliased]
    return out


def _add(out: PtxModule, module: PtxModule, names: dict[str, str], symbols: dict[str, LinkedName]) -> None:
    """Add to `out` the items of a file that are part of the program.

    These are its local items, and each shared item that no earlier file has mentioned.
    """
    for name, item in items(module):
        found = item
        symbol = symbols.get(name)
        if symbol is not None and symbol.includes(item):
            chosen = symbol.chosen
            if chosen.aliased:
                continue
            found = chosen.item
            if isinstance(found, Variable):
                found.align = max(o.item.align for o in symbol.occurrences if isinstance(o.item, Variable))
        elif name in module.aliases:
            continue
        found.name = names[name]
        if isinstance(found, PtxFunction):
            out.functions.setdefault(found.name, found)
        else:
            out.variables.setdefault(found.name, found)
