"""The command lines of the fuzzing: every command, its options at random, with files damaged or not.

Needs `material`. `commands` writes the files a case needs into its folder and gives the arguments and stdin.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from binalloc.cli.options import CYCLES_LIMIT
from binalloc.models.machines.files import DEFAULT_MACHINE, list_machines
from binalloc.pipeline.policies.table import POLICIES
from binalloc.pipeline.turns import MULTIPLEX
from binalloc.transform.rewrite.ways import WAYS
from tests.fuzz.material import STRINGS, Material, damaged
from tests.support.kits.transform.rewrite_judge import HEURISTICS

INTEGERS = (
    "0", "-1", "1", "3", "8", "40", "63", "64", "255", "256", "1024", "65536", "2147483648", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "9" * 5000, "nan", "1e3", "0x10", "\u0661", " 7", "1_000", "",
)  # fmt: skip
MACHINES = (DEFAULT_MACHINE, *(name for name in list_machines() if name != DEFAULT_MACHINE))
RUN_CYCLES = "3000"
ENGINES = (*["numba"] * 40, "python")
OUTPUTS = (*["out.loom"] * 40, "-", "-", ".", "..", "", "missing/out", "/", "out\n.loom", "a" * 300)

SHARINGS = ("auto", "off", "0.1", "1/3", "1:64", "2:100", "0", "1", "1:", ":8", *STRINGS[:3], *INTEGERS)

ORDERS = (
    "auto", "tile:2x2", "tile:1x3", "mod:2", "stride:1", "off", "tile:", "tile:0x0", "tile:2x2x2", "mod:-1",
    *STRINGS[:3], *INTEGERS,
)  # fmt: skip

Case = tuple[list[str], bytes]


class Making:
    """One case in the making."""

    def __init__(self, rng: random.Random, material: Material, folder: Path) -> None:
        self.rng = rng
        self.material = material
        self.folder = folder
        self.stdin = b""
        self.kernel = ""

    def file(self, kind: str, name: str) -> str:
        """A file of that kind, mostly damaged; its path, or - with the bytes on stdin. Some paths lead nowhere."""
        rng = self.rng
        data, kernel = self.material.damaged(rng, self.material.pick(rng, kind))
        self.kernel = kernel or self.kernel
        return self.put(data, name)

    def put(self, data: bytes, name: str) -> str:
        odd = self.rng.random()
        if odd < 0.02:
            return self.rng.choice((".", "", "nothing", *(s for s in STRINGS if "\0" not in s)))
        if odd < 0.08 and not self.stdin:
            self.stdin = data
            return "-"
        if odd < 0.12:
            name = self.rng.choice(("\x1b[31m.", "two\nlines.", "\u202e.", "-o.", "\udcff.")) + name
        (self.folder / name).write_bytes(data)
        return name if not name.startswith("-") else f"./{name}"

    def maybe(self, share: float, *args: str) -> list[str]:
        return list(args) if self.rng.random() < share else []

    def integer(self) -> str:
        return self.rng.choice(INTEGERS)

    def output(self, share: float) -> list[str]:
        return self.maybe(share, "-o", self.rng.choice(OUTPUTS))

    def machine(self, share: float) -> list[str]:
        if self.rng.random() > share:
            return []
        odd = self.rng.random()
        named = self.rng.choice((*MACHINES, self.rng.choice(STRINGS)))
        return ["--machine", named if odd < 0.3 else self.file("machine", "machine.toml")]

    def profile(self, share: float) -> list[str]:
        """Mostly of callchain, which binaries are most often, and mostly damaged."""
        if self.rng.random() > share:
            return []
        return ["--profile", self.put(damaged(self.rng, self.material.pick(self.rng, "profile")), "profile.json")]

    def kernel_name(self, share: float) -> list[str]:
        return self.maybe(share, "--kernel", self.rng.choice((self.kernel, "B", *STRINGS)))

    def launch(self, share: float) -> list[str]:
        """The launch file of the kernel, or another, with limits that keep a run short."""
        rng = self.rng
        if rng.random() > share:
            return []
        npy = self.material.files["npy"][0]
        npy = npy.data if rng.random() < 0.6 else damaged(rng, self.material.pick(rng, "npy"))
        (self.folder / "x.npy").write_bytes(npy)
        files = [f for f in self.material.files["launch"] if f.kernel == self.kernel] or self.material.files["launch"]
        file = rng.choice(files)
        data = file.data if rng.random() < 0.75 else damaged(rng, file)
        size = rng.choice(("full", *STRINGS[:4])) if rng.random() < 0.03 else "test"
        out = ["--launch", self.put(data, "launch.toml"), "--size", size]
        out += ["--engine", rng.choice(ENGINES)]
        cycles = self.integer() if rng.random() < 0.05 else RUN_CYCLES
        number = cycles.isascii() and cycles.strip().isdigit()
        return [*out, "--max-cycles", RUN_CYCLES if number and 3000 < int(cycles[:30]) < CYCLES_LIMIT else cycles]


def _asm(m: Making) -> list[str]:
    out = ["asm", m.file("lasm", "x.lasm"), *m.output(0.8)]
    return out + m.maybe(0.2, "--schedule", m.rng.choice((DEFAULT_MACHINE, "x")))


def _disasm(m: Making) -> list[str]:
    return ["disasm", m.file("loom", "x.loom"), *m.output(0.2)]


def _inspect(m: Making) -> list[str]:
    views = ["--sections", "--cfg", "--webs", "--live", "--pressure", "--stack"]
    chosen = m.rng.sample(views, m.rng.choice((0, 1, 1, 2))) + m.maybe(0.01, "--minimum")
    share = 0.4 if "--live" in chosen else 0.01
    part = m.maybe(share, m.rng.choice(("--words", "--blocks")), m.rng.choice(("0-9", "1,3-4", m.integer(), *STRINGS)))
    part += m.maybe(share, "--function", m.rng.choice((m.kernel, "B", *STRINGS)))
    part += m.maybe(share, "--columns", m.rng.choice(("values", "places", "auto")))
    part += m.maybe(0.1, "--shared") + m.launch(0.1)[:4]  # its engine and cycles are of no use here
    return ["inspect", m.file("loom", "x.loom"), *chosen, *part, *m.kernel_name(0.1), *m.machine(0.1)]


def _schedule(m: Making) -> list[str]:
    return ["schedule", m.file("loom", "x.loom"), *m.output(0.9), *m.machine(0.5)]


def _run(m: Making) -> list[str]:
    out = ["run", m.file("loom", "x.loom"), *m.launch(0.97), *m.kernel_name(0.05), *m.machine(0.1)]
    # The checking build of the compiled engine is another to compile; the code is the same.
    out += m.maybe(0.02, "--check", "--race", "--engine", "python") + m.maybe(0.2, "--reference")
    out += m.maybe(0.2, "--save", m.rng.choice(("saved", "out\x1b", "reference.py", "x.loom", "a/b/c")))
    out += m.maybe(0.1, "--profile", m.rng.choice(("p.json", *OUTPUTS)))
    return out + m.maybe(0.05, "--sms", m.integer()) + m.maybe(0.1, "--sharing", m.rng.choice(SHARINGS))


def _batches(m: Making) -> list[str]:
    out = ["batches", m.file("loom", "x.loom"), *m.launch(0.97), *m.kernel_name(0.05), *m.machine(0.1)]
    out += m.maybe(0.5, "--page-bytes", m.rng.choice(("4096", "8192", "65536", "2097152", m.integer())))
    return out + m.maybe(0.05, "--sms", m.integer()) + m.maybe(0.05, "--step", m.integer())


def _rewrite(m: Making) -> list[str]:
    out = ["rewrite", m.file("loom", "x.loom"), *m.launch(0.8), *m.output(0.7), *m.machine(0.1), *m.kernel_name(0.05)]
    out += m.maybe(0.85, "--registers", m.rng.choice(("6", "8", "16", "40", m.integer())))
    out += m.maybe(0.5, "--slots", m.rng.choice(("0", "2", "4", m.integer()))) + m.maybe(0.1, "--blocks", m.integer())
    if m.rng.random() < 0.05:
        out += ["--policy", m.rng.choice(list(POLICIES))]
    out += m.profile(0.2) + m.maybe(0.2, "--inline", m.rng.choice((*WAYS, m.rng.choice(STRINGS))))
    out += m.maybe(0.05, "--auto") + m.maybe(0.7, "--no-emulate") + m.maybe(0.3, "--explain")
    out += m.maybe(0.1, "--multiplex", m.rng.choice((*MULTIPLEX, m.rng.choice(STRINGS)))) + m.maybe(0.05, "--whole-gpu")
    out += m.maybe(0.2, "--sharing", m.rng.choice(SHARINGS)) + m.maybe(0.3, "--block-order", m.rng.choice(ORDERS))
    out += m.maybe(0.05, "--sms", m.rng.choice(("1", "2", m.integer())))
    out += m.maybe(0.05, "--schedulers", m.rng.choice(("owf", "lrr,oldest", *STRINGS[:2])))
    return out + m.maybe(0.3, "--allocator", m.rng.choice((*HEURISTICS, m.rng.choice(STRINGS))))


def _pair(m: Making) -> list[str]:
    """Original and rewritten, one of them damaged."""
    rng = m.rng
    first = m.material.files["loom"][0]
    pair = [first.data, m.material.rewritten.data]
    at = rng.randrange(2)
    pair[at] = damaged(rng, (first, m.material.rewritten)[at])
    m.kernel = first.kernel
    names = [m.put(data, name) for data, name in zip(pair, ("old.loom", "new.loom"), strict=True)]
    return names if rng.random() < 0.9 else names[::-1]


def _verify(m: Making) -> list[str]:
    out = ["verify", *_pair(m), *m.kernel_name(0.05), *m.machine(0.05), *m.launch(0.3)]
    return out + m.maybe(0.1, "--sharing", m.rng.choice(SHARINGS))


def _diff(m: Making) -> list[str]:
    return ["diff", *_pair(m), *m.kernel_name(0.1)]


def _machines(m: Making) -> list[str]:
    out = ["machines", *m.maybe(0.7, m.file("machine", "machine.toml")), *m.maybe(0.5, "--occupancy"), *m.machine(0.2)]
    for name in ("--registers", "--shared", "--threads", "--carveout"):
        out += m.maybe(0.15, name, m.integer())
    return out + m.maybe(0.15, "--cc", m.rng.choice(("3.0", "7.0", *STRINGS)))


def _import_ptx(m: Making) -> list[str]:
    kinds = m.rng.choice((*[["ptx"]] * 4, ["ptx", "ptx"], ["ptx", "fatbin"], ["fatbin"], ["fatbin"], ["fatbin"] * 3))
    files = [m.file(kind, f"{number}.{kind}") for number, kind in enumerate(kinds)]
    out = ["import-ptx", *files, *m.output(0.5), *m.machine(0.05), *m.kernel_name(0.1), *m.maybe(0.1, "--list")]
    out += m.maybe(0.1, "--arch", m.rng.choice(("sm_75", "90", "compute_80", *STRINGS)))
    return out + m.maybe(0.2, "--block-dim", ",".join(m.integer() for _ in range(m.rng.choice((1, 2, 3, 4)))))


def _demo(m: Making) -> list[str]:
    """Mostly of a sample that does not read; good ones take seconds."""
    samples = m.folder / "samples"
    samples.mkdir()
    (samples / "k.loom").write_bytes(damaged(m.rng, m.material.rewritten))
    (samples / "k.toml").write_bytes(damaged(m.rng, m.material.files["launch"][0]))
    return ["demo", "--samples", m.rng.choice(("samples", ".", "nowhere")), "--size", "test", *m.machine(0.2)]


def _smem_cost(m: Making) -> list[str]:
    """A run or two at most, where the options are good."""
    out = ["smem-cost", *m.machine(0.7), "--max-cycles", RUN_CYCLES]
    for name in ("--warps", "--loads", "--congestion"):
        out += [name, m.rng.choice(("1", "2", "1", "1-2", m.integer(), *STRINGS[:3]))]
    return out + m.maybe(0.3, "--plot", m.rng.choice(OUTPUTS))


def _compare(m: Making) -> list[str]:
    out = ["compare-allocators", m.file("loom", "x.loom"), *m.kernel_name(0.2), *m.machine(0.2)]
    out += ["--allocators", m.rng.choice(("local", "local,best", "unified", *STRINGS[:3]))]
    out += ["--registers", m.rng.choice(("8", "6,9", m.integer())), *m.profile(0.3)]
    return [*out, "--slots", m.rng.choice(("0", "1,4", m.integer()))]


def _recommend(m: Making) -> list[str]:
    out = ["recommend", m.file("loom", "x.loom"), *m.kernel_name(0.2), *m.machine(0.3), *m.profile(0.2)]
    out += ["--policy", m.rng.choice(("unified", "unified", "model", "measured", "exhaustive", *STRINGS[:2]))]
    out += m.maybe(0.1, "--sharing", m.rng.choice(SHARINGS))
    return [*out, *m.maybe(0.3, "--reading", m.rng.choice(("spills", "smem-fit", *STRINGS[:2])))]


def _launch_skeleton(m: Making) -> list[str]:
    out = ["launch-skeleton", m.file("loom", "x.loom"), *m.kernel_name(0.3), *m.machine(0.2), *m.output(0.4)]
    return [*out, *m.maybe(0.2, "--block-dim", m.rng.choice(("64", "8,8", *STRINGS[:2])))]


def _sweep(m: Making) -> list[str]:
    """A level or two in this process; finished runs are kept in the case's folder."""
    out = ["sweep", m.file("loom", "x.loom"), *m.launch(0.97), *m.machine(0.2), *m.output(0.3), "--jobs", "1"]
    out += ["--cache", m.rng.choice((*["kept"] * 20, "a/b", "x.loom", "", "out\x1b"))]
    out += ["--levels", m.rng.choice((*["1", "1,2", "8", "upwards"] * 5, m.integer(), STRINGS[0]))]
    out += ["--allocators", m.rng.choice((*["local"] * 20, "unified,local", *STRINGS[:2]))]
    out += m.maybe(0.05, "--multiplex", m.rng.choice((*MULTIPLEX, STRINGS[0])))
    out += m.maybe(0.1, "--sharing", ",".join(m.rng.choice(SHARINGS) for _ in range(m.rng.randrange(1, 4))))
    return out + m.maybe(0.1, "--schedulers", m.rng.choice(("gto", "lrr,oldest", *STRINGS[:2])))


def _reproduce(m: Making) -> list[str]:
    """Of a sample that does not read, or is another kernel than it should be; a good one takes seconds."""
    samples = m.folder / "samples"
    samples.mkdir()
    ptx = m.material.files["ptx"][m.rng.randrange(len(m.material.files["ptx"]))]
    sample, paper, kernel = m.rng.choice((
        ("hotspot_16x16", "unified", "hotspot"), ("histogram", "multiplex", "HG"), ("HG_32", "sharing", "HG"),
        ("mapper", "batching", "mapper"),
    ))  # fmt: skip
    (samples / f"{sample}.ptx").write_bytes(damaged(m.rng, ptx))
    (samples / f"{sample}.toml").write_bytes(damaged(m.rng, m.material.files["launch"][0]))
    out = ["reproduce", m.rng.choice((*[paper] * 20, *STRINGS[:2])), m.rng.choice((*[kernel] * 20, *STRINGS[:3]))]
    out += ["--samples", m.rng.choice((*["samples"] * 8, ".", "nowhere")), "--size", "test", "--jobs", "1"]
    out += ["--cache", m.rng.choice((*["kept"] * 20, "a/b", "x.loom", ""))]
    if paper == "batching":
        return out + m.maybe(0.3, "--machine", m.rng.choice(("gem5gpu-batching", "gem5gpu-batching-8k", "a100")))
    if paper == "sharing":
        out += m.maybe(0.5, "--figures", m.rng.choice((*["26", "XI", "VIII,27", "19"] * 4, ",", *STRINGS[:2])))
        return out + m.maybe(0.3, "--machine", m.rng.choice(("gpgpusim-sharing", "gpgpusim-sharing-48k", "a100")))
    return out + m.maybe(0.8, "--machine", m.rng.choice((*["c2075", "gtx680", "gtx285"] * 8, "a100", *STRINGS[:2])))


def _multiplex(m: Making) -> list[str]:
    out = ["multiplex", m.file("loom", "x.loom"), *m.launch(0.97), *m.machine(0.2), *m.output(0.3)]
    out += m.maybe(0.6, "--scheme", m.rng.choice((*["vtb", "hw", "co-vtb", "co-hw", "auto"] * 3, STRINGS[0])))
    out += m.maybe(0.2, "--split", m.rng.choice(("tile=1", "tile=1/2", "x=0/0", "=", *STRINGS)))
    return out + m.maybe(0.3, "--merge", m.rng.choice(("2", "3", "8", "1", m.integer())))


def _share(m: Making) -> list[str]:
    out = ["share", m.file("loom", "x.loom"), *m.launch(0.97), *m.machine(0.2), *m.output(0.3)]
    out += m.maybe(0.6, "--sharing", m.rng.choice(SHARINGS)) + m.maybe(0.3, "--layout", m.rng.choice(("move", "keep")))
    out += m.maybe(0.3, "--release", m.rng.choice(("opt", "postdom", "none", STRINGS[0])))
    out += m.maybe(0.3, "--overlay") if len(out) > 6 else m.maybe(0.8, "--overlay")
    out += m.maybe(0.2, "--edges", "jump") + m.maybe(0.3, "--no-emulate") + m.maybe(0.2, "--share-slots")
    return out + m.profile(0.2)


def _wild(m: Making) -> list[str]:
    """A command line of words put together at random."""
    words = ["asm", "run", "rewrite", "x.loom", "--json", "-o", "--launch", "--help", "-V", *STRINGS, *INTEGERS]
    return [m.rng.choice(words) for _ in range(m.rng.randrange(5))]


COMMANDS: dict[str, tuple[int, Callable[[Making], list[str]]]] = {
    "asm": (14, _asm), "disasm": (14, _disasm), "inspect": (14, _inspect), "schedule": (8, _schedule),
    "run": (18, _run), "batches": (2, _batches), "rewrite": (4, _rewrite), "verify": (4, _verify), "diff": (4, _diff),
    "demo": (1, _demo), "machines": (8, _machines), "import-ptx": (8, _import_ptx), "smem-cost": (1, _smem_cost),
    "compare-allocators": (2, _compare), "recommend": (2, _recommend), "sweep": (2, _sweep),
    "reproduce": (1, _reproduce), "multiplex": (1, _multiplex), "share": (1, _share),
    "launch-skeleton": (1, _launch_skeleton), "anything": (3, _wild),
}  # fmt: skip


RUNNERS = {"run", "batches", "rewrite", "verify", "demo", "smem-cost", "sweep", "reproduce", "multiplex", "share"}
"""The commands that may run the emulator."""


def commands(rng: random.Random, material: Material, folder: Path, only: list[str]) -> Case:
    """The arguments of one case, and what it gets on stdin. only: of these commands, where there are any."""
    making = Making(rng, material, folder)
    names = only or list(COMMANDS)
    name = rng.choices(names, [COMMANDS[name][0] for name in names])[0]
    args = COMMANDS[name][1](making)
    if rng.random() < 0.3:
        args.append("--json")
    return [a.replace("\0", "") for a in args], making.stdin
