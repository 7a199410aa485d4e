"""C++ names: what mangled names are spelt, and which kernel a user means."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from binalloc.errors import UsageError
from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import write_module
from binalloc.names.demangle import demangle
from binalloc.names.kernels import choose_kernel, spellings
from tests.support.kits.cli import call, refused
from tests.support.paths import DATA
from tests.support.ptx.named_kernels import LAUNCH, PTX

LINES = (DATA / "mangled_names.txt").read_text().splitlines()[1:]
NAMES = dict(zip(LINES[::2], map(str.strip, LINES[1::2]), strict=True))


@pytest.mark.parametrize("mangled", NAMES)
def test_names_are_spelt_as_binutils_spells_them(mangled: str) -> None:
    assert str(demangle(mangled)) == NAMES[mangled]


@pytest.mark.parametrize(
    "text", ["", "k", "_Z", "_Z3k", "_Z1kT_", "_Z1kS_", "_Z1kIiE", "_ZTV1k", "_Z9999999999k", "_ZZ"]
)
def test_what_is_no_name_has_no_spelling(text: str) -> None:
    found = demangle(text)
    assert found is None or text == "_Z1kIiE"
    assert choose_kernel(text, [text]) == text


def test_broken_names_end_quickly_and_quietly() -> None:
    doubling = "_Z1kI" + "1AI" * 60 + "i" + "E" * 60 + "Evv"
    packs = "_Z1kIJ" + "i" * 500 + "EEv" + "DpP" * 1 + "T_" + "Dp" * 40 + "T_"
    pairs = "_Z1k" + "1AIS_S_E" + "".join(f"S{chr(48 + i)}_" for i in range(10)) * 100
    growing = "_Z1k1A" + "".join(f"1BIS{n}_S{n}_E" for n in ["", *"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"])
    for text in (doubling, packs, pairs, growing, "_Z1k" + "P" * 4000 + "i", "_Z" + "N" * 4000, "_Z1k" + "F" * 4000):
        assert len(str(demangle(text))) < 1 << 20
    rng = random.Random(3)
    for name in NAMES:
        for _ in range(60):
            at = rng.randrange(2, len(name))
            piece = rng.choice(["", "E", "I", "S_", "T_", "J", "Dp", "N", "Z", "L", "9", name[at:], name[:at]])
            demangle(name[:at] + piece + name[at + rng.randrange(3) :])


KERNELS = ["_Z1kPfi", "_ZN2ns1kIfLi4EEEvPT_", "_ZN2ns1kIfLj5EEEvPT_", "_ZN2ns5otherEv", "plain", "otherPlain",
           "_ZN36_GLOBAL__N__a40bf5d1_4_n_cu_d10520fc4anonEPi", "_Z2enIL1E2EEvPi"]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "kernel"),
    [
        ("_Z1kPfi", 0), ("k(float*, int)", 0), ("k(float*,int)", 0), (" k ( float * , int ) ", 0),
        ("ns::k<float, 4>", 1), ("k<float,4>", 1), ("void ns::k<float, 4>(float*)", 1), ("ns::k<float, 5>", 2),
        ("k<float, 5u>", 2), ("other", 3), ("ns::other", 3), ("ns::other()", 3), ("plain", 4), ("otherPlain", 5),
        ("anon", 6), ("(anonymous namespace)::anon", 6), ("anon(int*)", 6), ("en", 7), ("en<2>", 7), ("en<(E)2>", 7),
    ],
)  # fmt: skip
def test_a_kernel_is_meant_by_any_of_its_names(wanted: str, kernel: int) -> None:
    assert choose_kernel(wanted, KERNELS) == KERNELS[kernel]


@pytest.mark.parametrize("wanted", ["k", "ns::k", "k(float*)"])
def test_ambiguous_names_list_the_candidates(wanted: str) -> None:
    with pytest.raises(UsageError, match=r"[23] kernels") as error:
        choose_kernel(wanted, KERNELS)
    assert "ns::k<float, 4> (_ZN2ns1kIfLi4EEEvPT_)" in str(error.value)
    assert ("_Z1kPfi" in str(error.value)) == (wanted == "k")
    assert "plain" not in str(error.value)


@pytest.mark.parametrize("wanted", ["", "Plain", "oth", "k<float>", "k<float, 6>", "s::k", "k(int)", "_Z1k", "other<>"])
def test_parts_of_words_mean_nothing(wanted: str) -> None:
    with pytest.raises(UsageError, match="no such kernel"):
        choose_kernel(wanted, KERNELS)


def test_the_exact_name_comes_first() -> None:
    assert choose_kernel("k", ["_Z1kv", "k", "_Z1ki"]) == "k"
    assert "k" in spellings("_Z1kv")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "k.ptx").write_text(PTX)
    (tmp_path / "k.loom").write_bytes(write_module(import_ptx(PTX, machine="gtx680").module))
    for number, kernel in enumerate(["add", "ns::k<float, 4>", "k"]):
        (tmp_path / f"{number}.toml").write_text(LAUNCH.format(kernel=kernel))
    return tmp_path


@pytest.mark.parametrize(("number", "kernel"), [(0, "_Z3addPj"), (1, "_ZN2ns1kIfLi4EEEvPT_")])
def test_launches_name_kernels_as_their_authors_do(files: Path, number: int, kernel: str) -> None:
    launch = ["--launch", str(files / f"{number}.toml"), "--engine", "python", "--json"]
    binary, output = str(files / "k.loom"), str(files / "o.loom")
    assert call("run", binary, *launch).json["kernel"] == kernel
    assert call("rewrite", binary, *launch, "--registers", "8", "--slots", "0", "-o", output).json["kernel"] == kernel
    assert kernel in call("verify", binary, output, *launch).json["kernels"]


def test_options_name_kernels_as_their_authors_do(files: Path) -> None:
    binary = str(files / "k.loom")
    for command in (["inspect", "--cfg", binary], ["verify", binary, binary], ["rewrite", "--registers", "8", binary]):
        extra = ["--no-emulate"] if command[0] == "rewrite" else []
        bounds = ["--launch", str(files / "1.toml")] if command[0] == "rewrite" else []
        answer = call(*command, *extra, *bounds, "--kernel", "ns::k", "--json")
        assert answer.json["kernel"] == "_ZN2ns1kIfLi4EEEvPT_", answer.err
    (row,) = call("diff", binary, binary, "--kernel", "ns::k", "--json").json["functions"]
    assert row["function"] == "_ZN2ns1kIfLi4EEEvPT_"
    answer = call("import-ptx", str(files / "k.ptx"), "--kernel", "add", "--json", "-o", str(files / "a.loom"))
    assert [k["name"] for k in answer.json["kernels"]] == ["_Z3addPj"]


def test_the_machine_is_that_of_the_kernel_meant(files: Path) -> None:
    answer = call("import-ptx", str(files / "k.ptx"), "--machine", "c2075", "-o", str(files / "v.loom"))
    assert answer.code == 0, answer.err
    launch = ["--launch", str(files / "0.toml"), "--engine", "python", "--json"]
    assert call("run", str(files / "v.loom"), *launch).json["machine"] == "c2075"


@pytest.mark.parametrize("command", ["run", "rewrite"])
def test_an_ambiguous_name_is_told_from_a_wrong_one(files: Path, command: str) -> None:
    launch = ["--launch", str(files / "2.toml")]
    text = refused(2, command, str(files / "k.loom"), *launch)
    assert "2 kernels are called that" in text
    assert "_Z1kPj" in text
    text = refused(2, command, str(files / "k.loom"), *launch, "--kernel", "ad")
    assert "add (_Z3addPj)" in text
