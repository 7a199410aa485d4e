"""The emulator's table of operations, and the device functions written from it."""

from __future__ import annotations

import pytest

from binalloc.emulator.arithmetic.float32 import fadd, fadd_rn
from binalloc.emulator.arithmetic.half import hcompare2
from binalloc.emulator.arithmetic.integer import brev, icompare, popc, sum3
from binalloc.emulator.execute.operation import Operation, ResultKind, group_text, in_rows
from binalloc.emulator.execute.table import NUMBERS, OPERATIONS
from binalloc.emulator.execute.warp import vote
from binalloc.emulator.host.staging import Constants, StagedProgram
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.device import GENERATED, REGISTRY, define
from binalloc.isa.table.opcodes import BY_NAME
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import module, op


def test_every_opcode_has_a_row_and_a_number_of_its_own_in_its_group() -> None:
    assert OPERATIONS.keys() == BY_NAME.keys()
    places = [(row.group, NUMBERS[name]) for name, row in OPERATIONS.items()]
    assert len(set(places)) == len(places)


def test_arithmetic_reads_every_modifier_that_its_opcode_has() -> None:
    read_elsewhere = {("IMAD", "u32")}  # the low word is the same
    read_elsewhere |= {(name, "bop") for name in ("ISETP", "FSETP", "DSETP", "HSETP2")}
    for name, row in OPERATIONS.items():
        if row.arguments:
            missing = set(BY_NAME[name].modifiers) - set(row.arguments.split())
            assert {(name, m) for m in missing} <= read_elsewhere, name


def lines(row: Operation) -> list[str]:
    """What the text says of one operation."""
    text = group_text("f", [row]).splitlines()
    first = text.index(f"    if op == 0:  # {row.name}") + 1
    return text[first : -2 if in_rows([row]) else -1]


def test_a_scalar_function_becomes_a_loop_over_the_lanes_of_rows() -> None:
    assert lines(Operation("X", 0, popc, "b sh")) == [
        f"        f_sh = program[pc, {L.FIELD_COLUMNS['sh']}]",
        "        for t in range(g.lanes):",
        "            rows[d, t] = popc(int(rows[b, t]), f_sh)",
    ]


def test_a_group_with_an_operation_of_the_whole_warp_has_its_operands_staged() -> None:
    rows = [Operation("X", 0, popc, "b sh"), Operation("Y", 0, vote, result=ResultKind.WARP)]
    assert not in_rows(rows)
    text = group_text("f", rows).splitlines()
    assert "            s.d[t] = popc(s.b[t], f_sh)" in text
    assert text[-1] == "    write_back(g, s, program, regs, w, pc, mask)"


def test_a_sum_goes_beyond_32_bits_only_where_a_carry_is_wanted() -> None:
    text = [line.strip() for line in lines(Operation("X", 0, sum3, "a b c nega negb negc", ResultKind.SUM))]
    narrow, wide = (i for i, line in enumerate(text) if "sum3" in line)
    assert text[narrow].startswith("rows[d, t] = ")
    assert text[narrow].endswith("& 4294967295")
    assert text[wide].startswith("s.d[t] = sum3(")
    assert text[wide + 1] == "finish_sum(g, s, program, rows, w, pc, d, mask, 0)"


def test_a_comparison_collects_bits_and_writes_no_register() -> None:
    text = lines(Operation("X", 0, icompare, "a b ps1", ResultKind.COMPARISON))
    assert "            bits |= int(icompare(int(rows[a, t]), int(rows[b, t]), (ps1 >> t) & 1)) << t" in text
    assert text[-2].strip() == f"write_comparisons(g, s, program, w, pc, bits, bits ^ {L.FULL}, mask)"
    assert text[-1].strip() == "return"


def test_two_comparisons_in_a_lane_are_collected_apart() -> None:
    text = lines(Operation("X", 0, hcompare2, "a b fcmp hfmt ftz", ResultKind.COMPARISONS))
    assert "; bits |= (r & 1) << t; others |= (r >> 1) << t" in text[-3]
    assert [line.strip() for line in text[-2:]] == [
        "write_comparisons(g, s, program, w, pc, bits, others, mask)", "return",
    ]  # fmt: skip


def test_the_plain_function_serves_where_staging_says_so() -> None:
    text = lines(Operation("X", 0, fadd, "a b rnd ftz", plain=fadd_rn, unless="rnd ftz"))
    assert [line.strip() for line in text] == [
        f"if program[pc, {L.Column.PLAIN}]:",
        "for t in range(g.lanes):",
        "rows[d, t] = fadd_rn(int(rows[a, t]), int(rows[b, t]))",
        "else:",
        f"f_rnd = program[pc, {L.FIELD_COLUMNS['rnd']}]",
        f"f_ftz = program[pc, {L.FIELD_COLUMNS['ftz']}]",
        "for t in range(g.lanes):",
        "rows[d, t] = fadd(int(rows[a, t]), int(rows[b, t]), f_rnd, f_ftz)",
    ]


@pytest.mark.parametrize(
    ("name", "fields", "plain"),
    [
        ("FADD", {}, True), ("FADD", {"rnd": 1}, False), ("FADD", {"ftz": 1}, False), ("FADD", {"sat": 1}, False),
        ("IADD3", {}, True), ("IADD3", {"x": 1}, False), ("IADD3", {"pd0": 3}, False), ("IADD3", {"pd1": 3}, False),
        ("IADD3", {"nega": 1}, True), ("LOP3", {}, True), ("LOP3", {"pd0": 0}, False), ("LOP3", {"lut": 9}, True),
    ],
)  # fmt: skip
def test_what_is_plain(name: str, fields: dict[str, int], plain: bool) -> None:
    program = StagedProgram(module([op(name, rd=1, ra=2, rb=3, **fields)]), load_machine("gtx680"), Constants.build({}))
    assert bool(program.table[0, L.Column.PLAIN]) is plain


def test_a_misspelt_argument_is_noticed_at_import() -> None:
    with pytest.raises(KeyError, match="rn"):
        group_text("f", [Operation("X", 0, popc, "b rn")])


def test_a_function_made_from_a_text_is_known_with_it() -> None:
    space = {"__name__": "made"}
    try:
        define(space, "twice", "def twice(x):\n    return once(once(x))\n", {"once": brev})
        assert space["twice"](21) == 21  # type: ignore[operator]
        assert GENERATED["made.twice"].startswith("def twice")
    finally:
        GENERATED.pop("made.twice", None)
        REGISTRY.pop("made.twice", None)


def test_what_a_table_names_must_be_marked_as_device_code() -> None:
    with pytest.raises(AssertionError, match=r"test_operations.*not marked @device"):
        define({"__name__": "made"}, "twice", "def twice(x):\n    return once(x)\n", {"once": lambda x: x})
