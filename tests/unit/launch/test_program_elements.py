"""Structs and pointers in sequences of launches: set, copied, swapped, read by expressions, seen by host steps."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binalloc
from binalloc.errors import BinallocError, MalformedInput, UsageError
from binalloc.launch.program.schema import parse_program
from binalloc.launch.schema import parse_launch
from tests.support.kits.launch.programs import Memory, buffer, scalar, walked
from tests.support.kits.suite import rotation
from tests.support.ptx.walked import NODE, NODE_TYPE, WALK

TYPES = {
    "Pair": {"fields": [{"name": "x", "dtype": "f32"}, {"name": "c", "dtype": "c64"}]},
    "Node": {"fields": [
        {"name": "n", "dtype": "i16"}, {"name": "w", "dtype": "u8", "shape": [2, 3]}, {"name": "p", "dtype": "Pair"},
        {"name": "more", "dtype": "Pair", "shape": 2}, {"name": "to", "dtype": "ptr"}, {"name": "b", "dtype": "bf16"},
        {"name": "ok", "dtype": "bool"},
    ]},
}  # fmt: skip


def table(*steps: dict[str, Any]) -> dict[str, Any]:
    return {
        "types": TYPES,
        "argument": [
            buffer("x", "Node", 4, init={"fields": {"n": {"kind": "arange"}, "to": {"values": ["x", 0, "a", "b"]}}}),
            buffer("y", "Node", [2, 2]), buffer("a"), buffer("b"), buffer("z", "c64", 3), buffer("h", "bf16", 3),
            buffer("ps", "ptr", 3), scalar("c", [1, 2], "c64"), scalar("t", True, "bool"), scalar("s", 0),
        ],
        "step": list(steps),
    }  # fmt: skip


def after(*steps: dict[str, Any]) -> Memory:
    return walked(parse_program(table(*steps), path="p.toml"))[1]


def number(text: str, *steps: dict[str, Any]) -> Any:
    return walked(parse_program(table(*steps, {"set": "s", "value": f"int(16 * ({text}))"})))[0].scalars["s"] / 16


def test_fields_are_set() -> None:
    x = after({"set": "x", "field": "n", "value": [7, 8], "from": 1}).arrays["x"]
    assert x["n"].tolist() == [0, 7, 8, 7]
    x = after({"set": "x", "field": "p.x", "value": 2.5, "count": 2}).arrays["x"]
    assert x["p"]["x"].tolist() == [2.5, 2.5, 0, 0]
    x = after({"set": "x", "field": "more.c", "value": [[1, 2], 3], "count": 1}).arrays["x"]
    assert x["more"]["c"].tolist() == [[1 + 2j, 3], [0, 0], [0, 0], [0, 0]]
    x = after({"set": "x", "field": "w", "value": [1, 2, 3], "from": 3}).arrays["x"]
    assert x["w"].tolist()[3] == [[1, 2, 3], [1, 2, 3]]
    x = after({"set": "x", "field": "more[1].c", "value": [[1, 2], 3], "count": 2}).arrays["x"]
    assert x["more"]["c"].tolist() == [[0, 1 + 2j], [0, 3], [0, 0], [0, 0]]
    steps = [{"set": "x", "field": f"w[{i}]", "value": v, "from": 3} for i, v in (("0, 1", 5), ("5", 6), (" 1,0 ", 7))]
    assert after(*steps).arrays["x"]["w"].tolist()[3] == [[0, 5, 0], [7, 0, 6]]
    x = after({"set": "x", "field": "b", "value": 1.5}, {"set": "x", "field": "ok", "value": "1 < 2"}).arrays["x"]
    assert (x["b"].tolist(), x["ok"].tolist()) == ([0x3FC0] * 4, [True] * 4)


def test_numbers_of_other_types_are_set() -> None:
    memory = after({"set": "z", "value": [[1, "s + 2"], 3]}, {"set": "h", "value": -2}, {"set": "z", "value": [1, 2],
                   "from": 2})  # fmt: skip
    assert memory.arrays["z"].tolist() == [1 + 2j, 3, 1 + 2j]
    assert memory.arrays["h"].tolist() == [0xC000] * 3
    walk, _ = walked(parse_program(table({"set": "c", "value": [3, -1]}, {"set": "t", "value": 0})))
    assert (walk.scalars["c"], walk.scalars["t"]) == (3 - 1j, False)


def test_pointers_are_set_by_the_names_of_the_moment() -> None:
    to = [{"argument": "x", "element": "s + 1", "at": 2}, "a", 0]
    memory = after({"set": "ps", "value": to})
    size = memory.arrays["x"].dtype.itemsize
    assert memory.arrays["ps"].tolist() == [memory.address("x") + size + 2, memory.address("a"), 0]
    memory = after({"swap": ["a", "b"]}, {"set": "ps", "value": ["a", "b", 0]})
    held = memory.held
    assert memory.arrays["ps"].tolist() == [held.address("b"), held.address("a"), 0]
    as_before = [held.address("x"), 0, held.address("a"), held.address("b")]
    assert memory.arrays["x"]["to"].tolist() == as_before
    one = after({"set": "x", "field": "to", "value": {"argument": "b", "at": 32}, "from": 3})
    assert one.arrays["x"]["to"][3] == one.address("b") + 32


def test_structs_are_copied_whole() -> None:
    over = {"copy": "x", "to": "x", "at": 1, "count": 3}
    memory = after({"copy": "x", "to": "y", "from": 1, "at": 2, "count": 2}, over)
    assert memory.arrays["y"]["n"].tolist() == [[0, 0], [1, 2]]
    assert memory.arrays["x"]["n"].tolist() == [0, 0, 1, 2]
    assert memory.arrays["y"]["to"][1, 1] == memory.address("a")


def test_expressions_read_numbers_in_structs() -> None:
    fill = {"set": "x", "field": "w", "value": [1, 2, 3, 4, 5, 6]}
    for text, expected in (
        ("x[3].n", 3), ("x[s + 1].n + x[2].n", 3), ("x[1].w[1, 2]", 6), ("x[1].w[4]", 5),
        ("x[0].w[x[1].n, x[2].n]", 6),
        ("y[1, 1].n", 0), ("y[3].n", 0), ("h[0]", 0), ("t", 1), ("x[1].to == 0", 1), ("x[0].to != 0", 1),
        ("x[0].ok", 0), ("x[0].more[1].x", 0),
    ):  # fmt: skip
        assert number(text, fill) == expected, text
    both = {"set": "x", "field": "p.x", "value": 0.5}, {"set": "x", "field": "b", "value": 2}
    assert number("x[2].p.x + x[1].b", *both) == 2.5
    assert number("h[1]", {"set": "h", "value": 0.75}) == 0.75


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"set": "x", "value": 1}, 'a struct has many values; found x; expected one of its fields, `field'),
        ({"set": "x", "field": "p", "value": 1}, "a struct has many values"),
        ({"set": "x", "field": "q", "value": 1}, "field: not a known value; found 'q'; expected n, w, p, more"),
        ({"set": "x", "field": "n.x", "value": 1}, "field: no field of a struct; found 'n.x'"),
        ({"set": "x", "field": "", "value": 1}, "field"),
        ({"set": "x", "field": 3, "value": 1}, "no field of a struct"),
        ({"set": "a", "field": "n", "value": 1}, "field: no field of a struct"),
        ({"set": "x", "field": "more[2].x", "value": 1}, r"no such place in the array; found more\[2\]"),
        ({"set": "x", "field": "w[2, 0]", "value": 1}, "expected indices from 0 to 1, 2, or one in C order"),
        ({"set": "x", "field": "w[0, 0, 0]", "value": 1}, "no such place"),
        ({"set": "x", "field": "w[6]", "value": 1}, "no such place"),
        ({"set": "x", "field": "n[0]", "value": 1}, r"field: no array; found n\[0\]; expected n"),
        ({"set": "x", "field": "more[i].x", "value": 1}, r'in integers'),
        ({"set": "x", "field": "more[-1].x", "value": 1}, r'where structs nest, "pos\[1\].x" for'),
        ({"set": "x", "field": "more[0][1].x", "value": 1}, "no field of a struct"),
        ({"set": "x", "field": "more[0]", "value": 1}, "a struct has many values"),
        ({"set": "x", "field": "n", "value": 1 << 15}, "value: out of range"),
        ({"set": "x", "field": "ok", "value": 2}, "value: .*out of range|value: out of range"),
        ({"set": "ps", "value": 1}, "not a pointer; found 1; expected 0, a name, or a table"),
        ({"set": "ps", "value": {"argument": "s"}}, "not a known value"),
        ({"set": "ps", "value": {"argument": "a", "at": "s + 33"}}, "is out of range; found 33"),
        ({"set": "ps", "value": {"argument": "a", "element": 8, "at": 1}}, "beyond the end of a; found 33"),
        ({"set": "z", "value": [[1, 2, 3]]}, "not a complex number"),
        ({"set": "s", "value": "z[0]"}, "expressions have no complex"),
        ({"set": "s", "value": "c"}, "unknown name"), ({"set": "s", "value": "x[0].p.c"}, "expressions have no"),
        ({"set": "s", "value": "x[0]"}, "a struct is no number in 'x\\[0\\]'"),
        ({"set": "s", "value": "x[0].p"}, "a struct is"),
        ({"set": "s", "value": "x[0].w"}, "an array is no number in 'x\\[0\\].w'.*expected 2, or one in C order"),
        ({"set": "s", "value": "x.n"}, "an array is no number"),
        ({"set": "s", "value": "x[0].w[1,1,1]"}, "wrong number of"),
        ({"set": "s", "value": "x[0].q"}, "no such field of Node"),
        ({"set": "s", "value": "a[0].n"}, "a number has no parts"),
        ({"set": "s", "value": "x[0].n[0]"}, "a number has no parts"),
        ({"set": "s", "value": "x[0].p[0]"}, "a number has no parts"),
        ({"set": "s", "value": "x[4].n"}, r"has no such element; found x\[4\].n; expected indices from 0 to 3"),
        ({"set": "s", "value": "x[0].w[6]"}, r"found x\[0\].w\[6\]; expected indices from 0 to 5"),
        ({"set": "s", "value": "x[0].w[1, 3]"}, "expected indices from 0 to 1, 2"),
        ({"swap": ["x", "y"]}, "the buffers are not alike"), ({"copy": "x", "to": "a"}, "elements of another size"),
        ({"launch": "k", "grid": 1, "block": 1, "arguments": [{"value": 1, "dtype": "ptr"}]}, "not a known value"),
    ],
)  # fmt: skip
def test_what_is_refused(step: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedInput, match=r"p\.toml: step\[0\].*" + message):
        after(step)


HOST = """
def turn(arguments):
    x = arguments["x"]
    x["n"] *= 2
    x["to"][1] = x["to"][0]
    return {"c": arguments["c"] * 2, "t": not arguments["t"], "s": int(x["n"][3])}
def wrong(arguments): return {"t": 1.5}
def worse(arguments): return {"s": 1j}
"""


def test_steps_on_the_host_see_structured_arrays(tmp_path: Path) -> None:
    (tmp_path / "h.py").write_text(HOST)

    def step(function: str) -> dict[str, Any]:
        return {"host": {"file": str(tmp_path / "h.py"), "function": function}, "arguments": ["x", "c", "t", "s"]}

    walk, memory = walked(parse_program(table(step("turn")), path="p.toml"))
    assert memory.arrays["x"]["n"].tolist() == [0, 2, 4, 6]
    assert memory.arrays["x"]["to"][1] == memory.address("x")
    assert (walk.scalars["c"], walk.scalars["t"], walk.scalars["s"]) == (2 + 4j, False, 6)
    for function in ("wrong", "worse"):
        with pytest.raises(UsageError):
            walked(parse_program(table(step(function)), path="p.toml"))


def program(*steps: dict[str, Any]) -> dict[str, Any]:
    """Two lists of three nodes each, of which a kernel walks those that `heads` has."""
    lists = [
        buffer(name, "Node", 3, init={"fields": {
            "value": {"kind": "arange", "start": start}, "next": {"kind": "arange", "start": -1, "argument": name}}})
        for name, start in (("one", 1), ("two", 10))
    ]  # fmt: skip
    starts = [{"argument": "one", "element": 2}, {"argument": "two", "element": 1}]
    heads = buffer("heads", "ptr", 2, init={"values": starts})
    rest = [buffer("sums", "f32", 2), buffer("ends", "ptr", 2)]
    launch = {"launch": "walk", "grid": 1, "block": 32, "arguments": ["heads", "sums", "ends", 2]}
    return {"types": {"Node": NODE_TYPE}, "argument": [*lists, heads, *rest], "step": [*steps, launch]}


def test_a_kernel_after_a_swap_follows_the_pointers_that_there_are() -> None:
    """Names exchange, addresses stay: heads lead to the same nodes; those that are set go by the new names."""
    walk = binalloc.import_ptx(WALK, machine="gtx680").module

    def sums(*steps: dict[str, Any]) -> Any:
        ran = binalloc.run_program(walk, parse_program(program(*steps)), "gtx680", engine="python")
        return ran.buffers["sums"].tolist(), ran

    assert sums()[0] == [6, 21]
    swapped, ran = sums({"swap": ["one", "two"]})
    assert swapped == [6, 21]
    assert ran.buffers["one"]["value"].tolist() == [10, 11, 12]
    again = {"set": "heads", "value": {"argument": "one", "element": 2}, "count": 1}
    assert sums({"swap": ["one", "two"]}, again)[0] == [33, 21]
    raised = {"set": "two", "field": "value", "value": 20, "from": 2}
    loop = {"while": "two[2].value < 20", "at_most": 9, "step": [raised]}
    assert sums(loop, {"set": "heads", "value": [{"argument": "two", "element": "1 + 1"}]})[0] == [41, 41]
    assert sums({"set": "one", "field": "next", "value": 0})[0] == [3, 21]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, part in inner for path in places(part, (*at, key)))]


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["x", "a", "Node", "Pair", "ptr", "c64", "bf16", "x[0].n", "x[0].w", "x.n", "to", "p.x", "values"]),
    st.lists(st.sampled_from(["a", "x", 1, 0, {"argument": "x"}]), max_size=4),
    st.sampled_from([{}, {"argument": "a"}, {"values": []}, {"fields": {"n": "ones"}}, {"n": 1}, {"file": "none.csv"}]),
)  # fmt: skip


@settings(max_examples=rotation.examples(600))
@given(st.data())
def test_whatever_a_file_says_it_is_refused_in_words_or_runs(data: Any) -> None:
    """Values of a file replaced by others at random: errors are ours, on one line; what passes can be run."""
    steps = [
        {"set": "x", "field": "p.x", "value": "x[1].n + s", "from": 1}, {"copy": "x", "to": "y", "count": 2},
        {"set": "ps", "value": [{"argument": "x", "element": 1, "at": 2}, "a", 0]}, {"swap": ["a", "b"]},
    ]  # fmt: skip
    given_ = copy.deepcopy(table(*steps))
    given_["argument"][1]["init"] = {"values": [{"n": 1, "p": {"x": 2, "c": [1, 2]}, "to": "a"}, {}, {}, {}]}
    given_["argument"].append({"name": "v", "kind": "struct", "dtype": "Pair", "value": {"x": 1}})
    given_["argument"].append({"name": "u", "kind": "struct", "fields": [{"dtype": "Pair", "value": [{"x": 1}]}, {
        "name": "q", "fields": [{"argument": "a", "at": 4}, {"dtype": "c64", "value": [1, 2]}]}]})  # fmt: skip
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([p for p in places(given_) if p]))
        at: Any = given_
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = copy.deepcopy(data.draw(ODD))
    caught: BinallocError | None = None
    try:
        if "step" in given_:
            walked(parse_program(given_, path="p.toml"))
        one = {"kernel": "k", "grid": 1, "block": 1} | {k: v for k, v in given_.items() if k in ("types", "argument")}
        launch = parse_launch(one, path="p.toml")
        assert launch.make_buffers().keys() <= {a.name for a in launch.buffers}
        assert isinstance(launch.values, dict)
    except BinallocError as error:
        caught = error
    if caught is not None:
        assert caught.exit_code in (2, 3, 4)
        assert "\n" not in str(caught)


def test_the_size_of_a_node_is_what_the_kernel_takes_it_for() -> None:
    held = parse_program(program()).held
    assert held.argument("one").numpy_dtype.itemsize == NODE
    assert held.address("one", element=2) - held.address("one") == 2 * NODE
