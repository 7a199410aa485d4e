"""PTX floating-point instructions run over arrays of patterns: import, schedule, emulate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.support.ptx.harness import run_ptx

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


def evaluate(instructions: Sequence[str], t: str, *sources: Patterns, optimised: bool = True) -> list[list[int]]:
    """Patterns of %d after each instruction, for every tuple of source patterns.

    instructions: PTX that reads %a, %b, %c (one per source) and writes %d; %z0..3, %p0..3 are free. One launch."""
    count = len(sources[0])
    padded = -(-count // THREADS) * THREADS
    arrays = [np.array([*source, *[0] * (padded - count)], WORDS[t]) for source in sources]
    arrays += [np.zeros(padded, WORDS[t]) for _ in instructions]
    text = kernel_text(instructions, t, len(sources))
    done = run_ptx(text, "k", arrays, grid=padded // THREADS, block=THREADS, optimised=optimised)
    return [result[:count].tolist() for result in done[len(sources) :]]
