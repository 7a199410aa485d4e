"""The table of whole programs: what is told of each, the input files made for them, and the command that runs all of
them, on a program of our own. No suite is needed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
import tomllib
from operator import attrgetter
from pathlib import PurePath

import pytest

from tests.foreign import programs
from tests.foreign.inputs import INPUTS, write_inputs
from tests.foreign.programs import HERE, Program, read_programs, row, rows_of
from tests.foreign.test_executor import needs_compiler

README = (HERE / "README.md").read_text()
DIGESTS = {
    "bfs.txt": "e236350b76b3168a", "cfd.txt": "aa1f8a9292a962bd", "temp_64": "761927840106e652",
    "power_64": "40f5be8993dac032", "temp_64x4": "995430c6e580f653", "power_64x4": "fd5085379768846b",
    "heart.avi": "d7eb7734e8689852", "leuko.avi": "0abb2ff73cd4bf3c", "filelist": "b31c1b323d06ac7d",
    "image.pgm": "b7c7e630525a6c44", "nn.db": "f1e0873446f2c380", "mil.txt": "5b1a171798f2bb72",
    "command.txt": "cbac257a36bcffc5",
}  # fmt: skip
"""Of the SHA-256 of each input file, the first half: the table's numbers were had with these."""
OUTCOME = {
    "kernels": 2, "launches": 1234, "warp_instructions": 5678901, "demand": 20, "equal": True,
    "before": {"values": 4321, "other_bits": 1000, "largest": 1e-7, "bad": {}},
    "rewrites": [
        {"registers": 15, "slots": 0, "local_bytes": 0, "after": {"largest": 2.4e-6}},
        {"registers": 11, "slots": 3, "local_bytes": 8, "after": {"largest": 0.0}},
    ],
}  # fmt: skip
ROW = "| S | `a/b` | *x* 1 | 2 | 1,234 | 5,678,901 | 4,321 | 1,000 | 2e-06 | 20 | 15; 11 + 3 slots + 8 B local |"


def program(name: str, **more: object) -> Program:
    return Program(suite="S", home="s", name=name, compile=("own.cu",), **more)


def killed(p: Program) -> None:
    """What a process does that the system ends."""
    os._exit(9)


def test_the_table_has_the_programs_with_their_arguments():
    told = [(p.suite, p.name, p.told) for p in read_programs()]
    assert told == [(*key, line.split(" | ")[2]) for key, line in rows_of(README).items()]
    assert len(told) > 50
    assert programs.HEAD in README


def test_what_is_told_of_programs_is_well_formed():
    found = read_programs()
    homes = [p.place(HERE) for p in found]
    assert not any(a in (b, *b.parents) for a in homes for b in homes if a is not b), "each has a folder of its own"
    assert {PurePath(f).name for p in found for f in p.files} == INPUTS.keys()
    for p in found:
        assert all((p.place(HERE) / f).resolve().is_relative_to(HERE) for f in p.files), "nothing outside of --out"
        places = [PurePath(x.partition(":")[0]) for x in (p.folder, *p.compile, *p.ptx)]
        assert not any(x.is_absolute() or ".." in x.parts for x in places), p.name
        assert set(p.ptx) <= {x.partition(":")[0] for x in p.compile}, p.name
        assert p.margin % 16 == 0
        assert p.untyped in ("u32", "f32", "f64")
        assert bool(p.n) == bool(p.sizes)
        assert 0 <= p.atol <= p.rtol <= 1e-3


@pytest.mark.parametrize("suite", programs.SUITES)
def test_suites_say_where_they_are_from(suite):
    facts = tomllib.loads((HERE / "suites" / f"{suite}.toml").read_text())
    assert facts.keys() - {"default"} == {"suite", "folder", "source", "commit", "program"}
    assert facts["source"].startswith("https://github.com/")
    assert re.fullmatch("[0-9a-f]{40}", facts["commit"])
    assert facts["folder"] == suite


def test_a_key_that_there_is_not_is_found():
    with pytest.raises(TypeError, match="tolerance"):
        program("own", tolerance=1)


@pytest.mark.parametrize("name", INPUTS)
def test_input_files_are_the_same_every_time(tmp_path, name):
    write_inputs([name], tmp_path)
    data = (tmp_path / name).read_bytes()
    assert hashlib.sha256(data).hexdigest().startswith(DIGESTS[name])
    assert data == INPUTS[name]()


@pytest.mark.parametrize(("name", "width", "height", "frames"), [("heart.avi", 656, 592, 4), ("leuko.avi", 70, 340, 3)])
def test_films_are_what_their_headers_tell(name, width, height, frames):
    data = INPUTS[name]()
    assert (data[:4], data[8:12]) == (b"RIFF", b"AVI ")
    assert struct.unpack_from("<I", data, 4)[0] == len(data) - 8
    assert struct.unpack_from("<2I", data, data.index(b"avih") + 8 + 32) == (width, height)
    movie, index = data.index(b"movi"), data.index(b"idx1")
    assert struct.unpack_from("<I", data, index + 4)[0] == 16 * frames
    for i in range(frames):
        name_of, _, at, size = struct.unpack_from("<4s3I", data, index + 8 + 16 * i)
        assert data[movie + at :].startswith(name_of + struct.pack("<I", width * height))
        assert size == width * height


def test_the_graph_and_the_mesh_are_whole():
    numbers = list(map(int, INPUTS["bfs.txt"]().split()))
    nodes, firsts, counts = numbers[0], numbers[1 : 2 * numbers[0] : 2], numbers[2 : 2 * numbers[0] + 1 : 2]
    source, total, *edges = numbers[2 * nodes + 1 :]
    assert firsts == [sum(counts[:i]) for i in range(nodes)]
    assert (source, total, len(edges)) == (0, sum(counts), 2 * total)
    assert all(0 <= target < nodes for target in edges[::2])
    count, *lines = INPUTS["cfd.txt"]().decode().splitlines()
    assert len(lines) == int(count)
    assert {len(line.split()) for line in lines} == {1 + 4 * 4}
    assert {int(line.split()[k]) for line in lines for k in (1, 5, 9, 13)} == {-2, -1, *range(1, int(count) + 1)}


def test_a_row_is_as_the_table_has_it():
    p = program("a/b", arguments="{x} 1")
    assert row(p, OUTCOME) == ROW
    assert rows_of(f"text\n{programs.HEAD}\n{ROW}\n") == {("S", "a/b"): ROW}
    exact = OUTCOME | {"rewrites": [], "before": OUTCOME["before"] | {"largest": 0.0}}
    assert row(p, exact).endswith(" | 0 | 20 |  |")


def test_one_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    def build(p, suites, out):
        if p.name == "unbuilt":
            raise ValueError("no such file")

    def check(p, out):
        if p.name == "stopped":
            raise SystemExit("the program: exit code 3")
        return OUTCOME | {"equal": p.name != "other"}

    monkeypatch.setattr(programs, "build_program", build)
    monkeypatch.setattr(programs, "check_program", check)
    names = ["unbuilt", "stopped", "other", "good"]
    monkeypatch.setattr(programs, "read_programs", lambda: [program(n) for n in names])
    words = ["--suites", str(tmp_path), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stopped:
        programs.main(words)
    assert stopped.value.code == 1
    printed = capsys.readouterr()
    assert [key[1] for key in rows_of(printed.out)] == ["other", "good"]
    assert "S unbuilt: not equal. build: ValueError: no such file" in printed.err
    assert "S stopped: not equal. check: SystemExit: the program: exit code 3" in printed.err
    assert "S good: equal, but its row is another in the README" in printed.err
    told = json.loads((tmp_path / "out" / "programs.json").read_text())
    assert [(t["program"], t["equal"]) for t in told] == [(n, n == "good") for n in names]
    with pytest.raises(SystemExit) as stopped:
        programs.main([*words, "--only", "good"])
    assert stopped.value.code == 0
    with pytest.raises(SystemExit) as stopped:
        programs.main([*words, "--only", "goodd"])
    assert stopped.value.code == 2
    assert "no program goodd; there are: unbuilt, stopped, other, good" in capsys.readouterr().err


def test_many_at_once_keep_their_order():
    found = [program(n) for n in "abc"]
    assert [given for given, *_ in programs._each(attrgetter("name"), found, 2)] == list("abc")


def test_a_process_that_is_killed_is_told():
    given = list(programs._each(attrgetter("name.killed"), [program("a")], 2))
    assert given[0][1].startswith("AttributeError: ")
    given = list(programs._each(killed, [program("a"), program("b")], 2))
    assert given[0][1].startswith("BrokenProcessPool: ")


@pytest.mark.rotates("long")
@needs_compiler
def test_a_program_of_our_own_goes_through_everything(tmp_path, monkeypatch, capsys):
    home = tmp_path / "suites" / "s" / "cuda"
    home.mkdir(parents=True)
    shutil.copy(HERE / "own.cu", home)
    nvcc = tmp_path / "bin" / "nvcc"  # gives what the real one made of it
    nvcc.parent.mkdir()
    nvcc.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "{HERE / "own.ptx"}" "$2"\n')
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{nvcc.parent}:{os.environ['PATH']}")
    own = program("own/own", folder="cuda", arguments="256 {command.txt}", define=("UNUSED=1",), rtol=0, atol=0)
    monkeypatch.setattr(programs, "read_programs", lambda: [own])
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as stopped:
        programs.main(["--suites", str(tmp_path / "suites"), "--out", str(out)])
    printed = capsys.readouterr()
    assert stopped.value.code == 0, printed.err
    (line,) = rows_of(printed.out).values()
    assert line.startswith("| S | `own/own` | 256 *command.txt* | 3 | 6 | ")
    outcome = json.loads((out / "s" / "own" / "own" / "outcome.json").read_text())
    assert len(outcome["rewrites"]) == 2
    assert all(r["verified"] and r["same_results"] for r in outcome["rewrites"])
    assert (out / "s" / "own" / "own" / "command.txt").read_bytes() == INPUTS["command.txt"]()
