"""Runs become the rows of the sharing paper's figures here, with what the paper prints of them beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, cast

from binalloc.laboratory.sharing.figures import (
    ALONE,
    BLOCKS,
    CYCLES,
    FIGURE,
    GAIN,
    INSTRUCTIONS,
    IPC,
    LIVES,
    PAIRED,
    REDUCTION,
    Bar,
    Figure,
)
from binalloc.laboratory.sharing.paper import MACHINE, Benchmark
from binalloc.laboratory.sharing.published import MEANS_OF, PRINTED
from binalloc.laboratory.sharing.task import UNSHARED
from binalloc.laboratory.sharing.variations import CLUSTERS, SHARED_48, SHARED_64
from binalloc.models.machines.reader import load_machine

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.sharing.paired import (
        MergedKernelJson,
        MergedRunJson,
        MergedSchemeJson,
        PairedRunJson,
        SharedKernelJson,
        SharedStepJson,
    )
    from binalloc.report.shapes.parts.sharing.paired_figures import FigureJson, FigureMeanJson, FigureRowJson

    Run = PairedRunJson | SharedStepJson | MergedRunJson

_FIELD = {CYCLES: "cycles", INSTRUCTIONS: "instructions", IPC: "ipc", GAIN: "ipc", REDUCTION: "cycles"}
OWN_ORDER = "nothing is shared: owner warp first is `oldest` then"


class Runs:
    """Runs are found by machine, sample and name."""

    def __init__(self, kernels: Sequence[SharedKernelJson], merged: Sequence[MergedKernelJson]) -> None:
        self._kernels = {(k["machine"], k["sample"]): k for k in kernels if k["status"] == "ok"}
        self._merged = {k["sample"]: k for k in merged if k["status"] == "ok"}

    def run(self, benchmark: Benchmark, name: str, machine: str) -> Run | None:
        """Return a run, None if there is none. Of blocks that could share nothing it is the unshared one under the
        scheduler that a step amounts to."""
        for start, part in ((ALONE, "alone"), (PAIRED, "shared")):
            if name.startswith(start):
                scheme = self._scheme(benchmark, name.removeprefix(start))
                return None if scheme is None else cast("Run | None", scheme[part])  # type: ignore[literal-required]
        kernel = self._kernels.get((machine, benchmark.sample))
        if kernel is None:
            return None
        if name in UNSHARED:
            return kernel["unshared"].get(name)
        if not kernel["shared"]:
            return kernel["unshared"].get("lrr" if name == "noopt" else "oldest")
        return kernel["shared"].get(name)

    def blocks(self, benchmark: Benchmark, name: str, machine: str) -> int | None:
        """Return the blocks that an SM held in a run, None if there is none."""
        run = self.run(benchmark, name, machine)
        if run is None:
            return None
        held = run.get("blocks", self._kernels[machine, benchmark.sample]["blocks"])
        assert isinstance(held, int)
        return held

    def notes(self, figure: Figure, benchmark: Benchmark) -> Iterator[str]:
        """Yield why some runs of a row are not there, or are others than their names say."""
        for machine in dict.fromkeys(bar.machine for bar in figure.bars):
            kernel = self._kernels.get((machine, benchmark.sample))
            if kernel is not None and kernel["reason"]:
                where = "" if machine == MACHINE else f" on {machine}"
                yield f"{OWN_ORDER}{where}"
        for bar in figure.bars:
            if bar.run.startswith(PAIRED):
                scheme = self._scheme(benchmark, bar.run.removeprefix(PAIRED))
                if scheme is not None and scheme["reason"]:
                    unproven = "not proven: " if scheme["shared"] is not None else ""
                    yield f"{bar.series}: {unproven}{scheme['reason']}"

    def _scheme(self, benchmark: Benchmark, name: str) -> MergedSchemeJson | None:
        kernel = self._merged.get(benchmark.sample)
        found = [one for one in kernel["schemes"] if one["scheme"] == name] if kernel is not None else []
        return found[0] if found else None


def value(runs: Runs, figure: Figure, bar: Bar, benchmark: Benchmark) -> float | None:
    """Return the height of a bar, None if a run is missing."""
    run = runs.run(benchmark, bar.run, bar.machine)
    if run is None:
        return None
    if figure.shows == BLOCKS:
        return runs.blocks(benchmark, bar.run, bar.machine)
    if figure.shows == LIVES:
        lives = run.get("lives")
        assert lives is None or isinstance(lives, list)
        return round(100 * lives[bar.phase] / sum(lives), 1) if lives and sum(lives) else None
    own = float(run[_FIELD[figure.shows]])  # type: ignore[literal-required]
    if figure.shows not in (GAIN, REDUCTION):
        other = runs.run(benchmark, bar.minus, bar.machine) if bar.minus else None
        return own if other is None else own - float(other[_FIELD[figure.shows]])  # type: ignore[literal-required]
    base = base_of(runs, figure, bar, benchmark)
    if base is None:
        return None
    over = float(base[_FIELD[figure.shows]])  # type: ignore[literal-required]
    return round(100 * (own / over - 1), 2) if figure.shows == GAIN else round(100 * (1 - own / over), 2)


def base_of(runs: Runs, figure: Figure, bar: Bar, benchmark: Benchmark) -> Run | None:
    """Return the run over which a bar's gain is."""
    if figure.over is None:
        return runs.run(benchmark, bar.over or "lrr", bar.machine)
    return runs.run(benchmark, figure.over.run, figure.over.machine)


def figures_json(runs: Runs, numbers: Sequence[str]) -> Iterator[FigureJson]:
    """Yield the figures and tables with these numbers; those without any run have no rows."""
    for number in numbers:
        yield _figure(runs, FIGURE[number]) if number in FIGURE else _MACHINES[number]()


def _figure(runs: Runs, figure: Figure) -> FigureJson:
    rows: list[FigureRowJson] = []
    for benchmark in figure.rows:
        ours = [value(runs, figure, bar, benchmark) for bar in figure.bars]
        if any(one is not None for one in ours):
            printed = [_printed(figure.number, bar.series, benchmark.kernel) for bar in figure.bars]
            note = "; ".join(dict.fromkeys(runs.notes(figure, benchmark)))
            rows.append({"row": benchmark.kernel, "ours": ours, "paper": printed, "note": note})
    means = list(_means(figure, rows)) if figure.shows in (GAIN, REDUCTION) else []
    return {
        "figure": figure.number, "title": figure.title, "shows": figure.shows,
        "series": [bar.series for bar in figure.bars], "rows": rows, "means": means,
    }  # fmt: skip


def _printed(number: str, series: str, row: str) -> float | None:
    return PRINTED.get(number, {}).get(series, {}).get(row)


def _means(figure: Figure, rows: Sequence[FigureRowJson]) -> Iterator[FigureMeanJson]:
    """Yield the geometric mean of each series, beside the paper's where all kernels of the figure were run."""
    sign = 1 if figure.shows == GAIN else -1
    for k, bar in enumerate(figure.bars):
        found = [one for row in rows if (one := row["ours"][k]) is not None]
        if found:
            mean = geometric_mean(1 + sign * one / 100 for one in found)
            paper = MEANS_OF.get(figure.number, {}).get(bar.series) if len(found) == len(figure.rows) else None
            yield {
                "series": bar.series, "kernels": len(found), "ours": round(100 * sign * (mean - 1), 2), "paper": paper,
            }  # fmt: skip


def _table_viii() -> FigureJson:
    rows = {}
    for k, name in enumerate((SHARED_48, SHARED_64), 1):
        sm = load_machine(name).sm
        rows[f"Configuration-{k}"] = name, [sm.shared_per_sm, sm.blocks_per_sm, sm.threads_per_sm]
    return _machines("VIII", ["bytes of shared memory", "blocks", "threads"], rows)


def _table_xii() -> FigureJson:
    rows = {}
    for k, name in enumerate(CLUSTERS, 1):
        chip = load_machine(name).chip
        rows[f"SM Config-{k}"] = name, [chip.sms, chip.sms // chip.sms_per_port, chip.sms_per_port]
    return _machines("XII", ["SMs", "clusters", "SMs per cluster"], rows)


def _machines(number: str, series: list[str], rows: dict[str, tuple[str, list[int]]]) -> FigureJson:
    found: list[FigureRowJson] = [
        {"row": row, "ours": [float(one) for one in ours], "paper": [_printed(number, one, row) for one in series],
         "note": name}
        for row, (name, ours) in rows.items()
    ]  # fmt: skip
    title = "machines"
    return {"figure": number, "title": title, "shows": title, "series": series, "rows": found, "means": []}


_MACHINES = {"VIII": _table_viii, "XII": _table_xii}
