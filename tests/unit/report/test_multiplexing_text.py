"""The answer of `multiplex`: its first line is about a version that may be used, and the last ones are about files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from binalloc.report.multiplex import render_multiplexing

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.multiplex import MultiplexJson


def version(scheme: str, cycles: int, proven: bool = True, same: bool = True) -> dict[str, Any]:
    """Return a version. The original has 1,000 cycles."""
    merge, barriers = (2, "block") if scheme == "vtb" else (None, None)
    return {
        "scheme": scheme, "merge": merge, "barriers": barriers, "over": None, "shorter_regions": False,
        "own_words": False, "refused": None, "registers": 10, "slots": 0, "shared_bytes": 0, "blocks_per_sm": 2,
        "cycles": cycles, "speedup": 1000 / cycles, "same_results": same, "proven": proven,
        "unproven": None if proven else "a loop", "regions": 1,
    }  # fmt: skip


def text(*schemes: dict[str, Any], output: str | None = None, launch_output: str | None = None) -> str:
    """Return a report on versions."""
    original = {"version": "the original", "registers": 10, "shared_bytes": 9, "blocks_per_sm": 1, "limits": ["shared"],
                "cycles": 1000}  # fmt: skip
    found: MultiplexJson = {
        "schema_version": 1, "kernel": "k", "machine": "gtx285", "machine_from": "option", "original": original,
        "schemes": [*schemes], "output": output, "launch_output": launch_output,
    }  # type: ignore[typeddict-item]  # fmt: skip
    return render_multiplexing(found)


def test_the_answer_is_of_a_version_that_may_be_used() -> None:
    out = text(version("hw", 100, proven=False), version("co-hw", 200, same=False), version("vtb", 500))
    assert out.startswith("k: vtb of 2 is 2.000 times as fast on gtx285, emulated\n")
    assert text(version("hw", 100, proven=False), version("vtb", 2000)).startswith("k: nothing gained; best vtb of 2")


def test_without_such_a_version_there_is_no_speedup() -> None:
    out = text(version("hw", 100, proven=False), version("vtb", 500, same=False))
    assert out.startswith("k: no version is proven and leaves the original's results\n")
    assert "DIFFERENT" in out


def test_files_are_named_with_what_is_in_them() -> None:
    slow, wrong = version("hw", 900), version("co-hw", 50, proven=False)
    assert text(slow, wrong, output="a.loom").endswith("\na.loom: hw was written.\n")
    assert text(slow, version("vtb", 500), output="a.loom", launch_output="a.toml").endswith(
        "\na.loom: vtb of 2 was written.\nCommands of binalloc adapt the original's launch file to its merged blocks.\n"
        "a.toml: its launch file was written.\n"
    )
    assert text(slow, wrong).endswith("No file was written (-o FILE).\n")
