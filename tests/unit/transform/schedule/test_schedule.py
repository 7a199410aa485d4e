"""Control codes: exact figures on small programs, one rule at a time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Control, Function, Module, make
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import average_dispatch_interval, schedule
from tests.support.programs.builder import Code, module_of


def single_issue(latency: int, **others: int) -> Machine:
    """GTX680 with one issue per scheduler and one latency for all plain units."""
    m = load_machine("gtx680")
    units = m.units
    changed = {
        name: replace(units[name], latency=others.get(name, latency)) for name in ("alu", "imad", "fma", "conv", "dp")
    }
    changed |= {name: replace(units[name], latency=n) for name, n in others.items()}
    return replace(m, units=replace(units, **changed), schedulers=replace(m.schedulers, issue_width=1))


THREE = single_issue(3)
DUAL = load_machine("gtx680")


def mov(code: Code, rd: int, rb: int = 255, guard: tuple[int, bool] = (7, False)) -> int:
    return code.emit("MOV", guard, rd=rd, rb=rb)


def add(code: Code, rd: int, ra: int, rb: int, guard: tuple[int, bool] = (7, False)) -> int:
    return code.emit("IADD3", guard, rd=rd, ra=ra, rb=rb)


def controls(module: Module, machine: Machine, function: str | None = None) -> list[Control]:
    out = schedule(module, machine)
    fn = out.function(function) if function else out.functions[0]
    return [i.ctrl for i in fn.instrs]


def stalls(module: Module, machine: Machine, function: str | None = None) -> list[int]:
    return [c.stall for c in controls(module, machine, function)]


def test_fig4_a_chain_has_interval_3_and_independent_code_interval_1() -> None:
    chain, free = Code("chain"), Code("free")
    for i in range(6):
        add(chain, i + 1, i, i)
        add(free, i + 10, 1, 2)
    chain.emit("EXIT")
    free.emit("EXIT")
    out = schedule(module_of(chain, free), THREE)
    assert average_dispatch_interval(out.function("chain").instrs[:6]) == 3
    assert average_dispatch_interval(out.function("free").instrs[:6]) == 1
    assert average_dispatch_interval(out.function("chain")) == Fraction(5 * 3 + 1, 6)
    assert average_dispatch_interval([]) == 1


def test_the_missing_cycles_go_to_the_instruction_before_the_consumer() -> None:
    c = Code("k")
    mov(c, 0)
    mov(c, 1)
    mov(c, 2)
    add(c, 3, 0, 2)
    c.emit("EXIT")
    assert stalls(module_of(c), single_issue(9)) == [1, 1, 9, 1, 1]
    c = Code("k")
    mov(c, 0)
    mov(c, 1)
    mov(c, 2)
    add(c, 3, 0, 1)
    c.emit("EXIT")
    assert stalls(module_of(c), single_issue(9)) == [1, 1, 8, 1, 1]


def test_names_the_machine_and_leaves_the_input_alone() -> None:
    c = Code("k")
    mov(c, 0)
    add(c, 1, 0, 0)
    c.emit("EXIT")
    module = module_of(c)
    out = schedule(module, DUAL)
    assert out.functions[0].info.machine == "gtx680"
    assert module.functions[0].info.machine == ""
    assert [i.ctrl.stall for i in module.functions[0].instrs] == [1, 1, 1]
    assert [i.f for i in out.functions[0].instrs] == [i.f for i in module.functions[0].instrs]
    assert schedule(out, DUAL) == out


def test_overwriting_waits_until_the_second_result_comes_later() -> None:
    machine = single_issue(9, fma=4)
    c = Code("k")
    mov(c, 0)
    c.emit("FADD", rd=0, ra=1, rb=2)
    c.emit("EXIT")
    assert stalls(module_of(c), machine) == [6, 1, 1]
    c = Code("k")
    mov(c, 0)
    c.emit("LDG", rd=0, ra=2, width=4)  # its unit alone takes longer
    c.emit("EXIT")
    assert stalls(module_of(c), machine) == [1, 1, 1]
    c = Code("k")
    c.emit("DADD", rd=0, ra=2, rb=4)
    c.emit("BAR", bar=2, rd=1, form=1, imm=0)
    c.emit("EXIT")
    assert stalls(module_of(c), single_issue(9, dp=15, bar=5)) == [11, 1, 1]


def test_predicates_and_guards_obey_latency() -> None:
    c = Code("k")
    c.emit("ISETP", pd0=0, ra=1, rb=2, icmp=1)
    mov(c, 0, 1, guard=(0, True))
    c.emit("EXIT", guard=(0, False))
    c.emit("EXIT")
    assert stalls(module_of(c), single_issue(9)) == [9, 1, 1, 1]


def test_independent_neighbours_issue_together_but_never_three() -> None:
    c = Code("k")
    for i in range(4):
        mov(c, i)
    c.emit("EXIT")
    assert stalls(module_of(c), DUAL) == [0, 1, 0, 1, 1]
    c = Code("k")
    c.emit("I2F", rd=1, rb=0, ityp=5)  # one port for conversions
    c.emit("I2F", rd=2, rb=0, ityp=5)
    c.emit("EXIT")
    assert stalls(module_of(c), DUAL) == [1, 1, 1]


def test_a_loop_carried_value_raises_the_latch() -> None:
    c = Code("k")
    c.label("top")
    add(c, 0, 0, 1)
    c.bra("top", "out", guard=(0, False))
    c.label("out")
    c.emit("EXIT")
    assert stalls(module_of(c), single_issue(9)) == [1, 8, 1]


def two_sides(first_writes: str, reader: bool) -> list[int]:
    """Stall counts of if (P0) { R5 or R6 = R5 } else { R4:R5 = ... }, the plain side first in the code."""
    c = Code("k")
    c.bra("else", "end", guard=(0, False))
    c.emit(first_writes, rd=4, ra=8, rb=10)
    c.bra("end")
    c.label("else")
    mov(c, 6 if reader else 5, 5 if reader else 6)
    c.label("end")
    c.emit("EXIT")
    return stalls(module_of(c), single_issue(9, dp=12))


def test_lanes_of_the_other_side_read_nothing_of_the_first_but_overwrite_it_later() -> None:
    assert two_sides("DADD", reader=True) == [1, 1, 1, 1, 1]
    assert two_sides("DADD", reader=False) == [1, 1, 3, 1, 1]
    assert two_sides("FADD", reader=False) == [1, 1, 1, 1, 1]


def test_calls_carry_distances_into_the_callee_and_back() -> None:
    k, f = Code("k"), Code("f", kernel=False)
    mov(k, 0)
    k.call("f")
    add(k, 2, 1, 1)
    k.emit("EXIT")
    add(f, 1, 0, 0)
    f.emit("RET")
    module = module_of(k, f)
    assert stalls(module, single_issue(9), "k") == [1, 8, 1, 1]
    assert stalls(module, single_issue(9), "f") == [1, 8]


def test_a_caller_s_distances_do_not_reach_other_call_sites() -> None:
    k, f = Code("k"), Code("f", kernel=False)
    mov(k, 0)
    k.call("f")
    k.call("f")
    add(k, 1, 0, 0)
    k.emit("EXIT")
    f.emit("RET")
    assert stalls(module_of(k, f), single_issue(5), "k") == [1, 1, 1, 1, 1]
    assert stalls(module_of(k, f), single_issue(5), "f") == [1]
    assert stalls(module_of(k, f), single_issue(9), "k") == [1, 1, 1, 1, 1]
    assert stalls(module_of(k, f), single_issue(9), "f") == [3]


def test_unknown_callers_and_callees_find_nothing_pending() -> None:
    k, f = Code("k"), Code("f", kernel=False)
    mov(k, 0)
    k.emit("LDG", rd=4, ra=2, width=4)
    k.emit("CALL.IND", ra=9)
    k.emit("EXIT")
    mov(f, 1)
    f.emit("S2R", rd=3)
    f.emit("RET")
    module = module_of(k, f)
    got = controls(module, single_issue(9), "k")
    assert [c.stall for c in got] == [1, 1, 7, 1]
    assert got[2].wait == 1 << got[1].wbar
    got = controls(module, single_issue(9), "f")
    assert [c.stall for c in got] == [1, 1, 7]
    assert got[2].wait == 1 << got[1].wbar


def test_loads_consumed_together_share_a_scoreboard_and_others_do_not() -> None:
    c = Code("k")
    for rd in (4, 5, 6):
        c.emit("LDG", rd=rd, ra=2, width=4)
    add(c, 8, 4, 5)
    add(c, 9, 6, 6)
    c.emit("EXIT")
    got = controls(module_of(c), THREE)
    assert got[0].wbar == got[1].wbar != got[2].wbar
    assert got[3].wait == 1 << got[0].wbar
    assert got[4].wait == 1 << got[2].wbar
    assert all(g.rbar == 7 for g in got)


def test_a_store_s_source_is_guarded_only_where_it_is_overwritten() -> None:
    c = Code("k")
    c.emit("STG", ra=2, rb=4, width=4)
    c.emit("STG", ra=2, rb=5, width=4)
    mov(c, 4)
    c.emit("EXIT")
    got = controls(module_of(c), THREE)
    assert got[0].rbar < 6
    assert got[1].rbar == 7
    assert got[2].wait == 1 << got[0].rbar


def test_an_address_overwritten_after_the_load_s_consumer_needs_no_read_scoreboard() -> None:
    c = Code("k")
    c.emit("LDG", rd=4, ra=2, width=4)
    add(c, 5, 4, 4)
    mov(c, 2)
    c.emit("EXIT")
    assert [g.rbar for g in controls(module_of(c), THREE)] == [7, 7, 7, 7]


def test_units_slower_than_a_stall_count_take_scoreboards() -> None:
    c = Code("k")
    c.emit("MUFU", rd=1, rb=0)
    c.emit("FADD", rd=2, ra=1, rb=1)
    c.emit("EXIT")
    got = controls(module_of(c), single_issue(9, sfu=18))
    assert got[0].wbar < 6
    assert got[1].wait == 1 << got[0].wbar
    got = controls(module_of(c), single_issue(9, sfu=15))
    assert got[0] == Control(stall=15)


def test_more_results_pending_than_scoreboards_still_wait_right() -> None:
    c = Code("k")
    for i in range(8):
        c.emit("LDG", rd=4 + i, ra=2, width=4)
    for i in range(8):
        add(c, 20 + i, 4 + i, 4 + i)
    c.emit("EXIT")
    got = controls(module_of(c), THREE)
    assert {g.wbar for g in got[:8]} == set(range(6))
    waited = 0
    for i in range(8):
        waited |= got[8 + i].wait
        assert waited >> got[i].wbar & 1


def test_branches_and_calls_to_nowhere_are_refused() -> None:
    with pytest.raises(MalformedInput, match=r"k\+0.*leaves its function"):
        schedule(Module([Function("k", [make("BRA", target=5)])]), DUAL)
    with pytest.raises(MalformedInput, match="enters no function"):
        schedule(Module([Function("k", [make("CALL", target=7), make("EXIT")])]), DUAL)


def test_exit_in_the_last_word_may_hand_over_to_the_other_side() -> None:
    """The reconvergence point lies before the branch: lanes that store and end are followed by lanes that overwrite
    the register they store, so that these must wait until it has been read."""
    module = assemble(
        ".kernel k\nr: IADD3 R9, R9, 1, RZ\nISETP.LT.AND P0, PT, R9, R8, PT\n@P0 BRA r, r\nSTG [R4], R9\nEXIT\n.end"
    )
    got = controls(module, THREE)
    guards = {got[3].wbar, got[3].rbar} - {7}
    assert guards
    assert any(got[i].wait >> b & 1 for i in (0, 4) for b in guards)
