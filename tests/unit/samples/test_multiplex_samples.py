"""The multiplex paper's ten kernels: Table 1's numbers, PTX against references, marching cubes' tables."""

from __future__ import annotations

import math
import runpy
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from binalloc.frontend.ptx.parser import parse
from binalloc.launch.file import load_launch
from tests.support.kits.cli import call
from tests.support.kits.launch.references import differences_from_reference
from tests.support.paths import sample_file

# Multiplex paper, Table 1: bytes of shared memory and threads per block.
TABLE_1 = {
    "matrixVector": (4268, 32),
    "fourierTransform": (8736, 64),
    "marchingCubes": (9324, 32),
    "slidingMD5": (16304, 128),
    "scalarProducts": (4144, 64),
    "histogram": (8224, 64),
    "convolution": (8300, 128),
    "matrixMultiply": (2084, 256),
    "transpose": (4260, 128),
    "reduction": (540, 128),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_shared_bytes_and_threads_are_those_of_table_1(name: str) -> None:
    launch = load_launch(sample_file(f"{name}.toml"))
    kernel = parse(sample_file(f"{name}.ptx").read_text()).functions[launch.kernel]
    total = 0
    for variable in kernel.variables.values():
        if variable.space == "shared":
            total = -(-total // variable.align) * variable.align + variable.size
    assert (total, kernel.max_threads) == TABLE_1[name]
    assert math.prod(launch.block) == kernel.max_threads
    assert math.prod(load_launch(sample_file(f"{name}.toml"), "test").block) == kernel.max_threads
    assert len(launch.arguments) == len(kernel.parameters)


# Table 1: blocks that an SM of GTX285 holds, and the bytes that these use.
RESIDENT = {
    "matrixVector": (3, 12804),
    "fourierTransform": (1, 8736),
    "marchingCubes": (1, 9324),
    "slidingMD5": (1, 16304),
    "scalarProducts": (3, 12432),
    "histogram": (1, 8224),
    "convolution": (1, 8300),
    "matrixMultiply": (4, 8336),
    "transpose": (3, 12780),
    "reduction": (8, 4320),
}


def shared_view(name: str, machine: str) -> Any:
    block = "x".join(map(str, load_launch(sample_file(f"{name}.toml")).block))
    source = str(sample_file(f"{name}.ptx"))
    return call("inspect", source, "--shared", "--json", "--machine", machine, "--block", block).json["shared"]


@pytest.mark.parametrize("name", TABLE_1)
def test_resident_blocks_and_bytes_are_those_of_table_1(name: str) -> None:
    found = shared_view(name, "gtx285")["residents"]
    size, threads = TABLE_1[name]
    blocks, used = RESIDENT[name]
    assert (found["shared_bytes"], found["threads"]) == (size, threads)
    assert (found["blocks_per_sm"], found["threads_per_sm"]) == (blocks, blocks * threads)
    assert found["shared_bytes_per_sm"] == used


def test_gtx480_with_48_kilobytes_holds_five_blocks_of_convolution() -> None:
    found = shared_view("convolution", "gtx480")["residents"]
    assert (found["blocks_per_sm"], found["threads_per_sm"]) == (5, 640)


# Access regions of each kernel, and how many of its barriers lie in them.
REGIONS = {
    "matrixVector": (1, 1),  # a tile; the barrier behind it is outside
    "fourierTransform": (4, 4),  # an exchange each, as in Figure 3
    "marchingCubes": (1, 0),
    "slidingMD5": (1, 2),
    "scalarProducts": (2, 5),
    "histogram": (1, 2),  # a pass
    "convolution": (1, 1),
    "matrixMultiply": (1, 1),  # a tile
    "transpose": (1, 1),
    "reduction": (1, 2),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_access_regions_are_those_of_the_source(name: str) -> None:
    found = shared_view(name, "gtx285")
    assert {b["arrival"] for b in found["barriers"]} == {"all"}
    spans = [(s["first"], s["last"]) for r in found["regions"] for s in r["spans"]]
    inside = sum(any(first <= b["index"] <= last for first, last in spans) for b in found["barriers"])
    ends = 6 if name == "matrixVector" else 1  # behind the loads of a whole tile, and on the ways from a partial one
    assert [(len(r["begins"]), len(r["ends"])) for r in found["regions"]] == [(1, ends)] * len(found["regions"])
    assert (len(found["regions"]), inside) == REGIONS[name]
    regions = [a["region"] for a in found["accesses"]]
    assert set(regions) - {None} == set(range(len(found["regions"])))


@pytest.mark.parametrize("name", sorted(TABLE_1.keys() - {"slidingMD5"}))
def test_staged_parameters_are_common(name: str) -> None:
    """In slidingMD5 a loop's stores are not proven to stay in front of the numbers."""
    found = shared_view(name, "gtx285")
    staged = [v for v in found["variables"] if "pointers" in v["name"] or "numbers" in v["name"]]
    assert all(v["common"] is (v in staged) for v in found["variables"])
    assert found["common_bytes"] == sum(v["bytes"] for v in staged)


@pytest.mark.parametrize("name", TABLE_1)
def test_full_size_fills_eight_sms_twice(name: str) -> None:
    launch = load_launch(sample_file(f"{name}.toml"))
    resident = 2048 // math.prod(launch.block)
    assert math.prod(launch.grid) >= 2 * 8 * min(resident, 32)


@pytest.mark.rotates
@pytest.mark.parametrize("name", TABLE_1)
def test_ptx_leaves_what_the_reference_says(name: str) -> None:
    assert differences_from_reference(name) == []


def test_marching_cubes_tables_are_what_their_script_makes() -> None:
    made = runpy.run_path(str(sample_file("marchingCubes_tables.py")))["text"]()
    assert sample_file("marchingCubes_tables.cuh").read_text() == made


def test_marching_cubes_tables_give_closed_surfaces_around_the_inside() -> None:
    """Every side of a triangle meets one other side, in the opposite direction, and the enclosed volume is positive."""
    tables = runpy.run_path(str(sample_file("marchingCubes_tables.py")))
    corners, edges, triangles = tables["CORNERS"], tables["EDGES"], tables["triangles"]()
    size = 10
    field = np.full((size,) * 3, -1.0)
    field[1:-1, 1:-1, 1:-1] = np.random.default_rng(1).uniform(-1, 1, (size - 2,) * 3)
    sides: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    cases, volume = set(), 0.0
    for cell in product(range(size - 1), repeat=3):
        values = [field[tuple(np.add(cell, corner))] for corner in corners]
        case = sum((value > 0) << corner for corner, value in enumerate(values))
        cases.add(case)
        for first in range(0, len(triangles[case]), 3):
            names, points = [], []
            for edge in triangles[case][first : first + 3]:
                start, stop = edges[edge]
                part = -values[start] / (values[stop] - values[start])
                assert 0 <= part <= 1
                at = np.add(cell, corners[start])
                names.append((*at.tolist(), edge // 4))
                points.append(at + part * np.subtract(corners[stop], corners[start]))
            volume += np.linalg.det(points) / 6
            sides.update((names[i], names[(i + 1) % 3]) for i in range(3))
    assert len(cases) > 200
    assert set(sides.values()) == {1}
    assert all((b, a) in sides for a, b in sides)
    assert 0 < volume < (size - 2) ** 3
