"""Launch files with a sequence of launches: what they say, and everything that is refused, with its key."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import BinallocError, MalformedInput, UsageError
from binalloc.launch.file import load_launch, parse_launch
from binalloc.launch.program import schema
from binalloc.launch.program.file import load_either, load_program
from binalloc.launch.program.schema import parse_program
from binalloc.launch.program.types import LaunchStep, LoopStep, Program
from binalloc.launch.types import Launch
from tests.support.kits.launch.programs import base, buffer, scalar, walked
from tests.support.kits.suite import rotation


def parsed(data: Any, size: str | None = None) -> Program:
    return parse_program(data, path="p.toml", size=size)


def changed(*path: Any, value: Any) -> dict[str, Any]:
    """`base` with another value somewhere; one that is ... is taken out."""
    data = copy.deepcopy(base())
    at: Any = data
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


def test_it_says_what_the_file_says() -> None:
    program = parsed(base())
    assert program.constants == {"n": 8, "half": 4}
    assert program.kernels == ("k",)
    assert program.host_files == ("h.py",)
    assert [a.name for a in program.contents] == ["a", "b", "f", "image", "v"]
    first = program.steps[0]
    assert isinstance(first, LaunchStep)
    assert [e.text for e in first.grid] == ["half", "1", "1"]
    loops = [step for step in program.steps if isinstance(step, LoopStep)]
    assert [(loop.kind, loop.at_most) for loop in loops] == [("repeat", schema.ROUNDS), ("until", 3), ("while", 5)]


def test_sizes_have_other_constants_and_arguments() -> None:
    program = parsed(base(), "test")
    assert program.constants == {"n": 4, "half": 2}
    assert program.held.argument("a").shape == (4,)
    assert program.held.size == "test"
    assert parsed(base(), "full").constants["n"] == 8
    with pytest.raises(UsageError, match="no such size; found 'huge'; expected full, test"):
        parsed(base(), "huge")


def test_values_and_shapes_may_be_expressions_of_constants() -> None:
    data = changed("argument", 2, "shape", value=["half", "n + 1"])
    data["argument"][3]["value"] = "half * half"
    held = parsed(data).held
    assert held.argument("f").shape == (4, 9)
    assert held.values["s"] == 16
    small = parsed(data, "test").held
    assert small.argument("f").shape == (2, 5)
    assert small.values["s"] == 4


REFUSED: list[tuple[tuple[Any, ...], Any, str, str]] = [
    (("kernel",), "k", "kernel", "unknown key"),
    (("step",), ..., "", "missing key 'step'"),
    (("step",), [], "step", "no steps"),
    (("step",), {"launch": "k"}, "step", "no steps"),
    (("step", 0), 3, "step[0]", "not a table"),
    (("step", 0), {}, "step[0]", "a step does one thing"),
    (("step", 0), {"set": "a", "copy": "a"}, "step[0]", "a step does one thing"),
    (("step", 0, "grid"), ..., "step[0]", "missing key 'grid'"),
    (("step", 0, "grid"), [1, 2, 3, 4], "step[0].grid", "wrong rank"),
    (("step", 0, "grid"), "z", "step[0].grid", "unknown name"),
    (("step", 0, "grid"), [True], "step[0].grid", "not an expression"),
    (("step", 0, "block"), ..., "step[0]", "missing key 'block'"),
    (("step", 0, "launch"), "", "step[0].launch", "not a name"),
    (("step", 0, "dynamic"), 0, "step[0].dynamic", "unknown key"),
    (("step", 0, "arguments"), "a", "step[0].arguments", "not arguments"),
    (("step", 0, "arguments"), ["c"], "step[0].arguments[0]", "unknown name"),
    (("step", 0, "arguments"), ["v"], "step[0].arguments[0]", "a buffer is no number"),
    (("step", 0, "arguments"), {"x": "c + 1"}, "step[0].arguments.x", "unknown name"),
    (("step", 0, "arguments"), [{"argument": "s"}], "step[0].arguments[0].argument", "not a known value"),
    (("step", 0, "arguments"), [{"argument": "a", "by": 1}], "step[0].arguments[0].by", "unknown key"),
    (("step", 0, "arguments"), [{"value": 1}], "step[0].arguments[0]", "missing key 'dtype'"),
    (("step", 0, "arguments"), [{"dtype": "i32"}], "step[0].arguments[0]", "missing key 'value'"),
    (("step", 0, "arguments"), [{"value": 1, "dtype": "int"}], "step[0].arguments[0].dtype", "not a known value"),
    (("step", 0, "arguments"), ["n"] * 5000, "step[0].arguments", "too many arguments"),
    (("step", 0, "when"), [1], "step[0].when", "not an expression"),
    (("step", 1, "set"), "w", "step[1].set", "not a known value"),
    (("step", 1, "set"), 3, "step[1].set", "not a name"),
    (("step", 1, "value"), ..., "step[1]", "missing key 'value'"),
    (("step", 1, "value"), [1, 2], "step[1].value", "a scalar has one value"),
    (("step", 1, "value"), [], "step[1].value", "no values"),
    (("step", 1, "from"), 1, "step[1].from", "unknown key"),
    (("step", 2, "at"), 1, "step[2].at", "unknown key"),
    (("step", 3, "to"), ..., "step[3]", "missing key 'to'"),
    (("step", 3, "to"), "s", "step[3].to", "not a known value"),
    (("step", 4, "swap"), ["a"], "step[4].swap", "not two buffers"),
    (("step", 4, "swap"), ["a", "a"], "step[4].swap", "not two buffers"),
    (("step", 4, "swap"), ["a", "v"], "step[4].swap", "not a known value"),
    (("step", 4, "swap"), ["a", "f"], "step[4].swap", "the buffers are not alike"),
    (("step", 5, "host"), "h.py", "step[5].host", "not a table"),
    (("step", 5, "host", "file"), ..., "step[5].host", "missing key 'file'"),
    (("step", 5, "host", "file"), "", "step[5].host.file", "not a file name"),
    (("step", 5, "host", "function"), "g()", "step[5].host.function", "not a name"),
    (("step", 5, "arguments"), ..., "step[5]", "missing key 'arguments'"),
    (("step", 5, "arguments"), ["a", "a"], "step[5].arguments", "not names"),
    (("step", 5, "arguments"), ["c"], "step[5].arguments", "not a known value"),
    (("step", 6, "variable"), "s", "step[6].variable", "the name has a meaning already"),
    (("step", 6, "variable"), "n", "step[6].variable", "the name has a meaning already"),
    (("step", 6, "variable"), "a", "step[6].variable", "the name has a meaning already"),
    (("step", 6, "variable"), "min", "step[6].variable", "not a name of expressions"),
    (("step", 6, "variable"), "if", "step[6].variable", "not a name of expressions"),
    (("step", 6, "variable"), "x.y", "step[6].variable", "not a name of expressions"),
    (("step", 6, "variable"), 1, "step[6].variable", "not"),
    (("step", 6, "variable"), ..., "step[6].step[0].value", "unknown name"),
    (("step", 6, "repeat"), "i", "step[6].repeat", "unknown name"),
    (("step", 6, "step"), ..., "step[6]", "missing key 'step'"),
    (("step", 6, "step"), [], "step[6].step", "no steps"),
    (("step", 6, "at_most"), 0, "step[6].at_most", "out of range"),
    (("step", 7, "at_most"), ..., "step[7]", "missing key 'at_most'"),
    (("step", 7, "start"), 1, "step[7].start", "unknown key"),
    (("step", 8, "at_most"), "n", "step[8].at_most", "not an integer"),
    (("constants",), 3, "constants", "not a table"),
    (("constants", "half"), "later", "constants.half", "unknown name"),
    (("constants", "half"), "a[0]", "constants.half", "no such buffer"),
    (("constants", "half"), "n / 0", "constants.half", "has no value"),
    (("constants", "half"), [1], "constants.half", "not an expression"),
    (("constants", "a b"), 1, "constants.a b", "not a name of expressions"),
    (("constants", "max"), 1, "constants.max", "not a name of expressions"),
    (("constants", "a"), 1, "argument[0].name", "an argument has the name of a constant"),
    (("argument", 0, "shape"), "s", "argument[0].shape", "unknown name"),
    (("argument", 0, "shape"), "n / 0", "argument[0].shape", "has no value"),
    (("argument", 0, "shape"), "n - 8", "argument[0].shape", "out of range"),
    (("argument", 0, "shape"), "n * 1.5", "argument[0].shape", "not an integer"),
    (("argument", 3, "value"), "1 << 31", "argument[3].value", "out of range"),
    (("argument", 3, "value"), "f(1)", "argument[3].value", "not a function"),
    (("sizes", "test", "grid"), 1, "sizes.test.grid", "unknown key"),
    (("sizes", "test", "step"), [], "sizes.test.step", "unknown key"),
    (("sizes", "test", "constants", "m"), 1, "sizes.test.constants.m", "unknown key"),
    (("sizes", "test", "constants", "n"), "half", "sizes.test.constants.n", "unknown name"),
    (("sizes", "test", "argument", "a", "shape"), "q", "sizes.test.argument.a.shape", "unknown name"),
    (("reference",), {"file": "r.py"}, "reference", "missing key 'function'"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "place", "message"), REFUSED, ids=lambda v: str(v)[:30])
def test_what_is_refused(path: tuple[Any, ...], value: Any, place: str, message: str) -> None:
    data = changed(*path, value=value)
    with pytest.raises(MalformedInput) as caught:
        parsed(data)
    error = caught.value
    assert message in str(error), str(error)
    assert (error.file, error.place or "") == ("p.toml", place), str(error)
    assert error.expected is not None, str(error)


def test_names_of_functions_are_none_of_arguments() -> None:
    data = {"argument": [scalar("sqrt", 1)], "step": [{"set": "sqrt", "value": 1}]}
    with pytest.raises(MalformedInput, match=r"argument\[0\].name: the argument has the name of a function.*sqrt"):
        parsed(data)


def test_elements_are_copied_to_those_of_their_size() -> None:
    data = {"argument": [buffer("a"), buffer("c", "f64")], "step": [{"copy": "a", "to": "c"}]}
    with pytest.raises(MalformedInput, match=r"step\[0\].to: elements of another size; found i32 and f64"):
        parsed(data)


def test_loops_nest_so_deep_and_no_deeper() -> None:
    def nested(depth: int) -> dict[str, Any]:
        step: dict[str, Any] = {"set": "s", "value": 1}
        for _ in range(depth):
            step = {"repeat": 1, "step": [step]}
        return {"argument": [scalar("s", 1)], "step": [step]}

    parsed(nested(schema.MAX_DEPTH - 1))
    with pytest.raises(MalformedInput, match="loops nest too deeply"):
        parsed(nested(schema.MAX_DEPTH))


def test_there_are_so_many_steps_and_constants_at_most() -> None:
    step = {"set": "s", "value": 1}
    with pytest.raises(MalformedInput, match="too many steps; found 1001"):
        parsed({"argument": [scalar("s", 1)], "step": [{"repeat": 1, "step": [step] * 1000}]})
    with pytest.raises(MalformedInput, match="too many constants"):
        parsed({"constants": {f"c{i}": i for i in range(1001)}, "argument": [scalar("s", 1)], "step": [step]})


def test_variables_are_known_in_their_loops_alone() -> None:
    loop = {"repeat": 2, "variable": "i", "step": [{"set": "s", "value": "i"}]}
    parsed({"argument": [scalar("s", 1)], "step": [loop, loop]})
    with pytest.raises(MalformedInput, match=r"step\[1\].value: unknown name"):
        parsed({"argument": [scalar("s", 1)], "step": [loop, {"set": "s", "value": "i"}]})
    inner = loop | {"step": [loop]}
    with pytest.raises(MalformedInput, match="the name has a meaning already"):
        parsed({"argument": [scalar("s", 1)], "step": [inner]})


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything in a table."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, part in inner for path in places(part, (*at, key)))]


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["a", "b", "s", "v", "image", "n", "i", "a[0]", "n / 0", "1 << 63", "s + i", "f[1, 1]", "\n"]),
    st.lists(st.sampled_from(["a", "b", 1, "n"]), max_size=3), st.sampled_from([{}, {"argument": "a"}, {"set": "s"}]),
)  # fmt: skip


@settings(max_examples=rotation.examples(500))
@given(st.data())
def test_whatever_a_file_says_it_is_refused_in_words_or_runs(data: Any) -> None:
    """Values of a file replaced by others at random: errors are ours, and say where; what passes can be walked."""
    table = base()
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([p for p in places(table) if p]))
        at: Any = table
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = copy.deepcopy(data.draw(ODD))  # what is drawn twice is one object, and must not come into itself
    if isinstance(table["step"], list):
        table["step"] = [s for s in table["step"] if not isinstance(s, dict) or "host" not in s]
    caught: BinallocError | None = None
    try:
        program = parsed(table)
        if all(step.at_most < 100 for step in program.steps if isinstance(step, LoopStep) and step.rounds is None):
            walked(program, {name: [8, 4, 4, 8] for name in program.kernels})
    except BinallocError as error:
        caught = error
    if caught is not None:
        assert caught.exit_code in (2, 3, 4)
        assert "\n" not in str(caught)


def test_files_of_either_kind_are_told_apart(tmp_path: Any) -> None:
    one, many = tmp_path / "one.toml", tmp_path / "many.toml"
    one.write_text('kernel = "k"\ngrid = 1\nblock = 32\n')
    many.write_text('[[step]]\nlaunch = "k"\ngrid = 1\nblock = 32\n')
    assert isinstance(load_either(one), Launch)
    assert isinstance(load_either(many), Program)
    assert load_program(many).kernels == ("k",)
    with pytest.raises(UsageError, match="step: the launch file has a sequence of launches"):
        load_launch(many)
    with pytest.raises(UsageError, match="sequence"):
        parse_launch({"step": []})
    with pytest.raises(MalformedInput, match="unknown key"):
        load_program(one)
