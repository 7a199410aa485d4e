"""`rewrite --sharing`: blocks share memory two by two, with registers and slots that are asked for or chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from binalloc.isa.sets.files import load
from tests.support.kits.cli import call, refused
from tests.support.paths import sample_file
from tests.unit.cli.commands.pairs.conftest import Shareable, shareable


def test_slots_are_private_bytes_of_each_block(queens: Shareable) -> None:
    """The same kernel with more slots has fewer bytes of its variables private."""
    made = str(queens.folder / "slots.loom")
    line = ["rewrite", queens.binary, *queens.launch, "--registers", "10", "--slots", "4", "--sharing", "auto"]
    found = call(*line, "-o", made, "--json").json
    assert (found["verified"], found["same_results"], found["checked"]) == (True, True, True)
    assert (found["rewritten"]["slots"], found["rewritten"]["blocks_per_sm"]) == (4, 2)
    taken = found["pairs"]["chosen"]
    assert (taken["technique"], taken["scheduler"], taken["pairs"]) == ("both", "owf", 1)
    own = 16384 - found["rewritten"]["shared_bytes"]
    assert taken["private_bytes"] == own, "all that is left beside one block"
    (record,) = [one for one in load(made).provenance if "shared" in one]
    assert record["shared"] == {"pairs": 1, "private": own, "release": "opt", "edges": "kept", "moved": True,
                                "dynamic": 0}  # fmt: skip
    assert (record["registers"], record["slots"]) == (10, 4)
    run = ["run", made, *queens.launch, "--sharing", taken["sharing"], "--check", "--race", "--json"]
    for scheduler in ("owf", "lrr"):
        ran = call(*run, "--scheduler", scheduler, "--reference").json
        assert (ran["reference"], ran["blocks_per_sm"]) == ("same", 2)
        if scheduler == "owf":
            assert ran["cycles"] == found["rewritten"]["cycles"]
    answer = call("verify", queens.binary, made, "--machine", "gpgpusim-sharing")
    assert f"NQU: blocks share memory two by two, {taken['sharing']}: proven for blocks of 64 x 1 x 1" in answer.out
    assert answer.code == 0, answer.out


def test_the_version_made_again_has_the_slots_of_the_binary(tmp_path: Path) -> None:
    """Slots leave fewer private bytes for variables, so that here other ones lie in the shared part."""
    cosine = shareable("DCT4", "gpgpusim-sharing", tmp_path)
    made = str(tmp_path / "made.loom")
    line = ["rewrite", cosine.binary, *cosine.launch, "--registers", "12", "--slots", "4", "--sharing", "auto"]
    found = call(*line, "-o", made, "--json").json
    assert (found["rewritten"]["slots"], found["pairs"]["chosen"]["private_bytes"]) == (4, 16384 - 3 * 4224)
    answer = call("verify", cosine.binary, made, "--machine", "gpgpusim-sharing")
    assert answer.code == 0, answer.out
    option = found["pairs"]["chosen"]["sharing"]
    both = call("verify", cosine.binary, made, *cosine.launch, "--sharing", option, "--scheduler", "owf", "--json").json
    assert (both["verified"], both["same_results"]) == (True, True)
    unshared = call("run", cosine.binary, *cosine.launch, "--scheduler", "owf", "--json").json["cycles"]
    assert both["cycles"] == {"original": unshared, "rewritten": found["rewritten"]["cycles"]}


def test_what_each_technique_gives(srad: Shareable) -> None:
    line = ["rewrite", srad.binary, *srad.launch, "--registers", "10", "--slots", "0", "--sharing", "1:4864"]
    found = call(*line, "--json").json
    pairs = found["pairs"]
    ways = {(way["technique"], way["scheduler"]): way for way in pairs["ways"]}
    assert [*ways] == [(what, name) for name in ("lrr", "owf") for what in ("original", "level")] + [("both", "owf")]
    cycles = {key: way["cycles"] for key, way in ways.items()}
    assert cycles["original", "lrr"] == found["original"]["cycles"]
    assert cycles["level", "lrr"] == pairs["without"]["cycles"]
    assert cycles["both", "owf"] == found["rewritten"]["cycles"] < cycles["level", "owf"]
    plain = call("rewrite", *line[1:-2], "-o", str(srad.folder / "plain.loom"), "--json").json
    assert plain["rewritten"]["cycles"] == cycles["level", "lrr"]
    owf = call("run", str(srad.folder / "plain.loom"), *srad.launch, "--scheduler", "owf", "--json").json
    assert owf["cycles"] == cycles["level", "owf"]
    parts = found["speedup_parts"]
    assert parts == {
        "allocation": round(cycles["original", "lrr"] / cycles["level", "lrr"], 4),
        "scheduler": round(cycles["level", "lrr"] / cycles["level", "owf"], 4),
        "pairs": round(cycles["level", "owf"] / cycles["both", "owf"], 4),
    }
    assert parts["allocation"] * parts["scheduler"] * parts["pairs"] == pytest.approx(found["speedup"], abs=1e-3)
    out = call(*line).out
    head, how, *_ = out.splitlines()
    assert head == (
        f"SRAD2: taken are 2 blocks per SM, 2 of them in pairs, under owf, {found['speedup']:.3f} times as fast as the "
        "original on gpgpusim-sharing, emulated."
    )
    assert how == "No GPU lets blocks share memory so; it is emulated with sharing 1:4864, under owf."
    assert "What blocks give that share memory two by two (1:4864)\n" in out


def test_the_policy_chooses_among_levels_with_and_without_pairs(srad: Shareable) -> None:
    made = str(srad.folder / "auto.loom")
    line = ["rewrite", srad.binary, *srad.launch, "--auto", "--sharing", "auto"]
    found = call(*line, "-o", made, "--json").json
    ways = found["pairs"]["ways"]
    assert {way["technique"] for way in ways} == {"original", "level", "overlay", "pairs", "both"}
    assert {way["scheduler"] for way in ways} == {"lrr", "owf"}
    shared = call("share", srad.binary, *srad.launch, "--json").json["versions"][0]
    assert [w["cycles"] for w in ways if (w["technique"], w["scheduler"]) == ("pairs", "owf")] == [shared["cycles"]]
    best = min((way for way in ways if way["cycles"]), key=lambda way: way["cycles"])
    taken = found["pairs"]["chosen"]
    assert (taken["technique"], taken["scheduler"], taken["sharing"]) == (
        best["technique"], best["scheduler"], best["sharing"]
    )  # fmt: skip
    assert (found["rewritten"]["cycles"], found["kept_original"]) == (best["cycles"], False)
    ran = call("run", made, *srad.launch, "--sharing", taken["sharing"], "--scheduler", taken["scheduler"], "--json")
    assert ran.json["cycles"] == best["cycles"]
    assert call("verify", srad.binary, made, "--machine", "gpgpusim-sharing").code == 0


def test_registers_alone_get_as_many_slots_as_leave_pairs(queens: Shareable) -> None:
    line = ["rewrite", queens.binary, *queens.launch, "--registers", "10", "--sharing", "0.1"]
    found = call(*line, "--scheduler", "two_level", "--json").json
    assert found["rewritten"]["slots"] >= 4
    assert {way["scheduler"] for way in found["pairs"]["ways"]} == {"two_level"}, "a scheduler that is named is taken"
    assert found["verified"]


def test_without_the_option_all_is_as_it_was(srad: Shareable) -> None:
    files = [srad.folder / name for name in ("off.loom", "none.loom")]
    line = ["rewrite", srad.binary, *srad.launch, "--registers", "10"]
    answers = [call(*line, *more, "-o", str(file), "--json").json
               for more, file in zip((["--sharing", "off"], []), files, strict=True)]  # fmt: skip
    assert answers[0] == answers[1]
    assert "pairs" not in answers[0]
    assert files[0].read_bytes() == files[1].read_bytes()


CONFLICTS: list[tuple[tuple[str, ...], str]] = [
    (("--sharing", "1"), "a threshold between 0 and 1"),
    (("--sharing", "0"), "a threshold between 0 and 1"),
    (("--sharing", "1:x"), "PAIRS:BYTES"),
    (("--sharing", "2:4864"), "number of pairs out of range; found 2; expected 1 to 1"),
    (("--sharing", "1:9000"), "private bytes out of range; found 9000; expected 0 to 4,864"),
    (("--sharing", "auto", "--multiplex", "today"), "Leave out one of them"),
    (("--sharing", "auto", "--no-emulate"), "--sharing measures versions in the emulator"),
    (("--schedulers", "owf"), "expected --sharing"),
]


@pytest.mark.parametrize(("options", "message"), CONFLICTS)
def test_conflicts(srad: Shareable, options: tuple[str, ...], message: str) -> None:
    line = ["rewrite", srad.binary, *srad.launch, "--registers", "10", "--slots", "0"]
    if "--multiplex" in options:
        line = line[:-4]
    assert message in refused(2, *line, *options)


def test_blocks_are_chosen(srad: Shareable) -> None:
    assert "--blocks" in refused(2, "rewrite", srad.binary, *srad.launch, "--blocks", "2", "--sharing", "auto")


def test_slots_that_leave_no_pair(srad: Shareable) -> None:
    line = ["rewrite", srad.binary, *srad.launch, "--registers", "7", "--slots", "2", "--sharing", "auto"]
    text = refused(1, *line)
    assert "the slots leave no room for a pair of blocks" in text
    assert "expected at most 1 slot. Rewrite with --slots N for fewer slots." in text
    line[line.index("2")] = "1"
    assert call(*line, "--json").json["pairs"]["chosen"] is not None


def test_no_block_is_gained(tmp_path: Any) -> None:
    """What limits the blocks is said, before anything is run; a policy's choice goes on without pairs."""
    ptx, launch = str(sample_file("DCT5.ptx")), ["--launch", str(sample_file("DCT5.toml")), "--size", "test"]
    line = ["rewrite", ptx, *launch, "--machine", "gpgpusim-sharing", "--sharing", "auto"]
    answer = call(*line, "--registers", "14")
    assert answer.code == 1
    assert "found 16 blocks on an SM of gpgpusim-sharing without that, limited by blocks" in answer.err
    found = call(*line, "--json").json
    assert (found["pairs"]["chosen"], found["verified"]) == (None, True)
    assert "limited by blocks" in found["pairs"]["reason"]


IMPOSSIBLE = [
    ("1:2", "found 1:2, private bytes out of range; expected 0 to 4,864: a multiple of 4. Take --sharing auto"),
    ("99:4", "found 99:4, number of pairs out of range; expected 1 to 1. Take --sharing auto"),
    ("0.9", "expected room for the private part of one more, 9/10 of a block. Take a threshold of at most 0.422."),
]


@pytest.mark.parametrize("command", ["rewrite", "recommend"])
@pytest.mark.parametrize(("asked", "message"), IMPOSSIBLE)
def test_pairs_that_no_level_leaves(srad: Shareable, command: str, asked: str, message: str) -> None:
    """They are asked for, so it is no answer to go on without; nothing is run."""
    text = refused(1, command, srad.binary, *srad.launch, "--sharing", asked)
    assert message in text


@pytest.mark.parametrize("asked", ["0.1", "1:4"])
def test_a_kernel_that_gains_no_block_is_refused_where_pairs_are_asked_for(asked: str) -> None:
    sample = [str(sample_file("DCT5.ptx")), "--launch", str(sample_file("DCT5.toml")), "--size", "test"]
    answer = call("rewrite", *sample, "--machine", "gpgpusim-sharing", "--sharing", asked)
    text = answer.err
    assert (answer.code, answer.out) == (1, "")
    assert "no block is gained where blocks share memory; found 16 blocks" in text
    assert "limited by blocks; expected a kernel whose blocks shared memory alone limits. Leave out --sharing." in text


def test_pairs_of_which_no_version_can_be_made(srad: Shareable, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for them, but neither the original nor a level gets them."""
    from binalloc.errors import Refused
    from binalloc.pipeline.sharing.paired import Maker

    def never(self: Maker, *_: object) -> NoReturn:
        raise Refused("said so")

    monkeypatch.setattr(Maker, "as_it_came", never)
    monkeypatch.setattr(Maker, "allocated", never)
    line = ["rewrite", srad.binary, *srad.launch, "--sharing"]
    text = refused(1, *line, "1:4864")
    assert "no version with such pairs can be made; found 1:4864; expected said so. Take --sharing auto" in text
    assert "said so" in call(*line, "auto", "--json").json["pairs"]["reason"]


def test_slots_that_are_yet_to_be_allocated_are_private(queens: Shareable) -> None:
    """With a number of private slots a binary was written that its own record did not describe."""
    line = ["rewrite", queens.binary, *queens.launch, "--registers", "10", "--slots", "4", "--sharing"]
    for asked in ("1:4864:4", "1:4864:2"):
        text = refused(2, *line, asked)
        assert f"slots that are allocated anew are private to their blocks; found {asked}; expected PAIRS:BYTES" in text
        assert "(`binalloc share`, --share-slots)" in text


def test_a_cooperative_launch(srad: Shareable, tmp_path: Any) -> None:
    text = sample_file("SRAD2.toml").read_text()
    (tmp_path / "together.toml").write_text(text.replace('kernel = "SRAD2"', 'kernel = "SRAD2"\ncooperative = true'))
    line = ["rewrite", srad.binary, "--launch", str(tmp_path / "together.toml"), *srad.launch[2:]]
    for budget in (("--registers", "10"), ("--auto",)):
        text = refused(1, *line, *budget, "--sharing", "auto")
        assert "blocks of a cooperative launch cannot share memory" in text
