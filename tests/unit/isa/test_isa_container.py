"""The container: exact round trips, readelf's opinion, and a refusal, never a crash, for everything damaged."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.container import elf
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import ConstantVar, Module, Param, SharedVar, make
from binalloc.isa.sets.files import load, save
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from tests.support.kits.suite import rotation
from tests.support.programs.words import fuzz_container, random_module


def test_reading_back_gives_the_module_and_writing_again_the_bytes() -> None:
    for seed in rotation.sample(range(150), "modules"):
        module = random_module(random.Random(seed))
        data = write_module(module)
        again = read_module(data)
        assert again == module, seed
        assert write_module(again) == data
        assert write_module(assemble(disassemble(again))) == data


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_readelf_reads_it_without_a_warning(tmp_path: Path) -> None:
    for seed in range(12):
        path = tmp_path / f"{seed}.loom"
        save(random_module(random.Random(seed)), path)
        run = subprocess.run(["readelf", "-a", "-W", str(path)], capture_output=True, text=True, check=True)
        assert run.stderr == ""
        for word in ("Warning", "warning", "Error", "corrupt"):
            assert word not in run.stdout


def test_corrupted_files_raise_nothing_but_our_errors() -> None:
    files = [write_module(random_module(random.Random(seed))) for seed in range(8)]
    refused = fuzz_container(files, 2000, seed=7)
    assert 1500 < refused < 2000  # most damage is seen; some, as in an immediate, makes another valid binary


def _sample() -> Module:
    """A module with one of everything."""
    return assemble(
        """
        .provenance {"tool": "t"}
        .const 3 {
          k: .float 1.0
        }
        .constant first 3 0 4
        .global counter 4
        .global table 12 8 {
          .half 1, 2
        }
        .kernel main
          .param a 8
          .shared tile 64 16
          .origin old 0 -*3
          .inlined 4 7
          .file "main.cu"
          .line 3
          MOV R0, c[3][k]
        here:
          CALL callee
          @P0 BRA here, uniform
          EXIT
        .end
        .func callee
          RET
        .end
        """
    )


def _patch_section(data: bytes, name: bytes, field: str, value: int) -> bytes:
    """`data` with one header field of the section `name` changed."""
    out = bytearray(data)
    header = elf.EHDR.parse(data)
    shdrs = [elf.SHDR.parse(data[header.e_shoff + 64 * i :][:64]) for i in range(header.e_shnum)]
    strings = data[shdrs[-1].sh_offset :]
    for i, s in enumerate(shdrs):
        if strings[s.sh_name : strings.index(b"\0", s.sh_name)] == name:
            s[field] = value
            out[header.e_shoff + 64 * i : header.e_shoff + 64 * i + 64] = elf.SHDR.build(s)
            return bytes(out)
    raise KeyError(name)


@pytest.mark.parametrize(
    ("section", "field", "value", "expected"),
    [
        (b".text.main", "sh_offset", 1 << 62, "lies outside the file"),
        (b".text.main", "sh_size", (1 << 64) - 1, "lies outside the file"),
        (b".text.main", "sh_offset", 0, "overlaps"),
        (b".text.main", "sh_size", 24, "24 bytes"),
        (b".text.main", "sh_addr", 16, "st_value"),
        (b".text.main", "sh_flags", 2, "sh_flags"),
        (b".text.main", "sh_name", 1 << 31, "outside the string table"),
        (b".text.main", "sh_type", 1, None),
        (b".shared.main", "sh_size", 1 << 40, "does not agree with .loom.info"),
        (b".shared.main", "sh_info", 9, "sh_info"),
        (b".loom.info.main", "sh_size", 1, "too short"),
        (b".loom.info.main", "sh_size", 20, "cannot be read"),
        (b".loom.lines.main", "sh_size", 3, None),
        (b".loom.map.main", "sh_size", 12, None),
        (b".loom.inlined.main", "sh_size", 6, "does not fit the instruction map"),
        (b".loom.inlined.main", "sh_size", 0, None),
        (b".note.loom", "sh_size", 13, None),
        (b".symtab", "sh_size", 23, "not whole symbols"),
        (b".symtab", "sh_link", 0, "sh_link"),
        (b".symtab", "sh_info", 1, "local symbols come first"),
        (b".constant3", "sh_type", 8, "sh_type"),
        (b".global", "sh_addr", 0, "sh_addr"),
        (b".global", "sh_size", 21, "sh_size"),
        (b".global", "sh_size", 1 << 40, "too large"),
        (b".global", "sh_flags", 2, "sh_flags"),
        (b".loom.global", "sh_size", 3, "cannot be read"),
        (b".loom.global", "sh_type", 8, "sh_type"),
    ],
)
def test_a_bad_section_header_is_refused_by_name(section: bytes, field: str, value: int, expected: str | None) -> None:
    data = write_module(_sample())
    damaged = _patch_section(data, section, field, value)
    if damaged == data:
        read_module(damaged)
        return
    with pytest.raises(MalformedInput) as caught:
        read_module(damaged, "x.loom")
    assert str(caught.value).startswith("x.loom: ")
    if expected:
        assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda m: setattr(m.functions[0].info, "registers", 0), "fewer than the code uses"),
        (lambda m: setattr(m.functions[0].info, "slot_pointer", 0), "a slot pointer without slots"),
        (lambda m: setattr(m.functions[0].info, "slot_bytes", 100), "slot_bytes"),
        (lambda m: setattr(m.functions[0].info, "kind", "shader"), "unknown kind"),
        (lambda m: setattr(m.functions[0].info, "block", (32, 0, 1)), "a block without threads"),
        (lambda m: setattr(m.functions[1], "name", "main"), "two functions of this name"),
        (lambda m: setattr(m.functions[1], "name", "9"), "not a function name"),
        (lambda m: setattr(m.functions[1], "address", 4), "wrong place in code space"),
        (lambda m: m.functions[0].instrs.pop(), "falls off the function's end"),
        (lambda m: m.functions[0].instrs.__setitem__(1, make("CALL", target=0)), "call of no function's start"),
        (lambda m: m.functions[0].instrs.__setitem__(1, make("BRA", target=3)), "branch off the function"),
        (lambda m: m.functions[0].shared.append(SharedVar("b", 62, 2, 4)), "misaligned"),
        (lambda m: m.functions[0].shared.append(SharedVar("b", 64, 4)), "outside the static shared memory"),
        (lambda m: m.functions[0].info.params.append(Param("b", 4, 4)), "overlaps a"),
        (lambda m: m.functions[0].labels.update({9: "x"}), "labels no instruction"),
        (lambda m: m.functions[0].origin.index.pop(), "does not fit the code"),
        (lambda m: m.functions[0].origin.inlined.append(-1), "an inlined call out of range"),
        (lambda m: m.functions[0].origin.inlined.append(1 << 24), "an inlined call out of range"),
        (lambda m: setattr(m.globals[1], "offset", 0), "overlaps counter"),
        (lambda m: setattr(m.globals[1], "offset", 12), "global variable table: misaligned"),
        (lambda m: setattr(m.globals[1], "align", 1 << 17), "global variable table: misaligned"),
        (lambda m: setattr(m.globals[1], "offset", 1 << 27), "outside the window of variables"),
        (lambda m: setattr(m.globals[1], "name", "counter"), "declared twice"),
        (lambda m: setattr(m.globals[0], "data", b"\1\2\3\4\5"), "bad initial data"),
        (lambda m: setattr(m.globals[0], "data", b"\1\0"), "bad initial data"),
        (lambda m: setattr(m.constant_vars[0], "size", 5), "lies outside its bank"),
        (lambda m: setattr(m.constant_vars[0], "bank", 4), "lies outside its bank"),
        (lambda m: setattr(m.constant_vars[0], "name", "table"), "declared twice"),
        (lambda m: m.constant_vars.append(ConstantVar("again", 3, 2, 2)), "overlaps first"),
        (lambda m: m.constants.update({0: b""}), "no such bank"),
        (lambda m: m.constants.update({1: bytes(65537)}), "too large"),
    ],
)
def test_an_inconsistent_module_is_not_written(change: Callable[[Module], object], expected: str) -> None:
    module = _sample()
    change(module)
    with pytest.raises(MalformedInput, match=re.escape(expected)):
        write_module(module)


def test_a_kernel_must_reserve_registers_for_its_callees() -> None:
    module = assemble(".kernel k\nCALL f\nEXIT\n.end\n.func f\nMOV R9, RZ\nRET\n.end")
    assert module.function("k").info.registers == 10
    module.function("k").info.registers = 9
    with pytest.raises(MalformedInput, match="than f, which the kernel calls, uses; found 9; expected at least 10"):
        write_module(module)


def test_every_truncation_and_every_flipped_header_bit_is_refused_or_read() -> None:
    data = write_module(_sample())
    for n in range(len(data)):
        with pytest.raises(MalformedInput):
            read_module(data[:n])
    for bit in range(64 * 8):
        with pytest.raises(MalformedInput):
            read_module((int.from_bytes(data, "little") ^ 1 << bit).to_bytes(len(data), "little"))


def test_save_replaces_whole_files_and_leaves_nothing_on_refusal(tmp_path: Path) -> None:
    path = tmp_path / "a.loom"
    path.write_bytes(b"old")
    bad = _sample()
    bad.functions[0].info.registers = 0
    with pytest.raises(MalformedInput):
        save(bad, path)
    assert path.read_bytes() == b"old"
    save(_sample(), path)
    assert load(path).functions == _sample().functions
    assert [p.name for p in tmp_path.iterdir()] == ["a.loom"]
    with pytest.raises(UsageError):
        load(tmp_path / "missing.loom")
    with pytest.raises(UsageError):
        save(_sample(), tmp_path / "missing" / "a.loom")


def test_the_elf_structure_by_an_independent_reading() -> None:
    """What readelf would look at, by `struct` alone, for hosts without binutils."""
    for seed in range(20):
        data = write_module(random_module(random.Random(seed)))
        assert data[:16] == b"\x7fELF\x02\x01\x01" + bytes(9)
        kind, machine, version, entry, phoff, shoff, flags, ehsize, _, phnum, shentsize, shnum, shstrndx = (
            struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
        )
        assert (kind, version, entry, phoff, flags, ehsize, phnum, shentsize) == (2, 1, 0, 0, 1, 64, 0, 64)
        assert machine == 0x4C4D
        assert shoff % 8 == 0
        assert shoff + 64 * shnum == len(data)
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(shnum)]
        assert rows[0] == (0,) * 10
        strings = data[rows[shstrndx][4] :][: rows[shstrndx][5]]
        names = [strings[r[0] : strings.index(b"\0", r[0])].decode() for r in rows]
        assert len(set(names)) == shnum
        for name, row in zip(names, rows, strict=True):
            _, sh_type, sh_flags, addr, offset, size, link, info, align, entsize = row
            assert sh_type == 0 or (align & (align - 1) == 0 and align > 0 and addr % align == 0)
            assert sh_type in (0, 8) or offset + size <= shoff
            if sh_flags & 0x40:
                assert names[info].startswith(".text.")
                assert name.endswith(names[info].removeprefix(".text"))
            if name == ".symtab":
                assert (sh_type, names[link], entsize, size % 24) == (2, ".strtab", 24, 0)
                binds = [data[offset + 24 * i + 4] >> 4 for i in range(size // 24)]
                assert binds == [0] * info + [1] * (size // 24 - info)
            if name == ".note.loom":
                namesz, descsz, note = struct.unpack_from("<III", data, offset)
                assert (namesz, note, data[offset + 12 : offset + 17]) == (5, 1, b"Loom\0")
                assert json.loads(data[offset + 20 : offset + 20 + descsz])


def test_an_interrupted_save_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.loom"
    path.write_bytes(b"old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(_sample(), path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.loom"]
