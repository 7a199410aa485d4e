"""This module has the record by which a binary says which of its kernel's variables lie over one another."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Module

OVERLAID = "overlaid"
"""Key in a provenance record for where variables of a kernel lie."""


@dataclass(frozen=True)
class OverlayRecord:
    """A record of an overlay has all from which the kernel can be made again of the original."""

    distances: tuple[int, ...]  #: bytes by which each unit of variables is moved, by address
    bytes: int  #: static bytes of shared memory
    dynamic: int  #: bytes of dynamic shared memory of the launch

    def fields(self) -> dict[str, object]:
        """Return the record as it is written."""
        return {OVERLAID: {"distances": list(self.distances), "bytes": self.bytes, "dynamic": self.dynamic}}


def was_overlaid(module: Module, kernel: str) -> OverlayRecord | None:
    """Return where variables of a kernel lie, None if no record says so. Raises MalformedInput for a record that makes
    no sense."""
    for record in reversed(module.provenance):
        if record.get("kernel") == kernel and OVERLAID in record:
            given = record[OVERLAID]
            try:
                assert isinstance(given, dict)
                assert isinstance(given["distances"], list)
                found = OverlayRecord(tuple(given["distances"]), given["bytes"], given["dynamic"])
                assert len(given) == len(found.__dataclass_fields__)
                assert all(type(n) is int for n in (*found.distances, found.bytes, found.dynamic))
                assert min(found.bytes, found.dynamic) >= 0
                return found
            except (AssertionError, KeyError):
                raise MalformedInput(
                    "a record of an overlay makes no sense", file=module.path or None, place=kernel,
                    found=str(given)[:80], expected="distances of variables, static and dynamic bytes",
                ) from None  # fmt: skip
    return None
