"""What formulas say of instructions is what the emulator leaves, for every opcode and form; and which have them."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.analysis.ranges import acts
from binalloc.analysis.ranges.value import Interval, window
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.formulas import Act, Formula
from binalloc.isa.interface.sums import Sum
from binalloc.isa.loom.formulas import formulas
from binalloc.isa.loom.view import view
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import BY_NAME, OPCODES
from tests.property.isa.test_interface import cases, state
from tests.property.isa.test_sums import MACHINE, WORDS, executing, total
from tests.support.kits.emulator.single_step import SingleStep, WarpState

TOLD = {"LOP3", "SHF", "IMAD", "IMAD.WIDE", "IMAD.HI", "IMNMX", "SEL", "ISETP", "PLOP3", "POPC", "PRMT"}
LOADS = {"LDG", "LDS", "LDL", "LDC", "LD"}


def bits(instr: Instr, before: WarpState, use: int) -> np.ndarray:
    """A predicate operand in every lane."""
    numbers = [n for ref in view(instr).uses for n in ref.registers()]
    return before.predicates[numbers[use]] >> np.arange(32) & 1 == 1


def words_of(instr: Instr, f: Formula, before: WarpState) -> list[np.ndarray]:
    return [total(instr, word, before).astype(np.int64) for word in f.words]


def expected(instr: Instr, f: Formula, before: WarpState) -> np.ndarray | None:
    """What the formula gives in every lane; None where it says no more than bounds."""
    words = words_of(instr, f, before)
    truths: list[acts.Bools | None] = [
        acts.flipped(np.ones(32, bool) if t.use is None else bits(instr, before, t.use), t.negated) for t in f.truths
    ]
    if f.act in (Act.COMPARE, Act.LOGIC):
        if f.act == Act.COMPARE:
            truths.insert(0, acts.known_comparison(f, *words))
        found = acts.combined(f.table, truths)
        return np.broadcast_to(np.asarray(found), 32)
    if f.act == Act.BETWEEN:
        return None
    return np.broadcast_to(np.asarray(acts.known_word(f, words, [t for t in truths if t is not None]).base), 32)


def bounds(instr: Instr, f: Formula, before: WarpState) -> Interval:
    """Bounds of the result that follow from the operands' bounds in all lanes."""
    words = words_of(instr, f, before)

    def of_word(k: int, signed: bool) -> Interval:
        numbers = np.atleast_1d(acts.read(words[k], signed))
        return Interval(int(numbers.min()), int(numbers.max()))

    return acts.bounded_word(f, of_word)


def plain(instr: Instr, number: int) -> Instr:
    """The instruction under modifiers for which there are formulas, by the bits of `number`."""
    f = {name: 0 for name in ("ex", "prmt") if name in instr.f}
    if "dir" in instr.f:
        f |= {"dir": 1, "hi": number & 1, "stype": number >> 1 & 1, "wrap": number >> 2 & 1}
        f |= {"rc": RZ} if not number & 1 and "rc" in instr.f else {}
    if instr.name == "IMNMX":
        f |= {"ps0": 7, "ps0n": number & 1, "u32": number >> 1 & 1}
    if instr.name == "IMAD.HI":
        f["u32"] = 1
    if instr.name == "ISETP":
        f |= {"icmp": number % 6 + 1, "u32cmp": number >> 1 & 1, "bop": number % 3}
    if "imm" in instr.f and instr.name in ("SHF", "PRMT"):
        f["imm"] = (number * 9) & 31 if instr.name == "SHF" else 0x1234567 >> number & 0x7777
    return instr.replace(**f)


@pytest.mark.parametrize("name", [op.name for op in OPCODES.values()])
def test_formulas(name: str) -> None:
    told = 0
    given = [x for case in cases(BY_NAME[name]) for x in (case, *(plain(case, number) for number in range(8)))]
    for number, instr in enumerate(given):
        defs = [(ref.file, n) for ref in view(instr).defs for n in ref.registers()]
        found = formulas(instr)
        assert len({f.result for f in found}) == len(found)
        for i in range(3 if found else 0):
            before = state(np.random.default_rng([number, i]), instr, small=i % 2 == 0)
            after = SingleStep(instr, MACHINE, WORDS.tobytes()).run(before)
            if after.fault:
                continue
            ran = executing(instr, before)
            for f in found:
                told += 1
                file, at = defs[f.result]
                now = after.registers[at] if file == "R" else after.predicates[at] >> np.arange(32) & 1 == 1
                wanted = expected(instr, f, before)
                if wanted is not None:
                    assert (now == wanted)[ran].all(), (instr, f)
                if file == "R":
                    within = bounds(instr, f, before)
                    for whole in (within.moved_into(window(False)), within.moved_into(window(True))):
                        if whole is not None:
                            numbers = acts.read(now.astype(np.int64), whole.low < 0)[ran]
                            assert (whole.low <= numbers).all(), (instr, f)
                            assert (numbers <= whole.high).all(), (instr, f)
    if name not in LOADS:
        assert (told > 0) is (name in TOLD)


@pytest.mark.parametrize("name", sorted(LOADS))
@pytest.mark.parametrize(("width", "low", "high"), [("U8", 0, 0xFF), ("S8", -0x80, 0x7F), ("U16", 0, 0xFFFF)])
def test_a_narrow_load_has_few_values(name: str, width: str, low: int, high: int) -> None:
    instr = next(x for x in cases(BY_NAME[name]) if view(x).defs)
    (found,) = formulas(instr.replace(width=("U8", "S8", "U16").index(width)))
    assert found.act == Act.BETWEEN
    bounds = acts.bounded_word(found, lambda k, signed: Interval(*[found.words[k].constant % (1 << 32)] * 2))
    assert bounds == (low, high)
    assert found.words == (Sum(-1, low), Sum(-1, high))
