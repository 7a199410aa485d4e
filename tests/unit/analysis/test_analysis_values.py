"""Exact liveness, webs, groups, interference and Max-live of small programs."""

from __future__ import annotations

import pytest

from binalloc.analysis.locations import file_of, index_of, location, name_of, names, words
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.analysis.views.max_live import MAX_CONTEXTS, build_max_live, register_demand
from binalloc.analysis.webs import CALL, ENTRY, MEMORY, RETURN, WebPoint
from binalloc.bitset import bits
from binalloc.errors import MalformedInput
from tests.support.programs.lines import (
    add,
    bra,
    call,
    const,
    dadd,
    function,
    ldl,
    leave,
    load,
    module,
    mov,
    ret,
    setp,
    stl,
    store,
)


def kernel(*lines: str, lift: bool = False) -> FunctionAnalysis:
    return analyse(module(function("k", *lines, leave())), "k", lift=lift).kernel


def program(main: list[str], **callees: list[str]) -> ProgramAnalysis:
    functions = [function(name, *lines, kind="func") for name, lines in callees.items()]
    return analyse(module(function("k", *main, leave()), *functions), "k")


def live(f: FunctionAnalysis, i: int) -> list[str]:
    return names(f.live.before[i])


# -- locations --------------------------------------------------------------------------------------------------------


def test_locations_of_the_three_files_do_not_meet() -> None:
    every = [location("R", 0), location("R", 254), location("P", 0), location("P", 6), location("L", 0)]
    assert every == [0, 254, 256, 262, 264]
    assert [name_of(x) for x in every] == ["R0", "R254", "P0", "P6", "L[0x0]"]
    assert [(file_of(x), index_of(x)) for x in every] == [("R", 0), ("R", 254), ("P", 0), ("P", 6), ("L", 0)]
    assert words(sum(1 << x for x in every)) == 3
    assert bits(0b1011) == [0, 1, 3]


# -- liveness and guards ----------------------------------------------------------------------------------------------


def test_use_under_the_same_guard_does_not_make_the_register_live_above() -> None:
    f = kernel(const(1, 5, "P0"), add(2, 1, 1, "P0"), store(4, 2, g="P0"))
    assert live(f, 0) == ["R4", "R5", "P0"]
    assert f.live.kept == {}


def test_use_under_the_complement_needs_the_old_value() -> None:
    f = kernel(const(1, 5, "P0"), store(4, 1, g="!P0"))
    assert live(f, 0) == ["R1", "R4", "R5", "P0"]


def test_complementary_definitions_kill_together_and_share_a_web() -> None:
    f = kernel(const(1, 1), store(4, 1), const(1, 5, "P0"), const(1, 6, "!P0"), store(4, 1))
    assert live(f, 2) == ["R4", "R5", "P0"]
    assert f.webs.web_of_def[2, 0, 0] == f.webs.web_of_def[3, 0, 0] == f.webs.web_of_use[4, 1, 0]
    assert f.webs.web_of_def[0, 0, 0] != f.webs.web_of_def[2, 0, 0]


def test_redefining_the_guard_makes_old_and_new_value_one_web() -> None:
    f = kernel(const(1, 1), const(1, 5, "P0"), setp(0, 2, 3), store(4, 1, g="P0"))
    assert "R1" in live(f, 1)
    assert f.webs.web_of_def[0, 0, 0] == f.webs.web_of_def[1, 0, 0]


def test_value_wanted_only_where_a_branch_goes_is_killed_under_that_guard() -> None:
    f = kernel(const(1, 5, "P0"), bra("there", "P0"), leave(), "there:", store(4, 1))
    assert live(f, 0) == ["R4", "R5", "P0"]


def test_never_executed_definition_does_not_kill() -> None:
    f = kernel(const(1, 1), const(1, 2, "!PT"), store(4, 1))
    assert "R1" in live(f, 1)
    assert len({f.webs.web_of_def[0, 0, 0], f.webs.web_of_def[1, 0, 0], f.webs.web_of_use[2, 1, 0]}) == 1


def test_uninitialised_reads_are_reported_where_some_path_skips_the_definition() -> None:
    f = kernel(const(4), const(5), setp(0, 4, 5), bra("skip", "P0"), const(1), "skip:", store(4, 1))
    assert f.live.undefined == [(5, 1)]
    assert [w.name for w in f.webs if w.undefined] == ["R1"]


def test_local_stack_register_is_defined_by_hardware() -> None:
    fn = function("k", stl(0, 2, base=1), leave(), local_stack=1, local_bytes=16)
    f = analyse(module(fn), "k").kernel
    assert f.live.undefined == [(0, 2)]
    assert [(w.name, w.arg, w.undefined) for w in f.webs] == [("R1", True, False), ("R2", False, True)]


# -- calls ------------------------------------------------------------------------------------------------------------


def test_summary_of_a_callee() -> None:
    p = program(
        [const(4), const(5), const(0, 7), call("f"), store(4, 1), store(4, 0)],
        f=[add(1, 0, 0), const(2), ret()],
    )
    s = p["f"].summary
    assert names(s.may_def) == names(s.must_def) == ["R1", "R2"]
    assert (names(s.args), names(s.results)) == (["R0"], ["R1"])
    link = p.kernel.webs.calls[3]
    named = [p.kernel.webs[w].name for w in link.survivors]
    assert named == ["R0", "R4", "R5"]
    assert [loc for loc, _ in link.args] == [0]
    assert [loc for loc, _ in link.results] == [1]
    assert p["f"].webs.args == [(0, 0)]
    assert p["f"].webs[0].defs == [WebPoint(-1, ENTRY, 0)]


def test_partial_result_is_passed_through_as_an_argument() -> None:
    p = program([const(4), const(5), const(1), call("f"), store(4, 1)], f=[setp(0, 4, 5), const(1, 9, "P0"), ret()])
    s = p["f"].summary
    assert names(s.must_def) == ["P0"]
    assert names(s.reads) == ["R4", "R5"]
    assert names(s.args) == ["R1", "R4", "R5"]
    webs = p.kernel.webs
    assert webs.web_of_def[2, 0, 0] == dict(webs.calls[3].args)[1] == dict(webs.calls[3].results)[1]


def test_pass_through_argument_nobody_wants_is_not_handed_over() -> None:
    p = program(
        [const(4), const(5), call("f"), const(1), call("f"), store(4, 1)],
        f=[setp(0, 4, 5), const(1, 9, "P0"), ret()],
    )
    assert p.kernel.live.undefined == []
    assert 1 in dict(p["f"].webs.args)
    assert 1 not in dict(p.kernel.webs.calls[2].args)
    assert 1 in dict(p.kernel.webs.calls[4].args)


def test_guarded_call_keeps_the_old_value() -> None:
    p = program([const(4), const(5), const(1), call("f", "P0"), store(4, 1)], f=[const(1, 9), ret()])
    webs = p.kernel.webs
    assert "R1" in live(p.kernel, 3)
    assert webs.web_of_def[2, 0, 0] == dict(webs.calls[3].results)[1]
    assert webs.calls[3].guarded
    assert WebPoint(3, CALL, 1) in webs[webs.web_of_def[2, 0, 0]].defs


def test_unguarded_call_of_a_sure_definition_starts_a_new_web() -> None:
    p = program([const(4), const(5), const(1), store(4, 1), call("f"), store(4, 1)], f=[const(1, 9), ret()])
    webs = p.kernel.webs
    assert webs.web_of_def[2, 0, 0] != dict(webs.calls[4].results)[1]


def test_results_are_the_union_over_call_sites_and_dead_ones_stay_out_of_the_link() -> None:
    p = program(
        [const(4), const(5), call("f"), store(4, 1), call("f"), store(4, 2)],
        f=[const(1, 9), const(2, 8), ret()],
    )
    assert names(p["f"].summary.results) == ["R1", "R2"]
    assert [loc for loc, _ in p.kernel.webs.calls[2].results] == [1]
    assert [loc for loc, _ in p.kernel.webs.calls[4].results] == [2]


def test_all_returns_count_as_one_exit() -> None:
    p = program(
        [const(4), const(5), const(3), setp(0, 3, 3), call("f"), store(4, 1)],
        f=[const(1, 9), ret("P0"), const(1, 8), ret()],
    )
    f = p["f"]
    assert f.webs.web_of_def[0, 0, 0] == f.webs.web_of_def[2, 0, 0]
    assert [p_.instr for w in f.webs for p_ in w.uses if p_.ref == RETURN] == [1, 3]


def test_exit_in_a_callee_ends_the_thread_and_needs_no_results() -> None:
    p = program([const(4), const(5), call("f"), store(4, 1)], f=[leave("P0"), const(1, 8), ret()])
    assert names(p["f"].summary.must_def) == ["R1"]
    assert "R1" not in live(p.kernel, 2)


def test_callee_that_never_returns() -> None:
    p = program([const(4), call("f"), store(4, 1)], f=[const(1, 8), leave()])
    assert not p["f"].summary.returns
    assert names(p["f"].summary.must_def) == ["R1"]


def test_undefined_read_inside_a_callee_is_reported_at_the_call() -> None:
    p = program([call("f")], f=[store(4, 6), ret()])
    assert p.kernel.live.undefined == [(0, 4), (0, 5), (0, 6)]
    assert p["f"].live.undefined == []


# -- webs -------------------------------------------------------------------------------------------------------------


def test_one_register_used_for_two_values_is_two_webs() -> None:
    f = kernel(const(4), const(5), const(1), store(4, 1), const(1), store(4, 1))
    assert [w.name for w in f.webs] == ["R4", "R5", "R1", "R1"]


def test_definitions_reaching_one_use_are_one_web() -> None:
    f = kernel(
        const(4), const(5), setp(0, 4, 5), bra("e", "P0"), const(1), bra("d"), "e:", const(1), "d:", store(4, 1)
    )
    assert f.webs.web_of_def[4, 0, 0] == f.webs.web_of_def[6, 0, 0]


def test_cost_counts_instructions_weighted_by_loop_depth() -> None:
    f = kernel(const(4), const(5), const(1), "top:", add(2, 1, 1), store(4, 2), bra("top", "P0"), store(4, 1))
    web = f.webs[f.webs.web_of_def[2, 0, 0]]
    assert web.cost == 1 + 10 + 1
    assert f.webs[f.webs.web_of_def[3, 0, 0]].cost == 20
    assert (web.first, web.last) == (2, 6)


def test_constants_are_rematerialisable_if_all_definitions_agree() -> None:
    same = [bra("e", "P0"), const(1, 7), bra("d"), "e:", const(1, 7), "d:", store(4, 1)]
    other = [bra("e", "P0"), const(1, 7), bra("d"), "e:", const(1, 8), "d:", store(4, 1)]
    assert (lambda f: f.webs[f.webs.web_of_use[4, 1, 0]].remat)(kernel(*same)) == 1
    assert (lambda f: f.webs[f.webs.web_of_use[4, 1, 0]].remat)(kernel(*other)) == -1


def test_guarded_constant_and_computed_value_are_not_rematerialisable() -> None:
    f = kernel(const(4), const(1, 7, "P0"), store(4, 1, g="P0"), add(2, 4, 4), store(4, 2))
    assert f.webs[f.webs.web_of_def[1, 0, 0]].remat == -1
    assert f.webs[f.webs.web_of_def[3, 0, 0]].remat == -1
    assert f.webs[f.webs.web_of_def[0, 0, 0]].remat == 0


def test_high_word_of_a_constant_pair_is_rematerialisable() -> None:
    f = kernel(const(4), const(5), "LDC.64 R2, c[0][0x10]", store(4, 3))
    web = f.webs[f.webs.web_of_use[3, 1, 0]]
    assert web.remat == 2


def test_predicates_that_p2r_names_are_pinned() -> None:
    f = kernel(const(4), const(5), setp(0, 4, 5), setp(1, 4, 5), "P2R R1, RZ, 1", store(4, 1, g="P1"))
    assert {w.name: w.pinned for w in f.webs if w.file == "P"} == {"P0": True, "P1": False}


def test_pairs_and_quads_make_aligned_groups_by_register_number() -> None:
    f = kernel(load(4, 2, 6), dadd(6, 6, 4), store(2, 6, 5))
    quad = f.webs.groups[f.webs[f.webs.web_of_def[0, 0, 0]].group]
    assert quad.alignment == quad.units == 4
    assert [(f.webs[w].name, offset) for w, offset in quad.members] == [("R4", 0), ("R5", 1), ("R6", 2), ("R7", 3)]
    pair = f.webs.groups[f.webs[f.webs.web_of_def[1, 0, 0]].group]
    assert (pair.alignment, [offset for _, offset in pair.members]) == (2, [0, 1])


def test_misaligned_pair_is_malformed() -> None:
    with pytest.raises(MalformedInput, match="aligned"):
        kernel(dadd(3, 4, 4))


def test_unreachable_code_has_no_webs() -> None:
    f = analyse(module(function("k", leave(), const(1), leave())), "k").kernel
    assert len(f.webs) == 0
    assert f.live.before == [0, 0, 0]


# -- interference -----------------------------------------------------------------------------------------------------


def edges(f: FunctionAnalysis, copies: bool = True) -> set[tuple[str, str]]:
    graph = f.interference(copies=copies)
    return {(f.webs[w].name, f.webs[n].name) for w in range(graph.count) for n in graph.neighbours(w) if w < n}


def test_copy_exemption_is_a_choice() -> None:
    lines: list[str] = [const(1), mov(2, 1), add(3, 1, 2), add(3, 3, 3)]
    assert edges(kernel(*lines)) == set()
    assert edges(kernel(*lines), copies=False) == {("R1", "R2")}
    f = kernel(*lines)
    assert f.interference().moves == [(f.webs.web_of_def[1, 0, 0], f.webs.web_of_def[0, 0, 0])]


def test_dead_definition_interferes_with_what_is_live() -> None:
    assert ("R1", "R2") in edges(kernel(const(1), const(2), mov(3, 1)))


def test_source_and_target_of_one_instruction_may_share() -> None:
    f = kernel(load(2, 4, 5), load(6, 2, 5))
    assert ("R2", "R6") not in edges(f)
    assert ("R6", "R7") in edges(f)


def test_predicates_do_not_interfere_with_registers() -> None:
    f = kernel(const(4), const(5), setp(0, 4, 5), setp(1, 4, 5), store(4, 4, g="P0"), store(4, 4, g="P1"))
    assert {e for e in edges(f) if "P" in e[0] + e[1]} == {("P0", "P1")}


# -- Max-live ---------------------------------------------------------------------------------------------------------


def test_max_live_adds_the_callee_to_what_survives() -> None:
    p = program(
        [const(8), const(9), const(0), call("f"), store(8, 1)],
        f=[const(2), const(3), add(2, 2, 3), add(1, 0, 2), ret()],
    )
    result = build_max_live(p)
    assert result.total["f"].units == 3
    assert result.kernel.units == 5
    assert result.kernel.point == (("k", 3), ("f", 1))
    assert register_demand(p) == 5


def test_argument_still_wanted_after_the_call_counts_once() -> None:
    body: list[str] = [const(2), add(1, 0, 2), ret()]
    once = program([const(8), const(9), const(0), call("f"), store(8, 1), store(8, 0)], f=body)
    assert build_max_live(once).kernel.units == 4


def test_dead_write_counts_for_its_moment() -> None:
    p = program([const(1), const(2), mov(3, 1)])
    assert names(p.kernel.live.after[1]) == ["R1"]
    assert build_max_live(p).pressure["k"] == [1, 2, 1, 0]
    assert build_max_live(p).kernel.units == 2


def test_many_call_contexts_keep_the_result_a_lower_bound() -> None:
    """Call sites each keep another subset of the callee's arguments alive, more of them than are told apart."""
    lines: list[str] = [const(r) for r in range(10)]
    for subset in range(2 * MAX_CONTEXTS):
        lines.append(call("f"))
        lines += [const(r) for r in range(10) if not subset >> r & 1]
    lines += [store(0, r) for r in range(10)]
    p = program(lines, f=[*[add(20, 20, r) for r in range(10)], ret()])
    assert build_max_live(p).kernel.units == 11


# -- lifted local words -----------------------------------------------------------------------------------------------


def test_store_and_load_of_a_local_word_are_copies_of_a_value() -> None:
    f = kernel(const(1), stl(8, 1), const(1, 2), ldl(2, 8), add(2, 2, 1), lift=True)
    word = next(w for w in f.webs if w.file == "L")
    assert (word.name, word.defs, word.uses) == ("L[0x8]", [WebPoint(1, MEMORY, 0)], [WebPoint(3, MEMORY, 0)])
    assert f.webs.web_of_def[1, MEMORY, 0] == f.webs.web_of_use[3, MEMORY, 0] == word.id
    assert f.webs.copies[1] == [(word.id, f.webs.web_of_def[0, 0, 0])]
    assert f.webs.copies[3] == [(f.webs.web_of_def[3, 0, 0], word.id)]
    assert ("L[0x8]", "R1") in edges(f)


def test_without_lifting_local_words_are_memory() -> None:
    assert [w.file for w in kernel(const(1), stl(8, 1), ldl(2, 8)).webs] == ["R", "R"]


def test_stack_register_that_never_changes_is_absolute() -> None:
    fn = function("k", stl(0, 2, base=1), ldl(3, 0, base=1), leave(), local_stack=1, local_bytes=16)
    f = analyse(module(fn), "k", lift=True).kernel
    word = next(w for w in f.webs if w.file == "L")
    source = next(w for w in f.webs if w.name == "R2")
    assert f.webs.copies[0] == [(word.id, source.id)]


@pytest.mark.parametrize(
    ("spoiler", "reason"),
    [
        (ldl(3, 0, base=5), "local address in R5"),
        ("LD R3, [R6]", "generic access"),
        (ldl(3, 8, width=0), "1 bytes at offset 8"),
        (ldl(2, 4, width=5), "8 bytes at offset 4"),
        (stl(64, 3), "outside bytes 0 to 63"),
    ],
)
def test_words_that_other_accesses_may_touch_stay_in_memory(spoiler: str, reason: str) -> None:
    p = analyse(module(function("k", stl(8, 1), ldl(2, 8), stl(32, 1), spoiler, leave())), "k", lift=True)
    assert reason in p.lifting.reasons[0]
    lifted = {w.name for w in p.kernel.webs if w.file == "L"}
    keeps_all = "R5" in reason or "generic" in reason
    assert lifted == (set() if keeps_all else {"L[0x20]"} if "outside" not in reason else {"L[0x8]", "L[0x20]"})


def test_access_that_shares_a_word_with_one_in_memory_stays_too() -> None:
    p = analyse(module(function("k", ldl(3, 0, width=0), stl(0, 4, 5), ldl(3, 4), stl(8, 3), leave())), "k", lift=True)
    assert names(p.lifting.mask) == ["L[0x8]"]
