"""A reproduction is shown as text. Its input is the object that JSON prints (`facts`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binalloc.laboratory.reproduce import parts
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.laboratory import ReproductionJson


def render_reproduction(found: ReproductionJson) -> str:
    """Return a reproduction as text for a terminal. found: the object of `reproduction_json`."""
    return "\n".join(_blocks(found))


def _blocks(found: ReproductionJson) -> Iterator[str]:
    for machine in found["machines"]:
        kernels = parts.of_machine(found, machine["machine"])
        yield f"{machine['machine']}: speedups over the original, emulated (blocks per SM)\n"
        yield table(*parts.speedups(kernels))
        if reached := parts.reached(machine):
            yield f"{reached}\n"
        yield table(*parts.table1(kernels))
    if found["figure1"]:
        yield table(*parts.figure1(found["figure1"]))
        yield _lines(parts.fastest(found["figure1"]))
    if found["kernels"]:
        yield "The paper's claims about the kernels, and whether they hold here:\n"
        yield _lines([f"  {one.text}" for one in parts.statements(found["kernels"])])
    yield _lines(parts.legend())
    if found["kernels"]:
        yield _lines(["How block sizes are known:", *(f"  {line}" for line in parts.block_sizes(found["kernels"]))])


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
