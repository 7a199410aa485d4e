"""Spill code of our allocators beside that of ptxas, on the same PTX under the same register caps.

    python -m tests.benchmarks.transform.against_ptxas [--caps 24,32,40] [--arch sm_75,sm_80,sm_90] [--allocator best]
        [--slots 0] [--smem] [--no-check] [FILE.ptx ...]

Per kernel and cap: bytes that spill loads and stores move (static: each instruction once), and the same weighted by 10
per loop depth and by the weight of call sites, from the control flow of either side's own code. On our side that is
LDL and STL marked .SPILL, with --slots LDS and STS too. Words of local arrays that we keep in registers count when
they are spilled again. Then sums, geometric means where both spill, and the kernels that fall behind. What cannot
be imported, or rewritten within a cap, is listed with the reason, as is what the checker does not prove (--no-check:
nobody asks it). --arch: what ptxas compiles for, one after the other, instead of what the file names; our side is the
same for all. What ptxas' library of divisions and roots saves counts as its spill code; `ptxas -v` leaves it out, and
the summary says what the figures are without it. --smem asks ptxas to spill to shared memory as well (without .maxntid
it sizes for 1024 threads). Asserts nothing; says so and stops where ptxas is missing.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from binalloc.analysis.flow.callgraph import build_callgraph
from binalloc.analysis.flow.loops import find_loops
from binalloc.errors import BinallocError
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Access, Space
from binalloc.transform.rewrite.rewrite import Prepared, prepare, rewrite_to_budget
from binalloc.verify.checker import check
from tests.benchmarks.transform.judge import ptxas
from tests.benchmarks.transform.judge.sass import Spilled
from tests.support.paths import SAMPLES, sample_files

FACTOR, GRACE = 1.5, 32
_LATER = {SAMPLES / "sharing", SAMPLES / "batching"}
TUNED_ON = [path for path in sample_files(".ptx") if _LATER.isdisjoint(path.parents)]
"""Samples that the allocator was tuned on, which are measured where no file is named. `sharing` and `batching` came
later."""


class OutOfTime(BaseException):
    """The limit of one rewrite; no handler of ordinary errors swallows it."""


@dataclass
class Row:
    """One kernel at one cap, beside ptxas for one architecture. Bytes as in `Spilled`. seconds: CPU time of our
    rewriting; reason: why ours is missing. smem: ptxas with spilling to shared memory. unproven: what the checker says
    first of a rewrite that it refuses."""

    file: str
    kernel: str
    cap: int
    arch: str = ""
    instructions: int = 0
    demand: int = 0
    theirs: Spilled | None = None
    ours: Spilled | None = None
    smem: Spilled | None = None
    seconds: float = 0.0
    reason: str = ""
    unproven: str = ""

    @property
    def label(self) -> str:
        return f"{self.file}:{self.kernel}"


@dataclass
class Options:
    caps: list[int]
    allocator: str
    slots: int
    smem: bool
    limit: float
    check: bool = True
    archs: list[str] = field(default_factory=list)


@dataclass
class Table:
    rows: list[Row] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime after so much CPU time of this process."""

    def stop(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def our_spills(module: Module, kernel: str) -> Spilled:
    """Spill code in a rewritten kernel and all it calls."""
    graph = build_callgraph(module, kernel)
    weight = dict.fromkeys(graph.functions, 0.0)
    deepest = dict.fromkeys(graph.functions, 0.0)
    weight[kernel] = deepest[kernel] = 1.0
    total = Spilled()
    for name in graph.top_down:
        cfg = graph.cfgs[name]
        depth = find_loops(cfg).weight
        for site in graph.sites[name]:
            factor = depth[cfg.block_of[site.index]]
            weight[site.callee] += weight[name] * factor
            deepest[site.callee] = max(deepest[site.callee], deepest[name] * factor)
        for block in cfg.rpo:
            times = weight[name] * depth[block], deepest[name] * depth[block]
            for index in range(cfg.blocks[block].start, cfg.blocks[block].end):
                memory = cfg.views[index].memory
                if memory is not None and memory.spill:
                    shared = memory.space is not Space.LOCAL
                    total.add(memory.size, *times, shared=shared, load=memory.access is Access.LOAD)
    return total


def measure(row: Row, prepared: Prepared, options: Options) -> None:
    """Our side of a row."""
    start = time.process_time()
    try:
        with time_limit(options.limit):
            result = rewrite_to_budget(prepared, row.cap, options.slots, options.allocator)
            row.seconds = time.process_time() - start
            kernel = next(n for n in sorted(result.functions) if result.module.function(n).info.is_kernel)
            row.ours = our_spills(result.module, kernel)
        if options.check:
            with time_limit(options.limit):
                report = check(prepared.module, result.module, kernel)
            row.unproven = "" if report.ok else str(report.errors[0])
    except OutOfTime:
        row.reason = f"more than {options.limit:g} s"
    except BinallocError as error:
        row.reason = str(error).splitlines()[0]
    except Exception as error:  # a crash is a finding; the other kernels still count
        row.reason = f"defect: {type(error).__name__}: {error}"
    row.seconds = row.seconds or time.process_time() - start


def measure_file(path: Path, options: Options, table: Table) -> None:
    """All kernels of one file at all caps."""
    text = path.read_text()
    try:
        with time_limit(options.limit):
            imported = import_ptx(text, path.name, skip_unsupported=True, machine="gtx680")
    except OutOfTime:
        table.missing.append(f"{path.name}: import takes more than {options.limit:g} s")
        return
    except BinallocError as error:
        table.missing.append(f"{path.name}: {str(error).splitlines()[0]}")
        return
    for left in imported.left_out:
        table.missing.append(f"{path.name}:{left.kernel}: {str(left.refusals[0].error).splitlines()[0]}")
    judges = {arch: _judged(text, arch, options) for arch in options.archs or [ptxas.architecture(text)]}
    for figures in imported.kernels:
        try:
            with time_limit(options.limit):
                prepared = prepare(imported.module, figures.name)
        except (OutOfTime, BinallocError) as error:
            table.missing.append(f"{path.name}:{figures.name}: {error or 'analysis takes too long'}")
            continue
        for cap in options.caps:
            ours = Row(path.stem, figures.name, cap, "", figures.instructions, figures.register_demand)
            measure(ours, prepared, options)
            for arch, judged in judges.items():
                theirs, refusal = _of(judged[cap, False], figures.name)
                smem, _ = _of(judged.get((cap, True), ""), figures.name)
                row = replace(ours, arch=arch, theirs=theirs, smem=smem, reason=ours.reason or refusal)
                table.rows.append(row)
                print(line(row, options), flush=True)


def _judged(text: str, arch: str, options: Options) -> dict[tuple[int, bool], dict[str, Spilled] | str]:
    """What ptxas makes of a file for one architecture: by cap, and by whether it may spill to shared memory."""
    wanted = ptxas.retargeted(text, arch)
    ways = (False, True) if options.smem else (False,)
    return {(cap, smem): ptxas.spills(wanted, cap, smem=smem) for cap in options.caps for smem in ways}


def _of(result: dict[str, Spilled] | str, kernel: str) -> tuple[Spilled | None, str]:
    if isinstance(result, str):
        return None, result and f"ptxas: {result}"
    found = result.get(kernel)
    return found, "" if found else "ptxas: no such kernel in its output"


def traffic(spilled: Spilled, shared: bool) -> tuple[int, float]:
    """Static and weighted bytes, of local memory, or of both memories."""
    if shared:
        return spilled.local + spilled.shared, spilled.weighted_local + spilled.weighted_shared
    return spilled.local, spilled.weighted_local


def heading(options: Options) -> str:
    more = ""
    if options.smem or options.slots:
        more = f" {'smem local':>10s} {'shared':>7s} {'both, weighted':>14s} {'ours':>12s}"
    return (
        f"{'kernel':52s} {'arch':>6s} {'cap':>3s} {'instr':>6s} {'ptxas':>7s} {'ours':>7s} {'ratio':>6s} "
        f"{'ptxas, w.':>12s} {'ours, w.':>12s} {'ratio':>6s} {'s':>7s}{more}"
    )


def line(row: Row, options: Options) -> str:
    """One row as text."""
    theirs = f"{row.theirs.local:7d}" if row.theirs else f"{'-':>7s}"
    ours = f"{row.ours.local:7d}" if row.ours else f"{'-':>7s}"
    theirs_w = f"{row.theirs.weighted_local:12.0f}" if row.theirs else f"{'-':>12s}"
    ours_w = f"{row.ours.weighted_local:12.0f}" if row.ours else f"{'-':>12s}"
    static = weighted = "-"
    if row.theirs and row.ours and row.theirs.local:
        static = f"{row.ours.local / row.theirs.local:.2f}"
        weighted = f"{row.ours.weighted_local / row.theirs.weighted_local:.2f}"
    text = (
        f"{row.label:52.52s} {row.arch:>6s} {row.cap:3d} {row.instructions:6d} {theirs} {ours} {static:>6s} "
        f"{theirs_w} {ours_w} {weighted:>6s} {row.seconds:7.2f}"
    )
    if options.smem or options.slots:
        judge = row.smem or row.theirs
        text += f" {judge.local:10d} {judge.shared:7d} {traffic(judge, True)[1]:14.0f}" if judge else " " * 34
        text += f" {traffic(row.ours, True)[1]:12.0f}" if row.ours else ""
    text += f"  NOT PROVEN: {row.unproven}" if row.unproven else ""
    unknown = f"  {row.theirs.unknown} unknown targets" if row.theirs and row.theirs.unknown else ""
    above = f"  ptxas takes {row.theirs.registers}" if row.theirs and row.theirs.registers > row.cap else ""
    return text + unknown + above + (f"  {row.reason}" if row.reason else "")


def geometric(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def summary(table: list[Row], arch: str, cap: int) -> list[str]:
    """Sums, means and the kernels that fall behind, at one cap of one architecture, where both sides have an answer."""
    rows = [r for r in table if (r.arch, r.cap) == (arch, cap)]
    both = [(r, r.theirs, r.ours) for r in rows if r.theirs and r.ours]
    spilling = [(r, t, o) for r, t, o in both if t.local and o.local]
    static = geometric([o.local / t.local for _, t, o in spilling])
    weighted = geometric([o.weighted_local / t.weighted_local for _, t, o in spilling])
    once = geometric([o.deepest / t.deepest for _, t, o in spilling])
    theirs, ours = sum(t.local for _, t, _ in both), sum(o.local for _, _, o in both)
    behind = [(o.local - FACTOR * t.local, r, t, o) for r, t, o in both if o.local > FACTOR * t.local + GRACE]
    alone = [(r, o) for r, t, o in both if o.local and not t.local]
    other = [r for r, t, o in both if t.local and not o.local]
    theirs_w, ours_w = sum(t.weighted_local for _, t, _ in both), sum(o.weighted_local for _, _, o in both)
    seconds = [r.seconds for r in rows] or [0.0]
    library = sum(t.library for _, t, _ in both)
    ratio = ours / theirs if theirs else math.nan
    without = ours / (theirs - library) if theirs > library else math.nan
    text = f"""{arch}, cap {cap}: {len(both)} kernels, ours {ours:,d} bytes against {theirs:,d} ({ratio:.3f})
  without {library:,d} bytes in ptxas' library of divisions and roots: {without:.3f}
  weighted {ours_w:,.0f} against {theirs_w:,.0f}
  where both spill ({len(spilling)}): geometric mean {static:.3f} static, {weighted:.3f} weighted
  ({once:.3f} with each function at its deepest call site, not at all of them)
  {len(behind)} above {FACTOR} x + {GRACE} bytes, {len(alone)} where only we spill, {len(other)} where only ptxas does
  {sum(seconds):.1f} s, longest {max(seconds):.1f} s"""
    lines = text.splitlines()
    behind.sort(key=lambda b: -b[0])
    lines += [f"    above: {r.label}: {o.local} against {t.local}" for _, r, t, o in behind]
    lines += [f"    only we: {r.label}: {o.local}" for r, o in sorted(alone, key=lambda a: -a[1].local)]
    lines += [f"    no answer: {r.label}: {r.reason}" for r in rows if r.reason or not r.ours]
    lines += [f"    not proven: {r.label}: {r.unproven}" for r in rows if r.unproven]
    return lines


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE.ptx")
    parser.add_argument("--caps", default="24,32,40")
    parser.add_argument("--arch", default="", help="what ptxas compiles for, as sm_75,sm_90; left out: the files' own")
    parser.add_argument("--allocator", default="best")
    parser.add_argument("--slots", type=int, default=0)
    parser.add_argument("--smem", action="store_true", help="ptxas with enable_smem_spilling beside it")
    parser.add_argument("--limit", type=float, default=60, help="CPU seconds per kernel and cap")
    parser.add_argument("--no-check", action="store_true", help="without the checker's proof of each rewrite")
    parser.add_argument("--json", metavar="PATH", help="write all rows there")
    given = parser.parse_args(arguments)
    if not ptxas.available():
        print("ptxas is not installed: no comparison")
        return
    caps = [int(c) for c in given.caps.split(",")]
    options = Options(caps, given.allocator, given.slots, given.smem, given.limit, not given.no_check)
    options.archs = [a for a in given.arch.split(",") if a]
    table = Table()
    print(heading(options))
    try:
        for path in [Path(n) for n in given.files] or TUNED_ON:
            measure_file(path, options, table)
    except KeyboardInterrupt:
        print("interrupted: what follows is of the rows above")
    for arch in dict.fromkeys(row.arch for row in table.rows):
        for cap in options.caps:
            print("\n".join(summary(table.rows, arch, cap)))
    for text in table.missing:
        print(f"not imported: {text}")
    if given.json:
        document = {"options": asdict(options), "rows": [asdict(r) for r in table.rows], "missing": table.missing}
        Path(given.json).write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
