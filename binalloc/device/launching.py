"""A kernel launched from Python: no launch file, NumPy arrays for its buffers.

Needs a module or the path of one. Leaves true: the arrays hold what the kernel left in its buffers, or are as they were
where the launch failed, and the result holds figures that depend on nothing but kernel, launch and machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from binalloc.device.loading import load_kernels
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result, run_launch
from binalloc.isa.instruction import Module
from binalloc.launch.arrays import bind_arrays
from binalloc.launch.types import Array, Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.directives import Compiled, compiled
from binalloc.pipeline.own_machine import own_machine
from binalloc.pipeline.steps.kernels import find_kernel, kernel_use, local_bytes
from binalloc.transform.schedule.schedule import schedule


@dataclass(frozen=True)
class LaunchResult:
    """What a launch took.

    kernel: its name in the binary. machine, scheduler: by name. grid, block: in x, y, z. cycles: emulated core cycles,
    of `sms` SMs with their share of the bandwidth. occupancy: of an SM that holds all the blocks it may, warps over the
    most there can be; achieved_occupancy: on average over the run. blocks_per_sm: resident blocks. registers, slots:
    per thread. local_bytes: of local memory per thread, the kernel's frame and its spills; spill_bytes: the spills
    among them. shared_bytes: per block, dynamic ones and slots included. rescheduled: the binary was scheduled for
    another machine, and anew for this one. stats: all counters, as `--json` of `run` has them. run: the whole result.
    """

    kernel: str
    machine: str
    scheduler: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    sms: int
    cycles: int
    occupancy: float
    achieved_occupancy: float
    blocks_per_sm: int
    registers: int
    slots: int
    local_bytes: int
    spill_bytes: int
    shared_bytes: int
    rescheduled: bool
    stats: dict[str, Any] = field(repr=False)
    run: Result = field(repr=False, compare=False)
    arrays: dict[str, Array] = field(repr=False, compare=False)
    module: Module = field(repr=False, compare=False)
    model: Machine = field(repr=False, compare=False)

    @cached_property
    def own(self) -> Compiled | None:
        """What the kernel takes under its own directives; None where it keeps to them. Refused where no code can."""
        return compiled(self.module, self.kernel, self.model, self.registers, self.dynamic_shared)


def launch_kernel(
    kernel: Module | str | Path,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[object] = (),
    *,
    name: str | None = None,
    machine: Machine | str | Path | None = None,
    dynamic_shared: int = 0,
    cooperative: bool = False,
    heap: int | None = None,
    printf_buffer: int | None = None,
    symbols: Mapping[str, Array] | None = None,
    **options: Any,
) -> LaunchResult:
    """Run a kernel on the emulator, with `args` for its parameters in order.

    As with a raw kernel of CuPy, arrays change in place: when the launch has ended, each holds what the kernel left
    in it, so the next launch with the same arrays goes on from there. Where the launch fails they are as they were. A
    kernel sees an array's memory as it lies, in C or Fortran order; an array with gaps is refused, and so is one that
    is read-only and written to. One array for two parameters is one buffer.

    Args:
        kernel: a module, or the path of a binary (.loom), of PTX, or of an object, program or library with PTX in it.
        grid, block: blocks and threads, a number or up to three of them, x first.
        args: for a pointer an array; for a texture a `TextureArray`, for a surface a `SurfaceArray`; for a
            number one of the parameter's size. An int goes to 1, 2 and 4 bytes, a float
            to 4 and 8; 8 bytes of an integer are numpy.int64 or uint64, as an int may be meant for a pointer.
            A struct by value is a scalar of a structured dtype. Binaries have no types of
            parameters: whether 4 bytes are an int or a float is for the caller to know. Arrays of structs are
            structured arrays, and pointers in them fields of objects ("O", 8 bytes): None for null, an array for its
            first byte, or a `Pointer(array, byte)`, which will do for a parameter, too. Arrays that only pointers are
            to take no parameter; they change in place as well, and a pointer that a kernel has changed is a `Pointer`
            afterwards, None for null, or an address where no array lies.
        name: of the kernel, where there are several; also its C++ name.
        machine: a model, its name, or its file; without, the one that the binary was scheduled for, for PTX that
            of its `.target`, as on the command line. A binary of another machine is scheduled for this one, in memory.
        dynamic_shared: bytes per block.
        cooperative: blocks may wait for one another (`grid.sync()`): all have to run at once.
        heap, printf_buffer: bytes that the kernel can `malloc`, and for what it prints, as in launch files; 8 MiB and
            1 MiB without.
        symbols: arrays for global and constant variables of the binary, by name, which are filled with them from their
            first byte on, and read back. All others begin every launch as the binary has them.
        options: how it runs, fields of `RunOptions` by name (`engine`, `scheduler`, `sms`, `max_cycles`, `check`,
            `race` and others).

    Raises:
        UsageError: arguments do not fit the kernel's parameters; it names argument, what was given, what is expected.
        Refused, KernelFault, LimitHit, MalformedInput: as `run`, and as the file is read or imported.
    """
    module = kernel if isinstance(kernel, Module) else load_kernels(kernel, machine=machine, name=name)
    model = own_machine(module, name, machine, runs=True)
    fn = find_kernel(module, name)
    rescheduled = any(other.info.machine != model.name for other in module.reached(fn))
    if rescheduled:
        module = schedule(module, model)
        fn = module.function(fn.name)
    bound = bind_arrays(
        fn.info, fn.name, grid, block, args, dynamic_shared=dynamic_shared, cooperative=cooperative, heap=heap,
        printf_buffer=printf_buffer, symbols=symbols,
    )  # fmt: skip
    asked = RunOptions(machine=model, **options)
    result = run_launch(module, fn.name, bound.launch, asked, buffers=bound.buffers, textures=bound.textures)
    bound.write_back(result.buffers)
    return told(result, bound.launch, module, model, rescheduled=rescheduled, arrays=bound.arrays)


def told(
    result: Result,
    launch: Launch,
    module: Module,
    model: Machine,
    *,
    rescheduled: bool,
    arrays: dict[str, Array] | None = None,
) -> LaunchResult:
    """What a run of `launch` took. arrays: of the caller, that it was given."""
    fn = module.function(result.kernel)
    use = kernel_use(fn, launch)
    return LaunchResult(
        kernel=result.kernel,
        machine=result.machine,
        scheduler=result.scheduler,
        grid=launch.grid,
        block=launch.block,
        dynamic_shared=launch.dynamic_shared,
        sms=result.sms,
        cycles=result.cycles,
        occupancy=result.resident_occupancy,
        achieved_occupancy=result.occupancy,
        blocks_per_sm=result.blocks_per_sm,
        registers=use.registers,
        slots=use.slots,
        local_bytes=local_bytes(fn.info),
        spill_bytes=fn.info.spill_local,
        shared_bytes=use.block_shared,
        rescheduled=rescheduled,
        stats=result.stats,
        run=result,
        arrays=arrays or {},
        module=module,
        model=model,
    )
