"""The schema of programs is here: it turns the plain dict of a TOML parser into a checked `Program`.

Needs `expressions`, and for arguments and reference the schema of files of one launch. Leaves true: every unknown key,
unknown name, wrong type and number out of range has been refused with MalformedInput, which names key, found, expected.
Keys are named as in the file: the second step of a loop that is the first step is `step[0].step[1]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from binalloc.isa.interface.names import NAME
from binalloc.launch.arguments import parse_arguments
from binalloc.launch.elements.cells import POINTER_WORDS
from binalloc.launch.elements.layout import size_of
from binalloc.launch.numbers.dtypes import NUMBERS, POINTER, kind_of
from binalloc.launch.program.expressions import (
    FUNCTIONS,
    AllowedNames,
    Expression,
    Number,
    NumberScope,
    parse_expression,
)
from binalloc.launch.program.fields import parse_field
from binalloc.launch.program.types import (
    Complex,
    CopyStep,
    Given,
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
from binalloc.launch.schema import RUNTIME_BYTES, of_size, parse_reference, parse_runtime
from binalloc.launch.types import HELD, Argument, ArgumentKind, Launch
from binalloc.launch.values import At, a_name, a_path, a_spelling
from binalloc.printable import quoted

MAX_DEPTH = 8  # loops in loops: bounds recursion; chosen by hand
MAX_STEPS = 1000  # steps of a file: bounds its check; chosen by hand
MAX_ROUNDS = 1 << 40  # rounds of a loop that a file may allow: more than any run can do, and still far inside 64 bits
MAX_CONSTANTS = 1000  # constants of a file: bounds its check; chosen by hand
ROUNDS = 1_000_000
"""Most rounds of `repeat` where the file does not give a limit: a slip must not run for ever; chosen by hand."""
MAX_ARGUMENTS = 4096  # arguments of a launch: more parameters than CUDA's 32,764 bytes hold of 8 bytes each

_SIZE = ("constants", *RUNTIME_BYTES, "argument")  # keys of `[sizes.<name>]`
_TOP = (*_SIZE, "types", "step", "reference", "sizes")  # keys of the file
_VERBS: dict[str, tuple[str, ...]] = {
    "launch": ("grid", "block", "dynamic_shared", "cooperative", "arguments"),
    "set": ("value", "from", "count", "field"),
    "copy": ("to", "from", "at", "count"),
    "swap": (),
    "host": ("arguments",),
    "repeat": ("variable", "start", "by", "at_most", "step"),
    "while": ("variable", "start", "by", "at_most", "step"),
    "until": ("variable", "start", "by", "at_most", "step"),
}
"""By verb of a step: its further keys."""
_EVERYWHERE = ("when",)  # keys of every step


def parse_program(data: object, *, path: str = "", size: str | None = None) -> Program:
    """Check a program that is given as a dict, and build it. path, size: as in `schema.parse_launch`.

    Every `[sizes.<name>]` is checked, not only the chosen one. Raises MalformedInput, and UsageError for a size that
    the file lacks.
    """
    at = At(path, "")
    table = At(path, "launch file").table(data)
    at.only_keys(table, _TOP)
    return of_size(table, at, size, lambda override, name: _build(table, override, name, at))


def _build(table: dict[str, Any], override: dict[str, Any], size: str, at: At) -> Program:
    """Build the program of one size, "" for the file's own numbers."""
    over_at = at.sub("sizes").sub(size) if size else at
    if size:
        over_at.only_keys(override, _SIZE)
    constants = _constants(table, override, at, over_at)
    numbers = AllowedNames(tuple(constants))
    arguments = parse_arguments(
        table | {"argument": _computed_list(table.get("argument", []), numbers, constants, at.sub("argument"))},
        override | {"argument": _computed_table(override.get("argument", {}), numbers, constants, over_at)},
        at, over_at,
    )  # fmt: skip
    for i, a in enumerate(arguments):
        where = at.sub(f"argument[{i}]").sub("name")
        if a.name in constants:
            where.fail("an argument has the name of a constant", a.name, "distinct names")
        if a.name in FUNCTIONS:
            message = "the argument has the name of a function of expressions"
            where.fail(message, a.name, f"a name other than {', '.join(FUNCTIONS)}")
    held = Launch(
        "", (1, 1, 1), (1, 1, 1), 0, arguments, parse_reference(table, at), size, at.file,
        **parse_runtime(table, override, at, over_at),  # type: ignore[arg-type]
    )  # fmt: skip
    steps = _Steps(arguments, constants).steps(at.required(table, "step"), (), at.sub("step"), MAX_DEPTH)
    return Program(held, constants, steps)


def _constants(table: dict[str, Any], override: dict[str, Any], at: At, over_at: At) -> dict[str, Number]:
    """Return the named numbers; each may be computed from the ones before it."""
    given = at.sub("constants").table(table.get("constants", {}))
    changes = over_at.sub("constants").table(override.get("constants", {}))
    over_at.sub("constants").only_keys(changes, tuple(given))
    if len(given) > MAX_CONSTANTS:
        at.sub("constants").fail("too many constants", len(given), f"at most {MAX_CONSTANTS}")
    out: dict[str, Number] = {}
    for name in given:
        where = (over_at if name in changes else at).sub("constants").sub(name)
        _require_identifier(name, where)
        out[name] = parse_expression(changes.get(name, given[name]), AllowedNames(tuple(out)), where).number(
            NumberScope(out)
        )
    return out


def _require_identifier(name: str, at: At) -> str:
    """Return a name that expressions can have, of a constant or a loop variable."""
    if not name.isidentifier() or not NAME.fullmatch(name) or name in FUNCTIONS or name in _KEYWORDS:
        at.fail("not a name of expressions", quoted(name), f"letters, digits and _, and none of {', '.join(FUNCTIONS)}")
    return name


_KEYWORDS = ("and", "or", "not", "if", "else", "is", "in", "lambda", "for", "None", "True", "False")
"""Words of Python that its parser does not read as names."""


def _computed_list(entries: object, names: AllowedNames, constants: dict[str, Number], at: At) -> object:
    """Return `[[argument]]` tables with numbers in place of expressions of constants."""
    if not isinstance(entries, list):
        return entries
    return [_computed(entry, names, constants, At(at.file, f"{at.key}[{i}]")) for i, entry in enumerate(entries)]


def _computed_table(changes: object, names: AllowedNames, constants: dict[str, Number], over_at: At) -> object:
    """Return a size's tables of arguments with numbers in place of expressions of constants."""
    if not isinstance(changes, dict):
        return changes
    at = over_at.sub("argument")
    return {name: _computed(change, names, constants, at.sub(str(name))) for name, change in changes.items()}


def _computed(entry: object, names: AllowedNames, constants: dict[str, Number], at: At) -> object:
    """Return an argument with numbers in place of expressions in its `value` and `shape`."""
    if not isinstance(entry, dict):
        return entry

    def number(key: str, value: object) -> object:
        if not isinstance(value, str):
            return value
        return parse_expression(value, names, at.sub(key)).number(NumberScope(constants))

    out = dict(entry)
    if "value" in out:
        out["value"] = number("value", out["value"])
    if "shape" in out:
        sides = out["shape"]
        out["shape"] = [number("shape", s) for s in sides] if isinstance(sides, list) else number("shape", sides)
    return out


class _Steps:
    """`_Steps` reads the steps of one program."""

    def __init__(self, arguments: tuple[Argument, ...], constants: Mapping[str, Number]) -> None:
        self.arguments = {a.name: a for a in arguments}
        self.constants = constants
        self.count = 0  #: steps read so far
        self.scalars = [a.name for a in arguments if a.kind == ArgumentKind.SCALAR and kind_of(a.dtype) != "c"]
        self.arrays = {a.name: len(a.shape) for a in arguments if a.has_contents}
        self.elements = {a.name: a.element for a in arguments if a.has_contents}

    def names(self, variables: tuple[str, ...]) -> AllowedNames:
        """Return the names that expressions may use inside of loops with those variables."""
        return AllowedNames((*variables, *self.constants, *self.scalars), self.arrays, self.elements)

    def steps(self, value: object, variables: tuple[str, ...], at: At, depth: int) -> tuple[ProgramStep, ...]:
        """Return a list of steps inside of loops with those variables. depth: levels of loops that may still follow."""
        if not isinstance(value, list) or not value:
            at.fail("no steps", quoted(value), "[[step]] entries, one or more")
        if depth == 0:
            at.fail("loops nest too deeply", MAX_DEPTH + 1, f"at most {MAX_DEPTH} levels")
        self.count += len(value)
        if self.count > MAX_STEPS:
            at.fail("too many steps", self.count, f"at most {MAX_STEPS}")
        places = [At(at.file, f"{at.key}[{i}]") for i in range(len(value))]
        return tuple(self.step(e, variables, where, depth) for e, where in zip(value, places, strict=True))

    def step(self, value: object, variables: tuple[str, ...], at: At, depth: int) -> ProgramStep:
        """Return one step."""
        entry = at.table(value)
        verbs = [verb for verb in _VERBS if verb in entry]
        if len(verbs) != 1:
            at.fail("a step does one thing", ", ".join(verbs) or ", ".join(entry) or "no keys", f"one of {_LISTED}")
        verb = verbs[0]
        at.only_keys(entry, (verb, *_VERBS[verb], *_EVERYWHERE))
        reader = _Reader(self, entry, self.names(variables), at)
        when = reader.optional("when")
        if verb in ("repeat", "while", "until"):
            return self.loop(reader, verb, when, variables, depth)
        return _READERS[verb](reader, when)

    def loop(
        self, reader: _Reader, verb: str, when: Expression | None, variables: tuple[str, ...], depth: int
    ) -> LoopStep:
        """Return a step that repeats others."""
        entry, at = reader.entry, reader.at
        variable = ""
        if "variable" in entry:
            where = at.sub("variable")
            variable = _require_identifier(a_name(entry["variable"], where), where)
            if variable in reader.names.numbers or variable in self.arguments:
                where.fail("the name has a meaning already", variable, "another name")
        else:
            at.only_keys({k: None for k in ("start", "by") if k in entry}, ())
        inner = (*variables, variable) if variable else variables
        if verb == "repeat":
            at_most = at.sub("at_most").integer(entry.get("at_most", ROUNDS), 1, MAX_ROUNDS)
        else:
            at_most = at.sub("at_most").integer(at.required(entry, "at_most"), 1, MAX_ROUNDS)
        first = parse_expression(entry[verb], reader.names if verb == "repeat" else self.names(inner), at.sub(verb))
        return LoopStep(
            at, when, variable, reader.expression("start", 0), reader.expression("by", 1),
            first if verb == "repeat" else None, first if verb == "while" else None, first if verb == "until" else None,
            at_most, self.steps(at.required(entry, "step"), inner, at.sub("step"), depth - 1),
        )  # fmt: skip


_LISTED = ", ".join(_VERBS)


class _Reader:
    """A reader reads the table of one step."""

    def __init__(self, steps: _Steps, entry: dict[str, Any], names: AllowedNames, at: At) -> None:
        self.all, self.entry, self.names, self.at = steps, entry, names, at

    def expression(self, key: str, default: Number) -> Expression:
        return parse_expression(self.entry.get(key, default), self.names, self.at.sub(key))

    def truth(self, key: str) -> bool:
        return self.at.sub(key).typed(self.entry.get(key, False), bool)

    def optional(self, key: str) -> Expression | None:
        return self.expression(key, 0) if key in self.entry else None

    def argument(self, value: object, at: At, kinds: tuple[ArgumentKind, ...]) -> Argument:
        """Return the argument of the program that the file names here, of one of the kinds."""
        fitting = [
            a.name for a in self.all.arguments.values() if a.kind in kinds and (a.has_contents or a.kind not in HELD)
        ]
        return self.all.arguments[at.one_of(a_name(value, at), fitting)]

    def dimensions(self, key: str) -> tuple[Expression, Expression, Expression]:
        """Return a grid or block."""
        value, at = self.at.required(self.entry, key), self.at.sub(key)
        items = value if isinstance(value, list) else [value]
        if not 1 <= len(items) <= 3:
            at.fail("wrong rank", f"{len(items)} dimensions", "a number, an expression, or a list of up to 3")
        x, y, z = [parse_expression(v, self.names, at) for v in items + [1] * (3 - len(items))]
        return x, y, z


def _launch(reader: _Reader, when: Expression | None) -> LaunchStep:
    """Return a step that launches a kernel."""
    kernel = a_spelling(reader.entry["launch"], reader.at.sub("launch"))
    given, at = reader.entry.get("arguments"), reader.at.sub("arguments")
    arguments: tuple[Given, ...] | dict[str, Given] | None = None
    if isinstance(given, dict):
        arguments = {str(name): _given(reader, value, at.sub(str(name))) for name, value in given.items()}
    elif isinstance(given, list):
        arguments = tuple(_given(reader, v, At(at.file, f"{at.key}[{i}]")) for i, v in enumerate(given))
    elif given is not None:
        at.fail("not arguments", quoted(given), "a list in the order of the kernel's parameters, or a table by name")
    if arguments is not None and len(arguments) > MAX_ARGUMENTS:
        at.fail("too many arguments", len(arguments), f"at most {MAX_ARGUMENTS}")
    return LaunchStep(
        reader.at, when, kernel, reader.dimensions("grid"), reader.dimensions("block"),
        reader.expression("dynamic_shared", 0), arguments, reader.truth("cooperative"),
    )  # fmt: skip


def _given(reader: _Reader, value: object, at: At) -> Given:
    """Return what a step passes for a parameter."""
    passed = [a.name for a in reader.all.arguments.values() if a.kind != ArgumentKind.SYMBOL]
    if isinstance(value, str) and value in passed:
        return Given(at, value)
    if not isinstance(value, dict):
        return Given(at, value=parse_expression(value, reader.names, at))
    if "argument" in value:
        at.only_keys(value, ("argument", "at"))
        buffer = reader.argument(value["argument"], at.sub("argument"), (ArgumentKind.BUFFER,))
        return Given(at, buffer.name, parse_expression(value.get("at", 0), reader.names, at.sub("at")))
    at.only_keys(value, ("value", "dtype"))
    dtype = at.sub("dtype").one_of(at.required(value, "dtype"), NUMBERS)
    return Given(at, "", parse_expression(at.required(value, "value"), reader.names, at.sub("value")), dtype)


def _set(reader: _Reader, when: Expression | None) -> SetStep:
    """Return a step that sets a scalar or elements."""
    at = reader.at
    target = reader.argument(reader.entry["set"], at.sub("set"), (*HELD, ArgumentKind.SCALAR))
    given = at.required(reader.entry, "value")
    items = given if isinstance(given, list) else [given]
    if not items:
        at.sub("value").fail("no values", "[]", "a value or a list of values")
    if target.kind == ArgumentKind.SCALAR:
        at.only_keys(reader.entry, ("set", "value", *_EVERYWHERE))
        if isinstance(given, list) and (kind_of(target.dtype) != "c" or len(given) != 2):
            at.sub("value").fail("a scalar has one value", f"a list of {len(given)}", "a number or an expression")
    element, fields = target.element, None
    if "field" in reader.entry:
        fields, element = parse_field(reader.entry["field"], element, at.sub("field"))
    if not isinstance(element, str):
        at.sub("set").fail("a struct has many values", target.name, 'one of its fields, `field = "name"`')
    if kind_of(element) == "c" and len(items) == 2 and not any(isinstance(v, list) for v in items):
        items = [items]
    values = tuple(_value(reader, v, element, at.sub("value")) for v in items)
    return SetStep(at, when, target.name, values, reader.expression("from", 0), reader.optional("count"), fields or ())


def _value(reader: _Reader, value: object, dtype: str, at: At) -> Value:
    """Return the new value of an element: a number, two of a complex one, or the target of a pointer."""
    if kind_of(dtype) == "c" and isinstance(value, list):
        if len(value) != 2:
            at.fail("not a complex number", quoted(value), "a number, or a list of its two parts")
        real, imaginary = (parse_expression(v, reader.names, at) for v in value)
        return Complex(real, imaginary)
    if dtype != POINTER:
        return parse_expression(value, reader.names, at)
    if value == 0 and not isinstance(value, bool | float):
        return parse_expression(value, reader.names, at)
    table = {"argument": value} if isinstance(value, str) else value
    if not isinstance(table, dict):
        at.fail("not a pointer", quoted(value), POINTER_WORDS)
    at.only_keys(table, ("argument", "at", "element"))
    buffer = reader.argument(at.required(table, "argument"), at.sub("argument"), (ArgumentKind.BUFFER,))
    element, byte = (parse_expression(table.get(k, 0), reader.names, at.sub(k)) for k in ("element", "at"))
    return Pointer(buffer.name, element, byte)


def _copy(reader: _Reader, when: Expression | None) -> CopyStep:
    """Return a step that copies elements."""
    at = reader.at
    source = reader.argument(reader.entry["copy"], at.sub("copy"), HELD)
    target = reader.argument(at.required(reader.entry, "to"), at.sub("to"), HELD)
    one, other = size_of(source.element), size_of(target.element)
    if one != other:
        found = f"{source.dtype} and {target.dtype}"
        at.sub("to").fail("elements of another size", found, f"elements of {one} bytes, whose bits are copied")
    return CopyStep(
        at, when, source.name, target.name, reader.expression("from", 0), reader.expression("at", 0),
        reader.optional("count"),
    )  # fmt: skip


def _swap(reader: _Reader, when: Expression | None) -> SwapStep:
    """Return a step that exchanges the names of two buffers."""
    at = reader.at.sub("swap")
    names = reader.entry["swap"]
    if not isinstance(names, list) or len(names) != 2 or names[0] == names[1]:
        at.fail("not two buffers", quoted(names), "a list of two names")
    one, other = (reader.argument(name, at, (ArgumentKind.BUFFER,)) for name in names)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        found = f"{one.dtype} {list(one.shape)} and {other.dtype} {list(other.shape)}"
        at.fail("the buffers are not alike", found, "buffers of one dtype and shape")
    return SwapStep(reader.at, when, one.name, other.name)


def _host(reader: _Reader, when: Expression | None) -> HostStep:
    """Return a step that calls a function on the host."""
    at = reader.at.sub("host")
    entry = at.table(reader.entry["host"])
    at.only_keys(entry, ("file", "function"))
    where = reader.at.sub("arguments")
    names = reader.at.required(reader.entry, "arguments")
    if not isinstance(names, list) or len(set(map(str, names))) < len(names):
        where.fail("not names", quoted(names), "a list of distinct names of arguments")
    found = [reader.argument(name, where, (*HELD, ArgumentKind.SCALAR)).name for name in names]
    file = a_path(at.required(entry, "file"), at.sub("file"))
    return HostStep(
        reader.at, when, str(file), a_name(at.required(entry, "function"), at.sub("function")), tuple(found)
    )


_READERS: dict[str, Callable[[_Reader, Expression | None], ProgramStep]] = {
    "launch": _launch,
    "set": _set,
    "copy": _copy,
    "swap": _swap,
    "host": _host,
}
"""By verb: its reader; `_Steps.loop` reads loops."""
