"""Machine models: every figure the emulator, the scheduler and the occupancy rules need, typed and immutable.

Needs a TOML file as `binalloc.models.machines.reader` reads and checks it. Leaves a frozen `Machine` whose sections
are plain numbers, with unit and source of each figure kept beside them for display. All latencies and intervals are
in cycles of the clock at which the schedulers issue (`clock.core_mhz`), sizes in bytes, ports in warp instructions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from binalloc.errors import UsageError
from binalloc.isa.interface.places import LANES, MOST_REGISTERS
from binalloc.isa.timing import UNIT_CLASSES, UnitLatencies
from binalloc.models.machines.kernel_use import CacheConfig, KernelUse
from binalloc.models.machines.limits import LIMITS, Limits
from binalloc.models.machines.occupancy import Occupancy, Rule, gpgpusim_occupancy, nvidia_occupancy

CYCLES_MAX = 100_000
MOST_PORT_GROUPS = 16


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure as the file gives it; `alternatives` are what other sources say, the value is the one used."""

    value: int | float | bool | str
    unit: str
    source: str
    alternatives: tuple[tuple[int | float | bool | str, str], ...] = ()


def _figure(unit: str, low: float = 1, high: float = 1 << 20) -> Any:
    """A field that the file states as a figure in `unit`, between `low` and `high` where it is a number."""
    return field(metadata={"unit": unit, "low": low, "high": high})


def _figure_or_none(unit: str, high: float) -> Any:
    """A field that the file may state as a figure in `unit`, from 1 to `high`; 0 where it does not."""
    return field(default=0, metadata={"unit": unit, "low": 1, "high": high})


def _name(*choices: str) -> Any:
    """A field that the file states as a plain text, one of `choices` where there are any."""
    return field(metadata={"choices": choices})


def _cycles(low: int = 1) -> Any:
    return _figure("cycles", low, CYCLES_MAX)


@dataclass(frozen=True, slots=True)
class Chip:
    """The device as a whole. `cores_per_sm` is what the unified paper's concurrency search multiplies by."""

    cc: str = _figure("compute capability")
    sms: int = _figure("SMs", 1, 192)
    warp_size: int = _figure("threads", LANES, LANES)
    cores_per_sm: int = _figure("lanes", 1, 4096)


@dataclass(frozen=True, slots=True)
class Clock:
    """`core_mhz` is the clock all cycles of the model count."""

    core_mhz: float = _figure("MHz", 1, 100_000)


@dataclass(frozen=True, slots=True)
class Schedulers:
    """`count` per SM; each issues up to `issue_width` instructions of one warp a cycle."""

    count: int = _figure("schedulers", 1, 16)
    issue_width: int = _figure("instructions/cycle", 1, 2)


@dataclass(frozen=True, slots=True)
class SmLimits:
    """What one SM holds at most."""

    threads_per_sm: int = _figure("threads", LANES, 8192)
    warps_per_sm: int = _figure("warps", 1, 128)
    blocks_per_sm: int = _figure("blocks", 1, 128)
    threads_per_block: int = _figure("threads", 1, 1024)
    registers_per_sm: int = _figure("registers", 1, 1 << 20)
    registers_per_block: int = _figure("registers", 1, 1 << 20)
    registers_per_thread: int = _figure("registers", 1, MOST_REGISTERS)
    shared_per_sm: int = _figure("bytes", 1, 1 << 24)
    shared_per_block: int = _figure("bytes", 1, 1 << 24)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """How blocks come to SMs; `interval` lies between two blocks that start on one SM."""

    interval: int = _cycles()


@dataclass(frozen=True, slots=True)
class OccupancyRule:
    """Whose rule counts resident blocks: NVIDIA's (rounding of the capability `chip.cc`) or GPGPU-Sim's."""

    rule: str = _name(*Rule)


@dataclass(frozen=True, slots=True)
class Unit:
    """One class of execution units of an SM.

    An instruction may start when fewer than `ports` instructions of its class and fewer than the group's ports of
    its whole `port_group` are within their first `interval` cycles; its result may be used `latency` cycles after
    its issue. Where the group is divided each scheduler has its share of both, and counts its own instructions. For
    `bru` and `bar`, `latency` is when the warp itself may issue again; for `lsu` it is SHFL's (memory has its own
    latencies).
    """

    ports: int = _figure("warp instructions", 1, 64)
    interval: int = _figure("cycles", 1, 1024)
    latency: int = _cycles()
    port_group: str = _name()


@dataclass(frozen=True, slots=True)
class Units:
    """Units by the instruction set's unit classes, in its order."""

    alu: Unit
    imad: Unit
    fma: Unit
    conv: Unit
    sfu: Unit
    dp: Unit
    lsu: Unit
    tex: Unit
    bru: Unit
    bar: Unit
    sys: Unit

    def __getitem__(self, name: str) -> Unit:
        """The unit of a class; KeyError for a name that is none."""
        if name not in UNIT_CLASSES:
            raise KeyError(name)
        unit: Unit = getattr(self, name)
        return unit

    def items(self) -> Iterator[tuple[str, Unit]]:
        """(class, unit) in the order of `UNIT_CLASSES`."""
        return ((name, self[name]) for name in UNIT_CLASSES)


assert tuple(f.name for f in fields(Units)) == UNIT_CLASSES


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """How instructions of fixed latency read registers; register r of a thread is in bank r mod `banks`.

    reads: registers of a warp that a bank of one scheduler gives out a cycle. window: cycles in which an instruction's
    registers must come; where they come later it waits, and its scheduler with it. operand_cache: operands with a reuse
    flag are kept for the same operand of the warp's next instructions.
    """

    banks: int = _figure("banks", 1, 8)
    reads: int = _figure("registers/cycle", 1, 8)
    window: int = _figure("cycles", 1, 16)
    operand_cache: bool = _figure("flag")


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Shared memory of one SM; `latency` is that of a conflict-free access, each further pass costs one cycle.

    bank_bytes: what a bank serves in a pass. mode_bytes: how many bytes that follow one another are in one bank, before
    the next bank's turn; 4 with banks of 8 bytes is Kepler's 4-byte mode.
    """

    banks: int = _figure("banks", 1, 32)
    bank_bytes: int = _figure("bytes", 4, 8)
    mode_bytes: int = _figure("bytes", 4, 8)
    latency: int = _cycles()
    atomic_latency: int = _cycles()


@dataclass(frozen=True, slots=True)
class Coalescing:
    """How the lanes of an access off-chip become requests for lines.

    lanes: so many are looked at together; others make requests of their own, be they for the same line. segments: a
    request is for the smallest aligned 32, 64 or 128 bytes that hold what is wanted of its line, else for the sectors.
    """

    lanes: int = _figure("threads", LANES // 2, LANES)
    segments: bool = _figure("flag")


@dataclass(frozen=True, slots=True)
class L1Cache:
    """Data cache of one SM; `latency` is that of a hit. A line holds one local word of each lane of a warp. It caches
    texture fetches always: where it has neither flag below, it is a machine's texture cache.

    mshrs: loads that may be under way to L2, cached or not; store_places: stores and write-backs. fills_lines: a miss
    fetches the whole line, else the sectors it needs. updates: a global store changes the line that L1 holds, else it
    drops it.
    """

    bytes: int = _figure("bytes", 1, 1 << 20)
    line_bytes: int = _figure("bytes", 128, 128)
    sets: int = _figure("sets", 1, 1 << 16)
    ways: int = _figure("ways", 1, 1 << 16)
    latency: int = _cycles()
    mshrs: int = _figure("requests", 1, 1024)
    store_places: int = _figure("requests", 1, 4096)
    caches_local: bool = _figure("flag")
    caches_global: bool = _figure("flag")
    fills_lines: bool = _figure("flag")
    updates: bool = _figure("flag")


@dataclass(frozen=True, slots=True)
class Interconnect:
    """Links between each SM and L2: bytes a core cycle of each, cycles one way, bytes of a packet beside its data."""

    request_bytes: int = _figure("bytes/cycle", 1, 1024)
    response_bytes: int = _figure("bytes/cycle", 1, 1024)
    latency: int = _cycles()
    header_bytes: int = _figure("bytes", 1, 64)


@dataclass(frozen=True, slots=True)
class L2Cache:
    """Second-level cache of the whole device, in slices; `latency` is an SM's from issue to use of an unloaded hit.

    mshrs: sectors' fetches that a slice may have under way, merges: requests that may wait for one line beside its
    first. atomic_cycles: cycles that a slice is taken by each of the lanes that meet at one address. caches_data: it
    holds all memory, else texture fetches alone, and all other requests go past it to DRAM.
    """

    bytes: int = _figure("bytes", 1, 1 << 27)
    slices: int = _figure("slices", 1, 256)
    line_bytes: int = _figure("bytes", 128, 128)
    sets: int = _figure("sets", 1, 1 << 16)
    ways: int = _figure("ways", 1, 64)
    port_bytes: int = _figure("bytes/cycle", 1, 1024)
    latency: int = _cycles()
    mshrs: int = _figure("requests", 1, 4096)
    merges: int = _figure("requests", 0, 4096)
    atomic_cycles: int = _cycles()
    caches_data: bool = _figure("flag")


@dataclass(frozen=True, slots=True)
class Dram:
    """Off-chip memory of the whole device. Timing parameters are in cycles of the command clock; `latency` is an SM's,
    in core cycles, from issue to use of an unloaded load whose bank is closed.

    bus_bytes: of one channel; data_rate: transfers on it per command cycle; burst: transfers of one read or write.
    refi: between refreshes, and rfc: for which one takes; where a file has neither nothing is refreshed.
    command_buses: of a channel; with two, as HBM has, reads and writes go by one, activations and precharges by the
    other, a command in each cycle by either.
    """

    channels: int = _figure("channels", 1, 128)
    banks: int = _figure("banks", 1, 32)
    groups: int = _figure("bank groups", 1, 32)
    bus_bytes: int = _figure("bytes", 1, 256)
    burst: int = _figure("transfers", 1, 64)
    data_rate: int = _figure("transfers/cycle", 1, 16)
    command_mhz: float = _figure("MHz", 1, 100_000)
    command_buses: int = _figure("buses", 1, 2)
    row_bytes: int = _figure("bytes", 256, 1 << 16)
    interleave: int = _figure("bytes", 128, 1 << 16)
    queue: int = _figure("requests", 2, 4096)
    latency: int = _cycles()
    rcd: int = _figure("command cycles", 1, 1000)
    rp: int = _figure("command cycles", 1, 1000)
    ras: int = _figure("command cycles", 1, 1000)
    rc: int = _figure("command cycles", 1, 1000)
    cl: int = _figure("command cycles", 1, 1000)
    wl: int = _figure("command cycles", 0, 1000)
    ccd: int = _figure("command cycles", 1, 1000)
    ccdl: int = _figure("command cycles", 1, 1000)
    rrd: int = _figure("command cycles", 1, 1000)
    wr: int = _figure("command cycles", 1, 1000)
    cdlr: int = _figure("command cycles", 1, 1000)
    rtp: int = _figure("command cycles", 1, 1000)
    faw: int = _figure("command cycles", 0, 1000)
    refi: int = _figure_or_none("command cycles", 1 << 15)
    rfc: int = _figure_or_none("command cycles", 1 << 15)

    @property
    def bandwidth(self) -> float:
        """Peak of all channels, in 10^9 bytes a second."""
        return self.channels * self.bus_bytes * self.data_rate * self.command_mhz / 1000

    @property
    def burst_bytes(self) -> int:
        """What one read or write moves."""
        return self.bus_bytes * self.burst

    @property
    def burst_cycles(self) -> int:
        """Command cycles that one read or write takes on the bus."""
        return -(-self.burst // self.data_rate)


@dataclass(frozen=True, slots=True)
class ConstantCache:
    """LDC that hits; an operand c[bank][offset] costs nothing beside its instruction."""

    latency: int = _cycles()


@dataclass(frozen=True, slots=True)
class SmallCache:
    """A cache of an SM's that is not taken to hold all that it is for; a miss goes to L2.

    enabled: it is looked at; else every look hits, as without its section. mshrs: lines that it may have asked for.
    """

    enabled: bool = _figure("flag")
    bytes: int = _figure("bytes", 32, 1 << 18)
    line_bytes: int = _figure("bytes", 32, 128)
    sets: int = _figure("sets", 1, 1 << 13)
    ways: int = _figure("ways", 1, 1 << 13)
    mshrs: int = _figure("requests", 1, 256)


@dataclass(frozen=True, slots=True)
class ConstantLines(SmallCache):
    """What the constant cache of an SM holds."""


@dataclass(frozen=True, slots=True)
class InstructionCache(SmallCache):
    """Instruction cache of an SM; a hit costs nothing. prefetch: lines behind a missing one that are asked for, too."""

    prefetch: int = _figure("lines", 0, 64)


@dataclass(frozen=True, slots=True)
class Search:
    """Constants of the unified paper's concurrency search (sections 4.2, 5)."""

    max_cmratio: int = _figure("compute instructions per off-chip instruction", 1, CYCLES_MAX)


@dataclass(frozen=True, slots=True)
class PortGroup:
    """Issue ports of an SM that several unit classes share. divided: each scheduler has its share of them, as its
    partition of the SM has units of its own; otherwise all of them serve all schedulers."""

    name: str
    ports: int
    divided: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """One device; see the sections, of which the last three may be missing: without `register_file` every register can
    be read at once, without the caches constants and code are always there. `figures` pairs each dotted key
    ("units.alu.latency") with what the file says."""

    name: str
    description: str
    chip: Chip
    clock: Clock
    schedulers: Schedulers
    sm: SmLimits
    occupancy_rule: OccupancyRule
    dispatch: Dispatch
    units: Units
    port_groups: tuple[PortGroup, ...]
    shared: SharedMemory
    coalescing: Coalescing
    l1: L1Cache
    interconnect: Interconnect
    l2: L2Cache
    dram: Dram
    constant: ConstantCache
    search: Search
    register_file: RegisterFile | None
    constant_cache: ConstantLines | None
    instruction_cache: InstructionCache | None
    figures: tuple[tuple[str, Figure], ...] = field(repr=False, compare=False)

    @property
    def cc(self) -> str:
        """Compute capability, as "3.0"."""
        return self.chip.cc

    def owners(self, unit: str) -> int:
        """Among how many schedulers the ports of a unit class are divided: all of the SM's, or 1 where they share."""
        divided = any(group.divided for group in self.port_groups if group.name == self.units[unit].port_group)
        return self.schedulers.count if divided else 1

    @property
    def limits(self) -> Limits:
        """The file's limits with the allocation units of its capability."""
        sm = self.sm
        return replace(
            LIMITS[self.chip.cc],
            threads_per_sm=sm.threads_per_sm,
            warps_per_sm=sm.warps_per_sm,
            blocks_per_sm=sm.blocks_per_sm,
            threads_per_block=sm.threads_per_block,
            registers_per_sm=sm.registers_per_sm,
            registers_per_block=sm.registers_per_block,
            registers_per_thread=sm.registers_per_thread,
            shared_per_sm=sm.shared_per_sm,
            shared_per_block_default=min(sm.shared_per_block, LIMITS[self.chip.cc].shared_per_block_default),
            shared_per_block=sm.shared_per_block,
            barriers_per_sm=sm.blocks_per_sm if LIMITS[self.chip.cc].barriers_per_sm else None,
        )

    @property
    def bytes_per_cycle_per_sm(self) -> float:
        """One SM's share of the off-chip bandwidth, in bytes a core cycle."""
        return self.dram.bandwidth * 1000 / self.clock.core_mhz / self.chip.sms

    @property
    def unit_latencies(self) -> UnitLatencies:
        """What control codes are written for."""
        return UnitLatencies(self.name, {name: unit.latency for name, unit in self.units.items()})

    @property
    def issue_slots_per_cycle(self) -> int:
        """Instructions an SM can issue in one cycle."""
        return self.schedulers.count * self.schedulers.issue_width

    @property
    def digest(self) -> str:
        """Sixteen hex digits of every figure's value, sources left out: equal digests mean equal behaviour."""
        values = {key: figure.value for key, figure in self.figures}
        values |= {f"{name}.port_group": unit.port_group for name, unit in self.units.items()}
        values["rule"] = self.occupancy_rule.rule
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def occupancy(self, use: KernelUse) -> Occupancy:
        """Resident blocks per SM of a kernel by this machine's rule; errors as those of `occupancy`.

        GPGPU-Sim's rule knows no cache preference: UsageError for one.
        """
        if self.occupancy_rule.rule == Rule.NVIDIA:
            return nvidia_occupancy(self.limits, use)
        if use.cache_config != CacheConfig.NONE or use.carveout is not None:
            raise UsageError(
                f"machine {self.name} has a fixed split of shared memory and L1",
                place="cache_config" if use.carveout is None else "carveout",
                found=use.cache_config if use.carveout is None else use.carveout,
                expected="none",
                remedy="Leave the preference out.",
            )
        return gpgpusim_occupancy(self.limits, use)


def machine_to_dict(machine: Machine) -> dict[str, object]:
    """`machine` as plain JSON values: every figure with value, unit and source, then what follows from them."""
    sections: dict[str, dict[str, object]] = {}
    for key, figure in machine.figures:
        section, _, name = key.rpartition(".")
        entry: dict[str, object] = {"value": figure.value, "unit": figure.unit, "source": figure.source}
        if figure.alternatives:
            entry["alternatives"] = [{"value": value, "source": source} for value, source in figure.alternatives]
        sections.setdefault(section, {})[name] = entry
    for name, unit in machine.units.items():
        sections[f"units.{name}"]["port_group"] = unit.port_group
    return {
        "name": machine.name,
        "description": machine.description,
        "cc": machine.cc,
        "occupancy_rule": machine.occupancy_rule.rule,
        "digest": machine.digest,
        "figures": sections,
        "derived": {
            "bytes_per_cycle_per_sm": {"value": machine.bytes_per_cycle_per_sm, "unit": "bytes/cycle"},
            "issue_slots_per_cycle": {"value": machine.issue_slots_per_cycle, "unit": "instructions/cycle"},
        },
    }
