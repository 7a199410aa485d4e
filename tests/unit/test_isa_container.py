"""The container: exact round trips, readelf's opinion, and a refusal, never a crash, for everything damaged."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from binalloc.errors import BinallocError, MalformedInput, UsageError
from binalloc.isa.assembler import assemble
from binalloc.isa.container import load, read_module, save, write_module
from binalloc.isa.disassembler import disassemble
from tests.isa_random import corrupt, random_module


def test_reading_back_gives_the_module_and_writing_again_the_bytes() -> None:
    for seed in range(150):
        module = random_module(random.Random(seed))
        data = write_module(module)
        again = read_module(data)
        assert again == module, seed
        assert write_module(again) == data
        assert write_module(assemble(disassemble(again))) == data


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_readelf_reads_it_without_a_warning(tmp_path: Path) -> None:
    for seed in range(12):
        path = tmp_path / f"{seed}.loom"
        save(random_module(random.Random(seed)), path)
        run = subprocess.run(["readelf", "-a", "-W", str(path)], capture_output=True, text=True, check=True)
        assert run.stderr == ""
        for word in ("Warning", "warning", "Error", "corrupt"):
            assert word not in run.stdout


def test_corrupted_files_raise_nothing_but_our_errors() -> None:
    rng = random.Random(7)
    files = [write_module(random_module(random.Random(seed))) for seed in range(8)]
    refused = 0
    for _ in range(1500):
        try:
            module = read_module(corrupt(rng, rng.choice(files)), "x.loom")
            assert read_module(write_module(module)).functions == module.functions
        except BinallocError:
            refused += 1
    assert refused > 1000
