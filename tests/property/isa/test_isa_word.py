"""The `construct` word and the bulk path agree on every opcode, form and field, valid or not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from binalloc.isa.encoding.bulk import decode_words, encode_words
from binalloc.isa.encoding.word import build_word, parse_word
from binalloc.isa.instruction import Instr
from binalloc.isa.table.fields import CONTROL_FIELDS, FIELDS
from binalloc.isa.table.rules import Shape
from tests.support.programs.words import random_control, random_instr, shapes

SHAPES = shapes()


@pytest.mark.parametrize("s", SHAPES, ids=lambda s: f"{s.op.name}-{s.form}-{s.flags}")
def test_both_paths_agree_on_valid_words_with_every_field_at_its_extremes(s: Shape) -> None:
    rng = random.Random(s.op.code * 32 + s.form * 4 + s.flags)
    instrs = [random_instr(rng, s) for _ in range(12)]
    data = encode_words(instrs)
    assert b"".join(build_word(ins) for ins in instrs) == data
    assert [parse_word(data[i : i + 16]) for i in range(0, len(data), 16)] == instrs
    assert decode_words(data) == instrs


@given(st.integers(0, len(SHAPES) - 1), st.integers(0, 2**32), st.lists(st.integers(0, 127), max_size=3))
@settings(max_examples=400, derandomize=True)
def test_both_paths_accept_and_refuse_the_same_words(k: int, seed: int, flips: list[int]) -> None:
    word = int.from_bytes(encode_words([random_instr(random.Random(seed), SHAPES[k])]), "little")
    for bit in flips:
        word ^= 1 << bit
    data = word.to_bytes(16, "little")
    try:
        expected: Instr | None = decode_words(data)[0]
    except MalformedInput:
        expected = None
    if expected is None:
        with pytest.raises(MalformedInput):
            parse_word(data)
    else:
        assert parse_word(data) == expected
        assert encode_words([expected]) == build_word(expected) == data


@given(st.integers(0, len(SHAPES) - 1), st.integers(0, 2**32), st.data())
@settings(max_examples=200, derandomize=True)
def test_both_encoders_refuse_a_field_that_does_not_fit(k: int, seed: int, data: st.DataObject) -> None:
    s = SHAPES[k]
    rng = random.Random(seed)
    ins = random_instr(rng, s)
    names = [n for n in s.fields if n not in ("form", "limm", "cimm")]
    ctrl = random_control(rng)
    if not names:
        bad = ins.replace(ctrl=ctrl._replace(stall=16))
    else:
        name = data.draw(st.sampled_from(names))
        field = FIELDS[name]
        bad = ins.replace(**{name: data.draw(st.sampled_from((field.maximum + 1, field.minimum - 1)))})
    for encode in (lambda i: encode_words([i]), build_word):
        with pytest.raises(MalformedInput):
            encode(bad)


def test_control_fields_lie_where_volta_has_them() -> None:
    assert [(FIELDS[n].lo, FIELDS[n].width) for n in CONTROL_FIELDS] == [
        (105, 4), (109, 1), (110, 3), (113, 3), (116, 6), (122, 4),
    ]  # fmt: skip
