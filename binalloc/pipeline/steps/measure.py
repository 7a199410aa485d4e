"""This module runs a version in the emulator, and compares the results of two versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from binalloc.emulator.host.figures.skew import skewed_cycles
from binalloc.errors import KernelFault, LimitHit, running
from binalloc.pipeline.request import Progress, Request
from binalloc.pipeline.steps.grid import share_of
from binalloc.pipeline.steps.sampling import sample
from binalloc.pipeline.steps.version import Version
from binalloc.printable import count


def run_progress(what: str, show: Progress) -> Callable[[int, int, int], None]:
    """Return a `progress` for emulated runs that calls `show` with a line. what: name of the run."""

    def notify(cycles: int, ended: int, blocks: int) -> None:
        show(f"{what}: {cycles:,} cycles, {ended} of {count(blocks, 'block')} ended")

    return notify


def measure(
    version: Version, request: Request, *, blocks: int | None = None, ideal_blocks: int | None = None,
    only: range | None = None,
) -> Version:  # fmt: skip
    """Return the version with cycles, statistics and output buffers of an emulated run. Needs a launch.

    If the request is `sampled`, only parts of a large grid are run, and there are only cycles and statistics
    (`sampling`). blocks: upper limit on resident blocks. ideal_blocks: resident blocks as if registers were free. only:
    the dealt blocks that are run, without delays; None for all.
    """
    from binalloc.emulator.runs.run import Result, run_launch

    assert request.launch is not None
    launch = request.launch
    if request.whole_gpu:
        share = share_of(launch, request.machine)
        blocks = min(blocks or version.blocks_per_sm, version.blocks_per_sm, share)
        ideal_blocks = None if ideal_blocks is None else min(ideal_blocks, share)

    notify = run_progress(request.kernel, request.progress)
    options = replace(request.options, blocks_per_sm=blocks, ideal_blocks=ideal_blocks, progress=notify)

    def measured(skew: int | None = None, only: range | None = None) -> Result:
        return run_launch(version.module, request.kernel, launch, replace(options, skew=skew, only=only))

    resident = f", {count(ideal_blocks, 'block')} per SM as if registers were free" if ideal_blocks else ""
    with running(f"{version.name}{resident}"):
        if request.sampled:
            held = ideal_blocks or min(blocks or version.blocks_per_sm, version.blocks_per_sm)
            sampled = sample(lambda only: measured(only=only), held, prod(launch.grid))
            if sampled is not None:
                found = replace(version, cycles=sampled.cycles, stats=sampled.stats, sampled=sampled)
                return replace(found, counts=sampled.counts)
        result = measured(only=only)
        skewed = skewed_cycles(lambda seed: measured(seed).cycles, 0 if only is not None else options.skews)
    return replace(
        version, cycles=result.cycles, stats=result.stats, buffers=result.buffers, globals=result.globals,
        printed=result.printed, skewed=skewed, counts=result.counts,
    )  # fmt: skip


def measured_beside(
    original: Version, version: Version, request: Request
) -> tuple[Version, bool | None, KernelFault | LimitHit | None]:
    """Return a version after its run, whether that left the original's results, and the error with which it ended, if
    it did not end well. Only parts of a grid leave no results to compare. original: has been run."""
    try:
        ran = measure(version, request)
    except (KernelFault, LimitHit) as error:
        return version, None, error
    return ran, same_results(request, original, ran), None


def same_results(request: Request, a: Version, b: Version) -> bool | None:
    """Return whether two runs left the same results; None if only parts of the grid were run.

    Global buffers must be the same in the sense that the launch file gives each of them, the module's global variables
    bit by bit. Printed text must be the same, too.
    """
    from binalloc.launch.file import compare, compare_globals

    assert request.launch is not None
    if a.sampled is not None or b.sampled is not None:
        return None
    launch = request.launch
    if a.printed is not None and b.printed is not None and a.printed.differs(b.printed):
        return False
    return not compare(launch, a.buffers, b.buffers) and not compare_globals(launch, a.globals, b.globals)
