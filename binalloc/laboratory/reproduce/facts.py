"""The figures of a reproduction, emulated ones beside the paper's, are made into the dictionary that JSON prints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

from binalloc.laboratory.papers.by_registers import RegisterCurve
from binalloc.laboratory.papers.reproduce import OURS, PLAIN, PolicyTaken, ReproducedCase, judged_claims
from binalloc.laboratory.papers.unified import FIGURE1_BEST
from binalloc.pipeline.steps.row import Row, known
from binalloc.pipeline.sweeping.sweep import Tally

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.laboratory import (
        CurvePoint,
        Figure1Curve,
        PaperAndHere,
        ReadingChoice,
        ReproducedKernel,
        ReproducedLevel,
        ReproducedMachine,
        ReproductionJson,
        Table1Row,
    )

_TOP = 2  # reasons for empty issue slots that are shown for a version: a sentence with two versions has four


def reproduction_json(
    points: Sequence[ReproducedCase], curves: Sequence[RegisterCurve], tally: Tally, partial: bool, cache: str
) -> ReproductionJson:
    """Return the object that `reproduce --json` prints.

    tally: runs made and runs found in the cache. partial: whether the sweep was interrupted. cache: its folder.
    """
    return {
        "partial": partial,
        "cache": cache,
        "done": tally.done,
        "cached": tally.cached,
        "machines": [_of_machine(name, [p for p in points if _machine(p) == name]) for name in _machines(points)],
        "kernels": [_of_point(point, points) for point in points],
        "figure1": [_of_curve(curve) for curve in curves],
    }


def _machine(point: ReproducedCase) -> str:
    return point.case.subject.machine.name


def _machines(points: Sequence[ReproducedCase]) -> list[str]:
    return list(dict.fromkeys(_machine(point) for point in points))


def _of_machine(name: str, points: Sequence[ReproducedCase]) -> ReproducedMachine:
    """Return the automatic choice's share of the best level's speedup, over all kernels that ran."""
    shares = [auto / best for p in points if (auto := p.automatic) and (best := p.speedup(p.best))]
    return {
        "machine": name,
        "auto_over_best": round(geometric_mean(shares), 4) if shares else None,
        "least_auto_over_best": round(min(shares), 4) if shares else None,
    }


def _of_point(point: ReproducedCase, points: Sequence[ReproducedCase]) -> ReproducedKernel:
    case, subject = point.case, point.case.subject
    best, worst = point.best, point.worst
    return {
        "machine": _machine(point),
        "kernel": subject.kernel,
        "domain": case.benchmark.domain,
        "sample": case.stated.sample,
        "block": list(subject.launch.block),
        "block_is": case.benchmark.block,
        "original_blocks": point.original.blocks_per_sm,
        "input_cycles": point.original.cycles,
        "original_cycles": point.base.cycles,
        "auto": point.automatic,
        "auto_blocks": point.auto.blocks,
        "auto_reason": point.auto.reason,
        "best": point.speedup(best),
        "best_blocks": best.blocks,
        "best_allocator": best.allocator,
        "worst": point.speedup(worst),
        "worst_blocks": worst.blocks,
        "worst_allocator": worst.allocator,
        "unified": {name: _taken(point, taken) for name, taken in point.unified.items()},
        "table1": _table1(point),
        "stated": [
            {"claim": str(claim), "holds": so}
            for claim, so in judged_claims(point, _elsewhere(point, points)).items()
        ],
        "stalls": {"original": _stalls(point.base), "auto": _stalls(point.auto.row), "best": _stalls(best)},
        "levels": [_level(row, point.speedup(row)) for row in (point.original, *point.levels)],
    }


def _level(row: Row, speedup: float | None) -> ReproducedLevel:
    return {
        "allocator": row.allocator,
        "blocks": row.blocks,
        "status": row.status,
        "reason": row.reason,
        "registers": row.registers,
        "slots": row.slots,
        "local_bytes": row.local_bytes,
        "blocks_per_sm": row.blocks_per_sm,
        "occupancy": row.occupancy,
        "instructions": row.instructions,
        "cycles": row.cycles,
        "same_results": row.same_results,
        "proven": row.proven,
        "speedup": speedup,
    }


def _of_curve(curve: RegisterCurve) -> Figure1Curve:
    """Return a curve of Fig. 1."""
    best, kernel = curve.best, curve.subject.kernel
    return {
        "machine": curve.subject.machine.name,
        "kernel": kernel,
        "sample": curve.sample,
        "demand": curve.demand,
        "best_registers": {
            "paper": FIGURE1_BEST.get(kernel),
            "here": None if best is None else best.registers_allowed,
        },
        "points": [_curve_point(row, time) for row, time in zip(curve.rows, curve.milliseconds, strict=True)],
    }


def _curve_point(row: Row, time: float | None) -> CurvePoint:
    return {
        "registers_allowed": known(row.registers_allowed),
        "milliseconds": None if time is None else round(time, 6),
        "status": row.status,
        "reason": row.reason,
        "registers": row.registers,
        "local_bytes": row.local_bytes,
        "blocks_per_sm": row.blocks_per_sm,
        "occupancy": row.occupancy,
        "cycles": row.cycles,
        "same_results": row.same_results,
    }


def _taken(point: ReproducedCase, taken: PolicyTaken) -> ReadingChoice:
    return {"blocks": taken.blocks, "speedup": point.gain(taken), "reason": taken.reason}


def _elsewhere(point: ReproducedCase, points: Sequence[ReproducedCase]) -> ReproducedCase | None:
    """Return the same benchmark on another machine, None if it is not among the points."""
    others = [p for p in points if p.case.benchmark is point.case.benchmark and _machine(p) != _machine(point)]
    return others[0] if others else None


def _table1(point: ReproducedCase) -> Table1Row:
    """Return each column of Table 1: the paper's figure, and the emulated one."""
    stated, subject = point.case.stated, point.case.subject
    at_auto = point.at_auto
    return {
        "register_demand": _pair(stated.demand, point.demand),
        "user_shared_bytes_per_thread": _pair(stated.user_shared, round(point.character.user_shared, 4)),
        "instruction_change": _pair(stated.instruction_change, point.auto.row.instruction_change),
        "miss_percent": _pair(stated.misses, _misses(at_auto.get(OURS, point.original))),
        "miss_percent_local_only": _pair(stated.misses_local, _misses(at_auto.get(PLAIN, point.original))),
        "dispatch_interval": round(float(point.character.interval), 4),
        "threads_per_block": subject.launch.threads_per_block,
    }


def _pair(paper: float, here: float | None) -> PaperAndHere:
    return {"paper": paper, "here": here}


def _misses(row: Row) -> float | None:
    """Return L1's misses in percent of its accesses; 0 without accesses, None if the version did not run."""
    asked, missed = row.l1_accesses, row.l1_misses
    if asked is None or missed is None:
        return None
    return round(100 * missed / asked, 2) if asked else 0.0


def _stalls(row: Row) -> dict[str, float]:
    """Return the `_TOP` most frequent reasons for empty issue slots, each with its share of all issue slots."""
    most = sorted(((share, name) for name, share in row.stalls.items()), reverse=True)
    return {name: round(share, 3) for share, name in most[:_TOP]}
