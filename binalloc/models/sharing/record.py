"""This module has the record by which a binary says how blocks of its kernel share memory two by two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Module
from binalloc.isa.interface.places import WORD
from binalloc.models.sharing.pairs import Pairing

SHARED = "shared"
"""Key in a provenance record for how blocks of a kernel share memory."""
_LISTS, _SLOTS = ("distances", "numbers"), "slots"


@dataclass(frozen=True)
class SharedRecord:
    """A record of sharing has all from which the kernel can be made again of the original."""

    pairs: int
    private: int  #: bytes of a block that only it uses, its private slots included
    release: str
    edges: str
    moved: bool  #: whether variables might be moved
    dynamic: int  #: bytes of dynamic shared memory of the launch
    #: bytes by which each unit has moved, where a profile weighed the choice or slots are shared; None: as loops say
    distances: tuple[int, ...] | None = None
    slots: int | None = None  #: private slots of a thread; None: all
    numbers: tuple[int, ...] | None = None  #: new numbers of the slots; None: where none is shared

    @property
    def option(self) -> str:
        """Return what the sharing of its runs has to be."""
        return str(self.pairing)

    @property
    def pairing(self) -> Pairing:
        """Return the pairing, with no block but those in pairs."""
        return Pairing(2 * self.pairs, self.pairs, self.private, self.slots)

    def fields(self) -> dict[str, object]:
        """Return the record as it is written."""
        said = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in (*_LISTS, _SLOTS):
            if said[name] is None:
                del said[name]
        return {SHARED: said | {name: list(said[name]) for name in _LISTS if name in said}}


def was_shared(module: Module, kernel: str) -> SharedRecord | None:
    """Return how blocks of a kernel share memory, None if no record says so. Raises MalformedInput for a record that
    makes no sense."""
    for record in reversed(module.provenance):
        if record.get("kernel") == kernel and SHARED in record:
            given = record[SHARED]
            try:
                assert isinstance(given, dict)
                found = SharedRecord(**given)
                numbers = found.pairs, found.private, found.dynamic
                texts = found.release, found.edges
                assert all(type(n) is int and n >= 0 for n in numbers)
                assert all(type(t) is str for t in texts)
                assert type(found.moved) is bool
                found = replace(found, distances=_integers(given, "distances"), numbers=_integers(given, "numbers"))
                assert found.private % WORD == 0
                assert found.moved or not any(found.distances or ())
                _require_slots(found, _SLOTS in given)
                return found
            except (AssertionError, TypeError):
                raise MalformedInput(
                    "a record of sharing makes no sense", file=module.path or None, place=kernel, found=str(given)[:80],
                    expected="pairs, private bytes in whole words, dynamic ones, how it releases, and where slots are "
                    "shared all numbers of these and all distances",
                ) from None  # fmt: skip
    return None


def made_for(module: Module, kernel: str) -> SharedRecord | None:
    """Return how blocks of a kernel share memory by its record, None where that makes no sense, or says nothing."""
    try:
        return was_shared(module, kernel)
    except MalformedInput:
        return None


def _require_slots(found: SharedRecord, stated: bool) -> None:
    """Raise AssertionError where a record has private slots, but not for each slot a number, and for each unit of
    variables a distance; or numbers without private slots. stated: whether it has private slots."""
    assert stated == (found.numbers is not None)
    if found.numbers is None:
        return
    assert found.distances is not None
    assert type(found.slots) is int
    assert 0 <= found.slots <= len(found.numbers)
    assert sorted(found.numbers) == list(range(len(found.numbers)))


def _integers(given: Mapping[str, object], name: str) -> tuple[int, ...] | None:
    """Return a list of integers in a record, None where there is none. Raises AssertionError for anything else."""
    if name not in given:
        return None
    found = given[name]
    assert isinstance(found, list)
    assert all(type(n) is int for n in found)
    return tuple(found)
