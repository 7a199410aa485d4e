"""`run --pages`: what is said of pages, and what is refused before the first cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call, launch, loom

TOML = Path("binalloc/models/machines/gem5gpu-batching.toml")


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """matmul, scheduled for the batching paper's machine."""
    path = str(tmp_path_factory.mktemp("paged") / "k.loom")
    assert call("schedule", loom("matmul"), "--machine", "gem5gpu-batching", "-o", path).code == 0
    return path


def refused(binary: str, *options: str) -> str:
    found = call("run", binary, *launch("matmul", "python"), *options)
    assert found.code == 2, found
    assert "Traceback" not in found.err
    return found.err


def test_coloured_pages_need_all_sms_of_the_machine(binary: str) -> None:
    text = refused(binary, "--pages", "coloured", "--sms", "3")
    for words in ("--sms", "3", "8", "--pages"):
        assert words in text


def test_pages_larger_than_a_row_are_refused_with_both_named(binary: str) -> None:
    text = refused(binary, "--pages", "coloured:bytes=8192", "--sms", "8")
    for words in ("8192", "4096", "dram.row_bytes", "gem5gpu-batching"):
        assert words in text


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ("coloured:bytes=5000", "power of two"),
        ("interleaved:bytes=2048", "power of two from 4096"),
        ("interleaved:bytes=4194304", "0 to 2097152"),
        ("interleaved:channels=one", "no parameter 'channels'"),
        ("coloured:channels=some", "channels=all or one"),
        ("coloured:bytes=4096:bytes=4096", "bytes comes twice"),
        ("identity:bytes=4096", "no parameters"),
        ("coloured:bytes", "out of range"),
        ("nobody", "'identity', 'interleaved', 'coloured'"),
    ],
)
def test_pages_that_cannot_be_are_refused(binary: str, pages: str, words: str) -> None:
    assert words in refused(binary, "--pages", pages, "--sms", "8")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("interleaved", "row bank channel", "bits of column are missing"),
        ("coloured", "row bank bank channel column", "bits of bank come twice"),
        ("coloured", "row bank channel rank column", "an unknown part"),
    ],
)
def test_machine_files_with_bits_missing_or_twice_are_refused(
    tmp_path: Path, key: str, value: str, words: str
) -> None:
    lines = TOML.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"{key} = "))
    lines[at] = f'{key} = {{ value = "{value}", unit = "order of address parts", source = "test" }}'
    path = tmp_path / "m.toml"
    path.write_text("\n".join(lines))
    found = call("run", loom("matmul"), *launch("matmul", "python"), "--machine", str(path))
    assert found.code == 3
    assert f"pages.{key}" in found.err
    assert words in found.err
