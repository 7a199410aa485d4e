"""What is forgotten when an opcode is added, though every table is full: an operand or a sign that the emulator's row
does not take, semantics that ISA.md does not tell."""

from __future__ import annotations

import re

import pytest

from binalloc.emulator.execute.operation import Operation, ResultKind
from binalloc.emulator.execute.table import OPERATIONS
from binalloc.isa.table import doc
from binalloc.isa.table.opcodes import BY_NAME, OpSpec

LANES = [name for name, row in OPERATIONS.items() if row.arguments]
SIGNED_BEFORE = ("float32", "float64", "half", "conversion")
"""Groups whose operands the emulator negates, and takes the absolute value of, before the function is called."""
COMPUTING = ("integer", "float32", "float64", "half", "conversion", "predicate", "warp")
PROSE = re.sub(r"<!-- table:(\w+):begin -->.*?<!-- table:\1:end -->", "", doc.PATH.read_text("utf-8"), flags=re.DOTALL)
PROSE = PROSE.split("\n## Container\n")[0]
"""ISA.md without what is generated, and without container and assembly, in whose examples any opcode may stand."""


def read(row: Operation) -> set[str]:
    """Operands and fields that the row's function is given, or that what follows it reads."""
    given = {name.split(".")[0] for name in row.arguments.split()}
    return given | {"ps0"} if row.result in (ResultKind.COMPARISON, ResultKind.COMPARISONS) else given


def forgotten(spec: OpSpec, row: Operation) -> set[str]:
    """Sources and signs of the opcode that its row does not take."""
    wanted: set[str] = set()
    for operand in spec.operands:
        if operand.kind in ("rd", "pd"):
            continue
        name = operand.name[-1] if operand.kind == "reg" else operand.name
        wanted.add(name)
        if spec.group not in SIGNED_BEFORE:
            wanted |= {f"neg{name}"} if operand.neg else set()
            wanted |= {f"abs{name}"} if operand.abs else set()
    return wanted - read(row)


def told(name: str, group: str) -> bool:
    """Whether the prose has the opcode: what computes stands in bold or in a heading, others are named."""
    word = rf"(?<![\w.]){re.escape(name)}(?!\w|\.[A-Z0-9])"
    where = " ".join(re.findall(r"\*\*[^*]+\*\*|^#+ .*$", PROSE, re.MULTILINE)) if group in COMPUTING else PROSE
    return re.search(word, where) is not None


@pytest.mark.parametrize("name", LANES)
def test_every_source_and_sign_of_an_operand_is_an_argument(name: str) -> None:
    missing = sorted(forgotten(BY_NAME[name], OPERATIONS[name]))
    assert not missing, f"the row of {name} in emulator.execute.table does not take {', '.join(missing)}"


@pytest.mark.parametrize("name", list(BY_NAME))
def test_the_prose_of_isa_md_tells_every_opcode(name: str) -> None:
    assert told(name, BY_NAME[name].group), f"ISA.md says nowhere outside its tables what {name} does"
