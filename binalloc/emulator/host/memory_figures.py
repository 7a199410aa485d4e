"""The memory system of a machine for so many of its SMs, as numbers of the device record.

Fewer SMs than the machine has get their share of what all of them share: channels, as far as whole ones can be taken
away, and for the rest less bandwidth of each; sets of L2. Latencies, and what belongs to an SM, stay as they are.
"""

from __future__ import annotations

import math
from fractions import Fraction

from binalloc.emulator.state.memory_layout import DATA_FRACTION, LINE_BYTES, SECTOR_BYTES
from binalloc.models.machines.model import Machine

RATE_DENOMINATOR = 10_000  # bounds what ticks are multiplied by


def memory_figures(m: Machine, sms: int) -> dict[str, int]:
    """The figures of interconnect, L2 and DRAM by their names in the record."""
    dram, l2, net = m.dram, m.l2, m.interconnect
    share = Fraction(sms, m.chip.sms)
    channels = max(1, int(dram.channels * share))
    slower = Fraction(channels) / (dram.channels * share)
    per_channel = l2.slices // dram.channels
    sets = max(1, round(l2.sets * l2.slices * share / (channels * per_channel)))
    rate = (Fraction(dram.command_mhz) / Fraction(m.clock.core_mhz)).limit_denominator(RATE_DENOMINATOR)
    data = Fraction(dram.burst, dram.data_rate) * slower
    return {
        "request_bytes": net.request_bytes, "request_latency": net.latency, "response_bytes": net.response_bytes,
        "response_latency": net.latency, "header_bytes": net.header_bytes,
        "slices": channels * per_channel, "slices_per_channel": per_channel, "l2_sets": sets, "l2_ways": l2.ways,
        "l2_bytes": l2.port_bytes, "l2_latency": l2.latency - _way(m), "l2_mshrs": l2.mshrs, "l2_merges": l2.merges,
        "l2_atomic": l2.atomic_cycles,
        "dram_latency": max(m.dram.latency - l2.latency - _closed_bank(m, rate, data), 0),
        "burst_bytes": dram.burst_bytes, "row_bytes": dram.row_bytes, "interleave": dram.interleave,
        "dram_channels": channels, "dram_banks": dram.banks, "dram_groups": dram.groups, "dram_depth": dram.queue,
        "tick_numerator": rate.numerator, "tick_denominator": rate.denominator,
        "t_rcd": dram.rcd, "t_rp": dram.rp, "t_ras": dram.ras, "t_rc": dram.rc, "t_cl": dram.cl, "t_wl": dram.wl,
        "t_ccd": dram.ccd, "t_ccdl": dram.ccdl, "t_rrd": dram.rrd, "t_wr": dram.wr, "t_cdlr": dram.cdlr,
        "t_rtp": dram.rtp, "t_faw": dram.faw, "t_burst": dram.burst_cycles,
        "t_rtw": dram.cl + dram.burst_cycles + 2 - dram.wl, "t_data": round(data * (1 << DATA_FRACTION)),
        "l1_mshrs": m.l1.mshrs, "store_places": m.l1.store_places, "l1_updates": int(m.l1.updates),
        "l1_fill_words": (1 << LINE_BYTES // 4) - 1 if m.l1.fills_lines else 0,
    }  # fmt: skip


def most_requests(m: Machine, sms: int) -> int:
    """Requests that can be under way at once: what SMs may have sent, what slices fetch, what channels hold."""
    return sms * (m.l1.mshrs + m.l1.store_places) + m.l2.slices * m.l2.mshrs + m.dram.channels * m.dram.queue


def _fetched(m: Machine) -> int:
    """Bytes that a load of one word fetches from L2, which is the load that latencies are stated for."""
    return LINE_BYTES if m.l1.caches_global and m.l1.fills_lines else SECTOR_BYTES


def _way(m: Machine) -> int:
    """Cycles between SM and slice of a load and its answer, on free links."""
    net = m.interconnect
    there = -(-net.header_bytes // net.request_bytes)
    back = -(-(net.header_bytes + _fetched(m)) // net.response_bytes)
    return there + back + 2 * net.latency


def _closed_bank(m: Machine, rate: Fraction, data: Fraction) -> int:
    """Core cycles of an activation, the reads and their data, each burst of which takes the bus for `data` ticks."""
    bursts = -(-_fetched(m) // m.dram.burst_bytes)
    apart = max(Fraction(max(m.dram.ccd, m.dram.ccdl)), data)
    ticks = m.dram.rcd + m.dram.cl + m.dram.burst_cycles + math.ceil((bursts - 1) * apart)
    return -(-ticks * rate.denominator // rate.numerator)
