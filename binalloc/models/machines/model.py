"""This module models machines.

Needs the sections of a machine file, as `binalloc.models.machines.reader` reads and checks it. Leaves a frozen
`Machine`. Its sections are plain numbers; unit and source of each figure are kept beside them for display.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace

from binalloc.errors import UsageError
from binalloc.isa.timing import UnitLatencies
from binalloc.models.dram.addresses import usual_orders
from binalloc.models.machines.kernel_use import CacheConfig, KernelUse
from binalloc.models.machines.limits import LIMITS, Limits
from binalloc.models.machines.occupancy import Occupancy, Rule, gpgpusim_occupancy, nvidia_occupancy
from binalloc.models.machines.sections import (
    Chip,
    Clock,
    Coalescing,
    ConstantCache,
    ConstantLines,
    Dispatch,
    Dram,
    DramPower,
    Figure,
    InstructionCache,
    Interconnect,
    L1Cache,
    L2Cache,
    OccupancyRule,
    Pages,
    PortGroup,
    RegisterFile,
    Schedulers,
    Search,
    SharedMemory,
    SmLimits,
    Units,
)

USUAL_PAGE_BYTES = 4096  # of a page where a file states none: the thread batching paper's, and that of most hosts


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine is one device.

    The last seven sections may be missing. Without `register_file` every register can be read at once; without the
    caches constants and code always hit; without `dram_power` nothing is said of energy.
    """

    name: str  #: name, as `--machine` takes it
    description: str  #: one line for people
    chip: Chip  #: the device as a whole
    clock: Clock  #: clock of the SMs
    schedulers: Schedulers  #: warp schedulers of an SM
    sm: SmLimits  #: upper limits of an SM
    occupancy_rule: OccupancyRule  #: whose rule counts resident blocks
    dispatch: Dispatch  #: how blocks come to SMs
    units: Units  #: execution units of an SM
    port_groups: tuple[PortGroup, ...]  #: groups of units that share issue ports
    shared: SharedMemory  #: shared memory of an SM
    coalescing: Coalescing  #: how accesses become requests
    l1: L1Cache  #: data cache of an SM
    interconnect: Interconnect  #: links between SMs and L2
    l2: L2Cache  #: cache of the whole device
    dram: Dram  #: off-chip memory
    constant: ConstantCache  #: latency of LDC
    search: Search  #: constants of the unified paper's search
    register_file: RegisterFile | None  #: banks of registers, None if not stated
    constant_cache: ConstantLines | None  #: constant cache of an SM, None if not stated
    instruction_cache: InstructionCache | None  #: instruction cache of an SM, None if not stated
    stated_pages: Pages | None  #: pages of memory, None if not stated
    dram_power: DramPower | None  #: currents of off-chip memory, None if not stated
    far_dram: Dram | None  #: a second off-chip memory, None if there is none
    far_dram_power: DramPower | None  #: its currents, None if not stated
    #: each dotted key ("units.alu.latency") with the file's figure
    figures: tuple[tuple[str, Figure], ...] = field(repr=False, compare=False)

    @property
    def cc(self) -> str:
        """Return the compute capability, as "3.0"."""
        return self.chip.cc

    def owners(self, unit: str) -> int:
        """Return the number of schedulers among which the ports of a unit class are divided, or 1 where all share
        them."""
        divided = any(group.divided for group in self.port_groups if group.name == self.units[unit].port_group)
        return self.schedulers.count if divided else 1

    @property
    def limits(self) -> Limits:
        """Return the file's limits with the allocation units of its capability."""
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
        """Return one SM's share of the off-chip bandwidth, in bytes a core cycle."""
        return self.dram.bandwidth * 1000 / self.clock.core_mhz / self.chip.sms

    @property
    def request_bytes_per_sm(self) -> float:
        """Return one SM's share of its port's link to L2, in bytes a cycle."""
        return self.interconnect.request_bytes / self.chip.sms_per_port

    @property
    def response_bytes_per_sm(self) -> float:
        """Return one SM's share of its port's link from L2, in bytes a cycle."""
        return self.interconnect.response_bytes / self.chip.sms_per_port

    @property
    def pages(self) -> Pages:
        """Return the pages of memory. Where the file states none, they have 4 KB, and the usual orders of address
        parts."""
        return self.stated_pages or Pages(USUAL_PAGE_BYTES, *usual_orders(self.dram.interleave))

    @property
    def far_orders(self) -> tuple[str, str]:
        """Return the orders of address parts in the far memory, for pages in all channels and for pages in one row:
        the usual ones, where the file states none."""
        assert self.far_dram is not None
        usual = usual_orders(self.far_dram.interleave)
        pages = self.pages
        return pages.far_interleaved or usual[0], pages.far_coloured or usual[1]

    @property
    def far(self) -> Machine | None:
        """Return the machine as if its far memory were its only one, None without a far memory. What can be computed
        for `dram` can so be computed for `far_dram`."""
        if self.far_dram is None:
            return None
        figures = [(key, figure) for key, figure in self.figures if not key.startswith("dram.")]
        renamed = tuple((key.removeprefix("far_"), figure) for key, figure in figures)
        return replace(
            self, dram=self.far_dram, dram_power=self.far_dram_power, far_dram=None, far_dram_power=None,
            figures=renamed,
        )  # fmt: skip

    @property
    def unit_latencies(self) -> UnitLatencies:
        """Return the latencies for which control codes are written."""
        return UnitLatencies(self.name, {name: unit.latency for name, unit in self.units.items()})

    @property
    def issue_slots_per_cycle(self) -> int:
        """Return the instructions that an SM can issue in one cycle."""
        return self.schedulers.count * self.schedulers.issue_width

    @property
    def digest(self) -> str:
        """Return sixteen hex digits for the values of all figures but those for energy, without sources: equal digests
        mean equal behaviour."""
        values = {key: figure.value for key, figure in self.figures if ".power." not in key}
        values |= {f"{name}.port_group": unit.port_group for name, unit in self.units.items()}
        values["rule"] = self.occupancy_rule.rule
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def occupancy(self, use: KernelUse) -> Occupancy:
        """Count the resident blocks per SM of a kernel by this machine's rule; raises as `occupancy.occupancy`.

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
