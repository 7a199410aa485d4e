"""What the checker says of a word's result contains what the emulator's arithmetic gives, for random operands."""

from __future__ import annotations

import random

import numpy as np

from binalloc.emulator.host.staging import Constants, StagedProgram
from binalloc.emulator.known.values import Values, effect_of
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.sets.table import set_of
from binalloc.models.machines.reader import load_machine
from binalloc.verify.multiplex.spread import LAST, Spread, limited
from binalloc.verify.multiplex.words import NO_LIMITS, Setting, Word
from tests.support.programs.builder import program

COUNT, THREADS = 1500, 8
EDGES = (0, 1, 2, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF)
REGISTERS, PREDICATES = range(1, 7), range(3)


def some(rng: random.Random) -> int:
    return rng.choice(EDGES) if rng.random() < 0.4 else rng.randrange(1 << rng.choice((4, 9, 17, 32)))


def line(rng: random.Random) -> str:
    """A random instruction with integer or predicate results."""
    def r() -> str:
        return rng.choice(["RZ", *(f"R{k}" for k in REGISTERS)])

    def b() -> str:
        return f"{some(rng):#x}" if rng.random() < 0.5 else r()

    def p() -> str:
        return rng.choice(["PT", "!PT", *(f"{n}P{k}" for n in ("", "!") for k in PREDICATES)])

    def minus() -> str:
        return rng.choice(["", "", "-"])

    order, mix = rng.choice(["LT", "EQ", "LE", "GT", "NE", "GE"]), rng.choice(["AND", "OR", "XOR"])
    u32, count = rng.choice(["", ".U32"]), rng.randrange(33)
    return rng.choice([
        f"IADD3 R7, {minus()}{r()}, {b()}, {minus()}{r()}",
        f"IMAD R7, {r()}, {b()}, {r()}",
        f"IMAD.HI.U32 R7, {r()}, {b()}, {r()}",
        f"IMAD.WIDE{u32} R8, {r()}, {b()}, R2",
        f"LEA R7, {minus()}{r()}, {b()}, {count % 32}",
        f"SHF.L.U32 R7, {r()}, {count:#x}, {r()}",
        f"SHF.R.{rng.choice(['U32', 'S32', 'U64', 'S64'])}{rng.choice(['', '.HI'])} R7, {r()}, {count:#x}, {r()}",
        f"SHF.R.U32.HI R7, RZ, {r()}, {r()}",
        f"LOP3 R7, {r()}, {b()}, {r()}, {rng.randrange(256):#x}",
        f"IMNMX{u32} R7, {r()}, {b()}, {p()}",
        f"SEL R7, {r()}, {b()}, {p()}",
        f"PRMT R7, {r()}, {rng.randrange(1 << 16):#x}, {r()}",
        f"POPC R7, {b()}",
        f"MOV R7, {b()}",
        f"ISETP.{order}{u32}.{mix} P4, P5, {r()}, {b()}, {p()}",
        f"PLOP3 P4, P5, {p()}, {p()}, {p()}, {rng.randrange(256):#x}, {rng.randrange(256):#x}",
    ])  # fmt: skip


def around(rng: random.Random, values: np.ndarray, last: int) -> Spread:
    """A spread that contains the values."""
    width = rng.choice([0, 0, 3, 200, 1 << 31, 1 << 32])
    low = np.array([max(0, v - rng.randrange(width + 1)) for v in values.tolist()], np.int64)
    high = np.array([min(last, v + rng.randrange(width + 1)) for v in values.tolist()], np.int64)
    return Spread(low, high, False)


def test_results_are_in_their_spreads_and_keep_their_limits() -> None:
    rng, machine = random.Random("words"), load_machine("t4")
    module = program("\n".join([".kernel k", *(f"    {line(rng)}" for _ in range(COUNT)), "    EXIT", ""]))
    constants = Constants.build({0: bytes(64)})
    staged = StagedProgram(module, machine, constants)
    setting = Setting((THREADS, 1, 1), set_of(module).limits)
    exact = limits = 0
    for n, instr in enumerate(module.functions[0].instrs[:-1]):
        word, effect = Word(instr), effect_of(instr, [int(x) for x in staged.table[n]], constants)
        actual = {k: np.array([some(rng) for _ in range(THREADS)], np.int64) for k in REGISTERS}
        actual |= {PRED_BASE + k: np.array([rng.randrange(2) for _ in range(THREADS)], np.int64) for k in PREDICATES}
        spreads = {k: around(rng, v, LAST if k < PRED_BASE else 1) for k, v in actual.items()}
        said = word.limits(setting, spreads.__getitem__, lambda at: NO_LIMITS)
        for place, spread in zip(word.defs, word.results(setting, spreads.__getitem__), strict=True):
            for t in range(THREADS):
                values = Values({})
                for k, v in actual.items():
                    of = values.registers if k < PRED_BASE else values.predicates
                    of[k if k < PRED_BASE else k - PRED_BASE] = int(v[t])
                effect(values)
                got = values.registers[place] if place < PRED_BASE else values.predicates[place - PRED_BASE]
                assert got is not None, instr
                assert spread.low[t] <= got <= spread.high[t], (instr, t, got)
                exact += int(spread.low[t] == spread.high[t])
                for limit in said.get(place, NO_LIMITS)[0 if got else 1]:
                    narrow, may = limited(spreads[limit.register], limit.other, limit.order, limit.by_sign)
                    assert may[t], instr
                    assert narrow.low[t] <= actual[limit.register][t] <= narrow.high[t], instr
                    limits += 1
    assert exact > COUNT * THREADS // 8
    assert limits > COUNT * THREADS // 40
