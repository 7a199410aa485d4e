"""Arguments of launch files: by name and in order, structs, textures, the parameter bank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import FunctionInfo, Param
from binalloc.launch.file import check_against, parse_launch
from binalloc.launch.types import Texture
from tests.support.kits.launch.launch_files import base


def imported(**more: Any) -> dict[str, Any]:
    """A launch of a kernel from PTX: a pointer, a struct that holds another pointer, a count."""
    members = [
        {"name": "flag", "dtype": "u8", "value": 3},
        {"name": "row", "dtype": "f32", "value": [1.5, -2.0]},
        {"argument": "inner"},
        {"name": "last", "dtype": "i16", "value": -1},
    ]
    arguments = [
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 4},
        {"name": "inner", "kind": "buffer", "dtype": "u8", "shape": 4},
        {"name": "s", "kind": "struct", "fields": members} | more,
        {"name": "n", "kind": "scalar", "dtype": "i32", "value": 7},
    ]
    return {"kernel": "k", "grid": 1, "block": 32, "argument": arguments}


IMPORTED = [Param("k_param_0", 0, 8), Param("k_param_1", 8, 32), Param("k_param_2", 40, 4)]


def test_arguments_go_in_order_to_parameters_without_names() -> None:
    launch = parse_launch(imported())
    check_against(launch, FunctionInfo(params=IMPORTED))
    bank = launch.parameters([(p.name, p.offset, p.size) for p in IMPORTED], {"out": 0x1000, "inner": 0x2000})
    struct = bytes([3, 0, 0, 0]) + np.array([1.5, -2], "<f4").tobytes() + bytes(4)
    struct += (0x2000).to_bytes(8, "little") + b"\xff\xff" + bytes(6)
    assert bank == (0x1000).to_bytes(8, "little") + struct + (7).to_bytes(4, "little")
    assert launch.values == {"s": {"flag": 3, "row": [1.5, -2.0], "last": -1}, "n": 7}


def test_an_argument_with_a_parameters_name_goes_there_whatever_its_place() -> None:
    data = imported()
    data["argument"][3]["name"] = "k_param_0"
    params = [Param("k_param_0", 0, 4), Param("k_param_1", 8, 8), Param("k_param_2", 16, 32), Param("tex", 48, 8)]
    data["argument"].append({"name": "tex", "kind": "texture", "dtype": "f32", "shape": 5})
    launch = parse_launch(data)
    check_against(launch, FunctionInfo(params=params))
    assert {n: a.name for n, a in launch.bind([p.name for p in params]).items()} == {
        "k_param_0": "k_param_0", "k_param_1": "out", "k_param_2": "s", "tex": "tex",
    }  # fmt: skip


def test_order_does_not_place_arguments_of_named_parameters() -> None:
    params = [Param("a", 0, 8), Param("b", 8, 32), Param("c", 40, 4)]
    with pytest.raises(UsageError, match="lacks a parameter"):
        check_against(parse_launch(imported()), FunctionInfo(params=params))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (IMPORTED[:2], "argument n.*no such parameter"),
        ([*IMPORTED, Param("k_param_3", 44, 4)], "argument k_param_3.*lacks a parameter"),
        ([IMPORTED[0], Param("k_param_1", 8, 28), IMPORTED[2]], "argument s, parameter k_param_1.*struct, 32 bytes"),
    ],
)
def test_counts_and_sizes_of_ordered_arguments_are_checked(params: list[Param], message: str) -> None:
    with pytest.raises(UsageError, match="(?s)" + message):
        check_against(parse_launch(imported()), FunctionInfo(params=params))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fields": []}, "s?.*fields: not fields"),
        ({"fields": [{"dtype": "u8", "value": 256}]}, "fields\\[0\\].value: out of range"),
        ({"fields": [{"dtype": "u8", "value": []}]}, "no values"),
        ({"fields": [{"dtype": "u8"}]}, "missing key 'value'"),
        ({"fields": [{"argument": "other"}]}, "no such buffer, texture or surface.*inner"),
        ({"fields": [{"argument": "n"}]}, "no such buffer, texture or surface"),
        ({"fields": [{"argument": "out", "dtype": "u8"}]}, "unknown key.*dtype"),
        ({"fields": [{"dtype": "u32", "value": 1}, {"dtype": "u8", "value": 1, "offset": 3}]}, "overlaps"),
        ({"fields": [{"dtype": "u8", "value": 1, "name": "a"}] * 2}, "same name"),
        ({"bytes": 20}, "bytes: out of range.*26"),
        ({"dtype": "u8"}, "unknown key.*dtype"),
    ],
)
def test_structs_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedInput, match="(?s)" + message):
        parse_launch(imported(**change))


def test_a_size_may_change_a_struct() -> None:
    data = imported() | {"sizes": {"test": {"argument": {"s": {"bytes": 40}}}}}
    assert parse_launch(data, size="test").argument("s").bytes == 40


def texture(**keys: Any) -> dict[str, Any]:
    entry = {"name": "t", "kind": "texture", "dtype": "f32", "shape": [4, 6]} | keys
    return {"kernel": "k", "grid": 1, "block": 32, "argument": [entry]}


def test_textures() -> None:
    plain = parse_launch(texture()).argument("t").texture
    assert plain == Texture((4, 6), 1, "point", ("clamp", "clamp"), False, "element")
    full = texture(dtype="u8", shape=[3, 4, 6, 2], channels=2, filter="linear", read="normalized_float",
                   address=["wrap", "mirror", "border"], normalized=True)  # fmt: skip
    launch = parse_launch(full)
    assert launch.argument("t").texture == Texture(
        (3, 4, 6), 2, "linear", ("wrap", "mirror", "border"), True, "normalized_float"
    )
    assert launch.make_textures()["t"].shape == (3, 4, 6, 2)
    for size, fits in ((8, True), (4, True), (2, False)):
        if fits:
            check_against(launch, FunctionInfo(params=[Param("t", 0, size)]))
        else:
            with pytest.raises(UsageError, match="size contradicts"):
                check_against(launch, FunctionInfo(params=[Param("t", 0, size)]))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"dtype": "f64"}, "dtype"),
        ({"channels": 3, "shape": [4, 3]}, "three channels"),
        ({"channels": 4}, "not a texture's shape"),
        ({"shape": [2, 2, 2, 2]}, "not a texture's shape"),
        ({"shape": [1, 65537]}, "too long"),
        ({"normalized": 1}, "not a truth value"),
        ({"read": "normalized_float"}, "8- and 16-bit"),
        ({"dtype": "i32", "filter": "linear"}, "interpolated"),
        ({"dtype": "u8", "filter": "linear"}, "interpolated"),
        ({"address": ["clamp"]}, "per axis"),
        ({"address": "repeat", "normalized": True}, "address"),
        ({"address": ["clamp", "mirror"]}, "normalized coordinates"),
        ({"compare": "exact"}, "unknown key"),
    ],
)
def test_textures_that_cuda_does_not_have_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedInput, match=message):
        parse_launch(texture(**keys))


def test_parameter_bank() -> None:
    launch = parse_launch(base())
    bank = launch.parameters([("x", 0, 8), ("n", 8, 4), ("a", 16, 8)], {"x": 0x1_2345_6780})
    assert bank == (0x1_2345_6780).to_bytes(8, "little") + b"\xfd\xff\xff\xff" + bytes(4) + np.float64(2.5).tobytes()


def pointed(*pointers: dict[str, Any]) -> dict[str, Any]:
    arguments = [{"name": "both", "kind": "buffer", "dtype": "f32", "shape": 8}]
    arguments += [{"name": f"p{k}", "kind": "pointer"} | pointer for k, pointer in enumerate(pointers)]
    return {"kernel": "k", "grid": 1, "block": 32, "argument": arguments}


def test_pointers_into_one_buffer() -> None:
    params = [("k_param_0", 0, 8), ("k_param_1", 8, 8), ("k_param_2", 16, 8)]
    launch = parse_launch(pointed({"argument": "both"}, {"argument": "both", "at": 12}, {"argument": "both", "at": 32}))
    check_against(launch, FunctionInfo(params=[Param(*p) for p in params]))
    bank = launch.parameters(params, {"both": 0x1000})
    assert [int.from_bytes(bank[k : k + 8], "little") for k in (0, 8, 16)] == [0x1000, 0x100C, 0x1020]


def test_a_buffer_keeps_the_parameter_of_its_name() -> None:
    params = [("both", 0, 8), ("p0", 8, 8)]
    launch = parse_launch(pointed({"argument": "both", "at": 4}))
    bank = launch.parameters(params, {"both": 0x1000})
    assert bank == (0x1000).to_bytes(8, "little") + (0x1004).to_bytes(8, "little")


def test_a_size_may_move_a_pointer() -> None:
    data = pointed({"argument": "both", "at": 4}) | {"sizes": {"small": {"argument": {"p0": {"at": 8}}}}}
    bank = parse_launch(data, size="small").parameters([("k_param_0", 0, 8)], {"both": 0x1000})
    assert bank == (0x1008).to_bytes(8, "little")


@pytest.mark.parametrize(
    ("pointer", "message"),
    [
        ({}, "missing key 'argument'"),
        ({"argument": "other"}, "no such buffer"),
        ({"argument": "both", "at": 33}, "out of range"),
        ({"argument": "both", "at": -1}, "out of range"),
        ({"argument": "both", "dtype": "u64"}, "unknown key"),
    ],
)
def test_pointers_to_nowhere_are_refused(pointer: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedInput, match=message):
        parse_launch(pointed(pointer))


def test_a_texture_has_no_bytes_to_point_to() -> None:
    data = pointed({"argument": "tex", "at": 4})
    data["argument"].append({"name": "tex", "kind": "texture", "dtype": "f32", "shape": 5})
    with pytest.raises(MalformedInput, match="out of range"):
        parse_launch(data)
