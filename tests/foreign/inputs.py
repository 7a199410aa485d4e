"""Small input files for programs that want some, in their formats: our own data, the same bytes every time.

A file has a name, by which the facts in `suites/` ask for it, and a function that gives its bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import numpy as np


def _lines(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _numbers(seed: int, count: int, style: str, least: float, most: float) -> bytes:
    """One number a line, evenly drawn."""
    rng = Random(seed)
    return _lines([style % (least + rng.random() * (most - least)) for _ in range(count)])


def _graph(nodes: int) -> bytes:
    """A graph for a search from node 0: each node's first edge and number of edges, the edges with their costs."""
    rng = Random(1)
    edges = [[rng.randrange(nodes) for _ in range(rng.randrange(1, 7))] for _ in range(nodes)]
    lines, first = [str(nodes)], 0
    for out in edges:
        lines.append(f"{first} {len(out)}")
        first += len(out)
    lines += ["", "0", "", str(first)]
    lines += [f"{target} {rng.randrange(1, 10)}" for out in edges for target in out]
    return _lines(lines)


def _mesh(elements: int) -> bytes:
    """A ring of elements of a fluid's mesh: area; four neighbours (-1 a wing, -2 far away), each face's normal."""
    rng, n = Random(2), elements
    normals = [(1, 0.1, 0), (-1, -0.1, 0), (0, 1, 0.2), (0, -1, -0.2)]
    lines = [str(n)]
    for i in range(n):
        words = [f"{1 + rng.random() * 0.1:.6f}"]
        neighbours = [(i + d) % n + 1 for d in (1, -1, 7, -7)]
        if i % 10 == 0:
            neighbours[0] = -1
        if i % 17 == 0:
            neighbours[1] = -2
        for neighbour, normal in zip(neighbours, normals, strict=True):
            words += [str(neighbour), *[f"{c * 0.01:.6f}" for c in normal]]
        lines.append(" ".join(words))
    return _lines(lines)


def _film(width: int, height: int, frames: int, cell: tuple[int, int, int]) -> bytes:
    """An uncompressed AVI with a byte a pixel: a bright disc on a dim, uneven ground, that moves a pixel a frame.

    cell: the disc's centre and radius, in pixels.
    """
    y, x = np.mgrid[0:height, 0:width]
    grain = np.random.default_rng(3).integers(0, 12, (height, width))
    ground = 90 + 10 * np.sin(x / 23.0) + 10 * np.cos(y / 31.0) + grain
    pictures = []
    for i in range(frames):
        inside = np.hypot(x - cell[0] - i, y - cell[1]) < cell[2]
        pictures.append(np.where(inside, 200 + grain, ground).astype(np.uint8).tobytes())
    size = width * height
    main = struct.pack("<14I", 40000, size * 25, 0, 0x10, frames, 0, 1, size, width, height, 0, 0, 0, 0)
    stream = b"vidsDIB " + struct.pack("<IHHIIIIIIII4H", 0, 0, 0, 0, 1, 25, 0, frames, size, 0, 0, 0, 0, width, height)
    bitmap = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, size, 0, 0, 0, 0)
    header = _chunk(b"avih", main) + _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", bitmap))
    movie, index, at = b"", b"", 4
    for picture in pictures:
        index += b"00db" + struct.pack("<III", 0x10, at, len(picture))
        movie += _chunk(b"00db", picture)
        at = 4 + len(movie)
    return _chunk(b"RIFF", b"AVI " + _list(b"hdrl", header) + _list(b"movi", movie) + _chunk(b"idx1", index))


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def _list(name: bytes, data: bytes) -> bytes:
    return _chunk(b"LIST", name + data)


def _picture(width: int, height: int) -> bytes:
    """A picture in grey as plain text, without order."""
    rng = Random(8)
    rows = [" ".join(str(rng.randrange(256)) for _ in range(width)) for _ in range(height)]
    return _lines(["P2", f"{width} {height}", "255", *rows])


def _hurricanes(count: int) -> bytes:
    """Records of 48 characters: a date, a number, a name, latitude and longitude."""
    rng, lines = Random(9), []
    for i in range(count):
        month, day, hour = rng.randrange(1, 13), rng.randrange(1, 29), 6 * rng.randrange(4)
        latitude, longitude = rng.uniform(7, 60), rng.uniform(1, 350)
        date = f"1995 {month:2d} {day:2d} {hour:2d} {i:3d} LISA"
        lines.append(f"{date:27} {latitude:5.1f} {longitude:5.1f}".ljust(48))
    return _lines(lines)


def _keys(count: int) -> bytes:
    """Keys of a tree: how many, then each, all different."""
    return _lines([str(count), *map(str, Random(10).sample(range(3 * count), count))])


INPUTS: dict[str, Callable[[], bytes]] = {
    "bfs.txt": partial(_graph, 1200),
    "cfd.txt": partial(_mesh, 60),
    "temp_64": partial(_numbers, 4, 64 * 64, "%.4f", 323, 333),
    "power_64": partial(_numbers, 5, 64 * 64, "%.6f", 0, 0.01),
    "temp_64x4": partial(_numbers, 6, 64 * 64 * 4, "%.4f", 323, 333),
    "power_64x4": partial(_numbers, 7, 64 * 64 * 4, "%.6f", 0, 0.01),
    "heart.avi": partial(_film, 656, 592, 4, (300, 300, 60)),
    "leuko.avi": partial(_film, 70, 340, 3, (35, 150, 9)),
    "image.pgm": partial(_picture, 458, 502),
    "filelist": lambda: b"nn.db\n",
    "nn.db": partial(_hurricanes, 300),
    "mil.txt": partial(_keys, 1000),
    "command.txt": lambda: b"j 60 30 300\nk 100\n",
}


def write_inputs(names: list[str], folder: Path) -> None:
    """Write these files into a folder, or where their names lead from there. KeyError for one that is not made here."""
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(INPUTS[place.name]())
