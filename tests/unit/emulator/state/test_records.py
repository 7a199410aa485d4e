"""The emulator's records and enumerations: what follows from their one definition."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated

import numpy as np

from binalloc.emulator.host.engines.engine import _ints
from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.counters import STATS, Stat
from binalloc.emulator.state.layout import LANES, MAX_WARPS, STACK_ROWS
from binalloc.emulator.state.records import _LARGE, LINE, PAGE, Gpu, Record, Sm, dtype_of, shapes
from binalloc.emulator.state.texture_layout import Outside
from binalloc.launch.sampling import AddressMode


class Colour(Codes):
    RED: int
    GREEN_BLUE: int


class Shade(Colour, numbers={"light": 9, "dark": 7}):
    DARK: int


def test_members_are_numbered_and_named_in_their_order() -> None:
    assert (Colour.RED, Colour.GREEN_BLUE) == (0, 1)
    assert type(Colour.RED) is int
    assert Colour.names == ("red", "green_blue")
    assert (_ints(Colour).RED, _ints(Colour).GREEN_BLUE) == (0, 1)
    assert (Shade.DARK, Shade.RED, _ints(Shade).DARK, _ints(Shade).GREEN_BLUE) == (7, 0, 7, 1)
    assert len(Stat.names) == STATS
    assert Stat.names[Stat.TEXTURE_FETCHES] == "texture_fetches"


def test_textures_have_the_address_modes_of_launch_files() -> None:
    assert set(Outside.names) == set(AddressMode)


def test_both_forms_of_a_record_have_the_fields_of_its_class() -> None:
    for kind in (Gpu, Sm):
        dtype, plain = dtype_of(kind), kind()
        assert dtype.names == tuple(shapes(kind))
        for name, shape in shapes(kind).items():
            assert dtype[name].shape == shape
            assert dtype[name].base == np.int64
            assert np.shape(getattr(plain, name)) == shape
    assert shapes(Sm)["stack"] == (MAX_WARPS, STACK_ROWS, 4)
    assert shapes(Sm)["a"] == (LANES,)
    assert shapes(Gpu)["cycle"] == ()


def test_arrays_of_one_length_begin_in_different_lines_of_their_pages() -> None:
    for kind in (Gpu, Sm):
        fields = dtype_of(kind).fields
        assert fields is not None
        places: dict[tuple[int, int], str] = {}
        end = 0
        for name, shape in shapes(kind).items():
            start = fields[name][1]
            assert end <= start < end + PAGE, name
            end = start + fields[name][0].itemsize
            if math.prod(shape) >= _LARGE:
                assert (other := places.setdefault((shape[0], start % PAGE // LINE), name)) == name, other


def test_more_arrays_of_one_length_than_lines_of_a_page_are_laid_out_all_the_same() -> None:
    count = PAGE // LINE + 6
    many = type("Many", (Record,), {"__annotations__": {f"a{n}": Annotated[Words, 64] for n in range(count)}})
    fields = dtype_of(many).fields
    assert fields is not None
    starts = [fields[f"a{n}"][1] for n in range(count)]
    assert len({start % PAGE // LINE for start in starts}) == PAGE // LINE
    assert all(one + 64 * 8 <= other for one, other in pairwise(starts))
