"""`run --trace`, `--watch` and `--break` from the command line: files, streams, exit codes, what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from binalloc.cli import observe
from binalloc.emulator.host import device as host_device
from binalloc.emulator.traces.trace import DEFAULT_INTERVAL, DEFAULT_LIMIT
from tests.support.kits.cli import call, launch, loom, refused
from tests.support.oracles.traces.trace_events import violations

RUN = ["run", loom("callchain"), *launch("callchain")]
LINES = """.kernel k
    .registers 16
    .param x 8
    .file "src/a.cu"
    .line 7
    S2R R0, SR_TID.X
    MOV R1, 4
    IMAD.WIDE R4, R0, R1, c[0][x]
    .line 9
    LDG.32 R6, [R4]
    IADD3 R6, R6, 1, RZ
    .line 10
    STG.32 [R4], R6
    STS.32 [RZ], R6
    EXIT
    .shared_bytes 64
.end
"""
LAUNCH = """kernel = "k"
grid = [2]
block = [64]
[[argument]]
name = "x"
kind = "buffer"
dtype = "f32"
shape = [64]
[argument.init]
kind = "constant"
value = 1.5
"""


def small(folder: Path, text: str = LINES) -> list[str]:
    """A kernel with source lines, and its launch."""
    (folder / "k.lasm").write_text(text)
    (folder / "k.toml").write_text(LAUNCH)
    answer = call("asm", str(folder / "k.lasm"), "-o", str(folder / "plain.loom"))
    assert answer.code == 0, answer.err
    answer = call("schedule", str(folder / "plain.loom"), "-o", str(folder / "k.loom"))
    assert answer.code == 0, answer.err
    return ["run", str(folder / "k.loom"), "--launch", str(folder / "k.toml"), "--engine", "python"]


@pytest.mark.parametrize("scheduler", ["lrr", "two_level"])
def test_a_trace_is_valid_and_the_answer_tells_of_it(tmp_path: Path, scheduler: str) -> None:
    path = tmp_path / "t.json"
    plain = call(*RUN, "--scheduler", scheduler, "--sms", "2", "--json").json
    answer = call(*RUN, "--scheduler", scheduler, "--sms", "2", "--trace", str(path), "--json")
    assert answer.code == 0
    told = answer.json
    trace = told.pop("trace")
    assert told == plain
    assert violations(path.read_bytes()) == []
    assert trace["file"] == str(path)
    assert trace["bytes"] == path.stat().st_size
    assert trace["instructions"] == plain["stats"]["warp_instructions"]
    assert (trace["left_out"], trace["full_at_cycle"], answer.err) == (0, None, "")
    about = json.loads(path.read_text())["otherData"]
    assert (about["cycles"], about["ended"], about["sms"]) == (plain["cycles"], "the grid ended", 2)


def test_a_name_that_ends_in_gz_makes_a_compressed_trace(tmp_path: Path) -> None:
    for name in ("t.json", "t.json.gz", "u.json.gz"):
        assert call(*RUN, "--trace", str(tmp_path / name)).code == 0
    plain, packed = (tmp_path / "t.json").read_bytes(), (tmp_path / "t.json.gz").read_bytes()
    assert gzip.decompress(packed) == plain
    assert packed == (tmp_path / "u.json.gz").read_bytes()


def test_the_defaults_are_the_librarys() -> None:
    defaults = {p.name: p.default for p in call.__globals__["main"].commands["run"].params}
    assert defaults["trace_limit"] == DEFAULT_LIMIT
    assert defaults["trace_counters"] == DEFAULT_INTERVAL


def test_what_is_left_out_is_told_on_stderr(tmp_path: Path) -> None:
    path = str(tmp_path / "t.json")
    full = call(*RUN, "--trace", path, "--trace-limit", "300")
    assert "warp instructions are not in the trace: it was full, 300 events, in cycle" in full.err
    window = call(*RUN, "--trace", path, "--trace-window", "100:200", "--json")
    assert "as they are in none of its windows" in window.err
    found = window.json["trace"]
    events = json.loads(Path(path).read_text())["traceEvents"]
    drawn = [e["ts"] for e in events if e["ph"] == "X" and "mask" in e["args"]]
    assert found["instructions"] == len(drawn) > 0
    assert all(100 <= at < 200 for at in drawn)
    assert found["left_out"] == window.json["stats"]["warp_instructions"] - len(drawn)


@pytest.mark.parametrize("span", ["5", "5:5", "9:3", "-1:4", "a:b", "1:2:3", ":0"])
def test_windows_that_are_none_are_refused(tmp_path: Path, span: str) -> None:
    assert "FROM:TO" in refused(2, *RUN, "--trace", str(tmp_path / "t"), "--trace-window", span)
    assert list(tmp_path.iterdir()) == []


def test_options_without_a_trace_are_refused(tmp_path: Path) -> None:
    assert "--trace-window chooses" in refused(2, *RUN, "--trace-window", "1:5")
    assert "--trace-every chooses" in refused(2, *RUN, "--trace-every", "5000")
    assert "--trace-limit bounds" in refused(2, *RUN, "--trace-limit", "5")
    assert "--trace-counters says" in refused(2, *RUN, "--trace-counters", "5")
    assert "--watch-limit bounds" in refused(2, *RUN, "--watch-limit", "5", "--trace", str(tmp_path / "t.json"))
    assert "--accelsim-limit bounds" in refused(2, *RUN, "--accelsim-limit", "5")
    assert list(tmp_path.iterdir()) == []
    assert "1000 is not in the range" in refused(2, *RUN, "--trace", "t", "--trace-every", "1000")
    assert "a trace goes to a file" in refused(2, *RUN, "--trace", "-")
    assert "cannot write the file" in refused(2, *RUN, "--trace", str(tmp_path / "no" / "t.json"))
    assert "cannot write the file" in refused(2, *RUN, "--trace", str(tmp_path))


def test_a_fault_leaves_the_trace_of_what_happened(tmp_path: Path) -> None:
    bad = LINES.replace("STG.32 [R4], R6", "STG.32 [R4+0x100000], R6")
    command, path = small(tmp_path, bad), tmp_path / "t.json"
    answer = call(*command, "--trace", str(path))
    assert answer.code == 5
    assert violations(path.read_bytes()) == []
    trace = json.loads(path.read_text())
    assert "out of bounds" in trace["otherData"]["ended"]
    assert any(e["name"] == "STG.32" for e in trace["traceEvents"])


def test_a_run_that_is_cut_off_leaves_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    assert call(*RUN, "--trace", str(path), "--max-cycles", "200").code == 4
    assert violations(path.read_bytes()) == []
    assert "cycle limit" in json.loads(path.read_text())["otherData"]["ended"]


def interrupted(*_: object) -> int:
    raise KeyboardInterrupt


def test_an_interrupt_before_the_run_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.json"
    path.write_text("old")
    monkeypatch.setattr(host_device.LaunchedDevice, "step", interrupted)
    assert call(*RUN, "--trace", str(path)).code == 130
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]
    assert path.read_text() == "old"


def test_accesses_to_what_is_watched_are_told_as_they_happen(tmp_path: Path) -> None:
    answer = call(*small(tmp_path), "--watch", "x+20")
    lines = [line.removeprefix("binalloc: watch: ") for line in answer.err.splitlines()]
    assert len(lines) == 4
    assert answer.out.rstrip().endswith("watch x+20:4: 4 accesses")
    loads = [line for line in lines if "load x+20" in line]
    assert "load x+20: 1.5; k+3 `LDG.32 R6, [R4]` (src/a.cu:9), SM 0, block 0, thread 5 (warp 0, lane 5)" in loads[0]
    stores = [line for line in lines if "store x+20" in line]
    assert "k+5 `STG.32 [R4], R6` (src/a.cu:10)" in stores[0]
    assert "store x+20: 1.5 -> " in stores[0]


def test_with_json_accesses_are_fields_and_the_rest_is_counted(tmp_path: Path) -> None:
    answer = call(*small(tmp_path), "--watch", "x", "--watch-limit", "3", "--json")
    watch = answer.json["watch"]
    assert (watch["total"], watch["left_out"], len(watch["accesses"])) == (256, 253, 3)
    assert watch["watched"] == [{"buffer": "x", "offset": 0, "bytes": 256, "address": 0x10000000}]
    assert [a["lane"] for a in watch["accesses"]] == [0, 1, 2]
    assert answer.err == ""


def test_accesses_in_front_of_a_fault_are_not_lost(tmp_path: Path) -> None:
    bad = LINES.replace("STG.32 [R4], R6", "STG.32 [R4+0x100000], R6")
    for form in ([], ["--json"]):
        answer = call(*small(tmp_path, bad), "--watch", "x+20", *form)
        assert answer.code == 5
        assert "load x+20: 1.5" in answer.err


@pytest.mark.parametrize("where", ["k+5", "0x5", "a.cu:10"])
def test_a_break_prints_the_warp_and_has_its_exit_code(tmp_path: Path, where: str) -> None:
    command = small(tmp_path)
    answer = call(*command, "--break", where)
    assert answer.code == observe.EXIT_STOPPED == 6
    assert "stopped in cycle" in answer.out
    assert "in front of k+5 `STG.32 [R4], R6` (src/a.cu:10)" in answer.out
    told = call(*command, "--break", where, "--json").json
    warp = told["break"]
    assert told["partial"] is True
    assert told["cycles"] == warp["cycle"]
    assert (warp["why"], warp["function"], warp["index"], warp["block"], warp["warp"]) == ("break", "k", 5, 0, 0)
    assert (warp["active"], warp["mask"], warp["touched"]) == (0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert warp["registers"]["R0"] == list(range(32))
    assert warp["registers"]["R4"] == [0x10000000 + 4 * t for t in range(32)]
    assert len(warp["registers"]) == 16
    assert warp["stack"] == [{"kind": "plain", "at": "k+5", "mask": 0xFFFFFFFF, "reconverges": None}]
    assert warp["access"]["space"] == "global"
    assert warp["access"]["lanes"][3] == {"lane": 3, "address": 0x1000000C, "words": [0x3FC00000]}
    assert [other["warp"] for other in warp["others"]] == [1]


def test_a_break_at_a_watch_stops_in_front_of_the_first_access(tmp_path: Path) -> None:
    command = small(tmp_path)
    told = call(*command, "--watch", "x+132", "--break", "watch", "--json").json
    assert (told["break"]["why"], told["break"]["index"], told["break"]["warp"]) == ("watch", 3, 1)
    assert told["break"]["touched"] == 2
    assert told["watch"]["total"] == 0
    near = call(*command, "--watch", "x+132:1", "--watch", "x+8:1", "--break", "watch", "--json").json
    assert near["break"]["touched"] == 4


def test_shared_words_are_those_of_the_block(tmp_path: Path) -> None:
    told = call(*small(tmp_path), "--break", "k+6", "--json").json["break"]
    assert told["access"]["space"] == "shared"
    assert told["access"]["lanes"][0] == {"lane": 0, "address": 0, "words": [0]}


def test_a_break_that_is_not_reached_changes_nothing_but_says_so(tmp_path: Path) -> None:
    never = LINES.replace("    EXIT\n", "    EXIT\n    NOP\n    EXIT\n")
    command = small(tmp_path, never)
    answer = call(*command, "--break", "k+8")
    assert answer.code == 0
    assert "no break was reached" in answer.out
    assert call(*command, "--break", "k+8", "--json").json["break"] is None


def test_what_means_nothing_is_refused_with_what_is_known(tmp_path: Path) -> None:
    command = small(tmp_path)
    line = refused(2, *command, "--watch", "y")
    assert "--watch" in line
    assert "x (256 bytes)" in line
    assert "functions: k" in refused(2, *command, "--break", "f+2")
    assert "lines 7, 9, 10" in refused(2, *command, "--break", "a.cu:8")
    assert "--watch BUFFER" in refused(2, *command, "--break", "watch")


def test_all_of_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    answer: Any = call(*small(tmp_path), "--watch", "x+4", "--break", "k+5", "--trace", str(path), "--json")
    assert answer.code == 6
    assert answer.json["break"]["index"] == 5
    assert answer.json["watch"]["total"] >= 1
    assert json.loads(path.read_text())["otherData"]["ended"] == "stopped at a break"
    assert violations(path.read_bytes()) == []


def test_bytes_that_are_watched_twice_count_once(tmp_path: Path) -> None:
    command = small(tmp_path)
    once = call(*command, "--watch", "x", "--json").json["watch"]
    for more in (["x"], ["x+4:8", "0x10000000:64"], ["0x10000000:256", "x+252"]):
        twice = call(*command, *(word for text in ["x", *more] for word in ("--watch", text)), "--json").json["watch"]
        assert twice == once
    overlapping = call(*command, "--watch", "x+8:8", "--watch", "x:4", "--watch", "x+12:8", "--json").json["watch"]
    assert [(s["offset"], s["bytes"]) for s in overlapping["watched"]] == [(8, 12), (0, 4)]
    assert overlapping["total"] == 4 * 4


def test_a_list_of_lines_that_is_cut_says_so(tmp_path: Path) -> None:
    lines = "".join(f"    .line {n}\n    NOP\n" for n in range(20, 32))
    command = small(tmp_path, LINES.replace("    .line 10\n", f"{lines}    .line 10\n"))
    line = refused(2, *command, "--break", "a.cu:1")
    assert "lines 7, 9, 10, 20, 21, 22, 23, 24, the nearest of 15" in line
