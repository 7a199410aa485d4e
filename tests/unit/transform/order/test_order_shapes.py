"""What may change places, and what a few well-known shapes of code come to."""

from __future__ import annotations

from binalloc.analysis.program import analyse
from binalloc.models.machines.reader import load_machine
from binalloc.transform.order.arrange import for_latency, for_pressure
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.order.dependences import dependences, divided, stretches
from binalloc.transform.order.local_words import keeps_its_order
from binalloc.transform.spill.spill import spill_to_room
from binalloc.transform.virtual.analysed import Analysed, analysed, without_dead_copies
from binalloc.transform.virtual.code import RELOAD
from binalloc.transform.virtual.virtualise import virtualise
from tests.support.programs.builder import program

GTX680 = load_machine("gtx680")


def code(body: str) -> Analysed:
    return analysed(virtualise(analyse(program(f".kernel k registers=60\n{body}\n        EXIT\n"), "k"), "k", {}))


def edges(body: str) -> list[tuple[int, int]]:
    """(a, b): instruction b must stay behind instruction a; those that follow from others included where they are
    made."""
    given = code(body)
    block = next(b for b in given.flat.blocks() if stretches(given.flat, b))
    first, end = stretches(given.flat, block)[0]
    dag = dependences(given.flat, first, end, lanes=given.code.lanes)
    origin = [given.flat.items[first + k].origin for k in range(len(dag))]
    assert origin[0] == 0
    return [(a, b) for b, found in enumerate(dag.before) for a in found]


def test_reads_and_writes_of_one_value() -> None:
    assert edges("MOV R0, 1\nIADD3 R1, R0, 2, RZ\nIADD3 R2, R0, 3, RZ") == [(0, 1), (0, 2)]


def test_what_shared_a_register_is_nothing_to_each_other() -> None:
    body = "LDS R0, [RZ]\nSTS [RZ+4], R0\nMOV R0, 1\nIADD3 R1, R0, R0, RZ"
    assert edges(body) == [(0, 1), (2, 3)]


def test_a_guarded_write_reads_what_was_there() -> None:
    body = "LDS R0, [RZ]\nISETP.EQ P0, PT, R0, 0, PT\n@P0 MOV R0, 1\nSTS [RZ], R0"
    assert edges(body) == [(0, 1), (0, 2), (1, 2), (0, 3), (2, 3)]


def test_predicates_keep_their_registers() -> None:
    body = "ISETP.EQ P0, PT, RZ, 0, PT\n@P0 MOV R0, 1\nISETP.NE P0, PT, RZ, 0, PT\n@P0 MOV R1, 1"
    assert edges(body) == [(0, 1), (0, 2), (1, 2), (2, 3)]


def memory(*accesses: str) -> list[tuple[int, int]]:
    """Of accesses with ready operands."""
    head = ["MOV R2, c[0][p]", "MOV R3, c[0][p+4]", "MOV R4, c[0][p+8]", "MOV R5, c[0][p+12]"]
    return [(a - 4, b - 4) for a, b in edges("\n".join([*head, *accesses])) if a >= 4]


def test_global_accesses_of_one_base_at_disjoint_offsets() -> None:
    assert memory("STG [R2], RZ", "STG [R2+4], RZ", "LDG R8, [R2+8]") == []
    assert memory("STG.64 [R2], RZ", "LDG R8, [R2+4]") == [(0, 1)]
    assert memory("STG [R2], RZ", "LDG R8, [R4+64]") == [(0, 1)]
    assert memory("LDG R8, [R2]", "LDG R9, [R4]", "LDG R8, [R2]") == []


LANES = ["S2R R6, SR_LANEID", "IMAD.WIDE R2, R6, 16, R2", "IMAD.WIDE R4, R6, 4, R2"]


def by_lanes(*accesses: str, model: str = "loom") -> list[tuple[int, int]]:
    """Of accesses at [R2], 16 bytes from lane to lane, and [R4], 4 modulo 16 bytes."""
    head = [f".memory_model {model}", "MOV R2, c[0][p]", "MOV R3, c[0][p+4]", *LANES]
    return [(a - 5, b - 5) for a, b in edges("\n".join([*head, *accesses])) if a >= 5]


def test_accesses_of_other_lanes_keep_their_places_under_loom() -> None:
    assert by_lanes("STG [R2], RZ", "LDG R8, [R2+16]") == [(0, 1)]
    assert by_lanes("STG [R2], RZ", "STG [R2+48], RZ", "LDG R8, [R2+0x1f0]") == [(0, 1), (0, 2), (1, 2)]
    assert by_lanes("STG [R4], RZ", "LDG R8, [R4+4]") == [(0, 1)]
    assert by_lanes("LDG R8, [R2+4]", "STG.64 [R2], RZ") == [(0, 1)]
    assert by_lanes("STG [R2], RZ", "LDG R8, [R2+4]", "LDG.64 R10, [R2+8]") == []
    assert by_lanes("STG.U8 [R2], RZ", "STG.U8 [R2+1], RZ", "STG.U8 [R4+2], RZ") == []
    assert by_lanes("LDG R8, [R2]", "LDG R9, [R2+16]") == []
    assert by_lanes("STL [RZ], RZ", "LDL R8, [RZ+4]") == []


def test_accesses_of_other_lanes_order_nothing_under_ptx() -> None:
    assert by_lanes("STG [R2], RZ", "LDG R8, [R2+16]", model="ptx") == []
    assert by_lanes("STG [R2], RZ", "LDG R8, [R4+4]", model="ptx") == [(0, 1)]
    assert by_lanes("STG [R2], RZ", "WARPSYNC 0xf", "LDG R8, [R2+16]", model="ptx") == [(0, 1), (1, 2)]


def test_a_base_that_changes_is_another() -> None:
    moved = "IADD3 R2, R2, 16, RZ"
    assert (0, 2) in by_lanes("STG [R2], RZ", moved, "STG [R2+4], RZ", model="ptx")
    assert (0, 2) in by_lanes("STG [R2], RZ", moved, "STG [R2+16], RZ")
    assert (0, 2) not in by_lanes("STG [R2], RZ", moved, "STG [R2+4], RZ")


def test_shared_stores_keep_their_places_among_shared_accesses() -> None:
    assert memory("LDS R8, [RZ]", "LDS R9, [RZ+4]") == []
    assert memory("STS [RZ], RZ", "LDS R9, [RZ+4]") == [(0, 1)]
    assert memory("STS [RZ], RZ", "LDG R9, [R2]") == []


def test_atomics_and_fences_part_what_stands_around_them() -> None:
    assert memory("LDG R8, [R2]", "RED.ADD [R4], RZ", "LDG R9, [R2]") == [(0, 1), (1, 2)]
    assert memory("LDG R8, [R2]", "MEMBAR.GPU", "LDG R9, [R2]") == [(0, 1), (1, 2)]
    assert memory("BAR 0", "MOV R8, 1", "LDS R9, [RZ]") == [(0, 2)]


def test_exchanges_between_lanes_keep_their_order() -> None:
    assert memory("SHFL.IDX PT, R8, R2, 0, 31", "MOV R9, 1", "SHFL.IDX PT, R10, R3, 0, 31") == [(0, 2)]


def test_a_load_of_matrices_is_an_access_and_an_exchange() -> None:
    assert memory("STS [R2], RZ", "LDSM.16.M88 R8, [R3]") == [(0, 1)]
    assert memory("LDSM.16.M88 R8, [R3]", "STS [R2+4096], RZ") == [(0, 1)]
    assert memory("LDSM.16.M88 R8, [R3]", "SHFL.IDX PT, R9, R2, 0, 31") == [(0, 1)]
    assert memory("LDSM.16.M88 R8, [R3]", "LDS R9, [R3]") == []


def peak(given: Analysed) -> int:
    return max(given.live.pressure(given.flat.points))


def test_loads_go_down_to_their_uses() -> None:
    loads = [f"LDS R{k}, [RZ+{4 * k}]" for k in range(16)]
    sums = [f"FADD R20, R20, R{k}" for k in range(16)]
    given = code("\n".join(["MOV R20, 0", *loads, *sums, "STS [RZ], R20"]))
    assert peak(given) == 17
    assert peak(for_pressure(given, 4)) == 2


def test_one_expression_after_the_other() -> None:
    """Sixteen products summed as a balanced tree, level by level: the tree needs five registers."""
    body = [f"LDS R{k}, [RZ+{4 * k}]" for k in range(16)]
    step = 1
    while step < 16:
        body += [f"FADD R{k}, R{k}, R{k + step}" for k in range(0, 16, 2 * step)]
        step *= 2
    given = code("\n".join([*body, "STS [RZ], R0"]))
    assert peak(given) == 16
    assert peak(for_pressure(given, 4)) == 5


def test_an_unrolled_product_of_matrices() -> None:
    """8 by 8 accumulators stay; of the 2 * 8 * 8 loads that stand in front no more than one row is held."""
    body = [f"MOV R{k}, 0" for k in range(16)]
    for step in range(8):
        body += [f"LDS R{16 + 8 * step + k}, [RZ+{32 * step + 4 * k}]" for k in range(8)]
    for step in range(8):
        left = 16 + 8 * step
        body += [f"FFMA R{4 * i + j}, R{left + i}, R{left + 4 + j}, R{4 * i + j}" for i in range(4) for j in range(4)]
    given = code("\n".join([*body, *(f"STS [RZ+{4 * k}], R{k}" for k in range(16))]))
    assert peak(given) == 80
    assert peak(for_pressure(given, 24)) <= 24


def places(given: Analysed, name: str) -> list[int]:
    """Where instructions of this name stand among all."""
    return [k for k, item in enumerate(given.flat.items) if item.instr is not None and item.instr.name == name]


def early(body: list[str], registers: int, every: int) -> Analysed:
    return for_latency(code("\n".join(body)), registers, LatencyClock(GTX680, every))


LOAD = [
    *("MOV R2, c[0][p]", "MOV R3, c[0][p+4]"),
    *(f"IADD3 R{10 + k}, R3, {k + 1}, RZ" for k in range(40)),
    *("LDG R4, [R2]", "FADD R1, R4, R4", "STG [R2], R1"),
]


def test_a_load_moves_up_by_what_it_takes_and_no_further() -> None:
    """190 cycles of a hit in L2, at 10 cycles from one issue to the next, are 19 instructions."""
    after = early(LOAD, 60, 10)
    assert 17 < places(after, "FADD")[0] - places(after, "LDG")[0] <= 19


def test_a_load_goes_to_the_top_where_that_is_not_enough() -> None:
    after = early(LOAD, 60, 1)
    assert places(after, "LDG")[0] < places(after, "IADD3")[2]


def waiting(given: Analysed) -> int:
    """The most loads that are on their way at once."""
    on_way: set[int] = set()
    most = 0
    for item in given.flat.items:
        on_way -= {v for o in item.uses for v in o.values}
        if item.instr is not None and item.instr.name == "LDS":
            on_way |= {v for o in item.defs for v in o.values}
        most = max(most, len(on_way))
    return most


def test_no_more_loads_at_once_than_registers() -> None:
    body = [x for k in range(20) for x in (f"LDS R{2 + k % 8}, [RZ+{4 * k}]", f"FADD R1, R1, R{2 + k % 8}")]
    for registers in (3, 5):
        after = early(["MOV R1, 0", *body, "STS [RZ], R1"], registers, 1)
        assert peak(after) <= registers
        assert 1 < waiting(after) < registers


def test_what_fits_stays_as_it_is() -> None:
    given = code("\n".join([*(f"LDS R{k}, [RZ+{4 * k}]" for k in range(4)), *(f"STS [RZ], R{k}" for k in range(4))]))
    assert for_pressure(given, 4) is given


def again(*body: str) -> bool:
    text = "\n".join([".kernel k registers=60 local_bytes=16", *body, "        EXIT", ""])
    given = without_dead_copies(virtualise(analyse(program(text), "k", lift=True), "k", {}))
    block = next(b for b in given.flat.blocks() if stretches(given.flat, b))
    return keeps_its_order(given, block, *stretches(given.flat, block)[0])


def test_a_local_word_that_is_written_again_keeps_its_order() -> None:
    """The checker has one name for it, though it is two values, or one and a store that nobody reads."""
    use = ["MOV R2, c[0][p]", "MOV R3, c[0][p+4]"]
    assert not again(*use, "STL [RZ], R2", "LDL R4, [RZ]", "STG [R2], R4")
    assert again(*use, "STL [RZ], R2", "LDL R4, [RZ]", "STG [R2], R4", "STL [RZ], R3", "LDL R5, [RZ]", "STG [R2], R5")
    assert again(*use, "STL [RZ], R2", "STL [RZ], R3", "LDL R5, [RZ]", "STG [R2], R5")
    assert not again(*use, "STL [RZ], R2", "STL [RZ+4], R3", "LDL R5, [RZ+4]", "STG [R2], R5")


def test_what_is_left_of_a_wide_access_keeps_its_order() -> None:
    """For the checker a load of two words waits for both, though nobody reads the second."""
    use = ["MOV R2, c[0][p]", "MOV R3, c[0][p+4]", "STL [RZ], R2", "STL [RZ+4], R3", "LDL.64 R4, [RZ]"]
    assert not again(*use, "STG [R2], R4", "STG [R2+4], R5")
    assert again(*use, "STG [R2], R4")
    assert again("MOV R2, c[0][p]", "MOV R3, c[0][p+4]", "STL.64 [RZ], R2", "LDL R4, [RZ]", "STG [R2], R4")


MERGED = """
        S2R R0, SR_TID.X
        MOV R1, 4
        IMAD.WIDE.U32 R2, R0, R1, c[0][p]
        LDG R4, [R2]
        LDG R5, [R2+4]
        LDG R6, [R2+8]
        LDG R7, [R2+12]
        IADD3 R12, R4, 1, RZ
        ISETP.EQ P0, PT, R4, 0, PT
        @P0 BRA .join, .join
        STS [RZ+0x100], R12
        LDG R12, [R2+16]
.join:
        IADD3 R4, R4, R5, R6
        STG [R2], R4
        STG [R2+4], R5
        STG [R2+8], R6
        STG [R2+12], R7
        STG [R2+16], R12
"""
"""R12 is read by the store to shared memory and written by the load behind it."""


def test_what_spill_code_divides_is_still_one_value() -> None:
    """The original's words are put in the rewrite's order by the checker, and have one register for it."""
    available = (1 << 3) - 1
    given = spill_to_room(code(MERGED), available, {})
    origins = [item.origin for item in given.flat.items]
    read, written = origins.index(10), origins.index(11)
    assert given.flat.items[read - 1].kind == RELOAD  # of a part of it that nothing else reads
    assert not set(given.flat.uses[read]) & set(given.flat.defs[written])
    block = next(b for b in given.flat.blocks() if given.flat.starts[b] <= read < given.flat.starts[b + 1])
    first, end = next((a, b) for a, b in stretches(given.flat, block) if a <= read < b)
    assert written < end
    before = dependences(given.flat, first, end, divided(given.flat)).before
    assert read - first in before[written - first]
    assert read - first not in dependences(given.flat, first, end).before[written - first]
