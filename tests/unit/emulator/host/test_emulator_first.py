"""The emulator's shortest whole path: a kernel that loads, adds and stores."""

import numpy as np
import pytest

from tests.support.kits.emulator.small import go, module, op, outcome


def test_load_add_store_changes_every_element() -> None:
    code = [
        op("S2R", rd=0, sreg=0, wbar=0),
        op("MOV", rd=2, form=2, cbank=0, coff=0),
        op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2, wait=1),
        op("LDG", rd=6, ra=4, width=4, wbar=1, rbar=2),
        op("IADD3", rd=7, ra=6, form=1, imm=5, rc=255, wait=2),
        op("STG", ra=4, rb=7, width=4, rbar=2),
        op("EXIT"),
    ]
    x = np.arange(64, dtype=np.int32)
    result = go(module(code, params={"x": 8}), block=64, buffers={"x": x})
    assert (result.buffers["x"] == x + 5).all()
    assert result.stats["warp_instructions"] == 2 * len(code)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_numbers_of_a_launch_may_be_numpys(engine: str) -> None:
    n: int = np.int64(2)  # type: ignore[assignment]
    result = go(module([op("NOP"), op("EXIT")]), grid=n, block=32 * n, engine=engine)
    assert result.stats["warp_instructions"] == 2 * 2 * 2


def test_nwarpid_is_the_warps_of_the_block_however_many_blocks_are_resident():
    assert set(outcome([op("S2R", rd=6, sreg=14, wbar=0), op("NOP", wait=1)], threads=96, grid=1).tolist()) == {3}
