"""Import and emulation beside interpretation: one program, two results, and how they differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.host.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.launch import types as launches
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.kits.machines import roomy_machine
from tests.support.ptx.generator.options import Argument, Program
from tests.support.ptx.interpreter.interpreter import interpret

Array = NDArray[Any]
DTYPE_NAMES = {dtype: name for name, dtype in launches.DTYPES.items()}
APPROXIMATE = {"approx32": (2.0**-19, 2.0**-20), "approx64": (2.0**-18, 0.0)}
"""Relative and absolute tolerance: PTX's bounds for the .approx forms on operands of 0.25 to 3, with room."""


def launch_argument(argument: Argument) -> launches.Argument:
    """A float scalar goes as its pattern, so that a NaN keeps its payload."""
    value = argument.value
    if isinstance(value, bytes):
        member = launches.Field(0, "u8", tuple(value), name="bytes", listed=True)
        return launches.Argument(argument.name, "struct", "u8", fields=(member,), size=len(value))
    if isinstance(value, np.ndarray):
        return launches.Argument(argument.name, "buffer", DTYPE_NAMES[value.dtype], value.shape)
    kind = f"u{8 * value.itemsize}"
    pattern = int(np.array([value]).view(launches.DTYPES[kind])[0])
    return launches.Argument(argument.name, "scalar", kind, value=pattern)


def emulated(
    program: Program, *, optimised: bool = True, engine: str = "numba", budget: tuple[int, int] | None = None
) -> dict[str, Array]:
    """The buffers after import and emulation. budget: (registers, slots) to rewrite for first, checked."""
    machine = roomy_machine()
    module = import_ptx(program.text, optimised=optimised, machine=machine).module
    if budget is not None:
        rewritten = rewrite(module, program.kernel, *budget)
        assert check(module, rewritten, program.kernel).errors == []
        module = schedule(rewritten, machine)
    arguments = tuple(launch_argument(a) for a in program.arguments)
    launch = launches.Launch(program.kernel, (program.grid, 1, 1), program.block, 0, arguments)
    buffers = {a.name: a.value.copy() for a in program.arguments if isinstance(a.value, np.ndarray)}
    return run(module, program.kernel, launch, machine, engine=engine, buffers=buffers).buffers


def interpreted(program: Program) -> dict[str, Array]:
    """The buffers after interpretation."""
    values = [a.value.copy() if isinstance(a.value, np.ndarray) else a.value for a in program.arguments]
    interpret(program.text, program.kernel, program.grid, program.block, values)
    return {a.name: v for a, v in zip(program.arguments, values, strict=True) if isinstance(v, np.ndarray)}


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
