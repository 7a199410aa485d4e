"""Import and emulation beside interpretation: one program, two results, and how they differ."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.frontend.importer import import_ptx
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.ptx.generator.options import Program
from tests.support.ptx.harness import MACHINE, launched
from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.patterns import Array

PRINTED = "what is printed"
"""Among the buffers of a program that may print: the lines that it printed."""
APPROXIMATE = {
    "approx32": (2.0**-19, 2.0**-20), "approx64": (2.0**-18, 0.0),
    "approxf16": (2.0**-9.9, 0.0), "approxbf16": (2.0**-7, 0.0),
}  # fmt: skip
"""Relative and absolute tolerance: PTX's bounds for the .approx forms on operands of 0.25 to 3, with room."""


def emulated(
    program: Program, *, optimised: bool = True, engine: str = "numba", budget: tuple[int, int] | None = None
) -> dict[str, Array]:
    """The buffers after import and emulation, and what was printed. budget: (registers, slots) to rewrite for first,
    checked."""
    module = import_ptx(program.text, optimised=optimised, machine=MACHINE).module
    if budget is not None:
        rewritten = rewrite(module, program.kernel, *budget)
        assert check(module, rewritten, program.kernel).errors == []
        module = schedule(rewritten, MACHINE)
    names, values = [a.name for a in program.arguments], _copies(program)
    return launched(
        module, program.kernel, names, values, grid=program.grid, block=program.block, engine=engine,
        printed=PRINTED if _prints(program) else None,
    )


def _prints(program: Program) -> bool:
    return "vprintf" in program.text


def _copies(program: Program) -> list[Any]:
    """The arguments' values, buffers as copies."""
    return [a.value.copy() if isinstance(a.value, np.ndarray) else a.value for a in program.arguments]


def interpreted(program: Program) -> dict[str, Array]:
    """The buffers after interpretation, and what was printed."""
    values = _copies(program)
    printed = interpret(program.text, program.kernel, program.grid, program.block, values)
    left = {a.name: v for a, v in zip(program.arguments, values, strict=True) if isinstance(v, np.ndarray)}
    return left | ({PRINTED: np.array(printed.split("\n"))} if _prints(program) else {})


def different(compare: str, expected: Array, found: Array) -> NDArray[np.bool_]:
    """Where two results differ: by bits, a NaN equal to any NaN, or by more than the tolerance."""
    if compare == "bits":
        return expected != found
    both_nan = np.isnan(expected) & np.isnan(found)
    if compare in APPROXIMATE:
        relative, absolute = APPROXIMATE[compare]
        with np.errstate(invalid="ignore"):
            close = np.abs(expected - found) <= absolute + relative * np.abs(expected)
        return ~(both_nan | close | (expected == found))
    bits = np.uint32 if compare == "f32" else np.uint64
    return (expected.view(bits) != found.view(bits)) & ~both_nan


def differences(program: Program, expected: dict[str, Array], found: dict[str, Array]) -> list[str]:
    """A line per buffer that differs: the first element, both values as patterns, how many."""
    lines = []
    said, heard = (buffers[PRINTED].tolist() if PRINTED in buffers else [] for buffers in (expected, found))
    if said != heard:
        lines.append(f"printed: {next(p for p in zip_longest(said, heard) if p[0] != p[1])}")
    for argument in program.arguments:
        if argument.compare is None:
            continue
        a, b = expected[argument.name], found[argument.name].reshape(expected[argument.name].shape)
        wrong = np.nonzero(different(argument.compare, a, b))[0]
        if len(wrong):
            k = int(wrong[0])
            x, y = (v[k : k + 1].view(f"u{v.itemsize}")[0] for v in (a, b))
            lines.append(f"{argument.name}[{k}]: interpreted {x:#x}, emulated {y:#x} ({len(wrong)} differ)")
    return lines
