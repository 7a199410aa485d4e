"""Run one launch of a kernel: stage it, place its buffers, drive the device loop, collect the result.

The driver calls device code in bounded quanta, so Ctrl-C and limits work; faults come back as codes and are raised
here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from binalloc.emulator.checks.races import MAX_BLOCK_WARPS
from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.emulator.host.engine import Engine, engine
from binalloc.emulator.host.faults import Context, kernel_fault
from binalloc.emulator.host.spin import find_spin
from binalloc.emulator.host.stats import collect
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.load import Constants, Program, check_registers, check_scheduled, reachable
from binalloc.emulator.state.state import GLOBAL_DTYPE, SM_DTYPE, Memories
from binalloc.errors import Hint, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.launch.file import check_against, variable_name
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.model import Machine

Array = np.ndarray[Any, np.dtype[Any]]

QUANTUM = {"numba": 20_000, "python": 50}
REPORT_QUANTA = 16  # progress is told once in so many quanta
SPIN_CYCLES = 1_000_000  # first look for endless loops; then each time at four times the cycle
Watcher = Callable[[int, int, int], None]
"""Told how far a run is: cycles so far, blocks ended, blocks of the grid."""
BUFFER_ALIGN = 256
BUFFER_GAP = 4096
LOCAL_LIMIT = 512 << 20
"""Bytes of local memory of all resident threads together that the emulator holds."""


@dataclass
class Result:
    """What a launch did.

    cycles: core cycles from first dispatch to last retirement. buffers: global buffers after the grid ended. stats:
    plain numbers, see `stats.collect`. blocks_per_sm: resident blocks allowed. occupancy: achieved, average resident
    warps over the most an SM holds. counts: per function, warp instructions executed per instruction. one_for_all:
    one SM stood for the whole device, with its share of the bandwidth. globals: the module's global variables after
    the grid ended, as u32 where size and alignment allow it, else as u8."""

    cycles: int
    buffers: dict[str, Array]
    stats: dict[str, Any]
    blocks_per_sm: int
    occupancy: float
    counts: dict[str, Array] = field(default_factory=dict)
    sms: int = 1
    one_for_all: bool = False
    machine: str = ""
    engine: str = ""
    globals: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Resources:
    """What a block of the launch needs: threads, warps, registers per thread, bytes of shared and local memory."""

    threads: int
    warps: int
    registers: int
    user_shared: int
    slot_base: int
    shared: int
    local_user: int
    local_total: int

    @staticmethod
    def of(kernel: Function, launch: Launch, registers: int) -> Resources:
        """From the kernel's record and the launch."""
        info = kernel.info
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        warps = -(-threads // L.LANES)
        user = info.shared_bytes + launch.dynamic_shared
        base = -(-user // 128) * 128
        shared = base + info.slot_bytes * warps if info.slot_bytes else user
        local_user = -(-info.local_bytes // 4) * 4
        return Resources(
            threads, warps, registers, user, base, shared, local_user, local_user + -(-info.spill_local // 4) * 4
        )


def run(
    module: Module,
    kernel: str,
    launch: Launch,
    machine: Machine,
    *,
    engine: str = "numba",
    sms: int = 1,
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    check: bool = False,
    race: bool = False,
    blocks_per_sm: int | None = None,
    ideal_blocks: int | None = None,
    reference: bool = False,
    hazards: bool = True,
    buffers: Mapping[str, Array] | None = None,
    textures: Mapping[str, Array] | None = None,
    progress: Watcher | None = None,
) -> Result:
    """Run `kernel` of `module` as `launch` says on `machine`.

    Args:
        engine: "numba" (compiled, cached) or "python" (the same source uncompiled: slow, for small cases).
        sms: SMs simulated. One SM runs the whole grid and has 1/machine.chip.sms of the bandwidth; n have n shares.
        max_cycles: LimitHit when the grid has not ended by then. None: no limit, an endless loop runs for ever.
        check: propagate poison of uninitialised registers and shared words, fault where it matters.
        race: find shared-memory races between barriers.
        blocks_per_sm: resident blocks, at most what occupancy allows (the default).
        ideal_blocks: resident blocks as if registers and shared memory were free (what-if runs of a speedup's parts).
        reference: the plain per-cycle mode, which agrees with the event-skipping one on every counter.
        hazards: False runs code that was never scheduled; results are exact, cycles mean nothing.
        buffers: contents in place of `launch.make_buffers()`; not changed. textures: likewise.
        progress: called now and then during a long run.

    Raises:
        KernelFault: the kernel did what the machine forbids. LimitHit: max_cycles. Refused: not scheduled for this
        machine, or no block fits on an SM. UsageError: launch and kernel contradict each other.
    """
    fn = _kernel(module, kernel)
    check_against(launch, fn.info, module.path or None)
    functions = reachable(module, fn)
    if hazards:
        check_scheduled(functions, machine, module.path)
    need = Resources.of(fn, launch, check_registers(functions, fn, module.path))
    resident = _resident(machine, need, blocks_per_sm) if ideal_blocks is None else ideal_blocks
    host = {k: np.ascontiguousarray(v) for k, v in (buffers or launch.make_buffers()).items()}
    chosen = _engine(engine, check or race)
    device = Device(
        chosen, module, fn, launch, machine, need, min(resident, math.prod(launch.grid)), sms, host, textures
    )
    device.put("hazards", int(hazards))
    device.put("reference", int(reference))
    device.watch(check, race)
    device.drive(max_cycles, progress)
    return device.result(resident)


def _engine(name: str, checking: bool) -> Engine:
    return engine(name, checking=checking)


def _kernel(module: Module, name: str) -> Function:
    for fn in module.functions:
        if fn.name == name and fn.info.is_kernel:
            return fn
    names = ", ".join(f.name for f in module.kernels())
    raise UsageError("no such kernel", file=module.path or None, found=name, expected=names or "a kernel")


def _resident(machine: Machine, need: Resources, wanted: int | None) -> int:
    """Resident blocks per SM; Refused where not one fits."""
    answer = machine.occupancy(need.registers, need.shared, need.threads)
    if answer.blocks_per_sm < 1:
        raise Refused(
            f"no block fits on an SM of {machine.name}",
            found=f"{need.threads} threads, {need.registers} registers each, {need.shared} bytes of shared memory",
            expected="resources of one block within one SM; limited by " + ", ".join(answer.limiters),
            remedy="Use fewer registers, less shared memory or smaller blocks.",
        )
    if wanted is None:
        return answer.blocks_per_sm
    if not 1 <= wanted <= answer.blocks_per_sm:
        raise UsageError(
            "blocks_per_sm out of range", found=wanted, expected=f"1 to {answer.blocks_per_sm}, what occupancy allows"
        )
    return wanted


class Device:
    """One launch on one device: staged program, records, memories."""

    def __init__(
        self,
        engine: Engine,
        module: Module,
        kernel: Function,
        launch: Launch,
        machine: Machine,
        need: Resources,
        resident: int,
        sms: int,
        buffers: dict[str, Array],
        textures: Mapping[str, Array] | None = None,
    ) -> None:
        self.engine, self.launch, self.machine, self.module = engine, launch, machine, module
        self.kernel = kernel
        self.need, self.host, self.sms_count = need, buffers, sms
        if not 1 <= sms <= machine.chip.sms:
            raise UsageError(
                "number of SMs out of range", place=Hint("{sms}"), found=sms, expected=f"1 to {machine.chip.sms}"
            )
        self.g = engine.records(GLOBAL_DTYPE, 1)
        self.sms = engine.records(SM_DTYPE, sms)
        self.symbols = Symbols.of(launch, module, buffers)
        self.addresses, total = place_buffers({k: v for k, v in buffers.items() if k not in self.symbols.names})
        self.addresses |= self.symbols.addresses
        self.images = textures if textures is not None else launch.make_textures()
        handles = {name: i for i, name in enumerate(self.images, 1)}
        listed = [(p.name, p.offset, p.size) for p in kernel.info.params]
        params = launch.parameters(listed, self.addresses | handles)
        constants = Constants.build(({0: params} if params else {}) | self.symbols.constants)
        self.program = Program(module, machine, constants)
        self.memories = Memories(self.program.table)
        self.memories.const = constants.words
        self.memories.global_ = self._global_words(total)
        self._put_launch(kernel, resident)
        self._put_machine()
        for name in ("start", "size"):
            self.put(f"const_{name}", getattr(constants, name))
        self._allocate(resident)

    def put(self, name: str, value: Any) -> None:
        """Set a field of the device record."""
        self.engine.put(self.g, 0, name, value)

    def _global_words(self, total: int) -> Array:
        """Variables and buffers in one array; pages of it that nothing lies on cost no memory."""
        self.base = L.VARIABLE_BASE if self.module.globals else L.GLOBAL_BASE
        self.put("global_base", self.base)
        images = -(-(L.GLOBAL_BASE - self.base + total) // BUFFER_ALIGN) * BUFFER_ALIGN
        places, end = place_textures(self.images, images)
        words = np.zeros(-(-end // 4), "<u4")
        raw = words.view(np.uint8)
        for v in self.module.globals:
            at = v.address - self.base
            raw[at : at + len(v.data)] = np.frombuffer(v.data, np.uint8)
        for name, address in self.addresses.items():
            data = self.host[name]
            at = address - self.base
            raw[at : at + data.nbytes] = data.reshape(-1).view(np.uint8)
        for name, data in self.images.items():
            raw[places[name] : places[name] + data.nbytes] = data.reshape(-1).view(np.uint8)
        self.bound([(start, end) for _, start, end in self.places()])
        self._put_textures(places)
        return words

    def _put_textures(self, places: dict[str, int]) -> None:
        """The table of textures; a handle is a row's number, counted from 1."""
        if len(places) > L.MAX_TEXTURES:
            raise UsageError("too many textures", found=len(places), expected=f"at most {L.MAX_TEXTURES}")
        rows = [texture_row(self.launch.argument(name), at) for name, at in places.items()]
        table = np.zeros((L.MAX_TEXTURES, L.TX_COLUMNS), np.int64)
        table[: len(rows)] = np.array(rows, np.int64).reshape(-1, L.TX_COLUMNS)
        self.put("textures", len(rows))
        self.put("texture", table)

    def places(self) -> list[tuple[str, int, int]]:
        """(name, first address, address behind it) of every buffer and, as `.global NAME`, every variable."""
        out = [(variable_name(v.name), v.address, v.address + v.size) for v in self.module.globals]
        buffers = {k: v for k, v in self.host.items() if k not in self.symbols.names}
        return out + [(k, self.addresses[k], self.addresses[k] + v.nbytes) for k, v in buffers.items()]

    def bound(self, spans: list[tuple[int, int]]) -> None:
        """Accesses to global memory must stay within one of `spans`."""
        spans = sorted(spans)
        if len(spans) > L.MAX_BUFFERS:
            raise UsageError("too many buffers and variables", found=len(spans), expected=f"at most {L.MAX_BUFFERS}")
        self.put("buffers", len(spans))
        self.put("buffer_start", [a for a, _ in spans])
        self.put("buffer_end", [b for _, b in spans])

    def _put_launch(self, kernel: Function, resident: int) -> None:
        need, info = self.need, kernel.info
        values = {
            "threads": need.threads, "warps_per_block": need.warps, "blocks": math.prod(self.launch.grid),
            "entry": kernel.address, "code_words": len(self.program.table) - 1, "registers": need.registers,
            "dynamic_shared": self.launch.dynamic_shared, "user_shared": need.user_shared, "slot_base": need.slot_base,
            "slot_bytes": info.slot_bytes, "shared_total": need.shared, "local_user": need.local_user,
            "local_total": need.local_total, "resident_limit": resident, "warp_limit": resident * need.warps,
        }  # fmt: skip
        for name, value in values.items():
            self.put(name, value)
        for axis, n, m in zip("xyz", self.launch.block, self.launch.grid, strict=True):
            self.put(f"ntid_{axis}", n)
            self.put(f"nctaid_{axis}", m)

    def _put_machine(self) -> None:
        m = self.machine
        share = m.bytes_per_cycle_per_sm * self.sms_count
        line = m.l1.line_bytes
        values = {
            "lanes": L.LANES, "sms": self.sms_count, "nsm_reported": self.sms_count, "schedulers": m.schedulers.count,
            "issue_width": m.schedulers.issue_width, "shared_latency": m.shared.latency,
            "shared_atomic_latency": m.shared.atomic_latency, "shared_banks": m.shared.banks,
            "l1_latency": m.l1.latency, "l1_sets": m.l1.sets, "l1_ways": m.l1.ways, "l1_local": m.l1.caches_local,
            "l1_global": m.l1.caches_global, "memory_latency": m.memory.latency,
            "memory_atomic_latency": m.memory.atomic_latency, "const_latency": m.constant.latency,
            "sector_bytes": m.memory.sector_bytes, "line_bytes": line,
            "sector_cost": max(1, round(m.memory.sector_bytes / share * (1 << L.FRACTION))),
            "sector_shift": m.memory.sector_bytes.bit_length() - 1, "line_shift": line.bit_length() - 1,
            "line_sectors": line // m.memory.sector_bytes,
        }  # fmt: skip
        for name, value in values.items():
            self.put(name, int(value))
        self._check_shapes()
        groups = {group.name: i for i, group in enumerate(m.port_groups)}
        for field_name in ("ports", "interval", "latency"):
            self.put(f"unit_{field_name}", [getattr(m.units[u], field_name) for u in L.UNIT_NAMES])
        self.put("unit_group", [groups[m.units[u].port_group] for u in L.UNIT_NAMES])
        self.put("group_ports", [group.ports for group in m.port_groups])
        clear = [sum(1 << (i * 8 + j) for i in range(8) for j in range(8) if (k >> i | k >> j) & 1) for k in range(64)]
        self.put("clear_read", clear)

    def _check_shapes(self) -> None:
        """Machines larger than the record's arrays are refused, not run wrongly."""
        m = self.machine
        warps = self.need.warps * self.engine.get(self.g, 0, "resident_limit")
        bounds = (
            ("threads per block", self.need.threads, L.LANES * MAX_BLOCK_WARPS),
            ("warps per SM", warps, L.MAX_WARPS),
            ("warps per scheduler", -(-warps // m.schedulers.count), 61),
            ("L1 lines", m.l1.sets * m.l1.ways, L.MAX_CACHE_LINES),
            ("port groups", len(m.port_groups), L.MAX_GROUPS),
            ("shared banks", m.shared.banks, L.MAX_BANKS),
        )
        for what, found, most in bounds:
            if found > most:
                raise Refused(
                    f"{m.name} is larger than the emulator", place=what, found=found, expected=f"at most {most}"
                )

    def _allocate(self, resident: int) -> None:
        need, mem = self.need, self.memories
        warps = resident * need.warps * self.sms_count
        mem.regs = np.zeros((warps, 256, L.LANES), np.uint32)
        mem.hazard = np.zeros((warps, L.ROWS, 8), np.int64)
        mem.shared = np.zeros((resident * self.sms_count, need.shared // 4 + 4), np.uint32)
        _require_local(warps * L.LANES * need.local_total, need.local_total)
        mem.local = np.zeros((warps, max(need.local_total // 4, 1), L.LANES), np.uint32)
        for i in range(self.sms_count):
            self.engine.put(self.sms, i, "id", i)
            self.engine.put(self.sms, i, "warp_base", i * resident * need.warps)
            self.engine.put(self.sms, i, "block_base", i * resident)
            self.engine.put(self.sms, i, "last_time", -1)
            self.engine.put(self.sms, i, "port_cycle", [-1] * (L.UNITS + L.MAX_GROUPS))
            self.engine.put(self.sms, i, "last", [-1] * L.MAX_SCHEDULERS)

    def watch(self, check: bool, race: bool) -> None:
        """Switch poison and race detection on, with the memory they need."""
        mem, info = self.memories, self.kernel.info
        self.put("check", int(check))
        self.put("race", int(race))
        self.put("local_stack", info.local_stack)
        if check:
            mem.shadow = np.zeros(mem.shared.shape, np.int64)
            mem.shadow_local = np.zeros(mem.local.shape[:2], np.int64)
        if race:
            table = mem.program
            narrow = (table[:, L.C_SPACE] == L.SPACE_SHARED) | (table[:, L.C_SPACE] == L.SPACE_GENERIC)
            narrow &= (table[:, L.C_GROUP] == L.G_MEM) & (table[:, L.C_SIZE] < 4)
            shift = 0 if narrow.any() else 2
            self.put("race_shift", shift)
            mem.races = np.zeros((mem.shared.shape[0], mem.shared.shape[1] * 4 >> shift, 40), np.int64)

    def step(self, steps: int, limit: int) -> int:
        """Run at most `steps` cycles with events; status as `device_loop.run_quantum` says."""
        return self.engine.run_quantum(self.g, self.sms, *self.memories.arguments(), steps, limit)

    def drive(self, max_cycles: int | None, progress: Watcher | None = None) -> None:
        """Run to the end of the grid, or raise. Times stay exact up to `CLOCK_END`: no run goes on beyond it."""
        limit = L.CLOCK_END if max_cycles is None else min(max_cycles, L.CLOCK_END)
        blocks = math.prod(self.launch.grid)
        status, checked, quanta = 0, SPIN_CYCLES, 0
        while status == 0:
            status = self.step(QUANTUM[self.engine.name], limit)
            quanta += 1
            if progress is not None and quanta % REPORT_QUANTA == 0:
                progress(self.engine.get(self.g, 0, "cycle"), self.engine.get(self.g, 0, "retired"), blocks)
            if status == 0 and self.engine.get(self.g, 0, "cycle") > checked:
                status = find_spin(self, limit)
                checked = 4 * self.engine.get(self.g, 0, "cycle")
        if status == 2:
            fault = kernel_fault(Context(self.engine, self.g, self.sms, self.program))
            raise fault.at(self.module.path) if self.module.path else fault
        if status == 3:
            raise LimitHit(
                "the kernel did not end within the cycle limit",
                file=self.module.path or None,
                found=f"{self.engine.get(self.g, 0, 'retired')} of {blocks} blocks ended",
                expected=f"all within {limit:,} cycles",
                remedy=Hint("Raise the limit ({max_cycles} N, or {max_cycles} {None}), or look for an endless loop."),
            )

    def result(self, resident: int) -> Result:
        """Collect what the launch did."""
        raw = self.memories.global_.view(np.uint8)
        out = {}
        for name, data in self.host.items():
            if name not in self.addresses:  # in constant memory, which no kernel changes
                out[name] = data.copy()
                continue
            at = self.addresses[name] - self.base
            out[name] = raw[at : at + data.nbytes].copy().view(data.dtype).reshape(data.shape)
        variables = {}
        for v in self.module.globals:
            at = v.address - self.base
            kind = "<u4" if v.size % 4 == 0 and v.align % 4 == 0 else "<u1"
            variables[v.name] = raw[at : at + v.size].copy().view(kind)
        stats = collect(self.engine, self.g, self.sms, self.machine)
        counts = {
            fn.name: self.memories.counts[fn.address : fn.address + len(fn.instrs)].copy()
            for fn in self.module.functions
        }
        return Result(
            stats["cycles"], out, stats, resident, stats["achieved_occupancy"], counts, self.sms_count,
            self.sms_count == 1 and self.machine.chip.sms > 1, self.machine.name, self.engine.name, variables,
        )  # fmt: skip


@dataclass
class Symbols:
    """Variables of the binary that the launch fills. names: of its symbol arguments. addresses: of those in global
    memory. constants: the binary's constant banks with the others' contents in place."""

    names: set[str]
    addresses: dict[str, int]
    constants: dict[int, bytes]

    @staticmethod
    def of(launch: Launch, module: Module, contents: Mapping[str, Array]) -> Symbols:
        """Raises UsageError for a variable that the binary has not or that is smaller than its contents."""
        found = Symbols(set(), {}, dict(module.constants))
        in_global = {v.name: v for v in module.globals}
        in_bank = {c.name: c for c in module.constant_vars}
        for a in launch.arguments:
            if a.kind != "symbol":
                continue
            variable = in_global.get(a.name) or in_bank.get(a.name)
            if variable is None or a.bytes > variable.size:
                raise UsageError(
                    "the binary has no such variable" if variable is None else "the variable is smaller",
                    file=launch.path or None,
                    place=f"argument {a.name}",
                    found=f"{a.name}, {a.bytes} bytes",
                    expected=(", ".join([*in_global, *in_bank]) or "a binary with variables")
                    if variable is None
                    else f"at most {variable.size} bytes",
                )
            found.names.add(a.name)
            if a.name in in_global:
                found.addresses[a.name] = in_global[a.name].address
            else:
                at = in_bank[a.name]
                bank = found.constants[at.bank]
                data = contents[a.name].tobytes()
                found.constants[at.bank] = bank[: at.offset] + data + bank[at.offset + len(data) :]
        return found


def place_textures(images: Mapping[str, Array], at: int) -> tuple[dict[str, int], int]:
    """Offsets of the textures behind offset `at`, which is aligned, and the end of the last."""
    places = {}
    for name, data in images.items():
        places[name] = at
        at += -(-data.nbytes // BUFFER_ALIGN) * BUFFER_ALIGN
    return places, at


def texture_row(a: Argument, start: int) -> list[int]:
    """One row of the table of textures, see the columns in `layout`."""
    t = a.texture
    assert t is not None
    depth, height, width = (1, 1, *t.sides)[-3:]
    modes = [L.ADDRESS_MODES.index(m) for m in (*t.address, "clamp", "clamp")[:3]]
    kind, size = a.numpy_dtype.kind, a.numpy_dtype.itemsize
    as_float = kind == "f" or t.read != "element"
    return [
        start, len(t.sides), width, height, depth, t.channels, size, L.TEXEL_KINDS.index(kind), int(as_float),
        int(t.filter == "linear"), int(t.normalized), *modes,
    ]  # fmt: skip


def place_buffers(buffers: Mapping[str, Array]) -> tuple[dict[str, int], int]:
    """Addresses of the buffers, in their order, aligned and with unmapped gaps between them; bytes of the whole
    span."""
    addresses = {}
    at = L.GLOBAL_BASE
    for name, data in buffers.items():
        addresses[name] = at
        at += -(-(data.nbytes + BUFFER_GAP) // BUFFER_ALIGN) * BUFFER_ALIGN
    return addresses, at - L.GLOBAL_BASE + 16


def _require_local(total: int, each: int) -> None:
    """LimitHit where the resident threads' local memory is more than the emulator will hold."""
    if total > LOCAL_LIMIT:
        raise LimitHit(
            "the local memory of the resident threads is too large to emulate",
            found=f"{each:,} bytes per thread, {total:,} together",
            expected=f"at most {LOCAL_LIMIT:,} together",
            remedy="Use less local memory per thread, or smaller blocks.",
        )
