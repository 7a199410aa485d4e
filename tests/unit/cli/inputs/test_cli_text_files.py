"""Text files as editors and pipes leave them: with a byte order mark, in UTF-16; `-` where nothing reads the standard
input."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from tests.support.kits.cli import call, launch, loom, refused
from tests.support.paths import MACHINES, sample_file

LAUNCH = sample_file("callchain.toml").read_bytes()
ASSEMBLY = b".kernel k\n    EXIT\n.end\n"
PTX = sample_file("transpose.ptx").read_bytes()
SIZE = ("--size", "test", "--engine", "python")


def test_a_byte_order_mark_of_utf_8_changes_nothing(tmp_path: Path) -> None:
    texts = {"k.toml": LAUNCH, "m.toml": (MACHINES / "gtx680.toml").read_bytes(), "k.lasm": ASSEMBLY, "k.ptx": PTX}
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
        (tmp_path / f"marked_{name}").write_bytes(codecs.BOM_UTF8 + data)

    def both(*args: str) -> None:
        plain, marked = (call(*(arg.format(at) for arg in args)) for at in (f"{tmp_path}/", f"{tmp_path}/marked_"))
        assert plain.code == marked.code == 0, marked.err
        assert plain.raw == marked.raw

    both("run", loom("callchain"), "--launch", "{}k.toml", "--machine", "gtx680", *SIZE)
    both("run", loom("callchain"), "--launch", "{}k.toml", "--machine", "{}m.toml", *SIZE)
    both("asm", "{}k.lasm", "-o", "-")
    both("import-ptx", "{}k.ptx", "-o", "-")


@pytest.mark.parametrize(("mark", "coding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_utf_16_is_named(mark: bytes, coding: str, tmp_path: Path) -> None:
    for name, data in (("k.toml", LAUNCH), ("k.lasm", ASSEMBLY)):
        (tmp_path / name).write_bytes(mark + data.decode().encode(coding))
    line = refused(3, "run", loom("callchain"), "--launch", str(tmp_path / "k.toml"))
    assert "byte order mark of UTF-16: save the file as UTF-8" in line
    assert "byte order mark of UTF-16" in refused(3, "asm", str(tmp_path / "k.lasm"), "-o", str(tmp_path / "x.loom"))


@pytest.mark.parametrize(
    "args",
    [
        ("run", loom("callchain"), "--launch", "-"),
        ("verify", loom("callchain"), loom("callchain"), "--launch", "-"),
        ("run", loom("callchain"), *launch("callchain"), "--machine", "-"),
        ("machines", "-"),
        ("smem-cost", "--machine", "-"),
    ],
)
def test_what_is_not_read_from_standard_input_says_so(args: tuple[str, ...]) -> None:
    assert "file is not read from standard input" in refused(2, *args, stdin=b"")


def test_the_limit_of_cycles_names_both_forms() -> None:
    for wrong in ("abc", "0", "-1", "1.5", "None", ""):
        assert "neither 'none' nor a number from 1 to" in refused(
            2, "run", loom("callchain"), *launch("callchain"), "--max-cycles", wrong
        )


@pytest.mark.parametrize(("sms", "text"), [("1", "1 SM)"), ("2", "2 SMs)")])
def test_one_thing_is_singular(sms: str, text: str) -> None:
    assert text in call("run", loom("callchain"), *launch("callchain"), "--sms", sms).out
