"""The command `verify`: proofs of pairs, which kernels and machines it takes, how it says no."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.kits.cli import call, launch, loom, rescheduled

TWO_KERNELS = "".join(
    f"""
.kernel {name}
    .block 32
    .param x 8
    MOV R6, c[0][x]
    MOV R7, c[0][x+4]
    MOV R5, {number}
    STG [R6], R5
    EXIT
.end
"""
    for number, name in enumerate("AB")
)


def test_verify_fails_on_a_broken_rewrite_and_shows_where(tmp_path: Path) -> None:
    text = call("disasm", loom("callchain")).out.replace("FMUL R4, R2, R3", "FMUL R4, R2, R2")
    (tmp_path / "bad.loom").write_bytes(call("asm", "-", stdin=text.encode()).raw)
    answer = call("verify", loom("callchain"), str(tmp_path / "bad.loom"), *launch("callchain"), "--json")
    assert answer.code == 1
    found = answer.json
    assert (found["verified"], found["checked"], found["same_results"]) == (False, False, False)
    assert found["findings"]
    assert "out" in found["differences"][0]
    first = found["first_store"]
    assert first["element"] == "out[0]"
    for side in ("original", "rewritten"):
        assert first[side]["store"] == "callchain+24 `STG.32 [R2], R4`, block 0, warp 0, lane 0"
    assert first["original"]["value"] != first["rewritten"]["value"]
    text = call("verify", loom("callchain"), str(tmp_path / "bad.loom"), *launch("callchain")).out
    assert "first differing element out[0]" in text


def test_verify_needs_no_map_where_the_code_is_as_long(tmp_path: Path) -> None:
    other = rescheduled("callchain", "c2075", tmp_path)
    for pair in ((loom("callchain"), loom("callchain")), (loom("callchain"), other), (other, loom("callchain"))):
        machine = "c2075" if pair[1] == other else "gtx680"
        lines = f"callchain: symbolic check passed\ncontrol codes: no hazard on {machine}\n"
        assert call("verify", *pair).out == lines
    out = str(tmp_path / "rewritten.loom")
    options = ("--registers", "16", "--no-emulate", "-o", out)
    assert call("rewrite", loom("callchain"), *options, *launch("callchain")).code == 0
    assert call("verify", out, out).code == 0, "the map in the file leads to the binary before it"
    swapped = call("verify", out, loom("callchain"))
    assert swapped.code == 1
    assert "arguments swapped" in swapped.out


def test_verify_fails_on_an_unrelated_kernel_of_the_same_name(tmp_path: Path) -> None:
    text = call("disasm", loom("nbody")).out.replace("nbody", "callchain")
    (tmp_path / "other.loom").write_bytes(call("asm", "-", stdin=text.encode()).raw)
    answer = call("verify", loom("callchain"), str(tmp_path / "other.loom"), "--json")
    assert (answer.code, answer.json["verified"]) == (1, False)
    assert "no instruction map" in answer.json["hint"]


def test_verify_proves_every_kernel_that_changed_and_with_a_name_that_one_alone(tmp_path: Path) -> None:
    source = tmp_path / "two.lasm"
    source.write_text(TWO_KERNELS)
    first, second, third = (str(tmp_path / name) for name in ("1.loom", "2.loom", "3.loom"))
    call("asm", str(source), "-o", first)
    assert call("rewrite", first, "--kernel", "A", "--registers", "4", "-o", second).code == 0
    assert call("rewrite", second, "--kernel", "B", "--registers", "4", "-o", third).code == 0
    found = call("verify", first, third, "--json").json
    assert (found["kernels"], found["verified"]) == (["A", "B"], True)
    alone = call("verify", first, third, "--kernel", "A")
    assert alone.code == 1
    assert "B: another kernel was changed" in alone.out
    assert call("verify", first, second, "--kernel", "A").code == 0


EMPTY_KERNELS = """
.kernel a
    EXIT
.end
.kernel b
    EXIT
.end
"""


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("", "\n.kernel evil\n    EXIT\n.end\n", "evil: a kernel that the original has not"),
        (".kernel b", ".kernel bb", "b: a kernel of the original is missing"),
        (".kernel b\n    EXIT\n.end\n", "", "b: a kernel of the original is missing"),
        (".kernel a\n    EXIT\n.end\n.kernel b\n", ".kernel c\n", "a: a kernel of the original is missing"),
    ],
)
def test_verify_answers_no_where_kernels_came_or_went(tmp_path: Path, old: str, new: str, finding: str) -> None:
    changed = EMPTY_KERNELS.replace(old, new, 1) if old else EMPTY_KERNELS + new
    for name, text in (("one", EMPTY_KERNELS), ("two", changed)):
        (tmp_path / name).write_bytes(call("schedule", "-", stdin=call("asm", "-", stdin=text.encode()).raw).raw)
    for kernel in ("", *re.findall(r"kernel (\w+)", changed)):
        (tmp_path / "k.toml").write_text(f'kernel = "{kernel}"\ngrid = 1\nblock = 32\n')
        launch = ["--launch", str(tmp_path / "k.toml"), "--engine", "python"] if kernel else []
        answer = call("verify", str(tmp_path / "one"), str(tmp_path / "two"), *launch, "--json")
        assert answer.code == 1, answer.err
        assert any(finding in text for text in answer.json["findings"]), answer.json["findings"]


def test_binaries_without_a_kernel_in_common_are_told_so() -> None:
    answer = call("verify", loom("callchain"), loom("matmul"))
    assert answer.code == 1
    assert answer.out.startswith("no kernel in common: symbolic check FAILED\n")
