"""Structs of launch files lie in memory as C lays them out: Python's ctypes, which does so too, has the same bytes."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.launch.file import parse_launch
from binalloc.launch.placing import FIRST_BUFFER
from tests.support.kits.suite import rotation

C = {
    "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16, "u16": ctypes.c_uint16, "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "f32": ctypes.c_float,
    "f64": ctypes.c_double, "bool": ctypes.c_bool, "ptr": ctypes.c_void_p, "f16": ctypes.c_uint16,
    "bf16": ctypes.c_uint16,
}  # fmt: skip
BUFFER = 40


def number(dtype: str) -> st.SearchStrategy[Any]:
    """A value as a launch file has it, and as ctypes has."""
    if dtype == "bool":
        return st.booleans().map(lambda v: (v, v))
    if dtype == "ptr":
        byte = st.integers(0, BUFFER)
        return st.one_of(
            st.just((0, None)),
            st.just(("other", FIRST_BUFFER)),
            byte.map(lambda at: ({"argument": "other", "at": at}, FIRST_BUFFER + at)),
        )
    if dtype == "f16":
        return st.floats(width=16, allow_nan=False).map(lambda v: (v, int(np.float16(v).view(np.uint16))))
    if dtype == "bf16":  # numbers of seven bits behind the first one need no rounding
        exact = st.builds(math.ldexp, st.integers(-255, 255), st.integers(-100, 100))
        return exact.map(lambda v: (v, int(np.float32(v).view(np.uint32)) >> 16))
    if dtype.startswith("f"):
        return st.floats(width=32 if dtype == "f32" else 64, allow_nan=False).map(lambda v: (v, v))
    bits, signed = int(dtype[1:]), dtype[0] == "i"
    low = -(1 << bits - 1) if signed else 0
    return st.integers(low, low + (1 << bits) - 1).map(lambda v: (v, v))


class Drawn:
    """Types of a launch file, each with what ctypes makes of it."""

    def __init__(self) -> None:
        self.tables: dict[str, Any] = {}
        self.made: dict[str, Any] = dict(C)
        self.members: dict[str, list[tuple[str, str, tuple[int, ...]]]] = {}


@st.composite
def types(draw: st.DrawFn) -> Drawn:
    out = Drawn()
    for k in range(draw(st.integers(1, 4))):
        members, fields, items = [], [], []
        for i in range(draw(st.integers(1, 6))):
            dtype = draw(st.sampled_from([*C, *out.tables, *out.tables]))
            shape = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
            item: dict[str, Any] = {"name": f"m{i}", "dtype": dtype}
            if shape:
                item["shape"] = shape[0] if len(shape) == 1 and draw(st.booleans()) else list(shape)
            made = out.made[dtype]
            for side in reversed(shape):
                made = made * side
            members.append((f"m{i}", dtype, shape))
            fields.append((f"m{i}", made))
            items.append(item)
        out.tables[f"T{k}"] = {"fields": items}
        body: dict[str, Any] = {"_fields_": fields}
        if draw(st.booleans()) and draw(st.booleans()):
            body = {"_pack_": 1} | body
            out.tables[f"T{k}"]["packed"] = True
        out.made[f"T{k}"] = type(f"T{k}", (ctypes.Structure,), body)
        out.members[f"T{k}"] = members
    return out


def fill(draw: st.DrawFn, drawn: Drawn, dtype: str, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """A value for a file, and the same for ctypes."""
    if shape:
        pairs = [fill(draw, drawn, dtype, shape[1:]) for _ in range(shape[0])]
        made = drawn.made[dtype]
        for side in reversed(shape):
            made = made * side
        return [a for a, _ in pairs], made(*[b for _, b in pairs])
    if dtype in C:
        return draw(number(dtype))  # type: ignore[no-any-return]
    struct = drawn.made[dtype]()
    table = {}
    for name, inner, sides in drawn.members[dtype]:
        if draw(st.integers(0, 5)) == 0:
            continue  # what is left out is zero
        table[name], given_ = fill(draw, drawn, inner, sides)
        setattr(struct, name, given_)
    if len(table) == len(drawn.members[dtype]) and draw(st.booleans()):
        return list(table.values()), struct
    return table, struct


@settings(max_examples=rotation.examples(300))
@given(types(), st.data())
def test_bytes_are_those_of_ctypes(drawn: Drawn, data: Any) -> None:
    last = list(drawn.tables)[-1]
    made = drawn.made[last]
    count = data.draw(st.integers(1, 3))
    values, expected = zip(*(fill(data.draw, drawn, last, ()) for _ in range(count)), strict=True)
    arguments = [
        {"name": "other", "kind": "buffer", "dtype": "u8", "shape": BUFFER},
        {"name": "many", "kind": "buffer", "dtype": last, "shape": count, "init": {"values": list(values)}},
        {"name": "one", "kind": "struct", "dtype": last, "value": values[0]},
        {"name": "in_one", "kind": "struct", "fields": [
            {"dtype": "u8", "value": 7}, {"name": "s", "dtype": last, "value": [values[0]]}]},
    ]  # fmt: skip
    table = {"kernel": "k", "grid": 1, "block": 1, "argument": arguments, "types": drawn.tables}
    launch = parse_launch(table)
    struct = launch.argument("many").struct
    assert struct is not None
    assert (struct.bytes, struct.align) == (ctypes.sizeof(made), ctypes.alignment(made))
    for name, _, _ in drawn.members[last]:
        field, member = getattr(made, name), struct.member(name)
        assert member is not None
        assert (member.offset, member.bytes) == (field.offset, field.size)
    contents = launch.make_buffers()["many"]
    assert contents.tobytes() == b"".join(bytes(one) for one in expected)
    for name in contents.dtype.names or ():
        assert contents.dtype.fields is not None
        assert contents.dtype.fields[name][1] == getattr(made, name).offset
    bank = launch.parameters([("one", 0, struct.bytes)], launch.addresses)
    assert bank == bytes(expected[0])
    assert launch.values["one"].tobytes() == bytes(expected[0])
    around = type("Around", (ctypes.Structure,), {"_fields_": [("first", ctypes.c_uint8), ("s", made)]})
    bank = launch.parameters([("in_one", 0, ctypes.sizeof(around))], launch.addresses)
    assert bank == bytes(around(7, expected[0]))
