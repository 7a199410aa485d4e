"""Every instruction form alone, on special and random operands: import and emulation beside interpretation."""

from __future__ import annotations

import pytest

from tests.support.ptx.differential import differences, emulated, interpreted
from tests.support.ptx.generator.alone import program_of
from tests.support.ptx.generator.forms.forms import FAMILIES, Form

GROUP = 12


def groups() -> list[tuple[str, list[Form]]]:
    found = []
    for family in ("integer", "predicate", "float", "conversion", "half", "pair", "video"):
        forms = list(dict.fromkeys(FAMILIES[family]))
        found += [(f"{family}-{at}", forms[at : at + GROUP]) for at in range(0, len(forms), GROUP)]
    return found


@pytest.mark.parametrize(("name", "forms"), groups(), ids=[name for name, _ in groups()])
def test_forms_agree(name: str, forms: list[Form]) -> None:
    program = program_of(forms, rows=32 if name.startswith("half") else 16, seed=len(name))
    assert differences(program, interpreted(program), emulated(program)) == [], [f[0] for f in forms]


def test_a_wrong_form_shows() -> None:
    """The comparison can fail: another operation in the text that is imported."""
    right, wrong = program_of([("min.s16", "h", "hh")]), program_of([("max.s16", "h", "hh")])
    assert differences(right, interpreted(right), emulated(wrong)) != []


@pytest.mark.parametrize("suffix", ["ftz", "sat", "relu", "NaN", "xorsign.abs", "satfinite"])
def test_the_operands_tell_a_suffix_of_halves(suffix: str) -> None:
    """At least half of the forms that have it compute something else without it."""
    known = dict.fromkeys(FAMILIES["half"])
    forms = [f for f in known if f".{suffix}." in f[0] and (f[0].replace(f".{suffix}", "", 1), *f[1:]) in known]
    others = [(f[0].replace(f".{suffix}", "", 1), *f[1:]) for f in forms]
    rows, told = 32, 0
    first, second = (interpreted(program_of(list(x), rows=rows, seed=7)) for x in (forms, others))
    outputs = [(first[name].view("u8"), second[name].view("u8")) for name in first if name != "data"]
    for number in range(len(forms)):
        own = slice(number * rows, (number + 1) * rows)
        told += any((a[own] != b[own]).any() for a, b in outputs)
    assert len(forms) >= 16
    assert told >= len(forms) / 2


def test_a_wrong_form_of_halves_shows() -> None:
    for right, wrong, c in (("min.xorsign.abs.f16x2", "min.f16x2", "X"), ("add.bf16", "add.f16", "y")):
        target = "w" if c == "X" else "h"
        a, b = (program_of([(op, target, c + c)], rows=32) for op in (right, wrong))
        assert differences(a, interpreted(a), emulated(b)) != []
