"""Skeletons of kernels that call themselves, use the device runtime, meet as a grid, or cannot be analysed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import Refused
from binalloc.launch.program.schema import parse_program
from binalloc.launch.schema import parse_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.skeleton.program import Skeleton, skeleton
from binalloc.report.skeleton.text import launch_text
from tests.support.kits.cli import call
from tests.support.kits.machines import roomy_machine
from tests.support.programs.indirect import INDIRECT
from tests.support.ptx.harness import imported

MACHINE = roomy_machine()
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>;"
PLACE = """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
    ld.param.u32 %r4, [n]; setp.ge.s32 %p1, %r1, %r4; @%p1 bra END; ld.param.u64 %d1, [x]; mul.wide.u32 %d2, %r1, 4;
    add.u64 %d1, %d1, %d2;"""


def entry(body: str, parameters: str = ".param .u64 x, .param .u32 n", head: str = "", name: str = "k") -> str:
    return f"{head}.visible .entry {name}({parameters}) {{ {REGISTERS} {body} END: ret; }}\n"


def made_of(text: str, kernel: str | None = "k") -> Skeleton:
    return skeleton(imported(HEAD + text), kernel, MACHINE)


def launched(text: str) -> Skeleton:
    """The skeleton of kernel k, which has run."""
    made = made_of(text)
    run(imported(HEAD + text), "k", parse_launch(tomllib.loads(launch_text(made))), MACHINE)
    return made


FIB = """.func (.param .b32 r) fib(.param .b32 n, .param .b64 p)
{ .reg .b32 %x<9>; .reg .b64 %y; .reg .pred %q<2>; ld.param.u32 %x1, [n]; ld.param.u64 %y, [p];
  ld.global.s32 %x4, [%y]; max.s32 %x2, %x1, %x4; setp.lt.u32 %q1, %x1, 2; @%q1 bra DONE; sub.u32 %x3, %x1, 1;
  { .param .b32 a; .param .b64 c; .param .b32 b; st.param.b32 [a], %x3; st.param.b64 [c], %y;
    call.uni (b), fib, (a, c); ld.param.b32 %x2, [b]; }
DONE: st.param.b32 [r], %x2; ret; }
"""
CALL_FIB = """{ .param .b32 a; .param .b64 c; .param .b32 b; st.param.b32 [a], %r5; st.param.b64 [c], %d3;
    call.uni (b), fib, (a, c); ld.param.b32 %r6, [b]; } st.global.u32 [%d1], %r6;"""


def test_what_a_function_that_calls_itself_reads_is_known() -> None:
    body = PLACE + "ld.param.u64 %d3, [y]; and.b32 %r5, %r1, 3;" + CALL_FIB
    (made,) = launched(entry(body, ".param .u64 x, .param .u64 y, .param .u32 n", FIB)).kernels
    x, y, n = made.entries
    assert (x.keys["dtype"], x.reads, x.writes) == ("i32", False, True)
    assert (y.keys["kind"], y.keys["dtype"], y.reads, y.writes) == ("buffer", "i32", True, False)
    assert n.keys["value"] == made.grid[0] * made.block[0]


PRINTF = """.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 $str[4] = {37, 100, 10, 0};
.global .align 1 .b8 __unnamed_1[2] = {107, 0};
.global .align 4 .b8 mine[4];
"""
FORMAT = "mov.u64 %d3, $str; cvta.global.u64 %d3, %d3; mov.u64 %d4, __unnamed_1; cvta.global.u64 %d4, %d4;"
RUNTIME = {
    "printf": """{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %d3; st.param.b64 [b], 0;
        call.uni (c), vprintf, (a, b); }""",
    "malloc": """{ .param .b64 a; .param .b64 b; st.param.b64 [a], 16; call.uni (b), malloc, (a);
        ld.param.b64 %d5, [b]; } st.u32 [%d5], %r1;""",
    "assert": """setp.lt.s32 %p2, %r1, 0; @!%p2 bra FINE;
        { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %d4;
        st.param.b64 [b], %d4; st.param.b32 [c], 1; st.param.b64 [d], %d4; st.param.b64 [e], 1;
        call.uni __assertfail, (a, b, c, d, e); } FINE:""",
}


@pytest.mark.rotates("long")
@pytest.mark.parametrize("name", sorted(RUNTIME))
def test_the_runtime_asks_for_nothing_of_a_launch(name: str) -> None:
    """It numbers blocks and threads over all their axes, and has variables of its own, as the compiler has."""
    stores = "st.global.u32 [%d1], %r1; st.global.u32 [mine], %r1;"
    text = entry(PLACE + FORMAT + RUNTIME[name] + stores, head=PRINTF)
    (made,) = made_of(text).kernels
    assert (made.grid, made.block) == ((4, 1, 1), (128, 1, 1))
    assert [e.name for e in made.entries] == ["x", "n", "mine"]
    lost = [note for note in made.notes if "pointers in memory" in note]
    assert [note.split(" access")[0] for note in lost] == (["1"] if name == "malloc" else [])


SYNC = """mov.u32 %r5, %envreg1; mov.u32 %r6, %envreg2; mov.b64 %d3, {%r6, %r5}; setp.ne.s64 %p2, %d3, 0;
    @%p2 bra FINE; trap; FINE: bar.sync 0; mov.u32 %r7, %tid.x; mov.u32 %r8, %tid.y; mov.u32 %r9, %tid.z;
    add.s32 %r7, %r7, %r8; neg.s32 %r9, %r9; setp.ne.s32 %p3, %r7, %r9; @%p3 bra MET;
    mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %ctaid.z; add.s32 %r7, %r7, %r8; neg.s32 %r9, %r9;
    setp.eq.s32 %p3, %r7, %r9; mov.u32 %r10, %nctaid.x; sub.s32 %r10, -2147483647, %r10; selp.b32 %r11, %r10, 1, %p3;
    add.s64 %d4, %d3, 4; atom.add.u32 %r12, [%d4], %r11;
    AGAIN: ld.volatile.u32 %r13, [%d4]; xor.b32 %r14, %r13, %r12; setp.gt.s32 %p4, %r14, -1; @%p4 bra AGAIN;
    MET: bar.sync 0;"""


def test_kernels_whose_grid_meets_are_cooperative() -> None:
    text = entry(PLACE.replace("@%p1 bra END;", "") + SYNC + "@%p1 bra END; st.global.u32 [%d1], %r1;")
    made = launched(text)
    assert made.table()["cooperative"] is True
    assert (made.kernels[0].grid, made.kernels[0].block) == ((4, 1, 1), (128, 1, 1))
    assert "grid.sync" in made.kernels[0].reasons["cooperative"]
    assert not made.kernels[0].notes
    two = made_of(text + entry(PLACE + "st.global.u32 [%d1], %r1;", name="plain"), None)
    program = parse_program(tomllib.loads(launch_text(two)))
    assert [step.cooperative for step in program.steps] == [True, False]  # type: ignore[union-attr]


def test_a_grid_that_meets_has_no_more_blocks_than_run_at_once() -> None:
    text = entry(PLACE.replace("@%p1 bra END;", "") + SYNC + "@%p1 bra END; st.global.u32 [%d1], %r1;")
    keeps = REGISTERS + " .shared .b8 much[20000]; st.shared.u32 [much], 0;"
    module = imported(HEAD + text.replace(REGISTERS, keeps))
    assert skeleton(module, "k", load_machine("gtx680")).kernels[0].grid == (2, 1, 1)


def test_a_kernel_that_cannot_be_analysed_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "k.loom"
    source.write_bytes(call("asm", "-", stdin=INDIRECT.encode()).raw)
    answer = call("launch-skeleton", str(source))
    assert answer.code == 0
    assert "a left out: .text.a word 1: the call graph is not known statically: indirect call" in answer.err
    assert "# Left out: a: .text.a word 1" in answer.out
    assert [step["launch"] for step in tomllib.loads(answer.out)["step"]] == ["b"]
    (left,) = call("launch-skeleton", str(source), "--json").json["left_out"]
    assert (left["kernel"], "indirect call" in left["reason"]) == ("a", True)
    assert call("launch-skeleton", str(source), "--kernel", "a").code == Refused.exit_code


@pytest.mark.parametrize(
    ("body", "bound", "block", "why"),
    [
        ("mad.lo.u32 %r1, %r2, 96, %r1;", "", (96, 1, 1), "the code computes blockIdx.x * 96 + threadIdx.x"),
        ("mad.lo.u32 %r1, %r2, 96, %r1;", ".maxntid 96, 1, 1", (96, 1, 1), "the code computes"),
        ("mad.lo.u32 %r1, %r2, 96, %r1;", ".maxntid 256, 1, 1", (256, 1, 1), "launch bound"),
        ("mad.lo.u32 %r1, %r2, 96, %r1;", ".reqntid 64, 1, 1", (64, 1, 1), ".reqntid"),
        ("mad.lo.u32 %r1, %r2, 4, %r1;", "", (128, 1, 1), "a guess"),
        ("mad.lo.u32 %r1, %r2, 4096, %r1;", "", (128, 1, 1), "a guess"),
    ],
)
def test_the_block_that_the_code_takes_for_granted(
    body: str, bound: str, block: tuple[int, int, int], why: str
) -> None:
    place = PLACE.replace("mad.lo.u32 %r1, %r2, %r3, %r1;", body)
    text = entry(place + "st.global.f32 [%d1], %f1;").replace(") {", f") {bound} {{", 1)
    (made,) = made_of(text).kernels
    assert made.block == block
    assert why in made.reasons["block"]
