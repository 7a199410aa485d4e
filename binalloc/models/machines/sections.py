"""This module defines the sections of machine files: every figure that the emulator, the scheduler and the occupancy
rules need, typed and immutable.

Needs a TOML file as `binalloc.models.machines.reader` reads and checks it. All latencies and intervals are in cycles of
the clock at which the schedulers issue (`clock.core_mhz`), sizes in bytes, ports in warp instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from binalloc.isa.interface.places import LANES, MOST_REGISTERS
from binalloc.isa.timing import UNIT_CLASSES
from binalloc.models.machines.occupancy import Rule

# upper limit on latencies and intervals: beyond it a warp that still waits is taken to spin (`stops/spin.py`)
CYCLES_MAX = 100_000
MOST_PORT_GROUPS = 16  # chosen by hand: a file has as many groups as kinds of units, which are eleven


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a machine file is a value with its unit and source."""

    value: int | float | bool | str  #: the value that is used
    unit: str  #: unit of the value
    source: str  #: document and place, or "assumed: why"
    #: (value, source) pairs: what other sources say
    alternatives: tuple[tuple[int | float | bool | str, str], ...] = ()


def _figure(unit: str, low: float = 1, high: float = 1 << 20) -> Any:
    """Declare a field that the file states as a figure in `unit`, between `low` and `high` where it is a number."""
    return field(metadata={"unit": unit, "low": low, "high": high})


def _figure_or_none(unit: str, high: float, otherwise: int = 0) -> Any:
    """Declare a field that the file may state as a figure in `unit`, from 1 to `high`; it is `otherwise` where the file
    does not."""
    return field(default=otherwise, metadata={"unit": unit, "low": 1, "high": high})


def _current(low: float = 0) -> Any:
    """Declare a field that the file states in milliamperes."""
    return _figure("mA", low, 10_000)


def _current_or_none() -> Any:
    """Declare a field that the file may state in milliamperes; it is 0 where the file does not."""
    return field(default=0.0, metadata={"unit": "mA", "low": 0, "high": 10_000})


def _order_or_none() -> Any:
    """Declare a field that the file may state as an order of address parts; it is empty where the file does not."""
    return field(default="", metadata={"unit": "order of address parts", "low": 1, "high": 1})


def _name(*choices: str) -> Any:
    """Declare a field that the file states as a plain text, one of `choices` where there are any."""
    return field(metadata={"choices": choices})


def _cycles(low: int = 1) -> Any:
    """Declare a field that the file states in cycles."""
    return _figure("cycles", low, CYCLES_MAX)


@dataclass(frozen=True, slots=True)
class Chip:
    """Section `chip` of a machine file describes the device as a whole."""

    cc: str = _figure("compute capability")
    sms: int = _figure("SMs", 1, 192)
    warp_size: int = _figure("threads", LANES, LANES)
    cores_per_sm: int = _figure("lanes", 1, 4096)  #: a factor in the unified paper's concurrency search
    #: SMs that share a port of the interconnect, a link in either direction; without it each has one of its own
    sms_per_port: int = _figure_or_none("SMs", 64, otherwise=1)


@dataclass(frozen=True, slots=True)
class Clock:
    """Section `clock` has the clock of the SMs."""

    core_mhz: float = _figure("MHz", 1, 100_000)  #: clock of all cycles of the model


@dataclass(frozen=True, slots=True)
class Schedulers:
    """Section `schedulers` describes the warp schedulers of an SM."""

    count: int = _figure("schedulers", 1, 16)  #: schedulers per SM
    #: instructions of one warp that a scheduler issues in a cycle, at most
    issue_width: int = _figure("instructions/cycle", 1, 2)


@dataclass(frozen=True, slots=True)
class SmLimits:
    """Section `sm` has the upper limits of one SM."""

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
    """Section `dispatch` says how blocks come to SMs."""

    interval: int = _cycles()  #: time between two blocks that start on one SM


@dataclass(frozen=True, slots=True)
class OccupancyRule:
    """Section `occupancy` says whose rule counts resident blocks: NVIDIA's (rounding of the capability `chip.cc`) or
    GPGPU-Sim's."""

    rule: str = _name(*Rule)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit is one class of execution units of an SM.

    An instruction may start when fewer than `ports` instructions of its class are within their first `interval` cycles,
    and fewer than the group's ports of its whole `port_group`. Where the group is divided, each scheduler has its share
    of both, and counts its own instructions.
    """

    #: instructions that may be within their first `interval` cycles at once
    ports: int = _figure("warp instructions", 1, 64)
    interval: int = _figure("cycles", 1, 1024)  #: cycles for which an instruction holds its port
    #: from issue until the result may be used; `bru`, `bar`: until the warp issues again; `lsu`: SHFL's
    latency: int = _cycles()
    port_group: str = _name()  #: name of a group that has at least as many ports


@dataclass(frozen=True, slots=True)
class Units:
    """The units of an SM are in the order of the instruction set's unit classes."""

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
        """Return the unit of a class; raises KeyError for an unknown name."""
        if name not in UNIT_CLASSES:
            raise KeyError(name)
        unit: Unit = getattr(self, name)
        return unit

    def items(self) -> Iterator[tuple[str, Unit]]:
        """Return (class, unit) pairs in the order of `UNIT_CLASSES`."""
        return ((name, self[name]) for name in UNIT_CLASSES)


assert tuple(f.name for f in fields(Units)) == UNIT_CLASSES


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """Section `register_file` describes how instructions of fixed latency read registers.

    Register r of a thread is in bank r mod `banks`.
    """

    banks: int = _figure("banks", 1, 8)  #: banks of each scheduler
    #: registers of a warp that a bank of one scheduler delivers in a cycle
    reads: int = _figure("registers/cycle", 1, 8)
    #: cycles for an instruction's registers; if they take longer, it waits, and so does its scheduler
    window: int = _figure("cycles", 1, 16)
    #: an operand with a reuse flag is kept for the same operand of the warp's next instructions
    operand_cache: bool = _figure("flag")


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Section `shared` describes shared memory of one SM."""

    banks: int = _figure("banks", 1, 32)
    bank_bytes: int = _figure("bytes", 4, 8)  #: bytes that a bank serves in a pass
    #: consecutive bytes in one bank before the next bank's; 4 with banks of 8 is Kepler's 4-byte mode
    mode_bytes: int = _figure("bytes", 4, 8)
    latency: int = _cycles()  #: of an access without conflicts; each further pass costs one cycle
    atomic_latency: int = _cycles()  #: of an atomic without conflicts


@dataclass(frozen=True, slots=True)
class Coalescing:
    """Section `coalescing` describes how the lanes of an off-chip access become requests for lines."""

    #: lanes whose accesses are combined; other lanes make requests of their own, even for the same line
    lanes: int = _figure("threads", LANES // 2, LANES)
    #: a request is for the smallest aligned 32, 64 or 128 bytes that cover the access; else for sectors
    segments: bool = _figure("flag")


@dataclass(frozen=True, slots=True)
class L1Cache:
    """Section `l1` describes the data cache of one SM.

    A line holds one local word of each lane of a warp. Texture fetches are always cached. Where both `caches_local` and
    `caches_global` are false, it is a machine's texture cache.
    """

    bytes: int = _figure("bytes", 1, 1 << 20)
    line_bytes: int = _figure("bytes", 128, 128)
    sets: int = _figure("sets", 1, 1 << 16)
    ways: int = _figure("ways", 1, 1 << 16)
    latency: int = _cycles()  #: of a hit
    mshrs: int = _figure("requests", 1, 1024)  #: loads that may be in flight to L2, cached or not
    store_places: int = _figure("requests", 1, 4096)  #: stores and write-backs that may be in flight
    caches_local: bool = _figure("flag")  #: local memory is cached
    caches_global: bool = _figure("flag")  #: global memory is cached
    fills_lines: bool = _figure("flag")  #: a miss fetches the whole line, else the sectors that it needs
    updates: bool = _figure("flag")  #: a global store changes the line that L1 holds, else L1 drops the line


@dataclass(frozen=True, slots=True)
class Interconnect:
    """Section `interconnect` describes the links between L2 and each SM, or each port that several SMs share."""

    request_bytes: int = _figure("bytes/cycle", 1, 1024)  #: of a port's link to L2
    response_bytes: int = _figure("bytes/cycle", 1, 1024)  #: of the link back
    latency: int = _cycles()  #: one way
    header_bytes: int = _figure("bytes", 1, 64)  #: of a packet, beside its data


@dataclass(frozen=True, slots=True)
class L2Cache:
    """Section `l2` describes the second-level cache of the whole device, in slices."""

    bytes: int = _figure("bytes", 1, 1 << 27)  #: of all slices
    slices: int = _figure("slices", 1, 256)
    line_bytes: int = _figure("bytes", 128, 128)
    sets: int = _figure("sets", 1, 1 << 16)  #: of a slice
    ways: int = _figure("ways", 1, 64)
    port_bytes: int = _figure("bytes/cycle", 1, 1024)  #: bytes that a slice delivers
    latency: int = _cycles()  #: an SM's, from issue to use of a hit without other load
    mshrs: int = _figure("requests", 1, 4096)  #: fetches of sectors that a slice may have in flight
    merges: int = _figure("requests", 0, 4096)  #: requests that may wait for one line beside the first one
    atomic_cycles: int = _cycles()  #: time that a slice needs for each of the lanes with one address
    #: it caches all memory; else texture fetches alone, and other requests go past it to DRAM
    caches_data: bool = _figure("flag")


@dataclass(frozen=True, slots=True)
class Dram:
    """Section `dram` describes off-chip memory of the whole device, and section `far_dram` a second one.

    Timing parameters have JEDEC's names and are in cycles of the command clock.
    """

    channels: int = _figure("channels", 1, 128)
    banks: int = _figure("banks", 1, 32)  #: of a channel
    groups: int = _figure("bank groups", 1, 32)  #: of a channel
    bus_bytes: int = _figure("bytes", 1, 256)  #: width of one channel's bus
    burst: int = _figure("transfers", 1, 64)  #: transfers of one read or write
    data_rate: int = _figure("transfers/cycle", 1, 16)  #: transfers on the bus per command cycle
    command_mhz: float = _figure("MHz", 1, 100_000)
    #: of a channel; two, as HBM has: one for reads and writes, one for activations and precharges
    command_buses: int = _figure("buses", 1, 2)
    row_bytes: int = _figure("bytes", 256, 1 << 16)
    interleave: int = _figure("bytes", 128, 1 << 16)  #: consecutive bytes of one channel before the next one's
    queue: int = _figure("requests", 2, 4096)  #: requests that wait at a channel
    latency: int = _cycles()  #: an SM's, in core cycles, from issue to use of a load alone whose bank is closed
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
    #: between two refreshes of a channel; without it and `rfc` nothing is refreshed
    refi: int = _figure_or_none("command cycles", 1 << 15)
    rfc: int = _figure_or_none("command cycles", 1 << 15)  #: duration of a refresh

    @property
    def bandwidth(self) -> float:
        """Return the peak bandwidth of all channels, in 10^9 bytes a second."""
        return self.channels * self.bus_bytes * self.data_rate * self.command_mhz / 1000

    @property
    def burst_bytes(self) -> int:
        """Return the bytes that one read or write moves."""
        return self.bus_bytes * self.burst

    @property
    def burst_cycles(self) -> int:
        """Return the command cycles that one read or write takes on the bus."""
        return -(-self.burst // self.data_rate)


@dataclass(frozen=True, slots=True)
class Pages:
    """Section `pages` describes pages of memory and the orders of the parts of a physical address.

    The orders are texts as `binalloc.models.dram.addresses` reads them.
    """

    bytes: int = _figure("bytes", 4096, 2 << 20)  #: of a page
    interleaved: str = _figure("order of address parts")  #: where a page lies in all channels
    coloured: str = _figure("order of address parts")  #: where a page lies in a row of a bank
    far_interleaved: str = _order_or_none()  #: likewise in the far memory
    far_coloured: str = _order_or_none()


@dataclass(frozen=True, slots=True)
class DramPower:
    """Sections `dram.power` and `far_dram.power` have the currents of one device of off-chip memory, by JEDEC's names,
    for its energy. No cycle depends on them."""

    devices: int = _figure("devices", 1, 64)  #: of a channel, side by side
    vdd: float = _figure("V", 1, 5)
    idd0: float = _current()
    idd2n: float = _current()
    idd3n: float = _current()
    idd4r: float = _current()
    idd4w: float = _current()
    idd5: float = _current()  #: all banks are refreshed together
    vpp: float = field(default=0.0, metadata={"unit": "V", "low": 1, "high": 5})  #: second supply, where there is one
    ipp0: float = _current_or_none()
    ipp2n: float = _current_or_none()
    ipp3n: float = _current_or_none()
    ipp4r: float = _current_or_none()
    ipp4w: float = _current_or_none()
    ipp5: float = _current_or_none()
    #: I/O energy, where a source gives it
    io: float = field(default=0.0, metadata={"unit": "pJ/bit", "low": 0, "high": 100})
    #: between two refreshes of a channel, for the energy alone, where `dram` states no `refi`
    refi: float = field(default=0.0, metadata={"unit": "ns", "low": 1, "high": 100_000_000})
    #: duration of such a refresh
    rfc: float = field(default=0.0, metadata={"unit": "ns", "low": 1, "high": 100_000_000})


@dataclass(frozen=True, slots=True)
class ConstantCache:
    """Section `constant` has the time of LDC. An operand c[bank][offset] costs nothing beside its instruction."""

    latency: int = _cycles()  #: of LDC that hits


@dataclass(frozen=True, slots=True)
class SmallCache:
    """A small cache of an SM may be too small for its contents; a miss goes to L2."""

    enabled: bool = _figure("flag")  #: it is modelled; else every access hits, as without the section
    bytes: int = _figure("bytes", 32, 1 << 18)
    line_bytes: int = _figure("bytes", 32, 128)
    sets: int = _figure("sets", 1, 1 << 13)
    ways: int = _figure("ways", 1, 1 << 13)
    mshrs: int = _figure("requests", 1, 256)  #: lines that it may have requested


@dataclass(frozen=True, slots=True)
class ConstantLines(SmallCache):
    """Section `constant_cache` describes the constant cache of an SM."""


@dataclass(frozen=True, slots=True)
class InstructionCache(SmallCache):
    """Section `instruction_cache` describes the instruction cache of an SM; a hit costs nothing."""

    prefetch: int = _figure("lines", 0, 64)  #: lines behind a missing one that are requested, too


@dataclass(frozen=True, slots=True)
class Search:
    """Section `search` has constants of the unified paper's concurrency search (sections 4.2, 5)."""

    max_cmratio: int = _figure("compute instructions per off-chip instruction", 1, CYCLES_MAX)  #: limit in CI_pred


@dataclass(frozen=True, slots=True)
class PortGroup:
    """A port group is issue ports of an SM that several unit classes share."""

    name: str  #: name of the group
    ports: int  #: ports of the SM
    #: each scheduler has a share, as its partition has its own units; else all ports serve all schedulers
    divided: bool = False
