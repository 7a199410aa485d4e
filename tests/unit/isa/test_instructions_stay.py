"""An instruction, once made, stays as it is: the whole test run asserts it (`tests.support.kits.suite.frozen`)."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from binalloc.isa.instruction import Instr, make
from binalloc.isa.sets.table import view


@pytest.mark.parametrize(
    "change",
    [
        lambda i: setattr(i, "guard", 0),
        lambda i: setattr(i, "f", {}),
        lambda i: delattr(i, "ctrl"),
        lambda i: i.f.update(rd=4),
        lambda i: i.f.pop("rd"),
        lambda i: i.f.__setitem__("rd", 4),
    ],
)
def test_a_change_is_seen(change: Callable[[Any], object]) -> None:
    instr = make("IADD3", rd=1, ra=2)
    with pytest.raises(AssertionError, match="is being changed"):
        change(instr)
    assert instr == make("IADD3", rd=1, ra=2)


def test_what_is_no_change_works() -> None:
    instr = make("IADD3", rd=1, ra=2)
    assert view(instr) is view(instr)
    assert instr.replace(rd=4).f["rd"] == 4
    for twin in (copy.copy(instr), copy.deepcopy(instr), pickle.loads(pickle.dumps(instr))):
        assert isinstance(twin, Instr)
        assert (twin.op, twin.f, twin.ctrl, hash(twin)) == (instr.op, instr.f, instr.ctrl, hash(instr))
