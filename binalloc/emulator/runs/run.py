"""Run one launch of a kernel: stage it, place its buffers, drive the device loop, collect the result.

The driver calls device code in bounded quanta, so Ctrl-C and limits work: a run that is stopped between two of them
leaves what is known by then; faults come back as codes and are raised
here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from binalloc.emulator.host.accounting import account_until
from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.emulator.host.device import Device
from binalloc.emulator.host.engine import Engine, engine
from binalloc.emulator.host.global_memory import GlobalMemory
from binalloc.emulator.host.resources import Resources, require_together, resident_blocks
from binalloc.emulator.host.runtime import HeapUse, Printed
from binalloc.emulator.host.staging import check_registers, check_scheduled
from binalloc.emulator.host.stats import Stats, collect
from binalloc.emulator.host.status import AT_LIMIT, FAULTED, GOES_ON
from binalloc.emulator.runs.issue_log import IssueLog
from binalloc.emulator.runs.profile import Profile, collect_profile
from binalloc.emulator.schedulers.table import DEFAULT as DEFAULT_SCHEDULER
from binalloc.emulator.schedulers.table import SCHEDULERS, policy_number
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.emulator.stops.context import Context
from binalloc.emulator.stops.faults import kernel_fault
from binalloc.emulator.stops.spin import find_spin
from binalloc.emulator.stops.stopped import Stopped, take_back
from binalloc.errors import Hint, Interrupted, LimitHit, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.sets.loom import LOOM
from binalloc.launch.file import check_against, complete
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.printable import count

QUANTUM = {"numba": 20_000, "python": 50}
REPORT_QUANTA = 16  # progress is told once in so many quanta
SPIN_CYCLES = 1_000_000  # first look for endless loops; then each time at four times the cycle
Watcher = Callable[[int, int, int], None]
"""Told how far a run is: cycles so far, blocks ended, blocks of the grid."""
Observer = Callable[[Device, int], None]
"""Shown the device after each cycle with events, and that cycle: about a tenth of the speed."""


@dataclass
class Result:
    """What a launch did.

    cycles: core cycles from first dispatch to last retirement. buffers: global buffers after the grid ended. stats:
    plain numbers, see `stats.collect`. blocks_per_sm: resident blocks allowed. occupancy: achieved, average resident
    warps over the most an SM holds. counts: per function, warp instructions executed per instruction. one_for_all:
    one SM stood for the whole device, with its share of the bandwidth. globals: the module's global variables after
    the grid ended, as u32 where size and alignment allow it, else as u8. resident_occupancy: of an SM that has all the
    blocks that it may. partial: the run was stopped before its end, all of this is what was so by then, and
    `blocks_ended` of its `blocks` had ended. profile: per function, what was counted of
    single instructions, if that was asked for. series: what each interval of cycles added, see `series.intervals`;
    series_full_at: first cycle of its last one, where that has all that was left of too long a run. printed: what
    printf wrote. heap: what is left in the heap, where the binary has the device runtime."""

    cycles: int
    buffers: dict[str, Array]
    stats: Stats
    blocks_per_sm: int
    occupancy: float
    counts: dict[str, Array] = field(default_factory=dict)
    sms: int = 1
    one_for_all: bool = False
    machine: str = ""
    engine: str = ""
    globals: dict[str, Array] = field(default_factory=dict)
    kernel: str = ""
    scheduler: str = ""
    resident_occupancy: float = 0.0
    blocks: int = 0
    blocks_ended: int = 0
    partial: bool = False
    profile: dict[str, Profile] = field(default_factory=dict)
    series: list[Stats] = field(default_factory=list)
    series_full_at: int | None = None
    printed: Printed = field(default_factory=Printed)
    heap: HeapUse | None = None


def run(
    module: Module,
    kernel: str,
    launch: Launch,
    machine: Machine,
    *,
    engine: str = "numba",
    scheduler: str = DEFAULT_SCHEDULER,
    sms: int = 1,
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    check: bool = False,
    race: bool = False,
    profile: bool = False,
    every: int | None = None,
    blocks_per_sm: int | None = None,
    ideal_blocks: int | None = None,
    reference: bool = False,
    hazards: bool = True,
    buffers: Mapping[str, Array] | None = None,
    textures: Mapping[str, Array] | None = None,
    skew: int | None = None,
    only: range | None = None,
    progress: Watcher | None = None,
    observer: Observer | None = None,
    log: IssueLog | None = None,
) -> Result:
    """Run `kernel` of `module` as `launch` says on `machine`.

    Args:
        engine: "numba" (compiled, cached) or "python" (the same source uncompiled: slow, for small cases).
        scheduler: how an SM's schedulers choose among warps, a row of `schedulers.table`.
        sms: SMs simulated. One SM runs the whole grid and has 1/machine.chip.sms of the bandwidth; n have n shares.
        max_cycles: LimitHit when the grid has not ended by then. None: no limit, an endless loop runs for ever.
        check: propagate poison of uninitialised registers and shared words, fault where it matters.
        race: find shared-memory races between barriers.
        profile: count of single instructions, too.
        every: sample all counters each time so many cycles have passed.
        blocks_per_sm: resident blocks, at most what occupancy allows (the default).
        ideal_blocks: resident blocks as if registers and shared memory were free (what-if runs of a speedup's parts).
        reference: the plain per-cycle mode, which agrees with the event-skipping one on every counter.
        hazards: False runs code that was never scheduled; results are exact, cycles mean nothing.
        buffers: contents in place of `launch.make_buffers()`, of all of them; not changed. textures: likewise, in
            place of `launch.make_textures()`.
        skew: seed of small delays with which blocks start, a hash of their numbers; None: none is delayed.
        only: blocks of the grid, by number, that are run, those in front and behind left out. None: all.
        progress: called now and then during a long run. observer: called after each cycle with events.
        log: receives all that the SMs do, see `issue_log`.

    Raises:
        KernelFault: the kernel did what the machine forbids. LimitHit: max_cycles, or a listener of the log has had
        enough. Interrupted: Ctrl-C. Stopped: a listener of the log asked for it. The last three hold the Result so far.
        Refused: not scheduled for this machine, or no block fits on an SM. UsageError: launch and kernel contradict
        each other, or contents are given that are not the launch's.
    """
    fn = find_function(module, kernel)
    check_against(launch, fn.info, module.path or None)
    registers = registers_of(module, fn, machine, hazards=hazards)
    need = Resources.of(fn, launch, registers)
    resident = resident_blocks(machine, need, launch, blocks_per_sm) if ideal_blocks is None else ideal_blocks
    given = launch.make_buffers() if buffers is None else complete(launch, launch.buffers, buffers, "buffers")
    host = {k: np.ascontiguousarray(v) for k, v in given.items()}
    images = launch.make_textures() if textures is None else complete(launch, launch.textures, textures, "textures")
    memory = GlobalMemory(launch, module, host, images)
    chosen = engine_of(engine, check or race or profile)
    device = Device(chosen, module, fn, launch, machine, need, min(resident, math.prod(launch.grid)), sms, memory)
    return run_device(
        device, resident, scheduler=scheduler, max_cycles=max_cycles, check=check, race=race, profile=profile,
        every=every, reference=reference, hazards=hazards, skew=skew, only=only, progress=progress, observer=observer,
        log=log,
    )  # fmt: skip


def registers_of(module: Module, fn: Function, machine: Machine, *, hazards: bool = True) -> int:
    """Registers per thread of a kernel, after the checks that need no launch. Raises as `run` does."""
    functions = module.reached(fn)
    if hazards:
        check_scheduled(functions, machine, module.path)
    return check_registers(functions, fn, module.path)


def run_device(
    device: Device,
    resident: int,
    *,
    scheduler: str = DEFAULT_SCHEDULER,
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    check: bool = False,
    race: bool = False,
    profile: bool = False,
    every: int | None = None,
    reference: bool = False,
    hazards: bool = True,
    skew: int | None = None,
    only: range | None = None,
    contents: bool = True,
    progress: Watcher | None = None,
    observer: Observer | None = None,
    log: IssueLog | None = None,
) -> Result:
    """Run the launch that a device has been set up for. resident: blocks an SM may hold. contents: the result has what
    memory holds. All else, and what is raised, as in `run`."""
    require_together(device.machine, device.launch, resident, device.sms_count)
    device.put("policy", policy_number(scheduler))
    device.put("hazards", int(hazards))
    device.put("reference", int(reference))
    device.put("skew", _skew(skew))
    if only is not None:
        _leave_out(device, only)
    device.watch(check, race, device.module.memory_model)
    if profile:
        device.profile()
    if every is not None:
        device.sample(every)
    if log is not None:
        log.begin(device)
    try:
        drive(device, max_cycles, progress, observer)
    except (LimitHit, Stopped) as stopped:
        if isinstance(stopped, Stopped):
            take_back(device)
        stopped.partial = _until_now(device, resident, max_cycles)
        raise
    except KeyboardInterrupt as stopped:
        if device.get("cycle") == 0:
            raise
        code = getattr(stopped, "exit_code", 130)
        raise Interrupted(_until_now(device, resident, max_cycles), code) from None
    return _result(device, resident, contents)


def _leave_out(device: Device, only: range) -> None:
    """As if the blocks in front of `only` had ended, and there were none behind it."""
    blocks = math.prod(device.launch.grid)
    if only.step != 1 or not 0 <= only.start < only.stop <= blocks:
        expected = f"at least one of {blocks}, in a row"
        raise UsageError("no blocks of the grid", place="only", found=str(only), expected=expected)
    device.put("next_block", only.start)
    device.put("retired", only.start)
    device.put("blocks", only.stop)


def _skew(seed: int | None) -> int:
    """What the record says for a seed."""
    if seed is None:
        return 0
    if not 0 <= seed < L.MOST_SEED:
        raise UsageError("seed out of range", place=Hint("{skew}"), found=seed, expected=f"0 to {L.MOST_SEED - 1}")
    return seed + 1


def engine_of(name: str, checking: bool) -> Engine:
    """The engine of that name; checking: with the modes that look for mistakes."""
    return engine(name, checking=checking)


def find_function(module: Module, name: str) -> Function:
    """The kernel of that name in the binary. UsageError where there is none, or nobody could run it."""
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
    """The cycle that a run does not reach."""
    return L.CLOCK_END if max_cycles is None else min(max_cycles, L.CLOCK_END)


def drive(
    device: Device, max_cycles: int | None, progress: Watcher | None = None, observer: Observer | None = None
) -> None:
    """Run to the end of the grid, or raise. Times stay exact up to `CLOCK_END`: no run goes on beyond it."""
    limit = last_cycle(max_cycles)
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
        fault = kernel_fault(Context(device))
        fault.printed = device.memory.printed().text
        raise fault.at(device.module.path) if device.module.path else fault
    if status == AT_LIMIT:
        raise LimitHit(
            "the kernel did not end within the cycle limit",
            file=device.module.path or None,
            found=f"{device.get('retired')} of {count(blocks, 'block')} ended",
            expected=f"all within {count(limit, 'cycle')}",
            remedy=Hint("Raise the limit ({max_cycles} N, or {max_cycles} {None}), or look for an endless loop."),
        )


def _until_now(device: Device, resident: int, max_cycles: int | None) -> Result:
    """What a launch has done that goes no further; one that had come to its end is not partial."""
    ended = device.get("retired") == device.get("blocks") and device.get("unfinished") == 0
    cycle = device.get("cycle") if ended else min(device.get("cycle"), last_cycle(max_cycles))
    device.put("cycle", cycle)
    if device.series is not None:
        device.series.end()
    account_until(device.engine, device.g, device.sms, device.memories, cycle)
    return replace(_so_far(device, resident), partial=not ended)


def _result(device: Device, resident: int, contents: bool) -> Result:
    """Collect what a launch did that has ended."""
    return _so_far(device, resident, contents=contents)


def _so_far(device: Device, resident: int, *, contents: bool = True) -> Result:
    """Collect what the launch did."""
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
        device.kernel.name, list(SCHEDULERS)[device.get("policy")],
        resident * device.need.use.warps / machine.sm.warps_per_sm,
        math.prod(device.launch.grid), device.get("retired"),
        profile=collect_profile(device) if device.get("profile") else {},
        series=[] if device.series is None else device.series.intervals(),
        series_full_at=None if device.series is None else device.series.full_at,
        printed=device.memory.printed(), heap=device.memory.heap_use(),
    )  # fmt: skip
