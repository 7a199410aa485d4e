"""PTX from Halide: small pipelines of our own, scheduled for a GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import halide as hl

from tests.foreign.producers.made import Made

CAPABILITIES = (50, 70, 80)
X, Y, XO, YO, XI, YI = (hl.Var(name) for name in ("x", "y", "xo", "yo", "xi", "yi"))
Pipeline = tuple[hl.Func, list[hl.ImageParam]]


def tiled(f: hl.Func, width: int = 16, height: int = 8) -> hl.Func:
    f.gpu_tile(X, Y, XO, YO, XI, YI, width, height)
    return f


def pointwise() -> Pipeline:
    image, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("pointwise")
    f[X, Y] = image[X, Y] * 2.0 + hl.sqrt(image[X, Y])
    return tiled(f), [image]


def blur() -> Pipeline:
    image, rows, f = hl.ImageParam(hl.UInt(16), 2, "image"), hl.Func("rows"), hl.Func("blur")
    rows[X, Y] = (image[X, Y] + image[X + 1, Y] + image[X + 2, Y]) / 3
    f[X, Y] = (rows[X, Y] + rows[X, Y + 1] + rows[X, Y + 2]) / 3
    tiled(f)
    rows.compute_at(f, XO).gpu_threads(X, Y)
    return f, [image]


def product() -> Pipeline:
    a, b, f = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b"), hl.Func("product")
    k = hl.RDom([(0, 64)])
    total = hl.Func("total")
    total[X, Y] = 0.0
    total[X, Y] += a[k, Y] * b[X, k]
    f[X, Y] = total[X, Y]
    return tiled(f), [a, b]


def histogram() -> Pipeline:
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("histogram")
    r = hl.RDom([(0, 64), (0, 64)])
    f[X] = hl.u32(0)
    f[hl.i32(image[r.x, r.y])] += hl.u32(1)
    f.gpu_tile(X, XO, XI, 32)
    f.update().atomic().gpu_tile(r.x, r.y, *(hl.RVar(name) for name in ("rxo", "ryo", "rxi", "ryi")), 8, 8)
    return f, [image]


def functions() -> Pipeline:
    image, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("functions")
    v = image[X, Y]
    f[X, Y] = hl.sin(v) + hl.exp(v) + hl.log(hl.abs(v) + 1.0) + hl.pow(hl.abs(v), 1.5) + hl.tanh(v)
    return tiled(f), [image]


def bytes_and_branches() -> Pipeline:
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("branches")
    v = hl.i32(image[X, Y])
    f[X, Y] = hl.u8(hl.clamp(hl.select(v > 128, v * 3 / 2, v % 7), 0, 255))
    return tiled(f, 32, 4), [image]


PIPELINES: dict[str, Callable[[], Pipeline]] = {
    "pointwise": pointwise, "blur": blur, "product": product, "histogram": histogram, "functions": functions,
    "branches": bytes_and_branches,
}  # fmt: skip


def own(only: set[str]) -> Iterator[Made]:
    """Every pipeline for every capability."""
    for name, pipeline in PIPELINES.items():
        for capability in CAPABILITIES if not only or name in only else ():
            yield Made("halide", f"{name}.sm_{capability}", lambda p=pipeline, c=capability: (made_of(p, c), ""))


def made_of(pipeline: Callable[[], Pipeline], capability: int) -> str:
    """The device code of a pipeline."""
    f, images = pipeline()
    target = hl.Target(f"x86-64-linux-cuda-cuda_capability_{capability}-no_runtime")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "out.ptx"
        f.compile_to({hl.OutputFileType.device_code: str(place)}, images, "out", target)
        return place.read_text().rstrip("\0")
