"""What is done for the rows of a sweep, in whatever process: to build a program, to run one, to compare two runs.

A task is plain data, has a key, and comes to an outcome that follows from its key alone: rows that need the same
program, or the same program with as many blocks resident, share it. `program` in an outcome is a binary in base64.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import Protocol

import numpy as np

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result, run_launch
from binalloc.errors import KernelFault, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module, write_module
from binalloc.launch.comparison import counted, in_order
from binalloc.launch.file import compare, compare_globals, variable_name
from binalloc.launch.types import ArgumentKind, Array, CompareMode, Launch
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
"""What L1 answers besides textures."""
_ALONE = Lock()
_DIGITS = 12
"""Of a program's hash in rows."""


class Task(Protocol):
    @property
    def key(self) -> str:
        """What its outcome follows from."""

    @property
    def name(self) -> str:
        """For people."""

    def figures(self) -> Outcome:
        """The outcome where all goes well. Raises as the steps that it takes."""


@dataclass(frozen=True)
class Build:
    """A version of the subject: by an allocator within registers and slots, proven; or ORIGINAL."""

    subject: Subject
    allocator: str = ORIGINAL
    registers: int = 0
    slots: int = 0

    @cached_property
    def key(self) -> str:
        subject = self.subject
        return key_of(
            ["build", subject.binary_key, subject.launch_key, self.allocator, self.registers, self.slots]
        )  # fmt: skip

    @property
    def name(self) -> str:
        return f"{self.subject.kernel} by {self.allocator}"

    def figures(self) -> Outcome:
        module, request = _opened(self.subject)
        if self.allocator == ORIGINAL:
            return _built(baseline(module, request), proven=None)
        from binalloc.transform.rewrite.rewrite import require_rewritable

        require_rewritable(module, request.prepared.graph(module, request.kernel))
        return _built(build_version(module, request, self.registers, self.slots, self.allocator), proven=True)


def _built(version: Version, proven: bool | None) -> Outcome:
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
def _opened(subject: Subject) -> tuple[Module, Request]:
    """The binary, and a request that keeps what all its versions are built from."""
    request = Request(kernel=subject.kernel, machine=subject.machine, launch=subject.launch)
    return read_module(subject.binary, subject.file), request


@dataclass(frozen=True)
class Run:
    """An emulated run of a program of the subject's kernel, on the subject's machine."""

    subject: Subject
    program: str = field(repr=False)
    options: RunOptions

    @cached_property
    def key(self) -> str:
        return key_of(["run", self.subject.launch_key, self.program, self.options.figures()])

    @property
    def name(self) -> str:
        return f"a run of {self.subject.kernel}"

    def result(self) -> Result:
        subject = self.subject
        module = read_module(b64decode(self.program), subject.file)
        return run_launch(module, subject.kernel, subject.launch, replace(self.options, machine=subject.machine))

    def figures(self) -> Outcome:
        result = self.result()
        stats = result.stats
        slots = stats["spill_shared_loads"] + stats["spill_shared_stores"]
        local = sum(stats[f"{who}_local_{what}"] for who in ("user", "spill") for what in ("loads", "stores"))
        return {
            "cycles": result.cycles,
            "spill_accesses": stats["spill_accesses"],
            "local_accesses": local,
            "slot_accesses": slots,
            "l1_accesses": sum(stats[f"l1_{what}_{how}"] for what in _CACHED for how in ("hits", "misses")),
            "l1_misses": sum(stats[f"l1_{what}_misses"] for what in _CACHED),
            "issue_slots": result.cycles * self.subject.machine.issue_slots_per_cycle,
            "stalls": stats["stalls"],
            "outputs": _outputs(self.subject.launch, result),
        }


@dataclass(frozen=True)
class Judge:
    """Whether two runs left the same, where bits differ that the launch allows to differ: both are run once more."""

    one: Run
    other: Run

    @cached_property
    def key(self) -> str:
        return key_of(["judge", self.one.key, self.other.key])

    @property
    def name(self) -> str:
        return f"a comparison of {self.one.subject.kernel}"

    def figures(self) -> Outcome:
        launch, a, b = self.one.subject.launch, self.one.result(), self.other.result()
        same = not compare(launch, a.buffers, b.buffers) and not compare_globals(launch, a.globals, b.globals)
        same = same and not a.printed.differs(b.printed)
        return {"same": same}


def _outputs(launch: Launch, result: Result) -> dict[str, str]:
    """Digests of all that counts when results are compared, by name: equal ones, equal results."""
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
    return hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()


def same_outputs(launch: Launch, one: Mapping[str, str], other: Mapping[str, str]) -> bool | None:
    """Whether two runs left the same, by their digests; None where only a `Judge` can say."""
    different = {name for name in {*one, *other} if one.get(name) != other.get(name)}
    tolerant = {a.name for a in launch.buffers if a.compare.mode == CompareMode.TOLERANCE}
    if different and different <= tolerant:
        return None
    return not different


def perform(task: Task) -> Outcome:
    """Do it. What is wrong with the kernel, its budget or its run is an outcome; what is wrong with the files of the
    launch is raised, as MalformedInput."""
    from binalloc.transform.allocate.functions.registers import Infeasible

    try:
        return {"status": OK, "reason": "", **task.figures()}
    except Infeasible as error:
        return failed(INFEASIBLE, error.message)
    except (Refused, UsageError) as error:
        return failed(REFUSED, error.message)
    except LimitHit as error:
        return failed(LIMIT, error.message)
    except KernelFault as error:
        return failed(FAULT, error.message)
    except MemoryError:
        return failed(LIMIT, "out of memory", passing=True)


def failed(status: str, reason: str, passing: bool = False) -> Outcome:
    """An outcome without figures. passing: it may be another the next time, and is not kept."""
    return {"status": status, "reason": one_line(reason)} | ({"passing": True} if passing else {})


def perform_elsewhere(task: Task, package: str) -> Outcome:
    """`perform` on another machine, one task at a time however many threads it has: the tasks of a process share what
    their programs are built from. Raises UsageError where binalloc is another there than where `package` comes from:
    keys would say what is not so."""
    if package != package_digest():
        raise UsageError(
            "the worker has another binalloc, or other versions of what it uses",
            expected="the same as here",
            remedy="Install the same on all machines.",
        )
    with _ALONE:
        return perform(task)
