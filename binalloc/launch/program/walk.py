"""A program is walked through step by step here: a `Runner` runs its launches, and everything else is done here.

Needs a `Runner`, which has the program's memory and runs kernels. Leaves true: once a walk has ended, memory has the
contents that the program asks for. Every error names its step, and the rounds of the loops around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from binalloc.errors import BinallocError, LimitHit, UsageError
from binalloc.launch.elements.layout import inside, size_of
from binalloc.launch.numbers.dtypes import POINTER, rounded, shown
from binalloc.launch.program.binding import converted
from binalloc.launch.program.expressions import Expression, Number, Path, Scope
from binalloc.launch.program.host import call_host, host_function
from binalloc.launch.program.types import (
    Complex,
    CopyStep,
    HostStep,
    LaunchStep,
    LoopStep,
    Pointer,
    Program,
    ProgramStep,
    SetStep,
    SwapStep,
    Value,
)
from binalloc.launch.types import Argument, ArgumentKind, Array
from binalloc.launch.values import At


class Runner(Protocol):
    """A runner has the program's memory and runs its kernels."""

    def array(self, name: str) -> Array:
        """Return the contents of the argument of that name, in its dtype and shape; changes of it change memory."""

    def changed(self, name: str) -> None:
        """Note that the array has been changed."""

    def swap(self, one: str, other: str) -> None:
        """Exchange the names of two buffers."""

    def address(self, name: str) -> int:
        """Return the present address of the buffer of that name."""

    def launch(self, step: LaunchStep, scope: Scope, rounds: tuple[int, ...]) -> None:
        """Run a launch to its end. rounds: of the loops around it, the outermost first."""


class ProgramWalk:
    """A walk executes the steps of one program. It is the scope of the program's expressions, too."""

    def __init__(self, program: Program, runner: Runner) -> None:
        self.program, self.runner = program, runner
        self.arguments = {a.name: a for a in program.held.arguments}
        self.scalars: dict[str, Number | complex] = {
            a.name: program.held.values[a.name] for a in program.held.arguments if a.kind == ArgumentKind.SCALAR
        }
        self.variables: dict[str, Number] = {}  #: of the loops around the present step
        self.rounds: list[tuple[LoopStep, int]] = []  #: these loops, with their rounds, from 0
        self.functions: dict[tuple[str, str], Any] = {}  #: of host steps, by file and name
        self.done: dict[type[ProgramStep], Callable[[Any], None]] = {
            LaunchStep: self._launch, SetStep: self._set, CopyStep: self._copy, SwapStep: self._swap,
            HostStep: self._host,
        }  # fmt: skip

    def run(self) -> None:
        """Execute all steps, in their order. Raises their errors, and LimitHit for a loop that does not end; all of
        them name the place."""
        self._steps(self.program.steps)

    # the scope of expressions

    def number(self, name: str) -> Number:
        """Return the present value of a loop variable, scalar or constant."""
        for numbers in (self.variables, self.scalars, self.program.constants):
            if name in numbers:
                found = numbers[name]
                assert not isinstance(found, complex)
                return int(found) if isinstance(found, bool) else found
        raise AssertionError(name)

    def element(self, name: str, index: tuple[int, ...], path: Path) -> Number:
        """Return a present number in a buffer."""
        found = self.runner.array(name)
        for step in (index, *path):
            found = found[step] if isinstance(step, str) else _indexed(found, step)
        dtype = inside(self.arguments[name].element, path)
        assert isinstance(dtype, str)
        number: Number = shown(np.asarray(found).reshape(1), dtype)[0].item()
        return int(number) if isinstance(number, bool) else number

    # steps

    def _steps(self, steps: tuple[ProgramStep, ...]) -> None:
        """Execute steps, without those whose `when` is 0."""
        for step in steps:
            with self._located(step):
                left_out = step.when is not None and not step.when.number(self)
            if left_out:
                continue
            if isinstance(step, LoopStep):
                self._loop(step)
                continue
            with self._located(step):
                self.done[type(step)](step)

    @contextmanager
    def _located(self, step: ProgramStep) -> Iterator[None]:
        """Add the step's place in the program to errors of the body."""
        try:
            yield
        except BinallocError as error:
            if (where := self._where(step, error.place)):
                error.message = f"{error.message} (in {where})"
            raise

    def _where(self, step: ProgramStep, place: str | None) -> str:
        """Return `step[1].step[0], round 3 of step[1]`: the step, unless the place of an error names it, and the
        present rounds."""
        known = place is not None and place.startswith(step.at.key)
        rounds = [f"round {n:,} of {loop.at.key}" for loop, n in reversed(self.rounds)]
        return ", ".join(rounds if known else [step.at.key, *rounds])

    def _loop(self, step: LoopStep) -> None:
        """Repeat the steps of a loop."""
        with self._located(step):
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
        """Return whether a loop that has had n rounds has another one."""
        if condition is None:
            return True
        with self._located(step):
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
        """Give a scalar or elements their new values."""
        target = self.arguments[step.name]
        dtype = inside(target.element, step.fields)
        assert isinstance(dtype, str)
        values = [self._value(v, dtype) for v in step.values]
        if target.kind == ArgumentKind.SCALAR:
            self.scalars[step.name] = values[0]
            return
        part = self.runner.array(step.name).reshape(-1)[self._span(step.first, step.count, target, step.at)]
        for inner in step.fields:
            place: Any = inner if isinstance(inner, str) else (..., *inner)
            part = part[place]
        if 1 < len(values) > part.size:
            step.at.sub("value").fail("more values than elements", len(values), f"at most {part.size}")
        with np.errstate(all="ignore"):
            given = rounded(values, dtype)
            part[...] = given[0] if len(given) == 1 else np.resize(given, part.shape)
        self.runner.changed(step.name)

    def _value(self, value: Value, dtype: str) -> Number | complex:
        """Return the present new value of an element."""
        if isinstance(value, Pointer):
            target = self.arguments[value.argument]
            size, most = size_of(target.element), target.bytes
            byte = size * value.element.integer(self, 0, most // size) + value.byte.integer(self, 0, most)
            if byte > most:
                value.byte.at.fail(f"beyond the end of {value.argument}", byte, f"at most {most}")
            return self.runner.address(value.argument) + byte
        if isinstance(value, Complex):
            return complex(*(converted(part.number(self), dtype, part) for part in (value.real, value.imaginary)))
        return converted(value.number(self), "u64" if dtype == POINTER else dtype, value)

    def _copy(self, step: CopyStep) -> None:
        """Copy elements, also within one buffer where they overlap."""
        source, target = self.arguments[step.source], self.arguments[step.target]
        from_ = self._span(step.first, step.count, source, step.at)
        n = from_.stop - from_.start
        start = step.to.integer(self, 0, _elements(target))
        if start + n > _elements(target):
            found = f"{n} elements from {start} on"
            step.at.sub("at").fail(f"the copy reaches beyond {target.name}", found, f"{_elements(target)} in all")
        kind = f"V{size_of(source.element)}"
        data = self.runner.array(step.source).reshape(-1).view(kind)[from_].copy()
        self.runner.array(step.target).reshape(-1).view(kind)[start : start + n] = data
        self.runner.changed(step.target)

    def _span(self, first: Expression, count: Expression | None, a: Argument, at: At) -> slice:
        """Return `count` elements of the argument from `first`, without a count all that follow."""
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
        """Call a function on the host."""
        key = (step.file, step.function)
        if key not in self.functions:
            self.functions[key] = host_function(step)
        arrays = {n: self.runner.array(n) for n in step.arguments if n not in self.scalars}
        for name, value in call_host(self.functions[key], step, arrays, self.scalars).items():
            self.scalars[name] = self._returned(step, name, value)
        for name in arrays:
            self.runner.changed(name)

    def _returned(self, step: HostStep, name: str, given: Number | complex) -> Number | complex:
        """Return a scalar's new value from a host function, which fits its type."""
        at, dtype = step.at.sub("host"), self.arguments[name].dtype
        if isinstance(given, complex):
            found: complex = rounded(given, dtype).item()
            return found
        value = int(given) if isinstance(given, bool) else given
        try:
            return converted(value, dtype, Expression(at, repr(value), lambda scope: value, value))
        except BinallocError as error:
            message = f"{name}: {error.message}"
            raise UsageError(message, file=step.file, found=error.found, expected=error.expected) from None


def _indexed(array: Array, index: tuple[int, ...]) -> Array:
    """Return an element of an array, by one index for each axis or one in C order."""
    if len(index) == 1 and array.ndim > 1:
        array = array.reshape(-1)
    if not all(0 <= i < n for i, n in zip(index, array.shape, strict=True)):
        raise IndexError("indices from 0 to " + ", ".join(str(n - 1) for n in array.shape))
    found: Array = array[index]
    return found


def _elements(a: Argument) -> int:
    """Return the number of elements."""
    return int(np.prod(a.shape))
