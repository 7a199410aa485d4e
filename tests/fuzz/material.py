"""What the fuzzing of the command line feeds in: files of every kind the tool reads, and how they are damaged.

Needs the samples. `Material` holds good files; `damaged` makes a bad one of a good one. Damage comes in three kinds: of
bytes (`words.corrupt`, `_smashed`), of text (lines, numbers, strings and brackets replaced by values that hurt),
and of meaning: a container that is whole, yet whose names and strings are hostile (`hostile`), and one that is valid
throughout, yet does wild things (`reworked`).
"""

from __future__ import annotations

import io
import random
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from binalloc.errors import MalformedInput
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.container.write import write_elf
from binalloc.isa.instruction import Instr
from binalloc.isa.table.fields import FIELDS
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import Request, build_version
from binalloc.pipeline.profile import Profile, code_hash, profile_bytes
from tests.support.paths import ROOT, sample_file, sample_files
from tests.support.programs.words import corrupt, random_control, random_instr, shapes, smash_words

_PLAIN = [s for s in shapes() if s.op.control not in ("branch", "call", "return", "exit")]
MACHINES = ROOT / "binalloc/models/machines"
FATBINS = ROOT / "tests/data/fatbin"

NUMBERS = (
    "0", "-1", "1", "7", "255", "65536", "2147483647", "2147483648", "-9223372036854775808", "9223372036854775808",
    "18446744073709551616", "9" * 40, "9" * 5000, "0x" + "f" * 3000, "nan", "inf", "-inf", "1e999", "-0.0", "1e-320",
    "true", '"text"', "[1, 2]", "{ a = 1 }", "2020-01-01", "1.5", "",
)  # fmt: skip
STRINGS = (
    "", "../escaped", "/escaped", "..", ".", "a/b", "a\\u0000b", "\x1b[31mred", "\x1b]0;title\x07", "two\nlines", "\r",
    "\u202eright to left", "zero\u200bwidth", "\x7f\x9b31m", "a" * 70_000, "é" * 300, "%s%n{0}{found}", "CON", "~", "-",
    "--json", "\ufeff", "\U0001f600", "'", '"""', "\\", "a b", "global.x", "nan", "${HOME}", "x\u0301" * 50, "\u3164",
)  # fmt: skip
_NUMBER = re.compile(rb"(?<![\w.])-?\d[\w.+-]*")
_STRING = re.compile(rb'"[^"\n]*"')
_NAME = re.compile(rb"[A-Za-z_$.%][\w$.]*")

POOL = 400
LITTLE_PTX = """.version 7.5
.target sm_75
.address_size 64
.global .align 4 .b8 table[16] = {1, 2, 3, 4};
.visible .entry little(.param .u64 out, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    cvt.rn.f32.u32 %f1, %r2;
    fma.rn.f32 %f2, %f1, 0f40000000, %f1;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f2;
DONE:
    ret;
}
"""
LITTLE_LAUNCH = """kernel = "{kernel}"
grid = 2
block = 64
dynamic_shared = 0
{arguments}
[reference]
file = "reference.py"
function = "reference"
[sizes.test]
grid = 1
"""
BUFFER = '[[argument]]\nname = "{name}"\nkind = "buffer"\ndtype = "f32"\nshape = [128]\ninit = {init}\n'
REFERENCE = "def reference(inputs, launch):\n    return {}\n"


@dataclass(frozen=True)
class File:
    """A good file. kind: loom, lasm, ptx, fatbin, launch, machine, npy, profile. kernel: of a binary, launch file or
    profile, "" elsewhere."""

    kind: str
    name: str
    data: bytes
    kernel: str = ""


class Material:
    """Good files by kind, small ones first and most; for binaries the launch file of their kernel. pool: names a set of
    `POOL` binaries that are valid, yet do wild things (`reworked`); they cost more to make than most commands to run.
    """

    def __init__(self, pool: str = "") -> None:
        self.pool = pool
        self._reworked: dict[int, File] = {}
        machine = load_machine("gtx680")
        kinds = ("loom", "lasm", "ptx", "fatbin", "launch", "machine", "npy", "profile")
        self.files: dict[str, list[File]] = {kind: [] for kind in kinds}
        self.launches: dict[str, bytes] = {}
        for path in sorted(sample_files(".loom"), key=lambda p: p.stat().st_size):
            self._add("loom", path, read_module(path.read_bytes()).kernels()[0].name)
            self._add("lasm", path.with_suffix(".lasm"))
        for name in ("reduction", "matrixMultiply"):
            self._add("ptx", sample_file(f"{name}.ptx"))
        self.files["ptx"] += [File("ptx", "little.ptx", LITTLE_PTX.encode())] * 4
        for path in sorted(FATBINS.iterdir()):
            if path.suffix not in (".cu", ".sh"):
                self._add("fatbin", path)
        for path in sample_files(".toml"):
            self._add("launch", path, load_launch(path).kernel)
        for path in sorted(MACHINES.glob("*.toml")):
            self._add("machine", path)
        self._little(machine)
        for values in (np.arange(128, dtype="<f4"), np.zeros((2, 3), "<i8"), np.array([[1, None]], object)):
            stream = io.BytesIO()
            np.save(stream, values, allow_pickle=True)
            self.files["npy"].append(File("npy", "x.npy", stream.getvalue()))

    def _add(self, kind: str, path: Path, kernel: str = "") -> None:
        self.files[kind].append(File(kind, path.name, path.read_bytes(), kernel))
        if kind == "launch":
            self.launches[kernel] = path.read_bytes()

    def _little(self, machine: object) -> None:
        """callchain most often, and a rewrite of it: it is small, has calls, a frame, slots and provenance."""
        first = self.files["loom"][0]
        launch = load_launch(sample_file("callchain.toml"))
        request = Request(first.kernel, load_machine("gtx680"), launch)
        module = build_version(read_module(first.data), request, 6, 4).module
        module.provenance = [{"tool": "binalloc", "note": ["x", 1, {"y": None}]}]
        rewritten = File("loom", "rewritten.loom", write_module(module), first.kernel)
        self.rewritten = rewritten
        self.files["loom"] = [first] * 8 + [rewritten] * 4 + self.files["loom"]
        names = [p.name for p in module.function(first.kernel).info.params]
        init = ('{ file = "x.npy" }', '"zeros"', '{ kind = "random", seed = 3 }')
        arguments = "".join(BUFFER.format(name=n, init=init[i % 3]) for i, n in enumerate(names))
        text = LITTLE_LAUNCH.format(kernel=first.kernel, arguments=arguments)
        self.files["profile"] = [File("profile", "profile.json", _profile(first.data), first.kernel)]
        self.files["launch"] = [File("launch", "little.toml", text.encode(), first.kernel)] * 12 + self.files["launch"]

    def pick(self, rng: random.Random, kind: str) -> File:
        return rng.choice(self.files[kind])

    def damaged(self, rng: random.Random, file: File) -> tuple[bytes, str]:
        """The file's bytes, most often harmed, or for a binary one of the pool; and the kernel it has."""
        if file.kind != "loom" or rng.random() > 0.4:
            return damaged(rng, file), file.kernel
        number = rng.randrange(POOL)
        if number not in self._reworked:
            own = random.Random(f"{self.pool}:{number}")
            base = self.pick(own, "loom")
            self._reworked[number] = File("loom", base.name, reworked(own, base), base.kernel)
        return self._reworked[number].data, self._reworked[number].kernel


def _profile(data: bytes) -> bytes:
    """A profile of the binary's kernel, with counts that come from nowhere."""
    module = read_module(data)
    kernel = module.kernels()[0]
    stretches = {fn.name: [(0, 24), (4, 240), (9, 0)] for fn in module}
    return profile_bytes(Profile(kernel.name, "gtx680", False, code_hash(module, kernel), stretches))


def damaged(rng: random.Random, file: File) -> bytes:
    """The file's bytes, most often harmed."""
    if rng.random() < 0.08:
        return file.data
    if file.kind == "npy":
        return _npy(rng, file.data)
    if file.kind == "loom":
        harm = rng.choices((_corrupt, _smashed, hostile), (3, 2, 2))[0]
        return harm(rng, file)
    data = file.data
    if file.kind == "fatbin":
        return corrupt(rng, data)
    if rng.random() < 0.15:
        return corrupt(rng, data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = _text(rng, data)
    return data


def reworked(rng: random.Random, file: File) -> bytes:
    """A valid binary that does something wild: fields of a few instructions, whole instructions or control codes are
    others, at the extremes most often."""
    module, data = read_module(file.data), file.data
    kernel = max(fn.info.registers for fn in module.functions)
    for _ in range(rng.choice((1, 2, 4))):
        fn = rng.choice(module.functions)
        at = rng.randrange(len(fn.instrs))
        old = fn.instrs[at]
        for _ in range(4):
            fn.instrs[at] = _other(rng, old, kernel)
            try:
                data = write_module(module)
                break
            except (MalformedInput, LookupError, ValueError):  # no instruction at all
                fn.instrs[at] = old
    return data


def _other(rng: random.Random, old: Instr, registers: int) -> Instr:
    kind = rng.randrange(6)
    if kind == 0:
        return random_instr(rng, rng.choice(_PLAIN), registers)
    if kind == 1:
        return Instr(old.op, old.f, old.guard, old.guard_neg, random_control(rng))
    if kind == 2:
        return Instr(old.op, old.f, rng.randrange(8), rng.random() < 0.5, old.ctrl)
    f = dict(old.f)
    name = rng.choice(sorted(f) or [""])
    if not name:
        return old
    field = FIELDS[name]
    value = rng.choice((0, 1, field.minimum, field.maximum, rng.randint(field.minimum, field.maximum)))
    f[name] = rng.randrange(registers) if name in ("rd", "ra", "rb", "rc") else value
    return Instr(old.op, f, old.guard, old.guard_neg, old.ctrl)


def _corrupt(rng: random.Random, file: File) -> bytes:
    return corrupt(rng, file.data)


def _smashed(rng: random.Random, file: File) -> bytes:
    """Bits flipped in code words alone."""
    return smash_words(rng, file.data, words=60, bits=126)


def hostile(rng: random.Random, file: File) -> bytes:
    """A container in order, whose names, strings and numbers are not: the writer's own rules are passed over."""
    module = read_module(file.data)
    fn = rng.choice(module.functions)
    text = rng.choice(STRINGS)
    kind = rng.randrange(9)
    if kind == 0:
        fn.info.machine = text[:255]
    elif kind == 1:
        fn.lines = {0: (text[:4096], 3)}
    elif kind == 2:
        module.provenance = [{text: [text, rng.choice((1, 10**40, float("nan"), None))]}] * 2
    elif kind == 3:
        fn.labels[0] = text[:1000]
    elif kind == 4 and fn.info.params:
        fn.info.params[0] = type(fn.info.params[0])(text, fn.info.params[0].offset, fn.info.params[0].size)
    elif kind == 5 and fn.origin is not None:
        fn.origin = type(fn.origin)(text[:1000], [rng.choice((-1, 0, 1 << 23)) for _ in fn.origin.index])
    elif kind == 6:
        fn.name = text
    elif kind == 7:
        for name in ("local_frame", "local_bytes", "spill_local", "slot_bytes", "shared_bytes"):
            setattr(fn.info, name, rng.choice((0, 128, 4096, 1 << 20, (1 << 32) - 1)))
    else:
        fn.info.block = tuple(rng.choice((0, 1, 32, 1024, 65535)) for _ in range(3))  # type: ignore[assignment]
    try:
        return write_elf(module)
    except Exception:  # what no container can hold is no input
        return corrupt(rng, file.data)


def _text(rng: random.Random, data: bytes) -> bytes:
    """One thing in the text replaced by one that hurts."""
    kind = rng.randrange(12)
    if kind <= 3:
        return _replaced(rng, data, _NUMBER, rng.choice(NUMBERS).encode())
    if kind <= 6:
        return _replaced(rng, data, _STRING, b'"' + rng.choice(STRINGS).encode() + b'"')
    if kind == 7:
        return _replaced(rng, data, _NAME, rng.choice((*STRINGS, "kernel", "x")).encode())
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    if kind == 8:
        lines[at : at + 1] = rng.choice(([], [lines[at]] * 2, [lines[at]] * 300))
    elif kind == 9:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 10:
        nest = rng.choice((b"[", b"{ a = ", b"(", b"a.", b"-", b"{"))
        lines[at] += nest * rng.choice((1, 40, 3000))
    else:
        lines[at] = rng.choice((b"\xff\xfe", b"\x00" * 9, b"\x1b[2J", "\u2028".encode(), b"x = 1", b"[sizes.a.b]"))
    return b"\n".join(lines)


def _replaced(rng: random.Random, data: bytes, what: re.Pattern[bytes], new: bytes) -> bytes:
    found = list(what.finditer(data))
    if not found:
        return data + new
    match = rng.choice(found)
    return data[: match.start()] + new + data[match.end() :]


def _npy(rng: random.Random, data: bytes) -> bytes:
    """Headers that lie, other formats, truncation."""
    kind = rng.randrange(8)
    if kind == 0:
        return b"PK\x03\x04" + data[4:]
    if kind == 1:
        return data[: rng.randrange(len(data))]
    if kind == 2:
        return _replaced(rng, data, re.compile(rb"\(\d+,[\d, ]*\)"), rng.choice((
            b"(9999999999999999999,)", b"(-1,)", b"(128", b"(((((((", b"(True,)", b"(1e9,)", b"(" + b"9" * 4400 + b",)",
        )))  # fmt: skip
    if kind == 3:
        return _replaced(rng, data, re.compile(rb"'[<|][fiO]\d*'"), rng.choice((
            b"'|O'", b"'<f8'", b"'<V99999999999'", b"[('a','<f4')]", b"'M8[ns]'", b"''", b"None", b"'\x1b[31m'",
        )))  # fmt: skip
    if kind == 4:
        return b"\x80\x04\x95" + data
    if kind == 5:
        return data[:8] + b"\xff\xff" + data[10:]
    return corrupt(rng, data)
