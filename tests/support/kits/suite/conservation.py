"""What no run may gain or lose on its way: issue slots, requests, sectors, bytes, rows. `watch_runs` has every run of
the test suite checked when its grid has ended."""

from __future__ import annotations

from collections import Counter
from typing import Any

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.figures.shares import COUNTED as COMMANDS
from binalloc.emulator.host.figures.shares import DramCauses, DramCounts, dram_shares
from binalloc.emulator.host.figures.stats import collect
from binalloc.emulator.runs import run as emulator
from binalloc.emulator.runs.profile import COUNTED, REASONS, collect_profile
from binalloc.emulator.state.layout import LANES, Column
from binalloc.emulator.state.memory_layout import DATA_FRACTION, SECTOR_BYTES, Memory, RequestKind, Stage

SECTOR_WORDS = SECTOR_BYTES // 4


def sectors(words: int) -> int:
    return sum(1 for k in range(0, LANES, SECTOR_WORDS) if words >> k & 0xFF)


def under_way(device: LaunchedDevice) -> list[dict[str, int]]:
    """The requests that have been made and not given back."""
    engine, g = device.engine, device.g
    made, free = device.get("requests"), device.get("free_request")
    if not made:
        return []
    columns = {name: engine.view(g, 0, name) for name in ("kind", "stage", "words", "source", "link", "following")}
    alive = set(range(made))
    while free:
        alive.remove(free - 1)
        free = int(columns["following"][free - 1])
    return [{name: int(column[r]) for name, column in columns.items()} for r in sorted(alive)]


def not_moved(device: LaunchedDevice, cycles: int, far: bool = False) -> float:
    """Bytes of bursts that have been told to one memory's channels, and have not passed their data buses when the run
    ends."""

    def of(name: str) -> int:
        return int(device.engine.get(device.g, 0, name)[m])

    m = Memory.FAR if far else Memory.NEAR
    now = (cycles * of("tick_numerator") << DATA_FRACTION) // of("tick_denominator")
    near = device.get("dram_channels")
    channels = slice(near, device.get("all_channels")) if far else slice(near)
    behind = device.engine.get(device.g, 0, "channel_data").astype(object)[channels] - now
    return sum(max(int(ticks), 0) for ticks in behind) * of("burst_bytes") / of("t_data")


def violations(device: LaunchedDevice) -> list[str]:
    """The laws that a run which has come to its end breaks."""
    machine, engine = device.machine, device.engine
    stats: dict[str, Any] = collect(engine, device.g, device.sms, machine)
    waiting = [r for r in under_way(device) if r["kind"] != RequestKind.CPU_LOAD]
    loads = [r for r in waiting if r["kind"] == RequestKind.LOAD]
    answered = [r for r in loads if r["stage"] == Stage.REACHES_SM]
    fills = [r for r in waiting if r["kind"] == RequestKind.FILL]
    evictions = [r for r in waiting if r["kind"] == RequestKind.EVICTION]
    prefetches = [r for r in waiting if r["kind"] == RequestKind.PREFETCH]
    cycles, sms = stats["cycles"], device.sms_count
    far = stats.get("far_dram", Counter())
    packets = stats["l2_hits"] + stats["l2_misses"] + stats["l2_stores"]
    net, header = machine.interconnect, machine.interconnect.header_bytes
    sms_sum = {name: sum(engine.get(device.sms, i, name) for i in range(sms)) for name in ("loads_out", "stores_out")}
    kinds = ("global", "local", "texture", "instruction", "constant")
    requested = sum(stats[f"{kind}_fill_sectors"] for kind in kinds)
    sms_sum["tagged_out"] = sum(int(engine.get(device.sms, i, "tagged_out").sum()) for i in range(sms))
    on_way = [r for r in waiting if r["kind"] <= RequestKind.ATOMIC and r["stage"] == Stage.REACHES_SLICE]
    slots = cycles * sms * machine.schedulers.count * machine.schedulers.issue_width
    laws = (
        ("issue slots", stats["issue_slots"] + sum(stats["stalls"].values()), slots),
        ("stores, write-backs and atomics under way at the end",
         len(waiting) - len(loads + fills + evictions + prefetches), 0),
        ("places of stores taken at the end", sms_sum["stores_out"], 0),
        ("MSHRs of the SMs taken at the end", sms_sum["loads_out"] + sms_sum["tagged_out"], len(loads)),
        ("MSHRs of L2 taken at the end", int(engine.get(device.g, 0, "slice_pending").sum()),
         len([r for r in fills + prefetches if r["link"] >= 0])),  # those for lines; the others go past
        ("prefetches that L2 knows of", stats["l2_prefetches_used"] + stats["l2_prefetches_evicted"]
         + int((engine.get(device.g, 0, "l2_ahead") > 0).sum()), stats["l2_prefetches"]),
        ("places of DRAM taken at the end",
         int(engine.get(device.g, 0, "channel_waiting").sum()) + stats["dram_requests"] + far["dram_requests"],
         stats["l2_writebacks"] + stats["l2_fills"] + stats["l2_prefetches"] - device.get("cpu_waiting")
         + int(engine.get(device.g, 0, "cpu_asked").sum())),
        ("sectors that loads ask of L2",
         stats["l2_load_sectors"] + sum(sectors(r["words"]) for r in on_way), requested),
        ("sectors that stores bring to L2", stats["l2_store_sectors"],
         stats["global_store_sectors"] + stats["local_writeback_sectors"]),
        ("sectors of atomics", stats["l2_atomic_sectors"], stats["global_atomic_sectors"]),
        ("answers", stats["answers"], packets - len([r for r in loads if r not in answered and r not in on_way])),
        ("bytes of requests that have come", stats["request_bytes"],
         header * (packets + device.get("waiting_at_slices"))
         + SECTOR_BYTES * (stats["l2_store_sectors"] + stats["l2_atomic_sectors"])),
        ("bytes of answers that have come", stats["response_bytes"],
         header * (stats["answers"] - len(answered))
         + SECTOR_BYTES * (stats["answer_sectors"] - sum(sectors(r["words"]) for r in answered))),
        ("rows of DRAM opened and not closed", sum(s["dram_activations"] - s["dram_precharges"] for s in (stats, far)),
         int((engine.get(device.g, 0, "bank_row") > 0).sum())),
        ("blocks", stats["blocks_dispatched"], stats["blocks_retired"]),
    )  # fmt: skip
    broken = [f"{what}: {found}, not {right}" for what, found, right in laws if found != right]
    links = (
        ("requests", stats["request_bytes"], net.request_bytes * sms),
        ("answers", stats["response_bytes"], net.response_bytes * sms),
        ("DRAM", stats["dram_bytes"] - not_moved(device, cycles), machine.bytes_per_cycle_per_sm * sms),
    )
    if machine.far is not None and far:
        moved = far["dram_bytes"] - not_moved(device, cycles, far=True)
        links += (("far DRAM", moved, machine.far.bytes_per_cycle_per_sm * sms),)
    broken += [f"{what}: {moved} bytes in {cycles} cycles, at most {peak:.2f} a cycle" for what, moved, peak in links
               if moved > peak * cycles]  # fmt: skip
    parts = (queue_violations, tagged_violations, share_violations, profile_violations)
    return broken + [violation for part in parts for violation in part(device, stats)]


def tagged_violations(device: LaunchedDevice, stats: dict[str, Any]) -> list[str]:
    """What the instruction cache and the constant cache of a run that has ended cannot have counted."""
    machine, broken = device.machine, []
    issues = {"instruction": stats["warp_instructions"], "constant": _operands(device)}
    loads = {"instruction": 0, "constant": stats["const_loads"]}
    for kind, cache in (("instruction", machine.instruction_cache), ("constant", machine.constant_cache)):
        hits, misses, sectors = (stats[f"{kind}_{name}"] for name in ("hits", "misses", "fill_sectors"))
        looks, reached = hits + misses, stats[f"l2_{kind}_hits"] + stats[f"l2_{kind}_misses"]
        if cache is None or not cache.enabled:
            if looks or sectors or reached or stats["stalls"]["instruction_fetch" if kind == "instruction" else kind]:
                broken.append(f"{kind} cache that is off: {looks} looks, {sectors} sectors, {reached} loads of L2")
            continue
        fewest, most = issues[kind] + loads[kind], issues[kind] + LANES * loads[kind]
        if not fewest <= looks <= most:
            broken.append(f"{kind} cache: {looks} looks, not {fewest} to {most}")
        asked = misses + (stats["instruction_prefetches"] if kind == "instruction" else 0)
        if sectors * SECTOR_BYTES > asked * cache.line_bytes or reached * cache.line_bytes > sectors * SECTOR_BYTES:
            broken.append(f"{kind} cache: {sectors} sectors for {asked} lines, {reached} loads of L2")
    return broken


def _operands(device: LaunchedDevice) -> int:
    """Instructions with a constant operand that have been issued."""
    return int(device.memories.counts[device.memories.program[:, Column.CONSTANT] > 0].sum())


def queue_violations(device: LaunchedDevice, stats: dict[str, Any]) -> list[str]:
    """What queues and banks cannot have held."""
    machine, cycles = device.machine, stats["cycles"]
    broken = []
    for name, queue in stats["queues"].items():
        beyond = name == "dram_queue" and not machine.l2.caches_data  # what atomics past L2 write is not bounded
        if queue["most"] > queue["places"] and not beyond:
            broken.append(f"{name}: {queue['most']} entries in {queue['places']} places")
        if not 0 <= queue["entry_cycles"] <= queue["most"] * queue["queues"] * cycles:
            broken.append(f"{name}: {queue['entry_cycles']} entry cycles, never more than {queue['most']} entries")
        if not 0 <= queue["full_cycles"] * queue["places"] <= queue["entry_cycles"]:
            broken.append(f"{name}: full for {queue['full_cycles']} cycles, {queue['entry_cycles']} entry cycles")
    banks, busy = stats["dram_bank_ticks"], stats["dram_busy_ticks"]
    if not busy <= banks <= busy * int(device.engine.get(device.g, 0, "dram_banks")[0]):
        broken.append(f"DRAM: banks busy for {banks} ticks, {busy} ticks with one busy")
    return broken


def share_violations(device: LaunchedDevice, stats: dict[str, Any]) -> list[str]:
    """What DRAM's commands for single objects, and in profiled runs for single instructions, do not add up to."""
    engine, g = device.engine, device.g
    tables = {}
    if device.get("by_object"):
        tables["object"] = [share.counts for share in dram_shares(engine, g, device.objects)]
    if device.get("profile"):
        causes = DramCauses(engine, g)
        words = causes.of_words(0, len(device.memories.program))
        of_words = tuple(DramCounts(*(int(counts.sum()) for counts in table.values())) for table in words)
        tables["instruction"] = [of_words, *causes.of_no_word().values()]
    of_run = [stats, *([stats["far_dram"]] if "far_dram" in stats else [])]
    broken = []
    for what, rows in tables.items():
        for m, wanted in enumerate(of_run):
            found = tuple(sum(counts) for counts in zip(*(row[m] for row in rows), strict=True))
            right = tuple(wanted[f"dram_{name}"] for name in COMMANDS)
            if found != right or {len(row) for row in rows} != {len(of_run)}:
                broken.append(f"{', '.join(COMMANDS)} of memory {m} by {what}: {found}, not {right}")
    return broken


def profile_violations(device: LaunchedDevice, stats: dict[str, Any]) -> list[str]:
    """What single instructions do not add up to, in a profiled run."""
    if not device.get("profile"):
        return []
    found = collect_profile(device).values()
    stalls = {name: sum(int(p.stalls[name].sum()) for p in found) for name in REASONS}
    broken = [f"stall {name} by instruction: {n}, not {stats['stalls'][name]}" for name, n in stalls.items()
              if n != stats["stalls"][name]]  # fmt: skip
    counted = {name: sum(int(p.counters[name].sum()) for p in found) for name in COUNTED}
    broken += [f"{name} by instruction: {n}, not {stats[name]}" for name, n in counted.items() if n != stats[name]]
    for p in found:
        wrong = (p.latencies > p.counters["warp_instructions"]) | (p.latency_max * p.latencies < p.latency_sum)
        if (wrong | (p.latency_sum < p.latencies)).any():
            broken.append("latencies of single instructions")
    return broken


def watch_runs() -> None:
    """Every run from here on ends with a look at what it conserved. The `python` engine's are profiled, too."""
    usual, watch = emulator._result, LaunchedDevice.watch

    def profiled(device: LaunchedDevice, check: bool, race: bool, model: str) -> None:
        watch(device, check, race, model)
        if device.engine.name == "python" and not device.get("profile"):
            device.profile()
            device.put("by_object", 1)

    LaunchedDevice.watch = profiled  # type: ignore[method-assign]

    def result(device: LaunchedDevice, resident: int, contents: bool) -> emulator.Result:
        broken = violations(device)
        assert not broken, f"{device.kernel.name} on {device.machine.name}: " + "; ".join(broken)
        return usual(device, resident, contents)

    emulator._result = result
