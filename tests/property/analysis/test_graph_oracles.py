"""Dominators and loops against networkx, Max-live against explicit enumeration of call chains."""

from __future__ import annotations

import random
from collections.abc import Iterator

import networkx as nx
import pytest

from binalloc.analysis.flow.cfg import build_cfg
from binalloc.analysis.flow.dominators import dominators, post_dominators
from binalloc.analysis.flow.loops import find_loops
from binalloc.analysis.liveness import Liveness
from binalloc.analysis.locations import PRED_MASK, REG_MASK, bits
from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.views.max_live import build_max_live
from binalloc.analysis.webs import CALL, RETURN
from tests.support.generator.analysis.graphs import random_function
from tests.support.kits.analysis import analysed_program
from tests.support.programs.lines import module

# -- graphs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(120))
def test_dominators_and_post_dominators_equal_networkx(seed: int) -> None:
    rng = random.Random(seed)
    cfg = build_cfg(module(random_function(rng, "k", rng.randrange(1, 16), 4)).functions[0])
    graph = nx.DiGraph((a, b) for a in cfg.rpo for b in cfg.succs[a])
    graph.add_nodes_from(cfg.rpo)
    expected = dict(nx.immediate_dominators(graph, 0))
    expected.pop(0, None)
    assert {b: d for b, d in enumerate(dominators(cfg).idom) if d >= 0} == expected
    exit_block = len(cfg.blocks)
    tree = post_dominators(cfg)
    leaving = [b for b in cfg.rpo if cfg.views[cfg.blocks[b].end - 1].control == "exit"]
    graph.add_edges_from((b, exit_block) for b in leaving)
    if not all(nx.has_path(graph, b, exit_block) for b in cfg.rpo if leaving) or not leaving:
        assert all(tree.depth[b] > 0 for b in cfg.rpo)
        return
    expected = dict(nx.immediate_dominators(graph.reverse(), exit_block))
    expected.pop(exit_block, None)
    assert {b: d for b, d in enumerate(tree.idom) if d >= 0} == expected


@pytest.mark.parametrize("seed", range(200))
def test_loop_depth_counts_natural_loops_where_the_graph_is_reducible(seed: int) -> None:
    rng = random.Random(seed)
    cfg = build_cfg(module(random_function(rng, "k", rng.randrange(2, 9), 4)).functions[0])
    nest, tree = find_loops(cfg), dominators(cfg)
    graph = nx.DiGraph((a, b) for a in cfg.rpo for b in cfg.succs[a])
    graph.add_nodes_from(cfg.rpo)
    back = [(a, b) for a, b in graph.edges if tree.dominates(b, a)]
    forward = graph.copy()
    forward.remove_edges_from(back)
    reducible = nx.is_directed_acyclic_graph(forward)
    assert reducible == (not any(loop.irreducible for loop in nest.loops))
    if not reducible:
        return
    bodies: dict[int, set[int]] = {}
    for tail, head in back:
        rest = graph.subgraph([n for n in graph if n != head or n == tail])
        body = {head, tail} | (nx.ancestors(rest, tail) if tail != head else set())
        bodies.setdefault(head, set()).update(body)
    assert sorted((h, sorted(b)) for h, b in bodies.items()) == sorted((x.header, x.blocks) for x in nest.loops)
    for b in cfg.rpo:
        assert nest.depth[b] == sum(b in body for body in bodies.values())
        assert nest.weight[b] == 10 ** min(nest.depth[b], 6)


# -- Max-live -------------------------------------------------------------------------------------------------------


def chains(program: ProgramAnalysis, name: str, outer: int, mask: int) -> Iterator[int]:
    """Number of live units at every composition instruction, by enumerating all call chains."""
    live: Liveness = program[name].live
    yield ((live.live_in[0] | outer) & mask).bit_count()
    calls = {s.index: s.callee for s in program.graph.sites[name]}
    for i, after in enumerate(live.after):
        own = 0 if i in calls or not live.cfg.reachable(i) else live.facts.defs[i]
        yield ((after | own | outer) & mask).bit_count()
        if i in calls:
            kept = live.survivors(i, program[calls[i]].summary)
            yield from chains(program, calls[i], kept | outer, mask)


@pytest.mark.parametrize("seed", range(80))
def test_recursive_max_live_equals_enumeration_of_call_chains(seed: int) -> None:
    program = analysed_program(seed)
    for file, mask in (("R", REG_MASK), ("P", PRED_MASK)):
        result = build_max_live(program, file)
        assert result.kernel.units == max(chains(program, "k", 0, mask))
        assert result.kernel.point[0][0] == "k"
        for name in program.graph.functions:
            assert result.total[name].units == max(chains(program, name, 0, mask))


def test_arguments_and_results_at_calls_are_webs_of_those_locations() -> None:
    for seed in range(60):
        program = analysed_program(seed)
        for f in program.functions.values():
            for i, link in f.webs.calls.items():
                callee = program[link.callee]
                wanted = set(bits(callee.summary.reads))
                for loc, web in link.args:
                    assert f.webs[web].loc == loc
                    assert (i, CALL, loc) in f.webs[web].uses
                    assert loc in dict(callee.webs.args)
                    if callee.summary.reads >> loc & 1:
                        wanted.discard(loc)
                assert not wanted
                for loc, web in link.results:
                    assert f.webs[web].loc == loc
                    assert (i, CALL, loc) in f.webs[web].defs
                    assert callee.summary.results >> loc & 1


def test_a_result_is_one_web_at_every_return() -> None:
    several = 0
    for seed in range(60):
        for f in analysed_program(seed).functions.values():
            returns = [i for i in f.cfg.exits if f.cfg.views[i].control == "return"]
            for loc, web in f.webs.results:
                assert sorted(p.instr for p in f.webs[web].uses if p.ref == RETURN) == returns
                assert f.webs[web].loc == loc
                several += len(returns) > 1
    assert several > 20
