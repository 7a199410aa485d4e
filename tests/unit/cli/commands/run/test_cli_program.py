"""`binalloc run` of a launch file with a sequence of launches: its text, one launch of it alone, options, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.session import Session
from tests.support.kits.cli import call, refused
from tests.support.paths import SAMPLES

FOLDER = SAMPLES / "programs"


def of(name: str, *more: str) -> list[str]:
    files = [str(FOLDER / f"{name}.ptx"), "--launch", str(FOLDER / f"{name}.toml")]
    return ["run", *files, "--size", "test", "--engine", "python", *more]


def file(folder: Path, text: str, source: str = "levels") -> list[str]:
    """`run` of a launch file that is written here."""
    (folder / "p.toml").write_text(text)
    return ["run", binary(folder, source), "--launch", str(folder / "p.toml"), "--engine", "python"]


def binary(folder: Path, source: str) -> str:
    """The sample's kernels as a binary: nothing is said of an import then."""
    path = folder / f"{source}.loom"
    assert call("import-ptx", str(FOLDER / f"{source}.ptx"), "-o", str(path)).code == 0
    return str(path)


def levels() -> str:
    """The launch file of levels without its reference, small."""
    text = (FOLDER / "levels.toml").read_text().split("[reference]")[0]
    return text.replace("n = 4096", "n = 200").replace("high = 4096", "high = 200")


def test_it_prints_a_line_for_each_launch_and_for_each_kernel() -> None:
    answer = call(*of("lu", "--reference"))
    assert answer.code == 0
    title, _, head, _, *rest = answer.out.splitlines()
    assert re.fullmatch(r".*lu\.toml on gtx680: 7 launches of 3 kernels, [\d,]+ cycles \(emulated, 1 SM\)", title)
    assert head.split()[:6] == ["launch", "kernel", "grid", "block", "start", "cycles"]
    kernels = [line.split()[1] for line in rest[:7]]
    assert kernels == ["diagonal", "perimeter", "internal", "diagonal", "perimeter", "internal", "diagonal"]
    assert [line.split()[2] for line in rest[:7]] == ["1", "2", "2x2", "1", "1", "1", "1"]
    assert [line.split()[:2] for line in rest[-5:-2]] == [["diagonal", "3"], ["perimeter", "2"], ["internal", "2"]]
    assert answer.out.endswith("\nReference: same.\n")


def test_the_text_says_what_json_says() -> None:
    text, found = call(*of("sort", "--timeline", "all")).out, call(*of("sort"), "--json").json
    rows = [line.split() for line in text.splitlines()[4 : 4 + len(found["launches"])]]
    for row, told in zip(rows, found["launches"], strict=True):
        assert (int(row[0]), row[1]) == (told["launch"], told["name"])
        assert [int(cell.replace(",", "")) for cell in row[4:6]] == [told["start"], told["cycles"]]
        assert row[-1] == ",".join(map(str, told["rounds"]))
    assert found["cycles"] == sum(told["cycles"] for told in found["launches"])
    assert found["cycles"] == sum(kernel["cycles"] for kernel in found["kernels"])
    (kernel,) = found["kernels"]
    each = [told["cycles"] for told in found["launches"]]
    assert (kernel["least"], kernel["most"], kernel["average"]) == (min(each), max(each), sum(each) / len(each))
    assert kernel["share"] == 1
    assert kernel["stats"]["dram_bytes"] == sum(told["dram_bytes"] for told in found["launches"])


def test_a_timeline_is_cut_in_its_middle() -> None:
    lines = call(*of("sort", "--timeline", "5")).out.splitlines()
    numbers = [line.split()[0] for line in lines[4:10]]
    assert numbers == ["0", "1", "2", "...", "19", "20"]
    assert "16 launches left out" in lines[7]
    assert "..." not in call(*of("sort", "--timeline", "21")).out
    one = call(*of("sort", "--timeline", "1")).out.splitlines()
    assert [line.split()[0] for line in one[4:6]] == ["0", "..."]


def test_names_are_those_of_the_source(tmp_path: Path) -> None:
    source = (FOLDER / "sort.ptx").read_text().replace("exchange", "_ZN2ns8exchangeIfEEvPjiii")
    (tmp_path / "s.ptx").write_text(source)
    text = (FOLDER / "sort.toml").read_text().replace('"exchange"', '"ns::exchange<float>"').split("[reference]")[0]
    (tmp_path / "s.toml").write_text(text.replace("levels = 11", "levels = 2"))
    lines = ["run", str(tmp_path / "s.ptx"), "--launch", str(tmp_path / "s.toml"), "--engine", "python"]
    found = call(*lines, "--json").json
    assert {told["name"] for told in found["launches"]} == {"ns::exchange<float>"}
    assert {told["kernel"] for told in found["launches"]} == {"_ZN2ns8exchangeIfEEvPjiii"}
    assert "ns::exchange<float>" in call(*lines).out


def test_a_wrong_program_ends_with_one(tmp_path: Path) -> None:
    (tmp_path / "ref.py").write_text("def reference(i, l):\n    return {'keys': i['keys']}\n")
    text = (FOLDER / "sort.toml").read_text().replace("sort_ref.py", "ref.py")
    answer = call(*file(tmp_path, text.replace("levels = 11", "levels = 3"), "sort"), "--reference")
    assert answer.code == 1
    assert "Reference: differs." in answer.out
    assert "keys[" in answer.out


def test_one_launch_is_shown_as_run_shows_one(tmp_path: Path) -> None:
    whole = call(*of("levels"), "--json").json["launches"]
    trace, saved = tmp_path / "t.json", tmp_path / "saved"
    options = ["--trace", str(trace), "--watch", "more", "--annotate=3", "--save", str(saved)]
    answer = call(*of("levels", "--step", "3", *options), "--json")
    found = answer.json
    assert (found["launch"], found["kernel"], found["cycles"]) == (3, "advance", whole[3]["cycles"])
    assert found["stats"]["l2_hits"] == whole[3]["l2_hits"]
    assert found["watch"]["total"] > 0
    assert json.loads(trace.read_text())["traceEvents"]
    assert "annotation" in found
    assert np.load(saved / "more.npy").tolist() == [1]
    text = call(*of("levels", "--step", "3")).out
    assert text.startswith("advance on gtx680: ")


def test_a_break_stops_in_a_launch_of_a_sequence() -> None:
    answer = call(*of("levels", "--step", "1", "--watch", "more", "--break", "watch"))
    assert answer.code == 6
    assert "stopped in cycle" in answer.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--kernel", "visit"], "--kernel chooses the kernel of one launch"), (["--skews", "1"], "--skews repeats one"),
        (["--watch", "more"], "--watch shows one launch, and the launch file has a sequence. Give --step N"),
        (["--trace", "t.json"], "--trace shows one launch"), (["--annotate"], "--annotate shows one launch"),
        (["--series", "s.csv"], "--series shows one launch"), (["--profile", "p"], "--profile shows one launch"),
        (["--break", "visit+0"], "--break shows one launch"), (["--accelsim-trace", "d"], "--accelsim-trace shows one"),
        (["--step", "1", "--reference"], "--reference compares what all launches leave"),
        (["--step", "-1"], "Invalid value for '--step'"), (["--timeline", "none"], "Invalid value for '--timeline'"),
        (["--timeline", "0"], "Invalid value for '--timeline'"),
    ],
)  # fmt: skip
def test_options_that_mean_nothing_here(more: list[str], message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(2, *of("levels", *more)).replace("binalloc: ", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [["--step", "0"], ["--timeline", "all"], ["--host-steps"]])
def test_options_of_sequences_mean_nothing_for_one_launch(option: list[str]) -> None:
    one = SAMPLES / "loom" / "nbody"
    line = ["run", f"{one}.loom", "--launch", f"{one}.toml", "--size", "test", "--engine", "python", *option]
    assert f"{option[0]} applies to a sequence of launches only" in refused(2, *line)


def test_other_commands_say_that_they_take_one_launch() -> None:
    source, launch = str(FOLDER / "levels.ptx"), str(FOLDER / "levels.toml")
    for line in (
        ["recommend", source, "--kernel", "visit", "--launch", launch],
        ["compare-allocators", source, "--kernel", "visit", "--registers", "20", "--launch", launch],
        ["sweep", source, "--launch", launch],
    ):
        assert "the launch file has a sequence of launches" in refused(2, *line)


def test_host_steps_run_with_leave_alone() -> None:
    assert "Give --host-steps if you trust that code" in refused(2, *of("cluster"))
    assert call(*of("cluster", "--host-steps", "--reference")).code == 0


def test_a_program_that_is_stopped_tells_what_has_ended(tmp_path: Path) -> None:
    answer = call(*of("levels", "--max-cycles", "6000"))
    assert answer.code == 4
    assert answer.out.startswith("PARTIAL: ")
    assert "levels.toml on gtx680: 2 launches of 2 kernels" in answer.out
    assert "all launches of the program within 6,000 cycles" in answer.err
    found = call(*file(tmp_path, levels().replace("at_most = 1000", "at_most = 2")), "--json")
    assert found.code == 4
    assert (found.json["partial"], len(found.json["launches"])) == (True, 4)
    assert found.json["error"]["place"] == "step[4].until"


def test_a_program_that_is_interrupted_tells_what_has_ended(monkeypatch: Any) -> None:
    usual = Session.launch

    def until_two(session: Session, *args: Any, **options: Any) -> Any:
        if session.launched == 2:
            raise KeyboardInterrupt
        return usual(session, *args, **options)

    monkeypatch.setattr(Session, "launch", until_two)
    answer = call(*of("levels"))
    assert answer.code == 130
    assert answer.out.startswith("PARTIAL: ")
    assert answer.err.endswith("binalloc: error: interrupted after 2 launches; nothing was written\n")
    found = call(*of("levels"), "--json").json
    assert (found["partial"], len(found["launches"]), found["error"]["exit_code"]) == (True, 2, 130)


def test_errors_say_where(tmp_path: Path) -> None:
    text = levels()
    wrong = text.replace('shape = "n"\ninit = { kind = "constant"', 'shape = 100\ninit = { kind = "constant"')
    assert wrong != text
    line = refused(5, *file(tmp_path, wrong))
    assert re.search(r"\(in step\[4\]\.step\[1\], round \d of step\[4\]\)", line)
    assert "launched by" in refused(2, *file(tmp_path, text.replace('launch = "visit"', 'launch = "visits"')))
    line = refused(3, *file(tmp_path, text.replace("n, block)", "n, b)")))
    assert "p.toml: step[4].step[1].grid: unknown name" in line
    line = refused(2, *file(tmp_path, text), "--step", "14")
    assert "--step: the program has no such launch; found 14; expected 0 to 13" in line


def test_kernels_that_cannot_be_imported_do_not_matter_where_others_run(tmp_path: Path) -> None:
    other = "\n.visible .entry other(.param .u64 p)\n{\n\tsust.b.1d.b32.trap [p, {0}], {0};\n\tret;\n}\n"
    (tmp_path / "s.ptx").write_text((FOLDER / "sort.ptx").read_text() + other)
    (tmp_path / "s.toml").write_text((FOLDER / "sort.toml").read_text().split("[reference]")[0])
    (tmp_path / "s.toml").write_text((tmp_path / "s.toml").read_text().replace("levels = 11", "levels = 1"))
    answer = call("run", str(tmp_path / "s.ptx"), "--launch", str(tmp_path / "s.toml"), "--engine", "python")
    assert answer.code == 0, answer.err
    assert "alone, as not all others can be" in answer.err


def test_buffers_of_the_end_are_saved(tmp_path: Path) -> None:
    answer = call(*of("sort", "--save", str(tmp_path / "s")), "--json")
    keys = np.load(tmp_path / "s" / "keys.npy")
    assert answer.json["saved"] == [str(tmp_path / "s" / "keys.npy")]
    assert (keys == np.sort(keys)).all()
