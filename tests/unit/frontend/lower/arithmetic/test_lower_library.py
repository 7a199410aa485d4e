"""The math library as text and as routines: templates, names, what a call leaves, small registers."""

from __future__ import annotations

import tomllib

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.frontend.lower.arithmetic.library import PREFIX, _index, library_modules
from tests.support.paths import ROOT
from tests.support.ptx.float_runs import kernel_text

ROUNDINGS = ("rn", "rz", "rm", "rp")


def test_every_rounding_of_every_operation_is_there() -> None:
    names = set(_index())
    wanted = {f"{PREFIX}{op}_{r}_{t}" for r in ROUNDINGS for op, t in
              (("div", "f32"), ("sqrt", "f32"), ("div", "f64"), ("rcp", "f64"), ("sqrt", "f64"))}  # fmt: skip
    assert wanted | {PREFIX + "rsqrt_f64"} <= names
    assert all(name.startswith(PREFIX) for name in names)


def test_every_function_parses_is_complete_and_defined_in_one_place() -> None:
    names = sorted(_index())
    modules = library_modules(names)
    assert sorted(name for _, found in modules for name in found) == names
    for module, found in modules:
        assert all(module.functions[name].body is not None for name in found)
        for function in module.functions.values():
            assert function.name.startswith(PREFIX)
            assert function.body is not None
    assert library_modules(names)[0][0] is modules[0][0]  # parsed once


def test_an_unknown_name_is_a_defect_of_the_caller() -> None:
    with pytest.raises(KeyError):
        library_modules([PREFIX + "tangent"])


def test_the_text_is_installed() -> None:
    project = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text())
    assert "frontend/lib/*.ptx" in project["tool"]["setuptools"]["package-data"]["binalloc"]


@pytest.mark.parametrize(
    ("instruction", "t", "calls"),
    [
        ("div.rn.f32 %d, %a, %b;", "f32", ["div_rn_f32"]),
        ("div.rn.f32 %d, 0f3F800000, %b;", "f32", []),
        ("div.rn.f32 %d, 0f40400000, 0f40400000;", "f32", []),
        ("rcp.rn.f32 %d, %a; sqrt.rn.f32 %d, %d; div.approx.f32 %d, %d, %b;", "f32", []),
        ("div.rp.f32 %d, %a, %b;", "f32", ["div_rp_f32"]),
        ("div.rn.f64 %d, %a, %b; div.rn.f64 %d, %d, %b;", "f64", ["div_rn_f64", "scale_rn_f64"]),
        ("rcp.rn.f64 %d, %a;", "f64", ["rcp_rn_f64", "scale_rn_f64"]),
        ("sqrt.rn.f64 %d, %a;", "f64", ["sqrt_rn_f64"]),
        ("rsqrt.approx.f64 %d, %a;", "f64", ["rsqrt_f64"]),
        ("rcp.approx.ftz.f64 %d, %a;", "f64", []),
    ],
)
def test_only_what_is_called_is_added(instruction: str, t: str, calls: list[str]) -> None:
    imported = import_ptx(kernel_text([instruction], t, 2), machine="gtx680")
    assert imported.kernels[0].calls == [PREFIX + name for name in calls]
    assert len(imported.module.functions) == 1 + len(calls)


@pytest.mark.parametrize(
    ("instruction", "t", "most"),
    [("div.rn.f32 %d, %a, %b;", "f32", 8), ("rcp.rn.f64 %d, %a;", "f64", 10), ("div.rn.f64 %d, %a, %b;", "f64", 14),
     ("sqrt.rn.f64 %d, %a;", "f64", 10)],
)  # fmt: skip
def test_library_routines_need_few_registers(instruction: str, t: str, most: int) -> None:
    """They add to the caller's pressure at the call: what a division costs a kernel at its demand."""
    module = import_ptx(kernel_text([instruction], t, 2), machine="gtx680").module
    assert max(fn.info.registers for fn in module.functions if fn.name.startswith(PREFIX)) <= most
