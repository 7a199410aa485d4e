"""Samples are found by name in folders below the one given; a kernel's name does as well."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from binalloc.errors import UsageError
from binalloc.laboratory.samples import beside, choose_samples, find_samples, lies_apart, sources
from binalloc.launch.file import load_launch
from tests.support.kits.cli import call, refused
from tests.support.paths import SAMPLES, sample_file


def put(folder: Path, name: str, kernel: str = "k") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.loom").write_bytes(b"")
    (folder / f"{name}.toml").write_text(f'kernel = "{kernel}"\n')
    return folder / name


@pytest.mark.rotates("long commands")
def test_every_sample_answers_to_its_name_and_to_its_kernels() -> None:
    found = find_samples(SAMPLES)
    assert len(found) == 83
    programs = choose_samples(SAMPLES, [])
    assert len(programs) == 25
    apart = {path.relative_to(SAMPLES).parts[0] for path in found.values() if path not in programs}
    assert apart == {"batching", "micro", "overlay", "sharing", "table1"}
    assert list(found) == sorted(found)
    assert all(lies_apart(path, SAMPLES) is (path not in programs) for path in found.values())
    many = ["align", "cluster", "diffusion", "levels", "lu", "pressure", "sort", "tour", "transformer"]
    assert [path.name for path in choose_samples(SAMPLES, [], programs=True)] == [*(p.name for p in programs), *many]
    for name, path in found.items():
        kernel = load_launch(beside(path, ".toml")).kernel
        assert choose_samples(SAMPLES, [name]) == [path]
        if path.parent.name == "table1":  # the kernel's name is another sample's own
            assert choose_samples(SAMPLES, [kernel]) == [found[kernel]] != [path]
            continue
        if kernel != name:
            assert choose_samples(SAMPLES, [kernel]) == [path]
        assert choose_samples(SAMPLES, [name, kernel, name]) == [path], "once"


def test_samples_are_found_in_folders_of_folders(tmp_path: Path) -> None:
    deep, top = put(tmp_path / "a" / "b", "deep.v2"), put(tmp_path, "top")
    (tmp_path / "no_launch_file.loom").write_bytes(b"")
    assert find_samples(tmp_path) == {"deep.v2": deep, "top": top}
    assert choose_samples(tmp_path, []) == [deep, top]


def test_a_kernels_name_must_say_which_sample_is_meant(tmp_path: Path) -> None:
    one, named = put(tmp_path, "one", "k"), put(tmp_path, "k", "other")
    assert choose_samples(tmp_path, ["k"]) == [named]
    put(tmp_path, "two", "other")
    with pytest.raises(UsageError):
        choose_samples(tmp_path, ["other"])
    (tmp_path / "broken.toml").write_text("[")
    (tmp_path / "broken.loom").write_bytes(b"")
    put(tmp_path, "three", "third")
    assert choose_samples(tmp_path, ["third", "one"]) == [tmp_path / "three", one]


def test_two_samples_of_one_name_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "a", "same")
    put(tmp_path / "b", "same")
    assert "same" in refused(2, "demo", "same", "--samples", str(tmp_path))


@pytest.mark.rotates("long commands")
def test_demo_takes_either_name(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for ending in (".loom", ".toml"):
        shutil.copy(sample_file(f"callchain{ending}"), tmp_path / "in" / f"threeProcedures{ending}")
    shutil.copy(sample_file("callchain_ref.py"), tmp_path / "in")
    for name in ("callchain", "threeProcedures"):
        line = ["demo", name, "--size", "test", "--engine", "python", "--samples", str(tmp_path), "--json"]
        assert [row["sample"] for row in call(*line).json["rows"]] == ["threeProcedures"]


def test_sequences_of_launches_are_no_samples_of_one_kernel(tmp_path: Path) -> None:
    put(tmp_path / "programs", "one")
    many = put(tmp_path / "programs", "many")
    beside(many, ".toml").write_text('[[step]]\nlaunch = "k"\ngrid = 1\nblock = 32\n')
    with_step = put(tmp_path, "ramp")
    beside(with_step, ".toml").write_text('kernel = "k"\ninit = { kind = "arange", step = 2 }\n')
    broken = put(tmp_path, "broken")
    beside(broken, ".toml").write_text("step = [")
    assert list(find_samples(tmp_path)) == ["broken", "one", "ramp"]


def put_linked(folder: Path, name: str, launch: str) -> Path:
    folder.mkdir(parents=True)
    for part in ("y.ptx", "x.ptx"):
        (folder / part).write_text("")
    (folder / f"{name}.toml").write_text(launch)
    return folder / name


def test_demo_chooses_among_kernels_programs_and_what_is_linked(tmp_path: Path) -> None:
    steps = '[[step]]\nlaunch = "k"\ngrid = 1\nblock = 32\n'
    kernel, linked = put(tmp_path, "z"), put_linked(tmp_path / "l", "both", 'kernel = "k"\n')
    sequence = put_linked(tmp_path / "m", "a", steps)
    many = put(tmp_path, "many")
    beside(many, ".toml").write_text(steps)
    assert choose_samples(tmp_path, [], programs=True) == [linked, kernel, sequence, many]
    assert choose_samples(tmp_path, ["many", "z", "many"], programs=True) == [many, kernel]
    assert choose_samples(tmp_path, []) == [kernel]
    assert sources(linked) == [linked.with_name("x.ptx"), linked.with_name("y.ptx")]
    assert sources(kernel) == [beside(kernel, ".loom")]


def test_a_folder_of_several_programs_is_not_one(tmp_path: Path) -> None:
    """Linked is what can be of one program only: one launch file, several files of PTX."""
    linked = put_linked(tmp_path / "l", "both", 'kernel = "k"\n')
    (tmp_path / "l" / "other.toml").write_text('kernel = "k"\n')
    assert sources(linked) == []
    (tmp_path / "l" / "other.toml").unlink()
    (tmp_path / "l" / "x.ptx").unlink()
    assert sources(linked) == []
    with pytest.raises(UsageError):
        choose_samples(tmp_path, [], programs=True)
