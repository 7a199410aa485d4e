"""Assembler and disassembler: what they accept, what they refuse and how, and that they invert each other."""

from __future__ import annotations

import contextlib
import random
import re
import struct

import pytest

from binalloc.errors import MalformedInput
from binalloc.isa.container.files import write_module
from binalloc.isa.instruction import Control, GlobalVar, Instr
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble, format_instr
from tests.support.kits.suite import rotation
from tests.support.programs.words import random_module


def test_assembling_the_disassembly_gives_the_same_module() -> None:
    for seed in rotation.sample(range(300), "modules"):
        module = random_module(random.Random(seed))
        again = assemble(disassemble(module))
        assert again == module, seed


HEAD = ".kernel k\n.param n 4\n.shared tile 64 16\n"


def _one(statement: str) -> Instr:
    return assemble(f"{HEAD}{statement}\nEXIT\n.end").functions[0].instrs[0]


@pytest.mark.parametrize(
    ("statement", "name", "fields"),
    [
        ("MOV R1, 0x10", "MOV", {"form": 1, "rd": 1, "imm": 16}),
        ("MOV R1, -1", "MOV", {"imm": 0xFFFFFFFF}),
        ("MOV R1, 1.5", "MOV", {"imm": 0x3FC00000}),
        ("MOV R1, -0.1f", "MOV", {"imm": 0xBDCCCCCD}),
        ("MOV R1, 1.5d", "MOV", {"imm": 0x3FF80000}),
        ("DADD R2, R4, 1.5", "DADD", {"imm": 0x3FF80000}),
        ("MOV R1, tile+4*(2+1)-0b1", "MOV", {"imm": 11}),
        ("MOV R1, c[0][n]", "MOV", {"form": 2, "cbank": 0, "coff": 0}),
        ("FFMA R1, R2, -R3, c[3][4]", "FFMA", {"form": 4, "rc": 3, "negb": 1, "cbank": 3, "coff": 4}),
        ("FFMA R1, R2, -R3, 1.0", "FFMA", {"form": 3, "rc": 3, "negb": 1, "imm": 0x3F800000}),
        ("FADD R1, -|R2|, |c[0][n]|", "FADD", {"nega": 1, "absa": 1, "absb": 1, "negb": 0}),
        ("IADD3 R1, R2, R3, R4", "IADD3", {"pd0": 7, "pd1": 7, "ps0": 7, "ps0n": 1}),
        ("IADD3.X R1, P1, P2, -R2, R3, R4, P3, !P4", "IADD3", {"pd0": 1, "pd1": 2, "ps0": 3, "ps0n": 0, "ps1n": 1}),
        ("ISETP.U32.AND.GE P0, PT, R1, R2, PT", "ISETP", {"icmp": 6, "u32cmp": 1, "bop": 0}),
        ("F2F.F64.F32 R2, R1", "F2F", {"ftyp_d": 1, "ftyp_s": 0}),
        ("F2F.F32.F64 R2, R4", "F2F", {"ftyp_d": 0, "ftyp_s": 1}),
        ("LDG R1, [R2]", "LDG", {"width": 4, "moff": 0}),
        ("LDG.64 R2, [R2.64-0x10]", "LDG", {"width": 5, "moff": -16}),
        ("LDS R1, [tile+R2+8]", "LDS", {"ra": 2, "moff": 8}),
        ("LDS R1, [4]", "LDS", {"ra": 255, "moff": 4}),
        ("LDC R1, c[3][R2+8]", "LDC", {"ra": 2, "cbank": 3, "coff": 8}),
        ("SHFL.BFLY PT, R1, R2, 16, 0x1f", "SHFL", {"shfl": 3, "limm": 1, "laneimm": 16, "cimm": 1, "clampimm": 31}),
        ("SHFL.IDX PT, R1, R2, R3, R4", "SHFL", {"limm": 0, "rb": 3, "cimm": 0, "rc": 4}),
        ("BAR.SYNC 3", "BAR", {"barid": 3, "form": 0, "rb": 255}),
        ("BAR.RED.POPC R1, 0, 64, !P2", "BAR", {"bar": 2, "rd": 1, "form": 1, "imm": 64, "ps0": 2, "ps0n": 1}),
        ("ATOMG.ADD.F32 R1, [R2], R4", "ATOMG", {"aop": 0, "atyp": 4, "rc": 255}),
        ("S2R R1, SR_CTAID.Y", "S2R", {"sreg": 7}),
        ("@!P3 NOP ; all three // kinds # of comment", "NOP", {}),
    ],
)
def test_a_statement_gives_these_fields(statement: str, name: str, fields: dict[str, int]) -> None:
    ins = _one(statement)
    assert ins.name == name
    assert {k: ins.f[k] for k in fields} == fields


@pytest.mark.parametrize("bits", [0x7F7FFFFF, 0xFF7FFFFF, 0x7F7FFFFE, 0x7F7FFF00, 0x00800000])
def test_floats_near_the_greatest_are_printed_and_read_back(bits: int) -> None:
    """Their short decimals lie beyond what the format holds."""
    instr = _one(f"FADD R0, R1, {bits:#x}")
    assert _one(format_instr(instr)).f["imm"] == bits


def test_control_codes_and_their_defaults() -> None:
    ins = _one("@!P3 MOV R1, R2 {stall:0 yield wr:5 rd:0 wait:03 reuse:13}")
    assert ins.ctrl == Control(0, 0, 5, 0, 0b001001, 0b1010)
    assert (ins.guard, ins.guard_neg) == (3, True)
    assert _one("NOP").ctrl == Control(1, 1, 7, 7, 0, 0)


def test_branches_name_their_reconvergence_point() -> None:
    fn = assemble(
        ".kernel k\n@P0 BRA a, b\n@P0 BRA a, uniform\nBRA b\na:\nNOP\nb: second: .Lc: BRA .Lc\n.end"
    ).functions[0]
    assert [fn.target(i) for i in (0, 1, 2, 4)] == [3, 3, 4, 4]
    assert [fn.reconvergence(i) for i in (0, 1, 2, 4)] == [4, None, None, None]
    assert fn.labels == {3: "a", 4: "b"}


def test_labels_and_functions_may_be_named_like_anything_else() -> None:
    module = assemble("""
    .equ done 3
    .kernel RZ
        CALL R1
    P0: @P1 BRA P0, c
    c:  @P1 BRA SRZ, uniform
    SRZ: BRA done
    done: EXIT
    .end
    .func R1
        RET
    .end
    """)
    assert [ins.f.get("target") for ins in module.functions[0].instrs] == [7, -1, 0, 0, None]
    assert write_module(assemble(disassemble(module))) == write_module(module)


def test_comment_signs_in_a_string_are_text() -> None:
    module = assemble("""
    .kernel k # one
        .machine "a#b;c//d"  ; two
        .file "x\\u0023\\"//;#"  // three
        .line 1
        EXIT
    .end""")
    fn = module.functions[0]
    assert fn.info.machine == "a#b;c//d"
    assert fn.lines == {0: ('x#"//;#', 1)}
    assert write_module(assemble(disassemble(module))) == write_module(module)


def test_raw_lines_have_no_comments() -> None:
    module = assemble('.provenance {"a": "#;//"}\n.kernel k\n.origin j -\nEXIT\n.end')
    assert module.provenance == [{"a": "#;//"}]
    for bad in ('.provenance {"a": 1} # no', ".kernel k\n.origin j 0 # no\nEXIT\n.end"):
        with pytest.raises(MalformedInput):
            assemble(bad)


@pytest.mark.parametrize(
    ("mnemonic", "name", "fields"),
    [
        ("IMAD.WIDE.U32 R2, R1, R1, R2", "IMAD.WIDE", {"u32": 1}),
        ("LEA.HI.X R1, R2, R3, R4, 5, P0", "LEA.HI", {"x": 1}),
        ("BAR.RED.POPC R1, 0", "BAR", {"bar": 2}),
        ("BAR.ALLOC R1, R2", "BAR.ALLOC", {}),
        ("SHF.HI.U32.W.R R1, R2, R3, R4", "SHF", {"dir": 1, "stype": 0, "hi": 1, "wrap": 1}),
        ("F2F.F32.F64 R1, R2", "F2F", {"ftyp_d": 0, "ftyp_s": 1}),
        ("ISETP.LT.U32.EX P0, PT, R1, R2, PT, P3", "ISETP", {"icmp": 1, "u32cmp": 1, "bop": 0, "ex": 1, "ps1": 3}),
    ],
)
def test_the_longest_name_is_the_operation(mnemonic: str, name: str, fields: dict[str, int]) -> None:
    ins = _one(mnemonic)
    assert ins.op.name == name
    assert {k: ins.f[k] for k in fields} == fields


def test_what_is_left_out_has_its_documented_value() -> None:
    ins = _one("BAR.SYNC 0")
    assert (ins.guard, ins.guard_neg, ins.ctrl) == (7, False, Control(1, 1, 7, 7, 0, 0))
    assert {k: ins.f[k] for k in ("rd", "pd0", "form", "rb", "ps0", "ps0n")} == {
        "rd": 255, "pd0": 7, "form": 0, "rb": 255, "ps0": 7, "ps0n": 0,
    }  # fmt: skip
    assert (_one("@!PT NOP").guard, _one("@!PT NOP").guard_neg) == (7, True)
    assert _one("NOP {yield wait:0}").ctrl == Control(1, 0, 7, 7, 1, 0)
    assert {k: _one("BRA k2\nk2:").f[k] for k in ("diverges", "reconv")} == {"diverges": 0, "reconv": 0}
    assert {k: _one("LEA R1, R2, R3, 1").f[k] for k in ("ps0", "ps0n")} == {"ps0": 7, "ps0n": 1}


def test_a_negative_sum_in_a_list_of_floats_is_a_sum() -> None:
    data = assemble(".const 3 {\n.float -2-3, -(2), - 2.5, 1.5d\n.double 2-3\n}").constants[3]
    assert data == struct.pack("<4fd", -5, -2, -2.5, 1.5, -1)


def test_auto_reconv_takes_the_immediate_post_dominator() -> None:
    fn = assemble(
        """
        .auto_reconv
        .kernel k
          @P0 BRA else
          @P1 BRA join
          NOP
          BRA join
        else: NOP
        join: NOP
        loop: @P2 EXIT
          @P3 BRA loop
          @P4 BRA other
          EXIT
        other: EXIT
        .end
        """
    ).functions[0]
    assert [fn.reconvergence(i) for i in (0, 1, 7, 8)] == [5, 5, 8, 10]


def test_resources_left_out_are_computed_over_the_call_graph() -> None:
    module = assemble(
        """
        .kernel k
          .param a 4
          .param b 8
          .param c 12
          .shared x 5
          .shared y 8 8
          CALL f
          EXIT
        .end
        .func f
          .shared z 4 4 60
          DADD R8, R2, R4
          CALL g
          RET
        .end
        .func g
          LDG.128 R12, [R2]
          RET
        .end
        """
    )
    k = module.function("k")
    assert [(p.offset, p.size) for p in k.info.params] == [(0, 4), (8, 8), (16, 12)]
    assert [(v.offset, v.align) for v in k.shared] == [(0, 4), (8, 8)]
    assert (k.info.registers, k.info.shared_bytes) == (16, 64)
    assert module.function("f").info.registers == 10
    assert [fn.address for fn in module] == [0, 8, 16]
    assert module.callee(k, 0) is module.function("f")


def test_constant_banks_are_laid_out_by_alignment_and_joined() -> None:
    module = assemble(
        """
        .const 3 {
        a: .byte 1, -1
        b: .half 0x1234
        c: .float 1.5, -2
        d: .double -1.5
        e: .quad 1
          .space 2
          .align 4
        f: .word e, b
        }
        .const 3 {
          .byte 7
        }
        .kernel k
          MOV R0, c[3][f]
          EXIT
        .end
        """
    )
    words = struct.pack("<BbHff4xdQ4xIIB", 1, -1, 0x1234, 1.5, -2.0, -1.5, 1, 24, 2, 7)
    assert module.constants == {3: words}
    assert module.functions[0].instrs[0].f["coff"] == 36


@pytest.mark.parametrize(
    ("source", "line", "column", "parts"),
    [
        ("  IADD4 R0, R1, R2, R3", 4, 3, ["unknown mnemonic", "'IADD4'", "IADD3"]),
        ("IADD3.FOO R0, R1, R2, R3", 4, 1, ["modifier .FOO", "X"]),
        ("FADD.FTZ.FTZ R0, R1, R2", 4, 1, ["given twice"]),
        ("SHF.U32 R0, R1, R2, R3", 4, 1, ["SHF lacks a modifier", "one of L, R"]),
        ("MOV R0, [R1]", 4, 9, ["wrong kind of operand", "an address", "a register, immediate or c[bank][offset]"]),
        ("MOV R0", 4, 7, ["missing operand"]),
        ("MOV R0, R1, R2", 4, 13, ["does not fit here", "MOV Rd, B"]),
        ("MOV R0, 0x100000000", 4, 9, ["immediate out of range", "4294967296"]),
        ("LDS R0, [R1+0x800000]", 4, 9, ["moff out of range", "8388607"]),
        ("LEA R0, R1, R2, 32", 4, 17, ["shift out of range", "0..31"]),
        ("BRA nowhere", 4, 5, ["undefined label", "'nowhere'"]),
        ("CALL nobody", 4, 6, ["undefined function", "'nobody'"]),
        ("MOV R0, &nobody", 4, 9, ["undefined function"]),
        ("a: NOP\na: NOP", 5, 1, ["duplicate label", "'a'"]),
        ("DADD R1, R2, R4", 4, 6, ["misaligned register pair", "R1"]),
        ("LDG.128 R2, [R4]", 4, 9, ["misaligned register quad", "R2"]),
        ("MOV R0, c[0][2]", 4, 9, ["misaligned constant", "multiple of 4"]),
        (".registres 5", 4, 1, ["unknown directive", "'.registres'", ".registers"]),
        ("MOV R0, undefined", 4, 9, ["wrong kind of operand", "'undefined'"]),
        ("MOV R0, tile+undefined", 4, 14, ["undefined name"]),
        ("MOV R0, -R1", 4, 9, ["cannot be negated"]),
        ("FFMA R0, |R1|, R2, R3", 4, 10, ["absolute value"]),
        ("IADD3 R0, R1, 1, c[0][0]", 4, 18, ["only one operand"]),
        ("IMAD.WIDE R0, R1, R2, 3", 4, 23, ["no form with immediate C"]),
        ("FADD R0, R1, 1e39", 4, 14, ["float out of range"]),
        ("DADD R0, R2, 0.1d", 4, 14, ["high word only", ".double"]),
        ("DADD R0, R2, 1.5f", 4, 14, ["single-precision immediate"]),
        ("@R0 NOP", 4, 2, ["guard predicate"]),
        ("NOP {stall:16}", 4, 12, ["stall out of range"]),
        ("NOP {wait:6}", 4, 11, ["wait out of range"]),
        ("NOP {foo:1}", 4, 6, ["syntax error", "'foo'"]),
        ("NOP extra", 4, 5, ["does not fit here"]),
        ("MOV R0, R1 R2", 4, 12, ["syntax error", "the end of the line"]),
        ("MOV R0, 12q", 4, 9, ["not a token"]),
        ("S2R R0, SR_FOO", 4, 9, ["unknown special register", "SR_TID.X"]),
        ("@P0 BRA a\na: NOP", 4, 1, ["without a reconvergence point", ".auto_reconv"]),
        ("LDS R0, [R1+R2]", 4, 13, ["at most one register"]),
        (".param n 4", 4, 8, ["duplicate name", "'n'"]),
        (".shared", 4, 8, ["the shared variable's name"]),
        (".memory_model x86", 4, 15, ["syntax error", "'x86'", "loom or ptx"]),
        (".max_registers 0x100000000", 4, 16, ["number out of range", "4294967295"]),
        (".smem_spilling 1", 4, 16, ["the end of the line"]),
        (".target 80", 4, 9, ["a target, such as sm_80"]),
        ("RED.CAS [R2], R4", 4, None, ["reserved value of modifier aop"]),
        (".origin f 3..1", 4, None, ["syntax error", "'3..1'"]),
        (".inlined 1", 4, None, ["no instruction map"]),
        (".origin f -\n.inlined", 5, None, ["syntax error"]),
        (".origin f -\n.inlined 1 -2", 5, None, ["syntax error", "'-2'"]),
    ],
)
def test_an_error_points_at_line_and_column_and_says_what_is_expected(
    source: str, line: int, column: int | None, parts: list[str]
) -> None:
    with pytest.raises(MalformedInput) as caught:
        assemble(f"{HEAD}{source}\nEXIT\n.end", "a.lasm")
    text = str(caught.value)
    assert text.startswith(f"a.lasm: line {line}, column {'' if column is None else f'{column}:'}"), text
    for part in parts:
        assert part in text


def test_global_variables_are_laid_out_named_and_printed() -> None:
    module = assemble(
        """
        .global count 4
        .global table 24, 8 {
        head: .half 1, 2
        next: .word count, 0
        }
        .global far 1 256 0x1000
        .kernel k
          MOV R0, next+4
          MOV R1, far
          EXIT
        .end
        """
    )
    assert module.globals == [
        GlobalVar("count", 0, 4),
        GlobalVar("table", 8, 24, 8, bytes([1, 0, 2, 0, 0, 0, 0, 8])),
        GlobalVar("far", 0x1000, 1, 256),
    ]
    assert [i.f["imm"] for i in module.functions[0].instrs[:2]] == [0x08000010, 0x08001000]
    assert assemble(disassemble(module)) == module


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("NOP", "outside of a function"),
        (".kernel k\nEXIT", "has no .end"),
        (".kernel k\n.end", "has no instruction"),
        (".kernel k\nNOP\n.end", "falls off"),
        (".kernel k\nEXIT\n.end\n.func k\nRET\n.end", "duplicate function"),
        (".kernel k\n.kernel j\n.end", "inside a function"),
        (".kernel k\nEXIT\nlate:\n.end", "behind the last instruction"),
        (".const 0 {\n}", "out of range"),
        (".const 3 {", "not closed"),
        (".global a 0", "out of range"),
        (".global a 4\n.global a 4", "duplicate name"),
        (".global a 4 3", "misaligned"),
        (".global a 4 4 0\n.global b 4 4 2", "misaligned"),
        (".global a 8 4 0\n.global b 4 4 4", "overlaps a"),
        (".global a 4 {\n.word 1, 2\n}", "initial data too large; found 8 bytes"),
        (".global a 4 {\n.space 5\n}", "size out of range"),
        (".global a 4 {", "global variable 'a' is not closed"),
        (".global a 4 4 0x8000000", "outside the window"),
        (".kernel k\n.global a 4", "inside a function"),
        (".provenance [1]", "not a JSON object"),
        (".provenance {", "not JSON"),
        (".end", "belongs inside"),
    ],
)
def test_a_broken_structure_is_refused(source: str, part: str) -> None:
    with pytest.raises(MalformedInput, match=re.escape(part)):
        assemble(source)


def test_one_line_for_messages() -> None:
    module = assemble(".kernel k\n@!P0 BRA a, uniform\nCALL f\na: FADD R1, -R2, 0.5\nEXIT\n.end\n.func f\nRET\n.end")
    k = module.functions[0]
    assert format_instr(k.instrs[0]) == "@!P0 BRA (+1)"
    assert format_instr(k.instrs[0], k, 0) == "@!P0 BRA a, uniform"
    assert format_instr(k.instrs[1]) == "CALL (+6)"
    assert format_instr(k.instrs[1], k, 1, module) == "CALL f"
    assert format_instr(k.instrs[2]) == "FADD R1, -R2, 0.5f"


def test_random_text_raises_nothing_but_our_errors() -> None:
    rng = random.Random(5)
    lines = disassemble(random_module(random.Random(4))).splitlines()
    pieces = [*"[]{}(),.:+-|!@&#\"'\\ \t%é", "R0", "0x", ".L1", "1.5f", "c[3]", "{stall:", ".origin x 1.."]
    for _ in range(600):
        copy = list(lines)
        for _ in range(rng.randrange(1, 4)):
            i = rng.randrange(len(copy))
            at = rng.randrange(len(copy[i]) + 1)
            copy[i] = copy[i][:at] + rng.choice(pieces) + copy[i][at + rng.randrange(3) :]
        if rng.random() < 0.2:
            del copy[rng.randrange(len(copy))]
        with contextlib.suppress(MalformedInput):
            assemble("\n".join(copy))


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("MOV R0, " + "9" * 5000, "number too long"),
        ("MOV R0, 0x" + "f" * 5000, "number too long"),
        ("MOV R0, " + "*".join(["4000000000"] * 3000), "product out of range"),
        (".equ a 4000000000\n" + "".join(f".equ {'a' * n}a {'a' * n}*{'a' * n}\n" for n in range(1, 40)), "product"),
        ("MOV R0, \u0661", "not a token"),
        ("FADD R0, R0, 1e999", "float out of range"),
        ("DADD R0, R0, 1e999", "float out of range"),
        (".origin f " + "9" * 5000, "syntax error"),
        (f'.file "{"x" * 70000}"\n.line 1\nNOP', "file name"),
        ('.file "\\ud800"\n.line 1\nNOP', "file name"),
        ('.machine "\\ud800"', "machine"),
    ],
    ids=range(11),
)
def test_what_no_field_holds_is_refused_in_one_line(source: str, word: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        write_module(assemble(f".kernel k\n{source}\nEXIT\n.end\n"))
    assert word in str(caught.value)


def test_only_line_feeds_and_carriage_returns_end_a_line() -> None:
    module = assemble(".kernel k\r\nNOP // a\u2028b\x0cc\x85d\rNOP\nEXIT\n.end\n")
    assert len(module.functions[0].instrs) == 3
