"""Programs walked through without an emulator: what steps do to arrays, loops that end and that do not, and parameters'
bytes."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import BinallocError, LimitHit, MalformedInput, UsageError
from binalloc.launch.program.schema import parse_program
from tests.support.kits.launch.programs import base, buffer, of_steps, scalar, walked


def arrays(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the arrays of `base` hold after these steps, as lists."""
    _, memory = walked(of_steps(*steps, **more))
    return {name: array.tolist() for name, array in memory.arrays.items()}


def broken(error: type[BinallocError], *steps: dict[str, Any], **more: Any) -> BinallocError:
    with pytest.raises(error) as caught:
        walked(of_steps(*steps, **more), {"k": [4]})
    assert caught.value.file == "p.toml"
    return caught.value


def test_elements_are_set() -> None:
    assert arrays({"set": "a", "value": 7})["a"] == [7] * 8
    assert arrays({"set": "a", "value": 7, "from": 5})["a"] == [0, 1, 2, 3, 4, 7, 7, 7]
    assert arrays({"set": "a", "value": [7, 8], "from": 1, "count": 5})["a"] == [0, 7, 8, 7, 8, 7, 6, 7]
    assert arrays({"set": "a", "value": 7, "count": 0})["a"] == list(range(8))
    assert arrays({"set": "f", "value": 0.1, "from": 4, "count": 1})["f"] == [[0, 0, 0], [0, float(np.float32(0.1)), 0]]
    assert arrays({"set": "v", "value": 7, "from": 1})["v"] == [0, 7]
    assert arrays({"set": "image", "value": 2, "from": 7})["image"] == [0] * 7 + [2]


def test_elements_are_copied_also_within_one_array() -> None:
    assert arrays({"copy": "a", "to": "b"})["b"] == list(range(8))
    assert arrays({"copy": "a", "to": "b", "from": 6, "at": 1})["b"] == [0, 6, 7, 0, 0, 0, 0, 0]
    assert arrays({"copy": "a", "to": "a", "count": 6, "at": 2})["a"] == [0, 1, 0, 1, 2, 3, 4, 5]
    assert arrays({"copy": "a", "to": "v", "from": 3, "count": 2})["v"] == [3, 4]
    bits = struct.unpack("<8f", struct.pack("<8i", *range(8)))
    assert arrays({"copy": "a", "to": "image"})["image"] == list(bits)


def test_buffers_exchange_their_names() -> None:
    found = arrays({"swap": ["a", "b"]}, {"set": "a", "value": 5, "count": 1})
    assert (found["a"], found["b"]) == ([5, *[0] * 7], list(range(8)))


def test_loops_count_and_know_their_variables() -> None:
    step = {"set": "a", "value": "i", "from": "i", "count": 1}
    assert arrays({"set": "a", "value": 0}, {"repeat": 3, "variable": "i", "start": 1, "by": 2, "step": [step]})[
        "a"
    ] == [0, 1, 0, 3, 0, 5, 0, 0]
    down = {"repeat": "s", "variable": "i", "start": 7, "by": -1, "step": [step | {"value": "-i"}]}
    assert arrays(down)["a"] == [0, 1, 2, 3, 4, -5, -6, -7]
    assert arrays({"repeat": 0, "step": [{"set": "a", "value": 0}]})["a"] == list(range(8))
    inner = {"repeat": "i", "variable": "j", "step": [{"set": "b", "value": "b[i] + j", "from": "i", "count": 1}]}
    assert arrays({"repeat": 5, "variable": "i", "step": [inner]})["b"] == [0, 0, 1, 3, 6, 0, 0, 0]


def test_conditions_are_asked_in_front_of_rounds_or_behind_them() -> None:
    once = {"at_most": 9, "step": [{"set": "s", "value": "s + 1"}]}
    for loop, left in [
        ({"while": "s < 6"}, 6), ({"while": "s < 3"}, 3), ({"until": "s >= 6"}, 6), ({"until": "s >= 0"}, 4),
        ({"while": "i < 4", "variable": "i"}, 7), ({"until": "i == 4", "variable": "i"}, 8),
    ]:  # fmt: skip
        walk, _ = walked(of_steps(loop | once))
        assert walk.scalars["s"] == left, loop
        assert walk.variables == {}


def test_steps_are_left_out() -> None:
    steps = [{"set": "s", "value": "s + 1", "when": f"s == {n}"} for n in (3, 3, 4)]
    walk, _ = walked(of_steps(*steps, {"repeat": 5, "when": 0, "step": [{"set": "s", "value": 0}]}))
    assert walk.scalars["s"] == 5


@pytest.mark.parametrize(
    ("loop", "place", "rounds"),
    [({"while": "s >= 0", "at_most": 3}, "while", 3), ({"until": "s < 0", "at_most": 2}, "until", 2)],
)
def test_a_loop_that_does_not_end_is_one_error(loop: dict[str, Any], place: str, rounds: int) -> None:
    error = broken(LimitHit, {"repeat": 2, "step": [loop | {"step": [{"set": "s", "value": "s + 1"}]}]})
    assert error.exit_code == 4
    assert error.place == f"step[0].step[0].{place}"
    assert f"after {rounds} rounds" in str(error)
    assert "(in round 0 of step[0])" in str(error)
    assert "Raise at_most" in str(error)


def test_at_most_is_enough_for_a_loop_that_ends_with_it() -> None:
    for loop in ({"while": "s < 6"}, {"until": "s >= 6"}):
        walked(of_steps(loop | {"at_most": 3, "step": [{"set": "s", "value": "s + 1"}]}))


@pytest.mark.parametrize(
    ("step", "place", "message"),
    [
        ({"set": "a", "value": 1, "from": 9}, "step[0].from", "out of range"),
        ({"set": "a", "value": 1, "from": 5, "count": 4}, "step[0].count", "elements beyond the end of a; found 4"),
        ({"set": "a", "value": 1, "count": -1}, "step[0].count", "out of range"),
        ({"set": "a", "value": [1, 2, 3], "count": 2}, "step[0].value",
         "more values than elements; found 3; expected at most 2"),
        ({"set": "a", "value": [1, 2], "count": "s - 3"}, "step[0].value", "found 2; expected at most 0"),
        ({"set": "a", "value": list(range(9))}, "step[0].value", "found 9; expected at most 8"),
        ({"set": "a", "value": 1.5}, "step[0].value", "is a float"),
        ({"set": "a", "value": "1 << 31"}, "step[0].value", "out of range"),
        ({"set": "f", "value": 1e39}, "step[0].value", "does not fit its type"),
        ({"set": "s", "value": "s / (s - 3)"}, "step[0].value", "division by zero"),
        ({"set": "s", "value": "a[s + 5]"}, "step[0].value", "a has no such element; found [8]; expected indices"),
        ({"set": "s", "value": "f[2, 0]"}, "step[0].value", "f has no such element"),
        ({"copy": "a", "to": "b", "at": 1}, "step[0].at", "the copy reaches beyond b"),
        ({"copy": "a", "to": "b", "count": 9}, "step[0].count", "out of range"),
        ({"repeat": -1, "step": [{"set": "s", "value": 1}]}, "step[0].repeat", "out of range"),
        ({"repeat": 3, "at_most": 2, "step": [{"set": "s", "value": 1}]}, "step[0].repeat", "an integer from 0 to 2"),
        ({"repeat": 1.0, "step": [{"set": "s", "value": 1}]}, "step[0].repeat", "not an integer"),
        ({"launch": "k", "grid": "s - 3", "block": 1, "arguments": [1]}, "step[0].grid", "out of range"),
        ({"launch": "k", "grid": 1, "block": [32, 64], "arguments": [1]}, "step[0].block", "too many threads"),
        ({"launch": "k", "grid": [1 << 30, 2], "block": 1, "arguments": [1]}, "step[0].grid", "too many blocks"),
        ({"launch": "k", "grid": 1, "block": 1, "dynamic_shared": -1, "arguments": [1]},
         "step[0].dynamic_shared", "out of range"),
        ({"launch": "k", "grid": 1, "block": 1, "arguments": [{"value": 300, "dtype": "i8"}]},
         "step[0].arguments[0].value", "out of range"),
        ({"launch": "k", "grid": 1, "block": 1, "arguments": [{"argument": "a", "at": 33}]},
         "step[0].arguments[0].at", "out of range"),
    ],
)  # fmt: skip
def test_what_goes_wrong_on_the_way(step: dict[str, Any], place: str, message: str) -> None:
    error = broken(MalformedInput, step)
    assert error.place == place
    assert message in str(error)
    assert "(in " not in str(error)
    assert error.found is not None
    assert error.expected is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes another number of arguments; found 0; expected 1: p0 (4 bytes)"),
        ([1, 2], "takes another number of arguments"),
        ({"p1": 1}, "not the parameters of the kernel; found p1, which is not one of them; expected p0 (4 bytes)"),
        ({}, "not the parameters of the kernel; found nothing for p0"),
        (["a"], "the argument's size contradicts"),
        ([{"value": 1, "dtype": "i64"}], "the argument's size contradicts"),
        (None, "no argument for a parameter of the kernel; found p0"),
    ],
)
def test_arguments_that_are_not_the_kernels(arguments: Any, message: str) -> None:
    step = {"launch": "k", "grid": 1, "block": 1} | ({} if arguments is None else {"arguments": arguments})
    error = broken(UsageError, step)
    assert message in str(error)
    assert str(error.place).startswith("step[0].argument")


def given_to(sizes: list[int], arguments: Any, *before: dict[str, Any]) -> bytes:
    program = of_steps(*before, {"launch": "k", "grid": 1, "block": 1, "arguments": arguments}, constants={"n": 8})
    _, memory = walked(program, {"k": sizes})
    return memory.launches[0][-1]


def test_parameters_have_the_bytes_of_their_size() -> None:
    assert given_to([8, 8, 4], ["a", "b", "s"]) == struct.pack("<QQi", 1000, 2000, 3)
    assert given_to([4, 4, 4, 4], [1, -1, 2.5, "n / 2.0"]) == struct.pack("<iiff", 1, -1, 2.5, 4.0)
    assert given_to([8, 8, 8], [1, -1, 0.5]) == struct.pack("<qqd", 1, -1, 0.5)
    assert given_to([4, 4], [0xFFFFFFFF, "n * s"]) == struct.pack("<Ii", 0xFFFFFFFF, 24)
    assert given_to([1, 1, 2, 2], [255, -1, 65535, 1.5]) == struct.pack("<BbHe", 255, -1, 65535, 1.5)
    assert given_to([8, 8], [{"argument": "b", "at": "4 * s"}, {"argument": "a"}]) == struct.pack("<QQ", 2012, 1000)
    assert given_to([4, 8], [{"value": 1, "dtype": "f32"}, {"value": "n", "dtype": "f64"}])[:4] == struct.pack("<f", 1)
    assert given_to([4], ["s"], {"set": "s", "value": "s * 2"}) == struct.pack("<i", 6)
    assert given_to([4], {"p0": "s"}) == struct.pack("<i", 3)
    assert given_to([8], ["image"])[:8] == struct.pack("<Q", 5000)


def test_a_launch_has_the_buffers_that_it_points_into() -> None:
    """So that it can stand alone: whoever estimates what it takes places its buffers anew."""
    seen = []
    arguments = [{"argument": "b", "at": 4}, "a", {"argument": "b", "at": 8}]
    program = of_steps({"launch": "k", "grid": 1, "block": 1, "arguments": arguments})
    walked(program, {"k": [8, 8, 8]}, {"k": lambda launch, _, __: seen.append(launch)})
    (launch,) = seen
    assert [a.name for a in launch.arguments] == ["p0", "p1", "p2", "b"]
    assert launch.argument("b") == program.held.argument("b")
    places = {name: 100 * i for i, name in enumerate(launch.make_buffers(), 1)}
    assert set(places) == {"p1", "b"}
    found = launch.parameters([("p0", 0, 8), ("p1", 8, 8), ("p2", 16, 8)], places)
    assert found == struct.pack("<QQQ", places["b"] + 4, places["p1"], places["b"] + 8)


@settings(max_examples=200)
@given(st.sampled_from([1, 2, 4, 8]), st.integers(-(1 << 63), (1 << 64) - 1))
def test_an_integer_goes_where_its_bits_fit(size: int, number: int) -> None:
    fits = -(1 << 8 * size - 1) <= number < 1 << 8 * size
    if fits:
        assert given_to([size], [number]) == (number % (1 << 8 * size)).to_bytes(size, "little")
    else:
        with pytest.raises(MalformedInput, match="out of range"):
            given_to([size], [number])


def test_numbers_that_have_no_type_of_that_size_are_refused() -> None:
    for sizes, value in (([16], 1), ([1], 1.5), ([12], 1.5)):
        with pytest.raises(UsageError, match="the number does not fit the parameter p0"):
            given_to(sizes, [value])


def test_without_arguments_parameters_take_those_of_their_names() -> None:
    data = {"argument": [buffer("p1"), scalar("p0", 5)], "step": [{"launch": "k", "grid": 2, "block": 1}]}
    _, memory = walked(parse_program(data), {"k": [8, 8]} | {"k": [4, 8]})
    assert memory.launches[0][-1][:4] == struct.pack("<i", 5)


def test_a_launch_has_the_numbers_of_its_moment() -> None:
    step = {"launch": "k", "grid": ["i + 1", 2], "block": "32 >> i", "dynamic_shared": "i * 16", "arguments": ["i"]}
    _, memory = walked(of_steps({"repeat": 2, "variable": "i", "step": [step]}), {"k": [4]})
    assert [launch[1:4] for launch in memory.launches] == [((1, 2, 1), (32, 1, 1), 0), ((2, 2, 1), (16, 1, 1), 16)]


def test_a_loop_sees_what_kernels_leave() -> None:
    def count(launch: Any, given: bytes, held: dict[str, Any]) -> None:
        held["b"][0] += 1

    steps = [{"until": "b[0] == 3", "at_most": 9, "step": [{"launch": "k", "grid": 1, "block": 1, "arguments": [1]}]}]
    _, memory = walked(of_steps(*steps), {"k": [4]}, {"k": count})
    assert len(memory.launches) == 3


HOST = """
import numpy as np
def good(arguments):
    arguments["a"][:2] = arguments["s"]
    print("on stderr")
    return {"s": np.int32(9)}
def nothing(arguments): pass
def raises(arguments): raise ValueError("no")
def leaves(arguments): raise SystemExit
def listed(arguments): return [1]
def other(arguments): return {"f": 1}
def text(arguments): return {"s": "x"}
def flag(arguments): return {"s": True}
def real(arguments): return {"s": 1.5}
def large(arguments): return {"s": 1 << 40}
number = 3
"""


def host(function: str, folder: Path, arguments: list[str] | None = None) -> Any:
    (folder / "h.py").write_text(HOST)
    data = {"argument": base()["argument"], "step": [
        {"host": {"file": "h.py", "function": function}, "arguments": arguments or ["a", "s"]}
    ]}  # fmt: skip
    return walked(parse_program(data, path=str(folder / "p.toml")))


def test_a_host_step_changes_arrays_and_scalars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk, memory = host("good", tmp_path)
    assert memory.arrays["a"].tolist() == [3, 3, 2, 3, 4, 5, 6, 7]
    assert walk.scalars == {"s": 9}
    out, err = capsys.readouterr()
    assert (out, err) == ("", "on stderr\n")
    host("nothing", tmp_path)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raises", "the host function raised ValueError: no"), ("leaves", "raised SystemExit"),
        ("listed", "the host function returned no dict"), ("other", "no value of a scalar"),
        ("text", "no value of a scalar"), ("flag", "no value of a scalar"),
        ("real", "s: '1.5' is a float"), ("large", "s: out of range"), ("absent", "has no such function"),
        ("number", "has no such function"),
    ],
)  # fmt: skip
def test_what_host_functions_must_not(function: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BinallocError) as caught:
        host(function, tmp_path)
    assert message in str(caught.value), str(caught.value)
    assert caught.value.file == str(tmp_path / "h.py")
    assert "(in step[0])" in str(caught.value)


def test_a_host_file_that_is_none(tmp_path: Path) -> None:
    data = {"argument": base()["argument"], "step": [{"host": {"file": "no.py", "function": "f"}, "arguments": ["a"]}]}
    with pytest.raises(UsageError, match="cannot read the host function"):
        walked(parse_program(data, path=str(tmp_path / "p.toml")))
    (tmp_path / "no.py").write_text("1 / 0")
    with pytest.raises(MalformedInput, match="the host function does not load: ZeroDivisionError"):
        walked(parse_program(data, path=str(tmp_path / "p.toml")))
