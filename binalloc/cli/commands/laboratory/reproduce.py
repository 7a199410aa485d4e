"""`binalloc reproduce` makes a paper's figures on emulated machines, and sets them beside what the paper states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from binalloc.cli.commands.laboratory.named import named_machines, opened, require_known
from binalloc.cli.files import check_folder, check_page, check_plot, write_output
from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.options import (
    all_of,
    every_size_option,
    json_option,
    max_cycles_of,
    page_option,
    samples_option,
)
from binalloc.cli.run_options import run_options
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say
from binalloc.cli.workers import (
    executor_of,
    fail_interrupted,
    finished_runs,
    judge_rows,
    require_one_kind,
    workers_options,
)
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.laboratory.papers.reproduce import Case, ReproducedCase
    from binalloc.pipeline.sweeping.configuration import Subject
    from binalloc.report.shapes.commands.laboratory import ReproduceJson


@click.command()
@click.argument("paper", type=click.Choice(["unified", "multiplex", "sharing", "batching"]))
@click.argument("kernels", nargs=-1)
@all_of(samples_option, every_size_option)
@run_options(max_cycles=max_cycles_of("and its row has no figures"))
@json_option
@click.option(
    "--machine", metavar="LIST",
    help="Only these of the paper's machines; of multiplex also a100 and h100.  [default: the paper's]",
)
@click.option(
    "--figures", metavar="LIST",
    help="Of sharing: only what these figures and tables need, such as 14,22,XI.  [default: all]",
)
@click.option("--curves", "growing", is_flag=True, help="Of multiplex: Figures 12 and 13, too.")
@click.option(
    "--plot", type=click.Path(), metavar="FILE.svg", help="Of batching: write the bars of Figure 10 there, as SVG."
)
@workers_options
@page_option
def reproduce(
    paper: str,
    kernels: tuple[str, ...],
    samples: str,
    size: str | None,
    options: RunOptions,
    as_json: bool,
    machine: str | None,
    figures: str | None,
    growing: bool,
    plot: str | None,
    cache: str | None,
    jobs: int | None,
    dask: str | None,
    page: str | None,
) -> None:
    """Emulate the experiments of a paper, and show the results beside what the paper states.

    The unified paper: Figures 1, 6 and 7 and Table 1, on gtx680 and c2075. Each benchmark is run at every number of
    blocks per SM by three allocators, and the kernels of Fig. 1 at every number of registers as well. At full size that
    takes some minutes the first time. --html needs binalloc[html].

    The multiplex paper: the gains of Figures 11, 14 and 15, and the share of Figure 1, on gtx285, gtx480-16k, gtx480
    and gtx285-gpgpusim. At full size that takes about an hour of a core. --machine a100,h100 shows what is left to gain
    on machines of today, which the paper does not have. --curves adds Figures 12 and 13, in which the work of MV and
    FFT grows.

    The sharing paper: Figures 13 to 28 and Tables VI, VIII and XI to XIII, on the 14 SMs of gpgpusim-sharing and on
    machines with other L1, shared memory, threads and clusters (gpgpusim-sharing-48k and so on), and what its text
    says of them. At full size that takes about twenty minutes of a core; --figures chooses some.

    The batching paper: Figures 7, 8 and 10 to 13 with what its text says of them, by kernels of the kinds that it runs,
    on gem5gpu-batching and gem5gpu-batching-8k (rows of 4 and 8 KB). At full size that takes about twenty minutes of a
    core.

    KERNELS are some of the paper's benchmarks; without them all are run. Finished runs are kept, as with `sweep`.
    """
    from binalloc.laboratory.papers.by_registers import RegisterCurve, register_curves
    from binalloc.laboratory.papers.reproduce import reproduce as reproduced
    from binalloc.laboratory.reproduce.facts import reproduction_json
    from binalloc.laboratory.reproduce.text import render_reproduction
    from binalloc.pipeline.sweeping.cache import Cache
    from binalloc.pipeline.sweeping.sweep import Tally

    check_folder(cache)
    require_one_kind(jobs, dask)
    check_page(page)
    if figures is not None and paper != "sharing":
        raise UsageError("figures of this paper cannot be chosen", place="--figures", found=paper, expected="sharing")
    if plot is not None and paper != "batching":
        raise UsageError("there is no figure of this paper", place="--plot", found=paper, expected="batching")
    check_plot(plot, as_json)
    if page is not None and paper != "unified":
        raise UsageError("there is no page of this paper", place="--html", found=paper, expected="unified")
    if growing and paper != "multiplex":
        raise UsageError("there are no curves of this paper", place="--curves", found=paper, expected="multiplex")
    given = (kernels, samples, size, options, as_json, machine)
    if paper == "multiplex":
        from binalloc.cli.commands.laboratory.reproduce_multiplex import reproduce_multiplex

        reproduce_multiplex(*given, growing, cache, jobs, dask)
        return
    if paper == "sharing":
        from binalloc.cli.commands.laboratory.reproduce_sharing import reproduce_sharing

        reproduce_sharing(*given, figures, cache, jobs, dask)
        return
    if paper == "batching":
        from binalloc.cli.commands.laboratory.reproduce_batching import reproduce_batching

        reproduce_batching(*given, plot, cache, jobs, dask)
        return
    cases, by_registers = _cases(Path(samples), kernels, machine, size)
    kept = Cache(finished_runs(cache))
    points: list[ReproducedCase] = []
    curves: list[RegisterCurve] = []
    tally, code = Tally(), 0
    with executor_of(dask, jobs, options) as executor, progress(as_json) as show:
        try:
            points.extend(reproduced(cases, executor, kept, show, tally, options))
            curves.extend(register_curves(by_registers, executor, kept, show, tally, options))
        except KeyboardInterrupt as stopped:
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    found = reproduction_json(points, curves, tally, code != 0, str(kept.folder))
    if page is not None:
        from binalloc.laboratory.reproduce.page import reproduction_page

        write_output(page, reproduction_page(found))
    if as_json:
        shown: ReproduceJson = {"schema_version": SCHEMA_VERSION, "paper": paper, **found}
        print_json(shown)
    elif points or curves:
        say(("PARTIAL: interrupted.\n\n" if code else "") + render_reproduction(found))
    if code:
        fail_interrupted(kept.folder, code)
    ran = [row for p in points for row in (p.original, *p.levels)] + [row for c in curves for row in c.rows]
    judge_rows(ran, "versions")


def _cases(
    samples: Path, kernels: Sequence[str], machine: str | None, size: str | None
) -> tuple[list[Case], list[tuple[str, Module, Subject]]]:
    """Return what to run: the benchmarks, machine by machine as in Figs. 6 and 7, and the kernels of Fig. 1.

    Raise UsageError for unknown machines and kernels, and for samples that are missing.
    """
    from binalloc.laboratory.papers.reproduce import Case
    from binalloc.laboratory.papers.unified import BENCHMARKS, FIGURE1, FIGURE1_MACHINE, MACHINES
    from binalloc.laboratory.samples import find_samples

    named = named_machines(machine, MACHINES)
    require_known(kernels, dict.fromkeys([*(b.kernel for b in BENCHMARKS), *FIGURE1]), "no benchmark of the paper's")
    found = find_samples(samples)

    def case(sample: str, on: str) -> tuple[Module, Subject]:
        return opened(found, samples, sample, size, on)

    def wanted(kernel: str) -> bool:
        return not kernels or kernel in kernels

    cases = [Case(b, *case(b.on[one].sample, one)) for one in named for b in BENCHMARKS if wanted(b.kernel)]
    if FIGURE1_MACHINE not in named:
        return cases, []
    return cases, [(s, *case(s, FIGURE1_MACHINE)) for kernel, s in FIGURE1.items() if wanted(kernel)]
