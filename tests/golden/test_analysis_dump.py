"""The analysis' text forms of one program, byte for byte, and their agreement with the JSON and networkx forms.

After an intended change: python -m tests.golden.test_analysis_dump
"""

from __future__ import annotations

import json
from pathlib import Path

from binalloc.analysis.flow.callgraph import build_callgraph
from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.analysis.views.graphs import callgraph_networkx, cfg_networkx, interference_networkx
from binalloc.report.views.dump import callgraph_text, program_dict, program_text
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
    ret,
    setp,
    stl,
    store,
)

GOLDEN = Path(__file__).with_name("analysis_dump.txt")


def program() -> ProgramAnalysis:
    """A loop with guarded code, pairs, a quad, a local word, a call, an uninitialised read and unreachable code."""
    kernel = function(
        "main",
        const(8, 4096),
        const(9),
        const(0, 7),
        stl(4, 0),
        "top:",
        load(4, 8, 6),
        dadd(6, 6, 4),
        setp(0, 4, 0),
        const(1, 3, "P0"),
        add(2, 1, 0, "P0"),
        bra("skip", "!P0"),
        call("scale"),
        "skip:",
        store(8, 6, 5),
        ldl(3, 4),
        setp(1, 3, 10),
        bra("top", "P1"),
        leave(),
        const(20),
        leave(),
    )
    scale = function("scale", setp(2, 4, 4), add(6, 6, 4, "P2"), ret("P2"), const(7, 2), ret(), kind="func")
    return analyse(module(kernel, scale), "main", lift=True)


def test_text_is_byte_for_byte_the_golden_file() -> None:
    assert program_text(program()) == GOLDEN.read_text(encoding="utf-8")


def test_dictionaries_are_json_and_name_every_web_once() -> None:
    p = program()
    d = json.loads(json.dumps(program_dict(p)))
    for f in d["functions"]:
        ranges = f["life_ranges"]["webs"]
        assert [w["web"] for w in ranges] == list(range(len(ranges)))
        assert len(f["interference"]["degrees"]) == len(ranges)
    assert d["max_live"]["units"] == 8
    assert d["max_live_local_words"]["units"] == 1


def test_networkx_graphs_have_the_same_nodes_and_edges() -> None:
    p = program()
    f = p.kernel
    cfg = cfg_networkx(f.cfg)
    assert sorted(cfg.edges) == sorted((k, s) for k, ss in enumerate(f.cfg.succs) for s in ss)
    calls = callgraph_networkx(p.graph)
    assert list(calls.edges(data="index")) == [("main", "scale", 10)]
    edges = interference_networkx(f.webs, f.interference())
    assert edges.number_of_edges() == f.interference().edges
    assert edges.nodes[0]["place"] == f.webs[0].name


def test_recursion_and_indirect_calls_are_shown() -> None:
    back = function("f", call("f"), ret(), kind="func")
    m = module(function("k", call("f"), "CALL.IND R2", leave()), back)
    assert callgraph_text(build_callgraph(m, "k")) == (
        "call graph of k: 2 functions\n"
        "  k calls f at 0\n"
        "  f calls f at 0\n"
        "  recursion: f -> f\n"
        "  indirect call: k word 1\n"
    )


if __name__ == "__main__":
    GOLDEN.write_text(program_text(program()), encoding="utf-8")
