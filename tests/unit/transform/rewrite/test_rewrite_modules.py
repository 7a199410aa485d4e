"""Rewriting one kernel of a module leaves the others as they were: their code, what they call, and code addresses."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

from binalloc.analysis.flow.callgraph import build_callgraph
from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module, Origin
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.normalise import expand_guarded_calls
from binalloc.transform.rewrite.rewrite import prepare, rewrite, rewrite_to_budget
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.generator.programs import generate
from tests.support.programs.calls import calls_of, link

MACHINE = load_machine("gtx680")

TWO_KERNELS = """
.kernel A
    .param x 8
{body}
    MOV R2, c[0][x]
    MOV R3, c[0][x+4]
    CALL one
    STG [R2], R1
    EXIT
.end
.func one
    MOV R1, 1
    RET
.end
.kernel B
    .param x 8
    MOV R2, c[0][x]
    MOV R3, c[0][x+4]
    MOV R0, &two
    CALL.IND R0
    STG [R2], R1
    EXIT
.end
.func two
    MOV R1, 2
    RET
.end
"""
SHRINKS = "    .local_bytes 16\n    S2R R6, SR_TID.X\n" + "    STL [4], R6\n" * 20 + "    LDL R6, [4]\n    MOV R7, R6\n"
GROWS = """
    S2R R4, SR_TID.X
    IADD3 R5, R4, 1, RZ
    IADD3 R6, R5, R4, RZ
    IADD3 R7, R6, R5, RZ
    IADD3 R8, R7, R6, RZ
    IADD3 R4, R8, R7, R5
    IADD3 R4, R4, R8, R6
    MOV R9, c[0][x]
    MOV R10, c[0][x+4]
    STG [R9], R4
""".replace("R9", "R10").replace("R10, c[0][x+4]", "R11, c[0][x+4]")


def outcome(module: Module, kernel: str) -> int:
    launch = Launch(kernel, (1, 1, 1), (1, 1, 1), 0, (Argument("x", "buffer", "u32", (1,)),))
    ready = read_module(write_module(schedule(module, MACHINE)))
    return int(run(ready, kernel, launch, MACHINE, engine="python").buffers["x"][0])


@pytest.mark.rotates
@pytest.mark.parametrize(("body", "registers"), [(SHRINKS, 16), (GROWS, 6), ("", 16)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 3, 2), (3, 2, 1, 0), (2, 3, 0, 1)])
def test_code_addresses_that_are_called_stay(body: str, registers: int, order: tuple[int, ...]) -> None:
    parts = [p + ".end\n" for p in TWO_KERNELS.format(body=body).strip().split(".end\n")[:-1]]
    parts += [TWO_KERNELS.strip().split(".end\n")[-1]] if len(parts) < 4 else []
    original = assemble("".join(parts[i] if parts[i].endswith(".end\n") else parts[i] + "\n" for i in order))
    assert outcome(original, "B") == 2
    rewritten = rewrite(original, "A", registers, 0)
    assert check(original, rewritten, "A").ok, str(check(original, rewritten, "A"))
    assert outcome(rewritten, "B") == 2
    assert outcome(rewritten, "A") == 1
    assert {fn.name: fn.address for fn in rewritten if fn.name in ("one", "two")} == {
        fn.name: fn.address for fn in original if fn.name in ("one", "two")
    }
    assert write_module(assemble(disassemble(rewritten))) == write_module(rewritten)


def test_functions_that_moved_under_an_indirect_call_are_found() -> None:
    original = assemble(TWO_KERNELS.format(body=SHRINKS))
    rewritten = rewrite(original, "A", 16, 0)
    moved = copy.deepcopy(rewritten)
    link(moved, calls_of(moved))
    assert {e.kind for e in check(original, moved, "A").errors} == {"address"}
    dropped = copy.deepcopy(rewritten)
    dropped.functions = [fn for fn in dropped.functions if fn.name != "two"]
    assert {e.kind for e in check(original, dropped, "A").errors} == {"address"}
    changed = copy.deepcopy(rewritten)
    fn = changed.function("two")
    fn.instrs[0] = fn.instrs[0].replace(imm=3)
    fn.origin = Origin("two", [0, 1])
    assert {e.kind for e in check(original, changed, "A").errors} == {"address"}


def test_without_indirect_calls_addresses_do_not_matter() -> None:
    text = TWO_KERNELS.format(body=SHRINKS).replace("CALL.IND R0", "CALL two")
    original = assemble(text)
    rewritten = rewrite(original, "A", 16, 0)
    assert rewritten.function("two").address < original.function("two").address
    assert check(original, rewritten, "A").ok
    assert outcome(rewritten, "B") == 2


def test_clones_are_not_entered_by_address_and_may_need_more_registers_than_who_calls_so_has() -> None:
    original = assemble(TWO_KERNELS.format(body=""))
    rewritten = rewrite(original, "A", 8, 0)
    clone, kernel = rewritten.function("one$A"), rewritten.function("A")
    clone.instrs[0] = clone.instrs[0].replace(rd=100)
    for fn in (clone, kernel):
        fn.info = dataclasses.replace(fn.info, registers=101)
    assert rewritten.function("B").info.registers < 8
    assert outcome(rewritten, "B") == 2
    fn = rewritten.function("B")
    fn.instrs[2] = fn.instrs[2].replace(imm=clone.address)
    with pytest.raises(KernelFault, match="function"):
        outcome(rewritten, "B")


def test_a_rewrite_names_what_its_kernel_reaches() -> None:
    """Clones by their new names; what only code that never executes calls is none of it."""
    clones = 0
    for seed in range(12):
        module, _ = generate("wide", seed)
        made = rewrite_to_budget(prepare(module, "kernel"), 255, 2)
        assert made.functions == set(build_callgraph(made.module, "kernel").functions)
        clones += any("$" in name for name in made.functions)
    assert clones > 3


SHARED = """
.kernel A
    .param x 8
    MOV R2, c[0][x]
    MOV R3, c[0][x+4]
    CALL f
    STG [R2], R1
    EXIT
.end
.kernel B
    .param x 8
    MOV R2, c[0][x]
    MOV R3, c[0][x+4]
    CALL f
    STG [R2], R1
    EXIT
.end
.func f
    MOV R4, 3
    IADD3 R1, R4, 4, RZ
    RET
.end
"""


def rewritten_alone() -> tuple[Module, Module]:
    original = assemble(SHARED)
    return original, rewrite(original, "A", 5, 0)


@pytest.mark.parametrize("function", ["B", "f"])
@pytest.mark.parametrize("with_map", [True, False])
def test_another_kernel_or_what_it_calls_may_not_change(function: str, with_map: bool) -> None:
    original, rewritten = rewritten_alone()
    assert check(original, rewritten, "A").ok
    fn = rewritten.function(function)
    i = 0 if function == "f" else 3
    fn.instrs[i] = fn.instrs[i].replace(**({"imm": 9} if function == "f" else {"moff": 4}))
    fn.origin = Origin(function, list(range(len(fn)))) if with_map else None
    report = check(original, rewritten, "A")
    assert [(e.kind, e.function) for e in report.errors] == [("kernel", "B")]
    assert check(original, rewritten, "A", also=("B",)).ok


def test_two_kernels_rewritten_one_after_the_other_are_proven_together() -> None:
    original, once = rewritten_alone()
    twice = rewrite(once, "B", 4, 0)
    assert not check(original, twice, "A").ok
    assert check(original, twice, "A", also=("B",)).ok
    assert check(once, twice, "B").ok


def test_a_kernel_may_be_rewritten_beside_one_that_has_spill_code() -> None:
    """The spill code of one kernel is nothing to the proof of another."""
    load = "".join(f"    LDG R{i}, [R2+{4 * i}]\n" for i in range(4, 12))
    total = "".join(f"    IADD3 R4, R4, R{i}, RZ\n" for i in (*range(5, 12), *range(5, 12)))
    head, tail = "    .param x 8\n    MOV R2, c[0][x]\n    MOV R3, c[0][x+4]\n", "    STG [R2], R4\n    EXIT\n.end\n"
    body = head + load + total + tail
    original = assemble(f".kernel A\n{body}.kernel B\n{body}")
    once = rewrite(original, "A", 6, 2)
    twice = rewrite(once, "B", 6, 2)
    assert once.function("A").info.slot_bytes
    assert twice.function("B").info.slot_bytes
    assert check(once, twice, "B").ok
    assert check(original, twice, "A", also=("B",)).ok


@pytest.mark.parametrize(
    ("function", "field", "value"),
    [
        ("A", "registers", 200),
        ("A", "slot_bytes", 128 * 40),
        ("A", "spill_local", 4096),
        ("A", "local_stack", 3),
        ("A", "memory_model", "ptx"),
        ("A", "target", "sm_80"),
        ("A", "max_registers", 24),
        ("A", "min_blocks", 8),
        ("A", "smem_spilling", True),
        ("f", "memory_model", "ptx"),
        ("f", "registers", 200),
        ("f", "shared_bytes", 64),
        ("f", "local_frame", 64),
        ("f", "kind", "kernel"),
        ("f", "max_threads", 32),
        ("f", "slot_pointer", 3),
        ("f", "slot_bytes", 128),
        ("f", "spill_local", 16),
    ],
)
def test_resources_and_metadata_are_looked_at(function: str, field: str, value: object) -> None:
    original = assemble(SHARED)
    original.functions = [fn for fn in original.functions if fn.name != "B"]
    rewritten = rewrite(original, "A", 5, 0)
    assert check(original, rewritten, "A").ok
    fn = rewritten.function(function)
    fn.info = dataclasses.replace(fn.info, **{field: value})
    assert not check(original, rewritten, "A").ok


def chain(count: int, guarded: bool) -> str:
    """Functions that call one another under ever smaller guards, and a kernel that calls the first."""
    out = [
        ".kernel A\n.param x 8\nS2R R0, SR_TID.X\nMOV R2, c[0][x]\nMOV R3, c[0][x+4]\n",
        "IMAD.WIDE R2, R0, 4, R2\nMOV R1, 0\nCALL f0\nSTG [R2], R1\nEXIT\n.end\n",
    ]
    for i in range(count):
        guard = "@P0 " if guarded else ""
        call = f"{guard}CALL f{i + 1}\n" if i + 1 < count else ""
        out.append(
            f".func f{i}\nIADD3 R1, R1, 1, RZ\nISETP.GT.AND P0, PT, R0, {min(i, 30)}, PT\n"
            f"{call}IADD3 R1, R1, 1, RZ\nRET\n.end\n"
        )
    return "".join(out)


def test_the_reconvergence_stack_suffices_where_the_originals_does() -> None:
    original = assemble(chain(40, guarded=True))
    launch = Launch("A", (1, 1, 1), (32, 1, 1), 0, (Argument("x", "buffer", "u32", (32,)),))
    got = run(schedule(original, MACHINE), "A", launch, MACHINE, engine="python").buffers["x"]
    lanes = np.arange(32)
    assert (got == 2 * np.where(lanes < 31, lanes + 1, 40)).all()
    deep = detours(original)
    assert {e.kind for e in check(original, deep, "A").errors} == {"stack"}
    with pytest.raises(KernelFault, match="stack"):
        run(schedule(deep, MACHINE), "A", launch, MACHINE, engine="python")
    assert check(assemble(chain(32, guarded=True)), detours(assemble(chain(32, guarded=True))), "A").ok
    fine = rewrite(original, "A", 8, 0)
    assert check(original, fine, "A").ok
    assert (run(schedule(fine, MACHINE), "A", launch, MACHINE, engine="python").buffers["x"] == got).all()


def detours(module: Module) -> Module:
    """The module with every guarded call made a branch around a call, as a rewrite of it."""
    normalised = {fn.name: expand_guarded_calls(fn) for fn in module}
    out = copy.deepcopy(module)
    calls = calls_of(module)
    for fn in out:
        new = normalised[fn.name]
        fn.instrs, fn.origin = new.function.instrs, Origin(fn.name, new.origin)
    moved = {
        fn.name: {at: calls[fn.name][old] for at, old in enumerate(fn.origin.index) if old in calls[fn.name]}
        for fn in out
        if fn.origin is not None
    }
    link(out, moved)
    return out
