"""The figures of a machine's memory system, for a number of its SMs, become numbers of the device record here.

If a run has fewer SMs than the machine, they get their share of what all SMs use together. Of DRAM they get as many
whole channels as the share needs, each with less bandwidth, so that the total is exactly the share. Of L2 they get
sets. Latencies, and all that belongs to one SM, stay as they are.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from binalloc.emulator.state.memory_layout import CODE_WORD_SHIFT, DATA_FRACTION, LINE_BYTES, Tagged
from binalloc.models.machines.model import Machine
from binalloc.models.machines.unloaded import dram_cycles, l2_cycles, ticks_per_cycle


def memory_figures(m: Machine, sms: int) -> dict[str, int | list[int]]:
    """Return the figures of interconnect, L2 and DRAM by their names in the record."""
    l2, net = m.l2, m.interconnect
    channels, share = channels_for(m, sms), Fraction(sms, m.chip.sms)
    per_channel = l2.slices // m.dram.channels
    sets = max(1, round(l2.sets * l2.slices * share / (channels * per_channel)))
    near, far = dram_figures(m, sms), dram_figures(m.far or m, sms)
    return {
        "request_bytes": net.request_bytes, "request_latency": net.latency, "response_bytes": net.response_bytes,
        "response_latency": net.latency, "header_bytes": net.header_bytes, "sms_per_port": m.chip.sms_per_port,
        "slices": channels * per_channel, "slices_per_channel": per_channel, "l2_sets": sets, "l2_ways": l2.ways,
        "l2_bytes": l2.port_bytes, "l2_latency": l2_cycles(m), "l2_mshrs": l2.mshrs, "l2_merges": l2.merges,
        "l2_atomic": l2.atomic_cycles, "l2_data": int(l2.caches_data),
        "lane_group": m.coalescing.lanes, "segments": int(m.coalescing.segments),
        "interleave": m.dram.interleave, "dram_channels": channels, "all_channels": channels,
        **{name: [near[name], far[name]] for name in near},
        "l1_mshrs": m.l1.mshrs, "store_places": m.l1.store_places, "l1_updates": int(m.l1.updates),
        "l1_fill_words": (1 << LINE_BYTES // 4) - 1 if m.l1.fills_lines else 0,
    }  # fmt: skip


def channels_for(m: Machine, sms: int) -> int:
    """Return how many channels of `m.dram` a run with so many SMs has."""
    return ceil(m.dram.channels * Fraction(sms, m.chip.sms))


def far_channels(m: Machine, sms: int) -> int:
    """Return how many channels of its far memory the machine has in a run that uses them, 0 without one."""
    return 0 if m.far is None else channels_for(m.far, sms)


def dram_figures(m: Machine, sms: int) -> dict[str, int]:
    """Return the figures of `m.dram` by their names in the record, which has each for either memory."""
    dram = m.dram
    channels, share = channels_for(m, sms), Fraction(sms, m.chip.sms)
    slower = channels / (dram.channels * share)
    rate = ticks_per_cycle(m)
    return {
        "dram_latency": dram_cycles(m, slower), "burst_bytes": dram.burst_bytes, "row_bytes": dram.row_bytes,
        "dram_banks": dram.banks, "dram_groups": dram.groups, "dram_depth": dram.queue,
        "command_buses": dram.command_buses, "tick_numerator": rate.numerator, "tick_denominator": rate.denominator,
        "t_rcd": dram.rcd, "t_rp": dram.rp, "t_ras": dram.ras, "t_rc": dram.rc, "t_cl": dram.cl, "t_wl": dram.wl,
        "t_ccd": dram.ccd, "t_ccdl": dram.ccdl, "t_rrd": dram.rrd, "t_wr": dram.wr, "t_cdlr": dram.cdlr,
        "t_rtp": dram.rtp, "t_faw": dram.faw, "t_refi": dram.refi, "t_rfc": dram.rfc, "t_burst": dram.burst_cycles,
        "t_rtw": dram.cl + dram.burst_cycles + 2 - dram.wl,
        "t_data": round(Fraction(dram.burst, dram.data_rate) * slower * (1 << DATA_FRACTION)),
    }  # fmt: skip


def tagged_figures(m: Machine, code_words: int) -> dict[str, int | list[int]]:
    """Return the figures of instruction cache and constant cache by their names in the record, for a module's code."""
    caches = {Tagged.CODE: m.instruction_cache, Tagged.CONSTANTS: m.constant_cache}
    out: dict[str, int | list[int]] = {
        "tagged": sum(1 << number for number, cache in caches.items() if cache is not None and cache.enabled),
        "tagged_shift": [0 if cache is None else cache.line_bytes.bit_length() - 1 for cache in caches.values()],
    }
    for name in ("sets", "ways", "mshrs"):
        out[f"tagged_{name}"] = [1 if cache is None else getattr(cache, name) for cache in caches.values()]
    code = m.instruction_cache
    out["code_ahead"] = 0 if code is None else code.prefetch
    out["last_code_line"] = 0 if code is None else max(0, (code_words << CODE_WORD_SHIFT) - 1) // code.line_bytes
    return out


def most_requests(m: Machine, sms: int) -> int:
    """Return how many requests there can be at once: outstanding ones of SMs, fetches of slices, and requests that wait
    at channels. A request that bypasses L2 has a second one at DRAM."""
    small = sum(cache.mshrs for cache in (m.instruction_cache, m.constant_cache) if cache is not None)
    loads, stores = sms * (m.l1.mshrs + small), sms * m.l1.store_places
    past = 0 if m.l2.caches_data else loads
    near, far = channels_for(m, sms), far_channels(m, sms)
    at_slices = (near + far) * (m.l2.slices // m.dram.channels) * m.l2.mshrs
    at_channels = near * m.dram.queue + (far * m.far_dram.queue if m.far_dram is not None else 0)
    return loads + stores + past + at_slices + at_channels
