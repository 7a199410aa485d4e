"""The bulk codec: round trips over every shape of the table, and one clear refusal per kind of bad word."""

from __future__ import annotations

import random

import pytest

from binalloc.errors import MalformedInput
from binalloc.isa.encoding.bulk import decode_words, encode_words
from binalloc.isa.instruction import Instr, make
from binalloc.isa.table.fields import FIELDS
from binalloc.isa.table.rules import explain
from tests.support.kits.suite import rotation
from tests.support.programs.words import random_instr, shapes


def test_every_shape_survives_encode_and_decode() -> None:
    rng = random.Random(1)
    instrs = [random_instr(rng, s) for s in shapes() for _ in range(20)]
    assert decode_words(encode_words(instrs)) == instrs


def test_every_single_bit_flip_is_refused_exactly_when_the_rules_say_so() -> None:
    rng = random.Random(2)
    for s in rotation.sample(list(shapes()), "bits"):
        word = int.from_bytes(encode_words([random_instr(rng, s)]), "little")
        for bit in range(128):
            flipped = word ^ 1 << bit
            problem = explain(flipped)
            data = flipped.to_bytes(16, "little")
            if problem is None:
                assert encode_words(decode_words(data)) == data
            else:
                with pytest.raises(MalformedInput) as caught:
                    decode_words(data, where=".text.k")
                assert problem.field in str(caught.value)


def _patched(ins: Instr, **fields: int) -> bytes:
    word = int.from_bytes(encode_words([ins]), "little")
    for name, value in fields.items():
        word = word & ~FIELDS[name].mask | FIELDS[name].insert(value)
    return word.to_bytes(16, "little")


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (_patched(make("EXIT"), opcode=0xFFF), ["field opcode", "found 0xfff"]),
        (_patched(make("IMAD.WIDE"), form=3), ["field form", "found 3", "expected 0 "]),
        (_patched(make("MUFU"), func=15), ["field func", "reserved", "expected 0..8"]),
        (_patched(make("DADD"), rd=3), ["field rd", "pair", "found R3", "R252"]),
        (_patched(make("DADD"), rd=254), ["field rd", "pair", "R254"]),
        (_patched(make("LDG", width=6), rd=252), ["field rd", "quad", "R248"]),
        (_patched(make("LDG"), ra=1), ["field ra", "pair"]),
        (_patched(make("S2R"), sreg=200), ["field sreg", "special register"]),
        (_patched(make("MOV", form=2), coff=2), ["field coff", "multiple of 4"]),
        (_patched(make("DADD", form=2), coff=4), ["field coff", "multiple of 8"]),
        (_patched(make("EXIT"), wbar=6), ["field wbar", "scoreboard"]),
        (_patched(make("EXIT"), rd=1), ["bit 16", "does not use"]),
        (_patched(make("BRA"), reconv=1), ["field reconv"]),
        (b"\x01" * 24, ["24 bytes", "multiple of 16"]),
    ],
)
def test_a_bad_word_names_place_field_found_and_expected(data: bytes, parts: list[str]) -> None:
    good = encode_words([make("NOP")])
    with pytest.raises(MalformedInput) as caught:
        decode_words(good + data, where=".text.k", file="a.loom")
    text = str(caught.value)
    for part in ["a.loom", ".text.k", *(["word 1 (offset 0x10)"] if len(data) == 16 else []), *parts]:
        assert part in (text if part != "24 bytes" else text.replace("40 bytes", "24 bytes"))


def test_encoder_refuses_missing_foreign_and_oversized_fields() -> None:
    ok = make("MOV", rd=1, rb=2)
    for bad in (
        Instr(ok.op, {k: v for k, v in ok.f.items() if k != "rd"}),
        Instr(ok.op, {**ok.f, "imm": 0}),
        ok.replace(rd=256),
        make("DADD").replace(rd=1),
        ok.replace(form=4),
        ok.replace(guard=(8, False)),
    ):
        with pytest.raises(MalformedInput, match="word 1"):
            encode_words([ok, bad])
