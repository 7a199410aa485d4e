"""What atomics store, and that the functions of the table of operations take any operands."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.arithmetic import atomic as arith_atomic
from binalloc.emulator.arithmetic.integer import plop3, shfl_source, table_masks
from binalloc.emulator.execute.table import OPERATIONS
from binalloc.isa.table.fields import FIELDS
from binalloc.isa.table.opcodes import ATOMIC_OPS, ATOMIC_TYPES, MODIFIERS
from tests.support.kits.emulator.compiled import compiled
from tests.support.oracles.arithmetic.rational import BF16, F16, F32, F64, add

M = 0xFFFFFFFF
CORNERS = (0, 1, 2, 0x7FFFFFFF, 0x80000000, M - 1, M)


@pytest.fixture(params=["plain", "compiled"])
def ops(request: pytest.FixtureRequest) -> Callable[[str], Callable[..., Any]]:
    if request.param == "plain":
        return lambda name: getattr(arith_atomic, name)
    return lambda name: compiled()[name]


def oracle(op: str, kind: str, width: int, old: int, b: int, c: int) -> int:
    def key(v: int) -> int:
        return v - (v >> width - 1 << width) if kind.startswith("S") else v

    if op == "ADD" and kind.endswith("X2"):
        half = F16 if kind == "F16X2" else BF16
        parts = [(old >> s & 0xFFFF, b >> s & 0xFFFF) for s in (0, 16)]
        low, high = (x if y == 0x8000 else half.encode(add(half.decode(x), half.decode(y), 0), 0) for x, y in parts)
        return low | high << 16
    if op == "ADD" and kind.startswith("F"):
        fmt = F32 if width == 32 else F64
        return fmt.encode(add(fmt.decode(old), fmt.decode(b), 0), 0)
    return {
        "ADD": (old + b) % (1 << width),
        "MIN": min(old, b, key=key),
        "MAX": max(old, b, key=key),
        "INC": 0 if old >= b else old + 1,
        "DEC": b if old == 0 or old > b else old - 1,
        "AND": old & b,
        "OR": old | b,
        "XOR": old ^ b,
        "EXCH": b,
        "CAS": c if old == b else old,
    }[op]


def test_every_legal_operation_and_type(ops: Any) -> None:
    rng = random.Random(1)
    legal = set()
    for aop, op in enumerate(ATOMIC_OPS):
        for atyp, kind in enumerate(ATOMIC_TYPES):
            if not ops("atomic_legal")(aop, atyp):
                continue
            legal.add((op, kind))
            for _ in range(150):
                w = [rng.choice(CORNERS) if rng.randrange(2) else rng.getrandbits(32) for _ in range(6)]
                if rng.randrange(3) == 0:
                    w[2:4] = w[0:2]
                if kind in ("U64", "S64", "F64"):
                    lo, hi = ops("atomic64")(aop, atyp, *w)
                    longs = [w[i] | w[i + 1] << 32 for i in (0, 2, 4)]
                    assert hi << 32 | lo == oracle(op, kind, 64, *longs), (op, kind)
                else:
                    assert ops("atomic32")(aop, atyp, w[0], w[2], w[4]) == oracle(op, kind, 32, w[0], w[2], w[4])
    for kind in ("F32", "F64", "F16X2", "BF16X2"):
        assert {op for op, k in legal if k == kind} == {"ADD", "EXCH", "CAS"}
    assert {kind for op, kind in legal if op in ("INC", "DEC")} == {""}
    assert {kind for op, kind in legal if op == "MIN"} == {"", "S32", "U64", "S64"}


def test_inc_and_dec_wrap_at_the_operand(ops: Any) -> None:
    f = ops("atomic32")
    assert [f(3, 0, v, 5, 0) for v in (0, 4, 5, 6, M)] == [1, 5, 0, 0, 0]
    assert [f(4, 0, v, 5, 0) for v in (0, 1, 5, 6, M)] == [5, 0, 4, 5, 5]


def test_plain_functions_take_numpy_integers_without_overflow_warnings() -> None:
    """The emulator's uncompiled engine reads its operands from int64 arrays."""
    rng = random.Random(2)
    scalar = [(row.function, row.arguments) for row in OPERATIONS.values() if row.arguments]
    scalar += [(arith_atomic.atomic64, "aop atyp old.lo old.hi b.lo b.hi c.lo c.hi")]
    scalar += [(shfl_source, "shfl laneid lane clamp"), (plop3, "ps0 ps1 ps2 lut_b")]
    for function, listed in scalar:
        assert function is not None
        for _ in range(60):
            arguments = [value for token in listed.split() for value in _arguments(token, rng)]
            assert len(inspect.signature(function).parameters) == len(arguments)
            with np.errstate(all="raise"):
                got = function(*map(np.int64, arguments))
            assert got == function(*arguments), (function, arguments)


def _arguments(token: str, rng: random.Random) -> list[int]:
    return table_masks(rng.getrandbits(8)) if token == "lut" else [_argument(token, rng)]


def _argument(token: str, rng: random.Random) -> int:
    field = FIELDS.get(token)
    if token in MODIFIERS:
        return rng.randrange(len(MODIFIERS[token].values))
    if field is not None and token[:2] not in ("ps", "pd") and token != "lane":
        return rng.getrandbits(field.width)
    if token in ("preds", "laneid"):
        return rng.getrandbits(5)
    if token.startswith("ps"):
        return rng.getrandbits(1)
    return rng.choice((rng.getrandbits(32), rng.choice(CORNERS), 0x80000000, M))
