"""Containers made by hand to break one rule each: every one is refused, and by the rule it breaks."""

from __future__ import annotations

import copy
import random
import re
import struct
from collections.abc import Callable

import pytest

from binalloc.errors import MalformedInput
from binalloc.isa.container import elf
from binalloc.isa.container.elf import LINE_ENTRY
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.text.assembler import assemble
from binalloc.isa.validate import CODE_LIMIT
from tests.support.kits.elf_edit import Section, put_together, take_apart
from tests.support.programs.words import random_module

SOURCE = """
.provenance {"tool": "t"}
.const 3 {
  k: .float 1.0
}
.global one 4 {
  .word 7
}
.global two 4
.kernel main
  .shared tile 64 16
  .shared tail 4 4
  .file "main.cu"
  .line 3
  MOV R0, c[3][k]
first:
  .line 4
  CALL callee
second:
  EXIT
.end
.func callee
  RET
.end
"""
SECTIONS = take_apart(write_module(assemble(SOURCE)))
Edit = Callable[[list[Section]], object]


def _find(sections: list[Section], name: str) -> Section:
    return next(s for s in sections if s.name == name)


def _replace(name: str, change: Callable[[bytes], bytes]) -> Edit:
    def edit(sections: list[Section]) -> None:
        s = _find(sections, name)
        s.data = change(s.data)

    return edit


def _symbol(index: int, **fields: int) -> Edit:
    def change(data: bytes) -> bytes:
        sym = elf.SYM.parse(data[24 * index :])
        sym.update(fields)
        return data[: 24 * index] + elf.SYM.build(sym) + data[24 * index + 24 :]

    return _replace(".symtab", change)


def _extra(name: str, after: str, data: bytes) -> Edit:
    def edit(sections: list[Section]) -> None:
        model = copy.deepcopy(_find(sections, after))
        sections.insert(0 if name == ".loom.info.none" else len(sections) - 3, Section(name, model.header, data))
        for s in sections:  # indexes of what lies behind the new section moved
            if name == ".loom.info.none" and s.header.sh_info and s.name != ".symtab":
                s.header.sh_info += 1

    return edit


def _note(desc: bytes, **fields: object) -> Edit:
    note = {"namesz": 5, "descsz": len(desc), "type": 1, "name": b"Loom\0", "desc": desc} | fields
    return _replace(".note.loom", lambda _: elf.NOTE.build(note))


def _info_align(value: int) -> Edit:
    return _replace(".loom.info.main", lambda d: d[:-1] + bytes([value]))


def _source(**fields: object) -> bytes:
    """What version 2 of the info record adds."""
    plain = {"memory_model": 1, "smem_spilling": 1, "max_registers": 24, "min_blocks": 8}
    data = {**plain, "target": b"sm_80", "reserved": 0, **fields}
    target = data["target"]
    assert isinstance(target, bytes)
    numbers = [data[key] for key in ("memory_model", "smem_spilling", "max_registers", "min_blocks")]
    return struct.pack("<BBHIIH", *numbers[:2], data["reserved"], *numbers[2:], len(target)) + target


def _swapped_lines(data: bytes) -> bytes:
    size = LINE_ENTRY.itemsize
    return data[: -2 * size] + data[-size:] + data[-2 * size : -size]


def test_the_editor_gives_back_what_it_took_apart() -> None:
    for seed in range(20):
        data = write_module(random_module(random.Random(seed)))
        assert write_module(read_module(put_together(take_apart(data)))) == data


# symbols of SOURCE: 1 first, 2 second, 3 tile, 4 tail, 5 one, 6 two, 7 main, 8 callee
@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (_symbol(2, st_value=16), "two labels on one instruction"),
        (_symbol(2, st_value=17), "outside its section or on no instruction"),
        (_symbol(2, st_value=48), "outside its section or on no instruction"),
        (_symbol(2, st_size=16), "outside its section or on no instruction"),
        (_symbol(2, st_shndx=0), "not a kind of symbol"),
        (_symbol(2, st_info=3), "not a kind of symbol"),
        (_symbol(2, st_other=1), "not a kind of symbol"),
        (_symbol(2, st_info=0x12), "local symbols come first"),
        (_symbol(2, st_name=10**6), "outside the string table"),
        (_symbol(3, st_size=1 << 32), "outside the static shared memory"),
        (_symbol(4, st_size=8), "outside the static shared memory"),
        (_symbol(4, st_value=1 << 62), "outside the static shared memory"),
        (_symbol(8, st_name=0), "does not name its section"),
        (_symbol(7, st_size=16), "st_size"),
        (_symbol(6, st_value=0x08000000), "overlaps one"),
        (_symbol(6, st_value=0x0800000C), ".global, sh_size"),
        (_symbol(6, st_value=0), "outside the window"),
        (_symbol(6, st_info=0x11), "local symbols come first"),
        (_symbol(6, st_size=0), "outside the window"),
        (_replace(".loom.global", lambda d: b"\x01" + d[1:10]), "more global variables"),
        (_replace(".loom.global", lambda d: b"\x03" + d[1:] + bytes(5)), "global variables are missing"),
        (_replace(".loom.global", lambda d: bytes(4)), "no variables"),
        (_replace(".loom.global", lambda d: d[:4] + b"\x11" + d[5:]), "not an alignment"),
        (_replace(".loom.global", lambda d: d[:5] + b"\xff" + d[6:]), "cannot be read"),
        (_replace(".loom.global", lambda d: d.replace(b"\x07", b"\x00")), "bad initial data"),
        (_symbol(0, st_size=16), "the null symbol is not empty"),
        (_replace(".symtab", lambda d: d[:-24]), "no symbol for function callee"),
        (_replace(".symtab", lambda d: d + d[-24:]), "does not name its section"),
        (_replace(".strtab", lambda d: b"x" + d[1:]), "not a string table"),
        (_replace(".strtab", lambda d: d.replace(b"first", b"fir\xfft")), "name is not ASCII"),
        (_replace(".strtab", lambda d: d.replace(b"first", b"fi rt")), "not a name"),
        (_replace(".loom.info.main", lambda d: d[:-4] + b"\x01\x00" + d[-1:]), "more shared variables"),
        (_replace(".loom.info.main", lambda d: d[:-4] + b"\x03\x00\0\0\0"), "shared variables of main are missing"),
        (_info_align(17), "not an alignment"),
        (_info_align(4), None),
        (_info_align(7), "misaligned"),
        (_replace(".loom.info.main", lambda d: d[:2] + b"\x02" + d[3:]), "unknown kind"),
        (_replace(".loom.info.main", lambda d: b"\x03" + d[1:]), "version"),
        (_replace(".loom.info.main", lambda d: b"\x00" + d[1:]), "version"),
        (_replace(".loom.info.main", lambda d: b"\x02" + d[1:]), "cannot be read"),
        (_replace(".loom.info.main", lambda d: b"\x02" + d[1:] + _source()), None),
        (_replace(".loom.info.main", lambda d: b"\x02" + d[1:] + _source() + b"\0"), "cannot be read"),
        (_replace(".loom.info.main", lambda d: b"\x02" + d[1:] + _source(memory_model=2)), "unknown memory model"),
        (_replace(".loom.info.main", lambda d: b"\x02" + d[1:] + _source(smem_spilling=2)), "neither no nor yes"),
        (_replace(".loom.info.main", lambda d: b"\x02" + d[1:] + _source(target=b"sm\n80")), "not a target"),
        (_replace(".loom.info.main", lambda d: b"\x02" + d[1:] + _source(reserved=1)), "cannot be read"),
        (_replace(".loom.info.callee", lambda d: b"\x02" + d[1:] + _source(target=b"t" * 256)), "not a target"),
        (_replace(".loom.info.main", lambda d: d + b"\0"), "cannot be read"),
        (_replace(".loom.info.main", lambda d: d[:36] + b"\xff\xff" + d[38:]), "cannot be read"),
        (_replace(".loom.lines.main", _swapped_lines), "not in ascending order"),
        (_replace(".loom.lines.main", lambda d: d[:-2] + b"\x01\x00"), "no such file"),
        (_replace(".loom.lines.main", lambda d: d[: -LINE_ENTRY.itemsize]), "does not agree with the section's size"),
        (_note(b"[1]"), "not a JSON object"),
        (_note(b"{"), "not JSON"),
        (_note(b"[" * 100000), "not JSON"),
        (_note(b"\xff"), "not JSON"),
        (_note(b"{}", name=b"Loon\0"), "note of another owner"),
        (_note(b"{}", type=2), "n_type"),
        (_replace(".note.loom", lambda d: d[:4] + b"\xff\xff\xff\xff" + d[8:]), "lies outside its section"),
        (_replace(".note.loom", lambda d: d + b"\0" * 8), "truncated note"),
        (_extra(".constant3", ".constant3", b""), "two sections of this name"),
        (_extra(".constant0", ".constant3", b""), "no such bank"),
        (_extra(".constant32", ".constant3", b""), "no such bank"),
        (_extra(".constant03", ".constant3", b""), "unknown section"),
        (_extra(".constant9", ".constant3", bytes(65537)), "too large"),
        (_extra(".global", ".constant3", b""), "two sections of this name"),
        (_extra(".debug", ".constant3", b""), "unknown section"),
        (_extra(".loom.info.none", ".loom.info.main", b""), "belongs to no function"),
        (_extra(".loom.info.main", ".loom.info.main", b""), "two sections of this name"),
        (_extra(".text.main", ".text.main", b""), "two sections of this name"),
        (_extra(".text.bare", ".text.callee", b""), "section is missing"),
        (_extra(".symtab", ".symtab", b""), "two sections of this name"),
        (_replace(".text.callee", lambda d: d * (CODE_LIMIT + 1)), "too much code"),
    ],
)
def test_a_broken_rule_is_named(edit: Edit, expected: str | None) -> None:
    sections = copy.deepcopy(SECTIONS)
    edit(sections)
    data = put_together(sections)
    if expected is None:
        read_module(data)
        return
    with pytest.raises(MalformedInput, match=re.escape(expected)):
        read_module(data)


def test_bytes_of_no_section_are_refused() -> None:
    read_module(put_together(copy.deepcopy(SECTIONS), bytes(15)))
    for gap in (bytes(16), b"\x01"):
        with pytest.raises(MalformedInput, match="bytes of no section"):
            read_module(put_together(copy.deepcopy(SECTIONS), gap))


def test_names_and_bounds_of_blocks_are_checked() -> None:
    module = assemble(SOURCE)
    info = module.functions[0].info
    info.block, info.max_threads = (16, 16, 1), 256
    write_module(module)
    for block, bound in (((16, 16, 2), 256), ((32, 32, 2), 0), ((1, 1, 257), 256)):
        info.block, info.max_threads = block, bound
        with pytest.raises(MalformedInput, match="too many threads"):
            write_module(module)
    info.block = (0, 0, 0)
    module.functions[0].labels[0] = "uniform"
    with pytest.raises(MalformedInput, match="uniform"):
        write_module(module)


def test_a_kernel_reserves_its_callees_shared_memory_and_ignores_registers_nobody_reads() -> None:
    source = ".kernel k\nCALL f\nEXIT\n.end\n.func f\n.shared v 8\nATOMG.ADD R0, [R2], R4, R200\nRET\n.end"
    module = assemble(source)
    assert module.functions[0].info.registers == 5
    assert module.functions[0].info.shared_bytes == 8
    module.functions[0].info.shared_bytes = 4
    with pytest.raises(MalformedInput, match="less than f, which the kernel calls, uses"):
        write_module(module)
