"""The barriers of virtual blocks that hand on their turn: an exact example."""

from __future__ import annotations

from binalloc.transform.multiplex.merged import HANDED, merge_blocks
from binalloc.verify.multiplex.merged.check import check_merged
from tests.support.programs.builder import program

KERNEL = """.kernel k
.shared_bytes 512
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    STS.32 [R1+0x100], RZ
    BAR.SYNC 0
    LDS.32 R4, [0x100]
    STS.32 [R1], R4
    BAR.SYNC 0
    LDS.32 R4, [0x4]
    BAR.SYNC 0
    STS.32 [R1], R4
    BAR.SYNC 0
    LDS.32 R4, [0x4]
    EXIT
.end
"""


def test_two_virtual_blocks_hand_the_turn_to_each_other() -> None:
    """Barriers 1 and 2 are their own, at 3 and 4 they get the turn."""
    module = program(KERNEL)
    made = merge_blocks(module, "k", (64, 1, 1), 2, order=HANDED)
    assert check_merged(module, made.module, "k", (64, 1, 1), 2, 0).ok
    found = []
    for instr in made.module.function("k").instrs:
        if instr.name == "BAR":
            assert instr.f["imm"] == (64 if instr.f["barid"] in (1, 2) else 128 if instr.f["barid"] else 0)
            assert instr.guarded == (instr.f["barid"] > 0)
            found.append(("arrive" if instr.f["bar"] else "wait", instr.f["barid"]))
        elif instr.name in ("STS", "LDS"):
            found.append((instr.name, 0))
    own, take, give = [("wait", 1), ("wait", 2)], [("wait", 3), ("wait", 4)], [("arrive", 3), ("arrive", 4)]
    turn = [*take, ("STS", 0), *own, ("LDS", 0)]
    # the last virtual block gives the first turn away; the original's second barrier is in front of the last region
    assert found == [("arrive", 3), *turn, *give, *turn, *own, *give, *turn, *give]


def test_where_all_bytes_are_private_there_is_no_turn() -> None:
    """Nobody would take the first one: without regions the original's barriers alone are left."""
    module = program(KERNEL)
    made = merge_blocks(module, "k", (64, 1, 1), 2, private=(1 << 512) - 1, order=HANDED)
    assert made.regions == []
    assert check_merged(module, made.module, "k", (64, 1, 1), 2, 0).ok
    bars = [i.f["barid"] for i in made.module.function("k").instrs if i.name == "BAR"]
    assert bars == [i.f["barid"] for i in module.function("k").instrs if i.name == "BAR"] == [0] * 4
