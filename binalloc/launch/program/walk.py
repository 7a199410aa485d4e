"""A program, walked through step by step: what runs launches is told of each, all else is done here.

Needs somebody who has the program's memory and runs kernels (`Runner`). Leaves true: after a walk that ended, memory
holds what the program says; every error says in which step it arose, and in which rounds of the loops around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from binalloc.errors import BinallocError, LimitHit, UsageError
from binalloc.launch.program.binding import converted
from binalloc.launch.program.expressions import Expression, Number, Scope
from binalloc.launch.program.host import call_host, host_function
from binalloc.launch.program.types import (
    CopyStep,
    HostStep,
    LaunchStep,
    LoopStep,
    Program,
    SetStep,
    Step,
    SwapStep,
)
from binalloc.launch.types import Argument, ArgumentKind, Array
from binalloc.launch.values import At


class Runner(Protocol):
    """Has the program's memory and runs its kernels."""

    def array(self, name: str) -> Array:
        """What the argument of that name holds, of its dtype and shape; changes of it are changes of memory."""

    def changed(self, name: str) -> None:
        """The array has been changed."""

    def swap(self, one: str, other: str) -> None:
        """Two buffers exchange their names."""

    def launch(self, step: LaunchStep, scope: Scope, rounds: tuple[int, ...]) -> None:
        """Run a launch to its end. rounds: of the loops around it, the outermost first."""


class Walk:
    """One walk through a program. Is the scope of its expressions."""

    def __init__(self, program: Program, runner: Runner) -> None:
        self.program, self.runner = program, runner
        self.arguments = {a.name: a for a in program.held.arguments}
        self.scalars: dict[str, Number] = {
            name: value for name, value in program.held.values.items() if isinstance(value, int | float)
        }
        self.variables: dict[str, Number] = {}
        self.rounds: list[tuple[LoopStep, int]] = []
        self.functions: dict[tuple[str, str], Any] = {}
        self.done: dict[type[Step], Callable[[Any], None]] = {
            LaunchStep: self._launch, SetStep: self._set, CopyStep: self._copy, SwapStep: self._swap,
            HostStep: self._host,
        }  # fmt: skip

    def run(self) -> None:
        """All steps, in their order. Raises what they do, LimitHit for a loop that does not end, all of which say
        where."""
        self._steps(self.program.steps)

    # the scope of expressions

    def number(self, name: str) -> Number:
        for numbers in (self.variables, self.scalars, self.program.constants):
            if name in numbers:
                return numbers[name]
        raise AssertionError(name)

    def element(self, name: str, index: tuple[int, ...]) -> Number:
        array = self.runner.array(name)
        if len(index) == 1 and array.ndim > 1:
            array = array.reshape(-1)
        if not all(0 <= i < n for i, n in zip(index, array.shape, strict=True)):
            raise IndexError("indices from 0 to " + ", ".join(str(n - 1) for n in array.shape))
        found: Number = array[index].item()
        return found

    # steps

    def _steps(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            with self._told(step):
                left_out = step.when is not None and not step.when.number(self)
            if left_out:
                continue
            if isinstance(step, LoopStep):
                self._loop(step)
                continue
            with self._told(step):
                self.done[type(step)](step)

    @contextmanager
    def _told(self, step: Step) -> Iterator[None]:
        """Errors of a step say where in the program they arose; whatever else a step does says so itself."""
        try:
            yield
        except BinallocError as error:
            if (where := self._where(step, error.place)):
                error.message = f"{error.message} (in {where})"
            raise

    def _where(self, step: Step, place: str | None) -> str:
        """`step[1].step[0], round 3 of step[1]`: the step, unless the place of an error names it, and the rounds it is
        in."""
        known = place is not None and place.startswith(step.at.key)
        rounds = [f"round {n:,} of {loop.at.key}" for loop, n in reversed(self.rounds)]
        return ", ".join(rounds if known else [step.at.key, *rounds])

    def _loop(self, step: LoopStep) -> None:
        with self._told(step):
            value, by = step.start.number(self), step.by.number(self)
            rounds = None if step.rounds is None else step.rounds.integer(self, 0, step.at_most)
        n = 0
        while rounds is None or n < rounds:
            if step.variable:
                self.variables[step.variable] = value + n * by
            if not self._goes_on(step.before, step, n):
                break
            self.rounds.append((step, n))
            self._steps(step.steps)
            self.rounds.pop()
            n += 1
            if step.after is not None and not self._goes_on(step.after, step, n, until=True):
                break
        self.variables.pop(step.variable, None)

    def _goes_on(self, condition: Expression | None, step: LoopStep, n: int, until: bool = False) -> bool:
        """Whether a loop that has had n rounds has another one."""
        if condition is None:
            return True
        with self._told(step):
            if bool(condition.number(self)) == until:
                return False
            if n >= step.at_most:
                raise LimitHit(
                    "the loop did not end", file=step.at.file or None, place=condition.at.key,
                    found=f"{step.kind} {condition.text!r} after {n:,} rounds", expected=f"an end within at_most = {n}",
                    remedy="Raise at_most, or see why the condition never comes true.",
                )  # fmt: skip
        return True

    def _launch(self, step: LaunchStep) -> None:
        self.runner.launch(step, self, tuple(n for _, n in self.rounds))

    def _set(self, step: SetStep) -> None:
        target = self.arguments[step.name]
        values = [converted(e.number(self), target.dtype, e) for e in step.values]
        if target.kind == ArgumentKind.SCALAR:
            self.scalars[step.name] = values[0]
            return
        array = self.runner.array(step.name).reshape(-1)
        span = self._span(step.first, step.count, target, step.at)
        with np.errstate(all="ignore"):
            array[span] = values[0] if len(values) == 1 else np.resize(np.array(values, array.dtype), array[span].shape)
        self.runner.changed(step.name)

    def _copy(self, step: CopyStep) -> None:
        source, target = self.arguments[step.source], self.arguments[step.target]
        from_ = self._span(step.first, step.count, source, step.at)
        n = from_.stop - from_.start
        start = step.to.integer(self, 0, _elements(target))
        if start + n > _elements(target):
            found = f"{n} elements from {start} on"
            step.at.sub("at").fail(f"the copy reaches beyond {target.name}", found, f"{_elements(target)} in all")
        kind = f"u{source.numpy_dtype.itemsize}"
        data = self.runner.array(step.source).reshape(-1).view(kind)[from_].copy()
        self.runner.array(step.target).reshape(-1).view(kind)[start : start + n] = data
        self.runner.changed(step.target)

    def _span(self, first: Expression, count: Expression | None, a: Argument, at: At) -> slice:
        """`count` elements of the argument from `first` on, all that follow without."""
        total = _elements(a)
        start = first.integer(self, 0, total)
        n = total - start if count is None else count.integer(self, 0, total)
        if start + n > total:
            found = f"{n} elements from {start} on"
            at.sub("count").fail(f"elements beyond the end of {a.name}", found, f"{total} in all")
        return slice(start, start + n)

    def _swap(self, step: SwapStep) -> None:
        self.runner.swap(step.one, step.other)

    def _host(self, step: HostStep) -> None:
        key = (step.file, step.function)
        if key not in self.functions:
            self.functions[key] = host_function(step)
        arrays = {n: self.runner.array(n) for n in step.arguments if n not in self.scalars}
        for name, value in call_host(self.functions[key], step, arrays, self.scalars).items():
            self.scalars[name] = self._returned(step, name, value)
        for name in arrays:
            self.runner.changed(name)

    def _returned(self, step: HostStep, name: str, value: Number) -> Number:
        """A scalar's new value, which fits its type."""
        at = step.at.sub("host")
        try:
            return converted(value, self.arguments[name].dtype, Expression(at, repr(value), lambda scope: value, value))
        except BinallocError as error:
            message = f"{name}: {error.message}"
            raise UsageError(message, file=step.file, found=error.found, expected=error.expected) from None


def _elements(a: Argument) -> int:
    return int(np.prod(a.shape))
