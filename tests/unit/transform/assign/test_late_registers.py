"""A value that has to go elsewhere does not go where a load is still about to write what nobody reads."""

from __future__ import annotations

import pytest

from binalloc.transform.assign.arrange import NONE, ItemDemand, WideResult, arrange

QUAD = (1, 2, 3, 4)


@pytest.mark.parametrize(("late", "place"), [({}, 1), ({1: 3, 2: 3}, 3), ({1: 9, 2: 7, 3: 5}, 3)])
def test_a_register_that_is_still_to_be_written_is_taken_last(late: dict[int, int], place: int) -> None:
    """Of R0 to R7, value 0 leaves R4 for the quad that likes to be there; R0 is taken. Where all are late, the one that
    has been so for longest is taken."""
    wanted = ItemDemand({}, {QUAD: WideResult(4, (NONE,) * 4)}, set(), [NONE, 4, 5, 6, 7, NONE], late)
    found = arrange({0: 4, 5: 0}, 0xFF, wanted)
    assert found is not None
    assert found.bases[QUAD] == 4
    assert found.where == {0: place, 5: 0}
