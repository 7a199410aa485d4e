"""Files that launch files name and that are none, are too long or too short, or no text: one clear error, at once."""

from __future__ import annotations

import os
import re
import signal
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.launch.contents.read import FileFormat
from binalloc.launch.file import parse_launch, reference_outputs
from binalloc.launch.program.host import host_function
from binalloc.launch.program.schema import parse_program
from binalloc.launch.program.types import HostStep
from tests.support.kits.launch.launch_files import buffer


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Whatever waits for a pipe is ended."""
    signal.alarm(30)
    yield
    signal.alarm(0)


def load(folder: Path, init: Any, dtype: str = "f32", shape: Any = 3) -> Any:
    return parse_launch(buffer(dtype, shape, init), path=str(folder / "l.toml")).make_buffers()["x"]


NO_FILES = [
    (".", "a folder"), ("//", "a folder"), ("/dev/zero", "a device"), ("/dev/null", "a device"), ("pipe", "a pipe"),
    ("link", "a pipe"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "found"), NO_FILES)
def test_what_is_no_file_is_refused_as_what_it_is(name: str, found: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for format_ in FileFormat:
        more = {"array": "a"} if format_ == FileFormat.NPZ else {}
        dtype, shape = ("u8", [1, 3]) if format_ == FileFormat.PNG else ("f32", 3)
        said = f"argument x: init.file {re.escape(str(tmp_path / name))}: not a file; found {found}; expected a file"
        with pytest.raises(MalformedInput, match=said):
            load(tmp_path, {"file": name, "format": str(format_)} | more, dtype, shape)
    code = {"file": name, "function": "f"}
    launch = parse_launch(buffer("f32", 3, "zeros") | {"reference": code}, path=str(tmp_path / "l.toml"))
    path = re.escape(str(tmp_path / name))
    with pytest.raises(UsageError, match=f"{path}: cannot read the reference; found {found}"):
        reference_outputs(launch, launch.make_buffers())
    data = {"argument": buffer("f32", 3, "zeros")["argument"], "step": [{"host": code, "arguments": []}]}
    (step,) = parse_program(data, path=str(tmp_path / "l.toml")).steps
    assert isinstance(step, HostStep)
    with pytest.raises(UsageError, match=f"cannot read the host function; found {found}"):
        host_function(step)


def test_an_npy_file_says_how_long_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(50, "f4"))
    whole = (tmp_path / "x.npy").read_bytes()
    for content, found in ((whole[:-11], "189 bytes of data"), (whole + b"1", "more than 200 bytes of data"),
                           (whole[:-200], "0 bytes of data")):  # fmt: skip
        (tmp_path / "x.npy").write_bytes(content)
        with pytest.raises(MalformedInput, match=f"not as long as its header says; found {found}; expected 200 bytes"):
            load(tmp_path, {"file": "x.npy"}, shape=50)


@pytest.mark.parametrize("at", [1, 2, 3, 900, 5000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_is_no_text_is_found_in_its_line(at: int, end: str, tmp_path: Path) -> None:
    lines = [b"1,2"] * 5000
    lines[at - 1] = b"1,\xff2"
    (tmp_path / "x.csv").write_bytes(end.encode().join(lines))
    with pytest.raises(MalformedInput, match=f"line {at} is not text; expected UTF-8"):
        load(tmp_path, {"file": "x.csv"}, shape=[5000, 2])
    (tmp_path / "x.csv").write_bytes(end.encode().join([b"# Gr\xf6\xdfe", *lines]))
    with pytest.raises(MalformedInput, match="line 1 is not text"):
        load(tmp_path, {"file": "x.csv"}, shape=[5000, 2])


def png(height: int, width: int, rows: bytes) -> bytes:
    """A picture of 8 bits of grey whose header says that size."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    return start + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def test_a_huge_picture_is_one_of_another_size(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    (tmp_path / "x.png").write_bytes(png(100_000, 90_000, b""))
    said = "the picture has another size; found height 100000, width 90000; expected height 2, width 3"
    with pytest.raises(MalformedInput, match=said):
        load(tmp_path, {"file": "x.png"}, "u8", [2, 3])


@pytest.mark.rotates("long")
def test_a_picture_as_large_as_buffers_may_be_is_read(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    limit = image.MAX_IMAGE_PIXELS
    height, width = 1 << 15, 1 << 13
    (tmp_path / "x.png").write_bytes(png(height, width, (b"\0" + b"\7" * width) * height))
    found = load(tmp_path, {"file": "x.png"}, "u8", [height, width])
    assert (found.shape, int(found.min()), int(found.max())) == ((height, width), 7, 7)
    assert limit == image.MAX_IMAGE_PIXELS
