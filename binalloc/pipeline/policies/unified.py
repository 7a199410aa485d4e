"""This policy is the unified paper's static search (section 4.2, Fig. 5) over versions built by the pipeline."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.pipeline.policies.levels import Levels
from binalloc.pipeline.policies.policy import Choice

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.models.search.unified import Level
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Tried, Version


class UnifiedPolicy:
    """This policy judges levels by static counts alone; nothing is run."""

    name = "unified"
    summary = "the unified paper's Fig. 5, from static counts alone"
    measures = False

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """Return the level at which the paper's listing ends; the reason is its path of decisions.

        The paper's original is the program as given. So the search compares with the input as it came, not with a
        faster order of it.
        """
        from binalloc.models.search.unified import SearchProblem, unified_search
        from binalloc.pipeline.steps.counts import dispatch_interval
        from binalloc.pipeline.steps.kernels import kernel_use

        given = original.given
        use = kernel_use(module.function(request.kernel), request.launch, request.block)
        threads = use.threads
        levels = Levels(module, request, given)
        budgets = {b.blocks: b for b in levels.every}
        built: dict[int, Tried] = {}

        def evaluate(active_threads: int) -> Level:
            blocks = active_threads // threads
            if blocks not in built:
                built[blocks] = _try(levels, budgets.get(blocks), blocks)
            return _level(built[blocks].version)

        result = unified_search(
            SearchProblem(
                evaluate=evaluate,
                cores=request.machine.chip.cores_per_sm,
                block_size=threads,
                max_threads=request.machine.sm.threads_per_sm,
                max_cmratio=Fraction(request.machine.search.max_cmratio),
                original_threads=given.blocks_per_sm * threads,
                ad_interval=dispatch_interval(given),
                held=[blocks * threads for blocks in sorted(budgets)],
                reading=request.reading,
            )
        )
        chosen = built.get(result.threads // threads)
        best = None if result.kept_original or chosen is None or chosen.version is given else chosen.version
        return Choice([built[b] for b in sorted(built)], best, "; ".join(result.path))


def _try(levels: Levels, budget: Budget | None, blocks: int) -> Tried:
    """Build and prove the version of a level. budget: None if the machine cannot hold so many blocks."""
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.steps.proof import prove
    from binalloc.pipeline.steps.version import Tried

    if budget is None:
        return Tried(Budget(blocks, 0, 0), None, "not resident on this machine")
    if blocks == levels.original.blocks_per_sm:
        return Tried(budget, levels.original)
    try:
        return Tried(budget, prove(levels.module, levels.request, levels.version(budget)))
    except Refused as e:
        return Tried(budget, None, str(e))


def _level(version: Version | None) -> Level:
    """Return the static counts of a version, for the search. version: None if the level is infeasible."""
    from binalloc.models.search.unified import Level
    from binalloc.pipeline.steps.counts import dispatch_interval, static_counts

    if version is None:
        return Level(0, 0, Fraction(0), 0, False)
    counts = static_counts(version)
    return Level(counts.compute, counts.off_chip, dispatch_interval(version), counts.spills, textures=counts.textures)
