"""The table of variables that accesses touch: in text, in a file, and in files that nobody should write."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest

from binalloc.errors import MalformedInput
from binalloc.isa.container.files import read_module, sections, write_module
from binalloc.isa.instruction import DYNAMIC
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from tests.support.kits.elf_edit import put_together, take_apart
from tests.support.programs.words import random_module

SOURCE = """
.kernel main
  .shared tile 64 16
  .shared tail 4 4
  MOV R0, tile
  .touches tile, *
  LDS.32 R1, [R0]
  MOV R2, R1
  .touches tail
  STS.32 [R0], R1
  CALL callee
  EXIT
.end
.kernel other
  .shared_bytes 128
  .shared alone 4
  .touches alone
  ATOMS.ADD R1, [RZ], R2
  CALL callee
  EXIT
.end
.func callee
  .touches alone, tail
  LD.32 R1, [R2]
  RET
.end
"""
DATA = write_module(assemble(SOURCE))


def test_text_and_file_have_the_same_table() -> None:
    module = read_module(DATA)
    touches = {fn.name: fn.touches for fn in module}
    assert touches == {
        "main": {1: (DYNAMIC, "tile"), 3: ("tail",)}, "other": {0: ("alone",)}, "callee": {0: ("alone", "tail")},
    }  # fmt: skip
    assert "    .touches *, tile\n    LDS" in disassemble(module)
    assert write_module(assemble(disassemble(module))) == DATA
    assert ".loom.touches.main" in [section.name for section in sections(DATA)]


def test_bytes_are_as_the_page_says() -> None:
    """Built from ISA.md alone."""
    names = [b"*", b"tail", b"tile"]
    expected = struct.pack("<H", 3) + b"".join(struct.pack("<H", len(name)) + name for name in names)
    expected += struct.pack("<I", 3) + struct.pack("<IHIHIH", 1, 0, 1, 2, 3, 1)
    assert next(s.data for s in take_apart(DATA) if s.name == ".loom.touches.main") == expected


def test_a_file_without_the_table_is_complete() -> None:
    kept = [s for s in take_apart(DATA) if not s.name.startswith(".loom.touches")]
    index = {s.name: k for k, s in enumerate(kept, 1)}
    owners = {s.name.split(".")[-1]: index[s.name] for s in kept if s.name.startswith(".text.")}
    for s in kept:
        if s.name.startswith((".loom.", ".shared.")):
            s.header.sh_info = owners[s.name.split(".")[-1]]
    for s in kept:
        if s.name == ".symtab":
            old = {k: t.name for k, t in enumerate(take_apart(DATA), 1)}
            rows = [bytearray(s.data[k : k + 24]) for k in range(0, len(s.data), 24)]
            for row in rows[1:]:
                row[6:8] = struct.pack("<H", index[old[struct.unpack("<H", row[6:8])[0]]])
            s.data = b"".join(map(bytes, rows))
    module = read_module(put_together(kept))
    assert not any(fn.touches for fn in module)
    assert [fn.instrs for fn in module] == [fn.instrs for fn in read_module(DATA)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".touches\nLDS R1, [R0]", "expected a shared variable"),
        (".touches 4\nLDS R1, [R0]", "expected a shared variable"),
        (".touches tile,\nLDS R1, [R0]", "expected a shared variable"),
        (".touches tile tail\nLDS R1, [R0]", "line 4"),
        (".touches tile, tile\nLDS R1, [R0]", "named twice"),
        (".touches tile\n.touches tail\nLDS R1, [R0]", "two .touches"),
        (".touches nobody\nLDS R1, [R0]", "word 0: no such variable; found 'nobody'"),
        (".touches tile\nMOV R1, R0", "accesses no variable in shared memory; found MOV"),
        (".touches tile\nLDG R1, [R0]", "accesses no variable in shared memory"),
        (".touches tile\nLDS.SPILL R1, [R0]", "accesses no variable in shared memory"),
    ],
)
def test_text_that_is_refused(text: str, found: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        assemble(f".kernel k\n.shared tile 64\n.shared tail 4\n{text}\nEXIT\n.end\n")
    assert found in str(caught.value)


def test_nothing_may_follow_the_last_instruction() -> None:
    with pytest.raises(MalformedInput, match="behind the last instruction"):
        assemble(".kernel k\n.shared tile 64\nEXIT\n.touches tile\n.end\n")


def test_a_kernel_may_not_name_the_variables_of_another() -> None:
    with pytest.raises(MalformedInput, match="no such variable"):
        assemble(SOURCE.replace(".touches alone\n  ATOMS", ".touches tail\n  ATOMS"))


def _refused(change: Callable[[bytes], bytes], function: str = "main") -> str:
    parts = take_apart(DATA)
    section = next(s for s in parts if s.name == f".loom.touches.{function}")
    section.data = change(section.data)
    with pytest.raises(MalformedInput) as caught:
        read_module(put_together(parts))
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda d: d[:-1], "count"),
        (lambda d: d + b"\0", "count"),
        (lambda d: b"", ".loom.touches.main"),
        (lambda d: d[:18] + bytes(4), "does not agree"),
        (lambda d: d[:-6] + struct.pack("<IH", 3, 3), "no such name; found 3"),
        (lambda d: d[:-6] + struct.pack("<IH", 1, 2), "not in ascending order"),
        (lambda d: d[:-6] + struct.pack("<IH", 0, 1), "not in ascending order"),
        (lambda d: d[:-6] + struct.pack("<IH", 6, 1), "word 6: no such word"),
        (lambda d: d[:-6] + struct.pack("<IH", 1 << 31, 1), "no such word"),
        (lambda d: d[:-6] + struct.pack("<IH", 2, 1), "accesses no variable"),
        (lambda d: d.replace(b"tail", b"tale"), "no such variable"),
        (lambda d: d.replace(b"tail", b"tile"), "not in ascending order"),
        (lambda d: d.replace(b"tail", b"zail"), "not in ascending order"),
        (lambda d: d.replace(b"tail", b"\xff\xff\xff\xff"), ".loom.touches.main"),
    ],
)
def test_a_table_that_breaks_a_rule_is_refused_with_its_place(change: Callable[[bytes], bytes], found: str) -> None:
    text = _refused(change)
    assert found in text
    assert "main" in text


def test_no_bytes_of_the_table_do_anything_else_than_be_refused() -> None:
    rng = random.Random(5)
    read = 0
    for _ in range(400):
        parts = take_apart(DATA)
        section = rng.choice([s for s in parts if s.name.startswith(".loom.touches")])
        data = bytearray(section.data)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 255, rng.randrange(256)))
        section.data = bytes(data[: rng.randint(len(data) - 3, len(data))]) if rng.random() < 0.3 else bytes(data)
        try:
            module = read_module(put_together(parts))
        except MalformedInput:
            continue
        read += 1
        assert write_module(module)
    assert read < 200


def test_random_modules_keep_their_tables() -> None:
    some = 0
    for seed in range(80):
        module = random_module(random.Random(seed))
        again = read_module(write_module(module))
        assert [fn.touches for fn in again] == [fn.touches for fn in module]
        text = assemble(disassemble(module))
        assert [fn.touches for fn in text] == [fn.touches for fn in module]
        some += any(fn.touches for fn in module)
    assert some > 20
