"""C's rule in the checker: taken where bounds fail, counted, and not believed against bounds."""

from __future__ import annotations

import pytest

from binalloc.verify.sharing.check import check_shared
from tests.support.pairs.sharing.lines import BLOCK, judge, kinds, pair

HEAD = """
    .kernel k
    .shared_bytes 512
    {variables}
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    MOV R8, c[0][0x0]
    LDG.32 R5, [R8]
"""
OLD, NEW = (".shared one 256 4 0\n.shared two 256 4 256", ".shared one 256 4 256\n.shared two 256 4 0")
"""The two variables change places. R1: 4 * thread, R5: an unknown number."""
VARIABLES = "\n".join(f"o| {a} => {b}" for a, b in zip(OLD.split("\n"), NEW.split("\n"), strict=True))
SWAPPED = HEAD.format(variables=VARIABLES)
BODY = """
    .touches one
    o| STS.32 [R5], R0 => STS.32 [R5+0x100], R0
    o| LDS.32 R3, [R1+0x100] => LDS.32 R3, [R1]
    EXIT
"""


def test_an_unknown_address_stays_in_its_variable() -> None:
    report = judge(BODY, head=SWAPPED)
    assert report.ok, str(report)
    assert report.by_symbol == 1
    assert str(report) == (
        "rewrite proven; 1 access rests on C's rule: the importer saw its address come from its variables"
    )
    assert report.stats["unknown"] == 0
    assert not judge(BODY.replace(".touches one", ""), head=SWAPPED).ok


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (".touches one", ".touches two", {"distance", "overlap", "bounds"}),
        (".touches one", ".touches one, two", {"distance", "overlap", "bounds"}),
        (".touches one", ".touches *", {"bounds"}),
        (".touches one", "o| .touches one", {"bounds"}),  # the original says it: that is what counts
        (".touches one", "-| .touches one", {"symbols"}),  # the new one alone says it
        (".touches one", "o| .touches one => .touches two", {"symbols"}),
        ("STS.32 [R5+0x100]", "STS.32 [R5]", {"overlap", "variables", "distance"}),
        ("STS.32 [R5+0x100]", "STS.32 [R5+0x104]", {"bounds", "variables", "overlap"}),
        ("STS.32 [R5+0x100]", "STS.32 [R5+0x200]", {"bounds"}),
        ("=> LDS.32 R3, [R1]", "=> LDS.32 R3, [R1+0x100]", {"overlap", "variables"}),
        ("R3, [R1+0x100] => LDS.32 R3, [R1]", "R3, [R5+0x100] => LDS.32 R3, [R5]", {"bounds"}),
    ],
)
def test_one_change(before: str, after: str, found: set[str]) -> None:
    assert before in BODY
    report = judge(BODY.replace(before, after), head=SWAPPED)
    if (before, after) == (".touches one", "o| .touches one"):
        assert report.ok
        return
    assert not report.ok
    assert kinds(report) & found, str(report)


def test_nothing_is_taken_where_bounds_suffice() -> None:
    """A proof that needs no symbol counts none, and wrong ones do it no harm."""
    still = HEAD.format(variables=OLD)
    for said in ("", ".touches one\n", ".touches two\n", ".touches *\n"):
        report = judge(said + "STS.32 [R1], R0\nLDS.32 R3, [R5]\n-| RELSSP\nEXIT", head=still, private=512)
        assert report.ok
        assert report.by_symbol == 0
    report = judge("STS.32 [R1], R0\n.touches one\nLDS.32 R3, [R5]\nEXIT", head=still, private=512)
    assert report.ok
    assert report.by_symbol == 0


def test_a_release_may_rest_on_the_rule() -> None:
    still = HEAD.format(variables=OLD)
    body = "STS.32 [R1+0x100], R0\n-| RELSSP\n{0}LDS.32 R3, [R5]\nEXIT"
    assert kinds(judge(body.format(""), head=still)) == {"behind"}
    report = judge(body.format(".touches one\n"), head=still)
    assert report.ok
    assert report.by_symbol == 1
    assert kinds(judge(body.format(".touches two\n"), head=still)) == {"behind"}


def test_a_contradiction_is_reported_and_not_believed() -> None:
    body = BODY.replace("    o| LDS", "    .touches one\n    o| LDS")
    report = judge(body, head=SWAPPED)
    assert report.ok
    (note,) = report.notes
    assert note.kind == "contradiction"
    assert "k+" in str(note)
    assert "one" in note.found


def test_generic_accesses_keep_a_variable_where_it_is() -> None:
    generic = BODY.replace("EXIT", ".touches two\nLD.32 R6, [R6]\nEXIT")
    assert "distance" in kinds(judge(generic, head=SWAPPED))
    three = SWAPPED.replace("512", "640") + ".touches three\nLD.32 R6, [R6]\n"
    three = three.replace("S2R", ".shared three 128 4 512\nS2R", 1)
    report = judge(BODY, head=three)
    assert report.ok, str(report)
    assert report.by_symbol == 2


@pytest.mark.parametrize("dynamic", [256, 16, None])
def test_dynamic_memory_is_behind_the_static_bytes(dynamic: int | None) -> None:
    body = BODY.replace("EXIT", ".touches *\nLDS.32 R6, [R5]\nEXIT")
    report = judge(body, head=SWAPPED, dynamic=dynamic)
    assert report.ok, str(report)
    moved = body.replace("LDS.32 R6, [R5]", "o| LDS.32 R6, [R5] => LDS.32 R6, [R5+0x100]")
    assert not judge(moved, head=SWAPPED, dynamic=dynamic).ok
    assert not judge(body, head=SWAPPED, dynamic=0).ok  # there is none, so it cannot be what is touched


def test_the_names_in_a_function_are_the_kernels() -> None:
    text = SWAPPED + BODY.replace("EXIT", "CALL f\nEXIT\n.end\n.func f\n.touches {0}\n{1}\nRET")
    one = "o| STS.32 [R5], R0 => STS.32 [R5+0x100], R0"
    for name, ok in (("one", True), ("two", False)):
        original, made = pair(text.format(name, one))
        report = check_shared(original, made, "k", BLOCK, 256, 0)
        assert report.ok == ok
        assert report.by_symbol == 2 or not ok
