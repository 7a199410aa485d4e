"""Damaged, hostile and impossible input: one clear error, the documented exit code, no traceback, no output file."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binalloc.isa.container import elf
from binalloc.isa.container.files import read_module
from tests.support.kits.cli import NAMES, SAMPLES, call, launch, loom, refused
from tests.support.paths import sample_file

CALLCHAIN = sample_file("callchain.loom").read_bytes()
READERS = (["disasm"], ["inspect"], ["schedule"], ["rewrite", "--registers", "8"], ["run"])


def headers(data: bytes) -> list[Any]:
    """(file offset of its header, name, header) of every section."""
    h = elf.EHDR.parse(data)
    out = []
    for i in range(h.e_shnum):
        at = h.e_shoff + i * elf.SHDR_BYTES
        out.append((at, elf.SHDR.parse(data[at : at + elf.SHDR_BYTES])))
    names = out[h.e_shstrndx][1]
    strings = data[names.sh_offset : names.sh_offset + names.sh_size]
    return [(at, strings[s.sh_name : strings.index(b"\0", s.sh_name)].decode(), s) for at, s in out]


def with_section(data: bytes, name: str, **fields: int) -> bytes:
    """`data` with fields of one section header replaced."""
    at, _, header = next(h for h in headers(data) if h[1] == name)
    header.update(fields)
    return data[:at] + elf.SHDR.build(header) + data[at + elf.SHDR_BYTES :]


def with_bits(data: bytes, function: str, word: int, low: int, width: int, value: int) -> bytes:
    """`data` with a bit field of one instruction word replaced."""
    header = next(h for _, name, h in headers(data) if name == f".text.{function}")
    at = header.sh_offset + 16 * word
    number = int.from_bytes(data[at : at + 16], "little")
    mask = ((1 << width) - 1) << low
    number = (number & ~mask) | (value << low & mask)
    return data[:at] + number.to_bytes(16, "little") + data[at + 16 :]


def refuse_everywhere(tmp_path: Path, data: bytes, *words: str) -> None:
    """Every command that reads a binary refuses `data` as malformed, naming the file and each of `words`."""
    bad = tmp_path / "bad.loom"
    bad.write_bytes(data)
    out = tmp_path / "out.bin"
    for command in READERS:
        options = launch("callchain") if command[0] in ("run", "rewrite") else []
        options += [] if command[0] in ("run", "inspect") else ["-o", str(out)]
        line = refused(3, command[0], str(bad), *command[1:], *options)
        for word in (str(bad), *words):
            assert word in line, line
    refused(3, "verify", loom("callchain"), str(bad))
    refused(3, "diff", str(bad), loom("callchain"))
    assert list(tmp_path.iterdir()) == [bad]


def assembled(tmp_path: Path, text: str, name: str = "made.loom") -> str:
    path = tmp_path / name
    path.write_bytes(call("asm", "-", stdin=text.encode()).raw)
    return str(path)


@pytest.mark.parametrize("name", NAMES)
def test_truncated_at_any_length(name: str) -> None:
    data = Path(loom(name)).read_bytes()
    rng = random.Random(3)
    for length in [0, 1, 15, 63, 64, len(data) - 1, *(rng.randrange(len(data)) for _ in range(10))]:
        assert call("inspect", "-", stdin=data[:length]).code == 3, length
    refused(3, "disasm", "-", stdin=data[: len(data) // 2])


HOSTILE: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty": (b"", ("not an ELF file",)),
    "another format": (b"#!/bin/sh\n" * 20, ("not an ELF file",)),
    "another machine's ELF": (CALLCHAIN[:18] + b"\x2b\x00" + CALLCHAIN[20:], ("e_machine",)),
    "another ISA version": (CALLCHAIN[:48] + b"\x63" + CALLCHAIN[49:], ("ISA version",)),
    "headers beyond the file": (CALLCHAIN[:40] + b"\xff" * 8 + CALLCHAIN[48:], ("e_shoff",)),
    "65,535 sections": (CALLCHAIN[:60] + b"\xff\xff" + CALLCHAIN[62:], ("section headers",)),
    "a section of 2^63 bytes": (with_section(CALLCHAIN, ".text.B", sh_size=1 << 63), ("section lies outside",)),
    "a name beyond the table": (with_section(CALLCHAIN, ".text.B", sh_name=1 << 31), ("sh_name",)),
    "overlapping sections": (with_section(CALLCHAIN, ".text.B", sh_offset=0x50), ("overlaps",)),
    "code of half a word": (with_section(CALLCHAIN, ".text.C", sh_size=232), (".text.C",)),
    "an unknown section type": (with_section(CALLCHAIN, ".text.C", sh_type=9), (".text.C", "sh_type")),
    "shared memory of 4 GB": (with_section(CALLCHAIN, ".symtab", sh_size=24 << 40), ("outside the file",)),
    "an unknown opcode": (with_bits(CALLCHAIN, "B", 2, 0, 12, 0xFFF), (".text.B", "2", "opcode")),
    "non-zero unused bits": (with_bits(CALLCHAIN, "C", 14, 60, 8, 0xFF), (".text.C", "14")),
    "a register pair off its border": (with_bits(CALLCHAIN, "callchain", 9, 16, 8, 3), (".text.callchain", "9")),
}


@pytest.mark.parametrize("case", sorted(HOSTILE))
def test_hostile_file(case: str, tmp_path: Path) -> None:
    data, words = HOSTILE[case]
    refuse_everywhere(tmp_path, data, *words)


def bra_field(name: str) -> tuple[int, int]:
    from binalloc.isa.table.fields import FIELDS

    field = FIELDS[name]
    return field.lo, field.width


@pytest.mark.parametrize("offset", [1, 100, -29, 1 << 22])
def test_branch_to_no_instruction(offset: int, tmp_path: Path) -> None:
    """Word 27 of 29 branches: two words on is past the end, 28 back of the next word is the first."""
    low, width = bra_field("target")
    refuse_everywhere(
        tmp_path, with_bits(CALLCHAIN, "callchain", 27, low, width, offset), "function callchain: word 27"
    )


def test_call_into_the_middle_of_a_function(tmp_path: Path) -> None:
    low, width = bra_field("target")
    refuse_everywhere(tmp_path, with_bits(CALLCHAIN, "callchain", 18, low, width, 40), "function callchain: word 18")


def test_bit_flips_are_refused_or_make_another_valid_binary(tmp_path: Path) -> None:
    rng = random.Random(11)
    codes = set()
    for _ in range(150):
        at = rng.randrange(8 * len(CALLCHAIN))
        data = bytearray(CALLCHAIN)
        data[at // 8] ^= 1 << at % 8
        answer = call("disasm", "-", stdin=bytes(data))
        codes.add(answer.code)
        assert answer.code in (0, 3)
        if answer.code == 0:
            assert read_module(call("asm", "-", stdin=answer.raw).raw) == read_module(bytes(data), path="")
    assert codes == {0, 3}


RECURSIVE = """
.kernel k
.registers 8
    MOV R4, 3
    CALL f
    EXIT
.end
.func f
.registers 8
    IADD3 R4, R4, -1, RZ
    ISETP.GT.AND P0, PT, R4, RZ, PT
    @P0 CALL f
    RET
.end
"""
INDIRECT = """
.kernel k
.registers 8
    MOV R4, &f
    CALL.IND R4
    EXIT
.end
.func f
.registers 8
    RET
.end
"""
LAUNCH = 'kernel = "k"\ngrid = 2\nblock = 64\n'


@pytest.mark.parametrize(
    ("text", "word"), [(RECURSIVE, "recurs"), (INDIRECT, "indirect")], ids=["recursion", "indirect"]
)
def test_recursion_and_indirect_calls_are_shown_and_run_but_not_rewritten(text: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(LAUNCH)
    made = assembled(tmp_path, text)
    assert word in call("inspect", made, "--cfg").out
    assert call("disasm", made).code == 0
    scheduled = str(tmp_path / "scheduled.loom")
    assert call("schedule", made, "-o", scheduled).code == 0
    options = ["--launch", str(tmp_path / "k.toml"), "--engine", "python"]
    assert call("run", scheduled, *options).code == 0
    out = tmp_path / "out.loom"
    for budget in (["--registers", "8"], ["--auto"], ["--auto", "--policy", "unified"]):
        line = refused(1, "rewrite", scheduled, *options, *budget, "-o", str(out))
        assert word in line.lower()
    for view in ("--webs", "--pressure", "--stack", "--minimum"):
        assert word in refused(1, "inspect", made, view).lower()
    assert not out.exists()


def test_launch_whose_block_contradicts_the_binary(tmp_path: Path) -> None:
    text = call("disasm", loom("callchain")).out
    for line in (".block 128, 1, 1", ".max_threads 64"):
        made = assembled(tmp_path, text.replace(".local_frame 16", f"{line}\n.local_frame 16", 1))
        out = str(tmp_path / "out.loom")
        for command in (["run"], ["rewrite", "--registers", "8", "-o", out]):
            error = refused(2, command[0], made, *command[1:], *launch("callchain"))
            assert "256" in error
        assert not Path(out).exists()


def test_binary_scheduled_for_another_machine_or_none(tmp_path: Path) -> None:
    for remedy_for in ("gtx680", ""):
        made = str(tmp_path / "made.loom")
        if remedy_for:
            line = refused(1, "run", loom("callchain"), *launch("callchain"), "--machine", "c2075")
            assert "gtx680" in line
        else:
            assert call("asm", str(sample_file("callchain.lasm")), "-o", made).code == 0
            line = refused(1, "run", made, *launch("callchain"))
        assert "binalloc schedule" in line


def test_impossible_budgets(tmp_path: Path) -> None:
    out = tmp_path / "out.loom"
    tail = [*launch("callchain"), "--no-emulate", "-o", str(out)]
    few = refused(1, "rewrite", loom("callchain"), "--registers", "2", *tail)
    assert "expected at least 4" in few
    many = refused(1, "rewrite", loom("callchain"), "--registers", "8", "--slots", "49", *tail)
    assert "49 slots" in many
    assert "49,152" in many
    refused(1, "rewrite", loom("callchain"), "--registers", "8", "--slots", "999999999", *tail)
    blocks = refused(1, "rewrite", loom("callchain"), "--blocks", "9", *tail)
    assert "1 to 8" in blocks
    assert not out.exists()


def test_a_rewritten_binary_is_not_rewritten_again(tmp_path: Path) -> None:
    once = str(tmp_path / "once.loom")
    tail = [*launch("callchain"), "--no-emulate", "-o"]
    assert call("rewrite", loom("callchain"), "--registers", "6", "--slots", "4", *tail, once).code == 0
    line = refused(1, "rewrite", once, "--registers", "8", *tail, str(tmp_path / "twice.loom"))
    assert "rewritten before" in line
    assert not (tmp_path / "twice.loom").exists()


def edited(tmp_path: Path, source: Path, change: Callable[[str], str]) -> str:
    path = tmp_path / source.name
    path.write_text(change(source.read_text()))
    return str(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: "griid = 3\n" + t, ("griid", "grid")),
        (lambda t: t.replace('compare = "exact"', "").replace("seed = 41", "sed = 41"), ("sed", "seed")),
        (lambda t: t.replace("grid = 256", "grid = 0"), ("grid",)),
        (lambda t: t.replace('"buffer"', '"bufer"', 1), ("kind", "buffer")),
        (lambda t: t + "[[[", ("TOML",)),
        (lambda t: t.replace("524000, 4", "99999999999, 99999999999"), ("shape",)),
    ],
    ids=["key", "nested key", "grid", "kind", "syntax", "size"],
)
def test_malformed_launch_file(change: Callable[[str], str], words: tuple[str, ...], tmp_path: Path) -> None:
    path = edited(tmp_path, sample_file("callchain.toml"), change)
    out = tmp_path / "out.loom"
    for command in (["run"], ["rewrite", "-o", str(out)], ["verify", loom("callchain")]):
        line = refused(3, command[0], loom("callchain"), *command[1:], "--launch", path)
        for word in (path, *words):
            assert word in line, line
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda t: t + "\n[extra]\nx = 1\n", "extra"),
        (lambda t: t.replace("[sm]", "[sm]\nbogus = 1"), "bogus"),
        (lambda t: "", "missing"),
        (lambda t: "x = = 1", "TOML"),
    ],
    ids=["table", "key", "empty", "syntax"],
)
def test_malformed_machine_file(change: Callable[[str], str], word: str, tmp_path: Path) -> None:
    source = SAMPLES.parent / "binalloc" / "models" / "machines" / "gtx680.toml"
    path = edited(tmp_path, source, change)
    out = tmp_path / "out.loom"
    for command in (["rewrite", "--registers", "8", "-o", str(out)], ["schedule", "-o", str(out)], ["inspect"]):
        line = refused(3, command[0], loom("callchain"), *command[1:], "--machine", path)
        assert word in line, line
    assert word in refused(3, "machines", path)
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".kernel k\n    FROB R1, R2\n.end\n", ("2", "FROB")),
        (".kernel k\n    MOV R1\n.end\n", ("2",)),
        (".kernel k\n    BRA nowhere\n.end\n", ("2", "nowhere")),
        (".kernel k\n    MOV R300, R1\n    EXIT\n.end\n", ("2", "R300")),
        (".kernel k\n    MOV R1, R2\n.end\n", ("k",)),
        (".kernel k\n    EXIT\n", ("k",)),
        ("\x00\x01", ()),
        (".kernel k\n    LDG.64 R3, [R2]\n    EXIT\n.end\n", ("2",)),
        (".const 3 {\n .zero 99999999999\n}\n", ()),
        ("(" * 100_000, ()),
    ],
    ids=["opcode", "operands", "label", "register", "falls off", "no end", "binary", "pair", "huge", "nested"],
)
def test_malformed_assembly(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "bad.lasm"
    path.write_text(text)
    line = refused(3, "asm", str(path))
    for word in (str(path), *words):
        assert word in line, line
    assert list(tmp_path.iterdir()) == [path]


def test_assembly_that_is_not_text() -> None:
    assert "byte 0" in refused(3, "asm", "-", "-o", "never.loom", stdin=b"\xff\xfe")


def test_what_the_checker_cannot_follow_is_a_limit_and_no_defect(tmp_path: Path) -> None:
    chain = "".join(f".func f{i}\n{f'CALL f{i + 1}' if i < 69 else ''}\nRET\n.end\n" for i in range(70))
    made = assembled(tmp_path, ".kernel k\n.block 64\nCALL f0\nEXIT\n.end\n" + chain)
    assert "call chain" in refused(4, "rewrite", made, "--registers", "8", "-o", str(tmp_path / "out"))
    assert [p.name for p in tmp_path.iterdir()] == ["made.loom"]


def test_a_kernel_that_asks_where_slots_lie_gets_none(tmp_path: Path) -> None:
    values = "".join(f"LDG R{n}, [R4+{4 * n}]\n" for n in range(6, 26))
    sums = "".join(f"IMAD R0, R0, 3, R{n}\n" for n in (*range(6, 26), *range(6, 26)))
    head = ".kernel k\n.param out 8\n.block 64\nMOV R4, c[0][out]\nMOV R5, c[0][out+4]\n"
    made = assembled(tmp_path, f"{head}S2R R0, SR_TOTAL_SMEM\n{values}{sums}STG [R4], R0\nEXIT\n.end\n")
    assert "SR_TOTAL_SMEM" in refused(1, "rewrite", made, "--registers", "12", "--slots", "4")
    assert call("rewrite", made, "--registers", "12", "--slots", "0").code == 0
