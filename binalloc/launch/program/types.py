"""A program consists of these immutable records: its steps, its arguments, and the contents that they should have in
the end.

Needs the records of launches. Leaves true: a `Program` has passed every check of `schema`: its names are known at their
places, and everything that can be computed without a run is in range.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from binalloc.launch.program.expressions import Expression, Number, Path
from binalloc.launch.types import Argument, Launch
from binalloc.launch.values import At


@dataclass(frozen=True, slots=True)
class Given:
    """A given value is what a launch passes for one parameter: an argument of the program, a number, or the address of
    a byte of a buffer."""

    at: At  #: place in the file
    argument: str = ""  #: name of the argument or buffer; "" for a number
    #: the number, or with an argument the byte of that buffer; None for the argument itself
    value: Expression | None = None
    dtype: str = ""  #: type of the number; "": an integer or a float as it is, of the parameter's size


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """A step of a program launches a kernel, changes arguments, calls a function of the host, or repeats other
    steps."""

    at: At  #: its place in the file
    when: Expression | None  #: the step is left out where this is 0; None: never


@dataclass(frozen=True, slots=True)
class LaunchStep(ProgramStep):
    """A launch step launches a kernel."""

    kernel: str
    grid: tuple[Expression, Expression, Expression]
    block: tuple[Expression, Expression, Expression]
    dynamic_shared: Expression  #: bytes
    #: in the order of its parameters, or by their names; None: the program's arguments go to parameters as in a file of
    #: one launch
    arguments: tuple[Given, ...] | dict[str, Given] | None
    cooperative: bool = False  #: all blocks are resident at once, and may wait for one another


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex number consists of two expressions."""

    real: Expression
    imaginary: Expression


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer value is the address of a byte of a buffer."""

    argument: str
    element: Expression  #: index of an element
    byte: Expression  #: bytes behind the beginning of that element


Value = Expression | Complex | Pointer


@dataclass(frozen=True, slots=True)
class SetStep(ProgramStep):
    """A set step gives a scalar or elements new values."""

    name: str  #: the scalar, buffer, variable or texture
    values: tuple[Value, ...]  #: for the elements in turn; one goes to all of them
    first: Expression  #: index of the first element
    count: Expression | None  #: number of elements; None: all from there on
    #: of structs: names of members from the outside in, and indices in arrays; their numbers get the values
    fields: Path = ()


@dataclass(frozen=True, slots=True)
class CopyStep(ProgramStep):
    """A copy step copies elements."""

    source: str
    target: str
    first: Expression  #: index of the first element in `source`
    to: Expression  #: index of the first element in `target`
    count: Expression | None  #: number of elements; None: all from `first` on


@dataclass(frozen=True, slots=True)
class SwapStep(ProgramStep):
    """A swap step exchanges the names of two buffers."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class HostStep(ProgramStep):
    """A host step calls a function of a Python file, which may change the arguments."""

    file: str
    function: str
    arguments: tuple[str, ...]  #: the arguments that it gets, by name


@dataclass(frozen=True, slots=True)
class LoopStep(ProgramStep):
    """A loop step repeats other steps. One of `rounds`, `before` and `after` is given."""

    variable: str  #: "" for none
    start: Expression  #: value of the variable in the first round
    by: Expression  #: the variable's increase in each further round
    rounds: Expression | None  #: number of rounds
    before: Expression | None  #: repeat while this is not 0 in front of a round
    after: Expression | None  #: repeat until this is not 0 behind a round
    at_most: int  #: limit of rounds
    steps: tuple[ProgramStep, ...]

    @property
    def kind(self) -> str:
        """Return the key of the loop in the file."""
        return "repeat" if self.rounds is not None else "while" if self.before is not None else "until"


@dataclass(frozen=True, slots=True)
class Program:
    """A program launches kernels in sequence over arguments that are kept."""

    held: Launch  #: the arguments with reference, size and path, as a launch of no kernel has them
    constants: dict[str, Number]  #: numbers by name
    steps: tuple[ProgramStep, ...] = field(repr=False)

    @property
    def path(self) -> str:
        return self.held.path

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels that are launched, as the file has them, each once, in its order."""
        return tuple(dict.fromkeys(s.kernel for s in every_step(self.steps) if isinstance(s, LaunchStep)))

    @property
    def host_files(self) -> tuple[str, ...]:
        """Return the Python files that host steps name, each once."""
        return tuple(dict.fromkeys(s.file for s in every_step(self.steps) if isinstance(s, HostStep)))

    @property
    def contents(self) -> tuple[Argument, ...]:
        """Return the arguments that have contents."""
        return tuple(a for a in self.held.arguments if a.has_contents)


def every_step(steps: tuple[ProgramStep, ...]) -> Iterator[ProgramStep]:
    """Yield all steps; the steps of a loop come behind it."""
    for step in steps:
        yield step
        if isinstance(step, LoopStep):
            yield from every_step(step.steps)
