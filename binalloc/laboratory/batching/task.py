"""These tasks profile which block of a kernel touches which page, and run the kernel under a scheme.

Need a subject: a sample with its launch, on a machine. Leave figures that JSON can hold, as a sweep's tasks do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module
from binalloc.laboratory.batching.schemes import Scheme
from binalloc.models.batches.formula import AUTO, EACH_BLOCK, NONE
from binalloc.pipeline.batches.profiled import profiled_batches
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import Subject
from binalloc.pipeline.sweeping.keys import key_of
from binalloc.pipeline.sweeping.tasks import outputs_of

_CACHED = ("local", "spill", "global")
"""Accesses that count for L1; textures are left out, as in sweeps."""


@lru_cache(maxsize=2)
def _module(subject: Subject) -> Module:
    """Return the kernel as it runs on the machine. Two are kept, since tasks of one subject follow one another."""
    module = read_module(subject.binary, subject.file)
    return baseline(module, Request(subject.kernel, subject.machine, subject.launch)).module


@dataclass(frozen=True)
class PagesOfBlocks:
    """This task finds the batches of a kernel's blocks, as `batches` does."""

    subject: Subject
    page_bytes: int
    options: RunOptions = field(default_factory=RunOptions)

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject, the pages and the options."""
        subject = self.subject
        what = [self.page_bytes, self.options.figures()]
        return key_of(["batching pages", subject.binary_key, subject.launch_key, *what])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"the pages of {self.subject.kernel}"

    def figures(self) -> Outcome:
        """Run the kernel, and return its formula and how its batches share pages."""
        subject = self.subject
        options = replace(self.options, machine=subject.machine)
        found = profiled_batches(_module(subject), subject.kernel, subject.launch, options, self.page_bytes)
        apart = found.touches.distances(found.formula)[~found.fit.is_global]
        return {
            "kind": found.formula.kind,
            "value": found.formula.value,
            "blocks": subject.launch.blocks,
            "batches": found.formula.count(subject.launch.blocks),
            "inputs_alone": found.inputs_alone,
            "pages": len(found.fit.is_global),
            "one_batch": int(np.count_nonzero(apart == 0)),
            "two_batches": int(np.count_nonzero(apart == 1)),
            "global": int(np.count_nonzero(found.fit.is_global)),
        }


def batches_option(profile: Outcome) -> str:
    """Return the option `batches` for a kernel with this profile. Without a formula each block is a batch."""
    if profile["kind"] == NONE:
        return EACH_BLOCK
    return f"{'mod' if profile['kind'] == 'modulus' else profile['kind']}:{profile['value']}"


@dataclass(frozen=True)
class SchemeRun:
    """This task runs a kernel on all SMs under a scheme."""

    subject: Subject
    scheme: Scheme
    batches: str = AUTO  #: which blocks are a batch, for a scheme that knows batches
    options: RunOptions = field(default_factory=RunOptions)

    @property
    def asked(self) -> RunOptions:
        """Return the options of the run."""
        scheme, machine = self.scheme, self.subject.machine
        return replace(
            self.options, machine=machine, sms=machine.chip.sms, scheduler=scheme.scheduler,
            dispatcher=scheme.dispatcher, pages=scheme.pages, batches=self.batches if scheme.batches else AUTO,
        )  # fmt: skip

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject and the options of the run."""
        subject = self.subject
        return key_of(["batching run", subject.binary_key, subject.launch_key, self.asked.figures()])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel} under {self.scheme.name} on {self.subject.machine.name}"

    def figures(self) -> Outcome:
        """Run the kernel, and return the figures of the run with digests of its results."""
        subject = self.subject
        result = run_launch(_module(subject), subject.kernel, subject.launch, self.asked)
        return {
            **run_figures(result.cycles, result.stats, subject.machine.chip.sms),
            "batches": self.asked.batches,
            "outputs": outputs_of(subject.launch, result),
        }


def run_figures(cycles: int, stats: Mapping[str, Any], sms: int) -> Outcome:
    """Return the figures of a run. stats: its counters. Figures of DRAM are of near and far memory together."""
    far: Mapping[str, Any] = stats.get("far_dram") or {}

    def both(name: str) -> float:
        return float(stats[name] + far.get(name, 0))

    fetches = both("dram_requests") - both("dram_write_requests")
    hits, misses = (sum(stats[f"l1_{what}_{how}"] for what in _CACHED) for how in ("hits", "misses"))
    return {
        "cycles": cycles,
        "local_ratio": _share(stats["local_requests"], stats["owned_requests"]),
        "l1_hits": _share(hits, hits + misses),
        "row_hits": _share(both("dram_row_hits"), both("dram_requests")),
        "bank_parallelism": _share(both("dram_bank_ticks"), both("dram_busy_ticks")),
        "banks_busy": round(both("dram_banks_busy_in_all"), 4),
        "dram_delay": _share(both("dram_read_delay"), fetches),
        "reply_stalls": stats["response_wait_cycles"],
        "energy": _energy(stats, far),
        "activations": int(both("dram_activations")),
        "dram_bytes": int(both("dram_bytes")),
        "dram_utilisation": round(stats["dram_utilisation"], 4),
        "l1_misses": misses,
        "l2_misses": stats["l2_misses"],
        "instructions": stats["warp_instructions"],
        "prefetches": stats["l2_prefetches"],
        "prefetches_used": stats["l2_prefetches_used"],
        "batches_resident": round(stats["batches_resident"], 4),
        "idle_share": round(stats["idle_sm_cycles"] / max(cycles * sms, 1), 4),
    }


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _energy(stats: Mapping[str, Any], far: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the energy of both memories in nanojoules: the sum with its range, and some of its parts."""
    of = [memory["dram_energy"] for memory in (stats, far) if memory]

    def total(*parts: str) -> float:
        return round(sum(float(one[part]) for one in of for part in parts), 1)

    def limit(which: str) -> float:
        return round(sum(float((one[which] or one)["total_nj"]) for one in of), 1)

    return {
        "total_nj": total("total_nj"),
        "least_nj": limit("least"),
        "most_nj": limit("most"),
        "activation_nj": total("activation_nj"),
        "background_nj": total("open_nj", "closed_nj"),
        "far_nj": round(of[1]["total_nj"], 1) if far else None,
    }
