"""This module has the record by which a binary says how blocks of its kernel share memory two by two."""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Module
from binalloc.models.sharing.pairs import Pairing

SHARED = "shared"
"""Key in a provenance record for how blocks of a kernel share memory."""
_DISTANCES = "distances"


@dataclass(frozen=True)
class SharedRecord:
    """A record of sharing has all from which the kernel can be made again of the original."""

    pairs: int
    private: int  #: bytes of a block that only it uses, its slots included
    release: str
    edges: str
    moved: bool  #: whether variables might be moved
    dynamic: int  #: bytes of dynamic shared memory of the launch
    #: bytes by which each unit has moved, where a profile weighed the choice; None: as loops have it
    distances: tuple[int, ...] | None = None

    @property
    def option(self) -> str:
        """Return what the sharing of its runs has to be."""
        return f"{self.pairs}:{self.private}"

    @property
    def pairing(self) -> Pairing:
        """Return the pairing, with no block but those in pairs."""
        return Pairing(2 * self.pairs, self.pairs, self.private)

    def fields(self) -> dict[str, object]:
        """Return the record as it is written."""
        said = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.distances is None:
            del said[_DISTANCES]
        else:
            said[_DISTANCES] = list(self.distances)
        return {SHARED: said}


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
                distances = given.get(_DISTANCES)
                if distances is None:
                    return found
                assert isinstance(distances, list)
                assert all(type(n) is int for n in distances)
                return replace(found, distances=tuple(distances))
            except (AssertionError, TypeError):
                raise MalformedInput(
                    "a record of sharing makes no sense", file=module.path or None, place=kernel, found=str(given)[:80],
                    expected="numbers of pairs, private and dynamic bytes, and how it releases",
                ) from None  # fmt: skip
    return None
