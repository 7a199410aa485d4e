"""Elements of launch files: types of numbers, structs and pointers, what is refused of them, how they are compared."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import FunctionInfo, Param
from binalloc.launch.comparison import counted, in_order
from binalloc.launch.elements.layout import MAX_AXES, Struct, element_of, numpy_of
from binalloc.launch.elements.tables import MAX_MEMBERS, MAX_NESTING
from binalloc.launch.file import check_against, compare, parse_launch, reference_outputs
from binalloc.launch.numbers.dtypes import DTYPES, NUMBERS, rounded, shown
from binalloc.launch.types import Argument, ArgumentKind, Compare, CompareMode, Launch
from tests.support.kits.launch.launch_files import buffer
from tests.support.kits.suite import rotation

PAIR = {"fields": [{"name": "x", "dtype": "f32"}, {"name": "y", "dtype": "f64"}]}
NODE = {
    "fields": [
        {"name": "kind", "dtype": "u8"},
        {"name": "pos", "dtype": "Pair", "shape": 2},
        {"name": "c", "dtype": "c64"},
        {"name": "to", "dtype": "ptr"},
        {"name": "b", "dtype": "bf16"},
    ]
}


def structs(init: Any = "zeros", shape: Any = 4, **more: Any) -> dict[str, Any]:
    data = buffer("Node", shape, init)
    data["types"] = {"Pair": PAIR, "Node": NODE}
    data["argument"] += [
        {"name": "other", "kind": "buffer", "dtype": "f32", "shape": 10},
        {"name": "tex", "kind": "texture", "dtype": "f32", "shape": 10},
    ]
    return data | more


# Numbers.


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("bool", True, b"\1"), ("c64", [1.5, -2], np.complex64(1.5 - 2j).tobytes()),
        ("c128", 3, np.complex128(3).tobytes()),
        ("bf16", 1.00390625, b"\x80\x3f"), ("bf16", 1.01171875, b"\x82\x3f"), ("bf16", 1.0039062500001, b"\x81\x3f"),
        ("bf16", float("inf"), b"\x80\x7f"), ("f64", 1.7e308, np.float64(1.7e308).tobytes()),
    ],
)  # fmt: skip
def test_scalars(dtype: str, value: Any, expected: bytes) -> None:
    entry = {"name": "a", "kind": "scalar", "dtype": dtype, "value": value}
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": [entry]})
    assert launch.scalars == {"a": expected}
    assert launch.values["a"] == shown(np.frombuffer(expected, DTYPES[dtype]), dtype)[0]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("bool", 1), ("bool", 0.0), ("c64", [1, 2, 3]), ("c64", ["1", 2]), ("c64", [1e39, 0]), ("bf16", 3.4e38),
     ("ptr", 0), ("bf16", True), ("f64", 2**1024), ("c128", [[1], 2])],
)  # fmt: skip
def test_scalars_that_are_none(dtype: str, value: Any) -> None:
    entry = {"name": "a", "kind": "scalar", "dtype": dtype, "value": value}
    with pytest.raises(MalformedInput, match=r"argument\[0\]\.(value|dtype)"):
        parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": [entry]})


@settings(max_examples=rotation.examples(400))
@given(st.one_of(st.floats(allow_nan=False), st.floats(width=32), st.integers(-(2**53), 2**53)))
def test_bfloat16_is_the_nearest_one(value: float) -> None:
    """Against all neighbours: no other bfloat16 is nearer, and of two as near the even one is taken."""
    with np.errstate(all="ignore"):
        bits = int(rounded(value, "bf16"))
        found = float(shown(np.array([bits], "u2"), "bf16")[0])
    if value != value:
        assert found != found
        return
    if abs(value) >= 2**128 - 2**119:
        assert abs(found) == np.inf
        return
    assert abs(found) < np.inf
    for near in (bits - 1, bits + 1):
        if 0 <= near & 0x7FFF < 0x7F80 and (near ^ bits) & 0x8000 == 0 and near >= 0:
            other = float(shown(np.array([near], "u2"), "bf16")[0])
            apart, own = (abs(Fraction(v) - Fraction(value)) for v in (other, found))
            assert own < apart or (own == apart and bits % 2 == 0)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_every_type_is_filled_in_every_way_that_it_can_be(dtype: str) -> None:
    made = parse_launch(buffer(dtype, [2, 3], {"kind": "random", "distribution": "integers", "high": 2})).make_buffers()
    numbers = shown(made["x"], dtype)
    assert made["x"].dtype == DTYPES[dtype]
    assert set(numbers.real.reshape(-1).tolist()) <= {0, 1}
    for init in ("ones", {"kind": "constant", "value": True if dtype == "bool" else 1}):
        assert (shown(parse_launch(buffer(dtype, [2, 3], init)).make_buffers()["x"], dtype) == 1).all()
    values = [True, False, True] if dtype == "bool" else [[1, 2], 3, 0] if dtype in ("c64", "c128") else [3, 0, 100]
    listed = shown(parse_launch(buffer(dtype, 3, {"values": values})).make_buffers()["x"], dtype)
    assert listed.tolist() == [complex(*v) if isinstance(v, list) else v for v in values]
    if dtype != "bool":
        ramp = parse_launch(buffer(dtype, 5, {"kind": "arange", "start": 1, "step": 2})).make_buffers()["x"]
        assert shown(ramp, dtype).tolist() == [1, 3, 5, 7, 9]


def test_random_complex_numbers_have_two_parts() -> None:
    for init in ({"kind": "random", "low": -1}, {"kind": "random", "distribution": "normal"}):
        found = parse_launch(buffer("c64", 200, init)).make_buffers()["x"]
        assert len(set(found.real.tolist()) | set(found.imag.tolist())) == 400
    wide = parse_launch(buffer("bf16", 4000, {"kind": "random"})).make_buffers()["x"]
    assert 0.45 < shown(wide, "bf16").mean() < 0.55


def test_as_many_dimensions_as_numpy_has() -> None:
    shape = [1] * (MAX_AXES - 1) + [3]
    found = parse_launch(buffer("u8", shape, {"kind": "arange"})).make_buffers()["x"]
    assert found.shape == tuple(shape)
    with pytest.raises(MalformedInput, match="wrong rank; found 33 dimensions; expected 1 to 32"):
        parse_launch(buffer("u8", [1, *shape], "zeros"))
    deep = structs(shape=[1] * (MAX_AXES - 1))
    assert parse_launch(deep).make_buffers()["x"]["pos"]["y"].ndim == MAX_AXES
    with pytest.raises(MalformedInput, match="wrong rank; found 32 dimensions; expected 1 to 31"):
        parse_launch(structs(shape=[1] * MAX_AXES))


# Structs.


def test_fields_are_filled_each_in_its_way() -> None:
    init = {"fields": {
        "kind": {"kind": "arange"}, "pos": {"fields": {"y": {"kind": "arange", "start": 10}}}, "b": "ones",
        "to": {"kind": "arange", "start": -2, "argument": "other"},
    }}  # fmt: skip
    launch = parse_launch(structs(init))
    made = launch.make_buffers()["x"]
    assert made["kind"].tolist() == [0, 1, 2, 3]
    assert made["pos"]["y"].tolist() == [[10, 11], [12, 13], [14, 15], [16, 17]]
    assert (made["pos"]["x"] == 0).all()
    assert shown(made["b"], "bf16").tolist() == [1] * 4
    assert [launch.pointee(int(p)) for p in made["to"]] == [None, None, ("other", 0), ("other", 4)]
    assert launch.address("other", element=1) == launch.address("other", 4) == int(made["to"][3])
    assert launch.pointee(3) is None
    assert launch.pointee(launch.address("other", 40)) == ("other", 40)


def test_nested_structs_by_value_are_dicts_for_references() -> None:
    data = structs()
    data["argument"].append({"name": "s", "kind": "struct", "fields": [
        {"name": "n", "dtype": "i32", "value": 5},
        {"name": "in", "fields": [{"name": "a", "dtype": "u8", "value": [1, 2]}, {"argument": "other", "name": "p"},
                                  {"name": "deep", "fields": [{"name": "z", "dtype": "c64", "value": [1, 2]}]}]},
        {"name": "pairs", "dtype": "Pair", "value": [{"x": 1}, {"y": 2}]},
        {"name": "pair", "dtype": "Pair", "value": {"x": 3, "y": 4}},
    ]})  # fmt: skip
    launch = parse_launch(data)
    assert launch.values["s"] == {
        "n": 5, "in": {"a": [1, 2], "deep": {"z": 1 + 2j}}, "pairs": [{"x": 1}, {"y": 2}], "pair": {"x": 3, "y": 4},
    }  # fmt: skip
    size = 8 + 24 + 32 + 16
    bank = launch.parameters([("s", 0, size)], launch.addresses)
    assert launch.argument("s").bytes == size
    assert bank[8:10] == b"\1\2"
    assert int.from_bytes(bank[16:24], "little") == launch.address("other")
    assert np.frombuffer(bank, "<f8")[[7, 9]].tolist() == [2, 4]


WORD, BYTE = {"name": "a", "dtype": "u32"}, {"name": "a", "dtype": "u8"}


def nested(levels: int, names: str = "a", **more: Any) -> dict[str, Any]:
    """Structs each of which has the one before as its members."""
    types: dict[str, Any] = {}
    for i in range(levels):
        inner = f"A{i - 1}" if i else "u8"
        types[f"A{i}"] = {"fields": [{"name": name, "dtype": inner} | more for name in names]}
    return types


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"A": {"fields": []}}, r"types\.A\.fields: not fields"), ({"A": {}}, "missing key 'fields'"),
        ({"f32": PAIR}, "the name of a built-in type"), ({"A": 3}, "not a table"), ({"9": PAIR}, "not a name"),
        ({"A": {"fields": [{"name": "a", "dtype": "A"}]}}, r"types\.A: a struct that holds itself; found A in A"),
        ({"A": {"fields": [{"name": "b", "dtype": "B"}]}, "B": {"fields": [{"name": "a", "dtype": "A", "shape": 2}]}},
         "found A in B in A; expected a pointer to another one"),
        ({"A": {"fields": [{"name": "a", "dtype": "nope"}]}}, r"fields\[0\]\.dtype: not a known value"),
        ({"A": {"fields": [BYTE] * 2}}, "two fields have the same name"),
        ({"A": {"fields": [{"dtype": "u8"}]}}, "missing key 'name'"),
        ({"A": {"fields": [{"name": "a", "dtype": "u8", "shape": 0}]}}, "out of range"),
        ({"A": {"fields": [{"name": "a", "dtype": "u8", "shape": []}]}}, "wrong rank"),
        ({"A": {"fields": [{"name": "a", "dtype": "u8", "size": 1}]}}, "unknown key"),
        ({"A": {"fields": [WORD, {"name": "b", "dtype": "u8", "offset": 3}]}},
         r"fields\[1\]\.offset: overlaps the field a; found 3; expected 4 or more"),
        ({"A": {"fields": [WORD], "bytes": 3}}, "bytes: out of range; found 3; .* 4 to"),
        ({"A": {"fields": [WORD], "align": 6}}, "not an alignment"),
        ({"A": {"fields": [WORD], "align": 2}}, "align: out of range"),
        ({"A": {"fields": [BYTE | {"shape": 1 << 28}, {"name": "b", "dtype": "u8"}]}}, "too large"),
        ({"A": {"fields": [{"name": "a", "dtype": "u8", "offset": 1 << 28}]}}, "too large"),
        ({"A": {"fields": [{"name": f"a{i}", "dtype": "u8"} for i in range(MAX_MEMBERS + 1)]}}, "too many fields"),
        (nested(MAX_NESTING + 1), "structs nest too deeply; found 17"),
        (dict(reversed(nested(MAX_NESTING + 1).items())), "structs nest too deeply; found 17"),
        (nested(12, shape=[1] * 3), "too many dimensions"), (nested(5, "abcdefgh"), "too many fields"),
    ],
)  # fmt: skip
def test_types_that_are_none(types: Any, message: str) -> None:
    with pytest.raises(MalformedInput, match=message):
        parse_launch(buffer("u8", 4, "zeros") | {"types": types})


def test_types_at_their_limits() -> None:
    types: dict[str, Any] = {
        "Many": {"fields": [{"name": f"a{i}", "dtype": "u8"} for i in range(MAX_MEMBERS)]},
        "Wide": {"fields": [{"name": "a", "dtype": "f64", "shape": [1] * (MAX_AXES - 1)}], "align": 128},
    }
    types |= nested(MAX_NESTING)
    for name in ("Many", "Wide", f"A{MAX_NESTING - 1}"):
        launch = parse_launch(buffer(name, 2, "zeros") | {"types": types})
        before = launch.make_buffers()
        after = {"x": before["x"].copy()}
        after["x"].view("u1")[-1 if name == "Many" else 0] = 1
        assert len(compare(launch, before, after)) == 1


def test_parameters_at_their_limit() -> None:
    big = {"fields": [{"name": "a", "dtype": "u32", "shape": 8189}, {"name": "b", "dtype": "u64"}]}
    data = {"kernel": "k", "grid": 1, "block": 1, "types": {"Big": big}}
    data["argument"] = [{"name": "s", "kind": "struct", "dtype": "Big", "value": {"b": 2**64 - 1}}]
    launch = parse_launch(data | {"types": {"Big": big | {"packed": True}}})
    check_against(launch, FunctionInfo(params=[Param("s", 0, 32764)]))
    assert launch.parameters([("s", 0, 32764)], {})[-8:] == b"\xff" * 8
    with pytest.raises(MalformedInput, match="too many parameters"):
        parse_launch(data)


def test_as_many_pointers_as_parameters_have_room_for() -> None:
    """Each buffer leads to the next, the last one to the first; each is a parameter."""
    n = 32764 // 8
    arguments = [
        {"name": f"b{i}", "kind": "buffer", "dtype": "ptr", "shape": 1, "init": {"values": [f"b{(i + 1) % n}"]}}
        for i in range(n)
    ]
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": arguments})
    params = [Param(f"b{i}", 8 * i, 8) for i in range(n)]
    check_against(launch, FunctionInfo(params=params))
    bank = launch.parameters([(p.name, p.offset, p.size) for p in params], launch.addresses)
    held = [int(array[0]) for array in launch.make_buffers().values()]
    assert np.frombuffer(bank, "<u8").tolist() == [held[-1], *held[:-1]]
    more = {"name": "more", "kind": "buffer", "dtype": "u8", "shape": 1}
    with pytest.raises(MalformedInput, match="too many parameters"):
        parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": [*arguments, more]})


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("ones", "structs cannot be filled in this way \\(Node\\); found ones; expected zeros, values"),
        ({"kind": "random"}, "cannot be filled in this way"),
        ({"values": []}, r"values: wrong number of values; found 0; expected 4"),
        ({"values": 3}, "not a list of values"), ({"values": [0] * 4}, r"values\[0\]: not a Node; found 0"),
        ({"values": [{"knd": 1}, {}, {}, {}]}, r"values\[0\]\.knd: unknown key.*Did you mean 'kind'"),
        ({"values": [{"kind": 256}, {}, {}, {}]}, r"values\[0\]\.kind: out of range"),
        ({"values": [{}, [1, 2], {}, {}]}, r"values\[1\]: not all members of Node; found 2 values; expected 5: kind"),
        ({"values": [{"pos": {}}, {}, {}, {}]}, r"values\[0\]\.pos: not a list of values"),
        ({"values": [{"pos": [{}, {"z": 1}]}, {}, {}, {}]}, r"pos\[1\]\.z: unknown key"),
        ({"values": [{"to": "nope"}, {}, {}, {}]}, r"to\.argument: no such buffer; found nope; expected x, other"),
        ({"values": [{"to": "tex"}, {}, {}, {}]}, r"a texture has no address; found tex; expected a buffer: x, other"),
        ({"values": [{"to": {"argument": "other", "at": 41}}, {}, {}, {}]}, r"to\.at: out of range; found 41"),
        ({"values": [{"to": {"argument": "other", "at": -1}}, {}, {}, {}]}, r"to\.at: out of range"),
        ({"values": [{"to": {"argument": "other", "element": 11}}, {}, {}, {}]}, r"to\.element: out of range"),
        ({"values": [{"to": {"argument": "other", "element": 10, "at": 1}}, {}, {}, {}]}, "beyond the end of other"),
        ({"values": [{"to": 1}, {}, {}, {}]}, "not a pointer; found 1; expected 0, a name"),
        ({"values": [{"to": False}, {}, {}, {}]}, "not a pointer"),
        ({"values": [{"to": {}}, {}, {}, {}]}, "missing key"),
        ({"fields": {"nope": 1}}, r"fields\.nope: unknown key"),
        ({"fields": {"to": "ones"}}, "pointers cannot be filled in this way"),
        ({"fields": {"kind": {"fields": {}}}}, "only structs have fields"),
        ({"fields": {"to": {"kind": "arange", "argument": "other", "start": 8}}}, "of other; found element 11"),
        ({"fields": {"to": {"kind": "constant", "argument": "other", "value": 11}}}, "beyond the end"),
        ({"fields": {"to": {"kind": "random", "argument": "other", "high": 12}}}, "beyond the end"),
        ({"fields": {"to": {"kind": "zeros", "argument": "other"}}}, "not a known value"),
        ({"fields": {"to": {"kind": "arange", "argument": "tex"}}}, "a texture has no address"),
        ({"fields": {"to": {"values": [1, 2], "argument": "other"}}}, "wrong number of values; found 2; expected 4"),
        ({"fields": {"to": {"values": [1, 2, 11, 0], "argument": "other"}}},
         r"to\.values\[2\]: out of range; found 11; expected an integer from -9\d+ to 10"),
        ({"fields": {"to": {"values": [1, "x", 3, 0], "argument": "other"}}}, r"to\.values\[1\]: not an integer"),
        ({"fields": {"to": {"values": [1], "kind": "arange", "argument": "other"}}}, "contents of two kinds"),
        ({"fields": {"to": {"values": [1, 2, 3, 4]}}}, "not a pointer; found 1; expected 0, a name, or a table"),
        ({"file": "x.csv"}, "a file of this format has no structs"), ({"kind": "values"}, "missing key 'values'"),
    ],
)  # fmt: skip
def test_contents_that_do_not_fit_are_refused(init: Any, message: str) -> None:
    with pytest.raises(MalformedInput, match=message):
        parse_launch(structs(init))


def test_buffers_that_others_point_to_take_no_parameter() -> None:
    names = ["k_param_0", "k_param_1"]
    ring = {"values": [{"to": {"argument": "x", "element": 3}}, {"to": "other"}, {}, {}]}
    launch = parse_launch(structs(ring))
    assert [a.name for a in launch.bind(names).values()] == ["x", "tex"], "pointers to itself do not count"
    data = structs(ring)
    data["argument"][1]["parameter"] = True
    assert [a.name for a in parse_launch(data).bind(names).values()] == ["x", "other"]
    data["argument"][0]["parameter"] = False
    assert [a.name for a in parse_launch(data).bind(names).values()] == ["other", "tex"]
    assert parse_launch(data).unbound(["other", "tex"]) == []


def test_layouts_of_numpy_are_ours() -> None:
    for name in ("Pair", "Node"):
        struct = parse_launch(structs()).argument("x").struct
        assert struct is not None
        if name == "Pair":
            member = struct.member("pos")
            assert member is not None
            assert isinstance(member.element, Struct)
            struct = member.element
        found = element_of(numpy_of(struct))
        assert isinstance(found, Struct)
        assert numpy_of(found) == numpy_of(struct)
    assert element_of(np.dtype([("a", "O")])) is None
    assert element_of(np.dtype("S3")) is None


# Comparison.


def judged(mode: Any, change: Any, shape: Any = 4) -> list[str]:
    data = structs({"fields": {"c": "ones", "to": {"kind": "constant", "value": 1, "argument": "other"}}}, shape)
    data["argument"][0]["compare"] = mode
    launch = parse_launch(data)
    before = launch.make_buffers()
    after = {name: array.copy() for name, array in before.items()}
    change(after["x"], launch)
    return [str(difference) for difference in compare(launch, before, after)]


def test_structs_are_compared_field_by_field() -> None:
    def padding(x: Any, launch: Launch) -> None:
        x.view("u1").reshape(4, -1)[:, 1:8] = 7

    def small(x: Any, launch: Launch) -> None:
        x["pos"]["y"][2, 1], x["c"][1] = 1e-9, 1 + 1e-7j

    def far(x: Any, launch: Launch) -> None:
        x["to"][3], x["to"][2] = launch.address("x", 5), 0

    for mode in ("exact", {"rtol": 1e-6, "atol": 1e-8}, "unordered"):
        assert judged(mode, padding) == []
    assert judged({"rtol": 1e-6, "atol": 1e-8}, small) == []
    found = judged("exact", small)
    assert found == ["x[1].c: (1+1.0000000116860974e-07j), expected (1+0j) (exact; 2 of 4 elements differ)"]
    found = judged({"atol": 1e9}, far)
    assert len(found) == 1
    assert "x[2].to: null, expected 0x" in found[0]
    assert "(other + 4) (tolerance; 2 of 4" in found[0]


@pytest.mark.parametrize("shape", [4, [2, 2]])
def test_the_first_difference_is_told_with_its_place(shape: Any) -> None:
    data = structs(shape=shape)
    launch = parse_launch(data)
    before = launch.make_buffers()
    raw = before["x"].copy()
    for offset, field in ((0, "kind"), (8, "pos[0].x"), (16, "pos[0].y"), (32, "pos[1].y"), (44, "c"), (56, "b")):
        after = raw.copy()
        after.reshape(-1).view("u1").reshape(4, -1)[2, offset] = 1
        (difference,) = compare(launch, before, before | {"x": after})
        assert difference.index == (2,) if shape == 4 else (1, 0)
        assert difference.field == f".{field}"
        assert difference.bytes is not None
        assert difference.offset <= offset < difference.offset + difference.bytes


def test_in_any_order_without_padding() -> None:
    def turned(x: Any, launch: Launch) -> None:
        x["kind"] = [3, 1, 2, 0]

    launch = parse_launch(structs({"fields": {"kind": {"kind": "arange"}}}) | {})
    a = launch.argument("x")
    x = launch.make_buffers()["x"]
    y = x[::-1].copy()
    y.view("u1").reshape(4, -1)[:, 1:8] = 9
    assert counted(in_order(x, a), a) == counted(in_order(y, a), a)
    assert counted(x, a) != counted(y, a)
    assert "unordered" in judged("unordered", turned)[0]


@settings(max_examples=rotation.examples(200))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=8), st.randoms())
def test_unordered_is_a_comparison_of_multisets(pairs: list[tuple[int, int]], random: Any) -> None:
    dtype = np.dtype([("a", "u1"), ("b", "i4")], align=True)
    struct = element_of(dtype)
    assert isinstance(struct, Struct)
    other = list(pairs)
    random.shuffle(other)
    if random.random() < 0.5:
        other[0] = (other[0][0], random.randint(0, 2))
    one, two = (np.array(p, dtype) for p in (pairs, other))
    argument = Argument("x", ArgumentKind.BUFFER, "s", one.shape, compare=Compare(CompareMode.UNORDERED), struct=struct)
    launch = Launch("k", (1, 1, 1), (1, 1, 1), arguments=(argument,))
    assert (compare(launch, {"x": one}, {"x": two}) == []) == (sorted(pairs) == sorted(other))


def test_complex_and_bfloat16_have_tolerances() -> None:
    for dtype, one, other, tolerance in (
        ("c64", 3 + 4j, 3 + 4.04j, {"rtol": 0.01}), ("c128", 1j, 1j + 1e-9, {"atol": 1e-8}),
        ("bf16", 0x3F80, 0x3F81, {"rtol": 0.01}),
    ):  # fmt: skip
        want, got = ({"x": np.array([v, v], DTYPES[dtype])} for v in (one, other))
        assert compare(parse_launch(buffer(dtype, 2, "zeros", tolerance)), want, got) == []
        found = compare(parse_launch(buffer(dtype, 2, "zeros", {"atol": 1e-12})), want, got)
        assert (found[0].count, found[0].index) == (2, (0,))
        assert compare(parse_launch(buffer(dtype, 2, "zeros")), want, want) == []
    nan = {"x": np.array([complex("nan"), complex(float("inf"), float("nan"))], "c8")}
    assert compare(parse_launch(buffer("c64", 2, "zeros", {"atol": 1})), nan, nan) == []


REFERENCE = """
import numpy as np
def reference(inputs, launch):
    assert inputs["x"].dtype == np.float32 and inputs["x"].tolist() == [1.5, 1.5]
    return {"x": inputs["x"] + np.float32(1)}
def bits(inputs, launch): return {"x": np.array([0x4020, 0x4020], "u2")}
def wide(inputs, launch): return {"x": inputs["x"].astype("f8")}
"""


def test_references_see_bfloat16_as_floats(tmp_path: Path) -> None:
    (tmp_path / "ref.py").write_text(REFERENCE)
    for function in ("reference", "bits", "wide"):
        data = buffer("bf16", 2, {"kind": "constant", "value": 1.5})
        data["reference"] = {"file": "ref.py", "function": function}
        launch = parse_launch(data, path=str(tmp_path / "l.toml"))
        if function == "wide":
            with pytest.raises(MalformedInput, match=r"found float64 \[2\]; expected float32 \[2\] or uint16 \[2\]"):
                reference_outputs(launch, launch.make_buffers())
        else:
            assert reference_outputs(launch, launch.make_buffers())["x"].tolist() == [0x4020, 0x4020]
