"""`binalloc smem-cost`: what it prints, its figure, and the input that it refuses."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from binalloc.laboratory.smem_cost.kernel import places
from binalloc.models.machines.reader import load_machine
from tests.support.kits.cli import call, refused
from tests.support.oracles.emulator.banks import Banks
from tests.support.paths import MACHINES

SMALL = ("smem-cost", "--warps", "1-2", "--loads", "2", "--congestion", "1,32,4", "--engine", "python")


def test_the_text_has_every_run_the_line_and_its_parts() -> None:
    answer = call(*SMALL)
    assert answer.code == 0
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[0].startswith("smem-cost on gtx780ti: 6 runs of one block; loads of 64 bits, 32 banks of 8 bytes")
    assert [line.split() for line in lines if line.startswith(("w ", "1 ", "2 "))] == [
        ["w", "l", "k", "1", "k", "4", "k", "32"],
        ["1", "2", "25", "31", "87"],
        ["2", "2", "27", "39", "151"],
    ]
    assert "E = w * l * k * c1 + c2: c1 = 1.0000, c2 = 23.0, R2 = 1.000000" in answer.out
    for part in ("passes", "launch_skew", "gaps", "latency", "drain"):
        assert any(line.startswith(part) for line in lines)


def test_json_has_constants_and_rows() -> None:
    found = call(*SMALL, "--json").json
    assert (found["machine"], found["engine"], found["clock_cycles"], found["mode_bytes"]) == (
        "gtx780ti", "python", 16, 8,
    )  # fmt: skip
    assert (round(found["c1"], 9), round(found["c2"], 9)) == (1, 23)
    assert [(row["w"], row["l"], row["k"], row["cycles"]) for row in found["rows"]] == [
        (1, 2, 1, 25), (1, 2, 4, 31), (1, 2, 32, 87), (2, 2, 1, 27), (2, 2, 4, 39), (2, 2, 32, 151),
    ]  # fmt: skip


def test_runs_of_one_product_have_no_line(tmp_path: Path) -> None:
    one = ("smem-cost", "--warps", "2", "--loads", "2", "--congestion", "3", "--engine", "python")
    found = call(*one, "--json", "--plot", str(tmp_path / "one.svg")).json
    assert (found["c1"], found["c2"], found["r2"]) == (None, None, None)
    assert "A line needs runs with different w * l * k." in call(*one).out


def test_the_figure_has_a_point_for_every_run_within_its_axes(tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    found = call(*SMALL, "--json", "--plot", str(path)).json
    assert found["plot"] == str(path)
    root = ElementTree.parse(path).getroot()
    points = root.findall("{http://www.w3.org/2000/svg}circle")
    assert len(points) == len(found["rows"])
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for point, row in zip(points, found["rows"], strict=True):
        x, y = float(point.attrib["cx"]), float(point.attrib["cy"])
        assert 80 <= x <= width - 20
        assert 40 <= y <= height - 60
        assert x == pytest.approx(80 + row["w"] * row["l"] * row["k"] / 160 * (width - 100), abs=0.06)


@pytest.mark.parametrize("value", ["", "0", "33", "1-40", "5-2", "a", "1,,2", "1.5", "-1", "9" * 30])
@pytest.mark.parametrize("option", ["--warps", "--loads", "--congestion"])
def test_a_number_outside_the_papers_is_refused(option: str, value: str) -> None:
    line = refused(2, "smem-cost", option, value)
    assert option in line
    assert "from 1 to 32" in line


def test_other_bad_input_is_refused(tmp_path: Path) -> None:
    assert "unknown machine" in refused(2, "smem-cost", "--machine", "gtx1")
    for plot in (str(tmp_path / "nowhere" / "x.svg"), str(tmp_path), "", "-"):
        assert "Give --plot FILE" in refused(2, *SMALL, "--plot", plot) or "nowhere" in plot
    assert "--max-cycles" in refused(4, *SMALL, "--max-cycles", "20")
    path = tmp_path / "small.toml"
    text = (MACHINES / "gtx780ti.toml").read_text()
    path.write_text(text.replace("threads_per_block = { value = 1024", "threads_per_block = { value = 256"))
    line = refused(1, *SMALL, "--machine", str(path), "--warps", "9")
    assert "--warps" in line
    assert "at most 8" in line
    before = path.read_bytes()
    assert "overwrite its own input" in refused(2, *SMALL, "--machine", str(path), "--plot", str(path))
    assert path.read_bytes() == before
    for plot in ("x.png", "svg", str(tmp_path / "x.svg.pdf")):
        assert "ends in .svg" in refused(2, *SMALL, "--plot", plot)


def test_where_banks_are_fewer_than_lanes_the_report_says_what_k_is(tmp_path: Path) -> None:
    """Lanes are served as many at a time as there are banks: no 32 of them take more than 32 passes."""
    assert "A load does not take" not in call(*SMALL).out
    two = tmp_path / "two.toml"
    text = (MACHINES / "gtx680.toml").read_text()
    two.write_text(text.replace('banks = { value = 32, unit = "banks"', 'banks = { value = 2, unit = "banks"'))
    for machine, taken in (("gtx285", {1: 2, 4: 8, 32: 32}), (str(two), {1: 16, 4: 32, 32: 32})):
        model = load_machine(machine)
        banks = Banks(model.shared.banks, model.shared.bank_bytes, model.shared.mode_bytes)
        for k in taken:
            assert taken[k] == banks.passes(dict(enumerate(places(model, k).tolist())), model.shared.bank_bytes)
        found = call(*SMALL, "--machine", machine, "--json").json
        assert {load["k"]: load["passes"] for load in found["passes_per_load"]} == taken
        assert all(row["passes"] == row["w"] * row["l"] * taken[row["k"]] for row in found["rows"])
        out = call(*SMALL, "--machine", machine).out
        assert f"A load does not take k passes here, but {taken[1]} for k 1, {taken[4]} for k 4, 32 for k 32\n" in out
    line = refused(1, "smem-cost", "--machine", "gtx285", "--engine", "python")
    assert "found 32 warps, 1,024 threads; expected at most 16 warps, 512 threads, on gtx285" in line
    assert line.endswith("--warps 1,8,16.\n")
