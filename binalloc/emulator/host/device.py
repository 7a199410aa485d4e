"""A launch on a device is set up, stepped and read back here: its records and memories."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from binalloc.emulator.arithmetic.integer import table_masks
from binalloc.emulator.checks.history import HISTORY_COLUMNS, RaceModel
from binalloc.emulator.checks.lane_races import CLOCK_ROWS
from binalloc.emulator.host.engines.engine import Engine, Value
from binalloc.emulator.host.figures.series import CounterSeries
from binalloc.emulator.host.interrupts import whole_cycles
from binalloc.emulator.host.kept import KeptDevice
from binalloc.emulator.host.memory.cpu import cpu_fields
from binalloc.emulator.host.memory.global_memory import GlobalMemory
from binalloc.emulator.host.memory.memory_figures import channels_for, memory_figures, most_requests, tagged_figures
from binalloc.emulator.host.memory.owners import held_objects
from binalloc.emulator.host.memory.pages import page_fields
from binalloc.emulator.host.resources import PublicPart, Resources
from binalloc.emulator.host.staging import Constants, StagedProgram
from binalloc.emulator.host.status import AT_LIMIT, ENDED, GOES_ON, LOG_FULL
from binalloc.emulator.host.touched import with_touched
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array, Memories
from binalloc.emulator.state.memory_layout import (
    IDLE,
    MAX_BANKS_OF_DRAM,
    MAX_CHANNELS,
    MAX_L1_LINES,
    MAX_L2_LINES,
    MAX_MSHRS,
    MAX_REQUESTS,
    MAX_SLICES,
    MAX_SMS,
    MAX_TAGGED_LINES,
    NEVER,
)
from binalloc.emulator.state.parts.regions import REGIONS, RESERVED
from binalloc.emulator.state.profile_columns import PROFILED_COLUMNS
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.texture_layout import MAX_TEXTURES, TEXTURE_COLUMNS
from binalloc.errors import Hint, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import DEEP_STACK_ENTRIES, STACK_ENTRIES
from binalloc.isa.source_facts import PTX
from binalloc.launch.types import Launch
from binalloc.models.dram.traffic import CpuTraffic
from binalloc.models.machines.model import Machine
from binalloc.models.sharing.pairs import Pairing
from binalloc.rows import Chosen

LOCAL_LIMIT = 512 << 20
"""Bytes of local memory of all resident threads together that the emulator holds. More is an error that names the
cause, before the host runs out of memory; chosen by hand."""
_LUT_MASKS = np.array([table_masks(lut) for lut in range(1 << L.LUT_BITS)])
"""For each lut of LOP3 its bits as masks: device code looks them up instead of branching on bits."""


def _freed(mask: int) -> int:
    """Return the pairs of read and write scoreboard that waiting for the scoreboards in `mask` frees, a bit for
    each."""
    numbers = range(L.BOARD_NUMBERS)
    return sum(1 << (i * L.BOARD_NUMBERS + j) for i in numbers for j in numbers if (mask >> i | mask >> j) & 1)


_CLEAR_READ = [_freed(mask) for mask in range(L.BOARD_SETS)]  # for each set of scoreboards what `_freed` returns


_UNIT_FIGURES = ("interval", "latency")  # figures of each unit that the device record has under `unit_` and this name


class Sampler(Protocol):
    """A sampler looks at a device now and then."""

    due: int  #: cycle in front of which the next sample is taken

    def take(self) -> None:
        """Look at the device, all of whose cycles before `due` are over, and set `due` to a later cycle."""

    def end(self) -> None:
        """Finish the samples: the launch has ended."""


class LaunchedDevice:
    """A LaunchedDevice is the emulated device during one launch: staged program, records, memories.

    The public `binalloc.Device` (device/device.py) lives on from launch to launch. For each launch its session makes
    one LaunchedDevice, which takes over the memory and, as `kept`, L2.
    """

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
        memory: GlobalMemory,
        kept: KeptDevice | None = None,
        pairing: Pairing | None = None,
    ) -> None:
        self.engine, self.launch, self.machine, self.module = engine, launch, machine, module
        self.kernel = kernel
        self.drain: Callable[[], None] | None = None
        self.samplers: list[Sampler] = []
        self.policies: dict[str, str] = {}
        self.traffic: CpuTraffic | None = None
        self.need, self.sms_count, self.memory = need, sms, memory
        if not 1 <= sms <= machine.chip.sms:
            raise UsageError(
                "number of SMs out of range", place=Hint("{sms}"), found=sms, expected=f"1 to {machine.chip.sms}"
            )
        self.series: CounterSeries | None = None
        self.g = engine.records(Gpu, 1) if kept is None else kept.record(engine)
        self.sms = engine.records(Sm, sms)
        self.host, self.base = memory.host, memory.base
        if kept is None:
            banks = memory.symbols.banks(kernel, launch, memory.addresses, memory.handles)
            constants = Constants.build(banks)
            self.program = StagedProgram(module, machine, constants)
        else:
            constants = Constants.build(memory.symbols.with_parameters(kept.parameters))
            self.program = kept.staged(module, machine, constants)
        self.memories = Memories(self.program.table)
        self.memories.const = constants.words
        self.memories.global_ = memory.words
        self._put_memory(memory)
        self._put_launch(kernel, resident)
        self._put_machine(kept)
        for name in ("start", "size"):
            self.put(f"const_{name}", getattr(constants, name))
        self._allocate(resident, pairing)
        if kept is not None:
            kept.hand_over(engine, self.g)

    def _put_memory(self, memory: GlobalMemory) -> None:
        """Set where global memory begins, where the heap is in it, what may be accessed, and the table of textures."""
        memory.begin(self.launch)
        self.put("global_base", memory.base)
        if memory.runtime is not None:
            for field, value in zip(("heap_start", "heap_map"), memory.runtime.heap(), strict=True):
                self.put(field, value)
        self.bound([(start, end) for _, start, end in memory.places()])
        self.objects = held_objects(memory)
        held = [each for each in self.objects if each.first < each.end]
        self.put("held_objects", len(held))
        self.put("held_from", [each.first for each in held])
        self.put("held_to", [each.end for each in held])
        table = np.zeros((MAX_TEXTURES, TEXTURE_COLUMNS), np.int64)
        table[: len(memory.rows)] = np.array(memory.rows, np.int64).reshape(-1, TEXTURE_COLUMNS)
        self.put("textures", len(memory.rows))
        self.put("texture", table)

    def put(self, name: str, value: Value) -> None:
        """Set a field of the device record."""
        self.engine.put(self.g, 0, name, value)

    def places(self) -> list[tuple[str, int, int]]:
        """See `GlobalMemory.places`."""
        return self.memory.places()

    def bound(self, spans: list[tuple[int, int]]) -> None:
        """Let accesses to global memory be valid only within one of `spans`."""
        spans = sorted(spans)
        if len(spans) > L.MAX_BUFFERS:
            raise UsageError("too many buffers and variables", found=len(spans), expected=f"at most {L.MAX_BUFFERS}")
        self.put("buffers", len(spans))
        self.put("buffer_start", [a for a, _ in spans])
        self.put("buffer_end", [b for _, b in spans])

    def page(self, pages: Chosen, far: bool) -> None:
        """Switch on the pages that a user has chosen. far: whether CPU programs have theirs in the far memory. Raises
        UsageError for those that the machine cannot have."""
        spans = sorted((start, end) for _, start, end in self.memory.places())
        for name, value in page_fields(self.machine, self.sms_count, spans, pages, far).items():
            self.put(name, value)

    def share(self, traffic: CpuTraffic, rows: str, first: bool) -> None:
        """Let CPU programs share the memory. Arguments and errors are those of `cpu_fields`."""
        self.traffic = traffic
        for name, value in cpu_fields(traffic, self.machine, self.sms_count, rows, first).items():
            self.put(name, value)  # type: ignore[arg-type]

    def _put_launch(self, kernel: Function, resident: int) -> None:
        """Set the fields that follow from kernel and launch."""
        need, info = self.need, kernel.info
        values = {
            "threads": need.use.threads, "warps_per_block": need.use.warps, "blocks": math.prod(self.launch.grid),
            "entry": kernel.address, "code_words": len(self.program.table) - 1, "registers": need.use.registers,
            "dynamic_shared": self.launch.dynamic_shared, "user_shared": need.use.shared_bytes,
            "slot_base": need.use.slot_region,
            "slot_bytes": info.slot_bytes, "shared_total": need.use.block_shared, "local_user": need.local_user,
            "local_total": need.local_total, "resident_limit": resident, "warp_limit": resident * need.use.warps,
            "batch_stride": 1,
            "stack_entries": DEEP_STACK_ENTRIES if self.module.comes_back(kernel) else STACK_ENTRIES,
        }  # fmt: skip
        if need.public is not None:
            values |= {"smm": need.public.managed, "static_base": need.public.base}
        for name, value in values.items():
            self.put(name, int(value))
        for axis, n, m in zip("xyz", self.launch.block, self.launch.grid, strict=True):
            self.put(f"ntid_{axis}", n)
            self.put(f"nctaid_{axis}", m)

    def _put_machine(self, kept: KeptDevice | None) -> None:
        """Set the fields that follow from machine and module alone. A device that is kept has them from its first
        launch."""
        shape = self.need.use.warps, self.get("resident_limit")
        if kept is None or shape not in kept.shapes:
            self._check_shapes()
        if kept is not None:
            kept.shapes.add(shape)
        fields = kept.fields if kept is not None else {}
        if not fields:
            fields |= self._machine_fields()
        for name, value in fields.items():
            self.put(name, value)

    def _machine_fields(self) -> dict[str, Value]:
        """Return the fields of the device record that follow from machine and module, by name."""
        m = self.machine
        values: dict[str, int | list[int]] = {
            "lanes": L.LANES, "sms": self.sms_count, "nsm_reported": self.sms_count,
            "core_khz": round(1000 * m.clock.core_mhz), "schedulers": m.schedulers.count,
            "issue_width": m.schedulers.issue_width, "shared_latency": m.shared.latency,
            "shared_atomic_latency": m.shared.atomic_latency, "shared_banks": m.shared.banks,
            "shared_bank_shift": (m.shared.mode_bytes // L.WORD).bit_length() - 1,
            "shared_row_shift": (m.shared.banks * m.shared.bank_bytes // L.WORD).bit_length() - 1,
            "l1_latency": m.l1.latency, "l1_sets": m.l1.sets, "l1_ways": m.l1.ways, "l1_local": m.l1.caches_local,
            "l1_global": m.l1.caches_global,
            "launch_interval": m.dispatch.interval, "const_latency": m.constant.latency, "dram_due": NEVER,
            **memory_figures(m, self.sms_count), **self._register_file(),
        }  # fmt: skip
        groups = {group.name: i for i, group in enumerate(m.port_groups, L.UNITS)}
        owners = [m.owners(u) for u in L.UNIT_NAMES]
        members = [[i for i, u in enumerate(L.UNIT_NAMES) if m.units[u].port_group == name] for name in groups]
        shares = [m.units[u].ports // n for u, n in zip(L.UNIT_NAMES, owners, strict=True)]
        warps = range(min(m.schedulers.count * L.MAX_WARPS_OF_SCHEDULER, L.MAX_WARPS))
        near = channels_for(m, self.sms_count)
        refreshes = [m.dram.refi] * near + [m.far.dram.refi if m.far else 0] * (MAX_CHANNELS - near)
        return {
            **{name: value if isinstance(value, list) else int(value) for name, value in values.items()},
            **tagged_figures(m, self.get("code_words")),
            "channel_due": [NEVER] * MAX_CHANNELS,
            "channel_refresh": refreshes,
            "bank_ready": [IDLE] * (MAX_CHANNELS * MAX_BANKS_OF_DRAM),
            **{f"unit_{name}": [getattr(m.units[u], name) for u in L.UNIT_NAMES] for name in _UNIT_FIGURES},
            "unit_group": [groups[m.units[u].port_group] for u in L.UNIT_NAMES],
            "unit_own": [int(n > 1) for n in owners],
            "set_ports": [*shares, *(g.ports // (m.schedulers.count if g.divided else 1) for g in m.port_groups)],
            "set_units": [*(1 << i for i in range(L.UNITS)), *(sum(1 << i for i in units) for units in members)],
            "scheduler_of": [w % m.schedulers.count for w in warps],
            "bit_of": [1 << w // m.schedulers.count for w in warps],
            "lut_masks": _LUT_MASKS,
            "clear_read": _CLEAR_READ,
        }

    def _register_file(self) -> dict[str, int]:
        """Return the figures of the register file. The operand cache is on only if the code keeps something in it."""
        file = self.machine.register_file
        if file is None:
            return {}
        table = self.program.table
        keeps = file.operand_cache and bool((table[:, L.Column.REUSE] * table[:, L.Column.READS]).any())
        return {
            "register_banks": file.banks, "bank_reads": file.reads, "read_window": file.window, "operand_cache": keeps,
        }  # fmt: skip

    def _check_shapes(self) -> None:
        """Raise Refused for a machine larger than the record's arrays, which would run wrongly."""
        m = self.machine
        warps = self.need.use.warps * self.engine.get(self.g, 0, "resident_limit")
        channels = m.dram.channels + (m.far_dram.channels if m.far_dram is not None else 0)
        slices = m.l2.slices // m.dram.channels * channels
        small = (("instruction cache", m.instruction_cache), ("constant cache", m.constant_cache))
        bounds = (
            ("threads per block", self.need.use.threads, L.LANES * L.MAX_BLOCK_WARPS),
            ("warps per SM", warps, L.MAX_WARPS),
            ("warps per scheduler", -(-warps // m.schedulers.count), L.MAX_WARPS_OF_SCHEDULER),
            ("L1 lines", m.l1.sets * m.l1.ways, MAX_L1_LINES),
            ("port groups", len(m.port_groups), L.MAX_GROUPS),
            ("shared banks", m.shared.banks, L.MAX_BANKS),
            ("MSHRs", m.l1.mshrs, MAX_MSHRS),
            *((f"{name} lines", cache.sets * cache.ways, MAX_TAGGED_LINES) for name, cache in small if cache),
            ("SMs", self.sms_count, MAX_SMS),
            ("channels of DRAM", channels, MAX_CHANNELS),
            ("L2 slices", slices, MAX_SLICES),
            ("L2 lines", slices * m.l2.sets * m.l2.ways, MAX_L2_LINES),
            ("requests to memory", most_requests(m, self.sms_count), MAX_REQUESTS),
        )
        for what, found, most in bounds:
            if found > most:
                raise Refused(
                    f"{m.name} is larger than the emulator", place=what, found=found, expected=f"at most {most}"
                )

    def _allocate(self, resident: int, pairing: Pairing | None) -> None:
        """Allocate registers, hazard table, shared and local memory for all resident blocks."""
        need, mem = self.need, self.memories
        warps = resident * need.use.warps * self.sms_count
        values = self.program.values.array()
        mem.make_rows(values, warps)
        mem.hazard = np.zeros((warps, L.ROWS, L.HAZARD_COLUMNS), np.int64)
        words = -(-max(need.use.block_shared, self.machine.occupancy(need.use).shared_per_block) // L.WORD)
        self.put("block_words", words)
        all_words = max(self._pair(words, pairing, resident), self.machine.sm.shared_per_sm // L.WORD)
        if need.public is not None and need.public.managed:
            all_words = max(all_words, self._reserve(need.public, words * resident, resident))
        self.put("shared_words", all_words)
        mem.shared = np.zeros((self.sms_count, all_words + 1), np.uint32)
        _require_local(warps * L.LANES * need.local_total, need.local_total)
        mem.local = np.zeros((warps, max(need.local_total // 4, 1), L.LANES), np.uint32)
        for i in range(self.sms_count):
            self.engine.put(self.sms, i, "id", i)
            first_warp = i * resident * need.use.warps
            self.engine.put(self.sms, i, "warp_base", first_warp)
            self.engine.put(self.sms, i, "row_base", len(values) + first_warp * L.REGISTER_ROWS)
            self.engine.put(self.sms, i, "last_time", -1)
            for name in ("last", "entered"):
                self.engine.put(self.sms, i, name, [-1] * L.MAX_SCHEDULERS)

    def _pair(self, words: int, pairing: Pairing | None, resident: int) -> int:
        """Set which block slots share memory, and return the words that all take together. Of fewer resident blocks
        than the pairing has, fewer are pairs. words: of a block."""
        pairs = max(0, resident - pairing.blocks + pairing.pairs) if pairing is not None else 0
        values = dict.fromkeys(("pairs", "lone_blocks", "private_bytes", "private_rows", "partner_words"), 0)
        if pairing is not None and pairs:
            use = self.need.use
            rows = use.slots if pairing.slots is None else pairing.slots
            values = {
                "pairs": pairs, "lone_blocks": pairing.blocks - pairing.pairs,
                "private_bytes": pairing.private - rows * use.slot_row, "private_rows": rows,
                "partner_words": pairing.private // L.WORD,
            }  # fmt: skip
        for name, value in values.items():
            self.put(name, value)
        return words * (resident - pairs) + values["partner_words"] * pairs

    def _reserve(self, public: PublicPart, private: int, resident: int) -> int:
        """Keep the first `private` words of each SM's shared memory free of regions that blocks open as they run.
        Return the words that the SM must have for these and for the regions of a what-if run."""
        unit = public.unit(self.machine) // L.WORD
        first = -(-private * L.WORD // L.SLOT_ROW) * L.SLOT_ROW // L.WORD
        for name, value in (("public_bytes", public.size), ("public_unit", unit), ("public_first", first)):
            self.put(name, value)
        for i in range(self.sms_count):
            for name, value in (("owner", RESERVED), ("end", first)):
                self.engine.put(self.sms, i, f"region_{name}", [value] + [0] * (REGIONS - 1))
            self.engine.put(self.sms, i, "regions", 1)
        each = -(-public.size // (unit * L.WORD)) * unit
        return first + each * (resident if public.free else 0)

    def watch(self, check: bool, race: bool, model: str) -> None:
        """Turn poison and race detection on, with the memory they need. model: the memory model for races, by name."""
        mem, info = self.memories, self.kernel.info
        self.put("check", int(check))
        self.put("race", (RaceModel.PTX if model == PTX else RaceModel.LOOM) if race else RaceModel.OFF)
        self.put("local_stack", info.local_stack)
        if check:
            mem.shadow = np.zeros(mem.shared.shape, np.int64)
            mem.shadow_local = np.zeros(mem.local.shape[:2], np.int64)
            mem.program = with_touched(mem.program, self.module, self.kernel)
            mem.counts = np.zeros(len(mem.program), np.int64)
        if race:
            table = mem.program
            narrow = (table[:, L.Column.SPACE] == L.SpaceCode.SHARED) | (
                table[:, L.Column.SPACE] == L.SpaceCode.GENERIC
            )
            narrow &= (table[:, L.Column.GROUP] == L.ExecGroup.MEM) & (table[:, L.Column.SIZE] < 4)
            shift = 0 if narrow.any() else 2
            self.put("race_shift", shift)
            places = (mem.shared.shape[1] * 4 >> shift) + CLOCK_ROWS
            mem.races = np.zeros((mem.shared.shape[0], places, HISTORY_COLUMNS), np.int64)

    def profile(self) -> None:
        """Count events of single instructions, too, in further columns of the program."""
        table = self.memories.program
        more = np.zeros((len(table), PROFILED_COLUMNS - table.shape[1]), np.int64)
        self.memories.program = np.hstack((table, more))
        self.put("profile", 1)

    def step(self, steps: int, limit: int) -> int:
        """Run about `steps` cycles with events, or exactly one if `steps` is one.

        Returns the status of `device_loop.run_quantum`, but GOES_ON where a log was full: it has been drained. Raises
        LimitHit where a listener of the log does.
        """
        arguments = self.memories.arguments()
        while True:
            stop = min([limit, *(each.due for each in self.samplers)])
            with whole_cycles():
                status = self.engine.run_quantum(self.g, self.sms, arguments, steps, stop)
                if self.drain is not None:
                    self.drain()
            for each in self.samplers:
                while status == AT_LIMIT and each.due <= min(self.get("cycle"), limit):
                    each.take()
                if status == ENDED:
                    each.end()
            if status != AT_LIMIT or self.get("cycle") >= limit:
                return GOES_ON if status == LOG_FULL else status

    def sample(self, every: int) -> CounterSeries:
        """Have counters sampled every `every` cycles, from the first one on."""
        self.series = CounterSeries(every, self.engine, self.g, self.sms, self.memories, self.machine)
        self.samplers.append(self.series)
        return self.series

    def get(self, name: str) -> int:
        """Return an integer field of the device record."""
        return int(self.engine.get(self.g, 0, name))

    def contents(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return what the launch left in its buffers and in the module's global variables."""
        return self.memory.contents()


def _require_local(total: int, each: int) -> None:
    """Raise LimitHit where the resident threads' local memory exceeds the emulator's limit."""
    if total > LOCAL_LIMIT:
        raise LimitHit(
            "the local memory of the resident threads is too large to emulate",
            found=f"{each:,} bytes per thread, {total:,} together",
            expected=f"at most {LOCAL_LIMIT:,} together",
            remedy="Use less local memory per thread, or smaller blocks.",
        )
