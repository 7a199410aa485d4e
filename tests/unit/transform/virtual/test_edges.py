"""Code on edges stands in one of four places; blocks keep their order, and who jumps or falls where is told anew."""

from __future__ import annotations

from binalloc.isa.instruction import Function, FunctionInfo, make
from binalloc.transform.virtual.code import INSTR, Item, VBlock, VCode
from binalloc.transform.virtual.edges import place_on_edges


def item(name: str) -> Item:
    return Item(INSTR, make("NOP"), callee=name)


def branch(guarded: bool = False) -> Item:
    guard = (0, False) if guarded else None
    return Item(INSTR, make("BRA", guard=(0, False)) if guarded else make("BRA"), guard=guard)


def code(*blocks: VBlock) -> VCode:
    return VCode(Function("k", [], FunctionInfo()), list(blocks))


def shown(code: VCode) -> list[str]:
    """Blocks in order: items by name, a jump with its target, successors."""
    out = []
    for block in code.blocks:
        names = [i.callee or f"BRA {block.taken}" for i in block.items]
        out.append(f"{block.leader}: {', '.join(names)} -> {', '.join(map(str, block.succs))}")
    return out


def diamond() -> VCode:
    """0 jumps to 2 or falls to 1; 1 falls to 2; 2 jumps back to 1 or falls to 3."""
    return code(
        VBlock(0, [item("a"), branch(True)], (2, 1), 2, weight=4.0, loop=1),
        VBlock(1, [item("b")], (2,), loop=1),
        VBlock(2, [item("c"), branch(True)], (1, 3), 1, weight=2.0, loop=2),
        VBlock(3, [item("d"), Item(INSTR, make("EXIT"), callee="exit")], weight=1.0, loop=-1),
    )


def test_at_the_end_of_a_block_with_one_successor() -> None:
    made = diamond()
    place_on_edges(made, [(1, 2, [item("x"), item("y")])])
    assert shown(made)[1] == "1: b, x, y -> 2"
    assert len(made.blocks) == 4


def test_before_the_jump_of_a_block_with_one_successor() -> None:
    made = code(VBlock(0, [item("a"), branch()], (0,), 0))
    place_on_edges(made, [(0, 0, [item("x")])])
    assert shown(made) == ["0: a, x, BRA 0 -> 0"]


def test_at_the_start_of_a_block_with_one_predecessor() -> None:
    made = diamond()
    place_on_edges(made, [(2, 3, [item("x")])])
    assert shown(made)[3] == "3: x, d, exit -> "
    assert len(made.blocks) == 4


def test_between_two_blocks_that_follow_one_another() -> None:
    made = diamond()
    place_on_edges(made, [(0, 1, [item("x")])])
    assert shown(made) == ["0: a, BRA 3 -> 3, 1", "-1: x -> 2", "1: b -> 3", "2: c, BRA 2 -> 2, 4", "3: d, exit -> "]
    assert made.blocks[1].taken == -1
    assert (made.blocks[1].weight, made.blocks[1].loop) == (1.0, 1)


def test_behind_all_others_where_the_source_jumps() -> None:
    made = diamond()
    place_on_edges(made, [(0, 2, [item("x")])])
    assert [shown(made)[b] for b in (0, 2, 4)] == ["0: a, BRA 4 -> 4, 1", "2: c, BRA 1 -> 1, 3", "-1: x, BRA 2 -> 2"]
    assert (made.blocks[4].weight, made.blocks[4].loop) == (2.0, 2)


def test_several_at_once() -> None:
    made = diamond()
    additions = [(0, 2, "w"), (0, 1, "x"), (1, 2, "y"), (2, 1, "z"), (2, 3, "v")]
    place_on_edges(made, [(a, b, [item(name)]) for a, b, name in additions])
    assert shown(made) == [
        "0: a, BRA 5 -> 5, 1",
        "-1: x -> 2",
        "1: b, y -> 3",
        "2: c, BRA 6 -> 6, 4",
        "3: v, d, exit -> ",
        "-1: w, BRA 3 -> 3",
        "-1: z, BRA 2 -> 2",
    ]


def test_code_stands_behind_a_guarded_return_that_ends_a_block() -> None:
    made = code(
        VBlock(0, [item("a"), Item(INSTR, make("RET", guard=(0, False)), guard=(0, False), callee="ret")], (1,)),
        VBlock(1, [item("b")], (1,), -1),
    )
    place_on_edges(made, [(0, 1, [item("x")])])
    assert shown(made)[0] == "0: a, ret, x -> 1"
