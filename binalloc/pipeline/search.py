"""Choosing the number of blocks: every level measured, or the unified paper's static search.

Each returns the levels looked at, the version chosen (None: keep the original) and the reason in one sentence.
"""

from __future__ import annotations

from fractions import Fraction

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import Budget, levels
from binalloc.pipeline.steps import (
    Request,
    Tried,
    Version,
    block_threads,
    build_version,
    measure,
    reachable,
    same_results,
    static_counts,
    user_shared,
)


def search_exhaustive(module: Module, request: Request, original: Version) -> tuple[list[Tried], Version | None, str]:
    """Every level the machine can hold, measured. Below the original's level there is nothing to gain, and at it only
    where the original has values in local memory that registers or slots could take."""
    kernel = module.function(request.kernel)
    tried: list[Tried] = []
    best: Version | None = None
    assert original.cycles is not None
    fewest = original.cycles
    for budget in levels(request.machine, block_threads(kernel, request.launch), user_shared(kernel, request.launch)):
        if budget.blocks < original.blocks_per_sm or (
            budget.blocks == original.blocks_per_sm and original.local_bytes == 0
        ):
            continue
        request.progress(
            f"{request.kernel}: {budget.blocks} blocks, {budget.registers} registers, {budget.slots} slots"
        )
        same = [t for t in tried if (t.budget.registers, t.budget.slots) == (budget.registers, budget.slots)]
        if same:  # another number of blocks with the same budget is the same program
            tried.append(Tried(budget, same[0].version, same[0].reason or f"as {same[0].budget.blocks} blocks"))
            continue
        try:
            version = build_version(module, request, budget.registers, budget.slots)
        except Refused as e:
            tried.append(Tried(budget, None, str(e)))
            continue
        version = measure(version, request)
        tried.append(Tried(budget, version))
        if not same_results(request, original, version):
            raise Refused(f"{request.kernel}: results differ at {budget.blocks} blocks", remedy="Nothing was written.")
        assert version.cycles is not None
        if version.cycles < fewest:
            fewest, best = version.cycles, version
    if best is None:
        return tried, None, "no level beats the original" if tried else "the original already has the highest level"
    distinct = len({(t.budget.registers, t.budget.slots) for t in tried})
    return tried, best, f"fewest cycles of {distinct} level{'s' * (distinct > 1)} above the original's"


def search_unified(module: Module, request: Request, original: Version) -> tuple[list[Tried], Version | None, str]:
    """The unified paper's static search (section 4.2, Fig. 5)."""
    from binalloc.models.search.policies import Level, SearchProblem, unified_search
    from binalloc.transform.schedule.schedule import average_dispatch_interval

    kernel = module.function(request.kernel)
    threads = block_threads(kernel, request.launch)
    budgets = {b.blocks: b for b in levels(request.machine, threads, user_shared(kernel, request.launch))}
    built: dict[int, Tried] = {}

    def evaluate(active_threads: int) -> Level:
        blocks = active_threads // threads
        if blocks not in built:
            built[blocks] = _try(module, request, budgets.get(blocks), blocks, original)
        version = built[blocks].version
        if version is None:
            return Level(0, 0, Fraction(0), 0, False)
        compute, memory, spills = static_counts(version)
        code = [i for fn in reachable(version.module, request.kernel) for i in fn.instrs]
        return Level(compute, memory, average_dispatch_interval(code), spills)

    original_code = [i for fn in reachable(original.module, request.kernel) for i in fn.instrs]
    result = unified_search(
        SearchProblem(
            evaluate=evaluate,
            cores=request.machine.chip.cores_per_sm,
            block_size=threads,
            max_threads=request.machine.sm.threads_per_sm,
            max_cmratio=Fraction(request.machine.search.max_cmratio),
            original_threads=original.blocks_per_sm * threads,
            ad_interval=average_dispatch_interval(original_code),
        )
    )
    tried = [built[b] for b in sorted(built)]
    reason = "; ".join(result.path)
    chosen = built.get(result.threads // threads)
    if result.kept_original or chosen is None or chosen.version is None or chosen.version is original:
        return tried, None, reason
    return tried, chosen.version, reason


def _try(module: Module, request: Request, budget: Budget | None, blocks: int, original: Version) -> Tried:
    if budget is None:
        return Tried(Budget(blocks, 0, 0), None, "not resident on this machine")
    if blocks == original.blocks_per_sm:
        return Tried(budget, original)
    try:
        return Tried(budget, build_version(module, request, budget.registers, budget.slots))
    except Refused as e:
        return Tried(budget, None, str(e))
