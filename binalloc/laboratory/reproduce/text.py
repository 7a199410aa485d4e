"""The unified paper's figures on emulated machines beside what the paper states, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binalloc.laboratory.reproduce import parts
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.laboratory import ReproductionJson


def render_reproduction(told: ReproductionJson) -> str:
    """What `reproduction_to_dict` gave, for a terminal."""
    return "\n".join(_blocks(told))


def _blocks(told: ReproductionJson) -> Iterator[str]:
    for machine in told["machines"]:
        kernels = parts.of_machine(told, machine["machine"])
        yield f"{machine['machine']}: speedups over the original, emulated (at so many blocks)\n"
        yield table(*parts.speedups(kernels))
        if reached := parts.reached(machine):
            yield f"{reached}\n"
        yield table(*parts.table1(kernels))
    if told["figure1"]:
        yield table(*parts.figure1(told["figure1"]))
        yield _lines(parts.fastest(told["figure1"]))
    if told["kernels"]:
        yield "What the paper says of them, and whether it is so here:\n"
        yield _lines([f"  {one.text}" for one in parts.statements(told["kernels"])])
    yield _lines(parts.legend())
    if told["kernels"]:
        yield _lines(["How block sizes are known:", *(f"  {line}" for line in parts.block_sizes(told["kernels"]))])


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
