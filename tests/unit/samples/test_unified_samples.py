"""The unified paper's kernels and heartwall: Table 1, PTX against references, references against what they are for."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.frontend.importer import Imported, import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch, reference_outputs
from tests.support.kits.launch.references import differences_from_reference
from tests.support.paths import sample_file, sample_files

# Unified paper, Table 1, Fermi: registers a thread wants, bytes of shared memory per thread.
TABLE_1 = {
    "cfd": (61, 0),
    "dxtc": (43, 10),
    "FDTD3d": (57, 7.5),
    "hotspot": (36, 12),
    "imageDenoising": (63, 4),
    "particles": (50, 0),
    "recursiveGaussian": (41, 0),
}
NAMES = (*TABLE_1, "heartwall")


@cache
def imported(name: str) -> Imported:
    return import_ptx(sample_file(f"{name}.ptx").read_text(), f"{name}.ptx", machine="gtx680")


@pytest.mark.parametrize("name", TABLE_1)
def test_registers_and_shared_bytes_are_those_of_table_1(name: str) -> None:
    registers, shared = TABLE_1[name]
    figures = imported(name).kernels[0]
    assert abs(figures.register_demand - registers) <= 0.25 * registers
    assert figures.shared_bytes == shared * load_launch(sample_file(f"{name}.toml")).threads_per_block
    assert figures.local_bytes == 0


@pytest.mark.parametrize("name", NAMES)
def test_full_size_fills_eight_sms_twice(name: str) -> None:
    launch = load_launch(sample_file(f"{name}.toml"))
    assert launch.blocks >= 2 * 8 * (2048 // launch.threads_per_block)
    assert load_launch(sample_file(f"{name}.toml"), "test").blocks >= 2


@pytest.mark.rotates
@pytest.mark.parametrize("name", NAMES)
def test_ptx_leaves_what_the_reference_says(name: str) -> None:
    assert differences_from_reference(name) == []


@pytest.mark.parametrize("path", sample_files(".ptx"), ids=lambda p: p.stem)
def test_ptx_names_no_folder(path: Path) -> None:
    files = [line for line in path.read_text().splitlines() if line.lstrip().startswith(".file")]
    assert files
    assert not any("/" in line for line in files)


def call_depth(module: Module, name: str) -> int:
    """Most calls on a way from `name`, the front end's own library left out."""
    fn = module.function(name)
    callees = [module.callee(fn, i) for i, instr in enumerate(fn.instrs) if instr.op.control == "call"]
    names = {callee.name for callee in callees if callee is not None and not callee.name.startswith("__binalloc_")}
    return max((1 + call_depth(module, callee) for callee in sorted(names)), default=0)


@pytest.mark.parametrize("name", ["particles", "heartwall"])
def test_procedures_stay_out_of_line_three_calls_deep(name: str) -> None:
    assert call_depth(imported(name).module, name) == 3


# ---------------------------------------------------------------------------------------------------------------------
# References against what they are for.


def outputs(name: str, size: str | None = "test", **changed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs (buffers, some replaced, and scalars) and what the reference makes of them."""
    launch = load_launch(sample_file(f"{name}.toml"), size)
    buffers = {**launch.make_buffers(), **changed}
    return {**buffers, **launch.values}, reference_outputs(launch, buffers)


def test_heartwall_follows_the_film() -> None:
    """Each frame shows the picture two rows and three columns further on."""
    x, out = outputs("heartwall")
    frames = np.arange(1, x["frames"])[None, :, None]
    moved = x["points"][:, None] - frames * np.array([3, 2])
    assert (moved >= 0).all(axis=(1, 2)).sum() == 2, "points that stay within the frame"
    for found, true in zip(out["tracks"], moved, strict=True):
        if (true >= 0).all():
            assert np.array_equal(found, true)


def test_dxtc_comes_near_the_pixels() -> None:
    """Decoded, pixels on a line between two colours are right to the palette's steps and the ends' bits."""
    ramp = np.linspace(0, 1, 64).reshape(8, 8, 1)
    image = np.full((8, 8, 4), 255, np.uint8)
    image[..., :3] = np.rint(ramp * [240, 100, 30] + (1 - ramp) * [10, 180, 220])
    _, out = outputs("dxtc", image=image)
    for block, (ends, choices) in enumerate(out["compressed"].tolist()):
        pair = [[(e >> 11) / 31, (e >> 5 & 63) / 63, (e & 31) / 31] for e in (ends & 0xFFFF, ends >> 16)]
        p, q = np.array(pair) * 255
        palette = np.array([p, q, (2 * p + q) / 3, (p + 2 * q) / 3])
        decoded = palette[[choices >> 2 * i & 3 for i in range(16)]].reshape(4, 4, 3)
        y, x = divmod(block, 2)
        pixels = image[4 * y : 4 * y + 4, 4 * x : 4 * x + 4, :3]
        assert np.abs(decoded - pixels).max() < 0.2 * (np.ptp(pixels.astype(float), axis=(0, 1)).max() + 16)


def test_recursive_gaussian_keeps_a_constant_and_blurs_a_line() -> None:
    flat = np.full((7, 100), 0x80FF4010, np.uint32)
    assert np.array_equal(outputs("recursiveGaussian", **{"in": flat})[1]["out"], flat)
    line = np.zeros((40, 32768), np.uint32)
    line[20] = 255
    column = outputs("recursiveGaussian", None, **{"in": line})[1]["out"][:, 7].astype(int)
    weight = np.exp(-0.5 * ((np.arange(40) - 20) / 4) ** 2)
    assert np.array_equal(column[1:20], column[39:20:-1])
    assert np.abs(column - 255 * weight / weight.sum()).max() < 3


def test_image_denoising_moves_noise_towards_its_mean() -> None:
    x, out = outputs("imageDenoising")
    before, after = (a[..., :3].astype(float) for a in (x["image"], out["clean"]))
    assert after.std() < before.std()
    assert abs(after.mean() - before.mean()) < 16


def test_fluxes_of_a_uniform_flow_through_closed_cells_vanish() -> None:
    normals = np.random.default_rng(0).normal(size=(4, 3, 250)).astype(np.float32)
    normals[3] = -normals[:3].sum(axis=0)
    link = np.tile(np.array([1, 2, 1, 2], np.int16)[:, None], 250)
    link[:, -2:] = -1
    momentum = np.tile(np.array([0.3, -0.2, 0.1], np.float32)[:, None], 250)
    uniform = {"density": np.full(250, 1.25, np.float32), "energy": np.full(250, 2.5, np.float32)}
    _, out = outputs("cfd", normals=normals, link=link, momentum=momentum, **uniform)
    assert np.abs(out["fluxes"]).max() < 1e-5


def test_two_particles_push_each_other_apart_equally() -> None:
    position = np.full((512, 4), 0.5, np.float32)
    position[0] = (0.9, 0.5, 0.5, 1.0)
    position[4] = (0.2, 0.5, 0.5, 1.0)  # the next cell in x: 0.3 away
    population = np.zeros(128, np.int32)
    population[:2] = 1
    still = np.zeros((512, 4), np.float32)
    _, out = outputs("particles", position=position, velocity=still, population=population)
    v = out["new_velocity"]
    assert v[0, 0] < 0 < v[4, 0]
    assert np.allclose(v[0] + v[4], 0, atol=1e-7)
    assert np.count_nonzero(v) == 2
