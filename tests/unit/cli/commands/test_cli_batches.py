"""`batches`: the formulas of the samples, what is printed, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import call, refused
from tests.support.paths import sample_file

KB = 1024
SAMPLES = ("rows", "tiles", "columns", "scattered")


def command(sample: str, *more: str) -> tuple[str, ...]:
    files = str(sample_file(f"{sample}.loom")), "--launch", str(sample_file(f"{sample}.toml"))
    return "batches", *files, "--engine", "python", *more


def found(sample: str, *more: str) -> Any:
    answer = call(*command(sample, "--json", *more))
    assert answer.code == 0, answer.err
    return answer.json


@pytest.mark.parametrize("size", ["full", "test"])
@pytest.mark.parametrize(
    ("sample", "page", "kind", "value"),
    [
        ("rows", 4, "stride", {"full": 1, "test": 1}),  # Fig. 4c
        ("rows", 8, "stride", {"full": 2, "test": 2}),  # Fig. 4e
        ("tiles", 4, "stride", {"full": 2, "test": 2}),  # Fig. 6c
        ("columns", 4, "modulus", {"full": 16, "test": 4}),
        ("scattered", 4, "none", {"full": 0, "test": 0}),
    ],
)
def test_formulas_of_the_samples(sample: str, page: int, kind: str, value: dict[str, int], size: str) -> None:
    of_size = () if size == "full" else ("--size", size)
    answer = found(sample, "--page-bytes", str(page * KB), *of_size)
    assert answer["formula"] == {"kind": kind, "value": value[size]}
    if kind != "none":
        assert answer["sharing_by_distance"] == [{"distance": 0, "pages": answer["touched_pages"], "share": 1.0}]
    assert (answer["inputs_alone"], answer["left_out"]) == (False, [])


def test_every_sample_is_right() -> None:
    for sample in SAMPLES:
        for size in ((), ("--size", "test")):
            assert call("run", *command(sample, "--reference", *size)[1:]).code == 0


def test_pages_of_rows_by_hand() -> None:
    """64 rows of 4 KB in two buffers; an SM of eight holds eight blocks, so it has all of its own at once."""
    answer = found("rows")
    assert (answer["blocks_per_sm"], answer["sms"], answer["blocks"], answer["batches"]) == (8, 8, 64, 64)
    assert [(one["page_bytes"], one["pages"], one["sm_most"], one["sm_mean"]) for one in answer["pages"]] == [
        (4 * KB, 128, 16, 16.0), (64 * KB, 8, 8, 8.0), (2048 * KB, 2, 2, 2.0),
    ]  # fmt: skip
    assert [(one["name"], one["bytes"], one["pages"], one["sm_most"]) for one in answer["pages"][0]["buffers"]] == [
        ("in", 256 * KB, 64, 8), ("out", 256 * KB, 64, 8),
    ]  # fmt: skip


def test_sharing_of_tiles_by_hand() -> None:
    """Two neighbours share two pages of each buffer: all pages are shared under stride 1, none under an even one."""
    shares = {(one["kind"], one["value"]): one["share"] for one in found("tiles")["candidates"]}
    assert shares == {("stride", 1): 1.0, **{("stride", 2**k): 0.0 for k in range(1, 5)}, ("modulus", 2): 1.0}


def test_distances_without_a_formula_are_those_of_blocks() -> None:
    answer = found("scattered")
    points = [(one["distance"], one["pages"]) for one in answer["sharing_by_distance"]]
    assert [distance for distance, _ in points] == [0, 1, 2, 4, 8, 16, 32, 64]
    assert points[-1] == (64, 32)
    assert [pages for _, pages in points] == sorted(pages for _, pages in points)
    assert answer["global_pages"] + points[-1][1] == answer["touched_pages"] == 32


@pytest.mark.parametrize(
    ("sample", "first"),
    [
        ("rows", "rows: stride 1: each block is a batch, 64 batches (pages of 4 KB)"),
        ("tiles", "tiles: stride 2: 2 blocks in a row are a batch, 16 batches (pages of 4 KB)"),
        ("columns", "columns: modulus 16: blocks of equal number modulo 16 are a batch, 16 batches (pages of 4 KB)"),
        ("scattered", "scattered: no formula: no stride or modulus keeps shared pages within batches (pages of 4 KB)"),
    ],
)
def test_the_first_line_is_the_answer(sample: str, first: str) -> None:
    assert call(*command(sample)).out.splitlines()[0] == first


def test_it_is_said_what_the_profile_holds_for(tmp_path: Path) -> None:
    """The grid has three dimensions, the place of a store is loaded, and local memory is left out."""
    (tmp_path / "k.lasm").write_text(
        ".kernel k\n.param p, 8\n.local_bytes 16\n.local_frame 16\nMOV R2, c[0][p]\nMOV R3, c[0][p+4]\n"
        "LDG.32 R4, [R2]\nSTL [RZ], R4\nIMAD.WIDE R6, R4, 0x4, R2\nSTG.32 [R6], R4\nEXIT\n.end\n"
    )
    (tmp_path / "k.toml").write_text(
        'kernel = "k"\ngrid = [2, 2, 3]\nblock = 32\n'
        '[[argument]]\nname = "p"\nkind = "buffer"\ndtype = "u32"\nshape = 8\n'
    )
    loom = str(tmp_path / "k.loom")
    assert call("asm", str(tmp_path / "k.lasm"), "-o", loom, "--schedule", "gtx680").code == 0
    args = ("batches", loom, "--launch", str(tmp_path / "k.toml"), "--engine", "python")
    text = call(*args).out
    assert text.startswith("k: no formula: most blocks touch every page (pages of 4 KB)\n")
    assert "this holds for these inputs alone" in text
    assert "three dimensions: blocks are numbered x + gridDim.x * (y + gridDim.y * z)" in text
    assert "Not counted: accesses to local memory." in text
    answer = call(*args, "--json").json
    assert (answer["inputs_alone"], answer["left_out"], answer["grid"]) == (True, ["local"], [2, 2, 3])
    assert (answer["formula"], answer["reason"]) == ({"kind": "none", "value": 0}, "all_global")


@pytest.mark.parametrize("page", ["0", "4095", "2048", "5000", "4194304", "x", "-4096"])
def test_sizes_that_no_page_has(page: str) -> None:
    answer = call(*command("rows", "--page-bytes", page))
    assert answer.code == 2
    assert "--page-bytes" in answer.err


def test_launches_that_do_not_end_well() -> None:
    answer = call(*command("rows", "--max-cycles", "200", "--json"))
    assert answer.code == 4
    assert answer.json["error"]["exit_code"] == 4
    assert "formula" not in answer.json


def test_a_sequence_needs_a_step() -> None:
    levels = str(sample_file("levels.ptx")), "--launch", str(sample_file("levels.toml")), "--size", "test"
    options = "--engine", "python", "--machine", "gtx680"
    assert "--step N" in refused(2, "batches", *levels, *options)
    assert "--step" in refused(2, "batches", *command("rows")[1:], "--step", "0")
    answer = call("batches", *levels, *options, "--step", "1", "--json").json
    assert (answer["step"], answer["kernel"], answer["inputs_alone"]) == (1, "advance", True)
    assert answer["sharing_by_distance"] == [{"distance": 0, "pages": 2, "share": 0.5}]
    assert (answer["global_pages"], answer["global_share"]) == (2, 0.5)
    assert answer["formula"] == {"kind": "modulus", "value": 2}  # two pages, of blocks 0 and 2, and of 1 and 3
