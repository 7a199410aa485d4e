"""Small kernels with releases, each with the one thing that decides whether the proof may hold."""

from __future__ import annotations

import pytest

from tests.support.pairs.sharing.lines import HEAD, judge, kinds

GUARDED = """
    STS.32 [R1+0x100], R0
    -| @!P0 RELSSP
    @!P0 BRA L, L
    LDS.32 R3, [R1+0x100]
    -| RELSSP
    L:
    STG.32 [R8], R3
    EXIT
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "", set()),
        ("-| @!P0 RELSSP", "-| @P0 RELSSP", {"behind", "repeated"}),  # the guard has the wrong sense
        ("-| @!P0 RELSSP", "-| @!P1 RELSSP", {"behind", "repeated"}),
        ("-| @!P0 RELSSP", "-| RELSSP", {"behind", "repeated"}),
        ("@!P0 BRA", "ISETP.LT.AND P0, PT, R0, 0x10, PT\n@!P0 BRA", {"behind", "repeated"}),  # it is another predicate
        ("@!P0 BRA", "@P1 ISETP.LT.AND P0, PT, R0, 0x10, PT\n@!P0 BRA", {"behind", "repeated"}),
        ("@!P0 BRA", "ISETP.LT.AND P1, PT, R0, 0x10, PT\n@!P0 BRA", set()),
        ("STS.32", "-| RELSSP\nSTS.32", {"behind", "repeated"}),  # too early
        ("    LDS.32 R3, [R1+0x100]\n", "", set()),
        ("    LDS.32 R3, [R1+0x100]\n", "LDS.32 R3, [R1]\n", set()),  # the private part
        ("    LDS.32 R3, [R1+0x100]\n", "LDS.32 R3, [R1+0x4]\n", set()),  # of the threads with P0, the last is 32's
        ("STG.32", "LDS.32 R4, [R1+0x4]\nSTG.32", {"behind"}),
        ("STG.32", "@P0 LDS.32 R4, [R1+0x100]\nSTG.32", {"behind"}),
        ("STG.32", "-| RELSSP\nSTG.32", {"repeated"}),
        ("STG.32", "LDG.32 R4, [R8]\nSTG.32", set()),
        ("STG.32", "LD.32 R4, [R8]\nSTG.32", {"behind"}),
        ("STG.32", "ATOMS.ADD R4, [R1+0x100], R0\nSTG.32", {"behind"}),
        ("    -| RELSSP\n", "    -| @P0 RELSSP\n", set()),
        ("    -| RELSSP\n    L:", "    L:\n-| @P0 RELSSP\n", set()),
        ("    -| RELSSP\n    L:", "    L:\n-| @!P0 RELSSP\n", {"repeated"}),
        ("STG.32", "@!P1 LDS.32 R4, [R1+0x100]\n-| @!P1 RELSSP\nSTG.32", {"behind", "repeated"}),
    ],
)
def test_one_change_of_a_guarded_release(before: str, after: str, found: set[str]) -> None:
    assert before in GUARDED
    assert kinds(judge(GUARDED.replace(before, after, 1))) == found


def test_an_atomic_that_leaves_its_upper_half_alone_may_cross_the_end() -> None:
    """The emulator lets it, so it is an access like any other; a store there faults in the original already."""
    head = HEAD.replace("512", "510")
    for word, found in (("ATOMS.ADD.F16X2 R4, [RZ+0x1fc], R0", {"behind"}), ("STS.32 [RZ+0x1fc], R0", set())):
        body = f"STS.32 [R1], R0\n-| RELSSP\n{word}\nEXIT\n"
        assert kinds(judge(body, head=head)) == found


def test_a_finding_names_the_path() -> None:
    report = judge(GUARDED.replace("STG.32", "LDS.32 R4, [R1+0x100]\nSTG.32"))
    (finding,) = report.errors
    assert (finding.function, finding.index, finding.origin_index) == ("k", 10, 8)
    assert finding.found in ("a release at k+6, by k+7 taken, to k+10", "a release at k+9, to k+10")


SPLIT = """
    STS.32 [R1+0x100], R0
    o| @!P0 BRA L, L => @!P0 BRA E, L
    LDS.32 R3, [R1+0x100]
    -| RELSSP
    -| BRA L
    -| E:
    -| RELSSP
    -| BRA L
    L:
    STG.32 [R8], R3
    EXIT
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "", set()),
        ("=> @!P0 BRA E, L", "=> @!P0 BRA E, E", {"reconvergence"}),
        ("=> @!P0 BRA E, L", "=> @P0 BRA E, L", {"instruction"}),
        ("=> @!P0 BRA E, L", "=> @!P0 BRA E, uniform", {"reconvergence"}),
        ("    -| RELSSP\n    -| BRA L\n    -| E:", "    -| RELSSP\n    -| E:", {"repeated"}),
        ("    LDS.32 R3, [R1+0x100]\n    -| RELSSP", "-| RELSSP\nLDS.32 R3, [R1+0x100]\n", {"behind"}),
        ("    -| RELSSP\n    -| BRA L\n    L:", "    -| RELSSP\n-| EXIT\n    L:", {"instruction"}),
        ("    -| RELSSP\n    -| BRA L\n    L:", "-| M:\n    -| RELSSP\n-| BRA M\n    L:", {"order"}),
        ("    -| BRA L\n    L:", "-| MOV R3, R0\n-| BRA L\n    L:", {"instruction"}),
    ],
)
def test_one_change_of_a_release_on_an_edge(before: str, after: str, found: set[str]) -> None:
    assert before in SPLIT
    assert kinds(judge(SPLIT.replace(before, after))) >= found
    assert bool(kinds(judge(SPLIT.replace(before, after)))) == bool(found)


LOOP = """
    MOV R5, 0x0
    H:
    LDS.32 R3, [R1+0x100]
    IADD3 R5, R5, 0x1, RZ
    ISETP.LT.AND P1, PT, R5, c[0][0x8], PT
    @P1 BRA H, X
    X:
    EXIT
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("EXIT", "-| RELSSP\nEXIT", set()),
        ("@P1", "-| @!P1 RELSSP\n@P1", set()),
        ("@P1", "-| RELSSP\n@P1", {"behind", "repeated"}),
        ("@P1", "-| @P1 RELSSP\n@P1", {"behind", "repeated"}),
        ("LDS", "-| RELSSP\nLDS", {"behind", "repeated"}),
        ("    LDS.32 R3, [R1+0x100]", "-| RELSSP\n", {"repeated"}),
        ("    LDS.32 R3, [R1+0x100]", "-| @P0 RELSSP\n", {"repeated"}),
    ],
)
def test_a_release_and_a_loop(before: str, after: str, found: set[str]) -> None:
    assert before in LOOP
    assert kinds(judge(LOOP.replace(before, after))) == found


def test_a_guard_is_known_at_an_access() -> None:
    text = "STS.32 [R1+0x100], R0\n-| @P0 RELSSP\n{0} LDS.32 R3, [R1+0x100]\nEXIT"
    assert judge(text.format("@!P0")).ok
    assert kinds(judge(text.format("@P0"))) == {"behind"}


def test_words_behind_a_jump_to_the_next_word_count() -> None:
    text = "-| RELSSP\nBRA N, N\nN:\nLDS.32 R3, [R1+0x{0}]\nEXIT"
    assert judge(text.format("0")).ok
    assert kinds(judge(text.format("100"))) == {"behind"}


def test_no_word_stands_for_two() -> None:
    text = """
        @P0 BRA A, X
        o| STG.32 [R8], R0
        o| STG.32 [R8], R3
        o| BRA X
        A:
        STG.32 [R8], R0
        STG.32 [R8], R1
        X:
        EXIT
    """
    assert kinds(judge(text)) == {"order"}


def test_lanes_that_meet_in_the_original_meet() -> None:
    text = """
        o| @P0 BRA L, L => @P0 BRA M, M
        @P1 BRA L, L
        MOV R3, R0
        L:
        STG.32 [R8], R3
        EXIT
        -| M:
        -| STG.32 [R8], R3
        -| EXIT
    """
    assert kinds(judge(text)) == {"reconvergence"}


def test_an_endless_loop_repeats_its_release() -> None:
    assert kinds(judge("H:\n-| RELSSP\nBRA H")) == {"repeated"}
    assert judge("-| RELSSP\nH:\nBRA H").ok


def test_a_way_that_no_thread_takes_counts_for_nothing() -> None:
    text = """
        -| RELSSP
        ISETP.LT.U32.AND P1, PT, R0, 0x{0}, PT
        @P1 BRA X, X
        LDS.32 R3, [R1+0x100]
        X:
        EXIT
    """
    assert judge(text.format("40")).ok
    assert kinds(judge(text.format("3f"))) == {"behind"}
    assert kinds(judge(text.format("40"), block=None)) == {"behind"}


@pytest.mark.parametrize(
    ("private", "dynamic", "found"),
    [(256, 0, {"behind"}), (508, 0, {"behind"}), (511, 0, {"behind"}), (512, 0, set()), (0, 0, {"behind"})],
)
def test_the_shared_part_begins_behind_the_private_bytes(private: int, dynamic: int, found: set[str]) -> None:
    text = "-| RELSSP\nLDS.32 R3, [R1+0x100]\nEXIT"
    assert kinds(judge(text, private=private, dynamic=dynamic)) == found


def test_an_unknown_address_may_be_in_the_shared_part_where_there_is_one() -> None:
    text = "-| RELSSP\nLDG.32 R2, [R8]\nLDS.32 R3, [R2]\nEXIT"
    assert kinds(judge(text)) == {"behind"}
    assert judge(text, private=512).ok
    assert kinds(judge(text, private=512, dynamic=4)) == {"behind"}
    assert kinds(judge(text, private=512, dynamic=None)) == {"behind"}


def test_the_shared_part_is_one_of_new_addresses() -> None:
    moved = "-| RELSSP\no| LDS.32 R3, [R1{0}] => LDS.32 R3, [R1{1}]\nEXIT"
    assert judge(moved.format("+0x100", "")).ok
    assert kinds(judge(moved.format("", "+0x100"))) == {"behind"}


# -- ends without release


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("STS.32 [R1+0x100], R0\n@P0 EXIT\n-| RELSSP\nEXIT", []),
        ("STS.32 [R1+0x100], R0\nBRA X\nX:\n@P0 EXIT\n-| RELSSP\nEXIT", []),
        ("STS.32 [R1+0x100], R0\n@P0 BRA X, X\n-| RELSSP\nX:\nEXIT", ["k+8"]),
        ("STS.32 [R1+0x100], R0\nSTG.32 [R8], R0\n@P0 EXIT\n-| RELSSP\nEXIT", ["k+7"]),
        ("STS.32 [R1], R0\nSTG.32 [R8], R0\n@P0 EXIT\nSTS.32 [R1+0x100], R0\n-| RELSSP\nEXIT", []),
        ("STS.32 [R1+0x100], R0\nSTG.32 [R8], R0\n@P0 EXIT\nEXIT", []),  # nothing is released at all
        ("-| @P0 RELSSP\n@P0 EXIT\nSTS.32 [R1+0x100], R0\nMOV R3, R0\nBRA X\nX:\nEXIT", ["k+10"]),
    ],
)
def test_an_end_without_release_is_remarked_where_other_words_come_before(text: str, found: list[str]) -> None:
    report = judge(text)
    assert report.ok, str(report)
    assert [note.kind for note in report.notes] == ["missing"] * len(found)
    assert [f"{note.function}+{note.index}" for note in report.notes] == found
    assert all("access at k+" in note.found for note in report.notes)


# -- the original, and the records


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RELSSP\nEXIT", {"not proven"}),
        ("BAR.ALLOC R5, 0x80\nBAR.FREE R5\nEXIT", {"not proven"}),
        ("CALL.IND R5\nEXIT", {"not proven"}),
        ("o| EXIT => MOV R3, R0\n-| EXIT", {"instruction"}),
    ],
)
def test_refused(text: str, found: set[str]) -> None:
    assert kinds(judge(text)) == found


def test_records_stay() -> None:
    changed = HEAD.replace(".shared_bytes 512", "o| .shared_bytes 512 => .shared_bytes 516")
    assert kinds(judge("EXIT", head=changed)) == {"resources"}
    assert kinds(judge("EXIT", private=-1)) == {"resources"}
    assert kinds(judge("EXIT", block=(2048, 1, 1))) == {"block"}
