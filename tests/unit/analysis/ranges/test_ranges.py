"""What ranges say of small programs: exact cases. A probe is a word `MOV R90, Rn`, which reads what is asked about."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.ranges.ranges import Ranges, ranges
from binalloc.analysis.ranges.threads import Threads
from binalloc.analysis.ranges.value import SIGNED, UNSIGNED, Interval, Value
from tests.support.programs.builder import program

PROBE = 90
HEAD = ".kernel k\n.auto_reconv\n.block 64\nS2R R0, SR_TID.X\nMOV R1, c[0][0x0]\nMOV R2, c[0][0x4]\n"


def found(body: str, tail: str = "", size: tuple[int, int, int] | None = (64, 1, 1)) -> Ranges:
    """Return the ranges of a kernel. R0 is the thread's index, R1 and R2 are parameters."""
    given = analyse(program(f"{HEAD}{body}\nEXIT\n.end\n{tail}"), "k")
    return ranges(given, Threads(given.isa.limits, size))


def probes(of: Ranges, name: str = "k") -> list[tuple[int, Value]]:
    """Return the words of the probes, and the values that they read."""
    f = of.functions[name]
    views = f.function.cfg.views
    words = [i for i, seen in enumerate(views) if seen.defs and seen.defs[0].index == PROBE]
    return [(i, f.word(i, f.function.webs.web_of_use[i, 0, 0])) for i in words]


def values(body: str, tail: str = "", name: str = "k") -> list[Value]:
    return [value for _, value in probes(found(body, tail), name)]


def bounds(body: str, signed: bool = False) -> list[Interval]:
    of = found(body)
    return [of.within("k", i, value, signed=signed) for i, value in probes(of)]


def known(value: Value) -> list[int]:
    """Return the number of each thread, which has to be known."""
    assert value.known
    return [int(x) for x in np.broadcast_to(np.asarray(value.base), 64)]


# -- rounds


@pytest.mark.parametrize(("first", "step", "order", "limit", "last"), [
    ("0x0", 1, "LT", "0xa", 9), ("0x0", 3, "LT", "0xa", 3), ("0x0", 3, "LE", "0x9", 3), ("0x0", 1, "NE", "0xa", 9),
    ("0xa", -1, "GT", "0x0", 9), ("0xa", -3, "GE", "0x0", 3), ("0xa", -2, "NE", "0x0", 4), ("0x5", 1, "LT", "0x3", 0),
    ("0x7ffffff0", 1, "LT", "0x7fffffff", 14), ("0xfffffff0", 8, "NE", "0x10", 3), ("-4", 1, "LT", "0x4", 7),
    ("0xfffffff0", 1, "LT.U32", "0xffffffff", 14), ("0x3", -1, "GE.U32", "0x1", 2), ("0x0", 6, "NE", "0x3c", 9),
])  # fmt: skip
def test_a_loop_that_asks_at_its_end_is_left_in_a_known_round(
    first: str, step: int, order: str, limit: str, last: int
) -> None:
    body = f"MOV R3, {first}\nhead:\nIADD3 R3, R3, {step}, RZ\nISETP.{order}.AND P0, PT, R3, {limit}, PT\n@P0 BRA head"
    of = found(f"{body}\nMOV R90, R3")
    assert of.functions["k"].grown.last == {0: last}
    ((_, value),) = probes(of)
    assert value.number == (int(first, 0) + step * (last + 1)) % (1 << 32)


@pytest.mark.parametrize(("first", "step", "order", "limit"), [
    ("0x0", 3, "NE", "0xa"), ("0x7ffffff0", 8, "LE", "0x7fffffff"), ("0x3", -1, "GE.U32", "0x0"),
    ("0x0", 1, "GT", "R1"), ("0x0", 0, "LT", "0xa"), ("0x0", 6, "NE", "0x14"),
])  # fmt: skip
def test_a_loop_whose_end_cannot_be_told_has_no_known_round(first: str, step: int, order: str, limit: str) -> None:
    body = f"MOV R3, {first}\nhead:\nIADD3 R3, R3, {step}, RZ\nISETP.{order}.AND P0, PT, R3, {limit}, PT\n@P0 BRA head"
    assert found(body).functions["k"].grown.last == {}


def test_a_loop_that_asks_at_its_begin_is_left_in_a_round_known_by_thread() -> None:
    of = found(
        "MOV R3, 0x2\nhead:\nISETP.GE.AND P0, PT, R3, R0, PT\n@P0 BRA out\nMOV R90, R3\nIADD3 R3, R3, 0x2, RZ\n"
        "BRA head\nout:\nMOV R90, R3"
    )
    (inside, value), (_, behind) = probes(of)
    assert of.within("k", inside, value) == (2, 62)
    assert known(behind) == [max(2, t + t % 2) for t in range(64)]
    last = of.functions["k"].grown.last[0]
    assert [int(x) for x in np.asarray(last)] == [max(0, (t - 1) // 2) for t in range(64)]


def test_rounds_of_a_loop_inside_count_anew_in_each_round_outside() -> None:
    of = found(
        "MOV R3, 0x0\nMOV R5, 0x0\nouter:\nMOV R4, 0x0\ninner:\nIADD3 R4, R4, 0x1, RZ\nIADD3 R5, R5, 0x4, RZ\n"
        "MOV R90, R5\nISETP.LT.AND P0, PT, R4, 0x5, PT\n@P0 BRA inner\nIADD3 R3, R3, 0x1, RZ\n"
        "ISETP.LT.AND P0, PT, R3, 0x6, PT\n@P0 BRA outer\nMOV R90, R5"
    )
    assert sorted(of.functions["k"].grown.last.values()) == [4, 5]
    (inside, value), (_, behind) = probes(of)
    assert of.within("k", inside, value) == (4, 120)
    assert behind.number == 120


def test_rounds_are_bounded_by_every_exit_that_each_round_asks() -> None:
    of = bounds(
        "MOV R3, 0x0\nhead:\nISETP.EQ.AND P0, PT, R3, R1, PT\n@P0 BRA out\nMOV R90, R3\nIADD3 R3, R3, 0x4, RZ\n"
        "ISETP.LT.U32.AND P0, PT, R3, 0x64, PT\n@P0 BRA head\nout:\nMOV R90, R3"
    )
    assert of == [(0, 96), (0, 100)]


def test_an_exit_that_not_every_round_asks_bounds_nothing() -> None:
    of = bounds(
        "ISETP.LT.AND P1, PT, R1, 0x5, PT\nMOV R3, 0x0\nhead:\nIADD3 R3, R3, 0x4, RZ\n@P1 BRA on\n"
        "ISETP.GE.U32.AND P0, PT, R3, 0x64, PT\n@P0 BRA out\non:\nMOV R90, R3\nBRA head\nout:\nMOV R90, R3"
    )
    assert of == [UNSIGNED, (100, UNSIGNED.high)]  # behind the loop what its exit says holds


@pytest.mark.parametrize(("goes_on", "within"), [
    ("GT.U32.AND P0, PT, R3, 0x3", (-28, 31)), ("GE.AND P0, PT, R3, 0x4", (4, 31)), ("GT.AND P0, PT, R3, -5", (-4, 31)),
])  # fmt: skip
def test_a_counter_that_goes_down_from_a_number_between_bounds(goes_on: str, within: Interval) -> None:
    body = f"LOP3 R3, R1, 0x1f, RZ, 0xc0\nhead:\nISETP.{goes_on}, PT\n@!P0 BRA out\nMOV R90, R3\n"
    assert bounds(f"{body}IADD3 R3, R3, -4, RZ\nBRA head\nout:", signed=True) == [within]


@pytest.mark.parametrize("goes_on", ["NE.AND P0, PT, R3, R4, PT", "NE.AND P0, PT, R4, R3, PT"])
def test_a_counter_need_not_equal_a_limit_that_moves(goes_on: str) -> None:
    """Each round asks for another number below four, so the counter may pass them all."""
    of = found(
        "MOV R3, 0x0\nhead:\nMOV R90, R3\nLDS R4, [RZ]\nLOP3 R4, R4, 0x3, RZ, 0xc0\n"
        f"ISETP.{goes_on}\n@!P0 BRA out\nIADD3 R3, R3, 0x1, RZ\nBRA head\nout:"
    )
    ((i, value),) = probes(of)
    assert of.within("k", i, value) == UNSIGNED
    assert of.functions["k"].grown.last == {}


def test_a_sum_may_wrap_around_where_a_part_of_it_moves() -> None:
    """The counter takes steps of 2^28. With a number below 2^30, which moves, it may be far above the limit at once."""
    moving = "LDS R4, [RZ]\nLOP3 R4, R4, 0x3fffffff, RZ, 0xc0\n"
    first, head = "MOV R3, 0x0\n", "head:\nMOV R90, R3\n"
    rest = "IADD3 R5, R3, R4, RZ\nISETP.LE.AND P0, PT, R5, 0x60000000, PT\n@!P0 BRA out\n"
    rest += "IADD3 R3, R3, 0x10000000, RZ\nBRA head\nout:"
    assert bounds(first + head + moving + rest) == [UNSIGNED]
    assert bounds(first + moving + head + rest) == [(0, 0x70000000)]


def test_a_counter_equals_a_limit_that_stays() -> None:
    of = bounds(
        "LDS.U8 R4, [RZ]\nIADD3 R4, R4, 0x1, RZ\nMOV R3, 0x0\nhead:\nMOV R90, R3\nIADD3 R3, R3, 0x1, RZ\n"
        "ISETP.NE.AND P0, PT, R3, R4, PT\n@P0 BRA head"
    )
    assert of == [(0, 255)]


def test_a_stale_copy_of_a_counter_is_a_round_behind() -> None:
    of = found(
        "MOV R3, 0x0\nMOV R4, 0x0\nhead:\nMOV R90, R4\nMOV R4, R3\nIADD3 R3, R3, 0x4, RZ\nMOV R90, R4\n"
        "ISETP.LT.AND P0, PT, R3, 0x28, PT\n@P0 BRA head\nMOV R90, R4"
    )
    assert [of.within("k", i, value) for i, value in probes(of)] == [(0, 35), (0, 36), (36, 36)]  # R3 was below 40 - 4


def test_values_that_are_exchanged_have_no_step() -> None:
    of = found(
        "MOV R3, 0x0\nMOV R4, 0x7\nMOV R6, 0x0\nhead:\nMOV R90, R3\nMOV R5, R3\nMOV R3, R4\nMOV R4, R5\n"
        "IADD3 R6, R6, 0x1, RZ\nISETP.LT.AND P0, PT, R6, R1, PT\n@P0 BRA head"
    )
    ((i, value),) = probes(of)
    assert of.within("k", i, value) == (0, 7)
    assert not of.functions["k"].grown.last


def test_bounds_of_many_values_that_depend_on_one_another_are_found_in_time() -> None:
    """Twelve values go round in three loops, one inside the other."""
    moved = "".join(f"MOV R{10 + k}, R{11 + k}\n" for k in range(11))
    first = "".join(f"LOP3 R{10 + k}, R1, {k:#x}, RZ, 0xc0\n" for k in range(12))
    heads = "".join(f"head{n}:\nIMNMX.U32 R{10 + n}, R{20 - n}, R{12 + n}, PT\n{moved}" for n in range(3))
    ends = "".join(f"{moved}ISETP.LT.AND P0, PT, R{12 + n}, R2, PT\n@P0 BRA head{2 - n}\n" for n in range(3))
    (of,) = bounds(f"{first}{heads}{ends}MOV R90, R10")
    assert of == (0, 11)


# -- bounds


@pytest.mark.parametrize(("compared", "yes", "no"), [
    ("LT.U32.AND P0, PT, R1, 0xa", (0, 9), (10, UNSIGNED.high)),
    ("GE.U32.AND P0, PT, R1, 0xa", (10, UNSIGNED.high), (0, 9)),
    ("LE.U32.AND P0, PT, R1, 0xa", (0, 10), (11, UNSIGNED.high)),
    ("GT.U32.AND P0, PT, R1, 0xa", (11, UNSIGNED.high), (0, 10)),
    ("EQ.AND P0, PT, R1, 0x7", (7, 7), UNSIGNED),
    ("NE.U32.AND P0, PT, R1, 0x0", (1, UNSIGNED.high), (0, 0)),
    ("LT.U32.AND PT, P0, R1, 0xa", (10, UNSIGNED.high), (0, 9)),
])  # fmt: skip
def test_a_branch_bounds_what_it_compares(compared: str, yes: Interval, no: Interval) -> None:
    body = f"ISETP.{compared}, PT\n@P0 BRA there\nMOV R90, R1\nEXIT\nthere:\nMOV R90, R1"
    assert bounds(body) == [no, yes]


def test_a_branch_bounds_signed_numbers() -> None:
    body = "ISETP.LT.AND P0, PT, R1, -3, PT\n@!P0 BRA there\nMOV R90, R1\nEXIT\nthere:\nMOV R90, R1"
    assert bounds(body, signed=True) == [(SIGNED.low, -4), (-3, SIGNED.high)]


def test_a_guard_bounds_what_its_instruction_reads() -> None:
    assert bounds("ISETP.LT.U32.AND P0, PT, R1, 0x40, PT\n@P0 MOV R90, R1\n@!P0 MOV R90, R1\nMOV R90, R1") == [
        (0, 63), (64, UNSIGNED.high), UNSIGNED,
    ]  # fmt: skip


def test_threads_that_end_leave_bounds_to_the_others() -> None:
    assert bounds("ISETP.GE.U32.AND P0, PT, R1, 0x40, PT\n@P0 EXIT\nIADD3 R3, R1, 0x5, RZ\nMOV R90, R3") == [(5, 68)]


def test_predicates_of_predicates_bound_where_they_decide() -> None:
    both = "ISETP.GE.U32.AND P0, PT, R1, 0x4, PT\nISETP.LT.U32.AND P1, PT, R1, 0x40, P0\n"
    assert bounds(f"{both}@P1 MOV R90, R1\n@!P1 MOV R90, R1") == [(4, 63), UNSIGNED]
    table = "ISETP.GE.U32.AND P0, PT, R1, 0x4, PT\nISETP.LT.U32.AND P1, PT, R1, 0x40, PT\n"
    table += "PLOP3 P2, P3, P0, !P1, PT, 0x30, 0xfc\n@P2 MOV R90, R1\n@!P3 MOV R90, R1"
    assert bounds(table) == [(4, 63), (0, 3)]
    either = "ISETP.GE.U32.AND P0, PT, R1, 0x4, PT\nISETP.LT.U32.XOR P1, PT, R1, 0x40, P0\n@P1 MOV R90, R1"
    assert bounds(either) == [UNSIGNED]


def test_facts_say_nothing_of_what_a_register_is_later() -> None:
    body = "ISETP.LT.U32.AND P0, PT, R1, 0x40, PT\n@P0 EXIT\nMOV R1, R2\nMOV R90, R1"
    assert bounds(body) == [UNSIGNED]
    body = "MOV R3, R1\nhead:\nMOV R90, R3\nISETP.LT.U32.AND P0, PT, R3, 0x40, PT\n@!P0 EXIT\nMOV R90, R3\n"
    assert bounds(f"{body}LDS R3, [RZ]\nBRA head") == [UNSIGNED, (0, 63)]


def test_lower_and_upper_bits_are_the_word_again() -> None:
    low, high, both, moved = values(
        "LOP3 R3, R1, 0xf, RZ, 0xc0\nLOP3 R4, R1, 0xfffffff0, RZ, 0xc0\nIADD3 R5, R3, R4, RZ\n"
        "SHF.R.U32.HI R6, RZ, 0x4, R1\nLEA R6, R6, R3, 4\nMOV R90, R3\nMOV R90, R4\nMOV R90, R5\nMOV R90, R6"
    )
    assert low.key != high.key
    plain = values("MOV R90, R1")[0]
    assert both.terms[0][1] == plain.terms[0][1] == 1
    assert len(both.terms) == len(plain.terms) == 1
    assert both.key == moved.key


@pytest.mark.parametrize(("made", "within"), [
    ("LOP3 R3, R1, 0xf, RZ, 0xc0", (0, 15)), ("LOP3 R3, R1, 0xfffffff0, RZ, 0xc0", (0, UNSIGNED.high - 15)),
    ("SHF.R.U32.HI R3, RZ, 0x4, R1", (0, UNSIGNED.high >> 4)), ("IMNMX.U32 R3, R1, 0x9, PT", (0, 9)),
    ("IMNMX.U32 R3, R1, 0x9, !PT", (9, UNSIGNED.high)), ("PRMT R3, R1, 0x4440, RZ", (0, 255)),
    ("LDS.U16 R3, [RZ]", (0, 0xFFFF)), ("POPC R3, R1", (0, 32)), ("IMAD.HI.U32 R3, R1, 0x10, RZ", (0, 15)),
    ("LOP3 R3, R1, 0x30, R0, 0xfe", (0x30, UNSIGNED.high)), ("LOP3 R3, R1, 0x2c, RZ, 0xc0", (0, 0x2C)),
    ("SEL R3, R0, 0x64, P0", (0, 100)),
])  # fmt: skip
def test_an_instruction_bounds_its_result(made: str, within: Interval) -> None:
    assert bounds(f"ISETP.LT.AND P0, PT, R1, R2, PT\n{made}\nMOV R90, R3") == [within]


def test_bounds_may_wrap_around() -> None:
    body = "LOP3 R3, R1, 0x7, RZ, 0xc0\nIADD3 R3, R3, -4, RZ\nMOV R90, R3\nIADD3 R3, R3, 0x7ffffffe, RZ\nMOV R90, R3"
    assert bounds(body) == [UNSIGNED, (0x7FFFFFFA, 0x80000001)]
    assert bounds(body, signed=True) == [(-4, 3), SIGNED]


def test_bounds_of_known_numbers_may_wrap_around() -> None:
    body = "IADD3 R3, R0, -4, RZ\nMOV R90, R3\nLEA R3, R3, R1, 2\nIADD3 R3, R3, -R1, RZ\nMOV R90, R3"
    assert bounds(body, signed=True) == [(-4, 59), (-16, 236)]


def test_a_join_is_bounded_by_what_holds_on_each_way() -> None:
    body = "ISETP.LT.U32.AND P0, PT, R1, 0xa, PT\nISETP.LT.AND P1, PT, R2, 0xa, PT\n@!P0 BRA other\nMOV R3, R1\n"
    body += "@P1 BRA next\nMOV R4, R3\nnext:\nNOP\nBRA on\nother:\nMOV R3, 0x5\non:\nMOV R90, R3"
    assert bounds(body) == [(0, 9)]


def test_a_symbol_that_cancels_is_gone() -> None:
    (value,) = values("IADD3 R3, R1, R0, RZ\nIADD3 R3, R3, -R1, 0x5\nMOV R90, R3")
    assert known(value) == [t + 5 for t in range(64)]


# -- threads


def test_a_join_is_known_by_the_way_of_each_thread() -> None:
    ways = "ISETP.LT.AND P0, PT, R0, 0x10, PT\n@P0 BRA there\nMOV R3, 0x7\nBRA on\nthere:\nIADD3 R3, R0, 0x64, RZ\n"
    ways += "on:\nMOV R90, R3"
    assert known(values(ways)[0]) == [t + 100 if t < 16 else 7 for t in range(64)]
    by_parameter = ways.replace("P0, PT, R0, 0x10", "P0, PT, R1, 0x10")
    assert not values(by_parameter)[0].known
    assert bounds(by_parameter) == [(7, 163)]


def test_a_join_behind_a_loop_is_known_by_thread() -> None:
    (value,) = values(
        "ISETP.LT.AND P0, PT, R0, 0x10, PT\nMOV R3, 0x0\n@P0 BRA on\nhead:\nIADD3 R3, R3, 0x2, RZ\n"
        "ISETP.LT.AND P1, PT, R3, R0, PT\n@P1 BRA head\non:\nMOV R90, R3"
    )
    assert known(value) == [0 if t < 16 else t + t % 2 for t in range(64)]


def test_a_guarded_comparison_is_known_by_thread() -> None:
    of = found(
        "ISETP.LT.AND P0, PT, R0, 0x10, PT\nISETP.LT.AND P1, PT, R0, 0x20, PT\n@P0 ISETP.GE.AND P1, PT, R0, 0x8, PT\n"
        "@P1 MOV R90, R0"
    )
    ((i, _),) = probes(of)
    assert [bool(x) for x in np.asarray(of.coming("k", i))] == [8 <= t < 32 for t in range(64)]


def test_a_guarded_instruction_is_known_by_thread() -> None:
    guard = "ISETP.LT.AND P0, PT, R0, 0x10, PT\n"
    (value,) = values(f"{guard}MOV R3, 0x7\n@!P0 MOV R3, R0\nMOV R90, R3")
    assert known(value) == [7 if t < 16 else t for t in range(64)]
    (value,) = values(f"{guard}SEL R3, R0, 0x7, P0\nMOV R90, R3")
    assert known(value) == [t if t < 16 else 7 for t in range(64)]


def test_the_threads_that_come_are_those_of_all_ways() -> None:
    of = found("ISETP.LT.AND P0, PT, R0, 0x10, PT\n@P0 BRA there\nMOV R90, R0\n@!P0 EXIT\nthere:\nMOV R90, R0")
    one, other = (of.coming("k", i) for i, _ in probes(of))
    assert [bool(x) for x in np.asarray(one)] == [t >= 16 for t in range(64)]
    assert [bool(x) for x in np.asarray(other)] == [t < 16 for t in range(64)]


def test_a_jump_into_a_loop_lets_all_threads_come() -> None:
    of = found(
        "MOV R3, 0x0\nISETP.LT.AND P0, PT, R0, 0x10, PT\n@P0 BRA there\nhere:\nMOV R90, R3\nIADD3 R3, R3, 0x1, RZ\n"
        "there:\nIADD3 R3, R3, 0x2, RZ\nISETP.LT.AND P1, PT, R3, 0x20, PT\n@P1 BRA here"
    )
    ((i, value),) = probes(of)
    assert of.coming("k", i) is True
    assert not value.known
    assert not of.functions["k"].grown.last


def test_a_jump_into_a_loop_that_is_not_taken_apart_lets_all_threads_come() -> None:
    """Loops are taken apart to a depth of 64. In the innermost of 66 is one with two entries, `here` and `there`."""
    heads = "".join(f"head{n}:\nIADD3 R3, R3, 0x1, RZ\n" for n in range(66))
    ends = "".join(f"ISETP.LT.AND P1, PT, R3, R1, PT\n@P1 BRA head{n}\n" for n in reversed(range(66)))
    inner = "ISETP.LT.AND P0, PT, R0, 0x10, PT\n@P0 BRA there\nhere:\nMOV R90, R3\nIADD3 R3, R3, 0x1, RZ\n"
    inner += "there:\nISETP.LT.AND P1, PT, R3, R2, PT\n@P1 BRA here\n"
    of = found(f"MOV R3, 0x0\n{heads}{inner}{ends}")
    ((i, _),) = probes(of)
    assert of.coming("k", i) is True


def test_code_that_nobody_comes_to_says_nothing_of_threads() -> None:
    of = found("ISETP.LT.AND P0, PT, R0, 0x10, PT\n@P0 BRA on\nEXIT\nMOV R3, R0\non:\nMOV R90, R0")
    ((i, _),) = probes(of)
    assert [bool(x) for x in np.asarray(of.coming("k", i))] == [t < 16 for t in range(64)]


def test_a_block_of_any_size_has_bounded_indices() -> None:
    of = found("MOV R90, R0\nS2R R3, SR_NTID.Y\nMOV R90, R3\nS2R R3, SR_LANEID\nMOV R90, R3", size=None)
    assert [of.within("k", i, value) for i, value in probes(of)] == [(0, 1023), (1, 1024), (0, 31)]


# -- calls


def test_a_callee_knows_what_all_callers_give() -> None:
    callee = ".func f\nMOV R90, R5\nRET\n.end\n"
    (value,) = values("IADD3 R5, R0, 0x1, RZ\nCALL f\nCALL f", callee, "f")
    assert known(value) == [t + 1 for t in range(64)]
    of = found("MOV R5, 0x3\nCALL f\nLOP3 R5, R1, 0x7, RZ, 0xc0\nCALL f", callee)
    ((i, value),) = probes(of, "f")
    assert of.within("f", i, value) == (0, 7)


def test_a_callee_of_two_functions_waits_for_both() -> None:
    """The kernel calls `g` before `f`, which calls it too."""
    tail = ".func f\nMOV R5, 0x9\nCALL g\nRET\n.end\n.func g\nMOV R90, R5\nRET\n.end\n"
    of = found("MOV R5, 0x3\nCALL g\nCALL f", tail)
    ((i, value),) = probes(of, "g")
    assert of.within("g", i, value) == (3, 9)


def test_only_threads_that_call_come_to_a_callee() -> None:
    of = found("ISETP.LT.AND P0, PT, R0, 0x10, PT\n@P0 CALL f", ".func f\nMOV R90, R0\nRET\n.end\n")
    ((i, _),) = probes(of, "f")
    assert [bool(x) for x in np.asarray(of.coming("f", i))] == [t < 16 for t in range(64)]


def test_what_callers_give_is_one_way_of_a_join() -> None:
    tail = ".func f\n.auto_reconv\nISETP.LT.AND P0, PT, R6, 0x5, PT\n@P0 BRA on\nMOV R5, 0x9\non:\nMOV R90, R5\n"
    tail += "RET\n.end\n"
    of = found("LOP3 R5, R1, 0x3, RZ, 0xc0\nMOV R6, R2\nCALL f", tail)
    ((i, value),) = probes(of, "f")
    assert of.within("f", i, value) == (0, 9)


def test_a_loop_may_begin_with_the_first_word_of_a_function() -> None:
    tail = ".func f\n.auto_reconv\nhead:\nMOV R90, R5\nIADD3 R5, R5, 0x1, RZ\nISETP.LT.AND P0, PT, R5, 0x5, PT\n"
    tail += "@P0 BRA head\nMOV R90, R5\nRET\n.end\n"
    of = found("MOV R5, 0x2\nCALL f", tail)
    (inside, value), (_, behind) = probes(of, "f")
    assert of.within("f", inside, value) == (2, 4)
    assert behind.number == 5
    of = found("LOP3 R5, R1, 0x3, RZ, 0xc0\nCALL f", tail)
    (inside, value), (i, behind) = probes(of, "f")
    assert of.within("f", inside, value).within(Interval(0, 7))
    assert of.within("f", i, behind) == (5, 8)


def test_a_function_that_calls_itself_knows_nothing_of_its_callers() -> None:
    tail = ".func f\nMOV R90, R5\nISETP.LT.AND P0, PT, R5, 0x5, PT\nIADD3 R5, R5, 0x1, RZ\n@P0 CALL f\nRET\n.end\n"
    given = analyse(program(f"{HEAD}MOV R5, 0x3\nCALL f\nEXIT\n.end\n{tail}"), "k", recursive=True)
    of = ranges(given, Threads(given.isa.limits, (64, 1, 1)))
    ((i, value),) = probes(of, "f")
    assert of.within("f", i, value) == UNSIGNED
    assert of.coming("f", i) is True
