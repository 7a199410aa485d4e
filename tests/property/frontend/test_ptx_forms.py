"""Every instruction form alone, on special and random operands: import and emulation beside interpretation."""

from __future__ import annotations

import pytest

from tests.support.ptx.differential import differences, emulated, interpreted
from tests.support.ptx.generator.alone import program_of
from tests.support.ptx.generator.forms import FAMILIES, Form

GROUP = 12


def groups() -> list[tuple[str, list[Form]]]:
    found = []
    for family in ("integer", "predicate", "float", "conversion"):
        forms = list(dict.fromkeys(FAMILIES[family]))
        found += [(f"{family}-{at}", forms[at : at + GROUP]) for at in range(0, len(forms), GROUP)]
    return found


@pytest.mark.parametrize(("name", "forms"), groups(), ids=[name for name, _ in groups()])
def test_forms_agree(name: str, forms: list[Form]) -> None:
    program = program_of(forms, rows=16, seed=len(name))
    assert differences(program, interpreted(program), emulated(program)) == [], [f[0] for f in forms]


def test_a_wrong_form_shows() -> None:
    """The comparison can fail: another operation in the text that is imported."""
    right, wrong = program_of([("min.s16", "h", "hh")]), program_of([("max.s16", "h", "hh")])
    assert differences(right, interpreted(right), emulated(wrong)) != []
