"""Above `isa` nobody names a field, an operation, a special register or a number of Loom's: the syntax trees are read.

The emulator and the PTX front end are left out: executing Loom and lowering to Loom are about Loom by nature. Imports
are the import contracts' business. Attributes and keywords that the interface itself has (`Function.target`,
`Memory.spill`, ...) share their names with fields; what is looked for is the way from an instruction to its fields,
which is `Instr.f`, or a field's name as a string.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import binalloc
from binalloc.isa.table.fields import FIELDS
from binalloc.isa.table.opcodes import BY_NAME, SPECIAL_REGISTERS

ROOT = Path(binalloc.__file__).parent
ROOMS = (
    "analysis", "models", "transform", "verify", "launch", "pipeline", "report", "cli", "device", "laboratory/papers",
    "laboratory/reproduce",
)
NUMBERS = frozenset((6, 7, 32, 127, 128, 254, 255, 256, 264))
"""Predicate and register numbers and their bounds, the first predicate and local word, the predicate mask, a warp's
lanes, the slot row."""
INSIDE = frozenset(("f", "form", "op"))
"""Attributes of an instruction that are for its own instruction set."""

SAME_WORD = {
    "guard": "Instr.guard, View.guard",
    "target": "Function.target; an edge's or a move's target",
    "spill": "Memory.spill",
    "rc": "DRAM's row cycle",
    **dict.fromkeys(("stall", "wait", "wbar", "rbar"), "the control code, which is part of the neutral record"),
    "width": "bits of a set in the hazard check",
    "shift": "slots that a call moves the pointer by",
    "cache": "what a sweep keeps its finished runs in",
    "match": "re.Pattern.match; the checker's step that matches two operations",
    "vote": "Barrier.vote, and the builder's barrier that is one",
}
"""Attributes and keywords that are also fields, and what they are of."""

SAME_STRING = {
    ("analysis/views/live_rows.py", "x"): "a mark in a table",
    ("report/views/live.py", "x"): "a mark in a table",
    ("models/batches/order.py", "x"): "between the sides of a tile",
    ("report/views/dump.py", "guard"): "a kind of point in a web's dump",
    ("analysis/webs.py", "CALL"): "a constant's name in __all__",
    ("verify/lockstep.py", "match"): "a kind of step",
    ("verify/product.py", "match"): "a kind of step",
    ("verify/product.py", "guard"): "a kind of finding",
    ("verify/reconvergence.py", "match"): "a kind of step",
    ("verify/transfer.py", "guard"): "a kind of finding",
    ("verify/multiplex/merged/course.py", "vote"): "a kind of finding",
    ("verify/transfer.py", "spill"): "a kind of finding",
    ("report/views/stack.py", "shift"): "a key of the page",
    ("report/runs/annotate.py", "spill"): "a key of the page",
    ("pipeline/sweeping/tasks.py", "spill"): "a counter's name",
    ("report/runs/program.py", "x"): "between the sides of a grid",
    ("launch/merged.py", "u32"): "a type of launch files",
    ("pipeline/block.py", "x"): "between the sides of a block",
    **dict.fromkeys((("pipeline/bound.py", name) for name in ("FFMA", "DFMA", "IMAD", "MUFU")), "units, for readers"),
    ("pipeline/bound.py", "bar"): "a class of units",
    ("report/page/charts.py", "bar"): "a name of Vega-Lite's",
    ("report/page/charts.py", "width"): "a name of Vega-Lite's",
    ("report/page/charts.py", "x"): "a name of Vega-Lite's",
    ("laboratory/reproduce/facts.py", "cache"): "a key of the page",
    ("laboratory/reproduce/page.py", "bar"): "a column of a chart",
    ("report/sweep.py", "cache"): "a key of the page",
    ("launch/textures.py", "u32"): "an element type",
    ("launch/sampling.py", "wrap"): "a texture's address mode",
    ("launch/numbers/dtypes.py", "u32"): "an element type",
    **dict.fromkeys(
        ((f"launch/contents/{name}.py", "rb") for name in ("archives", "images", "npy")), "a mode of open"
    ),
    ("pipeline/skeleton/signature.py", "u32"): "an element type",
}
_OTHERS: dict[str, dict[str, tuple[int, ...]]] = {
    "a limit of our own": {
        "verify/product.py": (256,), "verify/reading/names.py": (6,), "verify/remade.py": (6,),
        "analysis/flow/loops.py": (6,), "analysis/shared/ownership.py": (256,),
        "transform/schedule/tokens.py": (32, 256), "transform/assign/homes.py": (6,),
    },
    "rounding up to whole bytes, or a bit's place in one": {
        "models/allocation/colouring.py": (7,), "transform/virtual/live_ranges.py": (7,),
    },
    "more than any register's number": {"transform/assign/homes.py": (256,)},
    "bits or exponent of an integer or f32": {"report/table.py": (128,), "launch/values.py": (128,)},
    "an exponent: names of slots lie that far apart": {"verify/reading/names.py": (32,)},
    "decimals": {
        "pipeline/sweeping/rows.py": (6,), "laboratory/reproduce/facts.py": (6,), "report/versions.py": (6,),
    },
    "colours of series, and a distance in a chart": {"report/page/charts.py": (6, 7)},
    "width of a column": {"report/views/diff.py": (6,), "report/compare.py": (6,)},
    "major numbers of capabilities": {"models/machines/aliases.py": (6,)},
    "faces of a cube": {"launch/textures.py": (6,), "pipeline/skeleton/buffers.py": (6,)},
    "numbers of a suggested launch": {
        "pipeline/skeleton/sizes.py": (32, 128), "pipeline/skeleton/make.py": (256,),
        "pipeline/skeleton/buffers.py": (256,), "pipeline/skeleton/extents.py": (7,),
    },
    "NumPy's axes, an alignment": {
        "launch/elements/layout.py": (32,), "launch/elements/tables.py": (128,), "launch/placing.py": (256,),
    },
    "an exit code": {"cli/observe.py": (6,)},
    "defaults: registers per thread, threads per block": {"cli/commands/machines.py": (32, 256)},
    "what a paper measured": {"laboratory/papers/unified.py": (32,)},
    "figures of hardware, or their bounds": {
        "models/machines/limits.py": (32, 128, 255, 256), "models/machines/sections.py": (32, 128, 256),
        "models/machines/occupancy.py": (7, 32), "models/machines/unloaded.py": (32,),
        "models/dram/addresses.py": (128,), "models/dram/traffic.py": (32, 256),
        "pipeline/batches/recorder.py": (128,),
    },
}  # fmt: skip
SAME_NUMBER = {(file, n): reason for reason, files in _OTHERS.items() for file, ns in files.items() for n in ns}
"""Numbers by file, and what they are."""


def named(tree: ast.AST) -> Iterator[tuple[str, str | int]]:
    """What a syntax tree names of Loom: (kind, what)."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in INSIDE:
                yield "attribute", name
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) if name in FIELDS:
                yield "name", name
            case ast.Constant(value=str(text)) if text in FIELDS or text in BY_NAME or text in SPECIAL_REGISTERS:
                yield "string", text
            case ast.Constant(value=int(number)) if number in NUMBERS:
                yield "number", number


def found(room: str) -> dict[tuple[str, str, str | int], None]:
    """(file, kind, what) of everything that a room names of Loom."""
    out: dict[tuple[str, str, str | int], None] = {}
    for path in sorted((ROOT / room).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        out.update(((file, *thing), None) for thing in named(ast.parse(path.read_text())))
    return out


def allowed(file: str, kind: str, what: str | int) -> bool:
    if kind == "name":
        return what in SAME_WORD
    return (file, what) in (SAME_STRING if kind == "string" else SAME_NUMBER)


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_above_the_instruction_set_names_what_is_looms(room: str) -> None:
    assert [thing for thing in found(room) if not allowed(*thing)] == []


def test_every_exception_is_needed() -> None:
    things = {thing for room in ROOMS for thing in found(room)}
    assert set(SAME_WORD) == {what for _, kind, what in things if kind == "name"}
    assert set(SAME_STRING) == {(file, what) for file, kind, what in things if kind == "string"}
    assert set(SAME_NUMBER) == {(file, what) for file, kind, what in things if kind == "number"}


def test_the_checker_makes_no_instructions() -> None:
    trees = [ast.parse(path.read_text()) for path in (ROOT / "verify").rglob("*.py")]
    assert not [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "build"]


@pytest.mark.parametrize(
    "code",
    [
        "x = instr.f",
        "instr.op.name",
        "rename(instr, {'rd': 4})",
        "make(x, imm=4)",
        "if name == 'IADD3': pass",
        "special == 'SR_TID.X'",
        "register == 0xff",
        "base = 264",
        "warps = -(-threads // 32)",
        "key & ~7",
        "range(6)",
        "view.moff",
    ],
)
def test_a_leak_is_seen(code: str) -> None:
    assert [thing for thing in named(ast.parse(code)) if not allowed("transform/some.py", *thing)]
