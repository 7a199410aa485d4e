"""`binalloc reproduce unified`: its report, its fields, what it refuses."""

from __future__ import annotations

from pathlib import Path

from tests.support.kits.cli import SAMPLES, call, refused

LINE = ("reproduce", "unified", "hotspot", "--machine", "c2075", "--size", "test", "--jobs", "1")


def test_a_benchmark_on_one_machine(tmp_path: Path) -> None:
    kept = ("--cache", str(tmp_path / "kept"), "--samples", str(SAMPLES))
    found = call(*LINE, *kept, "--json").json
    (kernel,) = found["kernels"]
    assert (kernel["sample"], kernel["machine"]) == ("hotspot_16x16", "c2075")
    speedups = [level["speedup"] for level in kernel["levels"] if level["speedup"] is not None]
    assert kernel["best"] == max(speedups)
    assert kernel["worst"] == min(speedups)
    assert kernel["worst"] <= kernel["auto"] <= kernel["best"]
    blocks = {level["blocks"] for level in kernel["levels"]}
    assert blocks == {None, *range(1, max(b for b in blocks if b) + 1)}, "every level, those below the original's too"
    assert min(b for b in blocks if b) < kernel["original_blocks"]
    assert kernel["table1"]["user_shared_bytes_per_thread"] == {"paper": 12.0, "here": 12.0}
    assert set(kernel["unified"]) >= {"printed", "spills"}
    again = call(*LINE, *kept)
    assert again.code == 0
    assert "Table 1: paper / here" in again.out
    assert "hotspot on c2075: faster than the original" in again.out
    assert call(*LINE, *kept, "--json").json["done"] == 0, "all was kept"


def test_what_is_not_the_papers_is_refused(tmp_path: Path) -> None:
    assert "hotspot" in refused(2, "reproduce", "unified", "nbody", "--samples", str(SAMPLES))
    assert "c2075" in refused(2, "reproduce", "unified", "--machine", "a100", "--samples", str(SAMPLES))
    refused(2, "reproduce", "multiplex", "--samples", str(SAMPLES))
    refused(2, "reproduce", "unified", "--samples", str(tmp_path))
