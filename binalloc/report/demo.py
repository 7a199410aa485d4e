"""The main job: every sample through the whole path, one row each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.errors import UsageError
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.models.machine import Machine
    from binalloc.pipeline import Outcome, Request, Version


def run_demo(
    samples: str, names: list[str], machine: Machine, engine: str, size: str | None, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """One dictionary per sample. Raises UsageError where the folder holds none of that name."""
    folder = Path(samples)
    found = sorted(p.stem for p in folder.glob("*.loom"))
    for name in names:
        if name not in found:
            raise UsageError("no such sample", file=str(folder), found=name, expected=", ".join(found) or "none")
    if not found:
        raise UsageError("no samples here", file=str(folder), remedy="Run it in the repository, or give --samples.")
    stems = [folder / name for name in names or found]
    workers = min(len(stems), os.cpu_count() or 1)
    if workers == 1:
        return [_row(stem, machine, engine, size, progress) for stem in stems]
    return _in_parallel(stems, workers, machine, engine, size, progress)


def _in_parallel(
    stems: list[Path],
    workers: int,
    machine: Machine,
    engine: str,
    size: str | None,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """One process per core; the emulator is compiled once, here, and read from its cache there."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from binalloc.emulator.warm import warm_up

    progress("compiling the emulator (first run only)" if engine == "numba" else "starting")
    warm_up(engine)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        jobs = [pool.submit(_row, stem, machine, engine, size) for stem in stems]
        names = {job: stem.name for job, stem in zip(jobs, stems, strict=True)}
        waiting = sorted(names.values())
        progress(f"running {', '.join(waiting)}")
        for job in as_completed(jobs):
            waiting.remove(names[job])
            progress(f"{names[job]} done; running {', '.join(waiting)}")
        return [job.result() for job in jobs]


def _silent(_: str) -> None:
    """Worker processes do not write to the terminal."""


def _row(
    stem: Path, machine: Machine, engine: str, size: str | None, progress: Callable[[str], None] = _silent
) -> dict[str, Any]:
    from binalloc.emulator.launch import load_launch
    from binalloc.isa.container import load
    from binalloc.pipeline import Request, rewrite_kernel

    module = load(stem.with_suffix(".loom"))
    launch = load_launch(stem.with_suffix(".toml"), size)
    request = Request(launch.kernel, machine, launch, engine=engine, progress=progress)
    outcome = rewrite_kernel(module, request)
    local = outcome.local
    return {
        "sample": stem.name,
        "verified": outcome.verified and _matches_reference(request, outcome.rewritten),
        "rewritten": not outcome.kept_original,
        "reason": outcome.reason,
        "original": outcome.original.to_dict(),
        "local": local.to_dict() if local else None,
        "best": outcome.rewritten.to_dict(),
        "speedup": outcome.speedup,
        "parts": outcome.parts,
        "unified": _unified_choice(module, request, outcome),
        "levels": outcome.to_dict()["levels"],
    }


def _matches_reference(request: Request, version: Version) -> bool:
    """The buffers against the launch file's own reference, computed with NumPy."""
    from binalloc.emulator.launch import compare, reference_outputs

    launch = request.launch
    if launch is None or launch.reference is None:
        return True
    expected = reference_outputs(launch, launch.make_buffers())
    return not compare(launch, expected, {name: version.buffers[name] for name in expected})


def _unified_choice(module: Any, request: Request, outcome: Outcome) -> dict[str, Any]:
    """What the paper's static policy would have chosen, and its speedup where the levels measured tell it."""
    from binalloc.pipeline import rewrite_kernel

    static = rewrite_kernel(module, replace(request, policy="unified", emulate=False))
    blocks = static.rewritten.blocks_per_sm
    cycles = outcome.original.cycles if static.kept_original else None
    for t in outcome.tried:
        if not static.kept_original and t.version is not None and t.version.blocks_per_sm == blocks:
            cycles = t.version.cycles
    speedup = outcome.original.cycles / cycles if outcome.original.cycles and cycles else None
    return {"blocks_per_sm": blocks, "kept_original": static.kept_original, "reason": static.reason, "speedup": speedup}


def render_demo(rows: list[dict[str, Any]], machine: str) -> str:
    """The table `make demo` prints, and how to read it."""
    lines = [f"Samples on {machine}; cycles are emulated on one SM with its share of the bandwidth.\n\n"]
    header = ["sample", "version", "registers", "slots", "local B", "blocks", "instructions", "cycles", "speedup", "ok"]
    body: list[list[object]] = []
    for row in rows:
        base = row["original"]["cycles"]
        for label in ("original", "local", "best"):
            v = row[label]
            if v is None or (label == "best" and not row["rewritten"]):
                continue
            ok = row["verified"] if label == "best" or not row["rewritten"] else None
            body.append([row["sample"] if label == "original" else "", label, v["registers"], v["slots"]])
            body[-1] += [v["local_bytes"], v["blocks_per_sm"], v["instructions"], v["cycles"], base / v["cycles"], ok]
    lines.append(table(header, body, left=2) + "\n")
    for row in rows:
        lines.append(_explain(row))
    good = sum(1 for r in rows if r["speedup"] and r["speedup"] >= 1.2)
    lines.append(f"\n{sum(r['rewritten'] for r in rows)} of {len(rows)} rewritten, {good} at 1.2x or more.\n")
    return "".join(lines)


def _explain(row: dict[str, Any]) -> str:
    unified = row["unified"]
    choice = "the original" if unified["kept_original"] else f"{unified['blocks_per_sm']} blocks"
    gain = f" ({unified['speedup']:.3f}x)" if unified["speedup"] and not unified["kept_original"] else ""
    if row["rewritten"]:
        parts = " x ".join(f"{name} {value:.3f}" for name, value in row["parts"].items())
        text = f"{row['sample']}: {row['speedup']:.3f}x = {parts}"
    else:
        text = f"{row['sample']}: kept as it is, {row['reason']}"
    return f"{text}; policy unified would choose {choice}{gain}: {unified['reason']}\n"
