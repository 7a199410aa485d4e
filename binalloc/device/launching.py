"""This module runs a kernel from Python: without a launch file, and with NumPy arrays for its buffers.

Needs a module or the path of one. Leaves true: the arrays have what the kernel left in its buffers, or are as they were
where the launch failed. The result has figures that depend only on kernel, launch and machine.
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
from binalloc.launch.merged import fitting, record_for
from binalloc.launch.types import Array, Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.directives import CompiledKernel, compiled
from binalloc.pipeline.own_machine import own_machine
from binalloc.pipeline.steps.kernels import find_kernel, kernel_use, local_bytes
from binalloc.transform.schedule.schedule import schedule


@dataclass(frozen=True)
class LaunchResult:
    """A result is what a launch took."""

    kernel: str  #: its name in the binary
    machine: str  #: by name
    scheduler: str  #: by name
    grid: tuple[int, int, int]  #: in x, y, z
    block: tuple[int, int, int]  #: in x, y, z
    dynamic_shared: int  #: bytes per block
    sms: int  #: emulated SMs, which have their share of the bandwidth
    cycles: int  #: emulated core cycles
    occupancy: float  #: warps of an SM with all the blocks that it may have, divided by the most that there can be
    achieved_occupancy: float  #: the same on average over the run
    blocks_per_sm: int  #: resident blocks
    registers: int  #: per thread
    slots: int  #: per thread
    local_bytes: int  #: local memory per thread: the kernel's frame and its spills
    spill_bytes: int  #: the spills among them
    shared_bytes: int  #: per block, with dynamic ones and slots
    rescheduled: bool  #: whether the binary was scheduled for another machine, and anew for this one
    stats: dict[str, Any] = field(repr=False)  #: all counters, as `--json` of `run` has them
    run: Result = field(repr=False, compare=False)  #: the whole result
    arrays: dict[str, Array] = field(repr=False, compare=False)  #: the caller's arrays, by parameter
    module: Module = field(repr=False, compare=False)
    model: Machine = field(repr=False, compare=False)

    @cached_property
    def own(self) -> CompiledKernel | None:
        """Return what the kernel takes under its own directives, None where it keeps to them. Raises Refused where no
        code can."""
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

    As with a raw kernel of CuPy, arrays change in place: after the launch each array has what the kernel left in it, so
    the next launch with the same arrays goes on from there. Where the launch fails they are as they were. A kernel sees
    an array's memory as it is, in C or Fortran order. An array with gaps is refused, and so is one that is read-only
    and written to. One array for two parameters is one buffer.

    Args:
        kernel: a module, or the path of a binary (.loom), of PTX, or of an object, program or library with PTX in it.
        grid, block: blocks and threads, a number or up to three of them, x first.
        args: for a pointer an array, for a texture a `TextureArray`, for a surface a `SurfaceArray`, and for a number
            one of the parameter's size. An int goes to 1, 2 and 4 bytes, a float to 4 and 8. For an integer of 8 bytes
            give numpy.int64 or uint64, as an int may be meant for a pointer. A struct by value is a scalar of a
            structured dtype. Binaries have no types of parameters: the caller has to know whether 4 bytes are an int or
            a float. Arrays of structs are structured arrays, and pointers in them are fields of objects ("O", 8 bytes):
            None for null, an array for its first byte, or a `Pointer(array, byte)`. A parameter takes a `Pointer`, too.
            Arrays that only pointers refer to take no parameter. They change in place as well. A pointer that a kernel
            has changed is a `Pointer` afterwards, None for null, or an address where there is no array.
        name: of the kernel, where there are several; also its C++ name.
        machine: a model, its name, or its file. The default is the machine that the binary was scheduled for, and for
            PTX that of its `.target`, as on the command line. A binary of another machine is scheduled for this one, in
            memory.
        dynamic_shared: bytes per block.
        cooperative: whether blocks may wait for one another (`grid.sync()`): all of them have to run at once.
        heap, printf_buffer: bytes that the kernel can `malloc`, and bytes for what it prints, as in launch files; 8 MiB
            and 1 MiB by default.
        symbols: arrays for global and constant variables of the binary, by name. The variables are filled with them
            from their first byte on, and read back. All others begin every launch as the binary has them.
        options: how it runs, fields of `RunOptions` by name (`engine`, `scheduler`, `sms`, `max_cycles`, `check`,
            `race` and others).

    Raises:
        UsageError: arguments do not fit the kernel's parameters; it names the argument, what was given, what is
            expected.
        Refused, KernelFault, LimitHit, MalformedInput: as `run`, and as the file is read or imported.
    """
    module = kernel if isinstance(kernel, Module) else load_kernels(kernel, machine=machine, name=name)
    model = own_machine(module, name, machine, runs=True)
    fn = find_kernel(module, name)
    rescheduled = any(other.info.machine != model.name for other in module.reached(fn))
    if rescheduled:
        module = schedule(module, model)
        fn = module.function(fn.name)
    record = record_for(module, fn.name, len(args))
    bound = bind_arrays(
        record, fn.name, grid, block, args, dynamic_shared=dynamic_shared, cooperative=cooperative, heap=heap,
        printf_buffer=printf_buffer, symbols=symbols,
    )  # fmt: skip
    launch = fitting(bound.launch, module, fn.name)
    asked = RunOptions(machine=model, **options)
    result = run_launch(module, fn.name, launch, asked, buffers=bound.buffers, textures=bound.textures)
    bound.write_back(result.buffers)
    return launch_result(result, launch, module, model, rescheduled=rescheduled, arrays=bound.arrays)


def launch_result(
    result: Result,
    launch: Launch,
    module: Module,
    model: Machine,
    *,
    rescheduled: bool,
    arrays: dict[str, Array] | None = None,
) -> LaunchResult:
    """Return what a run of `launch` took. arrays: the caller's, by parameter."""
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
