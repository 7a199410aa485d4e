"""What the commands print has the shapes of `report/shapes`, and nothing else; page and schema are made from these."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from binalloc.report.shapes import doc
from tests.support.kits.cli import ROOT, SAMPLES, call, launch, loom
from tests.support.kits.report.reproduced import reproduced, reproduced_multiplex
from tests.support.kits.report.shapes import documented, fields, pattern, problems, shapes_of
from tests.support.paths import sample_file
from tests.support.programs.chase import chase_files
from tests.support.programs.indirect import INDIRECT
from tests.support.ptx.bounded import bounded
from tests.support.ptx.texts import MIXED

SEQUENCE = "run of a sequence"
REWRITTEN = "rewrite of a sequence"
RECURSION = ("plain", "parity")


GLOBALS = """.const 3 {
    .word 1, 2
}
.constant table 3 0 8
.global total 8 8 0 {
    .word 5
}
.kernel k
.block 64
    MOV R1, 1
    IADD3 R1, R1, R2, RZ
    CALL.IND R1
    EXIT
.end
"""


LARGE = """.kernel k
.param out, 8
.registers 40
.block 256
    S2R R4, SR_TID.X
    MOV R2, 4
    IMAD.WIDE R2, R4, R2, c[0][out]
    LDG R5, [R2]
    IADD3 R6, R5, 1, RZ
    IADD3 R7, R6, R5, RZ
    STG [R2], R7
    EXIT
.end
"""
LARGE_LAUNCH = """kernel = "k"
grid = 4000
block = 256
[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = [256]
"""


def _launch(kernel: str, buffer: str, *scalars: tuple[str, str, float]) -> str:
    """The launch of a kernel of 32 threads with one buffer of ones."""
    head = f'kernel = "{kernel}"\ngrid = 1\nblock = 32\n[[argument]]\nname = "{buffer}"\nkind = "buffer"\n'
    rows = [head + 'dtype = "i32"\nshape = 32\ninit = "ones"\n']
    rows += [
        f'[[argument]]\nname = "{name}"\nkind = "scalar"\ndtype = "{dtype}"\nvalue = {value}\n'
        for name, dtype, value in scalars
    ]
    return "".join(rows)


UNINITIALISED = """.kernel k
    IADD3 R1, R2, R2, RZ
    EXIT
.end
"""


def large_grid(folder: Path) -> list[str]:
    """A binary and a launch of so many blocks that parts of them are run."""
    (folder / "large.lasm").write_text(LARGE)
    assert call("asm", str(folder / "large.lasm"), "-o", str(folder / "large.loom")).code == 0
    (folder / "large.toml").write_text(LARGE_LAUNCH)
    return [str(folder / "large.loom"), "--launch", str(folder / "large.toml")]


def printing(folder: Path) -> list[list[str]]:
    """Runs of a kernel that leaves blocks in the heap, of one that prints, and of both in a sequence."""
    (folder / "talk.toml").write_text(_launch("talk", "n", ("x", "f64", 0.5)))
    (folder / "lists.toml").write_text(_launch("lists", "sums", ("rounds", "i32", 2), ("keep", "i32", 1)))
    file = str(ROOT / "tests/data/ptx/device_runtime.ptx")
    steps = _launch("talk", "n", ("x", "f64", 0.5)).split("block = 32\n")[1]
    steps += '[[step]]\nlaunch = "talk"\ngrid = 1\nblock = 8\narguments = ["n", "x"]\n'
    steps += '[[step]]\nlaunch = "lists"\ngrid = 1\nblock = 32\narguments = ["n", 2, 1]\n'
    (folder / "steps.toml").write_text(steps)
    return [["run", file, "--launch", str(folder / f"{name}.toml")] for name in ("lists", "talk", "steps")]


def recursive(folder: Path) -> list[str]:
    """The rewrite of a sequence of which one kernel recurses."""
    steps = _launch("plain", "n").split("block = 32\n")[1]
    steps += "".join(f'[[step]]\nlaunch = "{name}"\ngrid = 1\nblock = 32\narguments = ["n"]\n' for name in RECURSION)
    (folder / "recursion.toml").write_text(steps)
    file = str(ROOT / "tests/data/ptx/recursion.ptx")
    return ["rewrite", file, "--launch", str(folder / "recursion.toml"), "--engine", "python", "--registers", "16"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, list[Any]]:
    """Every command with --json, often enough that every field that can be there is there once."""
    request.getfixturevalue("shared_versions")
    t = tmp_path_factory.mktemp("json")
    sample, rewritten = loom("callchain"), str(t / "rewritten.loom")
    run = launch("callchain")
    waiting, started, _ = chase_files(t)
    turning = ["--launch", started, "--machine", "gtx285", "--engine", "python", "--multiplex", "today"]
    counted = str(t / "profile.json")
    assert call("run", sample, *run, "--profile", counted).code == 0
    (t / "g.lasm").write_text(GLOBALS)
    (t / "m.ptx").write_text(MIXED)
    (t / "bounded.ptx").write_text(bounded(".maxntid 256 .maxnreg 40", '.pragma "nounroll";'))
    (t / "u.loom").write_bytes(call("asm", "-", stdin=UNINITIALISED.encode()).raw)
    (t / "i.loom").write_bytes(call("asm", "-", stdin=INDIRECT.encode()).raw)
    views = ["--sections", "--cfg", "--webs", "--live", "--pressure", "--stack"]
    bad = call("disasm", sample).out.replace("FMUL R4, R2, R3", "FMUL R4, R2, R2")
    (t / "bad.loom").write_bytes(call("asm", "-", stdin=bad.encode()).raw)
    hasty = re.sub(r"stall:\d+", "stall:1", call("disasm", str(t / "bad.loom")).out)
    (t / "hasty.loom").write_bytes(call("asm", "-", stdin=hasty.encode()).raw)
    lines: dict[str, list[list[str]]] = {
        "asm": [["asm", str(t / "g.lasm")]],
        "disasm": [["disasm", sample, "-o", str(t / "text")]],
        "launch-skeleton": [["launch-skeleton", str(sample_file("cfd.ptx"))],
                            ["launch-skeleton", loom("nbody"), "-o", str(t / "nbody.toml")],
                            ["launch-skeleton", str(t / "i.loom")]],
        "multiplex": [
            ["multiplex", str(sample_file("fourierTransform.ptx")), "--machine", "gtx285", "--size", "test", "--launch",
             str(sample_file("fourierTransform.toml")), "--scheme", "vtb", "--merge", "2", "--timeline"],
            ["multiplex", str(sample_file("histogram.ptx")), "--machine", "gtx285", "--size", "test", "--launch",
             str(sample_file("histogram.toml")), "--scheme", "co-hw", "--split", "counters=1/2"],
            ["multiplex", str(sample_file("slidingMD5.ptx")), "--machine", "gtx285", "--size", "test", "--launch",
             str(sample_file("slidingMD5.toml")), "--scheme", "hw", "--regions", "as-is", "--share"],
            ["multiplex", str(sample_file("reduction.ptx")), "--machine", "gtx285", "--size", "test", "--launch",
             str(sample_file("reduction.toml")), "--scheme", "auto", "--regions", "as-is", "--today"],
        ],
        "schedule": [["schedule", sample, "-o", str(t / "b.loom")]],
        "import-ptx": [["import-ptx", str(t / "bounded.ptx"), "-o", str(t / "bounded.loom")],
                       ["import-ptx", str(sample_file("reduction.ptx")), "-o", str(t / "rd.loom")],
                       ["import-ptx", "--list", str(ROOT / "tests/data/fatbin/libparts.a")],
                       ["import-ptx", str(t / "m.ptx"), "--skip-unsupported", "-o", str(t / "m.loom")]],
        "rewrite": [
            ["rewrite", sample, *run, "--registers", "6", "--slots", "4", "-o", rewritten],
            ["rewrite", sample, *run, "--registers", "7", "--no-emulate", "--profile", counted],
            ["rewrite", sample, *run, "--policy", "unified", "--skews", "1"],
            ["rewrite", loom("nbody"), "--registers", "40", "--slots", "8", "--allocator", "cpsat", "--explain"],
            ["rewrite", loom("stencil3d"), *launch("stencil3d"), "--blocks", "4"],
            ["rewrite", str(t / "bounded.ptx"), "--blocks", "2"],
            ["rewrite", waiting, *turning, "-o", str(t / "turns.loom")],
        ],
        "inspect": [
            ["inspect", rewritten, *views],
            ["inspect", sample, *views, "--minimum"],
            ["inspect", str(sample_file("matrixMultiply.ptx")), "--shared"],
            ["inspect", str(sample_file("marchingCubes.ptx")), "--shared", "--block", "32"],
            ["inspect", str(t / "g.loom"), "--sections", "--cfg"],
            ["inspect", str(t / "u.loom"), "--webs"],
            ["inspect", str(t / "rd.loom"), *views],
            ["inspect", loom("nbody"), *views],
        ],
        "run": [["run", sample, *run, "--profile", str(t / "again.json")],
                ["run", sample, *run, "--reference", "--save", str(t / "saved"), "--accelsim-trace", str(t / "trace")],
                ["run", sample, *run, "--trace", str(t / "t.json"), "--watch", "out"],
                ["run", sample, *run, "--watch", "out", "--break", "watch"],
                ["run", sample, *run, "--max-cycles", "300"],
                *printing(t)[:2],
                ["run", str(t / "rd.loom"), "--launch", str(sample_file("reduction.toml")), "--size", "test",
                 "--annotate", "--source", str(sample_file("reduction.toml").parent),
                 "--series", str(t / "series.json"), "--every", "500"]],
        "verify": [["verify", sample, str(t / "bad.loom"), *run, "--max-slowdown", "2%", "--max-local-bytes", "0"],
                   ["verify", rewritten, sample],
                   ["verify", waiting, str(t / "turns.loom")],
                   ["verify", sample, str(t / "hasty.loom")]],
        "diff": [["diff", sample, rewritten]],
        "machines": [["machines"], ["machines", "gtx680", "c2075"], ["machines", "--cc", "12.0", "--occupancy"],
                     ["machines", "--cc", "8.0", "--occupancy", "--carveout", "50"]],
        "demo": [["demo", "callchain", "--size", "test", "--engine", "python", "--samples", str(SAMPLES)],
                 ["demo", "particles", "--size", "test", "--samples", str(SAMPLES)],
                 ["demo", "lu", "cluster", "--size", "test", "--engine", "python", "--samples", str(SAMPLES)]],
        "compare-allocators": [
            ["compare-allocators", sample, "--registers", "1,9", "--slots", "2"],
            ["compare-allocators", sample, "--registers", "6", "--slots", "2", "--allocators", "best",
             "--profile", counted],
            ["compare-allocators", str(sample_file("scalarProducts.ptx")), "--registers", "24", "--slots", "2"],
        ],
        "recommend": [["recommend", *large_grid(t), "--policy", "measured"],
                      ["recommend", waiting, *turning],
                      ["recommend", str(t / "bounded.loom")],
                      ["recommend", sample, "--machine", "gtx680,c2075", *run],
                      ["recommend", str(sample_file("FDTD3d.ptx")), "--policy", "unified", "--reading", "spills"]],
        "smem-cost": [["smem-cost", "--warps", "1,2", "--loads", "1", "--congestion", "1,2", "--engine", "python",
                       "--plot", str(t / "plot.svg")]],
        "sweep": [["sweep", sample, *run, "--levels", "7-9", "--jobs", "1", "--cache", str(t / "kept")],
                  ["sweep", waiting, *turning, "--levels", "1", "--jobs", "1", "--cache", str(t / "kept"),
                   "--allocators", "local"]],
        "error": [["run", sample, *run, "--size", "nope"], ["inspect", "nope"], ["inspect", str(t / "text")],
                  ["rewrite", sample, "--registers", "1", *run],
                  ["rewrite", sample, "--registers", "6", *run, "--max-cycles", "300"]],
    }  # fmt: skip
    program = ["run", str(sample_file("levels.ptx")), "--launch", str(sample_file("levels.toml")), "--size", "test",
               "--engine", "python"]  # fmt: skip
    lines["run"].append([*program, "--step", "2"])
    sequence = ["--launch", str(sample_file("sort.toml")), "--size", "test", "--engine", "python"]
    lines[REWRITTEN] = [["rewrite", str(sample_file("sort.ptx")), *sequence, "--registers", "6"], recursive(t)]
    lines[SEQUENCE] = [printing(t)[2], [*program, "--max-cycles", "5000"],
                       ["run", str(sample_file("diffusion.ptx")), "--launch", str(sample_file("diffusion.toml")),
                        "--size", "test", "--engine", "python", "--reference", "--save", str(t / "left")]]  # fmt: skip
    found = {name: [call(*args, "--json").json for args in several] for name, several in lines.items()}
    both = [reproduced(tmp_path_factory)[0], reproduced_multiplex(tmp_path_factory)[0]]
    return found | {"reproduce": both}


def test_page_and_schema_are_made_from_the_shapes() -> None:
    assert doc.PAGE.read_text(encoding="utf-8") == doc.page(), "make tables"
    assert doc.SCHEMA.read_text(encoding="utf-8") == doc.schema_text(), "make tables"


def test_shapes_are_for_checkers_of_types_alone() -> None:
    """What makes page and schema is not installed where binalloc is used."""
    found = []
    for path in sorted((ROOT / "binalloc").rglob("*.py")):
        if "shapes" in path.parts:
            continue
        for node in ast.parse(path.read_text()).body:
            imports = [node] if isinstance(node, ast.ImportFrom) else []
            if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
                imports += [inner for inner in ast.walk(node) if isinstance(inner, ast.ImportFrom)]
            found += [str(path) for one in imports if (one.module or "").startswith("binalloc.report.shapes")]
    assert found == []


def test_the_page_has_every_command(answers: dict[str, list[Any]]) -> None:
    from binalloc.cli.main import main

    assert set(answers) == {*main.commands, "error", SEQUENCE, REWRITTEN}
    for name in answers:
        assert shapes_of(name), name


def test_what_is_printed_has_its_shape(answers: dict[str, list[Any]]) -> None:
    wrong = [
        f"{name}: {problem}"
        for name, found in answers.items()
        for answer in found
        for problem in problems(answer, *shapes_of(name), *(shapes_of("error") if "error" in answer else ()))
    ]
    assert wrong == []


def test_what_is_in_a_shape_is_printed(answers: dict[str, list[Any]]) -> None:
    idle = []
    # Where `local` finds no allocation: no sample is so. Objects of versions in turns that `multiplex` or `rewrite`
    # shows: no kernel is small enough for so many runs. Factors of such versions: the demo does not ask for them. Own
    # words: they are chosen, or in the kernel of `--multiplex`, where a kernel has some; and are not in the paper.
    # Curves have ten launches of full size; `test_curves` looks at them.
    unseen = re.compile(
        r".*parts\.spills|.*turns\.schemes\[\]\.divided\[\]\..*|recommendations\[\]\.turns\.(chosen|launch)\..*"
        r"|rows\[\]\.parts\.(allocation|turns)|(.*\.)?chosen\.own_words|kernels\[\]\.auto\.\w+\.own_words"
        r"|.*turns\.own\..*|curves\[\]\..*"
    )
    aside = (frozenset[str](), documented(*shapes_of("run")))  # any command's stopped run has what `run` has
    for name, found in answers.items():
        shown = {path for answer in found for path in fields(answer)}
        idle += [
            f"{name}: {path}"
            for path in sorted(documented(*shapes_of(name)) - aside[name == "error"])
            if not any(map(pattern(path).match, shown)) and not unseen.fullmatch(path)
        ]
    assert idle == [], "\n".join(idle)
