"""Allocation without limit: counts on worked examples, alignment, calls, predicates, spilling, layout."""

from __future__ import annotations

import pytest

from binalloc.frontend.allocate.block_order import meeting_points
from binalloc.frontend.allocate.program import Allocated, NoRoom, allocate
from binalloc.frontend.emitter import BankConst, Emitter, imm
from binalloc.frontend.ir import PT, RZ, Registers, Routine, VirtualProgram
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import FunctionInfo, Param
from binalloc.isa.loom.view import view


def routine(name: str = "k", kind: str = "kernel") -> tuple[Routine, Emitter]:
    made = Routine(name, Registers(), [], FunctionInfo(kind=kind))
    emitter = Emitter(made.registers)
    made.blocks = emitter.blocks
    return made, emitter


def load(b: Emitter, offset: int, unit: int | None = None) -> int:
    unit = b.new() if unit is None else unit
    b.emit("LDC", rd=unit, ra=RZ, cbank=0, coff=offset, width="32")
    return unit


def store(b: Emitter, unit: int, offset: int, width: str = "32") -> None:
    b.emit("STG", a=RZ, rb=unit, moff=offset, width=width)


def run(*routines: Routine) -> Allocated:
    allocated = allocate(VirtualProgram({r.name: r for r in routines}))
    data = write_module(allocated.module)  # validates
    assert write_module(read_module(data)) == data
    return allocated


def test_straight_line_code_takes_as_many_registers_as_values_live() -> None:
    k, b = routine()
    values = [load(b, 4 * i) for i in range(7)]
    total = values[0]
    for value in values[1:]:
        total, old = b.new(), total
        b.emit("FADD", rd=total, a=old, b=value)
    store(b, total, 0)
    b.emit("EXIT")
    allocated = run(k)
    assert (allocated.figures["k"].demand, allocated.figures["k"].max_live) == (7, 7)


def test_pairs_are_aligned_and_packing_copies_disappear() -> None:
    k, b = routine()
    single = load(b, 0)
    low, high = load(b, 4), load(b, 8)
    pair = b.new(2)
    b.move(pair, low)
    b.move(pair + 1, high)
    store(b, pair, 0, "64")
    store(b, single, 8)
    b.emit("EXIT")
    instrs = run(k).module.functions[0].instrs
    assert [i.name for i in instrs] == ["LDC", "LDC", "LDC", "STG", "STG", "EXIT"]
    assert instrs[3].f["rb"] % 2 == 0
    assert instrs[2].f["rd"] == instrs[1].f["rd"] + 1


def test_a_value_read_after_its_copy_changes_keeps_its_own_register() -> None:
    k, b = routine()
    x = load(b, 0)
    y = b.new()
    b.move(y, x)
    b.emit("IADD3", rd=y, a=y, b=imm(1), c=RZ)
    store(b, x, 0)
    store(b, y, 4)
    b.emit("EXIT")
    instrs = run(k).module.functions[0].instrs
    stores = [i.f["rb"] for i in instrs if i.name == "STG"]
    assert stores[0] != stores[1]


def test_calls_three_deep_count_what_lives_across_them() -> None:
    """Max-live at a call is what lives across it and the callee's, recursively (unified paper, section 3.2.1)."""
    routines = []
    for depth, callee in ((3, ""), (2, "f3"), (1, "f2")):
        f, b = routine(f"f{depth}", "function")
        f.arguments, f.results = [b.new()], [b.new()]
        kept = b.new()
        b.emit("FMUL", rd=kept, a=f.arguments[0], b=f.arguments[0])
        inner = f.arguments[0]
        if callee:
            inner = b.new()
            node = b.emit("CALL")
            node.callee, node.args, node.results = callee, (f.arguments[0],), (inner,)
        b.emit("FADD", rd=f.results[0], a=inner, b=kept)
        b.emit("RET")
        routines.append(f)
    k, b = routine()
    across = [load(b, 4 * i) for i in range(3)]
    result = b.new()
    node = b.emit("CALL")
    node.callee, node.args, node.results = "f1", (across[0],), (result,)
    for i, value in enumerate([result, *across]):
        store(b, value, 4 * i)
    b.emit("EXIT")
    allocated = run(*routines, k)
    assert [allocated.figures[f"f{d}"].max_live for d in (3, 2, 1)] == [2, 3, 4]
    assert allocated.figures["k"].max_live == 7
    assert allocated.figures["k"].demand == 7


@pytest.mark.parametrize("count", [7, 8, 20])
def test_predicates_beyond_seven_are_kept_elsewhere(count: int) -> None:
    k, b = routine()
    values = [load(b, 4 * i) for i in range(count)]
    tests = []
    for value in values:
        p = b.predicate()
        b.emit("ISETP", pd0=p, pd1=PT, a=value, b=imm(3), icmp="LT", ps0=PT)
        tests.append(p)
    for i, (p, value) in enumerate(zip(tests, values, strict=True)):
        b.emit("IADD3", rd=value, a=value, b=imm(1), c=RZ, guard=(p, True))
        store(b, value, 4 * i)
    b.emit("EXIT")
    allocated = run(k)
    assert (allocated.figures["k"].predicates_spilled > 0) == (count > 7)
    used = {r.index for i in allocated.module.functions[0].instrs for r in view(i).defs if r.file == "P"}
    assert max(used) <= 6


def fetch(b: Emitter, offset: int) -> int:
    """A value that nothing but the load gives, so that it is worth a place in memory."""
    unit = b.new()
    b.emit("LDG", rd=unit, a=RZ, moff=offset, width="32")
    return unit


def test_more_than_255_registers_spill_and_the_demand_is_still_told() -> None:
    k, b = routine()
    values = [fetch(b, 4 * i) for i in range(300)]
    for i, value in enumerate(values):
        store(b, value, 4 * i)
    b.emit("EXIT")
    allocated = run(k)
    figures = allocated.figures["k"]
    fn = allocated.module.function("k")
    assert figures.demand == 300
    assert figures.spilled > 0
    assert fn.info.registers <= 255
    assert fn.info.local_bytes == 4 * figures.spilled
    assert {i.name for i in fn.instrs} >= {"LDL", "STL"}
    assert not any(i.f.get("spill") for i in fn.instrs), "a rewriter has to lift them"


def test_constants_beyond_255_registers_are_fetched_again() -> None:
    k, b = routine()
    k.info.params = [Param("words", 0, 1200)]  # what lies outside might fault, and is not fetched again
    values = [load(b, 4 * i) for i in range(300)]
    for i, value in enumerate(values):
        store(b, value, 4 * i)
    b.emit("EXIT")
    allocated = run(k)
    fn = allocated.module.function("k")
    assert (allocated.figures["k"].demand, allocated.figures["k"].spilled) == (300, 0)
    assert fn.info.local_bytes == 0
    assert fn.info.registers <= 255
    assert sum(i.name == "LDC" for i in fn.instrs) < 360


def test_what_lives_across_a_call_that_takes_all_registers_goes_to_memory() -> None:
    f, b = routine("f", "function")
    values = [fetch(b, 4 * i) for i in range(250)]
    for i, value in enumerate(values):
        store(b, value, 4 * i)
    b.emit("RET")
    k, b = routine()
    across = [fetch(b, 4 * i) for i in range(20)]
    node = b.emit("CALL")
    node.callee = "f"
    for i, value in enumerate(across):
        store(b, value, 4 * i)
    b.emit("EXIT")
    allocated = run(f, k)
    assert allocated.figures["f"].demand == 250
    assert allocated.figures["k"].demand == 270
    assert allocated.figures["k"].max_live == 270
    assert allocated.figures["k"].spilled >= 15
    assert allocated.module.function("k").info.registers <= 255


def test_more_arguments_than_registers_are_refused() -> None:
    f, b = routine("f", "function")
    f.arguments = [b.new() for _ in range(256)]
    for unit in f.arguments:
        store(b, unit, 0)
    b.emit("RET")
    k, b = routine()
    b.emit("EXIT")
    with pytest.raises(NoRoom, match="f needs more registers than there are") as caught:
        allocate(VirtualProgram({"f": f, "k": k}))
    assert caught.value.routine == "f"


def test_a_constant_zero_and_one_value_twice_as_arguments() -> None:
    f, b = routine("f", "function")
    f.arguments, f.results = [b.new() for _ in range(3)], [b.new(), b.new()]
    first, second, third = f.arguments
    b.emit("IADD3", rd=f.results[0], a=first, b=second, c=third)
    b.move(f.results[1], third)
    b.emit("RET")
    k, b = routine()
    x = fetch(b, 0)
    total = b.new()
    node = b.emit("CALL")
    node.callee, node.args, node.results = "f", (x, x, RZ), (total, RZ)
    store(b, total, 0)
    store(b, x, 4)
    b.emit("EXIT")
    fn = run(f, k).module.function("k")
    call = next(i for i, instr in enumerate(fn.instrs) if instr.name == "CALL")
    written = [i.f["rd"] for i in fn.instrs[:call]]
    assert len(set(written)) == 3, "x, x once more, and zero"
    stored = [i.f["rb"] for i in fn.instrs if i.name == "STG"]
    assert len(set(stored)) == 2


def test_a_value_under_one_guard_does_not_live_from_the_entry() -> None:
    k, b = routine()
    p = b.predicate()
    x = load(b, 0)
    b.emit("ISETP", pd0=p, pd1=PT, a=x, b=imm(3), icmp="LT", ps0=PT)
    y = b.new()
    b.emit("LDC", rd=y, ra=RZ, cbank=0, coff=4, width="32", guard=(p, False))
    b.emit("STG", a=RZ, rb=y, width="32", guard=(p, False))
    b.emit("EXIT")
    assert run(k).figures["k"].demand == 1


def test_lanes_that_end_do_not_count_for_the_meeting_point() -> None:
    """if (a) { if (b) exit; x } y: the branch on a meets at y, though one of its paths ends."""
    k, b = routine()
    p, q = b.predicate(), b.predicate()
    value = load(b, 0)
    for predicate in (p, q):
        b.emit("ISETP", pd0=predicate, pd1=PT, a=value, b=imm(1), icmp="LT", ps0=PT)
    meet, after = b.label(), b.label()
    first = b.block.number
    b.branch(meet, (p, False))
    second = b.block.number
    b.branch(after, (q, False))
    b.emit("EXIT")
    b.start(after)
    store(b, value, 0)
    b.start(meet)
    store(b, value, 4)
    b.emit("EXIT")
    found = meeting_points(k)
    assert found[first] == meet
    assert found[second] == after


def test_constant_pair_operands_need_no_registers() -> None:
    k, b = routine()
    index = load(b, 0)
    address = b.new(2)
    b.emit("IMAD.WIDE", rd=address, a=index, b=b.unit(imm(4)), c=BankConst(0, 8))
    b.emit("STG", a=address, rb=index, width="32")
    b.emit("EXIT")
    assert run(k).figures["k"].demand <= 4
