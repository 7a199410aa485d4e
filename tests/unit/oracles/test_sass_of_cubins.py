"""The reader of cubins behind the comparison with ptxas: spill code, loops, calls; against what ptxas itself counts."""

from __future__ import annotations

import json
import lzma
import re
import struct
import subprocess
from pathlib import Path

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.transform.rewrite.rewrite import rewrite
from tests.benchmarks.transform.against_ptxas import our_spills
from tests.benchmarks.transform.judge import ptxas
from tests.benchmarks.transform.judge.cubin import NotACubin, architecture, read_cubin, sections
from tests.benchmarks.transform.judge.sass import (
    BRA,
    BRA_UNIFORM,
    BRX,
    BSSY,
    BSYNC,
    CALL,
    EXIT,
    LDL,
    LDS,
    LOCAL,
    RET,
    SHARED,
    STL,
    Spilled,
    access_bytes,
    control_flow,
    relative,
    spilled,
)
from tests.support.paths import DATA, sample_file

ALWAYS, P0 = 7, 0
MOV = 0x202


OLD, NEW = 75, 90


def word(
    op: int, guard: int = ALWAYS, *, jump: int = 0, size: int = 4, barrier: int = 0, sm: int = OLD, more: int = 0
) -> bytes:
    """One instruction. jump: words from the next one. more: further bits of its lower half."""
    units = jump * 4 & (1 << 56) - 1
    if sm >= NEW and op != BSSY:
        low, offset = (units & 0xFF) << 16, units >> 8 << 2
    else:
        low, offset = 0, units << 2 & (1 << 50) - 1
    low |= op | guard << 12 | barrier << 16 | (offset & 0xFFFFFFFF) << 32 | more
    high = {4: 4, 8: 5, 16: 6}[size] << 9 if op in LOCAL | SHARED else offset >> 32
    return struct.pack("<QQ", low, high | ALWAYS << 23)


def cubin(
    words: list[bytes],
    spills: list[int],
    targets: dict[int, list[int]] | None = None,
    functions: tuple[int, ...] = (),
    sm: int = OLD,
) -> bytes:
    """A file with one kernel `k`; spills, targets and functions behind it by word."""
    notes = b"".join(struct.pack("<II", 1, 16 * k) for k in spills)
    info = struct.pack("<BBH", 4, 0x55, len(notes)) + notes + struct.pack("<BBH", 3, 0x1B, 24)
    for at, reached in (targets or {}).items():
        body = struct.pack(f"<III{len(reached)}I", 16 * at, 0, len(reached), *(16 * k for k in reached))
        info += struct.pack("<BBH", 4, 0x34, len(body)) + body
    symbols = b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 16 * k, 0) for k in (0, *functions))
    parts = [("", b""), (".text.k", b"".join(words)), (".nv.info.k", info), (".symtab", symbols), (".shstrtab", b"")]
    names = b"\0".join(name.encode() for name, _ in parts) + b"\0"
    rows, data, at, name_at = b"", b"", 64, 0
    for name, body in parts:
        body = names if name == ".shstrtab" else body
        link = len(parts) - 1 if name == ".symtab" else 0
        rows += struct.pack("<IIQQQQIIQQ", name_at, 1 if name else 0, 0, 0, at, len(body), link, 0, 1, 0)
        data, at, name_at = data + body, at + len(body), name_at + len(name) + 1
    head = b"\x7fELF\x02\x01\x01\x41\x08".ljust(0x28, b"\0") + struct.pack("<QI", at, sm << 8)
    return head.ljust(0x3A, b"\0") + struct.pack("<HHH", 64, len(parts), len(parts) - 1) + data + rows


def read(
    words: list[bytes],
    spills: list[int],
    targets: dict[int, list[int]] | None = None,
    functions: tuple[int, ...] = (),
    sm: int = OLD,
) -> Spilled:
    return spilled(read_cubin(cubin(words, spills, targets, functions, sm)), "k")


def test_spills_are_those_listed_and_weigh_ten_per_loop() -> None:
    body = [word(MOV), word(LDL), word(STL), word(STL, size=16), word(BRA, P0, jump=-4), word(STL), word(EXIT)]
    found = read(body, [1, 3, 5])
    assert (found.local, found.loads, found.weighted_local, found.unknown) == (24, 4, 204, 0)


def test_unreachable_code_does_not_count() -> None:
    assert read([word(EXIT), word(STL)], [1]).local == 0


def test_a_subroutine_weighs_as_its_call_sites() -> None:
    body = [word(CALL, jump=4), word(MOV), word(CALL, jump=2), word(BRA, P0, jump=-3), word(EXIT), word(STL), word(RET)]
    found = read(body, [5], functions=(5,))
    assert (found.local, found.weighted_local, found.deepest) == (4, 44, 40)


def test_a_call_to_no_function_is_a_jump() -> None:
    """ptxas writes such ones for sm_80. What lies behind is the kernel's own code, and counts once."""
    body = [word(STL), word(CALL, P0, jump=1), word(BRA, jump=-3), word(STL), word(EXIT)]
    found = read(body, [0, 3])
    assert (found.local, found.weighted_local, found.library) == (8, 44, 0)


def test_newer_branches_have_their_lowest_bits_apart() -> None:
    body = [word(MOV), word(STL), word(BRA, P0, jump=-3, sm=NEW), word(CALL, jump=1, sm=NEW), word(EXIT), word(STL)]
    found = read([*body, word(RET)], [1, 5], functions=(5,), sm=NEW)
    assert (found.local, found.weighted_local) == (8, 44)


def test_uniform_and_divergent_branches_may_go_on() -> None:
    for more, goes_on in ((7 << 24, False), (1 << 24, True), (9 << 24, True)):
        body = [word(BRA_UNIFORM, jump=1, more=more, sm=NEW), word(STL), word(EXIT)]
        assert read(body, [1], sm=NEW).local == 4 * goes_on
    for more, goes_on in ((0, False), (1 << 32, False), (2 << 32, True), (3 << 32, True)):
        body = [word(BRA, jump=1, more=more), word(STL), word(EXIT)]
        assert read(body, [1]).local == 4 * goes_on


def test_a_barrier_goes_on_where_it_was_told_to() -> None:
    body = [word(BSSY, jump=3, barrier=2), word(BSYNC, barrier=2), word(STL), word(EXIT), word(LDL), word(EXIT)]
    assert read(body, [2, 4]).loads == read(body, [2, 4]).local == 4


def test_indirect_branches_follow_their_list_or_are_told() -> None:
    indirect = min(BRX)
    body = [word(indirect), word(EXIT), word(STL), word(EXIT)]
    assert read(body, [2]).unknown == 1
    known = read(body, [2], {0: [1, 2]})
    assert (known.local, known.unknown) == (4, 0)


def test_shared_memory_is_counted_apart() -> None:
    found = read([word(LDS), word(STL), word(EXIT)], [0, 1])
    assert (found.local, found.shared, found.weighted_shared) == (4, 4, 4)


def test_branches_reach_back_and_forth() -> None:
    for sm in (75, 80, 89, 90, 100, 120):
        for jump in (-(2**30), -65, -64, -1, 0, 5, 63, 64, 2**30):
            assert relative(struct.unpack("<QQ", word(BRA, jump=jump, sm=sm)), sm) == 16 * jump


def test_the_header_names_the_architecture() -> None:
    assert architecture(cubin([word(EXIT)], [], sm=100)) == 100
    older = bytearray(cubin([word(EXIT)], []))
    older[8], older[0x30:0x34] = 7, (0x00500550).to_bytes(4, "little")
    assert architecture(bytes(older)) == 0x50


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x01" + bytes(80), b"\x7fELF\x02" + b"\xff" * 80])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(NotACubin):
        sections(data)


def test_caps_replace_those_in_the_text() -> None:
    text = ".visible .entry k(\n.param .u64 p\n)\n.maxntid 256, 1, 1\n.minnctapersm 4\n{\nret;\n}\n"
    capped = ptxas.capped(text, 32, smem=True)
    assert ".maxnreg 32" in capped
    assert ".maxntid 256" in capped
    assert "minnctapersm" not in capped
    assert re.search(r"\{.*enable_smem_spilling.*ret;", capped, re.DOTALL)


def test_our_own_spills_are_those_of_the_rewritten_code() -> None:
    module = import_ptx(sample_file("cfd.ptx").read_text(), machine="gtx680").module
    tight, wide = (rewrite(module, "cfd", budget, 0) for budget in (24, 200))
    assert our_spills(wide, "cfd").local == 0
    found = our_spills(tight, "cfd")
    assert 0 < found.loads < found.local <= found.weighted_local


OWN_ARRAY = """.version 9.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
.local .align 4 .b8 room[256];
.reg .b64 %rd<8>;
.reg .b32 %r<8>;
ld.param.u64 %rd1, [p];
cvta.to.global.u64 %rd1, %rd1;
ld.param.u32 %r1, [n];
mov.u64 %rd2, room;
mul.wide.u32 %rd3, %r1, 4;
add.u64 %rd4, %rd2, %rd3;
st.local.u32 [%rd4], %r1;
ld.local.u32 %r2, [room+8];
st.global.u32 [%rd1], %r2;
ret;
}
"""
needs_ptxas = pytest.mark.skipif(not ptxas.available(), reason="ptxas is not installed")


def said(text: str, folder: Path) -> int:
    """Bytes of spill stores and loads in all functions, as `ptxas -v` prints them."""
    source = folder / "capped.ptx"
    source.write_text(text)
    command = ["ptxas", "-v", f"-arch={ptxas.architecture(text)}", str(source), "-o", str(folder / "out")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return sum(ptxas.said_spills(printed).values())


RECORDED = json.loads((DATA / "cubins" / "said.json").read_text())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_cubins_spill_as_ptxas_said(name: str) -> None:
    """Function by function, on four architectures; made by `python -m tests.benchmarks.transform.judge.record`."""
    codes = read_cubin(lzma.decompress((DATA / "cubins" / f"{name}.cubin.xz").read_bytes()))
    kernel = name.split(".")[0].split("_")[0]
    found = spilled(codes, kernel)
    own = {n.removeprefix(f"${kernel}$"): b for n, b in found.functions.items() if not n.startswith("$__internal_")}
    assert {n: b for n, b in own.items() if b} == RECORDED[name]
    assert found.local - found.library == sum(RECORDED[name].values())
    listed = sum(access_bytes(codes[kernel].words[at // 16]) for at in codes[kernel].spills)
    assert (found.local, found.unknown) == (listed, 0)


@pytest.mark.rotates
@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", ["dxtc.ptx", "heartwall.ptx", "marchingCubes.ptx", "slidingMD5.ptx"])
def test_spills_are_as_many_as_ptxas_says(name: str, arch: str, tmp_path: Path) -> None:
    text = ptxas.retargeted(sample_file(name).read_text(), arch)
    result = ptxas.spills(text, 24)
    assert isinstance(result, dict)
    assert sum(s.local - s.library for s in result.values()) == said(ptxas.capped(text, 24), tmp_path) > 0


@needs_ptxas
def test_subroutines_of_divisions_count_too(tmp_path: Path) -> None:
    """What they save is in the code, and ptxas does not speak of it."""
    text = sample_file("cfd.ptx").read_text()
    data = ptxas.assemble(ptxas.capped(text, 24))
    assert isinstance(data, bytes)
    codes = read_cubin(data)
    code = codes["cfd"]
    entry = [at for block in control_flow(code, 0).blocks for at in block if at in code.spills]
    own = sum(access_bytes(code.words[at // 16]) for at in entry)
    assert own == said(ptxas.capped(text, 24), tmp_path)
    found = spilled(codes, "cfd")
    assert found.local == sum(access_bytes(code.words[at // 16]) for at in code.spills) == own + found.library > own


@needs_ptxas
def test_local_arrays_of_the_program_are_no_spills() -> None:
    data = ptxas.assemble(ptxas.capped(OWN_ARRAY, 24))
    assert isinstance(data, bytes)
    codes = read_cubin(data)
    assert {low & 0xFFF for low, _ in codes["k"].words} >= {LDL, STL}
    assert spilled(codes, "k").local == 0
