"""Kernels whose blocks share memory two by two, on machines with room for some blocks and a part of one more."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.analysis.sharing.releases import at_postdominator, releases
from binalloc.analysis.sharing.touching import touching
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result, run_launch
from binalloc.isa.instruction import Module, SharedVar
from binalloc.launch.types import Launch
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.sharing.plans import Plan, Plans, plans
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.sharing.share import share_memory

GPGPUSIM = load_machine("gpgpusim-sharing")
RELEASES = ("opt", "jump", "postdom", "none")
"""As early as may be with guards, or with jumps on critical edges; at a post-dominator; not at all."""


def narrow(bytes_: int, blocks: int, left: int) -> Machine:
    """The machine with room for so many blocks of `bytes_`, and with `left` bytes more."""
    sm = replace(GPGPUSIM.sm, shared_per_sm=blocks * bytes_ + left)
    return replace(GPGPUSIM, sm=sm)


def with_variables(module: Module, rng: random.Random) -> Module:
    """The module with names for the bytes of kernel `k`: variables that begin where some accesses do. Accesses that
    reach several of them keep these together."""
    fn = module.function("k")
    size = fn.info.shared_bytes
    begins = {i.f["moff"] for i in fn.instrs if i.name in ("LDS", "STS", "ATOMS") and 0 <= i.f["moff"] < size}
    cuts = sorted({0, *(at // 4 * 4 for at in sorted(begins) if rng.random() < 0.7)})
    variables = [SharedVar(f"v{at}", at, end - at, 4) for at, end in pairwise([*cuts, size])]
    return replace(module, functions=[replace(f, shared=variables) if f is fn else f for f in module.functions])


@dataclass(frozen=True)
class Pairs:
    """A kernel made for a plan."""

    module: Module
    code: Module  #: scheduled
    plan: Plan
    plans: Plans
    machine: Machine

    @property
    def sharing(self) -> str:
        """The option of its runs."""
        return str(self.plan.pairing)


def ran(module: Module, launch: Launch, machine: Machine, **options: object) -> Result:
    """A run of kernel `k` that looks for races and for reads of what the block has not written."""
    given = RunOptions(machine=machine, **{"check": True, "race": True, **options})  # type: ignore[arg-type]
    return run_launch(module, "k", launch, given)


def same(one: Result, other: Result) -> bool:
    return all(np.array_equal(one.buffers[k], other.buffers[k]) for k in one.buffers)


def in_step(code: Module, launch: Launch, machine: Machine, options: Mapping[str, object]) -> bool:
    """Whether per-cycle bookkeeping and event-skipping agree on all counters of a run."""
    fast, slow = (
        ran(code, launch, machine, **options, check=False, race=False, reference=slowly) for slowly in (False, True)
    )
    return (fast.cycles, fast.stats) == (slow.cycles, slow.stats)


def planned(module: Module, launch: Launch, machine: Machine) -> Plans:
    """The plans of kernel `k`."""
    use = KernelUse.of(module.function("k").info, math.prod(launch.block), launch.dynamic_shared)
    return plans(shared_memory_of(module, "k", launch.block), machine, use)


def paired(module: Module, launch: Launch, machine: Machine, number: int, release: str = "opt") -> Pairs:
    """Kernel `k` made for one of its plans."""
    found = planned(module, launch, machine)
    plan = found.all[number]
    memory = shared_memory_of(module, "k", launch.block)
    graph, accesses = memory.program.graph, touching(memory, found.units, plan.distances, plan.private)
    places = {
        "opt": plan.releases, "jump": releases(graph, accesses, guards=False),
        "postdom": at_postdominator(graph, accesses), "none": [],
    }[release]  # fmt: skip
    made = share_memory(module, memory, found.units, plan.distances, places)
    return Pairs(made, schedule(made, machine), plan, found, machine)
