"""Exact control-flow graphs, dominators, loops and call graphs of small programs, and what is refused."""

from __future__ import annotations

import sys

import pytest

from binalloc.analysis.flow.callgraph import build_callgraph, require_static
from binalloc.analysis.flow.cfg import Cfg, build_cfg
from binalloc.analysis.flow.dominators import dominators, post_dominators
from binalloc.analysis.flow.loops import find_loops
from binalloc.analysis.program import analyse
from binalloc.dominance import NONE
from binalloc.errors import MalformedInput, Refused, UsageError
from binalloc.isa.instruction import Function, make
from tests.support.programs.lines import add, bra, call, const, function, leave, module, ret


def cfg_of(*lines: str) -> Cfg:
    return build_cfg(module(function("k", *lines)).functions[0])


def spans(cfg: Cfg) -> list[tuple[int, int]]:
    return [(b.start, b.end) for b in cfg.blocks]


def test_diamond_blocks_edges_and_trees() -> None:
    cfg = cfg_of(bra("else", "P0"), const(0), bra("end"), "else:", const(1), "end:", const(2), leave())
    assert spans(cfg) == [(0, 1), (1, 3), (3, 4), (4, 6)]
    assert cfg.succs == [[1, 2], [3], [3], []]
    assert cfg.preds == [[], [0], [0], [1, 2]]
    assert (cfg.taken, cfg.fall) == ([2, 3, -1, -1], [1, -1, 3, -1])
    assert dominators(cfg).idom == [NONE, 0, 0, 0]
    assert post_dominators(cfg).idom == [3, 3, 3, 4, NONE]
    assert dominators(cfg).dominates(0, 3)
    assert not dominators(cfg).dominates(1, 3)
    assert cfg.rpo == [0, 2, 1, 3]


def test_guarded_exit_ends_a_block_and_falls_through() -> None:
    cfg = cfg_of(const(0), leave("P0"), const(1), leave())
    assert spans(cfg) == [(0, 2), (2, 4)]
    assert cfg.succs == [[1], []]
    assert cfg.exits == [1, 3]
    assert post_dominators(cfg).idom[0] == 2


def test_never_executed_branch_keeps_both_edges() -> None:
    cfg = cfg_of("@!PT BRA .end, uniform", leave(), "end:", leave())
    assert cfg.succs[0] == [1, 2]


def test_calls_do_not_end_blocks() -> None:
    m = module(function("k", const(0), call("f"), const(1), leave()), function("f", ret(), kind="func"))
    assert spans(build_cfg(m.functions[0])) == [(0, 4)]


def test_reconvergence_point_starts_a_block() -> None:
    cfg = cfg_of("@P0 BRA .there, .point", const(0), "there:", const(1), "point:", const(2), leave())
    assert spans(cfg) == [(0, 1), (1, 2), (2, 3), (3, 5)]
    assert cfg.points == {0: 3}


def test_unreachable_blocks_are_listed_and_left_out_of_orders() -> None:
    cfg = cfg_of(bra("end"), "dead:", const(0), bra("dead"), "end:", leave())
    assert cfg.unreachable == [1]
    assert cfg.rpo == [0, 2]
    assert cfg.rpo_number == [0, -1, 1]
    assert not cfg.reachable(1)


def test_unreachable_last_word_may_fall_through() -> None:
    assert build_cfg(Function("k", [make("EXIT"), make("MOV", rd=0, form=1)])).unreachable == [1]


@pytest.mark.parametrize(
    ("instrs", "text"),
    [
        ([], "no instructions"),
        ([make("MOV", rd=0, form=1)], "runs off its end"),
        ([make("EXIT", guard=(0, False))], "runs off its end"),
        ([make("BRA", target=5)], "branch target outside"),
        ([make("BRA", target=-2)], "branch target outside"),
        ([make("BRA", target=-1, diverges=1, reconv=7), make("EXIT")], "reconvergence point outside"),
    ],
)
def test_broken_control_flow_is_malformed_input(instrs: list, text: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(MalformedInput, match=text):
        build_cfg(Function("k", instrs))


def test_infinite_loop_has_a_post_dominator_tree_over_all_blocks() -> None:
    cfg = cfg_of("top:", const(0), bra("mid", "P0"), const(1), "mid:", const(2), bra("top"))
    tree = post_dominators(cfg)
    assert tree.root == 3
    assert tree.idom[2] == 3
    assert tree.idom[0] == 2


def test_nested_loops_and_weights() -> None:
    cfg = cfg_of(
        const(0), "outer:", const(1), "inner:", const(2), bra("inner", "P0"), const(3), bra("outer", "P1"), leave()
    )
    nest = find_loops(cfg)
    assert [(x.header, x.blocks, x.depth, x.parent) for x in nest.loops] == [(1, [1, 2, 3], 1, -1), (2, [2], 2, 0)]
    assert nest.depth == [0, 1, 2, 1, 0]
    assert nest.weight == [1, 10, 100, 10, 1]
    assert nest.loops[0].children == [1]


def test_weight_stops_growing_at_a_million() -> None:
    lines: list[str] = [const(0)]
    for d in range(9):
        lines += [f"l{d}:", const(d)]
    lines += [bra(f"l{d}", "P0") for d in reversed(range(9))]
    nest = find_loops(cfg_of(*lines, leave()))
    assert max(nest.depth) == 9
    assert max(nest.weight) == 10**6


def test_irreducible_region_is_flagged_with_its_entries_and_counts_as_a_level() -> None:
    cfg = cfg_of(bra("b", "P0"), "a:", const(0), "b:", const(1), bra("a", "P1"), leave())
    nest = find_loops(cfg)
    assert [(x.entries, x.blocks, x.irreducible) for x in nest.loops] == [([1, 2], [1, 2], True)]
    assert nest.depth == [0, 1, 1, 0]


def test_entry_block_in_a_loop_is_its_header() -> None:
    nest = find_loops(cfg_of("top:", const(0), bra("top", "P0"), leave()))
    assert [(x.entries, x.blocks) for x in nest.loops] == [([0], [0])]


def test_call_graph_order_sites_and_callers() -> None:
    m = module(
        function("k", call("f"), call("g"), call("f"), leave()),
        function("f", call("g"), ret(), kind="func"),
        function("g", ret(), kind="func"),
        function("unused", ret(), kind="func"),
    )
    graph = build_callgraph(m, "k")
    assert graph.functions == ["k", "f", "g"]
    assert graph.bottom_up == ["g", "f", "k"]
    assert [(s.index, s.callee) for s in graph.sites["k"]] == [(0, "f"), (1, "g"), (2, "f")]
    assert graph.callees("k") == ["f", "g"]
    assert [(s.caller, s.index) for s in graph.sites_of("g")] == [("k", 1), ("f", 0)]
    require_static(graph)


def test_calls_in_unreachable_code_do_not_count() -> None:
    m = module(function("k", leave(), call("f"), leave()), function("f", ret(), kind="func"))
    assert build_callgraph(m, "k").functions == ["k"]


def test_recursion_is_recorded_and_refused_with_the_cycle() -> None:
    m = module(
        function("k", call("f"), leave()),
        function("f", call("g"), ret(), kind="func"),
        function("g", call("f"), ret(), kind="func"),
    )
    graph = build_callgraph(m, "k")
    assert graph.cycles == [["f", "g"]]
    with pytest.raises(Refused, match="f -> g -> f"):
        require_static(graph)
    with pytest.raises(Refused):
        analyse(m, "k")


def test_self_recursion_is_a_cycle_of_one() -> None:
    m = module(function("k", call("f"), leave()), function("f", call("f"), ret(), kind="func"))
    assert build_callgraph(m, "k").cycles == [["f"]]


def test_indirect_call_is_recorded_and_refused() -> None:
    m = module(function("k", "CALL.IND R4", leave()))
    graph = build_callgraph(m, "k")
    assert graph.indirect == [("k", 0)]
    with pytest.raises(Refused, match="indirect call"):
        require_static(graph)


def test_call_into_the_middle_of_a_function_is_malformed() -> None:
    m = module(function("k", call("f"), leave()), function("f", add(0, 0, 0), ret(), kind="func"))
    fn = m.functions[0]
    fn.instrs[0] = fn.instrs[0].replace(target=fn.instrs[0].f["target"] + 1)
    with pytest.raises(MalformedInput, match="enters no function"):
        build_callgraph(m, "k")


def test_unknown_kernel_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="kernels: k"):
        build_callgraph(module(function("k", leave())), "other")


def test_a_chain_of_more_calls_than_python_nests_needs_no_recursion() -> None:
    count = sys.getrecursionlimit() + 100
    links = [function(f"f{k}", call(f"f{k + 1}"), ret(), kind="func") for k in range(1, count - 1)]
    last = function(f"f{count - 1}", ret(), kind="func")
    m = module(function("f0", call("f1"), leave()), *links, last)
    program = analyse(m, "f0")
    assert program.graph.bottom_up[0] == f"f{count - 1}"
