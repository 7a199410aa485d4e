"""Kernels that get shared memory as they run, by BAR.ALLOC and BAR.FREE, and runs of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.runs.run import Result, run
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import assemble
from binalloc.launch.arrays import bind_arrays
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule

GT200 = load_machine("gtx285")  # 16 KB of shared memory
HEAD = """
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    S2R R8, SR_NTID.X
    IMAD R9, R1, R8, R0
    MOV R2, 0x4
    IMAD.WIDE R2, R9, R2, c[0][out]
    SHF.L R4, R0, 0x2, RZ
"""
"""R0: thread, R1: block, R9: thread of the grid, R2: address of its word of `out`, R4: 4 * thread."""


def kernel(body: str, *, private: int = 0, params: str = ".param out, 8") -> str:
    """A kernel with the head above, `private` bytes of static shared memory and parameters."""
    own = f".shared own {private} 4\n" if private else ""
    return f".kernel k\n.auto_reconv\n{params}\n{own}{HEAD}{body}    EXIT\n.end\n"


def section(size: str, result: str = "R7", inside: str = "") -> str:
    """Code that takes `size`, stores thread + 100 there, takes the word of the other warp's thread into R7, gives all
    back, and leaves `result`. R5 is the address."""
    return f"""
    BAR.ALLOC R5, {size}
    IADD3 R6, R4, R5, RZ
    IADD3 R7, R9, 0x64, RZ
    STS.32 [R6], R7
    BAR.SYNC 0
{inside}
    LOP3 R6, R4, 0x80, RZ, 0x3c
    IADD3 R6, R6, R5, RZ
    LDS.32 R7, [R6]
    BAR.FREE R5
    STG.32 [R2], {result}
"""


def ready(text: str, machine: Machine = GT200) -> Module:
    """The module of a text, scheduled for the machine."""
    return schedule(assemble(text), machine)


def go(
    text: str | Module, grid: int = 4, block: int = 64, *, machine: Machine = GT200, engine: str = "python",
    values: tuple[Any, ...] = (), **options: Any,
) -> tuple[Result, NDArray[np.uint32]]:  # fmt: skip
    """Run kernel k and return its result, and `out` by block and thread. values: of further parameters."""
    module = text if isinstance(text, Module) else ready(text, machine)
    out = np.zeros(grid * block, np.uint32)
    bound = bind_arrays(module.function("k").info, "k", grid, block, [out, *values])
    found = run(module, "k", bound.launch, machine, buffers=bound.buffers, engine=engine, **options)
    left = next(iter(found.buffers.values()))
    return found, left.view(np.uint32).reshape(grid, block)


def expected(grid: int, block: int) -> NDArray[np.uint32]:
    """What `section` leaves in R7: the number of the thread beside it in the other warp, plus 100."""
    threads = np.arange(grid * block, dtype=np.uint32).reshape(grid, block)
    return threads.reshape(grid, block // 64, 2, 32)[:, :, ::-1].reshape(grid, block) + 100


def figures(found: Result) -> tuple[int, int, int]:
    """The counters of allocations, of waits, and of cycles waited."""
    stats = found.stats
    return stats["shared_allocations"], stats["shared_waits"], stats["shared_wait_cycles"]
