"""`share`: blocks of a kernel share memory two by two; versions are proven, run, compared and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import write_module
from tests.support.kits.cli import call
from tests.support.paths import ROOT

FOLDER = ROOT / "samples" / "sharing"
MACHINE = ["--machine", "gpgpusim-sharing"]


def command(sample: str, *options: str) -> list[str]:
    """The command for a sample, at its smallest size, in the `python` engine."""
    file = str(FOLDER / sample)
    launch = ["--launch", f"{file}.toml", "--size", "test", "--engine", "python"]
    return ["share", f"{file}.ptx", *launch, *MACHINE, *options]


def refused(code: int, line: list[str]) -> str:
    """What a command says that ends with an exit code. What the import of PTX says comes before."""
    answer = call(*line)
    assert answer.code == code, answer.err
    assert answer.out == ""
    return answer.err


def test_the_fastest_proven_version_is_written_and_runs(tmp_path: Path) -> None:
    made = str(tmp_path / "made.loom")
    answer = call(*command("backprop/backprop", "-o", made))
    assert answer.code == 0, answer.err
    first, second, *rest = answer.out.splitlines()
    assert first.startswith("backprop: 1.5")
    assert first.endswith("times as fast (emulated) with 2 blocks instead of 1, 2 of them in pairs")
    assert "cycles under lrr" in second
    assert rest[-1] == f"{made} was written; it is run with sharing 1:6976, under owf."
    assert "_ZZ8backpropE8products" in rest[4]
    assert rest[4].rstrip().endswith("proven")
    options = ["--launch", f"{FOLDER}/backprop/backprop.toml", "--size", "test", "--engine", "python", *MACHINE]
    shared = [*options, "--sharing", "1:6976", "--scheduler", "owf", "--check", "--race", "--reference", "--json"]
    run = call("run", made, *shared).json
    assert (run["reference"], run["blocks_per_sm"]) == ("same", 2)
    assert run["stats"]["locks_taken"] == 2
    again = refused(1, [made if part.endswith(".ptx") else part for part in command("backprop/backprop")])
    assert "the kernel releases shared memory already" in again


def test_json_has_the_lives_of_blocks_and_what_has_moved() -> None:
    found = call(*command("srad/SRAD2", "--json")).json
    (one,) = found["versions"]
    assert found["chosen"] == 0
    assert found["original"]["blocks_per_sm"] == 1
    assert found["original"]["oldest_cycles"] > 0
    assert one["speedup"] == round(found["original"]["cycles"] / one["cycles"], 4) > 1.3
    assert (one["same_results"], one["proven"], one["unproven"], one["ended"]) == (True, True, None, None)
    assert one["share_before"] + one["share_with"] + one["share_behind"] == pytest.approx(1, abs=1e-3)
    assert {name: move["distance"] for move in one["moved"] for name in move["variables"]} == {
        **dict.fromkeys(("_ZZ5SRAD2E5south", "_ZZ5SRAD2E4east", "_ZZ5SRAD2E12coefficients"), 4608),
        **dict.fromkeys(("_ZZ5SRAD2E6result", "_ZZ5SRAD2E6pixels"), -6912),
    }
    kept = call(*command("srad/SRAD2", "--layout", "keep", "--json")).json["versions"][0]
    assert kept["moved"] == []
    assert kept["weight"] > one["weight"]


@pytest.mark.parametrize(
    ("options", "releases"),
    [
        ([], [(93, None, "P0"), (104, None, None)]),
        (["--edges", "jump"], [(104, None, None), (106, 93, None)]),
        (["--release", "postdom"], [(106, None, None)]),
        (["--release", "none"], []),
    ],
)  # fmt: skip
def test_places_of_releases(options: list[str], releases: list[tuple[int, int | None, str | None]]) -> None:
    (one,) = call(*command("backprop/backprop", "--no-emulate", "--json", *options)).json["versions"]
    found = [(place["index"], place["from_index"], place["condition"]) for place in one["releases"]]
    assert sorted(found) == sorted(releases)
    assert (one["proven"], one["cycles"], one["same_results"]) == (True, None, None)


def test_a_threshold_and_a_pairing() -> None:
    (tenth,) = call(*command("dct8x8/DCT3", "--no-emulate", "--json", "--sharing", "0.1")).json["versions"]
    assert (tenth["blocks_per_sm"], tenth["pairs"], tenth["unshared"], tenth["private_bytes"]) == (12, 5, 2, 216)
    every = call(*command("dct8x8/DCT3", "--no-emulate", "--json")).json
    assert [one["pairs"] for one in every["versions"]] == list(range(1, 8))
    assert every["chosen"] == 6  # without runs that with the most blocks
    (stated,) = call(*command("dct8x8/DCT3", "--no-emulate", "--json", "--sharing", "2:96")).json["versions"]
    assert (stated["blocks_per_sm"], stated["private_bytes"], stated["option"]) == (9, 96, "2:96")


def test_what_cannot_be_shared() -> None:
    text = refused(1, command("gaussian/gaussian"))
    assert "no block is gained where blocks share memory" in text
    assert "without that, limited by " in text
    assert "between 0 and 1" in refused(2, command("backprop/backprop", "--sharing", "1.5"))
    assert "PAIRS:BYTES" in refused(2, command("backprop/backprop", "--sharing", "1:x"))
    for wrong in ("AUTO", "nan", "0", "", "off"):
        text = refused(2, command("backprop/backprop", "--sharing", wrong))
        assert f"--sharing: no such sharing; found {wrong or 'nothing'}; expected auto, a threshold" in text
        assert "PAIRS:BYTES" in text
    assert "at most 0.741" in refused(1, command("backprop/backprop", "--sharing", "0.9"))


def without_symbols(sample: str, folder: Path) -> str:
    """A sample's binary that does not say from which variables its addresses come."""
    file = folder / "bare.loom"
    module = import_ptx((FOLDER / f"{sample}.ptx").read_text(), machine="gpgpusim-sharing").module
    bare = replace(module, functions=[replace(fn, touches={}) for fn in module])
    file.write_bytes(write_module(bare))
    return str(file)


@pytest.mark.parametrize(
    ("name", "words", "slots"),
    [
        ("share", "auto", "[:SLOTS]"),
        ("run", "off", "[:SLOTS]"),
        ("rewrite", "auto, off", ""),
        ("recommend", "auto, off", ""),
        ("sweep", "auto, off", "[:SLOTS]"),
    ],
)
def test_what_sharing_may_be_is_said_in_full(name: str, words: str, slots: str) -> None:
    given = command("backprop/backprop")
    numbers = f"a threshold between 0 and 1, as 0.1 or 1/10, or PAIRS:BYTES{slots}. Give the share of a block's memory"
    for wrong in ("2", "1:x", "1:2:3:4", "1_0:4", "+1:4", "\u0661:4"):
        text = refused(2, [name, *given[1:], "--sharing", wrong])
        assert f"--sharing: no such sharing; found {wrong}; expected {words}, {numbers}" in text


def test_numbers_that_the_binary_was_not_made_for(tmp_path: Path) -> None:
    """Its releases are right for its own numbers alone; what is wrong is the option."""
    _, version = made(tmp_path, "backprop/backprop")
    options = ["--launch", f"{FOLDER}/backprop/backprop.toml", "--size", "test", "--engine", "python"]
    for asked, has in (("1:4096", "4,096 private bytes"), ("0.1", "940 private bytes")):
        text = refused(5, ["run", version, *options, *MACHINE, "--sharing", asked])
        assert f"The binary was made for 1:6976, and has {has} here: give --sharing 1:6976." in text
        assert "Put RELSSP" not in text
    remedy = "The binary was made for --sharing 1:6976; --sharing off runs it, too."
    for asked, what in (("2:6976", "number of pairs"), ("1:6978", "private bytes"), ("1:6976:1", "number of slots")):
        text = refused(2, ["run", version, *options, *MACHINE, "--sharing", asked])
        assert f"{what} out of range" in text
        assert remedy in text
    narrow = str(tmp_path / "a100.loom")
    assert call("schedule", version, "--machine", "a100", "-o", narrow).code == 0
    text = refused(1, ["run", narrow, *options, "--machine", "a100", "--sharing", "1:6976"])
    assert "no block is gained" in text
    assert "limited by " in text
    assert remedy in text


def test_variables_that_have_to_move_and_cannot(tmp_path: Path) -> None:
    line = command("heartwall/heartwall_128", "--layout", "move", "--no-emulate")
    bare = without_symbols("heartwall/heartwall_128", tmp_path)
    text = refused(1, [bare if part.endswith(".ptx") else part for part in line])
    assert "variables cannot be moved, as not every access is known to stay in one" in text
    assert call(*line).code == 0


def test_a_proof_that_rests_on_cs_rule_says_so(tmp_path: Path) -> None:
    made = str(tmp_path / "made.loom")
    answer = call(*command("NQU/NQU", "-o", made))
    assert answer.code == 0, answer.err
    rule = "9 accesses rest on C's rule: the importer saw their addresses come from their variables"
    assert "proven; 9 by C's rule" in answer.out
    assert f"{rule}.\n" in answer.out
    (one,) = call(*command("NQU/NQU", "--json", "--no-emulate")).json["versions"]
    assert one["by_symbol"] == 9
    found = call("verify", str(FOLDER / "NQU" / "NQU.ptx"), made, *MACHINE)
    assert found.code == 0, found.err
    assert f"proven for blocks of 64 x 1 x 1; {rule}" in found.out
    (turn,) = call("verify", str(FOLDER / "NQU" / "NQU.ptx"), made, *MACHINE, "--json").json["turns"]
    assert (turn["proven"], turn["by_symbol"]) == (True, 9)
    bare = without_symbols("NQU/NQU", tmp_path)
    assert call("verify", bare, made, *MACHINE).code == 1  # the original does not say it, so it cannot be made again


def test_nothing_is_written_without_a_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.pipeline.sharing import sharing
    from binalloc.verify.report import CheckReport, Finding

    failed = CheckReport(False, [Finding("release", "k", 3, 3, "said so")])
    monkeypatch.setattr(sharing, "check_shared", lambda *_: failed)
    made = tmp_path / "made.loom"
    answer = call(*command("backprop/backprop", "--no-emulate", "-o", str(made)))
    assert answer.code == 1
    assert "no version is proven: nothing is written" in answer.err
    assert "not proven: " in answer.out
    assert not made.exists()


# -- verify


def made(tmp_path: Path, sample: str, *options: str) -> tuple[str, str]:
    """The original as a binary, and the version of it that `share` writes."""
    original, version = str(tmp_path / "original.loom"), str(tmp_path / "version.loom")
    assert call("import-ptx", f"{FOLDER / sample}.ptx", *MACHINE, "-o", original).code == 0
    line = [original if part.endswith(".ptx") else part for part in command(sample, *options)]
    answer = call(*line, "--no-emulate", "-o", version)
    assert answer.code == 0, answer.err
    return original, version


@pytest.mark.parametrize("options", [[], ["--release", "postdom"], ["--edges", "jump"], ["--sharing", "0.1"]])
def test_what_is_written_is_proven_again(tmp_path: Path, options: list[str]) -> None:
    original, version = made(tmp_path, "backprop/backprop", *options)
    answer = call("verify", original, version, *MACHINE)
    assert answer.code == 0, answer.out
    how = "1:940" if "0.1" in options else "1:6976"
    assert f"backprop: blocks share memory two by two, {how}: proven for blocks of 16 x 16 x 1\n" in answer.out
    assert "in turns" not in answer.out
    assert "backprop: symbolic check passed" in answer.out  # against the version made again


def test_a_binary_that_its_record_does_not_describe_is_not_called_proven(tmp_path: Path) -> None:
    """The version that the record describes has a proof; the binary, in which a release is missing, has none."""
    original, version = made(tmp_path, "backprop/backprop")
    text = call("disasm", version).out
    assert "RELSSP" in text
    (tmp_path / "other.lasm").write_text(text.replace("RELSSP", "NOP"))
    assert call("asm", str(tmp_path / "other.lasm"), "-o", version).code == 0
    answer = call("verify", original, version, *MACHINE)
    assert answer.code == 1
    what = "what its record describes is proven for blocks of 16 x 16 x 1"
    assert f"backprop: blocks share memory two by two, 1:6976: {what}\n" in answer.out
    assert "symbolic check FAILED" in answer.out


def test_a_named_kernel_is_proven_again_too(tmp_path: Path) -> None:
    """With a name it is checked, as it may be one of several: against the version made again, word by word."""
    original, version = made(tmp_path, "backprop/backprop")
    assert "RELSSP" in call("disasm", version).out
    answer = call("verify", original, version, "--kernel", "backprop", *MACHINE)
    assert answer.code == 0, answer.out
    assert "backprop: symbolic check passed" in answer.out


def test_a_record_is_not_trusted(tmp_path: Path) -> None:
    original, version = made(tmp_path, "backprop/backprop")
    text = call("disasm", version).out
    (tmp_path / "early.lasm").write_text(text.replace("6976", "256"))
    early = call("asm", str(tmp_path / "early.lasm"), "-o", str(tmp_path / "early.loom"))
    assert early.code == 0, early.err
    assert call("verify", original, str(tmp_path / "early.loom"), *MACHINE).code == 1

    for before, after in (('"release": "opt"', '"release": "never"'), ('"edges": "kept"', '"edges": "none"'),
                          ('"pairs": 1', '"pairs": 0'),
                          ('"release": "opt", "edges": "kept"', '"release": "postdom", "edges": "jump"')):  # fmt: skip
        assert text.count(before) == 1
        (tmp_path / "other.lasm").write_text(text.replace(before, after))
        assert call("asm", str(tmp_path / "other.lasm"), "-o", str(tmp_path / "other.loom")).code == 0
        found = call("verify", original, str(tmp_path / "other.loom"), *MACHINE)
        assert found.code == 1
        assert "a record of sharing says what nobody does" in found.out


WRONG_RECORDS = [
    ('"private": 6976', '"private": 6974'),
    ('"private": 6976', '"private": "6976"'),
    ('"private": 6976', '"private": 6976, "slots": 0'),
    ('"private": 6976', '"private": 6976, "slots": null'),
    ('"private": 6976', '"private": 6976, "numbers": []'),
    ('"private": 6976', '"private": 6976, "slots": 0, "numbers": []'),
    ('"private": 6976', '"private": 6976, "slots": 1, "numbers": [], "distances": [0, 0, 0]'),
    ('"private": 6976', '"private": 6976, "slots": 1, "numbers": [0, 0], "distances": [0, 0, 0]'),
    ('"private": 6976', '"private": 6976, "numbers": [0, 1], "distances": [0, 0, 0]'),
    ('"moved": true', '"moved": false, "distances": [4, 0, 0]'),
]


@pytest.mark.parametrize(("before", "after"), WRONG_RECORDS)
def test_a_record_has_what_belongs_together(tmp_path: Path, before: str, after: str) -> None:
    """Private bytes are whole words; private slots come with a number for each slot and all distances."""
    original, version = made(tmp_path, "backprop/backprop")
    text = call("disasm", version).out
    assert text.count(before) == 1
    (tmp_path / "other.lasm").write_text(text.replace(before, after))
    other = str(tmp_path / "other.loom")
    assert call("asm", str(tmp_path / "other.lasm"), "-o", other).code == 0
    text = refused(3, ["verify", original, other, *MACHINE])
    assert "a record of sharing makes no sense" in text
    assert "expected pairs, private bytes in whole words" in text
    options = ["--launch", f"{FOLDER}/backprop/backprop.toml", "--size", "test", "--engine", "python", *MACHINE]
    assert "Put RELSSP" in refused(5, ["run", other, *options, "--sharing", "1:4096"])


BY_HAND = """.kernel k
.block 32
.auto_reconv
.param out, 8
.shared_bytes 512
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    IMAD.WIDE R2, R0, 0x4, R2
    STS.32 [R1+0x100], R0
{early}
    LDS.32 R4, [R1+0x100]
{late}
    STG.32 [R2], R4
    EXIT
.end
"""


def by_hand(tmp_path: Path, name: str, early: str = "", late: str = "", text: str = BY_HAND) -> str:
    (tmp_path / f"{name}.lasm").write_text(text.format(early=early, late=late))
    file, scheduled = str(tmp_path / f"{name}.loom"), str(tmp_path / f"{name}_scheduled.loom")
    assert call("asm", str(tmp_path / f"{name}.lasm"), "-o", file).code == 0
    assert call("schedule", file, *MACHINE, "-o", scheduled).code == 0
    return scheduled


def test_edges_are_about_one_way_to_release() -> None:
    for release in ("postdom", "none"):
        text = refused(2, command("backprop/backprop", "--edges", "jump", "--release", release))
        assert f"found --release {release}; expected --release opt" in text


def test_releases_put_in_by_hand(tmp_path: Path) -> None:
    """What is missing or repeated is named with the path to it."""
    plain, right = by_hand(tmp_path, "plain"), by_hand(tmp_path, "right", late="    RELSSP")
    shared = ["--sharing", "1:256", *MACHINE]
    assert call("verify", plain, right, *shared).code == 0
    unsaid = call("verify", plain, right, *MACHINE)
    assert unsaid.code == 1
    assert "nothing says how many bytes are private" in unsaid.out
    assert "say how blocks share memory, as PAIRS:BYTES" in unsaid.out
    for wrong in ("1:x", "1:", "1:2:3", "1:255", "0:256", "nothing"):
        assert "--sharing: no such sharing" in refused(2, ["verify", plain, right, "--sharing", wrong, *MACHINE])
    early = call("verify", plain, by_hand(tmp_path, "early", early="    RELSSP"), *shared)
    assert early.code == 1
    assert "may be an access behind a release" in early.out
    assert "a release at k+6, to k+7" in early.out
    twice = call("verify", plain, by_hand(tmp_path, "twice", late="    RELSSP\n    RELSSP"), *shared)
    assert twice.code == 1
    assert "a thread may have executed RELSSP before" in twice.out
    guarded = call("verify", plain, by_hand(tmp_path, "some", late="    @P0 RELSSP"), *shared)
    assert guarded.code == 0
    assert "a thread may end without RELSSP" in guarded.out


def test_private_bytes_end_at_no_wide_access(tmp_path: Path) -> None:
    """Of a kernel with accesses of 16 bytes a run has private bytes in multiples of 16 alone."""
    wide = BY_HAND.replace("LDS.32 R4, [R1+0x100]", "LDS.128 R4, [RZ+0x2000]").replace("512", "12288")
    plain, right = by_hand(tmp_path, "plain", text=wide), by_hand(tmp_path, "right", late="    RELSSP", text=wide)
    answer = refused(2, ["verify", plain, right, "--sharing", "1:252", *MACHINE])
    assert "other private bytes in multiples of 16" in answer
    (tmp_path / "k.toml").write_text(
        'kernel = "k"\ngrid = [2]\nblock = [32]\n\n[[argument]]\nname = "out"\nkind = "buffer"\ndtype = "u32"\n'
        'shape = [32]\ninit = "zeros"\n'
    )
    version = str(tmp_path / "version.loom")
    line = ["share", plain, "--launch", str(tmp_path / "k.toml"), "--no-emulate", *MACHINE, "-o", version]
    assert call(*line).code == 0
    code = call("disasm", version).out
    assert code.count('"private": 4096') == 1
    (tmp_path / "less.lasm").write_text(code.replace('"private": 4096', '"private": 4092'))
    assert call("asm", str(tmp_path / "less.lasm"), "-o", version).code == 0
    found = call("verify", plain, version, *MACHINE)
    assert found.code == 1
    assert "a record of sharing does not fit the kernel; found 1:4092" in found.out
    assert "in multiples of 16" in found.out
