"""The static hazard check on code by hand: each kind of hazard on each kind of way, and what is none.

gtx680: plain arithmetic takes 9 cycles, f64 12, MUFU 18 (by scoreboard), as loads.
"""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.isa.instruction import Origin
from binalloc.isa.text.assembler import assemble
from binalloc.isa.timing import LONGEST_STALL, UnitLatencies, by_scoreboard
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.steps.proof import require_no_hazard
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.hazards.check import Hazard, find_hazards

MACHINE = load_machine("gtx680")
LATE = " {stall:15}"


def check(body: str, *functions: str) -> list[Hazard]:
    """Hazards of kernel `k` with that body; further functions are `name: body`, each instruction on its own line."""
    text = f".kernel k\n.machine gtx680\n{body}\n.end\n"
    for function in functions:
        name, code = function.split(":", 1)
        text += f".func {name.strip()}\n.machine gtx680\n{code}\n.end\n"
    return find_hazards(assemble(text), MACHINE.unit_latencies)


def kinds(body: str, *functions: str) -> list[tuple[str, int, int]]:
    """(kind, producer's word, consumer's word) of each hazard."""
    return [(h.kind, h.producer_index, h.index) for h in check(body, *functions)]


# -- one block


@pytest.mark.parametrize(("stall", "expected"), [(8, [("RAW", 0, 1)]), (9, [])])
def test_a_fixed_result_is_read_when_it_is_there(stall: int, expected: list[object]) -> None:
    assert kinds(f"IADD3 R1, R2, R3, RZ {{stall:{stall}}}\nIADD3 R4, R1, R3, RZ\nEXIT") == expected


def test_the_message_names_both_instructions_places_and_cycles() -> None:
    (h,) = check("DADD R2, R4, R6 {stall:4}\nIADD3 R4, R2, R3, RZ\nEXIT")
    assert (h.places, h.needed, h.found) == (("R2", "R3"), 12, 4)
    assert str(h) == (
        "k+1: RAW hazard: `IADD3 R4, R2, R3, RZ` reads R2, R3 4 cycles after `DADD R2, R4, R6` at k+0 where 12 are "
        "needed"
    )


@pytest.mark.parametrize(
    ("reader", "place"),
    [
        ("@P1 IADD3 R4, R5, R6, RZ", "P1"),
        ("SEL R4, R5, R6, P1", "P1"),
        ("P2R R4, R5, 0x2", "P1"),
        ("@P1 EXIT", "P1"),
        ("@!P1 BRA end, end", "P1"),
    ],
)
def test_predicates_and_guards_are_read_too(reader: str, place: str) -> None:
    (h,) = check(f"ISETP.LT P1, PT, R2, R3, PT {{stall:8}}\n{reader} {LATE}\nNOP\nend:\nEXIT")
    assert (h.kind, h.places) == ("RAW", (place,))


@pytest.mark.parametrize(("stall", "expected"), [(3, [("WAW", 0, 1)]), (4, [])])
def test_a_second_result_must_come_later_than_the_first(stall: int, expected: list[object]) -> None:
    """12 cycles against 9: with 3 between both come at once."""
    assert kinds(f"DADD R2, R4, R6 {{stall:{stall}}}\nIADD3 R2, R4, R5, RZ {LATE}\nEXIT") == expected


def test_a_variable_result_is_waited_for() -> None:
    load = "LDG.32 R1, [R2] {stall:1 wr:3}"
    assert kinds(f"{load}\nIADD3 R4, R1, R1, RZ {{wait:3}}\nEXIT") == []
    (h,) = check(f"{load}\nIADD3 R4, R1, R1, RZ {{wait:2}}\nEXIT")
    assert (h.kind, h.producer_index, h.index, h.scoreboards) == ("RAW", 0, 1, (3,))
    assert str(h).endswith("in flight from `LDG.32 R1, [R2]` at k+0, without a wait for scoreboard 3")
    assert kinds(f"{load}\nIADD3 R1, R4, R4, RZ\nEXIT") == [("WAW", 0, 1)]
    assert kinds("MUFU.RCP R1, R2 {stall:15}\nIADD3 R4, R1, R1, RZ\nEXIT") == [("RAW", 0, 1)], "slower than 15 cycles"


def test_a_result_without_scoreboard_is_never_there() -> None:
    (h,) = check("LDG.32 R1, [R2]\nNOP {wait:012345 stall:15}\nIADD3 R4, R1, R1, RZ\nEXIT")
    assert (h.kind, h.scoreboards) == ("RAW", ())
    assert str(h).endswith("at k+0, which raises no scoreboard for it")


def test_a_late_read_is_not_overtaken() -> None:
    """Waiting for either scoreboard of the reader frees its sources."""
    assert kinds("STG.32 [R2], R4 {rd:1}\nIADD3 R4, R5, R5, RZ\nEXIT") == [("WAR", 0, 1)]
    assert kinds("STG.32 [R2], R4 {rd:1}\nIADD3 R4, R5, R5, RZ {wait:1}\nEXIT") == []
    assert kinds("LDG.32 R1, [R2] {wr:0 rd:1}\nIADD3 R2, R5, R5, RZ {wait:0}\nEXIT") == []
    assert kinds("LDG.32 R1, [R2] {wr:0 rd:1}\nIADD3 R2, R5, R5, RZ {wait:1}\nEXIT") == []
    assert kinds("LDG.32 R1, [R2]\nIADD3 R2, R5, R5, RZ {wait:01}\nEXIT") == [("WAR", 0, 1)]
    assert kinds("IADD3 R1, R2, R3, RZ\nIADD3 R2, R5, R5, RZ\nEXIT") == [], "fixed instructions read at issue"


# -- ways


def test_the_shorter_way_counts_where_ways_meet() -> None:
    body = "IADD3 R1, R2, R3, RZ {{stall:1}}\n@P0 BRA end, end {{stall:{0}}}\nNOP {{stall:8}}\nend:\nMOV R4, R1\nEXIT"
    assert kinds(body.format(7)) == [("RAW", 0, 3)]
    assert kinds(body.format(8)) == []


def test_a_wait_on_one_side_only_is_not_enough() -> None:
    start = "LDG.32 R1, [R2] {wr:0}\n@P0 BRA other, end\nNOP {wait:0}\nBRA end\nother:\n"
    assert kinds(start + "NOP\nend:\nMOV R4, R1\nEXIT") == [("RAW", 0, 5)]
    assert kinds(start + "NOP {wait:0}\nend:\nMOV R4, R1\nEXIT") == []


def test_loops_lead_back() -> None:
    body = "top:\nMOV R4, R1\nIADD3 R1, R2, R3, RZ {{stall:1}}\n@P0 BRA top, out {{stall:{0}}}\nout:\nEXIT"
    assert kinds(body.format(7)) == [("RAW", 1, 0)]
    assert kinds(body.format(8)) == []
    body = "top:\nMOV R4, R1\nLDG.32 R1, [R2] {wr:0}\n@P0 BRA top, out\nout:\nEXIT"
    assert kinds(body) == [("RAW", 1, 0), ("WAW", 1, 1)]


def test_a_loop_of_stall_zero_ends_the_analysis() -> None:
    assert kinds("top:\nIADD3 R1, R2, R3, RZ {stall:0}\nBRA top {stall:0}\nEXIT") == [("WAW", 0, 0)]


def test_a_side_does_not_read_the_other_sides_fixed_results() -> None:
    """Both sides of a branch run, one after the other, but a lane depends on what it executed itself."""
    body = "@P0 BRA other, end\nIADD3 R1, R2, R3, RZ {stall:1}\nBRA end {stall:1}\nother:\n"
    assert kinds(body + "MOV R4, R1\nend:\nEXIT") == []
    assert kinds(body + "MOV R4, R5\nend:\nMOV R4, R1\nEXIT") == [("RAW", 1, 4)]


@pytest.mark.parametrize("first", ["LDG.32 R1, [R2] {wr:0}", "STG.32 [R2], R1 {rd:0}"])
@pytest.mark.parametrize("order", [0, 1])
def test_scoreboards_are_the_warps(first: str, order: int) -> None:
    """What one side leaves pending the other meets, whichever runs first."""
    sides = (first, "IADD3 R1, R5, R6, RZ")
    one, two = sides if order == 0 else sides[::-1]
    body = f"@P0 BRA other, end\n{one}\nBRA end\nother:\n{two}\nend:\nEXIT"
    (h,) = check(body)
    assert (h.kind, h.other_lanes) == ("WAW" if "LDG" in first else "WAR", True)
    assert "which other lanes ran" in str(h)
    assert kinds(body.replace("R6, RZ", "R6, RZ {wait:0}")) == []


def test_lanes_that_leave_hand_over_to_those_that_wait() -> None:
    body = "@P0 BRA end, end\nSTG.32 [R2], R4 {rd:0}\nEXIT\nend:\nMOV R4, R5{}\nEXIT"
    assert kinds(body.replace("{}", "")) == [("WAR", 1, 3)]
    assert kinds(body.replace("{}", " {wait:0}")) == []


def test_too_strict_what_came_before_the_branch_is_waited_for_by_those_that_leave_too() -> None:
    """A known false alarm, which the scheduling pass avoids: those that wait at `end` have waited for scoreboard 0."""
    body = "STG.32 [R2], R4 {rd:0}\n@P0 BRA leave, end\nNOP {wait:0}\nBRA end\nleave:\nEXIT\nend:\nMOV R4, R5\nEXIT"
    (h,) = check(body)
    assert (h.kind, h.other_lanes) == ("WAR", True)


def test_a_point_behind_the_meeting_point_lets_lanes_pass_an_outer_one() -> None:
    """The inner branch names `far`, so its lanes pass `near`, where the outer branch's wait, and leave behind it."""
    body = (
        "@P0 BRA other, near\n@P1 BRA near, far\nNOP\nBRA near\nother:\nMOV R4, R5\nBRA near\nnear:\nNOP\n"
        "@P2 BRA far, far\nSTG.32 [R2], R4 {rd:0}\nEXIT\nfar:\nEXIT"
    )
    assert ("WAR", 8, 4) in kinds(body)


# -- calls


def test_results_flow_into_callees_and_back() -> None:
    kernel = "IADD3 R1, R2, R3, RZ {{stall:1}}\nCALL f {{stall:{0}}}\nMOV R4, R6 {{stall:9}}\nEXIT"
    callee = "f: MOV R5, R1 {{stall:1}}\nMOV R6, R2 {{stall:{0}}}\nRET {{stall:1}}"
    assert kinds(kernel.format(8), callee.format(8)) == []
    assert kinds(kernel.format(7), callee.format(8)) == [("RAW", 0, 0)]
    (h,) = check(kernel.format(8), callee.format(7))
    assert (h.function, h.index, h.producer_function, h.producer_index) == ("k", 2, "f", 1)


@pytest.mark.parametrize("call", ["CALL f", "@P0 CALL f"])
def test_results_age_while_a_callee_runs(call: str) -> None:
    """By its shortest way; a guarded call is also passed over."""
    kernel = f"IADD3 R1, R2, R3, RZ {{stall:1}}\n{call} {{stall:1}}\nMOV R4, R1\nEXIT"
    callee = "f: @P1 BRA out, out {{stall:1}}\nNOP {{stall:9}}\nout:\nNOP {{stall:{0}}}\nRET {{stall:1}}"
    guarded = call.startswith("@")
    assert [h.found for h in check(kernel, callee.format(5))] == ([2] if guarded else [])
    assert [h.found for h in check(kernel, callee.format(4))] == [2 if guarded else 8]


def test_what_one_caller_leaves_in_flight_does_not_come_out_at_another() -> None:
    kernel = "LDG.32 R1, [R2] {wr:0}\nCALL f\nCALL g {wait:0}\nEXIT"
    assert kinds(kernel, "f: NOP\nRET", "g: CALL f\nMOV R4, R1\nRET") == []
    assert kinds(kernel.replace(" {wait:0}", ""), "f: NOP\nRET", "g: CALL f\nMOV R4, R1\nRET") == [("RAW", 0, 1)]


def test_a_guarded_call_is_also_passed_over() -> None:
    kernel = "LDG.32 R1, [R2] {wr:0}\n@P0 CALL f\nMOV R4, R1\nEXIT"
    assert kinds(kernel, "f: NOP {wait:0}\nRET") == [("RAW", 0, 2)]
    assert kinds(kernel.replace("@P0 ", ""), "f: NOP {wait:0}\nRET") == []


def test_recursion_is_followed() -> None:
    kernel = "LDG.32 R1, [R2] {wr:0}\nCALL f\nMOV R4, R1\nEXIT"
    assert kinds(kernel, "f: @P0 CALL f\nNOP {wait:0}\nRET") == []
    assert kinds(kernel, "f: @P0 CALL f\n@P1 RET\nNOP {wait:0}\nRET") == [("RAW", 0, 2)]


@pytest.mark.parametrize(
    ("kernel", "functions", "place"),
    [
        ("IADD3 R1, R2, R3, RZ {stall:1}\nCALL.IND R4 {stall:1}\nEXIT", ["f: RET"], "k+1"),
        ("LDG.32 R1, [R2] {wr:0}\nCALL.IND R4\nEXIT", ["f: RET"], "k+1"),
        ("EXIT", ["f: MOV R1, R2 {stall:1}\nRET {stall:1}"], "f+1"),
        ("CALL f\nEXIT", ["f: MOV R1, R2 {stall:1}\n@P0 EXIT {stall:1}\nRET"], "f+1"),
    ],
)
def test_nothing_is_in_flight_where_unseen_code_goes_on(kernel: str, functions: list[str], place: str) -> None:
    found = check(kernel, *functions)
    assert [(h.kind, f"{h.function}+{h.index}") for h in found] == [("drain", place)]
    assert "goes on to unseen code" in str(found[0])


def test_what_was_rewritten_is_entered_by_its_direct_callers_alone() -> None:
    """An indirect call faults there: nothing has to be done at its return, but what those callers read."""
    module = schedule(assemble(BY_ADDRESS), MACHINE)
    assert find_hazards(module, MACHINE.unit_latencies) == []
    copy = module.functions[-1]
    copy.origin = Origin("f", list(range(len(copy))))
    again = schedule(module, MACHINE)
    assert again.functions[-1].instrs[-1].ctrl != copy.instrs[-1].ctrl  # it does not wait any more
    assert find_hazards(again, MACHINE.unit_latencies) == []
    again.functions[-1].origin = None
    assert [(h.kind, h.function) for h in find_hazards(again, MACHINE.unit_latencies)] == [("drain", "f")]


BY_ADDRESS = """.kernel k
CALL f
EXIT
.end
.kernel other
CALL.IND R4
EXIT
.end
.func f
LDG.32 R1, [R2]
RET
.end
"""


# -- what is checked


def test_functions_of_other_machines_are_left_alone_but_not_called() -> None:
    text = ".kernel k\n.machine gtx680\nCALL f\nEXIT\n.end\n.func f\nMOV R1, R2 {stall:1}\nMOV R3, R1\nRET\n.end\n"
    (h,) = find_hazards(assemble(text), MACHINE.unit_latencies)
    assert (h.kind, h.function, h.index) == ("unscheduled", "k", 0)
    assert find_hazards(assemble(text), UnitLatencies("none", {})) == []


def test_a_rewrite_with_a_hazard_is_refused() -> None:
    module = schedule(assemble(".kernel k\nMOV R1, R2\nMOV R3, R1\nEXIT\n.end\n"), MACHINE)
    require_no_hazard(module, MACHINE)
    instrs = module.functions[0].instrs
    instrs[0] = instrs[0].replace(ctrl=instrs[0].ctrl._replace(stall=8))
    with pytest.raises(Refused, match=r"RAW hazard.*8 cycles after `MOV R1, R2` at k\+0 where 9 are needed"):
        require_no_hazard(module, MACHINE)


def test_results_slower_than_a_stall_count_go_by_scoreboard() -> None:
    assert by_scoreboard(True, 1)
    assert not by_scoreboard(False, LONGEST_STALL)
    assert by_scoreboard(False, LONGEST_STALL + 1)
