"""Accesses of neighbouring lanes in another order: random pairs against which bytes the lanes really touch.

Under the model `loom` a pair that has a byte in common in any two lanes, and is no two loads, is refused; where no two
lanes have one, and the stride is a power of two, it is proven in global memory. Under `ptx` one thread's bytes decide.
Nothing passes a WARPSYNC, a barrier or a fence under either.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from binalloc.isa.source_facts import LOOM, MEMORY_MODELS
from tests.support.pairs.verdict import verdict

LANES = 32
WIDTHS = {"U8": 1, "S16": 2, "32": 4, "64": 8, "128": 16}
STRIDES = (1, 2, 4, 4, 8, 8, 12, 16, 32, 48)
MEETINGS = ("WARPSYNC 0xffffffff", "BAR 0x0", "MEMBAR.CTA", "MEMBAR.GPU")
SPACES = {"global": ("LDG", "STG", "ATOMG"), "shared": ("LDS", "STS", "ATOMS"), "generic": ("LD", "ST", "ATOM")}


@dataclass(frozen=True)
class Access:
    text: str
    kind: str
    offset: int
    size: int

    def bytes(self, stride: int, lane: int) -> set[int]:
        return {stride * lane + self.offset + k for k in range(self.size)}


def access(rng: random.Random, space: str, stride: int, kind: str, register: int) -> Access:
    """An access to the lane's place, or to one near by."""
    load, store, atomic = SPACES[space]
    fits = [name for name, size in WIDTHS.items() if stride % size == 0]
    width = "32" if kind == "atomic" else rng.choice(fits)
    size = WIDTHS[width]
    inside = size * rng.randrange(max(1, stride // size))
    offset = 4096 + inside + stride * rng.choice([0, 0, 1, -1, rng.randrange(-31, 32), 31, 32])
    place = f"[R2+{offset:#x}]"
    if kind == "load":
        return Access(f"{load}.{width} R{register}, {place}", kind, offset, size)
    if kind == "store":
        return Access(f"{store}.{width.replace('S', 'U')} {place}, R8", kind, offset, size)
    return Access(f"{atomic}.ADD R{register}, {place}, R8", kind, offset, size)


def program(model: str, space: str, stride: int, *words: str) -> str:
    address = f"IMAD.WIDE R2, R4, {stride:#x}, R2" if space != "shared" else f"IMAD R2, R4, {stride:#x}, RZ"
    head = [".kernel k registers=32", f".memory_model {model}", ".shared words 8192 16"]
    return "\n".join([*head, "MOV R2, c[0][p]", "MOV R3, c[0][p+4]", "S2R R4, SR_LANEID", address, *words, "EXIT"])


def refused(model: str, space: str, stride: int, words: list[str], order: list[int]) -> bool:
    """Is the program with its last words in that order refused?"""
    first = 4
    numbered = [f"{first + k}| {words[k]}" for k in order]
    out = program(model, space, stride, *numbered).splitlines()
    lines = [line if "|" in line or line[0] == "." else f"{number}| {line}" for number, line in enumerate(out, -3)]
    return verdict(program(model, space, stride, *words), "\n".join(lines)) != set()


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("kinds", [("load", "store"), ("store", "load"), ("store", "store"), ("load", "load"),
                                   ("atomic", "load"), ("store", "atomic")])  # fmt: skip
def test_pairs_in_another_order(space: str, kinds: tuple[str, str]) -> None:
    rng = random.Random(f"{space} {kinds}")
    proven = 0
    for _ in range(120):
        stride = rng.choice([s for s in STRIDES if "atomic" not in kinds or s % 4 == 0])
        one, other = access(rng, space, stride, kinds[0], 16), access(rng, space, stride, kinds[1], 20)
        meets = any(
            one.bytes(stride, a) & other.bytes(stride, b) for a in range(LANES) for b in range(LANES)
        )
        own = bool(one.bytes(stride, 0) & other.bytes(stride, 0))
        words = [one.text, other.text]
        for model in MEMORY_MODELS:
            found = refused(model, space, stride, words, [1, 0])
            proven += not found
            wrong = kinds != ("load", "load") and (meets if model == LOOM else own)
            assert found or not wrong, (model, stride, words)
            if kinds == ("load", "load"):
                assert not found
            elif space == "global" and "atomic" not in kinds and stride & (stride - 1) == 0:
                apart = one.offset // 4 > (other.offset + other.size - 1) // 4 or other.offset // 4 > (
                    one.offset + one.size - 1
                ) // 4
                residues = not any(one.bytes(stride, 0) & other.bytes(stride, b) for b in range(-999, 999))
                assert found != (residues if model == LOOM else apart), (model, stride, words)
    assert (proven > 0) is (kinds == ("load", "load") or (space == "global" and "atomic" not in kinds))


@pytest.mark.parametrize("meeting", MEETINGS)
@pytest.mark.parametrize("space", SPACES)
def test_nothing_passes_a_meeting(space: str, meeting: str) -> None:
    rng = random.Random(f"{space} {meeting}")
    for _ in range(12):
        stride = rng.choice([4, 8, 16])
        kinds = rng.choice([("load", "store"), ("store", "load"), ("store", "store")])
        one, other = access(rng, space, stride, kinds[0], 16), access(rng, space, stride, kinds[1], 20)
        words = [one.text, meeting, other.text]
        for model in MEMORY_MODELS:
            assert not refused(model, space, stride, words, [0, 1, 2])
            for order in ([1, 0, 2], [0, 2, 1], [2, 1, 0]):
                assert refused(model, space, stride, words, order), (model, words, order)
