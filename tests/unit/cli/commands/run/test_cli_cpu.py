"""`run --cpu`: what is said of CPU programs, and what is refused before the first cycle."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from binalloc.models.dram.traffic import read_traffic
from tests.support.kits.cli import call, launch, loom

PAGE = Path("binalloc/emulator/TIMING.md")


def example() -> str:
    """The file that the page shows."""
    text = PAGE.read_text(encoding="utf-8").split("## CPU programs")[1]
    lines = text.split("\n\n", 2)[2].split("\n\nA program has")[0].splitlines()
    return "\n".join(line[4:] for line in lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """matmul, scheduled for the batching paper's machine, and the page's CPU programs."""
    made = tmp_path_factory.mktemp("cpu")
    assert call("schedule", loom("matmul"), "--machine", "gem5gpu-batching", "-o", str(made / "k.loom")).code == 0
    (made / "cpu.toml").write_text(example())
    return made


def run(folder: Path, *options: str, file: str = "cpu.toml") -> tuple[int, str, str]:
    usual = ("run", str(folder / "k.loom"), *launch("matmul", "python"), "--cpu", str(folder / file), "--sms", "8")
    found = call(*usual, *options)
    assert "Traceback" not in found.err
    return found.code, found.out, found.err


def test_the_page_shows_a_file_that_is_read(folder: Path) -> None:
    assert tomllib.loads(example())["programs"][0]["name"] == "mcf"
    assert read_traffic(folder / "cpu.toml").programs[0].inflight == 8


def test_json_and_text_say_what_the_programs_did(folder: Path) -> None:
    code, out, _ = run(folder, "--json", "--pages", "interleaved", "--cpu-rows", "split", "--cpu-first")
    assert code == 0
    cpu = json.loads(out)["cpu"]
    assert (cpu["memory"], cpu["rows"], cpu["first"]) == ("near", "split", True)
    (program,) = cpu["programs"]
    assert program["ipc_alone"] == 0.35
    assert program["speed"] == pytest.approx(program["ipc"] / 0.35)
    assert cpu["weighted_speedup"] == program["speed"]
    assert 0.5 < program["speed"] < 1.2
    code, out, _ = run(folder)
    assert code == 0
    assert "(emulated, 8 SMs, beside 1 CPU program)" in out.splitlines()[0]
    assert "weighted speedup" in out


@pytest.mark.parametrize(
    ("options", "change", "code", "words"),
    [
        ((), ("ipc = 0.35 ", "ipc = 3.5 "), 3, ("other.toml", "programs[0].inflight", "impossible traffic")),
        ((), ('"near"', '"far"'), 2, ("--pages", "identity", "far memory")),
        ((), ("mpki = 57.6", "mpki = 0"), 3, ("other.toml", "programs[0].mpki", "found 0")),
        ((), ("latency = 80", "latency = 9"), 3, ("other.toml", "programs[0].latency", "9 ns", "at least")),
        (("--sms", "3"), ("", ""), 2, ("--sms", "3", "8", "--cpu")),
        (("--pages", "bandwidth:seed=x"), ("", ""), 2, ("--pages", "seed=x")),
        (("--cpu-rows", "apart"), ("", ""), 2, ("--cpu-rows", "mixed", "split")),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_key_or_option(
    folder: Path, options: tuple[str, ...], change: tuple[str, str], code: int, words: tuple[str, ...]
) -> None:
    text = example().replace(*change) if change[0] else example()
    assert not change[0] or text != example()
    (folder / "other.toml").write_text(text)
    found, _, err = run(folder, *options, file="other.toml")
    assert found == code, err
    for word in words:
        assert word in err


def test_a_far_memory_that_is_not_there_is_refused(folder: Path) -> None:
    found = call("run", loom("matmul"), *launch("matmul", "python"), "--pages", "bandwidth")
    assert found.code == 2
    for word in ("--pages", "gtx680", "far_dram"):
        assert word in found.err
