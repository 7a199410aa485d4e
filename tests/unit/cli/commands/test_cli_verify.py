"""The command `verify`: proofs of pairs, which kernels and machines it takes, how it says no."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.kits.cli import ROOT, call, launch, loom, rescheduled

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


DEEP = """
.kernel plain
    .block 32
    MOV R5, 1
    EXIT
.end
.kernel deep
    .block 32
    .local_bytes 0x10
    MOV R4, 0x10
    CALL f
    EXIT
.end
.func f
    ISETP.LE.AND P0, PT, R4, 0x2, PT
    @P0 RET
    IADD3 R4, R4, -1, RZ
    CALL f
    RET
.end
.kernel far
    .block 32
    MOV R6, 0x11
    MOV R5, 0x20
    CALL.IND R5
    EXIT
.end
"""
ALONE = DEEP[: DEEP.index(".kernel deep")]


def binary(folder: Path, name: str, text: str) -> str:
    """A file of the assembled text, scheduled."""
    (folder / name).write_bytes(call("schedule", "-", stdin=call("asm", "-", stdin=text.encode()).raw).raw)
    return str(folder / name)


def test_kernels_that_are_as_they_were_are_told_from_those_that_are_proven(tmp_path: Path) -> None:
    before = binary(tmp_path, "before", DEEP)
    same = call("verify", before, before, "--json")
    assert (same.code, same.json["verified"], same.json["checked"]) == (0, True, None)
    assert same.json["unchanged"] == same.json["kernels"] == ["plain", "deep", "far"]
    text = call("verify", before, before).out
    assert text == "plain, deep, far: unchanged, not checked\ncontrol codes: no hazard on gtx680\n"

    other = binary(tmp_path, "other", DEEP.replace("MOV R5, 1", "MOV R7, 1"))
    found = call("verify", before, other, "--json")
    assert (found.code, found.json["checked"], found.json["unchanged"]) == (0, True, ["deep", "far"])
    text = call("verify", before, other).out
    assert text.startswith("plain: symbolic check passed\ndeep, far: unchanged, not checked\n")


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("deep", "recursion cannot be followed (f -> f): leave the kernel as it is"),
        ("far", "indirect calls cannot be followed (far calls by address): leave the kernel as it is"),
    ],
)
def test_what_no_proof_can_follow_may_only_stay_as_it_is(tmp_path: Path, kernel: str, reason: str) -> None:
    """Whatever else differs, the reason is what it calls. By name it is refused unchanged, too: proof is wanted."""
    text = DEEP.replace(ALONE, "")
    start = text.index(f".kernel {kernel}")
    text = text[start : text.find(".kernel", start + 1) % (len(text) + 1)]
    before = binary(tmp_path, "before", text)
    assert call("verify", before, before).out.startswith(f"{kernel}: unchanged, not checked\n")
    assert call("verify", before, before, "--json").json["checked"] is None
    changes = [("R4, 0x10", "R4, 0x11")] if kernel == "deep" else [("0x11", "0x12")]
    changes += [("    EXIT\n", "    MOV R9, RZ\n    EXIT\n")]
    for number, change in enumerate(changes):
        after = binary(tmp_path, f"after{number}", text.replace(*change))
        answer = call("verify", before, after, "--json")
        assert answer.code == 1
        assert answer.json["findings"][0] == f"{kernel}: {reason}"
        assert (answer.json["verified"], answer.json["unchanged"]) == (False, [])
    named = call("verify", before, before, "--kernel", kernel, "--json")
    assert (named.code, named.json["findings"], named.json["unchanged"]) == (1, [f"{kernel}: {reason}"], [])


def test_a_kernel_on_one_side_is_found_where_all_others_are_as_they_were(tmp_path: Path) -> None:
    one, both = binary(tmp_path, "one", ALONE), binary(tmp_path, "both", DEEP)
    for pair, finding in (((both, one), "missing"), ((one, both), "that the original has not")):
        answer = call("verify", *pair)
        assert answer.code == 1
        assert finding in answer.out
        assert "symbolic check FAILED" in answer.out.splitlines()[0]


def test_imports_that_differ_by_an_option_are_told_apart_by_it(tmp_path: Path) -> None:
    ptx = str(ROOT / "tests/data/ptx/recursion.ptx")
    paths = []
    for name, options in {"a": (), "b": ("--stack", "2048"), "c": ("--machine", "c2075")}.items():
        paths.append(str(tmp_path / name))
        assert call("import-ptx", ptx, "-o", paths[-1], *options).code == 0
    a, b, c = paths
    found = call("verify", a, b, "--json")
    assert found.code == 1
    assert "the two were imported differently: with stacks of 1024 and 2048 bytes per thread" in found.json["hint"]
    assert "machine" not in found.json["hint"]
    alone = call("verify", a, b, "--kernel", "plain").out
    assert "another local_bytes of " in alone
    assert " in place of " in alone
    assert "stacks of 1024 and 2048" in alone
    hint = call("verify", b, c, "--json").json["hint"]
    assert hint.index("for the machines 'gtx680' and 'c2075'") < hint.index("stacks of 2048 and 1024 bytes")
