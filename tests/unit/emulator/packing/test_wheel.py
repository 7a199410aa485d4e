"""A wheel with cores says what it holds, can be installed, and is made from nothing but the sources at hand."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from binalloc.emulator.carried.core import CoreLabel
from binalloc.emulator.packing import wheel
from binalloc.emulator.packing.wheel import PURE, with_cores
from binalloc.errors import Refused
from binalloc.version import VERSION
from tests.support.paths import ROOT

INFO = f"binalloc-{VERSION}.dist-info"
SAYS = {
    "METADATA": f"Metadata-Version: 2.1\nName: binalloc\nVersion: {VERSION}\n",
    "WHEEL": f"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: {PURE}\n",
    "RECORD": "",
}


def pure_wheel(changes: dict[str, str] | None = None, without: str = "") -> bytes:
    """The package as `pip wheel` would have it, in its essentials."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted((ROOT / "binalloc").rglob("*.py"))}
    texts |= {f"{INFO}/{name}": text for name, text in SAYS.items()} | (changes or {})
    texts.pop(without, None)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, text in texts.items():
            file.writestr(zipfile.ZipInfo(name), text)
    return made.getvalue()


def cores() -> dict[str, bytes]:
    """A label that fits, and a library that is none."""
    library = b"no library"
    return {"plain.so": library, "plain.json": CoreLabel.here("plain", "x86-64-v3", []).file(library).encode()}


def test_it_tells_of_every_file_and_of_its_platform() -> None:
    made = zipfile.ZipFile(io.BytesIO(with_cores(pure_wheel(), cores())))
    rows = {row[0]: row[1:] for row in csv.reader(made.read(f"{INFO}/RECORD").decode().splitlines())}
    assert set(rows) == set(made.namelist())
    assert len(made.namelist()) == len(set(made.namelist()))
    for name in made.namelist():
        data = made.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert rows[name] == (["", ""] if name.endswith("RECORD") else [f"sha256={digest}", str(len(data))])
    for name, data in cores().items():
        assert made.read(f"binalloc/emulator/carried/{name}") == data
    assert made.read(f"{INFO}/WHEEL").decode().splitlines() == [
        "Wheel-Version: 1.0", "Generator: by hand", "Root-Is-Purelib: false",
        "Tag: py3-none-manylinux2014_x86_64", "Tag: py3-none-manylinux_2_17_x86_64",
    ]  # fmt: skip


def test_the_same_wheel_is_the_same_bytes() -> None:
    assert with_cores(pure_wheel(), cores()) == with_cores(pure_wheel(), cores())


STATE = "binalloc/emulator/state/modes.py"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (b"no zip file", "not a wheel"),
        (pure_wheel(without=f"{INFO}/RECORD"), "not a wheel; found no RECORD"),
        (pure_wheel({STATE: "CHECKING = False\n"}), f"{STATE}: the wheel was not made from these sources"),
        (pure_wheel(without=STATE), f"{STATE}: the wheel was not made from these sources"),
    ],
    ids=["text", "no record", "another file", "a file less"],
)
def test_what_is_no_wheel_of_these_sources_is_refused(given: bytes, what: str) -> None:
    with pytest.raises(Refused, match=what):
        with_cores(given, cores())


def test_a_wheel_for_one_platform_is_refused_before_anything_is_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / f"binalloc-{VERSION}-py3-none-linux_x86_64.whl"
    given.write_bytes(pure_wheel())
    assert wheel.main([str(given), str(tmp_path / "out")]) == 1
    assert "expected a name that ends in -py3-none-any.whl" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="such a wheel is for Linux")
def test_pip_installs_it_and_what_is_installed_looks_at_its_core(tmp_path: Path) -> None:
    """A core that does not hold what it should is not run: the installed package says so."""
    path = tmp_path / f"binalloc-{VERSION}-{wheel.PLATFORM}.whl"
    path.write_bytes(with_cores(pure_wheel(), cores()))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    subprocess.run([*command, str(tmp_path / "site"), str(path)], check=True, capture_output=True)
    asked = [sys.executable, "-m", "binalloc", "--version"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("BINALLOC_")}
    env |= {"XDG_CACHE_HOME": str(tmp_path)}
    told = subprocess.run(asked, cwd=tmp_path / "site", env=env, capture_output=True, text=True, check=True).stdout
    assert told.startswith(f"binalloc, version {VERSION}\nemulator: compiled code made when it is first needed; ")
    assert "the package's own is not used: " in told
