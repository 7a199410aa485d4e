"""Kernels that cannot be imported: all reasons are told, and the other kernels can be had."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.frontend.refused import NotImportable
from binalloc.isa.sets.files import load
from tests.support.kits.cli import call, refused
from tests.support.paths import sample_file
from tests.support.ptx.texts import GOOD, HEAD, MIXED, entry


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    (tmp_path / "m.ptx").write_text(MIXED)
    return tmp_path / "m.ptx"


def test_all_reasons_are_found_by_kernel() -> None:
    with pytest.raises(NotImportable) as caught:
        import_ptx(MIXED, "m.ptx", machine="gtx680")
    error = caught.value
    assert error.importable == ["good", "good2"]
    assert [left.kernel for left in error.left_out] == ["stack", "caller"]
    stack, caller = ([(r.function, r.error.place) for r in left.refusals] for left in error.left_out)
    assert stack == [("stack", "line 11, column 1"), ("stack", "line 13, column 6")]
    assert caller == [("bad", "line 5, column 1"), ("bad", "line 6, column 1")]
    assert str(error).startswith("m.ptx: line 11, column 1: local memory of a varying size is not supported")
    assert str(error).endswith("3 further reasons: line 13, column 6, line 5, column 1, line 6, column 1.")


def test_the_refusal_names_the_kernels_that_would_import(mixed: Path) -> None:
    text = refused(3, "import-ptx", str(mixed))
    assert "`binalloc import-ptx --skip-unsupported` imports the other kernels: good, good2." in text
    assert not mixed.with_suffix(".loom").exists()


def test_the_others_are_imported_and_what_is_left_out_is_told(mixed: Path) -> None:
    answer = call("import-ptx", "--skip-unsupported", str(mixed), "--json")
    assert answer.code == 0
    assert [k["name"] for k in answer.json["kernels"]] == ["good", "good2"]
    assert [left["kernel"] for left in answer.json["left_out"]] == ["stack", "caller"]
    reason = answer.json["left_out"][1]["refusals"][1]
    assert reason["function"] == "bad"
    assert reason["place"] == "line 6, column 1"
    assert "%envreg3" in reason["message"]
    assert sorted(reason) == ["expected", "file", "found", "function", "message", "place", "remedy"]
    lines = answer.err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "stack left out", "stack left out", "caller left out (in bad)", "caller left out (in bad)",
    ]  # fmt: skip
    assert "line 13, column 6: " in lines[1]
    module = load(mixed.with_suffix(".loom"))
    assert [fn.name for fn in module] == ["good", "good2"]
    text = HEAD + entry("good", GOOD) + entry("good2", GOOD.replace("good_", "good2_"))
    alone = import_ptx(text, machine="gtx680").module
    assert [fn.instrs for fn in module] == [fn.instrs for fn in alone]


def test_nothing_left_is_refused_and_nothing_left_out_is_told(tmp_path: Path) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(HEAD + entry("a", "alloca.u64 %d1, 8;") + entry("b", "wmma.load.a.sync;"))
    text = refused(3, "import-ptx", "--skip-unsupported", str(source))
    assert "skip-unsupported" not in text
    assert "One further reason: line 8, column 1." in text
    assert not source.with_suffix(".loom").exists()
    source.write_text(HEAD + entry("good", GOOD))
    answer = call("import-ptx", "--skip-unsupported", str(source), "--json")
    assert (answer.json["left_out"], answer.err) == ([], "")


def test_wanted_kernels_alone_are_looked_at(mixed: Path) -> None:
    assert call("import-ptx", "--kernel", "good", str(mixed)).code == 0
    answer = call("import-ptx", "--skip-unsupported", "--kernel", "caller", "--kernel", "good2", str(mixed), "--json")
    assert [k["name"] for k in answer.json["kernels"]] == ["good2"]
    assert [left["kernel"] for left in answer.json["left_out"]] == ["caller"]
    assert "skip-unsupported" not in refused(3, "import-ptx", "--kernel", "caller", str(mixed))


def test_errors_of_the_text_concern_the_whole_file(tmp_path: Path) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(HEAD + entry("good", GOOD) + entry("b", "add.s32 %r1, %r20, 4;"))
    assert "undeclared register" in refused(3, "import-ptx", "--skip-unsupported", str(source))


CONST = ".const .align 4 .b8 {name}[40000];\n"


def takes(name: str) -> str:
    return f"mov.u32 %r1, 0; mov.u64 %d1, {name}; ld.const.u32 %r2, [{name}];"


@pytest.mark.parametrize(
    ("text", "left", "message"),
    [
        (CONST.format(name="c1") + CONST.format(name="c2") + entry("good", takes("c1")) + entry("b", takes("c2")), "b",
         ".const variables take 80000 bytes"),
        (".extern .func far; \n" + entry("good", GOOD) + entry("b", "call far;"), "b", "far is declared but not"),
        (".func g; .func f { call g; ret; } .func g { call f; trap.x; ret; }\n" + entry("good", GOOD)
         + entry("b", "call f;"), "b", "modifier .x of trap"),
        (".shared .align 4 .b8 big[20000000];\n" + entry("good", GOOD) + entry("b", "mov.u32 %r1, big;"), "b",
         "too much shared memory"),
    ],
)  # fmt: skip
def test_reasons_beyond_instructions_concern_their_kernels(text: str, left: str, message: str) -> None:
    imported = import_ptx(HEAD + text, skip_unsupported=True, machine="gtx680")
    assert [k.name for k in imported.kernels][:1] == ["good"]
    assert [out.kernel for out in imported.left_out] == [left]
    for out in imported.left_out:
        assert message in out.refusals[0].error.message


@pytest.mark.parametrize("name", ["cfd", "FDTD3d", "dxtc", "recursiveGaussian"])
def test_every_instruction_behind_a_refused_one_is_still_looked_at(name: str) -> None:
    """Sample texts in which random instructions are refused: exactly those are told."""
    lines = sample_file(f"{name}.ptx").read_text().splitlines()
    rng = random.Random(len(name))
    starts = [k for k, line in enumerate(lines) if line.startswith("\t") and line.rstrip().endswith(";")]
    body = [k for k in starts if not line_is_declaration(lines[k])]
    chosen = sorted(rng.sample(body, 12))
    for k in chosen:
        lines[k] = f"\tfrobnicate.b32 1; // {lines[k]}"
    with pytest.raises(NotImportable) as caught:
        import_ptx("\n".join(lines), "x.ptx", machine="gtx680")
    told = {r.error.place: r.error.message for left in caught.value.left_out for r in left.refusals}
    ours = {f"line {k + 1}, column 2" for k in chosen}
    assert ours == {place for place, message in told.items() if "frobnicate" in message}
    # a variable that nothing names any more has no place: no other consequences
    assert set(told) == ours


def line_is_declaration(line: str) -> bool:
    """Directives, and what other lines need to be there: branches and calls take several lines in these texts."""
    return line.lstrip().startswith(".") or not line.lstrip()[0].isalpha() or "call" in line
