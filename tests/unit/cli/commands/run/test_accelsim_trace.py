"""`run --accelsim-trace`, from the command line to a folder that another reader understands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call, launch, loom, refused, stopped
from tests.support.oracles.traces.accelsim import read_folder
from tests.support.paths import sample_file


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_a_run_leaves_a_trace_with_all_its_instructions(tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    answer = call("run", loom("matmul"), *launch("matmul"), "--accelsim-trace", str(folder), "--json")
    assert answer.code == 0
    assert answer.json["accelsim_trace"] == str(folder)
    trace = read_folder(folder)
    stats = answer.json["stats"]
    assert len(trace.lines) == stats["warp_instructions"]
    assert sum(line.mask.bit_count() for line in trace.lines) == stats["thread_instructions"]
    assert trace.head["kernel name"] == "matmul"
    assert trace.head["grid dim"] == "(2,2,1)"
    loads = [line for line in trace.lines if line.opcode.startswith("LDS")]
    assert len(loads) == stats["user_shared_loads"]
    assert sum(line.width * line.mask.bit_count() for line in loads) == stats["user_shared_load_bytes"]
    again = call("run", loom("matmul"), *launch("matmul"), "--accelsim-trace", str(folder))
    assert again.code == 0
    assert "Accel-Sim" in again.out


@pytest.mark.rotates("long commands")
def test_spills_of_a_rewrite_are_accesses_to_shared_and_local_memory(tmp_path: Path) -> None:
    small, folder = tmp_path / "small.loom", tmp_path / "trace"
    options = ("--registers", "32", "--slots", "3", "--no-emulate")
    assert call("rewrite", loom("nbody"), *options, "-o", str(small)).code == 0
    answer = call("run", str(small), *launch("nbody"), "--accelsim-trace", str(folder), "--json")
    stats, lines = answer.json["stats"], read_folder(folder).lines
    for opcode, counter in (
        ("LDS", "shared_loads"), ("STS", "shared_stores"), ("LDL", "local_loads"), ("STL", "local_stores"),
    ):  # fmt: skip
        found = [line for line in lines if line.opcode == opcode]
        assert len(found) == stats[f"spill_{counter}"] + stats[f"user_{counter}"] > 0
    for line in lines:
        if line.opcode in ("LDS", "STS"):
            lane, at = next(iter(line.addresses.items()))
            assert line.addresses == {t: at + 4 * (t - lane) for t in line.addresses}
        if line.opcode in ("LDL", "STL"):
            assert len(set(line.addresses.values())) == 1


def test_what_goes_wrong_leaves_nothing(tmp_path: Path) -> None:
    options = ("run", loom("nbody"), *launch("nbody"))
    inside = tmp_path / "none" / "trace"
    assert "No such file" in refused(2, *options, "--accelsim-trace", str(inside))
    folder = tmp_path / "trace"
    stopped(4, *options[1:], "--accelsim-trace", str(folder), "--max-cycles", "100")
    assert files(tmp_path) == []
    (tmp_path / "notes").write_text("mine")
    assert "other files" in refused(2, *options, "--accelsim-trace", str(tmp_path))
    assert files(tmp_path) == ["notes"]


def test_the_limit_is_in_mebibytes_and_named_in_the_error(tmp_path: Path) -> None:
    full = sample_file("nbody.toml")
    options = (loom("nbody"), "--launch", str(full), "--accelsim-trace", str(tmp_path / "trace"))
    line = stopped(4, *options, "--accelsim-limit", "1")
    assert "more than 1,048,576 bytes" in line
    assert "(--accelsim-limit)" in line
    assert files(tmp_path) == []
    assert call("run", *options, "--accelsim-limit", "0").code == 2


def test_it_goes_with_other_looks_at_a_run(tmp_path: Path) -> None:
    """Byte for byte the same beside --trace and --watch; a run that stops at a break leaves none."""
    run = ("run", loom("matmul"), *launch("matmul"), "--accelsim-trace")
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    assert call(*run, str(alone)).code == 0
    answer = call(*run, str(beside), "--trace", str(tmp_path / "t.json"), "--watch", "c", "--json")
    assert answer.code == 0
    assert answer.json["trace"]["file"] == str(tmp_path / "t.json")
    for name in ("kernelslist.g", "kernel-1.traceg"):
        assert (alone / name).read_bytes() == (beside / name).read_bytes()
    broken = call(*run, str(tmp_path / "none"), "--watch", "c", "--break", "watch")
    assert broken.out.startswith("matmul on gtx680: stopped")
    assert files(tmp_path) == sorted(
        ["t.json", *(f"{d}{f}" for d in ("alone", "beside") for f in ("", "/kernelslist.g", "/kernel-1.traceg"))]
    )
