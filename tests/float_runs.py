"""PTX floating-point instructions run over arrays of patterns: import, schedule, emulate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.launch_types import Argument, Launch
from binalloc.emulator.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.models.machine import load_machine
from binalloc.models.machine_model import Machine

Patterns = Sequence[int]
THREADS = 128
BYTES = {"f32": 4, "f64": 8}
WORDS = {"f32": np.uint32, "f64": np.uint64}
SHAPE = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k({parameters})
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %q<8>;
    .reg .{t} %a, %b, %c, %d, %z<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.s32 %q1, %r4, {size};
{body}
    ret;
}}
"""


def kernel_text(instructions: Sequence[str], t: str, sources: int) -> str:
    """A kernel that loads %a, %b, %c as far as there are sources, and stores %d after each of the instructions."""
    lines = []
    for k in range(sources):
        lines += [f"ld.param.u64 %q2, [in{k}];", "add.s64 %q3, %q2, %q1;", f"ld.global.{t} %{'abc'[k]}, [%q3];"]
    for k, instruction in enumerate(instructions):
        lines += [instruction, f"ld.param.u64 %q2, [out{k}];", "add.s64 %q3, %q2, %q1;", f"st.global.{t} [%q3], %d;"]
    names = [f"in{k}" for k in range(sources)] + [f"out{k}" for k in range(len(instructions))]
    parameters = ", ".join(f".param .u64 {name}" for name in names)
    return SHAPE.format(parameters=parameters, t=t, size=BYTES[t], body="\n".join(f"    {line}" for line in lines))


@cache
def _imported(instructions: tuple[str, ...], t: str, sources: int, optimised: bool) -> tuple[Module, Machine]:
    machine = load_machine("gtx680")
    return import_ptx(kernel_text(instructions, t, sources), machine=machine, optimised=optimised).module, machine


def evaluate(instructions: Sequence[str], t: str, *sources: Patterns, optimised: bool = True) -> list[list[int]]:
    """Patterns of %d after each instruction, for every tuple of source patterns.

    instructions: PTX that reads %a, %b, %c (one per source) and writes %d; %z0..3, %p0..3 are free. One launch."""
    count = len(sources[0])
    padded = -(-count // THREADS) * THREADS
    word = WORDS[t]
    buffers: dict[str, NDArray[np.generic]] = {}
    for k, source in enumerate(sources):
        buffers[f"in{k}"] = np.array([*source, *[0] * (padded - count)], word)
    for k in range(len(instructions)):
        buffers[f"out{k}"] = np.zeros(padded, word)
    module, machine = _imported(tuple(instructions), t, len(sources), optimised)
    kind = {"f32": "u32", "f64": "u64"}[t]
    arguments = tuple(Argument(name, "buffer", kind, (padded,)) for name in buffers)
    launch = Launch("k", (padded // THREADS, 1, 1), (THREADS, 1, 1), 0, arguments)
    done = run(module, "k", launch, machine, engine="numba", buffers=buffers).buffers
    return [[int(v) for v in done[f"out{k}"][:count]] for k in range(len(instructions))]
