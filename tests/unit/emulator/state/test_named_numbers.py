"""The emulator's shapes have names, mostly those of the instruction set: the syntax trees are searched for numbers.

Arithmetic is left out: 32 is there the width of an integer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT

EMULATOR = ROOT / "binalloc" / "emulator"
NUMBERS = frozenset((6, 32, 127, 128, 254, 255, 256, 264))
"""Scoreboards; lanes; the slot row and its mask; registers, with and without RZ; rows of the hazard table."""
ALLOWED = {
    ("state/layout.py", 32): "the wheel, a block's warps and banks, where they get their names",
    ("state/layout.py", 128): "warps and blocks of an SM, results set aside, where they get their names",
    ("state/memory_layout.py", 32): "banks of a DRAM channel, words of a line, bytes of a sector, where they get names",
    ("state/memory_layout.py", 128): "slices of L2, bytes of a line, where they get their names",
    ("state/memory_layout.py", 256): "lines of an access, where they get their name",
    ("checks/hazards.py", 32): "bits of a lane mask: the number of an instruction above it",
    ("execute/operands.py", 32): "bits of a word: the carry of a sum",
    ("execute/warp.py", 32): "bits of a word: the high half of the clock",
    ("execute/texture.py", 256): "the weight of a whole texel",
    ("execute/texture.py", 255): "what is left of a mipmap level's weight",
    ("execute/surface.py", 32): "bits of a word: the high half of an address, or what is packed above one",
    ("memory/lanes.py", 32): "bits of a word: the high half of an address",
    ("stops/faults.py", 32): "bits of a word: what is packed above one",
    ("execute/texture.py", 6): "the faces of a cube",
    ("host/c_format.py", 6): "printf's precision where none is given",
    ("host/c_format.py", 32): "bits of an int of C",
    ("host/c_format.py", 255): "the byte that a character is",
}


def bare(tree: ast.AST) -> Iterator[int]:
    """The numbers that are looked for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in NUMBERS:
            yield node.value


def found() -> set[tuple[str, int]]:
    """(file, number) of every one of them."""
    paths = [path for path in EMULATOR.rglob("*.py") if path.parent.name != "arithmetic"]
    return {(path.relative_to(EMULATOR).as_posix(), n) for path in paths for n in bare(ast.parse(path.read_text()))}


def test_shapes_are_named_and_every_exception_is_needed() -> None:
    assert found() == set(ALLOWED)


@pytest.mark.parametrize("code", ["for t in range(32): pass", "lane & 127", "boards = 6", "x != 0xff", "zeros(256)"])
def test_a_bare_number_is_seen(code: str) -> None:
    assert list(bare(ast.parse(code)))
