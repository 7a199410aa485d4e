"""Serial dispatch: which SM gets which block, in what order, and what idle SMs cost."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from binalloc.emulator.runs.run import Result
from binalloc.models.batches.formula import BatchFormula
from binalloc.models.batches.queues import queues
from tests.support.kits.cli import call, launch, loom
from tests.support.kits.emulator.small import go, module, op

BLOCKS = 11
CODE = module([*(op("IADD3", rd=0, ra=0, form=1, imm=1, rc=255) for _ in range(9)), op("EXIT")], registers=8)


def placed(sms: int, **options: Any) -> tuple[list[list[int]], Result]:
    """The blocks of each SM in the order in which they came, and the result."""
    seen: list[list[int]] = [[] for _ in range(sms)]

    def look(device: Any, cycle: int) -> None:
        for i, found in enumerate(seen):
            ids, active = (device.engine.get(device.sms, i, name) for name in ("block_id", "block_active"))
            found.extend(int(b) for b, a in zip(ids, active, strict=True) if a and int(b) not in found)

    return seen, go(CODE, grid=BLOCKS, block=1024, sms=sms, observer=look, **options)


@pytest.mark.parametrize("batches", ["stride:1", "stride:2", "stride:3", "mod:2", "mod:3", "mod:11"])
@pytest.mark.parametrize("sms", [1, 3])
def test_each_sm_gets_its_queue_in_order(batches: str, sms: int) -> None:
    seen, result = placed(sms, dispatcher="serial", batches=batches)
    formula = BatchFormula.parse(batches, BLOCKS, "batches")
    order = formula.in_order(BLOCKS).tolist()
    assert seen == [order[each.start : each.stop] for each in queues(formula, BLOCKS, sms)]
    assert result.policies["dispatcher"] == "serial"


def test_sms_with_an_empty_queue_idle_to_the_end() -> None:
    _, usual = placed(3)
    seen, short = placed(3, dispatcher="serial", batches="stride:5")  # 5, 5 and 1 blocks
    assert [len(each) for each in seen] == [5, 5, 1]
    assert short.stats["idle_sm_cycles"] > usual.stats["idle_sm_cycles"]
    assert short.cycles > usual.cycles
    seen, whole = placed(2, dispatcher="serial", batches=f"stride:{BLOCKS}")
    assert seen[1] == []
    assert whole.stats["idle_sm_cycles"] >= whole.cycles  # the second SM never had a block


def test_both_bookkeepings_agree() -> None:
    for batches in ("mod:2", "stride:4"):
        one, other = (
            go(CODE, grid=BLOCKS, block=512, sms=3, dispatcher="serial", batches=batches, reference=reference)
            for reference in (False, True)
        )
        assert one.stats == other.stats


def test_a_part_of_a_grid_is_divided_likewise() -> None:
    for batches in ("stride:2", "mod:3", "mod:11"):
        part = range(3, 8)
        seen, result = placed(2, dispatcher="serial", batches=batches, only=part)
        assert sorted(chain.from_iterable(seen)) == list(part)
        assert result.blocks_ended == len(part)


def test_batches_that_the_grid_has_not_are_refused_before_the_first_cycle() -> None:
    for batches in ("stride:0", "stride:1000000", "mod:0", "tile:2x2"):
        line = [loom("callchain"), *launch("callchain", "python"), "--dispatch", "serial"]
        found = call("run", *line, "--batches", batches)
        assert found.code == 2, found
        assert "--batches" in found.err
        assert "stride:N or mod:M" in found.err
