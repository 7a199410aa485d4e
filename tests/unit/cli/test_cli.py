"""Each command does its work on the samples, in text and as JSON; streams, files and exit codes are as documented."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from binalloc import list_machines
from binalloc.cli.main import main
from binalloc.isa.sets.files import load, read_module
from binalloc.transform.allocators.table import ALLOCATORS
from tests.support.kits.cli import NAMES, ROOT, SAMPLES, call, launch, loom, refused, rescheduled, stopped
from tests.support.paths import sample_file

VERSION_KEYS = {
    "registers",
    "slots",
    "local_bytes",
    "shared_bytes",
    "blocks_per_sm",
    "occupancy",
    "instructions",
    "cycles",
}


@pytest.mark.parametrize("name", NAMES)
def test_disasm_and_asm_give_the_same_bytes_through_files_and_pipes(name: str, tmp_path: Path) -> None:
    text = call("disasm", loom(name))
    assert text.code == 0
    data = Path(loom(name)).read_bytes()
    assert call("asm", "-", stdin=text.raw).raw == data
    (tmp_path / "a.lasm").write_bytes(call("disasm", "-", stdin=data).raw)
    answer = call("asm", str(tmp_path / "a.lasm"), "--json").json
    assert (tmp_path / "a.loom").read_bytes() == data
    assert answer["output"] == str(tmp_path / "a.loom")
    assert answer["bytes"] == len(data)
    assert {f["name"] for f in answer["functions"]} == {f.name for f in read_module(data)}


def test_asm_can_schedule_as_the_samples_were_built(tmp_path: Path) -> None:
    out = tmp_path / "x.loom"
    assert call("asm", str(sample_file("matmul.lasm")), "--schedule", "gtx680", "-o", str(out)).code == 0
    assert load(out).kernels()[0].info.machine == "gtx680"
    assert list(tmp_path.iterdir()) == [out]


def test_schedule_moves_a_binary_to_another_machine(tmp_path: Path) -> None:
    out = tmp_path / "fermi.loom"
    answer = call("schedule", loom("callchain"), "--machine", "c2075", "-o", str(out), "--json").json
    assert set(answer["average_dispatch_interval"]) == {"callchain", "B", "C"}
    assert {f.info.machine for f in load(out)} == {"c2075"}
    assert "scheduled for" in refused(1, "run", str(out), *launch("callchain"), "--machine", "gtx680")


def test_callchain_stack_is_12_10_8_deep() -> None:
    text = call("inspect", loom("callchain"), "--stack").out
    assert "12 / 10 / 8" in text
    found = call("inspect", loom("callchain"), "--stack", "--json").json["stack"]
    assert found["depths"] == {"traditional": 12, "register_stack": 10, "moving_stack": 8}
    moving = found["layouts"][2]
    assert [(c["shift"], c["moves"]) for c in moving["calls"]] == [(2, [[2, 1]]), (2, [[2, 0]])]


@pytest.mark.parametrize("name", NAMES)
def test_inspect_shows_every_view(name: str) -> None:
    flags = ["--sections", "--cfg", "--webs", "--live", "--pressure", "--stack"]
    text = call("inspect", loom(name), *flags)
    assert text.code == 0
    assert "live ranges of" in text.out
    found = call("inspect", loom(name), *flags, "--json").json
    module = load(loom(name))
    assert [f["function"] for f in found["sections"]["functions"]] == [f.name for f in module]
    assert ".symtab" in {s["name"] for s in found["sections"]["sections"]}
    kernel = module.kernels()[0]
    assert found["kernel"] == kernel.name
    assert len(found["pressure"]["functions"][0]["pressure"]) == len(kernel)
    assert found["pressure"]["max_live"] <= kernel.info.registers
    assert sum(len(f["blocks"]) for f in found["cfg"]["functions"]) >= len(module.functions)
    assert all(f["webs"] for f in found["webs"]["functions"])


def test_minimum_is_the_fewest_registers_a_rewrite_takes() -> None:
    fewest = call("inspect", loom("callchain"), "--minimum", "--json").json["minimum"]["registers"]
    assert (
        call("rewrite", loom("callchain"), "--registers", str(fewest), *launch("callchain"), "--no-emulate").code == 0
    )
    less = ["rewrite", loom("callchain"), "--registers", str(fewest - 1), *launch("callchain"), "--no-emulate"]
    assert f"{fewest - 1}" in refused(1, *less)


def test_run_agrees_with_the_reference_and_saves_buffers(tmp_path: Path) -> None:
    answer = call("run", loom("callchain"), *launch("callchain"), "--reference", "--save", str(tmp_path), "--json").json
    assert answer["reference"] == "same"
    assert answer["cycles"] > 0
    assert {Path(p).name for p in answer["saved"]} == {"in.npy", "out.npy"}
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy", "out.npy"}
    assert "Reference: same" in call("run", loom("callchain"), *launch("callchain"), "--reference").out


def test_rewrite_json_has_the_documented_keys_and_the_file_verifies(tmp_path: Path) -> None:
    out = tmp_path / "x.loom"
    options = ["--registers", "6", "--slots", "4", "-o", str(out), "--json"]
    answer = call("rewrite", loom("callchain"), *launch("callchain"), *options).json
    assert {"schema_version", "kernel", "machine", "verified", "speedup", "original", "rewritten"} <= set(answer)
    assert set(answer["original"]) >= VERSION_KEYS
    assert set(answer["rewritten"]) >= VERSION_KEYS
    assert (answer["schema_version"], answer["kernel"], answer["machine"]) == (1, "callchain", "gtx680")
    assert answer["verified"] is True
    assert answer["rewritten"]["registers"] <= 6
    assert answer["speedup"] == pytest.approx(answer["original"]["cycles"] / answer["rewritten"]["cycles"], abs=1e-3)
    assert list(tmp_path.iterdir()) == [out]
    found = call("verify", loom("callchain"), str(out), *launch("callchain"), "--json").json
    assert (found["verified"], found["checked"], found["same_results"]) == (True, True, True)
    assert found["cycles"]["rewritten"] == answer["rewritten"]["cycles"]
    assert "passed" in call("verify", loom("callchain"), str(out)).out
    _diff_and_layout(out, answer["rewritten"]["slots"])


def _diff_and_layout(out: Path, slots: int) -> None:
    rows = [r for f in call("diff", loom("callchain"), str(out), "--json").json["functions"] for r in f["rows"]]
    assert {"same", "inserted"} <= {r["kind"] for r in rows}
    assert "callchain -> callchain" in call("diff", loom("callchain"), str(out)).out
    layout = call("inspect", str(out), "--stack", "--json").json["stack"]["slots"]
    assert (layout["slots"], layout["bytes_per_warp"]) == (slots, 128 * slots)
    assert layout["functions"][0]["rows"]
    assert "pointer R" in call("inspect", str(out), "--stack").out
    assert call("inspect", str(out)).out.count("provenance: tool binalloc") == 1


@pytest.mark.rotates("long commands")
def test_rewrite_chooses_by_blocks_and_by_policy() -> None:
    answer = call("rewrite", loom("nbody"), "--blocks", "6", *launch("nbody"), "--no-emulate", "--json").json
    assert answer["rewritten"]["blocks_per_sm"] >= 6
    assert answer["speedup"] is None
    unified = ("rewrite", loom("stencil3d"), *launch("stencil3d"), "--no-emulate")
    static = call(*unified, "--auto", "--policy", "unified", "--json")
    assert (static.json["policy"], static.json["reading"]) == ("unified", [])
    read = ["--policy", "unified", "--reading", "spills", "--reading", "up-to-most"]
    spills = call(*unified, *read, "--json")
    assert spills.json["reading"] == ["spills", "up-to-most"]
    assert "expected --policy unified" in refused(2, "rewrite", loom("nbody"), "--reading", "spills")
    wrong = refused(2, *unified, *read, "--reading", "no-textures")
    assert "--reading: two readings of one thing" in wrong
    assert static.json["reason"].startswith("start: interval")
    auto = call("rewrite", loom("callchain"), "--auto", *launch("callchain"), "--json").json
    assert (auto["kept_original"], auto["verified"], auto["same_results"]) == (False, True, True)
    assert auto["speedup"] > 1.0
    assert "Chosen: fewest cycles" in call("rewrite", loom("callchain"), *launch("callchain")).out


def test_auto_keeps_an_original_that_nothing_beats_and_writes_it(tmp_path: Path) -> None:
    out = tmp_path / "out.loom"
    kept = ["rewrite", loom("stencil3d"), *launch("stencil3d"), "--no-emulate", "--policy", "unified", "--auto"]
    kept += ["-o", str(out)]
    answer = call(*kept, "--json").json
    assert answer["kept_original"] is True
    assert answer["rewritten"] == answer["original"]
    assert [fn.instrs for fn in load(out)] == [fn.instrs for fn in load(loom("stencil3d"))]
    assert "The original is kept" in call(*kept).out


def test_rewrite_to_stdout_is_the_binary_alone() -> None:
    answer = call("rewrite", loom("callchain"), "--registers", "6", *launch("callchain"), "--no-emulate", "-o", "-")
    assert read_module(answer.raw).kernels()[0].info.registers <= 6


def test_run_inspect_and_verify_take_the_machine_the_binary_records(tmp_path: Path) -> None:
    other = rescheduled("callchain", "c2075", tmp_path)
    assert call("run", other, *launch("callchain"), "--json").json["machine"] == "c2075"
    assert call("run", loom("callchain"), *launch("callchain"), "--json").json["machine"] == "gtx680"
    text = call("disasm", loom("callchain")).out.replace(".kernel callchain\n", ".kernel callchain\n.block 256\n", 1)
    (tmp_path / "block.loom").write_bytes(call("asm", "-", "--schedule", "c2075", stdin=text.encode()).raw)
    shown = call("inspect", str(tmp_path / "block.loom"), "--json").json["sections"]["functions"]
    assert [f["occupancy"]["machine"] for f in shown if "occupancy" in f] == ["c2075"]
    found = call("verify", loom("callchain"), other, *launch("callchain"), "--json").json
    assert (found["verified"], found["machine"], found["original_rescheduled"]) == (True, "c2075", True)
    assert found["cycles"]["original"] == found["cycles"]["rewritten"]
    assert "original rescheduled" in call("verify", loom("callchain"), other, *launch("callchain")).out


def test_a_machine_of_ones_own_must_be_given_again_where_the_binary_runs(tmp_path: Path) -> None:
    text = (ROOT / "binalloc/models/machines/gtx680.toml").read_text()
    (tmp_path / "m.toml").write_text(text.replace('name = "gtx680"', 'name = "mine"'))
    own, out = str(tmp_path / "m.toml"), str(tmp_path / "m.loom")
    assert call("schedule", loom("callchain"), "--machine", own, "-o", out).code == 0
    assert "--machine FILE" in refused(2, "run", out, *launch("callchain"))
    assert "--machine FILE" in refused(2, "verify", loom("callchain"), out, *launch("callchain"))
    assert call("verify", loom("callchain"), out).code == call("inspect", out).code == 0
    assert call("verify", loom("callchain"), out, *launch("callchain"), "--machine", own).code == 0
    assert call("run", out, *launch("callchain"), "--machine", own, "--json").json["machine"] == "mine"


def test_rewrite_says_when_it_wrote_no_file(tmp_path: Path) -> None:
    command = ["rewrite", loom("callchain"), "--registers", "8", "--slots", "2", "--no-emulate", *launch("callchain")]
    assert call(*command).out.endswith("No file was written (-o FILE).\n")
    assert "No file" not in call(*command, "-o", str(tmp_path / "x.loom")).out


def test_an_unknown_allocator_is_refused_before_any_file_is_read() -> None:
    names = ", ".join(map(repr, ALLOCATORS))
    assert names in refused(2, "rewrite", "no/such/file", "--allocator", "nope")


def test_run_shows_counters_that_are_not_zero_and_both_occupancies() -> None:
    answer = call("run", loom("callchain"), *launch("callchain"), "--json").json
    assert answer["occupancy"] == 1.0
    assert 0 < answer["achieved_occupancy"] == answer["stats"]["achieved_occupancy"] < 1
    text = call("run", loom("callchain"), *launch("callchain")).out
    assert f"occupancy 1.000, achieved occupancy {answer['achieved_occupancy']:.3f}\n" in text
    assert "scoreboard: the nearest warp waits for results" in text
    assert answer["stats"]["bank_conflict_cycles"] == 0
    assert "bank_conflict_cycles" not in text


def test_stall_reasons_are_all_explained() -> None:
    from binalloc.emulator.policies.gates.table import STALL_NAMES
    from binalloc.report.runs.run import stall_texts

    assert tuple(stall_texts()) == STALL_NAMES


def test_machines_lists_shows_and_answers() -> None:
    names = [m["name"] for m in call("machines", "--json").json["machines"]]
    assert names == list_machines()
    assert "65,536" in call("machines").out
    shown = call("machines", "gtx680")
    assert "whitepaper" in shown.out
    question = ["--occupancy", "--registers", "40", "--shared", "4096", "--threads", "256", "--json"]
    answer = call("machines", "--cc", "3.0", *question).json
    assert answer["blocks_per_sm"] == 6
    assert answer["limits"]["registers"] == 6
    assert call("machines", "--machine", "gtx680", *question).json["blocks_per_sm"] == 6
    assert call("machines", "gtx680", *question).json == call("machines", "--machine", "gtx680", *question).json
    assert "limit_mask" in answer
    assert "limit_mask" not in call("machines", "gtx680", "--occupancy").out


@pytest.mark.rotates("long commands")
def test_demo_prints_every_version_of_every_sample() -> None:
    answer = call("demo", "callchain", "stencil2d", "--size", "test", "--samples", str(SAMPLES))
    assert answer.code == 0
    for word in ("callchain", "stencil2d", "original", "local B", "policy unified: ", "verified"):
        assert word in answer.out
    rows = call("demo", "callchain", "--size", "test", "--samples", str(SAMPLES), "--json").json["rows"]
    assert rows[0]["verified"] is True
    assert set(rows[0]["original"]) >= VERSION_KEYS
    rewritten = call("rewrite", loom("callchain"), *launch("callchain"), "--engine", "numba", "--json").json
    for name, there in (("speedup", "speedup"), ("rescheduling", "rescheduling"), ("parts", "speedup_parts")):
        assert rows[0][name] == rewritten[there], "the same number in the same digits"


def test_limits_and_faults_have_codes_of_their_own(tmp_path: Path) -> None:
    assert "--max-cycles" in stopped(4, loom("callchain"), *launch("callchain"), "--max-cycles", "100")
    text = call("disasm", loom("callchain")).out.replace("STG.32 [R2], R4", "STG.32 [RZ], R4")
    (tmp_path / "fault.loom").write_bytes(call("asm", "-", stdin=text.encode()).raw)
    assert "STG" in refused(5, "run", str(tmp_path / "fault.loom"), *launch("callchain"))


@pytest.mark.parametrize(
    "args",
    [
        ["frobnicate"],
        ["inspect", "no/such/file.loom"],
        ["inspect", str(ROOT)],
        ["inspect", loom("callchain"), "--webs", "--kernel", "nope"],
        ["run", loom("callchain")],
        ["run", loom("callchain"), "--launch", str(sample_file("callchain.toml")), "--size", "nope"],
        ["rewrite", loom("callchain"), "--auto", "--registers", "4"],
        ["rewrite", loom("callchain"), "--registers", "none"],
        ["rewrite", loom("callchain"), "--registers", "200", *launch("callchain")],
        ["rewrite", loom("callchain"), "--allocator", "nope", "--registers", "8", *launch("callchain"), "--no-emulate"],
        ["rewrite", loom("callchain"), "--registers", "8"],
        ["rewrite", loom("callchain"), "--auto", *launch("callchain"), "--no-emulate"],
        ["rewrite", loom("callchain"), "--size", "test"],
        ["run", loom("callchain"), *launch("nbody")],
        ["verify", "-", "-"],
        ["diff", loom("callchain"), loom("nbody")],
        ["machines", "nope"],
        ["machines", "--occupancy"],
        ["machines", "--registers", "40"],
        ["machines", "gtx680", "--cc", "3.0"],
        ["machines", "gtx680", "c2075", "--occupancy"],
        ["machines", "gtx680", "--occupancy", "--cc", "3.0"],
        ["rewrite", loom("nbody"), "--registers", "40", "--slots", "8", "--emulate"],
        ["rewrite", loom("callchain"), "--registers", "8", "--policy", "exhaustive"],
        ["machines", "--occupancy", "--cc", "9.9"],
        ["machines", "--occupancy", "--cc", "3.0", "--threads", "-1"],
        ["demo", "nope", "--samples", str(SAMPLES)],
        ["demo", "--samples", str(ROOT / "binalloc")],
        ["asm", str(sample_file("callchain.lasm")), "-o", "/no/such/folder/x.loom"],
        ["rewrite", loom("callchain"), *launch("callchain"), "-o", "/no/such/folder/x.loom"],
        ["run", loom("callchain"), *launch("callchain"), "--sms", "99"],
    ],
    ids=lambda args: " ".join(str(a).rsplit("/", 1)[-1] for a in args),
)
def test_contradictory_command_lines_are_usage_errors(args: list[str]) -> None:
    refused(2, *args)


def test_json_does_not_share_stdout_with_a_binary() -> None:
    for args in (
        ["asm", str(sample_file("callchain.lasm"))],
        ["schedule", loom("callchain")],
        ["disasm", loom("callchain")],
    ):
        answer = call(*args, "-o", "-", "--json")
        assert answer.code == 2
        assert "error" in json.loads(answer.out)


def test_a_defect_of_ours_is_one_line_and_exit_code_70(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from binalloc.cli.main import main

    def broken(text: str, path: str) -> None:
        raise AssertionError("two\nlines")

    monkeypatch.setattr("binalloc.isa.text.assembler.assemble", broken)
    result = CliRunner().invoke(main, ["asm", str(sample_file("callchain.lasm"))])
    assert result.exit_code == 70
    assert result.stderr.startswith("binalloc: error: internal error: AssertionError: two lines.")
    assert result.stderr.count("\n") == 1


def _python(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=ROOT, env=env, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_and_a_closed_pipe_are_no_tracebacks() -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "binalloc", "inspect", loom("callchain")],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
    assert (run.returncode, run.stderr) == (2, "binalloc: error: output: No space left on device\n")
    pipe = subprocess.run(
        [f"{sys.executable} -m binalloc disasm {loom('matmul')} | head -1"],
        shell=True, capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert (pipe.stdout, pipe.stderr) == (".kernel matmul\n", "")


def test_help_has_a_whole_sentence_of_every_command() -> None:
    """click takes the first sentence for the list of commands, and every point in front of a space for its end."""
    for name, command in main.commands.items():
        text = " ".join((command.help or "").split())
        sentence, _, rest = text.partition(". ")
        assert len(sentence.split()) > 4, name
        assert not rest or not (rest[0].isdigit() or rest[0].islower()), (name, sentence)


def test_help_names_every_command_and_completion_works() -> None:
    answer = _python("-m", "binalloc", "--help")
    for command in ("asm", "disasm", "inspect", "schedule", "run", "rewrite", "verify", "diff", "machines", "demo"):
        assert f"\n  {command} " in answer.stdout
    done = _python(
        "-c",
        "from binalloc.cli.main import main; main(prog_name='binalloc')",
        _BINALLOC_COMPLETE="bash_complete",
        COMP_WORDS="binalloc rew",
        COMP_CWORD="1",
    )
    assert done.stdout.split() == ["plain,rewrite"]


def test_completion_knows_the_rows_of_tables() -> None:
    for option, names in (("policy", ["exhaustive", "unified", "model", "measured"]), ("allocator", list(ALLOCATORS))):
        done = _python(
            "-c",
            "from binalloc.cli.main import main; main(prog_name='binalloc')",
            _BINALLOC_COMPLETE="bash_complete",
            COMP_WORDS=f"binalloc rewrite --{option} ",
            COMP_CWORD="3",
        )
        assert done.stdout.split() == [f"plain,{name}" for name in names]


def test_heavy_packages_stay_out_of_commands_that_do_not_need_them(tmp_path: Path) -> None:
    """What keeps --help and a rewrite quick; the times themselves are the benchmarks' business."""
    program = """
import sys
from binalloc.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as e:
    assert e.code == 0, e.code
heavy = {'numba', 'ortools', 'networkx', 'construct', 'numpy', 'pandas'}
print(*sorted({m.split('.')[0] for m in sys.modules} & heavy))
"""
    for command in ((), ("rewrite",), ("run",)):
        assert _python("-c", program, *command, "--help").stdout.splitlines()[-1] == ""
    out = str(tmp_path / "x.loom")
    for slots, needed in ((16, "construct numpy"), (8, "construct numpy ortools")):  # the second has too few for all
        asked = ["rewrite", loom("nbody"), "--registers", "40", "--slots", str(slots), "-o", out]
        answer = _python("-c", program, *asked)
        assert answer.stdout.splitlines()[-1] == needed, answer.stderr


def test_options_that_would_say_nothing_are_refused() -> None:
    asked = ["rewrite", loom("callchain"), "--registers", "6"]
    assert "--allocator cpsat" in refused(2, *asked, "--solver-limit", "2")
    assert "--launch FILE" in refused(2, *asked, "--skews", "2")


def test_an_empty_source_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "empty.lasm"
    source.write_text("// nothing\n")
    assert "nothing to assemble" in refused(3, "asm", str(source), "-o", str(tmp_path / "x.loom"))
    assert not (tmp_path / "x.loom").exists()
