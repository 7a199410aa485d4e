"""This module runs one launch of a kernel: it stages it, places its buffers, drives the device loop and collects the
result.

The driver calls device code in bounded quanta, so that Ctrl-C and limits work. A run that is stopped between two quanta
gives the result so far. Faults come back as codes and are raised here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.call_stack import with_room
from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.engines.engine import Engine, engine
from binalloc.emulator.host.figures.accounting import account_until
from binalloc.emulator.host.figures.cpu import CpuRuns, cpu_runs
from binalloc.emulator.host.figures.energy import CommandCosts
from binalloc.emulator.host.figures.off_chip import costs_of_memories
from binalloc.emulator.host.figures.shares import DramCauses, DramShare, OfMemories, dram_shares
from binalloc.emulator.host.figures.stats import Stats, collect
from binalloc.emulator.host.memory.global_memory import GlobalMemory
from binalloc.emulator.host.pairs import OFF, limited, pairing_of
from binalloc.emulator.host.resources import Resources, require_together, resident_blocks
from binalloc.emulator.host.runtime import HeapUse, Printed
from binalloc.emulator.host.staging import check_registers, check_scheduled
from binalloc.emulator.host.status import AT_LIMIT, FAULTED, GOES_ON
from binalloc.emulator.pages.table import chosen_pages
from binalloc.emulator.policies.dispatchers.table import DISPATCHERS, chosen_dispatcher
from binalloc.emulator.policies.events import hears
from binalloc.emulator.policies.gates.table import gates_of
from binalloc.emulator.policies.listeners.table import listening
from binalloc.emulator.policies.placements.table import chosen_placement
from binalloc.emulator.policies.schedulers.table import SCHEDULERS, chosen_scheduler
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.profile import InstructionProfile, collect_profile
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.emulator.stops.context import StoppedContext
from binalloc.emulator.stops.faults import kernel_fault
from binalloc.emulator.stops.spin import find_spin
from binalloc.emulator.stops.stopped import Stopped, take_back
from binalloc.errors import BinallocError, Hint, Interrupted, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.sets.loom import LOOM
from binalloc.launch.file import complete
from binalloc.launch.merged import fitting
from binalloc.launch.types import Launch
from binalloc.models.batches.formula import AUTO, EACH_BLOCK, STRIDE, BatchFormula
from binalloc.models.batches.queues import queues
from binalloc.models.dram.traffic import FAR
from binalloc.models.machines.model import Machine
from binalloc.models.sharing.pairs import Pairing
from binalloc.models.sharing.record import made_for
from binalloc.printable import count

QUANTUM = {"numba": 20_000, "python": 50}
"""Cycles with events per call of device code, by engine. A longer quantum delays Ctrl-C, a shorter one costs more
calls. Chosen by hand."""
REPORT_QUANTA = 16  # progress is reported once in so many quanta; more reports cost time and show nothing new
SPIN_CYCLES = 1_000_000
"""The cycle of the first search for endless loops, and each later one at four times the cycle. A search costs far more
than a cycle, so there are few. Chosen by hand."""


@dataclass
class Result:
    """A result is what a launch did. A partial result has what was true when the run was stopped."""

    cycles: int  #: core cycles from first dispatch to last retirement
    buffers: dict[str, Array]  #: global buffers after the grid ended
    stats: Stats  #: plain numbers, see `stats.collect`
    blocks_per_sm: int  #: resident blocks allowed
    occupancy: float  #: achieved: average resident warps, divided by the most that an SM holds
    counts: dict[str, Array] = field(default_factory=dict)  #: per function, warp instructions executed per instruction
    sms: int = 1
    one_for_all: bool = False  #: whether one SM stood for the whole device, with its share of the bandwidth
    machine: str = ""
    engine: str = ""
    #: the module's global variables after the grid ended, as u32 where size and alignment allow it, else as u8
    globals: dict[str, Array] = field(default_factory=dict)
    kernel: str = ""
    scheduler: str = ""
    #: other policies of the SM by option, `dispatcher`, `batches`, `placement` and `pages`, as they were chosen
    policies: dict[str, str] = field(default_factory=dict)
    resident_occupancy: float = 0.0  #: occupancy of an SM with all the blocks that it may have
    blocks: int = 0  #: blocks of the grid
    blocks_ended: int = 0  #: how many of them have ended
    partial: bool = False  #: whether the run was stopped before its end
    #: per function, the counts of single instructions, if they were asked for
    profile: dict[str, InstructionProfile] = field(default_factory=dict)
    dram_shares: tuple[DramShare, ...] = ()  #: what DRAM did for each object in memory, if it was asked for
    dram_costs: tuple[CommandCosts, ...] = field(default=(), repr=False)  #: the energy of such commands, by memory
    #: in profiled runs, what DRAM did for no instruction, by name of `Cause`
    dram_of_no_word: dict[str, OfMemories] = field(default_factory=dict)
    series: list[Stats] = field(default_factory=list)  #: what each interval of cycles added, see `series.intervals`
    #: first cycle of the last interval, where that has all the rest of too long a run
    series_full_at: int | None = None
    printed: Printed = field(default_factory=Printed)  #: output of printf
    cpu: CpuRuns | None = None  #: what CPU programs have done meanwhile
    heap: HeapUse | None = None  #: what is left in the heap, where the binary has the device runtime


def run(
    module: Module,
    kernel: str,
    launch: Launch,
    machine: Machine | str | Path | None = None,
    *,
    buffers: Mapping[str, Array] | None = None,
    textures: Mapping[str, Array] | None = None,
    **options: Any,
) -> Result:
    """Run `kernel` of `module` as `launch` says on `machine`: `run_launch`, with fields of `RunOptions` by name."""
    asked = RunOptions(machine=machine, **options)
    return run_launch(module, kernel, launch, asked, buffers=buffers, textures=textures)


@with_room
def run_launch(
    module: Module,
    kernel: str,
    launch: Launch,
    options: RunOptions,
    *,
    buffers: Mapping[str, Array] | None = None,
    textures: Mapping[str, Array] | None = None,
) -> Result:
    """Run `kernel` of `module` as `launch` says. If blocks are merged, the original's launch is adapted.

    Args:
        options: how it runs.
        buffers: contents instead of `launch.make_buffers()`, for all buffers; not changed.
        textures: likewise, instead of `launch.make_textures()`.

    Raises:
        KernelFault: the kernel did what the machine forbids.
        LimitHit: max_cycles is reached, or a listener of the log has had enough.
        Interrupted: Ctrl-C.
        Stopped: a listener of the log asked for it. This and the two above have the Result so far.
        Refused: the code is not scheduled for this machine, or no block fits on an SM.
        UsageError: launch and kernel contradict each other, or contents are given that are not the launch's.
    """
    machine = options.machine
    fn = find_function(module, kernel)
    launch = fitting(launch, module, kernel)
    need = resources_of(module, fn, launch, registers_of(module, fn, options), options)
    resident, pairing = placed(machine, need, launch, module, fn, options)
    if options.ideal_blocks is not None and need.public is not None:
        need = replace(need, public=replace(need.public, free=True))
    given = launch.make_buffers() if buffers is None else complete(launch, launch.buffers, buffers, "buffers")
    host = {k: np.ascontiguousarray(v) for k, v in given.items()}
    images = launch.make_textures() if textures is None else complete(launch, launch.textures, textures, "textures")
    memory = GlobalMemory(launch, module, host, images)
    chosen = engine_of(options)
    at_once = min(resident, math.prod(launch.grid))
    device = LaunchedDevice(
        chosen, module, fn, launch, machine, need, at_once, options.sms, memory, pairing=pairing
    )  # fmt: skip
    return run_device(device, resident, options)


def placed(
    machine: Machine, need: Resources, launch: Launch, module: Module, fn: Function, options: RunOptions
) -> tuple[int, Pairing | None]:
    """Return the most resident blocks of an SM, and which of them share memory. fn: the kernel. Raises as `run_launch`
    does."""
    wanted = options.ideal_blocks
    if wanted is not None:
        if options.sharing != OFF:
            raise UsageError("blocks share memory, or have it as if it was free", place=Hint("{sharing}"))
        return wanted, None
    if options.sharing == OFF:
        return resident_blocks(machine, need, launch, options.blocks_per_sm, options.over), None
    alone = resident_blocks(machine, need, launch, None, options.over)
    try:
        pairing = pairing_of(machine, need, launch, module.reached(fn), options.sharing)
    except (Refused, UsageError) as error:
        made = made_for(module, fn.name)
        if made is not None and error.remedy is None:
            error.remedy = Hint(f"The binary was made for {{sharing}} {made.option}; {{sharing}} off runs it, too.")
        raise
    assert pairing is not None
    most = options.blocks_per_sm
    if most is not None and not 1 <= most <= pairing.blocks:
        expected = f"1 to {pairing.blocks}, what sharing allows"
        raise UsageError("blocks_per_sm out of range", found=most, expected=expected)
    found = limited(pairing, alone, most)
    if found is None:
        return min(alone, most or alone), None
    return found.blocks, found


def registers_of(module: Module, fn: Function, options: RunOptions) -> int:
    """Return the registers per thread of a kernel, after the checks that need no launch. Raises as `run_launch`
    does."""
    functions = module.reached(fn)
    if options.hazards:
        check_scheduled(functions, options.machine, module.path)
    return check_registers(functions, fn, module.path)


def resources_of(
    module: Module, fn: Function, launch: Launch, registers: int, options: RunOptions
) -> Resources:
    """Return what a block of the launch needs. Raises as `run_launch` does."""
    return Resources.of(fn, launch, registers, module.reached(fn), options.smm)


def run_device(device: LaunchedDevice, resident: int, options: RunOptions, *, contents: bool = True) -> Result:
    """Run the launch of a device that is ready for it.

    resident: most blocks of an SM. contents: whether the result has the contents of memory. Raises as `run_launch`
    does.
    """
    require_together(device.machine, device.launch, resident, device.sms_count)
    _choose(device, options)
    device.put("hazards", int(options.hazards))
    device.put("reference", int(options.reference))
    device.put("by_object", int(options.by_object))
    device.put("skew", _skew(options.skew))
    if options.only is not None:
        _leave_out(device, options.only)
    _batch(device, options)
    device.watch(options.check, options.race, device.module.memory_model)
    if options.profile:
        device.profile()
    if options.every is not None:
        device.sample(options.every)
    if options.log is not None:
        options.log.begin(device)
    device.samplers += [make(device) for make in options.samplers]
    try:
        drive(device, options)
    except (LimitHit, Stopped) as stopped:
        if isinstance(stopped, Stopped):
            take_back(device)
        stopped.partial = _until_now(device, resident, options)
        raise
    except KeyboardInterrupt as stopped:
        if device.get("cycle") == 0:
            raise
        code = getattr(stopped, "exit_code", 130)
        raise Interrupted(_until_now(device, resident, options), code) from None
    return _result(device, resident, contents)


def _choose(device: LaunchedDevice, options: RunOptions) -> None:
    """Put the policies that the options name into the device's record, with the values of their parameters."""
    rows = {
        "policy": chosen_scheduler(options.scheduler),
        "dispatcher": chosen_dispatcher(options.dispatcher),
        "placement": chosen_placement(options.placement),
        "pages": chosen_pages(options.pages),
    }
    chosen = {name: row.number for name, row in rows.items()}
    chosen["gates"] = gates_of(options.machine, device.get("pairs"))
    chosen["listening"] = listening(options.listeners)
    given = {name: value for row in rows.values() for name, value in row.values.items()}
    for name, number in (chosen | given).items():
        device.put(name, number)
    device.page(rows["pages"], options.cpu is not None and options.cpu.memory == FAR)
    if options.cpu is not None:
        device.share(options.cpu, options.cpu_rows, options.cpu_first)
    device.put("notes_evictions", int(hears("evicted", chosen)))
    device.put("notes_sought", int(hears("sought", chosen)))
    device.put("notes_lines", int(hears("evicted", chosen) or hears("sought", chosen)))
    if SCHEDULERS[rows["policy"].name].asks_for_loads:
        device.put("load_bits", device.program.load_bits())
    device.policies = {"scheduler": options.scheduler, **options.policies}


def _leave_out(device: LaunchedDevice, only: range) -> None:
    """Have only the blocks of `only` run."""
    blocks = math.prod(device.launch.grid)
    if only.step != 1 or not 0 <= only.start < only.stop <= blocks:
        expected = f"at least one of {blocks}, in a row"
        raise UsageError("no blocks of the grid", place="only", found=str(only), expected=expected)
    device.put("first_block", only.start)
    device.put("blocks", only.stop - only.start)


def knows_batches(options: RunOptions) -> bool:
    """Return whether a policy of the options knows batches of blocks."""
    scheduler, dispatcher = chosen_scheduler(options.scheduler).name, chosen_dispatcher(options.dispatcher).name
    return SCHEDULERS[scheduler].knows_batches or DISPATCHERS[dispatcher].knows_batches


def _batch(device: LaunchedDevice, options: RunOptions) -> None:
    """Divide the blocks that are run into batches, and the batches among the SMs."""
    blocks = device.get("blocks")
    text = EACH_BLOCK if options.batches == AUTO else options.batches
    if knows_batches(options):
        device.policies["batches"] = text
    formula = BatchFormula.parse(text, math.prod(device.launch.grid), Hint("{batches}"))
    formula = replace(formula, value=min(formula.value, blocks))
    device.put("batch_stride", formula.value if formula.kind == STRIDE else 0)
    device.put("batch_modulus", 0 if formula.kind == STRIDE else formula.value)
    queue = queues(formula, blocks, device.sms_count)
    device.put("queue_head", [each.start for each in queue])
    device.put("queue_tail", [each.stop for each in queue])


def _skew(seed: int | None) -> int:
    """Return the value of the record's field for a seed: the seed + 1, 0 for none."""
    if seed is None:
        return 0
    if not 0 <= seed < L.MOST_SEED:
        raise UsageError("seed out of range", place=Hint("{skew}"), found=seed, expected=f"0 to {L.MOST_SEED - 1}")
    return seed + 1


def engine_of(options: RunOptions) -> Engine:
    """Return the engine of the options, in the build that they need."""
    return engine(options.engine, checking=options.checking)


def find_function(module: Module, name: str) -> Function:
    """Return the kernel of that name in the binary. Raises UsageError where there is none, or where the emulator does
    not execute the binary's instruction set."""
    if module.isa != LOOM.name:
        raise UsageError(
            "the emulator executes one instruction set alone", file=module.path or None, found=module.isa,
            expected=LOOM.name,
        )  # fmt: skip
    for fn in module.functions:
        if fn.name == name and fn.info.is_kernel:
            return fn
    names = ", ".join(f.name for f in module.kernels())
    raise UsageError("no such kernel", file=module.path or None, found=name, expected=names or "a kernel")


def last_cycle(max_cycles: int | None) -> int:
    """Return the first cycle that a run must not reach."""
    return L.CLOCK_END if max_cycles is None else min(max_cycles, L.CLOCK_END)


def drive(device: LaunchedDevice, options: RunOptions) -> None:
    """Run to the end of the grid, or raise. Times stay exact up to `CLOCK_END`, so no run goes on beyond it."""
    limit, observer, progress = last_cycle(options.max_cycles), options.observer, options.progress
    blocks = math.prod(device.launch.grid)
    status, checked, quanta = GOES_ON, SPIN_CYCLES, 0
    while status == GOES_ON:
        cycle = 0 if observer is None else device.get("cycle")
        status = device.step(QUANTUM[device.engine.name] if observer is None else 1, limit)
        quanta += 1
        if observer is not None:
            observer(device, cycle)
        if progress is not None and quanta % REPORT_QUANTA == 0:
            progress(device.get("cycle"), device.get("retired"), blocks)
        if status == GOES_ON and device.get("cycle") > checked:
            status = find_spin(device, limit)
            checked = 4 * device.get("cycle")
    if status == FAULTED and device.get("fault") == L.Fault.BREAK:
        raise Stopped(device)
    if status == FAULTED:
        raise _fault(device)
    if status == AT_LIMIT:
        raise LimitHit(
            "the kernel did not end within the cycle limit",
            file=device.module.path or None,
            found=f"{device.get('retired')} of {count(blocks, 'block')} ended",
            expected=f"all within {count(limit, 'cycle')}",
            remedy=Hint("Raise the limit ({max_cycles} N, or {max_cycles} {None}), or look for an endless loop."),
        )


def _fault(device: LaunchedDevice) -> BinallocError:
    """Return the fault at which a launch has stopped, with what it had printed.

    No frame of its traceback may have the fault in a variable. The two would refer to each other, and the device's
    memory, which the frames refer to, would stay until Python's garbage collector looks.
    """
    fault = kernel_fault(StoppedContext(device))
    fault.printed = device.memory.printed().text
    return fault.at(device.module.path) if device.module.path else fault


def _until_now(device: LaunchedDevice, resident: int, options: RunOptions) -> Result:
    """Return the result so far of a launch that is stopped. It is not partial if the launch had come to its end."""
    ended = device.get("retired") == device.get("blocks") and device.get("unfinished") == 0
    cycle = device.get("cycle") if ended else min(device.get("cycle"), last_cycle(options.max_cycles))
    device.put("cycle", cycle)
    if device.series is not None:
        device.series.end()
    account_until(device.engine, device.g, device.sms, device.memories, cycle)
    return replace(_so_far(device, resident), partial=not ended)


def _result(device: LaunchedDevice, resident: int, contents: bool) -> Result:
    """Return the result of a launch that has ended."""
    return _so_far(device, resident, contents=contents)


def _so_far(device: LaunchedDevice, resident: int, *, contents: bool = True) -> Result:
    """Collect the result of the launch."""
    buffers, variables = device.contents() if contents else ({}, {})
    machine = device.machine
    stats = collect(device.engine, device.g, device.sms, machine)
    counts = {
        fn.name: device.memories.counts[fn.address : fn.address + len(fn.instrs)].copy()
        for fn in device.module.functions
    }
    return Result(
        stats["cycles"], buffers, stats, resident, stats["achieved_occupancy"], counts, device.sms_count,
        device.sms_count == 1 and machine.chip.sms > 1, machine.name, device.engine.name, variables,
        device.kernel.name, device.policies["scheduler"],
        {name: chosen for name, chosen in device.policies.items() if name != "scheduler"},
        resident * device.need.use.warps / machine.sm.warps_per_sm,
        math.prod(device.launch.grid), device.get("retired"),
        profile=collect_profile(device) if device.get("profile") else {},
        dram_shares=dram_shares(device.engine, device.g, device.objects) if device.get("by_object") else (),
        dram_costs=costs_of_memories(machine, device.engine, device.g),
        dram_of_no_word=DramCauses(device.engine, device.g).of_no_word() if device.get("profile") else {},
        series=[] if device.series is None else device.series.intervals(),
        series_full_at=None if device.series is None else device.series.full_at,
        cpu=cpu_runs(device.engine, device.g, device.traffic, machine) if device.traffic is not None else None,
        printed=device.memory.printed(), heap=device.memory.heap_use(),
    )  # fmt: skip
