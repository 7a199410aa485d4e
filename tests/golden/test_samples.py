"""The samples: committed binaries match their sources, launch files fit the binaries, register counts are honest,
references say what their formulas say."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from binalloc.analysis.locations import REG_MASK
from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.isa.sets.files import load
from binalloc.launch.file import Launch, check_against, load_launch, reference_outputs
from binalloc.launch.program.file import load_either
from binalloc.launch.program.types import Program
from tests.support.paths import SAMPLES, sample_file

NAMES = ("callchain", "matmul", "nbody", "stencil2d", "stencil3d")
MICRO = (
    "chase_constant", "chase_global", "chase_local", "chase_shared", "chase_texture",
    "stream_copy", "stream_load", "stream_store",
)  # fmt: skip
ASSEMBLY = (*NAMES, *MICRO)
BATCHES = ("columns", "rows", "scattered", "tiles")  # samples/batching, which tests of `batches` run
REGISTER_ALIGNMENT = 8  # GTX680 reserves 256 registers at a time for a warp


def build_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("samples_build", SAMPLES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_source_has_its_launch_file_reference_and_binary() -> None:
    assert tuple(p.stem for p in build_module().sources()) == tuple(sorted((*ASSEMBLY, *BATCHES)))
    for name in ASSEMBLY:
        for suffix in (".toml", "_ref.py", ".loom"):
            assert sample_file(f"{name}{suffix}").is_file(), name + suffix


@pytest.mark.parametrize("name", ASSEMBLY)
def test_committed_binary_is_what_its_source_builds(name: str) -> None:
    built = build_module().build(sample_file(f"{name}.lasm"))
    assert sample_file(f"{name}.loom").read_bytes() == built, "run: python samples/build.py"


@pytest.mark.parametrize("name", NAMES)
def test_launch_files_fit_the_binaries_and_run_thousands_of_warps(name: str) -> None:
    module = load(sample_file(f"{name}.loom"))
    full, small = load_launch(sample_file(f"{name}.toml")), load_launch(sample_file(f"{name}.toml"), "test")
    for launch in (full, small):
        check_against(launch, module.function(launch.kernel).info)
        assert all(a.compare.mode == "exact" for a in launch.buffers)
    assert full.blocks * full.threads_per_block >= 2048 * 32
    assert 2 <= small.blocks <= 8


@pytest.mark.parametrize("name", MICRO)
def test_launch_files_of_measuring_kernels_fit_and_compare_all_but_times(name: str) -> None:
    module = load(sample_file(f"{name}.loom"))
    full, small = load_launch(sample_file(f"{name}.toml")), load_launch(sample_file(f"{name}.toml"), "test")
    for launch in (full, small):
        check_against(launch, module.function(launch.kernel).info)
        loose = {a.name for a in launch.buffers if a.compare.mode != "exact"}
        assert loose <= {"cycles", "warm"}
    assert small.blocks <= 2
    assert full.blocks == (1 if name.startswith("chase") else 96)


def max_live(program: ProgramAnalysis, name: str) -> int:
    """Most registers live at the exit of an instruction, callees included, as the unified paper counts them."""
    fn = program[name]
    best = 0
    for i, after in enumerate(fn.live.after):
        best = max(best, ((after | fn.live.facts.defs[i]) & REG_MASK).bit_count())
        callee = program.module.callee(fn.fn, i) if fn.fn.instrs[i].name == "CALL" else None
        if callee is not None:
            survivors = fn.live.survivors(i, program[callee.name].summary)
            through = survivors & ~program[callee.name].summary.args & REG_MASK
            best = max(best, through.bit_count() + max_live(program, callee.name))
    return best


@pytest.mark.parametrize("name", NAMES)
def test_register_counts_are_within_alignment_of_max_live(name: str) -> None:
    module = load(sample_file(f"{name}.loom"))
    program = analyse(module, name)
    need, given = max_live(program, name), module.function(name).info.registers
    assert need <= given
    assert -(-need // REGISTER_ALIGNMENT) == -(-given // REGISTER_ALIGNMENT), (need, given)
    assert need >= {"nbody": 48, "stencil3d": 40, "matmul": 40, "stencil2d": 36}.get(name, 0)
    assert given <= 63, "what GTX680 has for a thread"


def readme_rows(folder: str) -> list[dict[str, str]]:
    """The rows of a folder's table in the README by the names of its columns."""
    text = (SAMPLES / "README.md").read_text()
    (part,) = (t for t in text.split("\n## ") if t.startswith(f"{folder}: "))
    head, _, *rows = ([c.strip() for c in r.split("|")[1:-1]] for r in part.splitlines() if r.startswith("|"))
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_readme_has_a_line_and_a_reason_for_every_sample() -> None:
    for folder in sorted(p for p in SAMPLES.iterdir() if any(p.rglob("*.toml"))):
        rows = readme_rows(folder.name)
        files = {p.stem: p for p in folder.rglob("*.toml")}
        assert sorted(r["sample"] for r in rows) == sorted(files)
        for row in rows:
            launch = load_either(files[row["sample"]])
            if isinstance(launch, Program):
                assert ", ".join(launch.kernels) == row["kernels"]
            else:
                assert launch.kernel == row.get("kernel", row["sample"])
            assert row["what it is"]
            assert next(text for column, text in row.items() if column.startswith("why it is here"))


@pytest.mark.parametrize(("folder", "names"), [("loom", NAMES), ("micro", MICRO)])
def test_readme_table_states_what_the_binaries_record(folder: str, names: tuple[str, ...]) -> None:
    rows = readme_rows(folder)
    assert tuple(r["sample"] for r in rows) == names
    for row in rows:
        name, _, _, block, *numbers = row.values()
        info = load(sample_file(f"{name}.loom")).function(name).info
        expected = (info.registers, info.shared_bytes, info.local_bytes)
        assert tuple(0 if n == "-" else int(n.replace(",", "")) for n in numbers) == expected
        launch = load_launch(sample_file(f"{name}.toml"))
        assert block == " x ".join(str(n) for n in launch.block if n > 1)


def inputs(name: str) -> tuple[Launch, dict[str, Any], dict[str, Any]]:
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    buffers = launch.make_buffers()
    wide = {n: b.astype(np.float64) if b.dtype.kind == "f" else b for n, b in buffers.items()} | launch.values
    return launch, wide, reference_outputs(launch, buffers)


def test_matmul_reference_is_the_product() -> None:
    _, x, out = inputs("matmul")
    assert np.allclose(out["c"], x["a"] @ x["b"], rtol=0, atol=1e-5)


def test_callchain_reference_is_its_formula() -> None:
    _, x, out = inputs("callchain")
    p, q, r, s = x["in"].T
    u = q * s + q
    v = (u + 1) * (u - 3)
    assert np.allclose(out["out"], p * (((v + 2) * v / 4 + v**2) * (1 - v) * u**2 + u / 2) + r, rtol=0, atol=1e-4)


def test_stencil2d_reference_follows_its_equation_cell_by_cell() -> None:
    launch, x, out = inputs("stencil2d")
    t = x["t"]
    ny, nx = t.shape
    for _ in range(x["steps"]):
        new = t.copy()
        for y in range(ny):
            for i in range(nx):
                n, s = t[max(y - 1, 0), i], t[min(y + 1, ny - 1), i]
                w, e = t[y, max(i - 1, 0)], t[y, min(i + 1, nx - 1)]
                c = t[y, i]
                flow = (n + s - 2 * c) * x["ry"] + (e + w - 2 * c) * x["rx"] + (x["ambient"] - c) * x["rz"]
                new[y, i] += x["sdc"] * (x["power"][y, i] + flow)
        t = new
    assert np.allclose(out["out"], t, rtol=1e-6, atol=0)
    assert launch.grid == (-(-nx // 24), -(-ny // 184), 1)


def test_stencil3d_reference_leaves_the_margin_and_sums_all_25_points() -> None:
    _, x, out = inputs("stencil3d")
    inner = out["out"][4:-4, 4:-4, 8:-8]
    assert np.count_nonzero(out["out"]) == np.count_nonzero(inner)
    volume, c = x["in"], x["coef"]
    z, y, i = 2, 17, 33
    expected = c[0] * volume[z + 4, y + 4, i + 8]
    for r in range(1, 5):
        for axis in range(3):
            for sign in (-r, r):
                at = [z + 4, y + 4, i + 8]
                at[axis] += sign
                expected += c[r] * volume[tuple(at)]
    assert np.isclose(inner[z, y, i], expected, rtol=1e-5, atol=1e-5)


def test_nbody_reference_is_of_fourth_order() -> None:
    """One step of dt against many short ones: with dt halved, the error of a step falls by about 2^5."""
    launch, x, _ = inputs("nbody")
    rng = np.random.default_rng(0)
    source = x["sources"][:4] * np.array([1.0, 1, 1, 4, 0, 0, 0, 0])

    def derivatives(pos: Any, vel: Any) -> tuple[Any, Any]:
        d, rate = source[:, None, 0:3] - pos, source[:, None, 4:7] - vel
        r2 = (d * d).sum(-1, keepdims=True) + x["eps2"]
        weight = source[:, None, 3:4] / r2**1.5
        alpha = 3 * (d * rate).sum(-1, keepdims=True) / r2
        return (weight * d).sum(0), (weight * (rate - alpha * d)).sum(0)

    pos, vel = rng.uniform(-1, 0, (1100, 3)), rng.normal(size=(1100, 3)) * 0.3

    def exact(dt: float) -> Any:
        p, v = pos, vel
        for _ in range(400):
            h = dt / 400
            middle = p + v * h / 2
            v = v + h * derivatives(middle, v)[0]
            p = middle + v * h / 2
        return p

    def step(dt: float) -> Any:
        a, j = derivatives(pos, vel)
        state = np.concatenate([pos, vel, a, j], axis=1).astype(np.float32)
        quads = {f"state{i}": state[:, 4 * i : 4 * i + 4] for i in range(3)}
        fractions = {"dt": dt, "dt2": dt / 2, "dt3": dt / 3, "dt6": dt / 6, "dt24": dt / 24,
                     "q24": dt**2 / 24, "q120": dt**2 / 120, "eps2": x["eps2"]}  # fmt: skip
        lists = {"lists": np.tile(np.arange(4, dtype=np.int32), (3, 1)), "counts": np.full(3, 4, np.int32)}
        from_file: dict[str, Any] = {}
        exec(sample_file("nbody_ref.py").read_text(), from_file)
        out = from_file["reference"]({**quads, **fractions, **lists, "sources": source.astype("f4")}, launch)
        return out["state0"][:, :3]

    errors = [np.abs(step(dt) - exact(dt)).max() for dt in (0.4, 0.2)]
    assert errors[0] > 1e-5, "large enough to be seen above rounding"
    assert errors[0] / errors[1] > 12
