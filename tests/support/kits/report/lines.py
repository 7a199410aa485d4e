"""Lines of every command that together print every field of JSON. What a line needs is made when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from binalloc.cli.main import main
from tests.support.kits.cli import ROOT, SAMPLES, call, launch, loom
from tests.support.paths import sample_file
from tests.support.programs.chase import chase_files
from tests.support.programs.indirect import INDIRECT
from tests.support.ptx.bounded import bounded
from tests.support.ptx.texts import MIXED

SEQUENCE = "run of a sequence"
REWRITTEN = "rewrite of a sequence"
ERROR = "error"
NAMES = (*main.commands, ERROR, SEQUENCE, REWRITTEN)
"""Sections of JSON.md."""
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


UNINITIALISED = """.kernel k
    IADD3 R1, R2, R2, RZ
    EXIT
.end
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


def _large_grid(folder: Path) -> list[str]:
    """A binary and a launch of so many blocks that parts of them are run."""
    (folder / "large.lasm").write_text(LARGE)
    assert call("asm", str(folder / "large.lasm"), "-o", str(folder / "large.loom")).code == 0
    (folder / "large.toml").write_text(LARGE_LAUNCH)
    return [str(folder / "large.loom"), "--launch", str(folder / "large.toml")]


def _printing(folder: Path) -> list[list[str]]:
    """Runs of a kernel that leaves blocks in the heap, of one that prints, and of both in a sequence."""
    (folder / "talk.toml").write_text(_launch("talk", "n", ("x", "f64", 0.5)))
    (folder / "lists.toml").write_text(_launch("lists", "sums", ("rounds", "i32", 2), ("keep", "i32", 1)))
    file = str(ROOT / "tests/data/ptx/device_runtime.ptx")
    steps = _launch("talk", "n", ("x", "f64", 0.5)).split("block = 32\n")[1]
    steps += '[[step]]\nlaunch = "talk"\ngrid = 1\nblock = 8\narguments = ["n", "x"]\n'
    steps += '[[step]]\nlaunch = "lists"\ngrid = 1\nblock = 32\narguments = ["n", 2, 1]\n'
    (folder / "steps.toml").write_text(steps)
    return [["run", file, "--launch", str(folder / f"{name}.toml")] for name in ("lists", "talk", "steps")]


def _recursive(folder: Path) -> list[str]:
    """The rewrite of a sequence of which one kernel recurses."""
    steps = _launch("plain", "n").split("block = 32\n")[1]
    steps += "".join(f'[[step]]\nlaunch = "{name}"\ngrid = 1\nblock = 32\narguments = ["n"]\n' for name in RECURSION)
    (folder / "recursion.toml").write_text(steps)
    file = str(ROOT / "tests/data/ptx/recursion.ptx")
    return ["rewrite", file, "--launch", str(folder / "recursion.toml"), "--engine", "python", "--registers", "16"]


_SHARED = [
    str(sample_file("SRAD2.ptx")), "--machine", "gpgpusim-sharing", "--launch", str(sample_file("SRAD2.toml")),
    "--size", "test",
]  # fmt: skip
"""A kernel whose blocks can share memory two by two, and its launch."""


_TWO_MEMORIES = ["--machine", "gem5gpu-batching", "--sms", "8", "--pages", "bandwidth", "--engine", "python"]
"""Pages lie in both memories of a machine."""
CPU = """
schema = 1
[[programs]]
name = "some"
mpki = 20.0
inflight = 4
footprint = 1_000_000
locality = 0.5
ipc = 0.5
mhz = 2000
latency = 80
"""


class Lines:
    """The lines of one command after another, for which files are made in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._waiting, started, _ = chase_files(folder)
        self._turning = [self._waiting, "--launch", started, "--machine", "gtx285", "--multiplex", "today"]
        (folder / "g.lasm").write_text(GLOBALS)
        (folder / "m.ptx").write_text(MIXED)
        (folder / "bounded.ptx").write_text(bounded(".maxntid 256 .maxnreg 40", '.pragma "nounroll";'))
        (folder / "cpu.toml").write_text(CPU)
        self._found: dict[str, list[Any]] = {}

    def answers(self, name: str) -> list[Any]:
        """Return what the lines in a section of JSON.md print with --json."""
        if name not in self._found:
            self._found[name] = [call(*line, "--json").json for line in self._lines()[name]()]
        return self._found[name]

    def _new(self, name: str) -> str:
        return str(self.folder / name)

    def _file(self, name: str) -> str:
        """The path of a file that a command writes, after the command."""
        sample, run = loom("callchain"), launch("callchain")
        makers: dict[str, Callable[[], list[str]]] = {
            "profile.json": lambda: ["run", sample, *run, "--profile"],
            "shared.json": lambda: ["run", *_SHARED, "--engine", "python", "--profile"],
            "rewritten.loom": lambda: ["rewrite", sample, *run, "--registers", "6", "--slots", "4", "-o"],
            "turns.loom": lambda: ["rewrite", *self._turning, "-o"],
            "rd.loom": lambda: ["import-ptx", str(sample_file("reduction.ptx")), "-o"],
            "bounded.loom": lambda: ["import-ptx", self._new("bounded.ptx"), "-o"],
            "g.loom": lambda: ["asm", self._new("g.lasm"), "-o"],
            "text": lambda: ["disasm", sample, "-o"],
        }
        if not (self.folder / name).exists():
            answer = call(*makers[name](), self._new(name))
            assert answer.code == 0, answer.err
        return self._new(name)

    def _assembled(self, name: str, text: str) -> str:
        """The path of the binary of a text."""
        (self.folder / name).write_bytes(call("asm", "-", stdin=text.encode()).raw)
        return self._new(name)

    def _one_sm(self) -> str:
        """The machine of kernels whose blocks share memory, with one SM."""
        text = (ROOT / "binalloc/models/machines/gpgpusim-sharing.toml").read_text()
        (self.folder / "one.toml").write_text(text.replace("sms = { value = 14,", "sms = { value = 1,"))
        return self._new("one.toml")

    def _bad(self) -> str:
        text = call("disasm", loom("callchain")).out
        return self._assembled("bad.loom", text.replace("FMUL R4, R2, R3", "FMUL R4, R2, R2"))

    def _hasty(self) -> str:
        return self._assembled("hasty.loom", re.sub(r"stall:\d+", "stall:1", call("disasm", self._bad()).out))

    def _lines(self) -> dict[str, Callable[[], list[list[str]]]]:
        sample, run, new, file = loom("callchain"), launch("callchain"), self._new, self._file
        views = ["--sections", "--cfg", "--webs", "--live", "--pressure", "--stack"]
        program = ["run", str(sample_file("levels.ptx")), "--launch", str(sample_file("levels.toml")),
                   "--size", "test", "--engine", "python"]  # fmt: skip
        multiplex = {
            "fourierTransform": ["--scheme", "vtb", "--merge", "2", "--timeline"],
            "histogram": ["--scheme", "co-hw", "--split", "counters=1/2"],
            "slidingMD5": ["--scheme", "hw", "--regions", "as-is", "--share"],
            "reduction": ["--scheme", "auto", "--regions", "as-is", "--today"],
        }
        return {
            "asm": lambda: [["asm", new("g.lasm")]],
            "disasm": lambda: [["disasm", sample, "-o", new("again")]],
            "launch-skeleton": lambda: [
                ["launch-skeleton", str(sample_file("cfd.ptx"))],
                ["launch-skeleton", loom("nbody"), "-o", new("nbody.toml")],
                ["launch-skeleton", self._assembled("i.loom", INDIRECT)],
            ],
            "multiplex": lambda: [
                ["multiplex", str(sample_file(f"{name}.ptx")), "--machine", "gtx285", "--size", "test", "--launch",
                 str(sample_file(f"{name}.toml")), *options] for name, options in multiplex.items()
            ],
            "share": lambda: [
                ["share", str(sample_file("backprop.ptx")), "--machine", "gpgpusim-sharing", "--size", "test",
                 "--launch", str(sample_file("backprop.toml")), "--sharing", "0.1"],
                ["share", *_SHARED, "--no-emulate", "--profile", file("shared.json")],
                ["share", str(sample_file("contrast.ptx")), "--machine", "gtx680", "--size", "test", "--overlay",
                 "--launch", str(sample_file("contrast.toml"))],
            ],
            "schedule": lambda: [["schedule", sample, "-o", new("b.loom")]],
            "import-ptx": lambda: [
                ["import-ptx", new("bounded.ptx"), "-o", new("bounded.loom")],
                ["import-ptx", str(sample_file("reduction.ptx")), "-o", new("rd.loom")],
                ["import-ptx", "--list", str(ROOT / "tests/data/fatbin/libparts.a")],
                ["import-ptx", new("m.ptx"), "--skip-unsupported", "-o", new("m.loom")],
            ],
            "rewrite": lambda: [
                ["rewrite", sample, *run, "--registers", "6", "--slots", "4", "-o", new("rewritten.loom")],
                ["rewrite", sample, *run, "--registers", "7", "--no-emulate", "--profile", file("profile.json")],
                ["rewrite", sample, *run, "--policy", "unified", "--skews", "1"],
                ["rewrite", loom("nbody"), "--registers", "40", "--slots", "8", "--allocator", "cpsat", "--explain"],
                ["rewrite", loom("stencil3d"), *launch("stencil3d"), "--blocks", "4"],
                ["rewrite", new("bounded.ptx"), "--blocks", "2"],
                ["rewrite", *self._turning, "-o", new("turns.loom")],
                ["rewrite", *_SHARED, "--registers", "10", "--sharing", "auto"],
                ["rewrite", loom("matmul"), *launch("matmul"), "--registers", "45", "--block-order", "mod:2"],
            ],
            "inspect": lambda: [
                ["inspect", file("rewritten.loom"), *views],
                ["inspect", sample, *views, "--minimum"],
                ["inspect", str(sample_file("matrixMultiply.ptx")), "--shared"],
                ["inspect", str(sample_file("marchingCubes.ptx")), "--shared", "--block", "32"],
                ["inspect", str(sample_file("backprop.ptx")), "--shared", "--block", "16,16", "--machine",
                 "gpgpusim-sharing"],
                ["inspect", file("g.loom"), "--sections", "--cfg"],
                ["inspect", self._assembled("u.loom", UNINITIALISED), "--webs"],
                ["inspect", file("rd.loom"), *views],
                ["inspect", loom("nbody"), *views],
            ],
            "run": lambda: [
                ["run", sample, *run, "--profile", new("again.json")],
                ["run", sample, *run, "--reference", "--save", new("saved"), "--accelsim-trace", new("trace")],
                ["run", sample, *run, "--trace", new("t.json"), "--watch", "out"],
                ["run", sample, *run, "--watch", "out", "--break", "watch"],
                ["run", sample, *run, "--max-cycles", "300"],
                *_printing(self.folder)[:2],
                ["run", file("rd.loom"), "--launch", str(sample_file("reduction.toml")), "--size", "test",
                 "--annotate", "--source", str(sample_file("reduction.toml").parent),
                 "--series", new("series.json"), "--every", "500"],
                ["run", str(sample_file("reduction.ptx")), "--launch", str(sample_file("reduction.toml")), "--size",
                 "test", *_TWO_MEMORIES, "--cpu", new("cpu.toml"), "--annotate", "--source",
                 str(sample_file("reduction.toml").parent)],
                ["run", str(sample_file("reduction.ptx")), "--launch", str(sample_file("reduction.toml")), "--size",
                 "test", *_TWO_MEMORIES, "--dram-log", new("dram")],
                [*program, "--step", "2"],
            ],
            SEQUENCE: lambda: [
                _printing(self.folder)[2],
                [*program, "--max-cycles", "5000"],
                ["run", str(sample_file("diffusion.ptx")), "--launch", str(sample_file("diffusion.toml")),
                 "--size", "test", "--engine", "python", "--reference", "--save", new("left")],
                ["run", str(sample_file("diffusion.ptx")), "--launch", str(sample_file("diffusion.toml")),
                 "--size", "test", *_TWO_MEMORIES],
            ],
            REWRITTEN: lambda: [
                ["rewrite", str(sample_file("sort.ptx")), "--launch", str(sample_file("sort.toml")), "--size", "test",
                 "--engine", "python", "--registers", "6"],
                _recursive(self.folder),
            ],
            "verify": lambda: [
                ["verify", sample, self._bad(), *run, "--max-slowdown", "2%", "--max-local-bytes", "0"],
                ["verify", file("rewritten.loom"), sample],
                ["verify", self._waiting, file("turns.loom")],
                ["verify", sample, self._hasty()],
            ],
            "diff": lambda: [["diff", sample, file("rewritten.loom")]],
            "machines": lambda: [
                ["machines"],
                ["machines", "gtx680", "c2075"],
                ["machines", "--cc", "12.0", "--occupancy"],
                ["machines", "--cc", "8.0", "--occupancy", "--carveout", "50"],
            ],
            "demo": lambda: [
                ["demo", "callchain", "--size", "test", "--engine", "python", "--samples", str(SAMPLES)],
                ["demo", "particles", "--size", "test", "--samples", str(SAMPLES)],
                ["demo", "lu", "cluster", "--size", "test", "--engine", "python", "--samples", str(SAMPLES)],
            ],
            "compare-allocators": lambda: [
                ["compare-allocators", sample, "--registers", "1,9", "--slots", "2"],
                ["compare-allocators", sample, "--registers", "6", "--slots", "2", "--allocators", "best",
                 "--profile", file("profile.json")],
                ["compare-allocators", str(sample_file("scalarProducts.ptx")), "--registers", "24", "--slots", "2"],
            ],
            "recommend": lambda: [
                ["recommend", *_large_grid(self.folder), "--policy", "measured"],
                ["recommend", *self._turning],
                ["recommend", *_SHARED[:2], self._one_sm(), *_SHARED[3:], "--sharing", "auto", "--schedulers", "owf"],
                ["recommend", file("bounded.loom")],
                ["recommend", sample, "--machine", "gtx680,c2075", *run],
                ["recommend", str(sample_file("FDTD3d.ptx")), "--policy", "unified", "--reading", "spills"],
            ],
            "batches": lambda: [
                ["batches", loom("tiles"), *launch("tiles", "python")],
                ["batches", str(sample_file("levels.ptx")), "--launch", str(sample_file("levels.toml")),
                 "--size", "test", "--engine", "python", "--step", "1"],
            ],
            "smem-cost": lambda: [
                ["smem-cost", "--warps", "1,2", "--loads", "1", "--congestion", "1,2", "--engine", "python",
                 "--plot", new("plot.svg")],
            ],
            "sweep": lambda: [
                ["sweep", sample, *run, "--levels", "7-9", "--jobs", "1", "--cache", new("kept")],
                ["sweep", *self._turning, "--levels", "1", "--jobs", "1", "--cache", new("kept"),
                 "--allocators", "local"],
            ],
            ERROR: lambda: [
                ["run", sample, *run, "--size", "nope"],
                ["inspect", "nope"],
                ["inspect", file("text")],
                ["rewrite", sample, "--registers", "1", *run],
                ["rewrite", sample, "--registers", "6", *run, "--max-cycles", "300"],
            ],
        }  # fmt: skip
