"""`inspect --live` and its parts, and the values at the peak."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call, loom, refused
from tests.support.paths import sample_file


def test_a_part_of_the_live_ranges() -> None:
    part = ["inspect", loom("callchain"), "--live", "--function", "B", "--words", "3-5,9", "--json"]
    (found,) = call(*part).json["live"]["functions"]
    assert found["function"] == "B"
    assert [row["index"] for row in found["rows"]] == [3, 4, 5, 9]
    seen = {w for row in found["rows"] for key in ("used", "defined", "merged", "live") for w in row[key]}
    assert seen == {value["web"] for value in found["values"]}
    blocks = call("inspect", loom("callchain"), "--live", "--blocks", "1", "--json").json["live"]["functions"]
    assert [f["function"] for f in blocks] == ["callchain"]
    assert {row["block"] for row in blocks[0]["rows"]} == {1}


@pytest.mark.parametrize(("option", "asked"), [("--words", "900"), ("--blocks", "77,90-91")])
def test_a_part_that_is_not_there_is_refused(option: str, asked: str) -> None:
    said = refused(2, "inspect", loom("callchain"), "--live", option, asked)
    assert asked.replace(",", ", ") in said
    assert "expected words 0 to " in said


def test_wide_programs_have_a_column_for_each_register() -> None:
    found = call("inspect", loom("nbody"), "--live", "--json").json["live"]["functions"][0]
    columns = {value["column"] for value in found["values"]}
    assert len(columns) == len({value["place"] for value in found["values"]}) < len(found["values"])
    each = call("inspect", loom("nbody"), "--live", "--columns", "values", "--json").json["live"]["functions"][0]
    assert sorted(value["column"] for value in each["values"]) == list(range(len(each["values"])))


@pytest.mark.parametrize(
    "wrong",
    [["--words", "3-5"], ["--live", "--words", "5-3"], ["--live", "--blocks", "x"], ["--live", "--function", "nobody"],
     ["--live", "--columns", "all"], ["--webs", "--columns", "places"]],
)  # fmt: skip
def test_wrong_parts_are_usage(wrong: list[str]) -> None:
    refused(2, "inspect", loom("callchain"), *wrong)


def test_the_peak_has_names_and_source_lines() -> None:
    source = str(sample_file("reduction.ptx"))
    found = call("inspect", source, "--pressure", "--json").json["pressure"]
    peak = found["peak"]
    assert len(peak) == found["max_live"]
    assert {(v["function"], v["index"]) for v in peak} <= {(p["function"], p["index"]) for p in found["max_live_at"]}
    assert any(line and line.endswith(f":{line.rsplit(':')[-1]}") for v in peak for line in v["lines"])
    (kernel,) = [f for f in found["functions"] if f["function"] == found["max_live_at"][0]["function"]]
    assert max(row["registers"] for row in kernel["lines"]) == kernel["max_live"]
    text = call("inspect", source, "--pressure").out
    assert "values at the peak:" in text
    assert all(f"{v['place']}.{v['web']} " in text for v in peak)


def test_shared_memory_has_variables_accesses_and_barriers() -> None:
    source = str(sample_file("reduction.ptx"))
    found = call("inspect", source, "--shared", "--json").json["shared"]
    assert found["bytes"] == 540
    assert sum(v["bytes"] for v in found["variables"]) == 540
    staged = [a["variable"] for a in found["accesses"] if a["access"] == "store" and a["address"] is not None]
    assert staged == [v["name"] for v in found["variables"] if v["bytes"] < 512]
    (sums,) = (v for v in found["variables"] if v["bytes"] == 512)
    others = [a for a in found["accesses"] if a["address"] is None]
    assert {a["variable"] for a in others} == {sums["name"]}
    assert all(sums["offset"] <= a["low"] <= a["high"] <= sums["offset"] + 508 for a in others)
    assert [v["name"] for v in found["variables"] if not v["common"]] == [sums["name"]]
    assert found["common_bytes"] == 28
    assert found["block"] is None
    assert "residents" not in found
    assert [(b["arrival"], b["threads"], b["waits"], b["reason"]) for b in found["barriers"]] == [
        ("all", 0, True, None)
    ] * 3
    out = call("inspect", source, "--shared").out
    assert out.startswith("RD: 540 bytes of shared memory per block in 6 variables, 28 bytes common to all blocks; 15 ")
    assert "The size of a block is not known; more can be known with it." in out


def test_a_barrier_that_not_all_threads_meet_names_where_they_part(tmp_path: Path) -> None:
    text, code = tmp_path / "some.lasm", str(tmp_path / "some.loom")
    text.write_text(
        ".kernel k\n.block 64\nS2R R0, SR_TID.X\nISETP.LT.AND P0, PT, R0, 0x5, PT\n@P0 BRA on, on\nBAR.SYNC 0\non:\n"
        "@P0 EXIT\nBAR.SYNC 1, 0x40\nEXIT\n.end\n"
    )
    assert call("asm", str(text), "-o", code).code == 0
    (some, running) = call("inspect", code, "--shared", "--json").json["shared"]["barriers"]
    assert (some["arrival"], some["reason"]) == ("some", {"function": "k", "index": 2})
    assert (running["arrival"], running["reason"]) == ("running", {"function": "k", "index": 4})
    assert (running["number"], running["threads"]) == (1, 64)
    assert "all that have not ended" in call("inspect", code, "--shared").out


def test_pairs_of_blocks_that_could_share_memory() -> None:
    line = ("inspect", str(sample_file("fourierTransform.ptx")), "--shared", "--block", "64")
    found = call(*line, "--machine", "gpgpusim-sharing", "--json").json["shared"]["sharing"]
    assert (found["machine"], found["blocks_per_sm"], found["bits"]) == ("gpgpusim-sharing", 1, 209)
    paper, fitted = found["plans"]
    assert (paper["threshold"], paper["pairs"], paper["unshared"], paper["blocks_per_sm"]) == ("1/10", 1, 0, 2)
    assert paper["private_bytes"] == 872  # of 8,736
    assert (fitted["threshold"], fitted["private_bytes"]) == (None, 7648)
    # one of the two arrays is private then; the staged parameters are in both
    assert [name[-4:] for name in fitted["shared"]] == ["nary"]
    assert fitted["weight"] <= paper["weight"] < found["weight"]
    (last,) = fitted["releases"]
    assert (last["function"], last["from_index"], last["condition"]) == ("FFT", None, None)
    stores = [a["index"] for a in call(*line, "--json").json["shared"]["accesses"] if a["variable"] in fitted["shared"]]
    assert last["index"] == max(stores) + 1
    out = call(*line, "--machine", "gpgpusim-sharing").out
    assert "an SM of gpgpusim-sharing can hold more than 1 block; no GPU does that" in out
    assert "1/10" in out
    none = call("inspect", str(sample_file("reduction.ptx")), "--shared", "--block", "128", "--machine", "h100")
    assert "Pairs of blocks that share memory would be no more blocks on h100 than 16 blocks." in none.out


def test_blocks_of_a_launch_file(tmp_path: Path) -> None:
    """The launch says more than --block does: its blocks have dynamic memory, too."""
    sample = [str(sample_file("NW1.ptx")), "--shared", "--machine", "gpgpusim-sharing", "--json"]
    given = ["--launch", str(sample_file("NW1.toml"))]
    stated, launched = (call("inspect", *sample, *more).json for more in (["--block", "32"], given))
    assert launched == stated
    assert call("inspect", *sample, *given, "--block", "32", "--size", "test").json == stated
    text = refused_with_notes("inspect", *sample[:-1], *given, "--block", "16")
    assert "NW1.toml: --block: the block size contradicts the launch file; found 16; expected 32" in text
    launch = sample_file("NW1.toml").read_text()
    (tmp_path / "more.toml").write_text(launch.replace("block =", "dynamic_shared = 1024\nblock ="))
    more = call("inspect", *sample, "--launch", str(tmp_path / "more.toml")).json["shared"]
    assert more["residents"]["shared_bytes"] == stated["shared"]["residents"]["shared_bytes"] + 1024
    private = [plan["private_bytes"] for plan in stated["shared"]["sharing"]["plans"]]
    assert [plan["private_bytes"] for plan in more["sharing"]["plans"]] == [private[0] + 100, private[1] - 1024]
    shared = call("share", sample[0], "--launch", str(tmp_path / "more.toml"), *sample[2:4], "--no-emulate", "--json")
    assert [one["private_bytes"] for one in shared.json["versions"]] == [private[1] - 1024]
    (kernel,) = call("inspect", sample[0], *sample[2:4], *given, "--json").json["sections"]["functions"]
    assert kernel["occupancy"]["blocks_per_sm"] == 1


def refused_with_notes(*line: str) -> str:
    """What a command says that ends with exit code 2, behind the notes of an import."""
    answer = call(*line)
    assert (answer.code, answer.out) == (2, "")
    return answer.err
