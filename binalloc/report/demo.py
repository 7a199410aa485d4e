"""The main job: every sample through the whole path, one row each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.files import text_of
from binalloc.printable import count
from binalloc.report.samples import beside, choose_samples
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.pipeline import Outcome, Request, Version


def run_demo(
    samples: str,
    names: list[str],
    machine: Machine,
    engine: str,
    scheduler: str,
    size: str | None,
    progress: Callable[[str], None],
    max_cycles: int | None,
) -> Iterator[dict[str, Any]]:
    """One dictionary per sample (`choose_samples`), in their order: a .loom binary, or imported PTX."""
    stems = choose_samples(Path(samples), names)
    workers = min(len(stems), os.cpu_count() or 1)
    if workers == 1:
        return (_row(stem, machine, engine, scheduler, size, max_cycles, progress) for stem in stems)
    return _in_parallel(stems, workers, machine, engine, scheduler, size, max_cycles, progress)


def _in_parallel(
    stems: list[Path],
    workers: int,
    machine: Machine,
    engine: str,
    scheduler: str,
    size: str | None,
    max_cycles: int | None,
    progress: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """One process per core; the emulator is compiled once, here, and read from its cache there. On Ctrl-C what has
    ended by then comes before it goes on."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    from binalloc.emulator.runs.warm import warm_up

    progress("compiling the emulator (first run only)" if engine == "numba" else "starting")
    warm_up(engine)
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_ignore_interrupts) as pool:
        jobs = [pool.submit(_row, stem, machine, engine, scheduler, size, max_cycles) for stem in stems]
        names = {job: stem.name for job, stem in zip(jobs, stems, strict=True)}
        waiting = sorted(names.values())
        progress(f"running {', '.join(waiting)}")
        given = 0
        try:
            for job in as_completed(jobs):
                waiting.remove(names[job])
                progress(f"{names[job]} done; running {', '.join(waiting)}")
                while given < len(jobs) and jobs[given].done():
                    given += 1
                    yield jobs[given - 1].result()
        except KeyboardInterrupt:
            done = [job.result() for job in jobs[given:] if job.done() and job.exception() is None]
            for child in active_children():
                child.terminate()
            yield from done
            raise


def _ignore_interrupts() -> None:
    """Ctrl-C comes to all processes of a terminal: workers leave it to the one that started them."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _silent(_: str) -> None:
    """Worker processes do not write to the terminal."""


def _row(
    stem: Path,
    machine: Machine,
    engine: str,
    scheduler: str,
    size: str | None,
    max_cycles: int | None,
    progress: Callable[[str], None] = _silent,
) -> dict[str, Any]:
    from binalloc.launch.file import load_launch
    from binalloc.pipeline.pipeline import Request, find_kernel, rewrite_kernel

    module = _module(stem, machine)
    launch = load_launch(beside(stem, ".toml"), size)
    name = find_kernel(module, launch.kernel).name
    request = Request(
        name, machine, launch, engine=engine, scheduler=scheduler, max_cycles=max_cycles, progress=progress
    )
    outcome = rewrite_kernel(module, request)
    versions, told = _versions(request, outcome), outcome.to_dict()
    return {
        "sample": stem.name,
        "kernel": name,
        "verified": outcome.verified and all(v["verified"] for v in versions.values() if v is not None),
        "rewritten": not outcome.kept_original,
        "by_order_alone": outcome.by_order_alone,
        "reason": outcome.reason,
        **versions,
        "speedup": told["speedup"],
        "ordering": told["ordering"],
        "rescheduling": told["rescheduling"],
        "parts": told["speedup_parts"],
        "unified": _unified_choice(module, request, outcome),
        "nearest": _nearest(outcome) if outcome.kept_original or outcome.by_order_alone else None,
        "levels": told["levels"],
    }


def _module(stem: Path, machine: Machine) -> Module:
    """The sample's binary; from PTX if there is none."""
    from binalloc.frontend.importer import import_ptx
    from binalloc.isa.sets.files import load

    binary, source = beside(stem, ".loom"), beside(stem, ".ptx")
    if binary.exists():
        return load(binary)
    return import_ptx(text_of(source.read_bytes()), source.name, machine=machine).module


def _versions(request: Request, outcome: Outcome) -> dict[str, dict[str, Any] | None]:
    """original, ordered (where speedups are over that), local and best, each with its own verdict: results as the
    launch file's reference says (computed with NumPy), or as the original's where there is none. Rewritten ones
    have passed the checker before."""
    from binalloc.pipeline.pipeline import same_results

    out: dict[str, dict[str, Any] | None] = {}
    ordered = None if outcome.original is outcome.given else outcome.original
    found = {"original": outcome.given, "ordered": ordered, "local": outcome.local, "best": outcome.rewritten}
    for name, version in found.items():
        if version is None:
            out[name] = None
            continue
        same = same_results(request, outcome.given, version) is True and _matches_reference(request, version)
        out[name] = {**version.to_dict(), "verified": bool(same)}
    return out


def _nearest(outcome: Outcome) -> dict[str, Any] | None:
    """The fastest of the levels that did not beat the original."""
    ran = [t for t in outcome.tried if t.version is not None and t.version.cycles is not None]
    measured = [t for t in ran if t.version is not outcome.original]
    if not measured or outcome.original.cycles is None:
        return None
    t = min(measured, key=lambda t: (t.version.cycles or 0) if t.version else 0)
    assert t.version is not None
    assert t.version.cycles is not None
    return {**t.version.to_dict(), "speedup": round(outcome.original.cycles / t.version.cycles, 4)}


def _matches_reference(request: Request, version: Version) -> bool:
    """The buffers against the launch file's own reference, computed with NumPy."""
    from binalloc.launch.file import compare, reference_outputs

    launch = request.launch
    if launch is None or launch.reference is None:
        return True
    expected = reference_outputs(launch, launch.make_buffers())
    return not compare(launch, expected, {name: version.buffers[name] for name in expected})


def _unified_choice(module: Any, request: Request, outcome: Outcome) -> dict[str, Any]:
    """What the paper's static policy would have chosen, and what that would have given."""
    from binalloc.pipeline.pipeline import measure, rewrite_kernel

    static = rewrite_kernel(module, replace(request, policy="unified", emulate=False))
    chosen = static.rewritten
    cycles = outcome.original.cycles if static.kept_original else None
    for t in outcome.tried:
        same = t.version is not None and (t.version.registers, t.version.slots) == (chosen.registers, chosen.slots)
        if not static.kept_original and same and t.version and t.version.blocks_per_sm == chosen.blocks_per_sm:
            cycles = t.version.cycles
    if cycles is None:
        cycles = measure(chosen, request).cycles
    speedup = round(outcome.original.cycles / cycles, 4) if outcome.original.cycles and cycles else None
    return {
        "blocks_per_sm": chosen.blocks_per_sm,
        "registers": chosen.registers,
        "slots": chosen.slots,
        "kept_original": static.kept_original,
        "reason": static.reason,
        "speedup": speedup,
    }


def render_demo(rows: list[dict[str, Any]], machine: str, scheduler: str) -> str:
    """The table `make demo` prints, and how to read it."""
    lines = [f"Samples on {machine}; cycles are emulated on one SM with its share of the bandwidth"]
    lines.append(f", warp scheduler {scheduler}.\n\n")
    header = ["sample", "version", "registers", "slots", "local B", "blocks", "instructions", "cycles", "speedup"]
    body: list[list[object]] = []
    for row in rows:
        base = (row["ordered"] or row["original"])["cycles"]
        for label in ("original", "ordered", "local", "best"):
            v = row[label]
            if v is None or (label == "best" and not _gains(row)):
                continue
            body.append([row["sample"] if label == "original" else "", label, v["registers"], v["slots"]])
            body[-1] += [v["local_bytes"], v["blocks_per_sm"], v["instructions"], v["cycles"], base / v["cycles"]]
            body[-1].append(v["verified"])
    lines.append(table([*header, "verified"], body, left=2) + "\n")
    lines += [_explain(row) for row in rows]
    good = sum(1 for r in rows if r["speedup"] and r["speedup"] >= 1.2)
    done, ordered = sum(map(_gains, rows)), sum(r["by_order_alone"] for r in rows)
    lines.append(f"\n{done} of {len(rows)} rewritten, {good} at 1.2x or more; {ordered} more in another order only.\n")
    lines.append(_FOOT)
    return "".join(lines)


_FOOT = """\
original: rescheduled by the same pass; ordered: the original in another order, where that is faster,
and speedups are over it; local: spills to local memory only, at best's number of blocks; best: with
shared-memory slots. verified: symbolic check passed, results as the reference's.
"""


def _gains(row: dict[str, Any]) -> bool:
    """Whether there is something better than any order of the original."""
    return bool(row["rewritten"]) and not row["by_order_alone"]


def _level(v: dict[str, Any]) -> str:
    """A version's blocks, registers and slots."""
    return f"{count(v['blocks_per_sm'], 'block')}, {count(v['registers'], 'register')}, {count(v['slots'], 'slot')}"


def _explain(row: dict[str, Any]) -> str:
    """The speedup's parts, or why there is none; then what the static policy would have done."""
    if _gains(row):
        parts = " x ".join(f"{name} {value:.3f}" for name, value in row["parts"].items())
        text = f"{row['sample']}: {row['speedup']:.3f}x = {parts}"
    else:
        kept = f"{row['ordering']:.3f}x by order alone" if row["by_order_alone"] else "kept as it is"
        text = f"{row['sample']}: {kept}, {row['reason']}"
        if row["nearest"]:
            n = row["nearest"]
            text += f" (nearest: {_level(n)}, {count(n['local_bytes'], 'local byte')}: {n['speedup']:.3f}x)"
    if row["rescheduling"] is not None and abs(row["rescheduling"] - 1) >= 0.0005:
        text += f"; rescheduling alone gave {row['rescheduling']:.3f}x, which is not counted"
    unified = row["unified"]
    last = unified["reason"].rsplit("; ", 1)[-1]
    if unified["kept_original"]:
        return f"{text}\n  policy unified: the original ({last})\n"
    choice = _level(unified)
    return f"{text}\n  policy unified: {choice}, {unified['speedup']:.3f}x ({last})\n"
