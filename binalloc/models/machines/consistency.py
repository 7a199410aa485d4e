"""This module refuses machine files whose figures contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.models.dram.addresses import WrongOrder, read_order
from binalloc.models.machines.limits import LIMITS, SHARED_STEPS
from binalloc.models.machines.occupancy import Rule
from binalloc.models.machines.unloaded import MOST_TICKS, RATE_DENOMINATOR, closed_bank_cycles, link_cycles
from binalloc.printable import quoted

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine
    from binalloc.toml_values import TomlPlace

WORD = 4  # bytes


class Consistency:
    """This class compares the figures of one machine file. root: the file, where errors about its keys are raised."""

    def __init__(self, root: TomlPlace) -> None:
        self.root = root

    def consistent(self, m: Machine) -> None:
        """Refuse figures that contradict each other."""
        if m.cc not in LIMITS:
            self.root.sub("chip.cc").fail("unknown compute capability", quoted(m.cc), "one of " + ", ".join(LIMITS))
        sm, l1 = m.sm, m.l1
        self.equal("sm.threads_per_sm", sm.threads_per_sm, "sm.warps_per_sm * 32", sm.warps_per_sm * m.chip.warp_size)
        self.equal("l1.bytes", l1.bytes, "l1.sets * l1.ways * l1.line_bytes", l1.sets * l1.ways * l1.line_bytes)
        self.at_most("sm.threads_per_block", sm.threads_per_block, "sm.threads_per_sm", sm.threads_per_sm)
        self.at_most("sm.registers_per_block", sm.registers_per_block, "sm.registers_per_sm", sm.registers_per_sm)
        self.at_most("sm.shared_per_block", sm.shared_per_block, "sm.shared_per_sm", sm.shared_per_sm)
        self.at_most("schedulers.count", m.schedulers.count, "sm.warps_per_sm", sm.warps_per_sm)
        self.consistent_memory(m)
        unit = LIMITS[m.cc].shared_unit
        if m.occupancy_rule.rule == Rule.NVIDIA and sm.shared_per_block % unit:
            self.root.sub("sm.shared_per_block").fail(
                "not a whole number of allocation units", sm.shared_per_block,
                f"a multiple of {unit} bytes on capability {m.cc}",
            )  # fmt: skip
        steps = SHARED_STEPS.get(m.cc)
        if m.occupancy_rule.rule == Rule.NVIDIA and steps and sm.shared_per_sm not in steps:
            self.root.sub("sm.shared_per_sm").fail(
                f"not a split capability {m.cc} has", sm.shared_per_sm, "one of " + ", ".join(map(str, steps))
            )
        self.consistent_ports(m)

    def consistent_pages(self, m: Machine) -> None:
        orders = [("interleaved", m.pages.interleaved, m.dram), ("coloured", m.pages.coloured, m.dram)]
        if m.far_dram is not None:
            orders += [(f"far_{orders[i][0]}", text, m.far_dram) for i, text in enumerate(m.far_orders)]
        for name, text, dram in orders:
            key = f"pages.{name}"
            try:
                read_order(text, dram.channels, dram.banks, dram.row_bytes)
            except WrongOrder as error:
                self.root.sub(key).fail(error.args[0], quoted(text), error.args[1])

    def consistent_memory(self, m: Machine) -> None:
        l2, dram = m.l2, m.dram
        if m.chip.sms % m.chip.sms_per_port:
            self.root.sub("chip.sms_per_port").fail(
                "ports with different numbers of SMs", m.chip.sms_per_port, f"a divisor of chip.sms, {m.chip.sms}"
            )
        size = l2.slices * l2.sets * l2.ways * l2.line_bytes
        self.equal("l2.bytes", l2.bytes, "l2.slices * l2.sets * l2.ways * l2.line_bytes", size)
        for key, size in (
            ("shared.banks", m.shared.banks), ("shared.bank_bytes", m.shared.bank_bytes),
            ("shared.mode_bytes", m.shared.mode_bytes), ("pages.bytes", m.pages.bytes),
        ):
            self.power_of_two(key, size)
        self.at_most("shared.mode_bytes", m.shared.mode_bytes, "shared.bank_bytes", m.shared.bank_bytes)
        if l2.slices % dram.channels:
            self.root.sub("l2.slices").fail(
                "not a whole number per channel", l2.slices, f"a multiple of dram.channels, {dram.channels}"
            )
        self.consistent_dram(m, "dram")
        if m.far is not None:
            self.consistent_dram(m.far, "far_dram")
        self.consistent_pages(m)
        self.consistent_tagged(m)
        self.at_most("l1.latency", m.l1.latency, "l2.latency", l2.latency)
        self.at_least("l2.latency", l2.latency, "both ways on the interconnect, and a cycle in L2", link_cycles(m) + 1)
        if not l2.caches_data and (m.l1.caches_local or m.l1.caches_global):
            key = "l1.caches_local" if m.l1.caches_local else "l1.caches_global"
            self.root.sub(key).fail("L1 caches what goes past L2, see l2.caches_data", True, "false")
        if m.coalescing.segments and l2.caches_data:
            self.root.sub("coalescing.segments").fail("L2 caches sectors, see l2.caches_data", True, "false")
        if m.coalescing.lanes not in (m.chip.warp_size // 2, m.chip.warp_size):
            self.root.sub("coalescing.lanes").fail("neither half a warp nor a warp", m.coalescing.lanes, "16 or 32")

    def consistent_tagged(self, m: Machine) -> None:
        """Check the caches that a machine may have; their lines are parts of L2's."""
        for key, cache in (("constant_cache", m.constant_cache), ("instruction_cache", m.instruction_cache)):
            if cache is None:
                continue
            if cache.line_bytes & (cache.line_bytes - 1):
                self.root.sub(f"{key}.line_bytes").fail("not a power of two", cache.line_bytes, "a power of two")
            size = cache.sets * cache.ways * cache.line_bytes
            self.equal(f"{key}.bytes", cache.bytes, f"{key}.sets * {key}.ways * {key}.line_bytes", size)

    def consistent_dram(self, m: Machine, key: str) -> None:
        """Check figures of `m.dram`, which has a key in the file, of which one makes another impossible."""
        dram = m.dram
        for name in ("interleave", "row_bytes", "burst", "bus_bytes"):
            self.power_of_two(f"{key}.{name}", getattr(dram, name))
        for less, more in (
            ("groups", "banks"), ("interleave", "row_bytes"), ("ccd", "ccdl"), ("rcd", "ras"), ("wl", "cl"),
        ):
            self.at_most(f"{key}.{less}", getattr(dram, less), f"{key}.{more}", getattr(dram, more))
        self.consistent_timing(m, key)
        self.at_least(
            f"{key}.latency", dram.latency, "l2.latency, the commands of a closed bank, and a cycle between them",
            m.l2.latency + closed_bank_cycles(m) + 1,
        )  # fmt: skip

    def consistent_timing(self, m: Machine, of: str) -> None:
        """Check the timing parameters of `m.dram`, whose key in the file is `of`."""
        dram = m.dram
        self.at_least(f"{of}.rc", dram.rc, f"{of}.ras + {of}.rp", dram.ras + dram.rp)
        at = self.root.sub(of)
        if dram.command_mhz > MOST_TICKS * m.clock.core_mhz:
            at.sub("command_mhz").fail(
                f"is more than {MOST_TICKS} times clock.core_mhz", dram.command_mhz,
                f"at most {MOST_TICKS * m.clock.core_mhz}",
            )  # fmt: skip
        if dram.command_mhz * RATE_DENOMINATOR < m.clock.core_mhz:
            at.sub("command_mhz").fail(
                f"is less than clock.core_mhz / {RATE_DENOMINATOR:,}", dram.command_mhz,
                f"at least {m.clock.core_mhz / RATE_DENOMINATOR}",
            )  # fmt: skip
        if dram.burst_cycles > dram.ccd:
            at.sub("burst").fail(
                f"its transfers take longer than {of}.ccd", f"{dram.burst_cycles} command cycles", f"at most {dram.ccd}"
            )
        if dram.burst_bytes < WORD:
            at.sub("burst").fail(
                f"{of}.bus_bytes * {of}.burst is less than a word", f"{dram.burst_bytes} bytes", f"at least {WORD}"
            )
        if dram.faw:
            self.at_least(f"{of}.faw", dram.faw, f"four times {of}.rrd", 4 * dram.rrd)
        for given, key in ((dram.refi, "rfc"), (dram.rfc, "refi")):
            if given and not getattr(dram, key):
                at.sub(key).fail("missing key", "nothing", f"both {of}.refi and {of}.rfc, or neither")
        if dram.refi:
            self.at_least(
                f"{of}.refi", dram.refi, f"{of}.rfc and what it takes to open a row, use and close it",
                dram.rfc + dram.rc + dram.rcd + dram.cl + dram.wl + dram.burst_cycles + dram.wr + dram.cdlr + dram.rtp
                + dram.rp + dram.rrd + dram.faw,
            )  # fmt: skip

    def power_of_two(self, key: str, size: int) -> None:
        if size & (size - 1):
            self.root.sub(key).fail("not a power of two", size, "a power of two")

    def consistent_ports(self, m: Machine) -> None:
        ports = {group.name: group.ports for group in m.port_groups}
        for name, unit in m.units.items():
            if unit.port_group not in ports:
                self.root.sub(f"units.{name}.port_group").fail(
                    "unknown port group", quoted(unit.port_group), "one of " + ", ".join(sorted(ports))
                )
            self.at_most(f"units.{name}.ports", unit.ports, f"port_groups.{unit.port_group}", ports[unit.port_group])
        self.consistent_partitions(m)
        used = {unit.port_group for _, unit in m.units.items()}
        for name in sorted(set(ports) - used):
            self.root.sub(f"port_groups.{name}").fail(
                "a port group no unit names", quoted(name), "one of " + ", ".join(sorted(used))
            )

    def consistent_partitions(self, m: Machine) -> None:
        """Check that partitions are equal.

        A partition is a scheduler with its own share of the ports. All shares are equal, and the register file has as
        many parts as there are partitions.
        """
        count = m.schedulers.count
        divided = [group for group in m.port_groups if group.divided]
        shares = [(f"port_groups.{group.name}", group.ports) for group in divided]
        shares += [(f"units.{name}.ports", unit.ports) for name, unit in m.units.items() if m.owners(name) > 1]
        for key, ports in shares:
            if ports % count:
                self.root.sub(key).fail(
                    "cannot be divided among schedulers.count partitions", ports, f"a multiple of {count}"
                )
        if divided and m.occupancy_rule.rule == Rule.NVIDIA:
            parts = LIMITS[m.cc].sub_partitions
            self.equal("schedulers.count", count, f"the parts of capability {m.cc}'s register file", parts)

    def equal(self, key: str, value: int, other: str, expected: int) -> None:
        if value != expected:
            self.root.sub(key).fail(f"contradicts {other}", value, expected)

    def at_least(self, key: str, value: int, other: str, bound: int) -> None:
        if value < bound:
            self.root.sub(key).fail(f"is less than {other}", value, f"at least {bound}")

    def at_most(self, key: str, value: int, other: str, bound: int) -> None:
        if value > bound:
            self.root.sub(key).fail(f"exceeds {other}", value, f"at most {bound}")
