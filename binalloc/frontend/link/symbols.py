"""This module decides which of several files' declarations a name means: the rules of a linker (PTX ISA, section 11.6).

It reads parsed modules and changes nothing. The result is one `LinkedName` for each name that files share. A name that
is local to its file has no symbol. """

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from binalloc.errors import MalformedInput
from binalloc.frontend.link.agreement import Item, difference, kind
from binalloc.frontend.link.problems import problem, where
from binalloc.frontend.ptx.ast import PtxFunction, PtxModule, Variable

_STRENGTH = {"weak": 1, "common": 2, "visible": 3}
"""A stronger definition is preferred to weaker ones. Of equally strong ones the first is taken. Two of the strongest
are a contradiction."""
_STRONGEST = 3  # strength of a .visible definition, of which there may be one


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence is a declaration or definition of a shared name."""

    file: int  #: number of its module
    item: Item
    strength: int  #: as in _STRENGTH; 0 for a declaration
    aliased: str = ""  #: the function that the name is an alias of, by its name in that file, or empty


@dataclass(slots=True)
class LinkedName:
    """A symbol is a name that files share."""

    name: str
    #: all declarations and definitions of the name, in the order of the files
    occurrences: list[Occurrence] = field(default_factory=list)

    def includes(self, item: Item) -> bool:
        """Return whether a file's declaration is one of these. A local item of the same name is not."""
        return any(o.item is item for o in self.occurrences)

    @property
    def chosen(self) -> Occurrence:
        """Return the definition that the name means; a declaration where no file defines it."""
        strongest = max(o.strength for o in self.occurrences)
        found = [o for o in self.occurrences if o.strength == strongest]
        if strongest != _STRENGTH["common"]:
            return found[0]
        return max(found, key=lambda o: (size_of(o), _initialised(o.item)))


def size_of(occurrence: Occurrence) -> int:
    """Return the bytes of a variable, 0 for a function."""
    return occurrence.item.size if isinstance(occurrence.item, Variable) else 0


def items(module: PtxModule) -> Iterator[tuple[str, Item]]:
    """Yield functions, then variables, in the order of the text."""
    yield from module.functions.items()
    yield from module.variables.items()


def shared(module: PtxModule, name: str, item: Item, *, whole: bool) -> int | None:
    """Return the strength of a file's declaration of a shared name, as `Occurrence.strength`; None where the name is
    local.

    whole: the file was compiled as a whole program, which shares nothing but kernels. The host calls kernels by name,
    so the first of several is taken, as it is with the host's code for them.
    """
    if isinstance(item, PtxFunction):
        if item.body is None and name not in module.aliases:
            return 0
        if whole:
            return 1 if item.is_entry and item.linkage else None
    else:
        if whole or item.space == "local":
            return None
        if item.external:
            return 0
    return _STRENGTH.get(item.linkage)


def collect(modules: list[PtxModule], whole: list[bool]) -> dict[str, LinkedName]:
    """Return all names that the files share."""
    out: dict[str, LinkedName] = {}
    for file, module in enumerate(modules):
        for name, item in items(module):
            strength = shared(module, name, item, whole=whole[file])
            if strength is not None:
                aliased = module.aliases[name][0] if name in module.aliases else ""
                out.setdefault(name, LinkedName(name)).occurrences.append(Occurrence(file, item, strength, aliased))
    return out


def check(symbol: LinkedName) -> list[MalformedInput]:
    """Return the contradictions of a symbol: too many definitions, and declarations that differ from the chosen one."""
    chosen = symbol.chosen
    out: list[MalformedInput] = []
    for other in symbol.occurrences:
        if other is chosen:
            continue
        if other.strength == chosen.strength == _STRONGEST:
            out.append(_twice(symbol.name, chosen.item, other.item))
            continue
        found = difference(chosen.item, other.item)
        if found is not None and not _dynamic(chosen.item, other.item):
            out.append(_contradiction(symbol.name, chosen, other, *found))
        elif chosen.item.linkage != "common" and _is_common(other.item) and size_of(other) > size_of(chosen):
            found = f"{size_of(chosen)} bytes", f"{size_of(other)} bytes, as .common says there"
            out.append(_contradiction(symbol.name, chosen, other, *found))
        elif _is_common(other.item) and _initialised(other.item) and other.strength == chosen.strength:
            out.append(_common(symbol.name, chosen, other))
    return out


def _dynamic(one: Item, other: Item) -> bool:
    """Return whether both declare dynamic shared memory. Each file may declare it as an array of another type."""
    return all(isinstance(v, Variable) and v.space == "shared" and v.external for v in (one, other))


def _is_common(item: Item) -> bool:
    return item.linkage == "common"


def _initialised(item: Item) -> bool:
    return isinstance(item, Variable) and item.init is not None


def _twice(name: str, first: Item, second: Item) -> MalformedInput:
    return problem(
        second, f"{name} is defined twice", f"{kind(second)}, defined at {where(first)}, too", "one definition",
        "Make one of them .weak (`inline` in C++) or file-local (`static`), or leave out its file.",
    )  # fmt: skip


def _contradiction(name: str, chosen: Occurrence, other: Occurrence, first: str, second: str) -> MalformedInput:
    defined = "defined" if chosen.strength else "declared"
    return problem(
        other.item, f"{name} is declared differently in another file", second,
        f"{first}, as {defined} at {where(chosen.item)}", "Compile all files from the same declaration.",
    )  # fmt: skip


def _common(name: str, chosen: Occurrence, other: Occurrence) -> MalformedInput:
    """Return the problem of a .common variable with initial data. Only the largest may have them, and only one of that
    size."""
    if size_of(chosen) > size_of(other):
        found, expected = f"{size_of(other)} bytes", f"{size_of(chosen)} bytes, as at {where(chosen.item)}"
        return problem(other.item, f"{name} has initial data, but is not the largest .common", found, expected, "")
    expected = f"initial data in one file; {where(chosen.item)} has them, too"
    return problem(other.item, f"{name} is initialised twice", ".common with initial data", expected, "")
