"""This module puts the compiled core into a wheel: `python -m binalloc.emulator.packing.wheel WHEEL FOLDER`, see `make
wheel`.

WHEEL is made by `pip wheel` and is the same for every platform. The new wheel, in FOLDER, has two more libraries, and
is for Linux on x86_64. The same wheel and the same sources give the same bytes.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import sys
import tempfile
import zipfile
from pathlib import Path

from binalloc.emulator.carried import core
from binalloc.emulator.carried.sources import source_files
from binalloc.emulator.packing.machine_code import BUILDS, make_core
from binalloc.errors import BinallocError, Refused
from binalloc.files import read_bytes, write_atomically
from binalloc.printable import one_line

PURE = "py3-none-any"
PLATFORM = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can have, so that the same files make the same bytes


def with_cores(wheel: bytes, cores: dict[str, bytes]) -> bytes:
    """Return the wheel with `cores`, files by name, in the folder of the cores, and with the wheel's metadata brought
    up to date.

    Raises Refused where its sources are not the imported ones, from which the cores were made.
    """
    made = io.BytesIO()
    try:
        old = zipfile.ZipFile(io.BytesIO(wheel))
    except zipfile.BadZipFile as error:
        raise Refused("not a wheel", found=str(error)) from None
    with old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        _same_sources(old)
        folder = _in_wheel(core.FOLDER)
        rows: list[tuple[str, str, int | str]] = []
        record = ""

        def add(entry: zipfile.ZipInfo, data: bytes) -> None:
            new.writestr(entry, data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append((entry.filename, f"sha256={digest}", len(data)))

        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                record = entry.filename
            else:
                add(entry, _retagged(data) if entry.filename.endswith(".dist-info/WHEEL") else data)
        for name, data in sorted(cores.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _EPOCH)
            entry.external_attr = 0o100644 << 16
            add(entry, data)
        if not record:
            raise Refused("not a wheel", found="no RECORD")
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, (record, "", "")])
        new.writestr(zipfile.ZipInfo(record, _EPOCH), text.getvalue(), zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _same_sources(wheel: zipfile.ZipFile) -> None:
    """Compare the wheel's sources with the files that are imported here. Raises Refused where one differs or is
    missing."""
    held = set(wheel.namelist())
    for path in source_files().values():
        name = _in_wheel(path)
        if name not in held or wheel.read(name) != path.read_bytes():
            remedy = "Make it anew, with no folder build/lib."
            raise Refused("the wheel was not made from these sources", place=name, remedy=remedy)


def _in_wheel(path: Path) -> str:
    """Return a path of the package in the form that wheels have."""
    return path.relative_to(core.FOLDER.parents[2]).as_posix()


def _retagged(text: bytes) -> bytes:
    """Return the file WHEEL with the tags of a wheel for one platform."""
    python, abi, platforms = PLATFORM.split("-")
    lines = [line for line in text.decode().splitlines() if not line.startswith(("Tag:", "Root-Is-Purelib:")) and line]
    tags = [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    return "\n".join([*lines, "Root-Is-Purelib: false", *tags, ""]).encode()


def main(arguments: list[str]) -> int:
    """Compile all builds, write the wheel and print its path. Return the exit code."""
    wheel, folder = Path(arguments[0]), Path(arguments[1])
    try:
        if not wheel.name.endswith(f"-{PURE}.whl"):
            raise Refused("not a wheel for all platforms", file=str(wheel), expected=f"a name that ends in -{PURE}.whl")
        with tempfile.TemporaryDirectory() as made:
            for name in BUILDS:
                print(f"compiling the {name} build for any x86-64-v3, about a minute", file=sys.stderr)
                make_core(name, Path(made))
            cores = {path.name: path.read_bytes() for path in Path(made).iterdir()}
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / wheel.name.replace(PURE, PLATFORM)
        write_atomically(target, with_cores(read_bytes(wheel), cores))
    except BinallocError as error:
        print(one_line(f"error: {error}"), file=sys.stderr)
        return error.exit_code
    print(one_line(str(target)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
