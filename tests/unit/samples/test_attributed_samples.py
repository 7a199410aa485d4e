"""Samples whose accesses to shared memory ranges of addresses do not all bound: with the importer's symbols all are
known."""

from __future__ import annotations

import pytest

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.analysis.sharing.attribution import Evidence, attributed
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Space
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from tests.support.paths import SAMPLES, sample_file, sample_files

#: accesses that ranges prove, and that C's rule adds; nothing is left
KNOWN = {
    "MC1": (72, 30), "MC2": (72, 30), "NQU": (24, 9), "heartwall_128": (6, 19), "histogram_192": (33, 1),
    "HG_32": (18, 2), "SRAD1": (12, 0), "SRAD2": (10, 0), "kmeans": (24, 2), "histogram": (92, 0),
}  # fmt: skip


def _imported(name: str) -> tuple[Module, Launch]:
    path = sample_file(f"{name}.ptx")
    launch = load_launch(path.with_suffix(".toml"))
    return import_ptx(path.read_text(), path.name).module, launch


@pytest.mark.parametrize("name", KNOWN)
def test_no_access_stays_unknown(name: str) -> None:
    module, launch = _imported(name)
    found = attributed(shared_memory_of(module, launch.kernel, launch.block))
    counts = [sum(each.evidence == what for each in found) for what in Evidence]
    assert counts == [*KNOWN[name], 0]
    assert not any(each.contradicted for each in found)


def test_without_symbols_they_stay_unknown() -> None:
    module, launch = _imported("MC1")
    for fn in module:
        fn.touches = {}
    found = attributed(shared_memory_of(module, launch.kernel, launch.block))
    assert sum(each.evidence == Evidence.UNKNOWN for each in found) == KNOWN["MC1"][1]


def test_an_unknown_size_of_blocks_leaves_it_to_the_rule() -> None:
    """nvcc selects between two tiles of SRAD: by the rule an access touches one of both."""
    module, launch = _imported("SRAD1")
    found = attributed(shared_memory_of(module, launch.kernel, None))
    assert all(each.evidence == Evidence.SYMBOL for each in found)
    assert sorted({len(each.touches) for each in found}) == [1, 2]


#: functions of the device runtime get pointers from everywhere: what they access is never attributed
RUNTIME = {"malloc", "free", "vprintf", "__binalloc_stop"}


def test_in_all_samples_each_shared_access_is_attributed() -> None:
    paths = sorted(path for path in sample_files(".ptx") if SAMPLES in path.parents)
    seen = 0
    for path in paths:
        for fn in import_ptx(path.read_text(), path.name, skip_unsupported=True).module:
            if fn.name not in RUNTIME:
                words = {word for word, instr in enumerate(fn.instrs) if instr.op.space == Space.SHARED}
                assert words <= set(fn.touches), (path.name, fn.name)
                seen += len(words)
    assert seen > 1500
