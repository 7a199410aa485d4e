"""PTX from Triton, for architectures of which none need be there: kernels of our own, and those of its tutorials.

Of a tutorial only the kernels are taken, as they stand in its file; what surrounds them launches them.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.foreign.producers.made import Made
from tests.foreign.producers.triton_kernels import KERNELS

ARCHITECTURES = (75, 80, 90, 100)
ALIGNED = 16
"""What addresses that arguments hold are multiples of: Triton looks at them, and compiles for that."""


@dataclass(frozen=True)
class Tutorial:
    """A kernel of a tutorial. types: of its arguments in their order; constants: by name; least: architecture that it
    needs."""

    file: str
    function: str
    types: str
    constants: dict[str, Any]
    warps: int = 4
    stages: int = 3
    least: int = 0
    name: str = ""


_MATRICES = "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32 i32 i32 i32"
_BLOCKS = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8}
_DESCRIBED = "tensordesc<fp16[64,64]> tensordesc<fp16[64,64]> tensordesc<fp16[64,64]> i32 i32 i32"
_TMA = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "WARP_SPECIALIZE": False}
_BACK = {"BLOCK_M1": 32, "BLOCK_N1": 64, "BLOCK_M2": 64, "BLOCK_N2": 32, "BLK_SLICE_FACTOR": 2, "HEAD_DIM": 64}
_HEADS = {"HEAD_DIM": 64, "BLOCK_M": 64, "BLOCK_N": 64, "FP8_OUTPUT": False, "warp_specialize": False}
TUTORIALS = (
    Tutorial("01-vector-add.py", "add_kernel", "*fp32 *fp32 *fp32 i32", {"BLOCK_SIZE": 1024}),
    Tutorial("02-fused-softmax.py", "softmax_kernel", "*fp32 *fp32 i32 i32 i32 i32",
             {"BLOCK_SIZE": 1024, "num_stages": 4}, 8),
    Tutorial("03-matrix-multiplication.py", "matmul_kernel", _MATRICES, _BLOCKS | {"ACTIVATION": ""}),
    Tutorial("03-matrix-multiplication.py", "matmul_kernel", _MATRICES, _BLOCKS | {"ACTIVATION": "leaky_relu"},
             name="matmul_kernel_relu"),
    Tutorial("04-low-memory-dropout.py", "_dropout", "*fp32 *i32 *fp32 i32 fp32", {"BLOCK_SIZE": 1024}),
    Tutorial("04-low-memory-dropout.py", "_seeded_dropout", "*fp32 *fp32 i32 fp32 i32", {"BLOCK_SIZE": 1024}),
    Tutorial("05-layer-norm.py", "_layer_norm_fwd_fused", "*fp16 *fp16 *fp16 *fp16 *fp32 *fp32 i32 i32 fp32",
             {"BLOCK_SIZE": 1024}),
    Tutorial("05-layer-norm.py", "_layer_norm_bwd_dx_fused",
             "*fp16 *fp16 *fp16 *fp16 *fp16 *fp16 *fp32 *fp32 *i32 i32 i32",
             {"GROUP_SIZE_M": 64, "BLOCK_SIZE_N": 1024}),
    Tutorial("05-layer-norm.py", "_layer_norm_bwd_dwdb", "*fp16 *fp16 *fp16 *fp16 i32 i32",
             {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 128}),
    Tutorial("06-fused-attention.py", "_attn_fwd",
             "fp32 *fp32 i32 i32 *fp16 *fp16 *fp16 *fp16 i32", _HEADS | {"STAGE": 3, "IS_HOPPER": False}),
    Tutorial("06-fused-attention.py", "_attn_bwd_preprocess", "*fp16 *fp16 *fp32 i32 i32 i32",
             {"BLOCK_M": 128, "HEAD_DIM": 64}),
    Tutorial("06-fused-attention.py", "_attn_bwd",
             "*fp16 *fp16 *fp16 fp32 *fp16 *fp16 *fp16 *fp16 *fp32 *fp32 i32 i32 i32 i32 i32 i32",
             _BACK | {"CAUSAL": True}),
    Tutorial("07-extern-functions.py", "asin_kernel", "*fp32 *fp32 i32", {"BLOCK_SIZE": 1024}),
    Tutorial("08-grouped-gemm.py", "grouped_matmul_kernel", "*i64 *i64 *i64 *i32 *i32 i32",
             {"NUM_SM": 84, "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32}),
    Tutorial("08-grouped-gemm.py", "grouped_matmul_tma_kernel", "*i64 *i64 *i64 *i32 *i32 i32",
             {"NUM_SM": 84, "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "FP8": False}, least=90),
    Tutorial("09-persistent-matmul.py", "matmul_kernel", _MATRICES, _BLOCKS),
    Tutorial("09-persistent-matmul.py", "matmul_kernel_tma", _DESCRIBED, _TMA | {"FP8_OUTPUT": False}, least=90),
    Tutorial("09-persistent-matmul.py", "matmul_kernel_persistent", _MATRICES, _BLOCKS | {"NUM_SMS": 84}),
    Tutorial("09-persistent-matmul.py", "matmul_kernel_tma_persistent", _DESCRIBED,
             _TMA | {"FP8_OUTPUT": False, "EPILOGUE_SUBTILE": False, "NUM_SMS": 84}, least=90),
    Tutorial("09-persistent-matmul.py", "matmul_kernel_descriptor_persistent", "*fp16 *fp16 *fp16 i32 i32 i32",
             _TMA | {"EPILOGUE_SUBTILE": False, "NUM_SMS": 84, "FLATTEN": True}, least=90),
    Tutorial("11-programmatic-dependent-launch.py", "add_kernel", "*fp32 *fp32 *fp32 i32",
             {"BLOCK_SIZE": 1024, "USE_GDC": False}),
    Tutorial("11-programmatic-dependent-launch.py", "add_kernel", "*fp32 *fp32 *fp32 i32",
             {"BLOCK_SIZE": 1024, "USE_GDC": True}, least=90, name="add_kernel_gdc"),
)  # fmt: skip


def made_of(function: Any, types: list[str], constants: dict[str, Any], arch: int, **options: Any) -> tuple[str, str]:
    """PTX of a kernel for an architecture, and what a launch of it must know, as JSON."""
    names = [n for n in function.arg_names if n not in constants]
    assert len(names) == len(types), (names, types)
    signature = dict(zip(names, types, strict=True)) | dict.fromkeys(constants, "constexpr")
    places = {(function.arg_names.index(name),): value for name, value in constants.items()}
    pointers = [n for n, t in zip(names, types, strict=True) if t.startswith("*")]
    aligned = {(function.arg_names.index(n),): [["tt.divisibility", ALIGNED]] for n in pointers}
    source = ASTSource(function, {n: signature[n] for n in function.arg_names}, places, aligned)
    done = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    told = {"kernel": done.metadata.name, "shared": done.metadata.shared, "warps": done.metadata.num_warps}
    return done.asm["ptx"], json.dumps(told | {"arguments": dict(zip(names, types, strict=True))})


def own(only: set[str]) -> Iterator[Made]:
    """Those of `triton_kernels`."""
    for kernel in KERNELS:
        for arch in ARCHITECTURES if not only or kernel.called in only else ():
            given = kernel.function, kernel.types.split(), dict(kernel.constants), arch
            yield Made("triton", f"{kernel.called}.sm_{arch}", lambda g=given, w=kernel.warps: made_of(*g, num_warps=w))


def kernels_of(file: Path, into: Path) -> ModuleType:
    """A module of the functions for Triton in a tutorial, without what tunes and launches them."""
    kept: list[ast.stmt] = []
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list):
            node.decorator_list = [ast.parse("triton.jit", mode="eval").body]
            kept.append(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and "triton" in ast.unparse(node):
            kept.append(node)
    name = "tutorial_" + file.stem.replace("-", "_")
    place = into / f"{name}.py"
    place.write_text("import triton\nimport triton.language as tl\n" + ast.unparse(ast.Module(kept, [])))
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def tutorials(folder: Path, into: Path, only: set[str]) -> Iterator[Made]:
    """Those of Triton's tutorials, whose files are in `folder`. into: a folder for files made of them."""
    for one in TUTORIALS:
        called = f"{one.file.split('-')[0]}_{(one.name or one.function).strip('_')}"
        for arch in ARCHITECTURES if not only or called in only else ():
            if arch >= one.least:

                def make(one: Tutorial = one, arch: int = arch) -> tuple[str, str]:
                    function = getattr(kernels_of(folder / one.file, into), one.function)
                    return made_of(function, one.types.split(), dict(one.constants), arch, num_warps=one.warps,
                                   num_stages=one.stages)  # fmt: skip

                yield Made("triton tutorials", f"{called}.sm_{arch}", make)
