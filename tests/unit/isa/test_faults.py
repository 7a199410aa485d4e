"""What is said of faults: of every operation, of every way in which the emulator stops, by operands if those tell."""

from __future__ import annotations

import pytest

from binalloc.emulator.state.layout import Fault
from binalloc.isa.instruction import Param, make
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.interface.view import Faults
from binalloc.isa.sets.table import may_fault, view
from binalloc.isa.table.faults import ELSEWHERE, STOPS
from binalloc.isa.table.opcodes import OPCODES
from binalloc.isa.text.assembler import assemble

BANKS = {0: 16, 3: 64}


def test_every_way_in_which_the_emulator_stops_has_its_row() -> None:
    codes = {name for name in vars(Fault) if name.isupper()} - {"NONE"}
    told = {code for stop in STOPS for code in stop.codes}
    assert told | ELSEWHERE.keys() == codes
    assert not told & ELSEWHERE.keys()


def test_every_row_is_of_some_operation() -> None:
    for stop in STOPS:
        assert any(stop.of(op) for op in OPCODES.values()), stop.when


@pytest.mark.parametrize(
    ("text", "answer", "stops"),
    [
        ("IADD3 R0, R1, R2, RZ", Faults.NEVER, False),
        ("MUFU.RCP R0, R1", Faults.NEVER, False),
        ("SHFL.IDX PT, R0, R1, 0x1, 0x1f", Faults.NEVER, False),
        ("S2R R0, SR_TID.X", Faults.NEVER, False),
        ("TXQ.KIND R0, R1", Faults.NEVER, False),
        ("MOV R0, c[0][0xc]", Faults.BANK, False),
        ("MOV R0, c[0][0x10]", Faults.BANK, True),
        ("DADD R0, R2, c[0][0x8]", Faults.BANK, False),
        ("DADD R0, R2, c[0][0x10]", Faults.BANK, True),
        ("IMAD R0, R1, R2, c[3][0x3c]", Faults.BANK, False),
        ("IMAD R0, R1, R2, c[3][0x40]", Faults.BANK, True),
        ("IMAD R0, R1, R2, c[4][0x0]", Faults.BANK, True),
        ("LDC.U8 R0, c[3][0x3f]", Faults.BANK, False),
        ("LDC.U16 R0, c[3][0x40]", Faults.BANK, True),
        ("LDC.128 R0, c[0][0x0]", Faults.BANK, False),
        ("LDC.32 R0, c[3][R1+0x0]", Faults.OPERANDS, True),
        ("TXQ.WIDTH R0, R1", Faults.OPERANDS, True),
        ("TXQ.WIDTH R0, RZ", Faults.OPERANDS, True),
        ("SUADDR.1D.ZERO.32 R0, R2, R3", Faults.OPERANDS, True),
        ("SUADDR.2D.TRAP.32 R0, R2, R4", Faults.OPERANDS, True),
        ("TEX.1D.R R0, R1, R2", Faults.STATE, True),
        ("LDG R0, [R2]", Faults.STATE, True),
        ("STS [R2], R0", Faults.STATE, True),
        ("WARPSYNC 0xffffffff", Faults.STATE, True),
        ("BAR.SYNC 0x0", Faults.STATE, True),
        ("@!PT EXIT", Faults.NEVER, False),
    ],
)
def test_an_instruction_says_whether_it_may_fault(text: str, answer: Faults, stops: bool) -> None:
    instr = assemble(f".kernel k\n{text}\nEXIT\n.end").function("k").instrs[0]
    assert view(instr).faults == answer
    assert may_fault(instr, BANKS) == stops


def test_a_query_of_no_handle_is_no_constant() -> None:
    assert not view(make("TXQ", rd=0)).constant
    assert view(make("S2R", rd=0)).constant


def test_a_bank_ends_with_the_last_parameter() -> None:
    params = [Param("p", 8, 8), Param("q", 0, 4)]
    assert bank_bytes({3: bytes(64)}, params) == {0: 16, 3: 64}
    assert bank_bytes({}, []) == {0: 0}
