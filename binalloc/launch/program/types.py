"""What a program is: immutable records of its steps, its arguments, and what they should hold in the end.

Needs the records of launches. Leaves true: a `Program` has passed every check of `schema`: its names are known where
they stand, and what can be computed without running anything is in range.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from binalloc.launch.program.expressions import Expression, Number, Path
from binalloc.launch.types import Argument, Launch
from binalloc.launch.values import At


@dataclass(frozen=True, slots=True)
class Given:
    """What a launch passes for one parameter: an argument of the program by its name, a number (`value`) of a `dtype`
    ("": an integer or a float as it is, of the parameter's size), or with both the address of that byte of a buffer."""

    at: At
    argument: str = ""
    value: Expression | None = None
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One step. at: its place in the file. when: it is left out where this is 0; None: never."""

    at: At
    when: Expression | None


@dataclass(frozen=True, slots=True)
class LaunchStep(ProgramStep):
    """A launch of a kernel. arguments: in the order of its parameters, or by their names; None: the program's arguments
    go to parameters as in a file of one launch."""

    kernel: str
    grid: tuple[Expression, Expression, Expression]
    block: tuple[Expression, Expression, Expression]
    dynamic_shared: Expression
    arguments: tuple[Given, ...] | dict[str, Given] | None
    cooperative: bool = False


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex number of two expressions."""

    real: Expression
    imaginary: Expression


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of a byte of a buffer, `at` bytes behind the beginning of its element `element`."""

    argument: str
    element: Expression
    byte: Expression


Value = Expression | Complex | Pointer


@dataclass(frozen=True, slots=True)
class SetStep(ProgramStep):
    """`name` gets a value: a scalar, or `count` elements from `first` on (None: all from there on), which get the
    values in turn; one goes to all of them. fields: of structs, names of members from the outside in, and places in
    arrays, whose numbers get the values."""

    name: str
    values: tuple[Value, ...]
    first: Expression
    count: Expression | None
    fields: Path = ()


@dataclass(frozen=True, slots=True)
class CopyStep(ProgramStep):
    """`count` elements of `source` from `first` on (None: all from there on) go to `target` from element `to` on."""

    source: str
    target: str
    first: Expression
    to: Expression
    count: Expression | None


@dataclass(frozen=True, slots=True)
class SwapStep(ProgramStep):
    """Two buffers exchange their names."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class HostStep(ProgramStep):
    """A function of a Python file looks at the arguments named, and may change them."""

    file: str
    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoopStep(ProgramStep):
    """Steps that are repeated: `rounds` times, while `before` is not 0 in front of each round, or until `after` is not
    0 behind one. variable: `start` in the first round and `by` more in each ("": none). at_most: rounds."""

    variable: str
    start: Expression
    by: Expression
    rounds: Expression | None
    before: Expression | None
    after: Expression | None
    at_most: int
    steps: tuple[ProgramStep, ...]

    @property
    def kind(self) -> str:
        """The key that says how often."""
        return "repeat" if self.rounds is not None else "while" if self.before is not None else "until"


@dataclass(frozen=True, slots=True)
class Program:
    """Launches in sequence over arguments that are kept. held: the arguments with reference, size and path, as a launch
    of no kernel has them. constants: numbers by name."""

    held: Launch
    constants: dict[str, Number]
    steps: tuple[ProgramStep, ...] = field(repr=False)

    @property
    def path(self) -> str:
        return self.held.path

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels launched, as the file has them, each once, in its order."""
        return tuple(dict.fromkeys(s.kernel for s in every_step(self.steps) if isinstance(s, LaunchStep)))

    @property
    def host_files(self) -> tuple[str, ...]:
        """The Python files that host steps name, each once."""
        return tuple(dict.fromkeys(s.file for s in every_step(self.steps) if isinstance(s, HostStep)))

    @property
    def contents(self) -> tuple[Argument, ...]:
        """The arguments that have contents."""
        return tuple(a for a in self.held.arguments if a.has_contents)


def every_step(steps: tuple[ProgramStep, ...]) -> Iterator[ProgramStep]:
    """All steps, those of loops behind their loops."""
    for step in steps:
        yield step
        if isinstance(step, LoopStep):
            yield from every_step(step.steps)
