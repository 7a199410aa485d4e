"""`binalloc compare-allocators`: what it prints, its exit codes, and the input that it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binalloc.transform.allocators.table import ALLOCATORS
from tests.support.kits.cli import call, launch, loom, refused
from tests.support.paths import sample_file

TWO = """.kernel a
.block 64
.param out, 8
    MOV R2, c[0][out]
    MOV R3, c[0][out+4]
    MOV R1, 1
    STG [R2], R1
    EXIT
.end
.kernel b
.block 64
    MOV R1, 1
    CALL.IND R1
    EXIT
.end
"""


LAUNCH = launch("nbody")[:4]


def rows(*arguments: str) -> list[dict[str, Any]]:
    (kernel,) = call("compare-allocators", *arguments, "--json").json["kernels"]
    found: list[dict[str, Any]] = kernel["rows"]
    return found


@pytest.mark.rotates("long commands")
def test_a_row_for_every_budget_and_allocator() -> None:
    answer = call("compare-allocators", loom("callchain"), "--registers", "8,7", "--slots", "4,0", "--json").json
    assert (answer["schema_version"], answer["machine"]) == (1, "gtx680")
    (kernel,) = answer["kernels"]
    assert (kernel["kernel"], kernel["reason"], kernel["ptxas_slots"]) == ("callchain", "", 6)
    budgets = [(r, s, a) for r in (7, 8) for s in (0, 4) for a in ALLOCATORS]
    assert [(row["registers"], row["slots"], row["allocator"]) for row in kernel["rows"]] == budgets
    for row in kernel["rows"]:
        assert row["registers_used"] <= row["registers"]
        assert row["slots_used"] <= row["slots"]
        prices = answer["prices"]
        assert row["cost"] >= sum(row[n] * prices[n] for n in ("local", "slot", "recomputed")) or row["copies"] >= 0
        assert row["cpu_seconds"] >= 0


def test_nothing_but_the_time_differs_from_run_to_run() -> None:
    def timeless() -> list[dict[str, Any]]:
        return [{**row, "cpu_seconds": 0} for row in rows(loom("callchain"), "--registers", "6", "--slots", "3")]

    assert timeless() == timeless()


@pytest.mark.rotates("long commands")
def test_slots_are_those_of_rewrite_where_none_are_named() -> None:
    (row,) = rows(loom("nbody"), "--registers", "32", "--allocators", "best", *LAUNCH)
    version = call(
        "rewrite", loom("nbody"), "--registers", "32", "--no-emulate", *LAUNCH, "--json"
    ).json["rewritten"]
    assert (row["registers_used"], row["slots_used"], row["local_bytes"]) == (
        version["registers"], version["slots"], version["local_bytes"],
    )  # fmt: skip


def test_the_table(tmp_path: Path) -> None:
    text = call("compare-allocators", loom("callchain"), "--registers", "7", "--slots", "4").out
    lines = text.splitlines()
    assert lines[0] == "callchain on gtx680"
    assert lines[2].split()[:3] == ["registers", "slots", "allocator"]
    assert [line.split()[2] for line in lines[4 : 4 + len(ALLOCATORS)]] == [*ALLOCATORS]
    assert "bound: no allocation of the code" in text


def test_a_budget_that_is_too_small_says_why_and_the_others_are_there() -> None:
    found = rows(loom("callchain"), "--registers", "1,6", "--slots", "2", "--allocators", "best,local")
    assert [(row["allocator"], bool(row["reason"])) for row in found] == [
        ("local", True), ("best", True), ("local", False), ("best", False),
    ]  # fmt: skip
    assert "cannot hold the operands" in found[0]["reason"]
    assert found[0]["cost"] is None
    text = call("compare-allocators", loom("callchain"), "--registers", "1,6", "--slots", "2").out
    assert "best at 1 register, 2 slots: " in text


def test_where_nothing_is_feasible_the_answer_is_no() -> None:
    for options in ((), ("--json",)):
        answer = call("compare-allocators", loom("callchain"), "--registers", "1", "--slots", "2", *options)
        assert (answer.code, answer.err) == (1, "binalloc: error: no allocator fits any of these budgets\n")
        assert "cannot hold the operands" in answer.out


def test_several_kernels_one_of_which_is_refused(tmp_path: Path) -> None:
    made = tmp_path / "two.loom"
    made.write_bytes(call("asm", "-", stdin=TWO.encode()).raw)
    a, b = call("compare-allocators", str(made), "--registers", "8", "--json").json["kernels"]
    assert not a["reason"]
    assert len(a["rows"]) == len(ALLOCATORS)
    assert "indirect" in b["reason"]
    assert b["rows"] == []
    assert "Refused: " in call("compare-allocators", str(made), "--registers", "8").out
    assert "indirect" in refused(1, "compare-allocators", str(made), "--kernel", "b", "--registers", "8")


def test_ptx_without_a_block_size_needs_slots_or_a_launch() -> None:
    ptx = str(sample_file("scalarProducts.ptx"))
    (row,) = rows(ptx, "--registers", "24", "--slots", "2", "--allocators", "best")
    assert not row["reason"]


def test_slots_beyond_shared_memory_are_infeasible() -> None:
    found = rows(loom("nbody"), "--registers", "32", "--slots", "2,500", "--allocators", "best", *LAUNCH)
    assert [bool(row["reason"]) for row in found] == [False, True]
    assert "shared memory" in found[1]["reason"]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--registers", "0", "is not a list of numbers from 1 up"),
        ("--registers", "24,", "is not a list of numbers from 1 up"),
        ("--registers", "twenty", "is not a list of numbers from 1 up"),
        ("--slots", "-1", "is not a list of numbers from 0 up"),
        ("--slots", "99999", "is not a list of numbers from 0 up"),
        ("--allocators", "best,nope", "'nope' is not one of 'local', 'unified'"),
        ("--registers", "300", "cannot give a thread that many registers"),
    ],
)
def test_what_it_refuses(option: str, value: str, says: str) -> None:
    assert says in refused(2, "compare-allocators", loom("nbody"), option, value, *LAUNCH)


def test_a_binary_without_kernels_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "f.lasm"
    source.write_text(".func f\n    RET\n.end\n")
    assert call("asm", str(source), "-o", str(tmp_path / "f.loom")).code == 0
    assert "the binary has no kernel" in refused(2, "compare-allocators", str(tmp_path / "f.loom"))


def test_a_refusal_for_several_numbers_of_slots_is_said_once() -> None:
    asked = ["--registers", "2", "--slots", "0,3,4", "--allocators", "local"]
    lines = call("compare-allocators", loom("callchain"), *asked).out.splitlines()
    assert sum("local at 2 registers, 0, 3, 4 slots: " in line for line in lines) == 1


def test_rows_come_as_budgets_are_done_and_ctrl_c_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fourth allocation is interrupted: the rows of the three before it are there."""
    from binalloc.pipeline import compare

    real, calls = compare._rewritten, []

    def rewritten(*arguments: Any) -> Any:
        calls.append(arguments[3])
        if len(calls) % 4 == 0:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(compare, "_rewritten", rewritten)
    line = ("compare-allocators", loom("callchain"), "--registers", "7,8", "--slots", "4", "--allocators", "local,best")
    answer = call(*line)
    assert answer.code == 4
    lines = [text.split() for text in answer.out.splitlines()[4:7]]
    assert [(words[0], words[2]) for words in lines] == [("7", "local"), ("7", "best"), ("8", "local")]
    assert "PARTIAL" in answer.out
    assert answer.err == "binalloc: error: interrupted; the rows so far are printed\n"
    calls.clear()
    told = call(*line, "--json")
    assert told.code == 4
    assert told.json["partial"] is True
    assert [row["allocator"] for row in told.json["kernels"][0]["rows"]] == ["local", "best", "local"]


def test_the_solver_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.pipeline import compare

    real, limits = compare.rewrite_to_budget, []

    def watched(*arguments: Any, **options: Any) -> Any:
        limits.append(options["solver_limit"])
        return real(*arguments, **options)

    monkeypatch.setattr(compare, "rewrite_to_budget", watched)
    line = ("compare-allocators", loom("callchain"), "--registers", "7", "--slots", "4", "--allocators", "cpsat")
    assert call(*line, "--solver-limit", "0.5").code == 0
    assert limits == [0.5]
