"""The tasks of a sweep build a program, run one, or compare two runs. Any process can do them.

A task is plain data and has a key. Its outcome follows from the key alone, so that rows with the same program, or with
the same run of it, share the task. `program` in an outcome is a binary in base64.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any, Protocol

import numpy as np

from binalloc.call_stack import with_room
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result, run_launch
from binalloc.errors import BinallocError, KernelFault, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module, write_module
from binalloc.launch.comparison import counted, in_order
from binalloc.launch.file import compare, compare_globals, variable_name
from binalloc.launch.types import ArgumentKind, Array, CompareMode, Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_version
from binalloc.pipeline.steps.counts import dispatch_interval
from binalloc.pipeline.steps.row import FAULT, INFEASIBLE, LIMIT, OK, REFUSED
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Subject
from binalloc.pipeline.sweeping.keys import binary_digest, key_of, package_digest
from binalloc.printable import one_line

_CACHED = ("local", "spill", "global")
"""Kinds of accesses that count for L1 in rows; textures are left out."""
_ALONE = Lock()  # lets one thread of a worker do tasks at a time
_DIGITS = 12
"""Digits of a program's hash in rows: short enough to read, long enough that two programs of a sweep differ."""


class Task(Protocol):
    """A task is a piece of work whose outcome follows from its key."""

    @property
    def key(self) -> str:
        """Return the key: equal keys, equal outcomes."""

    @property
    def name(self) -> str:
        """Return a name for people."""

    def figures(self) -> Outcome:
        """Do the task, and return its figures. Raises the errors of the steps it takes."""


@dataclass(frozen=True)
class Build:
    """This task builds a version of the subject by an allocator for a budget, proven; or the original."""

    subject: Subject
    allocator: str = ORIGINAL  #: by name, or ORIGINAL
    registers: int = 0  #: per thread; 0 for the original
    slots: int = 0  #: per thread

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject, the allocator and the budget."""
        subject = self.subject
        return key_of(
            ["build", subject.binary_key, subject.launch_key, self.allocator, self.registers, self.slots]
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel} by {self.allocator}"

    def figures(self) -> Outcome:
        """Build and prove the version, and return its figures."""
        module, request = opened(self.subject)
        if self.allocator == ORIGINAL:
            return built_figures(baseline(module, request), proven=None)
        from binalloc.transform.rewrite.rewrite import require_rewritable

        require_rewritable(module, request.prepared.graph(module, request.kernel))
        return built_figures(build_version(module, request, self.registers, self.slots, self.allocator), proven=True)


def built_figures(version: Version, proven: bool | None) -> Outcome:
    """Return the figures of a version. proven: None for an original as it came."""
    binary = write_module(version.module)
    return {
        "program": b64encode(binary).decode(),
        "digest": binary_digest(binary)[:_DIGITS],
        "registers": version.registers,
        "slots": version.slots,
        "local_bytes": version.local_bytes,
        "blocks_per_sm": version.blocks_per_sm,
        "occupancy": version.occupancy,
        "instructions": version.instructions,
        "dispatch_interval": float(dispatch_interval(version)),
        "proven": True if version.allocated else proven,
    }


@lru_cache(maxsize=2)
def opened(subject: Subject) -> tuple[Module, Request]:
    """Return the binary, and a request that keeps the analyses for all its versions.

    Two are cached, since tasks of one subject often follow one another.
    """
    request = Request(kernel=subject.kernel, machine=subject.machine, launch=subject.launch)
    return read_module(subject.binary, subject.file), request


@dataclass(frozen=True)
class Run:
    """This task runs a program of the subject's kernel in the emulator, on the subject's machine."""

    subject: Subject
    program: str = field(repr=False)  #: a binary in base64
    options: RunOptions

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the launch, the program and the options."""
        return key_of(["run", self.subject.launch_key, self.program, self.options.figures()])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"a run of {self.subject.kernel}"

    def result(self) -> Result:
        """Run the program."""
        subject = self.subject
        module = read_module(b64decode(self.program), subject.file)
        return run_launch(module, subject.kernel, subject.launch, replace(self.options, machine=subject.machine))

    def figures(self) -> Outcome:
        """Run the program, and return the figures of the run with digests of its results."""
        result = self.result()
        counted = run_figures(result.cycles, result.stats, self.subject.machine)
        return {**counted, "outputs": outputs_of(self.subject.launch, result)}


def run_figures(cycles: int, stats: Mapping[str, Any], machine: Machine) -> Outcome:
    """Return the figures of a run. stats: its counters."""
    slots = stats["spill_shared_loads"] + stats["spill_shared_stores"]
    local = sum(stats[f"{who}_local_{what}"] for who in ("user", "spill") for what in ("loads", "stores"))
    return {
        "cycles": cycles,
        "spill_accesses": stats["spill_accesses"],
        "local_accesses": local,
        "slot_accesses": slots,
        "l1_accesses": sum(stats[f"l1_{what}_{how}"] for what in _CACHED for how in ("hits", "misses")),
        "l1_misses": sum(stats[f"l1_{what}_misses"] for what in _CACHED),
        "issue_slots": cycles * machine.issue_slots_per_cycle,
        "stalls": stats["stalls"],
    }


@dataclass(frozen=True)
class Judge:
    """This task compares the results of two runs whose digests differ, but may be the same within tolerances.

    Both are run once more, since outcomes have only digests of results.
    """

    one: Run
    other: Run

    @cached_property
    def key(self) -> str:
        """Return a key that changes with either run."""
        return key_of(["judge", self.one.key, self.other.key])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"a comparison of {self.one.subject.kernel}"

    def figures(self) -> Outcome:
        """Run both, and return whether their results are the same as the launch file defines it."""
        launch, a, b = self.one.subject.launch, self.one.result(), self.other.result()
        same = not compare(launch, a.buffers, b.buffers) and not compare_globals(launch, a.globals, b.globals)
        same = same and not a.printed.differs(b.printed)
        return {"same": same}


def outputs_of(launch: Launch, result: Result) -> dict[str, str]:
    """Return digests, by name, of everything that counts when results are compared: equal digests, equal results."""
    found = {}
    for argument in launch.buffers:
        data = result.buffers[argument.name]
        if argument.compare.mode == CompareMode.UNORDERED:
            data = in_order(data, argument)
        if argument.compare.mode != CompareMode.IGNORE:
            found[argument.name] = hashlib.sha256(counted(data, argument)).hexdigest()
    if result.printed.texts:
        found["printf"] = hashlib.sha256(result.printed.text.encode()).hexdigest()
    judged = {a.name for a in launch.arguments if a.kind == ArgumentKind.SYMBOL}
    return found | {variable_name(name): _digest(data) for name, data in result.globals.items() if name not in judged}


def _digest(data: Array) -> str:
    """Return the hash of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()


def same_outputs(launch: Launch, one: Mapping[str, str], other: Mapping[str, str]) -> bool | None:
    """Return whether two runs left the same results, by their digests; None if only a `Judge` can decide it."""
    different = {name for name in {*one, *other} if one.get(name) != other.get(name)}
    tolerant = {a.name for a in launch.buffers if a.compare.mode == CompareMode.TOLERANCE}
    if different and different <= tolerant:
        return None
    return not different


@with_room
def perform(task: Task) -> Outcome:
    """Do a task. Errors of the kernel, its budget or its run become its outcome.

    Invalid files of the launch raise MalformedInput.
    """
    from binalloc.transform.allocate.functions.registers import Infeasible

    try:
        return {"status": OK, "reason": "", **task.figures()}
    except Infeasible as error:
        return failed(INFEASIBLE, error.message)
    except (Refused, UsageError, LimitHit, KernelFault) as error:
        return failed(status_of(error), error.message)
    except MemoryError:
        return failed(LIMIT, "out of memory", passing=True)


def status_of(error: BinallocError) -> str:
    """Return the status of what an error ended."""
    return LIMIT if isinstance(error, LimitHit) else FAULT if isinstance(error, KernelFault) else REFUSED


def failed(status: str, reason: str, passing: bool = False) -> Outcome:
    """Return an outcome without figures. passing: whether it may be another the next time, so that it is not kept."""
    return {"status": status, "reason": one_line(reason)} | ({"passing": True} if passing else {})


def perform_elsewhere(task: Task, package: str) -> Outcome:
    """Do a task on another machine.

    Tasks run one at a time even if the worker has several threads, since the tasks of a process share the analyses of
    their binaries. package: `package_digest` of the sender. Raises UsageError if binalloc here is another one, since
    keys would be wrong then.
    """
    if package != package_digest():
        raise UsageError(
            "the worker has another binalloc, or other versions of what it uses",
            expected="the same as here",
            remedy="Install the same on all machines.",
        )
    with _ALONE:
        return perform(task)
