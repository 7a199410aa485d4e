"""A file of another instruction set on the command line: every command that does not execute it takes it as it takes
Loom's, told by how the file begins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from binalloc.isa.instruction import Module
from tests.support.kits.cli import call, loom, refused
from tests.support.pebble.instruction_set import Pebble, pebble
from tests.support.pebble.machine import Thread
from tests.support.pebble.programs import program

BUDGET = ("--registers", "12", "--slots", "4")


@pytest.fixture(autouse=True)
def isa() -> Iterator[Pebble]:
    with pebble() as found:
        yield found


@pytest.fixture
def original(isa: Pebble, tmp_path: Path) -> str:
    path = tmp_path / "k.pebble"
    path.write_bytes(isa.write(program()))
    return str(path)


@pytest.fixture
def rewritten(original: str, tmp_path: Path) -> str:
    path = str(tmp_path / "new.pebble")
    answer = call("rewrite", original, *BUDGET, "-o", path, "--json")
    assert answer.code == 0, answer.err
    assert answer.json["verified"] is True
    return path


def stores(module: Module) -> list[list[tuple[int, int]]]:
    """By thread, in order at each place: which of two places comes first is nobody's business."""
    return [sorted(Thread(module, lane).run("k"), key=lambda store: store[0]) for lane in range(4)]


@pytest.mark.rotates("long commands")
def test_inspect_shows_it(original: str) -> None:
    views = ["--sections", "--cfg", "--webs", "--pressure", "--stack", "--shared", "--minimum"]
    found = call("inspect", original, *views, "--json")
    assert found.code == 0, found.err
    assert [s["name"] for s in found.json["sections"]["sections"]] == ["code"]
    assert found.json["minimum"]["registers"] == 6
    assert "get to=4 one=1" in call("inspect", original, "--pressure").out


def test_rewrite_writes_its_container_and_verify_proves_it(isa: Pebble, original: str, rewritten: str) -> None:
    module = isa.read(Path(rewritten).read_bytes())
    info = module.function("k").info
    assert (info.registers, info.slots) == (12, 4)
    assert stores(module) == stores(program())
    assert call("verify", original, rewritten, "--kernel", "k").code == 0
    rows = [row for fn in call("diff", original, rewritten, "--json").json["functions"] for row in fn["rows"]]
    assert {row["kind"] for row in rows} >= {"changed", "inserted"}


def test_verify_refuses_a_wrong_one(isa: Pebble, original: str, rewritten: str) -> None:
    module = isa.read(Path(rewritten).read_bytes())
    code = module.function("k").instrs
    at = next(i for i, instr in enumerate(code) if instr.name == "give")
    code[at] = code[at].replace(value=code[at].f["value"] + 4)
    Path(rewritten).write_bytes(isa.write(module))
    assert call("verify", original, rewritten).code == 1


def test_schedule_sets_its_control_codes(isa: Pebble, original: str, tmp_path: Path) -> None:
    out = tmp_path / "scheduled.pebble"
    assert call("schedule", original, "-o", str(out)).code == 0
    assert isa.read(out.read_bytes()).function("k").info.machine == "gtx680"


def test_disasm_and_asm_speak_its_assembly(isa: Pebble, original: str, tmp_path: Path) -> None:
    text = call("disasm", original).out
    assert text == isa.disassemble(program())
    source = tmp_path / "short.txt"
    source.write_text("\n".join(["pebble", "k lit to=4 value=7", "k give one=1 two=4", "k end"]) + "\n")
    assert call("asm", str(source)).code == 0
    module = isa.read((tmp_path / "short.pebble").read_bytes())
    assert [instr.name for instr in module.function("k").instrs] == ["lit", "give", "end"]
    assert call("disasm", str(tmp_path / "short.pebble")).out == source.read_text()


def test_loom_is_read_beside_it_and_what_neither_knows_is_refused_as_loom(tmp_path: Path) -> None:
    assert call("inspect", loom("callchain")).code == 0
    (tmp_path / "x").write_bytes(b"neither")
    assert "not an ELF file" in refused(3, "inspect", str(tmp_path / "x"))


def test_the_emulator_refuses_it(original: str, tmp_path: Path) -> None:
    launch = tmp_path / "k.toml"
    launch.write_text('kernel = "k"\ngrid = 1\nblock = 32\n')
    line = refused(2, "run", original, "--launch", str(launch), "--engine", "python")
    assert "the emulator executes one instruction set alone; found pebble; expected loom" in line
